//! The libraries of an engine as a result's condition: one hash, and in words what is another one now.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::config::short_hash;

/// What moves results most is named first.
const FIRST: [&str; 7] =
    ["torch", "triton", "flashinfer", "sgl-kernel", "flash-attn", "transformers", "nvidia-"];

/// The hash of a list of libraries.
pub fn id(of: &BTreeMap<String, String>) -> String {
    short_hash(&serde_json::json!(of).to_string())
}

/// What is not as it was, the weightiest by name.
pub fn difference(then: Option<&BTreeMap<String, String>>, now: &BTreeMap<String, String>) -> String {
    let Some(then) = then else { return "measured with other libraries beside its engine".to_owned() };
    let other = others(then, now);
    let Some(name) = other.first() else {
        return "measured with other libraries beside its engine".to_owned();
    };
    let more = more(&other);
    let what = match (then.get(*name), now.get(*name)) {
        (Some(was), Some(is)) => changed(name, was, is),
        (Some(was), None) => format!("measured with {}, now without", shown(name, was)),
        (_, is) => {
            format!("measured without {name}, now with {}", shown(name, is.map_or("", String::as_str)))
        }
    };
    what + &more
}

/// Those that are not as they were, by name: `torch, and 2 more`.
pub fn named(then: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Option<String> {
    let other = others(then, now);
    Some(format!("{}{}", other.first()?, more(&other)))
}

/// What is not the same, the weightiest first.
fn others<'a>(then: &'a BTreeMap<String, String>, now: &'a BTreeMap<String, String>) -> Vec<&'a String> {
    let names: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    let weight = |name: &str| FIRST.iter().position(|f| name.starts_with(f)).unwrap_or(FIRST.len());
    let mut other: Vec<&String> = names.into_iter().filter(|n| then.get(*n) != now.get(*n)).collect();
    other.sort_by_key(|name| weight(name));
    other
}

fn more(other: &[&String]) -> String {
    if other.len() > 1 { format!(", and {} more", other.len() - 1) } else { String::new() }
}

fn changed(name: &str, was: &str, is: &str) -> String {
    match (version(was), version(is)) {
        (Some(was), Some(is)) if was != is => format!("measured with {name} {was}, now {is}"),
        (Some(version), Some(_)) => format!("measured with another build of {name} {version}"),
        _ => format!("measured with another {name} ({was}, now {is})"),
    }
}

fn shown(name: &str, what: &str) -> String {
    version(what).map_or_else(|| name.to_owned(), |version| format!("{name} {version}"))
}

/// Of `2.8.0 (1f0e9d4c)`; a library has a hash alone.
fn version(what: &str) -> Option<&str> {
    what.split_once(" (").map(|(version, _)| version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(of: &[(&str, &str)]) -> BTreeMap<String, String> {
        of.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn the_weightiest_difference_is_said() {
        let then = list(&[("attrs", "1 (a)"), ("torch", "2.8.0 (a)"), ("libc.so.6", "aa")]);
        let says = |now: &[(&str, &str)]| difference(Some(&then), &list(now));
        assert_eq!(
            says(&[("attrs", "2 (a)"), ("torch", "2.9.1 (b)"), ("libc.so.6", "aa")]),
            "measured with torch 2.8.0, now 2.9.1, and 1 more"
        );
        assert_eq!(
            says(&[("attrs", "1 (a)"), ("torch", "2.8.0 (b)"), ("libc.so.6", "aa")]),
            "measured with another build of torch 2.8.0"
        );
        assert_eq!(
            says(&[("attrs", "1 (a)"), ("torch", "2.8.0 (a)"), ("libc.so.6", "bb")]),
            "measured with another libc.so.6 (aa, now bb)"
        );
        assert_eq!(
            says(&[("attrs", "1 (a)"), ("torch", "2.8.0 (a)")]),
            "measured with libc.so.6, now without"
        );
        assert_eq!(
            says(&[("attrs", "1 (a)"), ("torch", "2.8.0 (a)"), ("libc.so.6", "aa"), ("xformers", "1 (c)")]),
            "measured without xformers, now with xformers 1"
        );
        assert_ne!(id(&then), id(&list(&[])));
    }
}
