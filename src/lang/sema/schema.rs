//! Flag schemas: what an engine's flags are called and take, and what a written value means under them.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde_json::Value as Json;

use crate::lang::units;

/// One declared flag, as it is for a range of versions.
#[derive(Debug, Clone)]
pub struct FlagSpec {
    /// the first spelling is the one that identifies it
    pub names: Vec<String>,
    pub kind: Kind,
    pub default: Option<String>,
    pub since: Option<String>,
    pub until: Option<String>,
    pub negated: Vec<String>,
    pub uses_gpus: Option<UsesGpus>,
}

/// The flag's value multiplies the GPUs that a configuration needs.
#[derive(Debug, Clone)]
pub struct UsesGpus {
    pub unless: Option<String>,
}

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
            Self::Json => "a JSON value".to_owned(),
            Self::Words => "words separated by spaces".to_owned(),
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

/// A flag in a configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// its first spelling in the schema
    pub canonical: String,
    /// as last written, the way it is printed
    pub spelled: String,
    pub value: Value,
    /// the value as it stands in a command; `None` for a switch
    pub shown: Option<String>,
    /// words are separate arguments, never joined by `=`
    pub words: bool,
    /// `shown` inserts what only a launch knows: `{model}`, `{port}`
    pub template: bool,
}

/// An engine's flags, all versions.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    specs: Vec<FlagSpec>,
    by_key: HashMap<String, Vec<usize>>,
}

/// What a schema knows of a name under a version.
#[derive(Debug)]
pub enum Found<'a> {
    /// the flag, and whether the name is one of its negated spellings
    Known(&'a FlagSpec, bool),
    /// other versions have it: in words, which
    OtherVersion(String),
    Unknown,
}

/// Spellings that are one name have one key: `_` counts as `-`.
pub fn key(name: &str) -> String {
    name.replace('_', "-")
}

impl Schema {
    pub fn add(&mut self, spec: FlagSpec) {
        let index = self.specs.len();
        for name in spec.names.iter().chain(&spec.negated) {
            self.by_key.entry(key(name)).or_default().push(index);
        }
        self.specs.push(spec);
    }

    pub fn specs(&self) -> &[FlagSpec] {
        &self.specs
    }

    /// Every spelling, for did-you-mean.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.specs.iter().flat_map(|s| s.names.iter().chain(&s.negated)).map(String::as_str)
    }

    pub fn find(&self, name: &str, version: Option<&str>) -> Found<'_> {
        let wanted = key(name);
        let Some(indices) = self.by_key.get(&wanted) else { return Found::Unknown };
        let specs = indices.iter().map(|i| &self.specs[*i]);
        match specs.clone().find(|s| s.holds_for(version)) {
            Some(spec) => Found::Known(spec, spec.negated.iter().any(|n| key(n) == wanted)),
            None => Found::OtherVersion(specs.map(FlagSpec::versions).collect::<Vec<_>>().join(" or ")),
        }
    }

    /// The default that the schema gives for a flag, `auto` counting as none.
    pub fn default(&self, name: &str, version: Option<&str>) -> Option<Value> {
        let Found::Known(spec, _) = self.find(name, version) else { return None };
        let text = spec.default.as_deref();
        match (&spec.kind, text) {
            (_, Some("auto")) => None,
            (Kind::Switch, None) => Some(Value::Switch(false)),
            (Kind::Switch, Some(t)) => Some(Value::Switch(t == "true")),
            (_, None) => None,
            (kind, Some(t)) => value(kind, t).ok(),
        }
    }
}

impl FlagSpec {
    fn holds_for(&self, version: Option<&str>) -> bool {
        let Some(version) = version else { return true };
        let from = self.since.as_deref().is_none_or(|s| compare_versions(version, s) != Ordering::Less);
        from && self.until.as_deref().is_none_or(|u| compare_versions(version, u) == Ordering::Less)
    }

    fn versions(&self) -> String {
        match (&self.since, &self.until) {
            (Some(s), Some(u)) => format!("versions from {s} up to, without, {u}"),
            (Some(s), None) => format!("versions from {s} on"),
            (None, Some(u)) => format!("versions before {u}"),
            (None, None) => "every version".to_owned(),
        }
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
            let n = number(text)?;
            in_range(n, *min, *max, text).map(|()| Value::Float(n))
        }
        Kind::OneOf(choices) if choices.iter().any(|c| c == text) => Ok(Value::Text(text.to_owned())),
        Kind::OneOf(_) => Err(format!("`{text}` is none of the choices")),
        Kind::Json => {
            serde_json::from_str(text).map(Value::Json).map_err(|e| format!("this is not JSON: {e}"))
        }
        Kind::Text | Kind::Path | Kind::Words => Ok(Value::Text(text.to_owned())),
    }
}

