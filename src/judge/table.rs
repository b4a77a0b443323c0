//! A few values by name, in the order in which they came. A list: ten thousand runs have two dozen each, and maps of them would be most
//! of what a long study takes.

use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::name::Name;

/// Names stand once.
#[derive(Debug, Clone, PartialEq)]
pub struct Table<V>(Vec<(Name, V)>);

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<V> Table<V> {
    pub fn get(&self, name: &str) -> Option<&V> {
        self.iter().find(|(known, _)| ***known == *name).map(|(_, value)| value)
    }

    /// Sets a value, in the place of the one of that name if there is one.
    pub fn insert(&mut self, name: Name, value: V) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Name, &V)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    pub fn keys(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().map(|(name, _)| name)
    }

    /// Gives back memory that nothing is in.
    pub fn shrink_to_fit(&mut self) {
        self.0.shrink_to_fit();
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
        while let Some((name, value)) = map.next_entry()? {
            table.insert(name, value);
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_once_and_the_order_stays() {
        let mut table: Table<f64> = serde_json::from_str(r#"{"b": 1.5, "a": 2.5, "b": 3.5}"#).expect("reads");
        table.insert(Name::of("c"), 4.0);
        assert_eq!(serde_json::to_string(&table).expect("writes"), r#"{"b":3.5,"a":2.5,"c":4.0}"#);
        assert_eq!((table.get("a"), table.get("x")), (Some(&2.5), None));
    }
}
