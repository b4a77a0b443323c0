//! What a flag takes, and what a written value means under that: spellings of one value are one value.

use serde_json::Value as Json;

use super::worded;
use crate::lang::diag::did_you_mean;
use crate::lang::{unit_slips, units};

#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Switch,
    Text,
    Path,
    Json,
    Words,
    Int { min: Option<f64>, max: Option<f64> },
    Float { min: Option<f64>, max: Option<f64> },
    OneOf(Vec<String>),
}

impl Kind {
    /// The type as far as a default that it leaves out says nothing against its range or its choices, of which either may be wrong.
    #[must_use]
    pub fn widened_to(self, text: &str) -> Self {
        let wide = match &self {
            // a range with two ends is none that lost one
            Self::Int { min, max: Some(max) } => {
                let (min, max) = reaching(*min, *max, text);
                Self::Int { min, max: Some(max) }
            }
            Self::Float { min, max: Some(max) } => {
                let (min, max) = reaching(*min, *max, text);
                Self::Float { min, max: Some(max) }
            }
            Self::Int { .. } => Self::Int { min: None, max: None },
            Self::Float { .. } => Self::Float { min: None, max: None },
            // of a slip of one of them the choices are right
            Self::OneOf(choices) if did_you_mean(text, choices.iter().map(String::as_str)).is_some() => {
                return self;
            }
            Self::OneOf(_) => Self::Text,
            _ => return self,
        };
        if super::schema::value(&wide, text).is_ok() { wide } else { self }
    }

    /// What the flag takes, in words.
    pub fn expected(&self) -> String {
        let range = |what: &str, min: &Option<f64>, max: &Option<f64>| match (min, max) {
            (Some(a), Some(b)) => format!("{what} from {a} to {b}"),
            (Some(a), None) => format!("{what} from {a} on"),
            (None, Some(b)) => format!("{what} up to {b}"),
            (None, None) => what.to_owned(),
        };
        match self {
            Self::Switch => "no value".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Json => "a JSON value, such as `{\"key\": \"text\"}`".to_owned(),
            Self::Words => "words separated by spaces, each JSON object being one".to_owned(),
            Self::Int { min, max } => range("a whole number", min, max),
            Self::Float { min, max } => range("a number", min, max),
            Self::OneOf(choices) => format!("one of {}", choices.join(", ")),
        }
    }
}

/// A value in its normal form: two spellings of one value are equal.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Switch(bool),
    Int(i64),
    Float(f64),
    Json(Json),
    Text(String),
}

impl Value {
    /// As JSON, objects with sorted keys: what identity is computed from.
    pub fn normal(&self) -> Json {
        match self {
            Self::Switch(b) => Json::Bool(*b),
            Self::Int(i) => Json::from(*i),
            Self::Float(f) if f.fract() == 0.0 && f.abs() < 9e15 => Json::from(*f as i64),
            Self::Float(f) => Json::from(*f),
            Self::Json(j) => sorted(j),
            Self::Text(t) => Json::from(t.as_str()),
        }
    }
}

/// The same JSON with the keys of every object sorted.
pub fn sorted(json: &Json) -> Json {
    match json {
        Json::Object(map) => {
            let mut pairs: Vec<_> = map.iter().map(|(k, v)| (k.clone(), sorted(v))).collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            Json::Object(pairs.into_iter().collect())
        }
        Json::Array(all) => Json::Array(all.iter().map(sorted).collect()),
        Json::Number(n) => match n.as_f64() {
            // 1.0 and 1 are one value
            Some(f) if n.is_f64() && f.fract() == 0.0 && f.abs() < 9e15 => Json::from(f as i64),
            _ => json.clone(),
        },
        other => other.clone(),
    }
}

impl Value {
    /// The GPUs that a flag marked `uses gpus` takes with this value: a number, or as many as a text lists (`CUDA0,CUDA1`); a share of
    /// 0, as in `3,0,1`, takes none.
    pub fn gpus(&self) -> Option<u32> {
        self.listed().map(|n| n.max(1))
    }

    /// The same of a flag marked `adds gpus`, which may take none.
    pub fn listed(&self) -> Option<u32> {
        let listed =
            |t: &str| t.split([',', '/']).map(str::trim).filter(|e| !matches!(*e, "" | "0" | "none")).count();
        match self {
            Self::Int(n) => Some(u32::try_from(*n).unwrap_or(0)),
            Self::Text(t) => Some(u32::try_from(listed(t)).unwrap_or(u32::MAX)),
            _ => None,
        }
    }

