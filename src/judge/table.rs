//! A few values by name, in the order in which they came. A list: ten thousand runs have two dozen each, and maps of them would be most
//! of what a long study takes.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::name::Name;

/// Names stand once. A table that is whole shares them with all that have the same: of ten thousand runs only the values are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Table<V> {
    names: Cow<'static, [Name]>,
    /// in the order of the names
    values: Vec<V>,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self { names: Cow::Borrowed(&[]), values: Vec::new() }
    }
}

impl<V> Table<V> {
    pub fn get(&self, name: &str) -> Option<&V> {
        self.values.get(self.names.iter().position(|known| **known == *name)?)
    }

    /// Sets a value, in the place of the one of that name if there is one.
    pub fn insert(&mut self, name: Name, value: V) {
        let known = self.names.iter().position(|known| *known == name);
        if let Some(old) = known.and_then(|at| self.values.get_mut(at)) {
            *old = value;
        } else {
            self.names.to_mut().push(name);
            self.values.push(value);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Name, &V)> {
        self.names.iter().zip(&self.values)
    }

    pub fn keys(&self) -> impl Iterator<Item = &Name> {
        self.names.iter()
    }

    /// Gives back memory that nothing is in, and names that others have too.
    pub fn shrink_to_fit(&mut self) {
        self.values.shrink_to_fit();
        if let Cow::Owned(names) = &self.names {
            self.names = Cow::Borrowed(Name::list(names));
        }
    }
}

impl<V: Serialize> Serialize for Table<V> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Table<V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Values(PhantomData))
    }
}

struct Values<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for Values<V> {
    type Value = Table<V>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("values by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table<V>, A::Error> {
        let mut table = Table::default();
        // as long as the names come as in a list that is known, they are neither looked up nor compared with each other
        let mut known: &'static [Name] = &[];
        while let Some(key) = map.next_key_seed(Key { names: &table.names, known })? {
            match key {
                Found::Known(list) => {
                    known = list;
                    let names = &list[..=table.values.len()];
                    table.names = Cow::Borrowed(names);
                    if table.values.capacity() == 0 {
                        table.values.reserve_exact(list.len());
                    }
                    table.values.push(map.next_value()?);
                }
                Found::Other(name) => {
                    known = &[];
                    table.insert(name, map.next_value()?);
                }
            }
        }
        Ok(table)
    }
}

/// A name, after those that there are.
enum Found {
    /// the next of a list that begins with these
    Known(&'static [Name]),
    Other(Name),
}

/// Reads a name, which is expected to be the next of the list that is known.
struct Key<'a> {
    names: &'a Cow<'static, [Name]>,
    known: &'static [Name],
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Found, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Found;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, text: &str) -> Result<Found, E> {
        if self.known.get(self.names.len()).is_some_and(|name| **name == *text) {
            return Ok(Found::Known(self.known));
        }
        let list = match self.names {
            Cow::Borrowed(names) => Name::list_with(names, text),
            Cow::Owned(_) => None,
        };
        Ok(list.map_or_else(|| Found::Other(Name::of(text)), Found::Known))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_stands_once_and_the_order_stays() {
        let mut table: Table<f64> = serde_json::from_str(r#"{"b": 1.5, "a": 2.5, "b": 3.5}"#).expect("reads");
        table.insert(Name::of("c"), 4.0);
        assert_eq!(serde_json::to_string(&table).expect("writes"), r#"{"b":3.5,"a":2.5,"c":4.0}"#);
        assert_eq!((table.get("a"), table.get("x")), (Some(&2.5), None));
    }

    #[test]
    fn equal_names_are_kept_once() {
        let whole = |text: &str| {
            let mut table: Table<f64> = serde_json::from_str(text).expect("reads");
            table.shrink_to_fit();
            table
        };
        let (a, b) = (whole(r#"{"b": 1.5, "a": 2.5}"#), whole(r#"{"b": 3.5, "a": 4.5}"#));
        assert_eq!(a.names.as_ptr(), b.names.as_ptr());
        let mut more = b.clone();
        more.insert(Name::of("c"), 1.0);
        more.insert(Name::of("a"), 5.5);
        assert_eq!(serde_json::to_string(&more).expect("writes"), r#"{"b":3.5,"a":5.5,"c":1.0}"#);
        assert_eq!((b.get("c"), b.get("a")), (None, Some(&4.5)));
        assert_ne!(whole(r#"{"b": 1.5}"#), whole(r#"{"a": 1.5}"#));
    }

    proptest! {
        /// Whatever lists are known from others: names that come in another order, twice, or not at all.
        #[test]
        fn known_names_change_nothing(tables in prop::collection::vec(prop::collection::vec("[w-z]", 0..6), 1..8)) {
            for names in tables {
                let entries = names.iter().enumerate().map(|(i, name)| format!("\"{name}\":{i}.5"));
                let text = format!("{{{}}}", entries.collect::<Vec<_>>().join(","));
                let mut read: Table<f64> = serde_json::from_str(&text).expect("reads");
                let mut made = Table::default();
                for (i, name) in names.iter().enumerate() {
                    made.insert(Name::of(name), i as f64 + 0.5);
                }
                prop_assert_eq!(&read, &made);
                read.shrink_to_fit();
                made.shrink_to_fit();
                prop_assert_eq!(&read, &made);
                prop_assert_eq!(read.names.as_ptr(), made.names.as_ptr());
                read.insert(Name::of("w"), 9.0);
                prop_assert_eq!(read.get("w"), Some(&9.0));
            }
        }
    }
}