/// A plain number, with a count unit or none.
fn number(text: &str) -> Result<f64, String> {
    let bad = || format!("`{text}` is not a number");
    // divided, as a hundredth has no exact float: 57% is what 0.57 is
    if let Some(percent) = text.strip_suffix('%') {
        return percent.parse::<f64>().map(|n| n / 100.0).map_err(|_| bad());
    }
    let digits = text.find(|c: char| c.is_ascii_alphabetic() && c != 'e').unwrap_or(text.len());
    if let Ok(n) = text.parse::<f64>() {
        return if n.is_finite() { Ok(n) } else { Err(bad()) };
    }
    let n: f64 = text[..digits].parse().map_err(|_| bad())?;
    match units::unit(&text[digits..]) {
        Some((scale, dim)) if dim == units::Dim::PLAIN => Ok(n * scale),
        Some(_) => Err(format!("`{text}` has a unit, the flag takes a plain number")),
        None => Err(match units::suggest(&text[digits..]).as_slice() {
            [] => bad(),
            near => {
                let all: Vec<_> = near.iter().map(|u| format!("{}{u}", &text[..digits])).collect();
                format!("`{text}` has an unknown unit; write {}", all.join(" or "))
            }
        }),
    }
}

fn in_range(n: f64, min: Option<f64>, max: Option<f64>, text: &str) -> Result<(), String> {
    if min.is_some_and(|m| n < m) || max.is_some_and(|m| n > m) {
        return Err(format!("`{text}` is out of range"));
    }
    Ok(())
}

/// Versions as people number them: `0.9` < `0.17`, `1.2.0rc1` < `1.2.0` < `1.2.0.post1`.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    let (a, b) = (version_parts(a), version_parts(b));
    for i in 0..a.len().max(b.len()) {
        let order = part_at(&a, i).cmp(&part_at(&b, i));
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// Ranked parts: pre-releases below the end of the version, numbers above, post-releases above the end too.
fn version_parts(v: &str) -> Vec<(u8, u64)> {
    let v = v.trim_start_matches('v');
    let v = v.split('+').next().unwrap_or(v);
    let mut parts = Vec::new();
    let mut chars = v.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_ascii_digit() {
            let mut n = u64::from(c as u8 - b'0');
            while let Some(d) = chars.next_if(char::is_ascii_digit) {
                n = n.saturating_mul(10).saturating_add(u64::from(d as u8 - b'0'));
            }
            parts.push((2, n));
        } else if c.is_ascii_alphabetic() {
            let mut word = String::from(c);
            while let Some(d) = chars.next_if(char::is_ascii_alphabetic) {
                word.push(d);
            }
            let rank = match word.as_str() {
                "dev" => (0, 0),
                "a" | "alpha" => (0, 1),
                "b" | "beta" => (0, 2),
                "rc" => (0, 3),
                _ => (3, 0),
            };
            parts.push(rank);
        }
    }
    parts
}

fn part_at(parts: &[(u8, u64)], i: usize) -> (u8, u64) {
    // a missing part is as `.0`, and ranks between pre-releases and what follows
    parts.get(i).map_or((1, 0), |p| if *p == (2, 0) { (1, 0) } else { *p })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_people_number_them() {
        let ascending = [
            "0.5.5",
            "0.5.5.post1",
            "0.9",
            "0.11.0",
            "0.17",
            "0.17.1",
            "1.2.0rc1",
            "1.2.0rc5",
            "1.2.0",
            "1.2.1",
        ];
        for pair in ascending.windows(2) {
            assert_eq!(compare_versions(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
        assert_eq!(compare_versions("1.2", "1.2.0"), Ordering::Equal);
        assert_eq!(compare_versions("0.17.1+cpu", "v0.17.1"), Ordering::Equal);
    }

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
    fn wrong_values_say_what_was_meant() {
        let int = Kind::Int { min: Some(1.0), max: None };
        assert!(value(&int, "32K").is_err_and(|e| e.contains("32Ki or 32k")));
        assert!(value(&int, "0").is_err());
        assert!(value(&int, "x").is_err());
        assert!(value(&Kind::OneOf(vec!["a".into()]), "b").is_err());
    }
}