    /// Whether a flag with this value holds as an `unless`: a switch that is on, or whatever else is set.
    pub fn stands(&self) -> bool {
        *self != Self::Switch(false)
    }
}

/// A path without the `./` that it may begin with: it is the same file.
fn without_here(path: &str) -> &str {
    match path.strip_prefix("./").map(|rest| rest.trim_start_matches('/')) {
        Some(rest) if !rest.is_empty() => without_here(rest),
        _ => path,
    }
}

/// What a written text means under a flag's type. The error says what is wrong, as a fragment.
pub fn value(kind: &Kind, text: &str) -> Result<Value, String> {
    match kind {
        Kind::Switch => Err("takes no value".to_owned()),
        Kind::Int { min, max } => {
            let n = number(text)?;
            // as written where that is exact: a float has no room for the last digits of a big one
            let exact = text.parse::<i64>().ok();
            if exact.is_none() && n.fract() != 0.0 {
                return Err(format!("`{text}` is not a whole number"));
            }
            if exact.is_none() && n.abs() >= 9e15 {
                return Err(format!("`{text}` is too big a number"));
            }
            in_range(n, *min, *max, text).map(|()| Value::Int(exact.unwrap_or(n as i64)))
        }
        Kind::Float { min, max } => {
            let n = counted(text, false)?;
            in_range(n, *min, *max, text).map(|()| Value::Float(n))
        }
        Kind::OneOf(choices) if choices.iter().any(|c| c == text) => Ok(Value::Text(text.to_owned())),
        Kind::OneOf(_) => Err(format!("`{text}` is none of the choices")),
        Kind::Json => match beyond_64_bits(text) {
            Some(number) => Err(format!("`{number}` is too big a number")),
            None => serde_json::from_str(text).map(Value::Json).map_err(|e| not_json(text, &e)),
        },
        Kind::Text => Ok(Value::Text(text.to_owned())),
        Kind::Words => Ok(Value::Text(worded::normal(text))),
        Kind::Path => Ok(Value::Text(without_here(text).to_owned())),
    }
}

/// A whole number in JSON of which a reader would keep the first digits alone.
fn beyond_64_bits(json: &str) -> Option<&str> {
    // what stands between quotes is every second part, once escaped quotes are no ends of them
    let plain = json.replace("\\\\", "  ").replace("\\\"", "  ");
    let mut at = 0;
    for (n, part) in plain.split('"').enumerate() {
        if n % 2 == 0 {
            for word in part.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-'))) {
                let whole = word.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit());
                let long = word.len() > 18 && whole;
                if long && word.parse::<i64>().is_err() && word.parse::<u64>().is_err() {
                    let start = at + (word.as_ptr() as usize - part.as_ptr() as usize);
                    return json.get(start..start + word.len());
                }
            }
        }
        at += part.len() + 1;
    }
    None
}

/// A bare word is plainly no JSON; of all else the reader knows best what is wrong.
fn not_json(text: &str, error: &serde_json::Error) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    if text.chars().all(word) {
        format!("`{text}` is not JSON")
    } else {
        format!("this is not JSON: {error}")
    }
}

/// The ends of a range, as far apart that a number stands between them.
fn reaching(min: Option<f64>, max: f64, text: &str) -> (Option<f64>, f64) {
    let Ok(there) = number(text) else { return (min, max) };
    (min.map(|min| min.min(there)), max.max(there))
}

/// A plain number, with a count unit or none.
pub(super) fn number(text: &str) -> Result<f64, String> {
    counted(text, true)
}

/// The same of a flag that counts things, where a factor may have been meant alone, or of one whose number is a share or has a unit of
/// its own.
fn counted(text: &str, things: bool) -> Result<f64, String> {
    let bad = || format!("`{text}` is not a number");
    let digits = unit_of(text);
    if let Ok(n) = text.parse::<f64>() {
        return if n.is_finite() { Ok(n) } else { Err(bad()) };
    }
    let n: f64 = text[..digits].parse().map_err(|_| bad())?;
    match units::unit(&text[digits..]) {
        Some((scale, dim)) if dim == units::Dim::PLAIN => Ok(scale.apply(n)),
        Some(_) => Err(match text.strip_suffix('B').filter(|count| things && is_count(count)) {
            Some(count) => format!("`{text}` has a unit, the flag takes a plain number; write {count}"),
            None => format!("`{text}` has a unit, the flag takes a plain number"),
        }),
        None => Err(match near_units(n, &text[digits..]).as_slice() {
            // `16Kib`
            [] if let Some(count) =
                text.strip_suffix('b').filter(|c| things && c.ends_with('i') && is_count(c)) =>
            {
                format!("`{text}` has an unknown unit; write {count}")
            }
            [] => bad(),
            near => format!("`{text}` has an unknown unit; write {}", near.join(" or ")),
        }),
    }
}

