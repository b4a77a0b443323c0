//! JSON of other tools' files, read strictly: a key that is there twice is an error, as one of the two was not meant.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The value that a text holds. The error says what is wrong and where.
pub fn strict(text: &str) -> Result<Value, String> {
    let read: Result<Strict, _> = serde_json::from_str(text);
    read.map(|Strict(value)| value).map_err(|e| {
        let doubled = e.is_data();
        if doubled { e.to_string() } else { format!("it is not JSON: {e}") }
    })
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_f64<E>(self, v: f64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        while let Some(Strict(value)) = seq.next_element()? {
            out.push(value);
        }
        Ok(out.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some((key, Strict(value))) = map.next_entry::<String, Strict>()? {
            if out.contains_key(&key) {
                return Err(A::Error::custom(format_args!("`{}` is there twice", super::value::plain(&key))));
            }
            out.insert(key, value);
        }
        Ok(out.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubled_keys_are_errors_at_any_depth() {
        let all = r#"[{"a": 1, "b": [true, null, -1, 1.5, "x"]}]"#;
        assert_eq!(strict(all), serde_json::from_str(all).map_err(|_| String::new()));
        for text in [r#"{"a": 1, "a": 1}"#, r#"[{"x": {"a": 1, "b": 2, "a": 3}}]"#] {
            assert!(
                strict(text).is_err_and(|e| e.contains("`a` is there twice") && e.contains("line 1")),
                "{text}"
            );
        }
        assert!(strict("{").is_err());
    }
}
