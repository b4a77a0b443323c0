//! Of which study and file a written report is, without the rest of it: that of a long study takes 100 MB.

use std::fmt;
use std::io::Read;

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};

/// What stands at the beginning of a report.
#[derive(Debug, PartialEq, Eq)]
pub struct Head {
    /// The study's name.
    pub study: String,
    /// The study file, as the user named it.
    pub file: String,
}

impl Head {
    /// Reads no further than both stand; `None` of what is no report.
    pub fn read(report: impl Read) -> Option<Self> {
        let mut found = Found::default();
        // what is left unread ends it with an error
        let _ = serde_json::Deserializer::from_reader(report).deserialize_map(&mut found);
        Some(Self { study: found.study?, file: found.file? })
    }
}

#[derive(Default)]
struct Found {
    study: Option<String>,
    file: Option<String>,
}

impl<'de> Visitor<'de> for &mut Found {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a report")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while self.study.is_none() || self.file.is_none() {
            match map.next_key::<String>()?.as_deref() {
                Some("study") => self.study = map.next_value()?,
                Some("file") => self.file = map.next_value()?,
                Some(_) => drop(map.next_value::<IgnoredAny>()?),
                None => break,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_far_as_its_study_and_its_file() {
        let mut rest =
            br#"{"schema": "s", "study": "one", "title": {"a": [1]}, "file": "x.plab", "set": {"#.as_slice();
        let told = Head::read(&mut rest);
        assert_eq!(told, Some(Head { study: "one".to_owned(), file: "x.plab".to_owned() }));
        assert!(rest.ends_with(br#""set": {"#), "the rest is left");
        for none in ["", "[]", "{", r#"{"study": "one"}"#, r#"{"study": 1, "file": "x"}"#] {
            assert_eq!(Head::read(none.as_bytes()), None, "{none}");
        }
    }
}