/// `32Ki`: a number with the unit of a count.
fn is_count(text: &str) -> bool {
    let (digits, unit) = text.split_at(unit_of(text));
    digits.parse::<f64>().is_ok() && units::unit(unit).is_some_and(|(_, dim)| dim == units::Dim::PLAIN)
}

/// What a number with an unknown unit may have been meant to be.
fn near_units(n: f64, unit: &str) -> Vec<String> {
    let mut near = unit_slips::suggest(n, unit);
    near.retain(|meant| number(meant).is_ok());
    near
}

/// What a number with a unit that is none, and nearly one, may have been meant to be.
pub(super) fn unknown_unit(text: &str) -> Vec<String> {
    let (number, unit) = text.split_at(unit_of(text));
    let number = number.parse::<f64>().ok().filter(|_| text.parse::<f64>().is_err());
    number.filter(|_| units::unit(unit).is_none()).map_or_else(Vec::new, |n| near_units(n, unit))
}

/// Where the unit of a number begins.
fn unit_of(text: &str) -> usize {
    text.find(|c: char| c == '%' || c.is_ascii_alphabetic() && c != 'e').unwrap_or(text.len())
}

fn in_range(n: f64, min: Option<f64>, max: Option<f64>, text: &str) -> Result<(), String> {
    if min.is_some_and(|m| n < m) || max.is_some_and(|m| n > m) {
        return Err(format!("`{text}` is out of range"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_value_are_one_value() {
        let int = Kind::Int { min: Some(1.0), max: None };
        assert_eq!(value(&int, "32Ki"), Ok(Value::Int(32768)));
        assert_eq!(value(&int, "32768"), Ok(Value::Int(32768)));
        let float = Kind::Float { min: None, max: None };
        assert_eq!(value(&float, "0.90").map(|v| v.normal()), value(&float, "0.9").map(|v| v.normal()));
        let a = value(&Kind::Json, r#"{"b":1.0, "a":[1]}"#).map(|v| v.normal().to_string());
        assert_eq!(a, Ok(r#"{"a":[1],"b":1}"#.to_owned()));
    }

    #[test]
    fn whole_numbers_in_json_keep_their_digits_or_are_refused() {
        let json = |text: &str| value(&Kind::Json, text);
        for big in ["18446744073709551616", "-9223372036854775809"] {
            let said = json(&format!(r#"{{"say \"{big}\"": ["\\", {big}]}}"#));
            assert_eq!(said, Err(format!("`{big}` is too big a number")));
        }
        for fits in [
            r#"{"a": 18446744073709551615, "b": -9223372036854775808}"#,
            r#"{"a": "18446744073709551616"}"#,
            "1e30",
        ] {
            assert!(json(fits).is_ok(), "{fits}");
        }
    }

    #[test]
    fn a_path_from_here_is_the_path() {
        for (path, same) in
            [("./a/b.jinja", "a/b.jinja"), (".//././a", "a"), ("./", "./"), ("../a", "../a"), (".a", ".a")]
        {
            assert_eq!(value(&Kind::Path, path), Ok(Value::Text(same.to_owned())));
        }
        assert_eq!(value(&Kind::Text, "./a"), Ok(Value::Text("./a".to_owned())));
    }

    #[test]
    fn wrong_values_say_what_was_meant() {
        let int = Kind::Int { min: Some(1.0), max: None };
        assert!(value(&int, "32K").is_err_and(|e| e.contains("32Ki or 32k")));
        assert!(value(&int, "32KiB").is_err_and(|e| e.ends_with("write 32Ki")));
        // a unit that another one is meant by, and that one by it
        for unit in ["B", "KB", "kB", "BB", "tokB", "/sB", "tok/s", "GiBB"] {
            assert!(value(&int, &format!("50{unit}")).is_err(), "{unit}");
        }
        assert!(value(&int, "0").is_err());
        assert!(value(&int, "x").is_err());
        assert!(value(&Kind::OneOf(vec!["a".into()]), "b").is_err());
    }
}
