//! Names of metrics, each kept once: ten thousand runs have the same two dozen.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A metric's name. Names are few and stay for as long as the program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(&'static str);

impl Name {
    pub fn of(text: &str) -> Self {
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = known.get(text) {
            return Self(name);
        }
        let name: &'static str = Box::leak(text.into());
        known.insert(name);
        Self(name)
    }

    /// Several names in their order, kept once too: lists are as few as kinds of loads.
    pub fn list(names: &[Self]) -> &'static [Self] {
        let mut known = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = known.iter().find(|list| list.starts_with(names)) {
            return &list[..names.len()];
        }
        let list: &'static [Self] = Box::leak(names.into());
        known.push(list);
        list
    }

    /// A known list that begins with these names and goes on with that one.
    pub fn list_with(names: &[Self], next: &str) -> Option<&'static [Self]> {
        let known = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
        let goes_on = |list: &&&[Self]| {
            list.get(names.len()).is_some_and(|name| **name == *next) && list.starts_with(names)
        };
        known.iter().find(goes_on).copied()
    }
}

static LISTS: Mutex<Vec<&'static [Name]>> = Mutex::new(Vec::new());

impl std::ops::Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

// the derived hash is that of the text, as `Borrow` asks for
impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self.0
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = Name;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a metric's name")
            }

            fn visit_str<E>(self, text: &str) -> Result<Name, E> {
                Ok(Name::of(text))
            }
        }
        from.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_one_text() {
        let (a, b) = (Name::of("total_tps"), Name::of(&["total", "tps"].join("_")));
        assert!(std::ptr::eq(a.0, b.0) && a == b && *a == *"total_tps");
        let read: Name = serde_json::from_str("\"total_\\u0074ps\"").expect("reads");
        assert_eq!(read, a);
        assert_eq!(serde_json::to_string(&a).expect("writes"), "\"total_tps\"");
    }
}
