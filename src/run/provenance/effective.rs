//! What a server says that it runs with, held against what its configuration asks. Some engines change in silence what they cannot do;
//! a result is then not that of the flags that it stands under, and has to say so.

use serde_json::Value as Json;

use crate::journal::Says;
use crate::lang::sema::program::Engine;
use crate::lang::sema::schema::{Found, Kind, Setting, Value};

/// Arguments that an engine reports under another name than the flag's, the truer one first.
const OTHER_NAMES: [(&str, &str); 2] = [
    // SGLang: the cache that there is, not the one that was asked for
    ("max_total_tokens", "max_total_num_tokens"),
    // llama.cpp
    ("parallel", "total_slots"),
];

/// Values that mean the same.
const SAME: [(&str, &str); 2] = [("half", "float16"), ("float", "float32")];

/// A sentence for each flag that the server reports with another value. What it does not report, and what it was left to decide
/// (`auto`), is no difference; of texts only choices are compared, since engines rewrite paths and names.
pub fn differences<'a>(
    engine: &Engine,
    flags: impl Iterator<Item = &'a Setting>,
    says: &Says,
) -> Vec<String> {
    let differs = |flag: &Setting| {
        let Found::Known(spec, _) = engine.schema.find(&flag.canonical, engine.version.as_deref()) else {
            return None;
        };
        let reported = reported(&spec.names, says)?;
        let is_choice = matches!(spec.kind, Kind::OneOf(_));
        let (asked, got) = unequal(&flag.value, reported, is_choice && !flag.template)?;
        Some(format!("the server runs with {} {got}, not {asked} as asked", flag.canonical))
    };
    flags.filter_map(differs).collect()
}

/// What the server says of a flag, under any of its names.
fn reported<'s>(names: &[String], says: &'s Says) -> Option<&'s Json> {
    let plain = |name: &String| name.trim_start_matches('-').replace('-', "_");
    let plain: Vec<String> = names.iter().map(plain).collect();
    let other = |name: &str| OTHER_NAMES.iter().find(|(flag, _)| *flag == name).map(|(_, other)| *other);
    let others = plain.iter().filter_map(|n| other(n));
    let mut all = others.chain(plain.iter().map(String::as_str));
    all.find_map(|name| says.arguments.get(name)).filter(|v| !v.is_null())
}

/// Both values in words, if they are comparable and not the same.
fn unequal(asked: &Value, got: &Json, is_choice: bool) -> Option<(String, String)> {
    let said = |differ: bool, asked: String| differ.then(|| (asked, got.to_string().replace('"', "")));
    match (asked, got) {
        (Value::Switch(asked), Json::Bool(got)) => said(asked != got, asked.to_string()),
        (Value::Int(asked), Json::Number(got)) => {
            said(got.as_f64().is_some_and(|g| !close(g, *asked as f64)), asked.to_string())
        }
        (Value::Float(asked), Json::Number(got)) => {
            said(got.as_f64().is_some_and(|g| !close(g, *asked)), asked.to_string())
        }
        (Value::Text(asked), Json::String(got)) if is_choice && asked != "auto" => {
            said(!same_word(asked, got), asked.clone())
        }
        _ => None,
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
}

/// `torch.bfloat16` is `bfloat16`, and `fp8` may be told more exactly: `fp8_e4m3`.
fn same_word(asked: &str, got: &str) -> bool {
    let plain = |text: &str| {
        let text = text.trim_start_matches("torch.").to_lowercase().replace('-', "_");
        SAME.iter().find(|(word, _)| *word == text).map_or(text, |(_, other)| (*other).to_owned())
    };
    let (asked, got) = (plain(asked), plain(got));
    got.starts_with(&asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unequal_words(asked: &Value, got: &str) -> Option<(String, String)> {
        unequal(asked, &serde_json::from_str(got).expect("JSON"), true)
    }

    #[test]
    fn only_what_means_something_else_is_a_difference() {
        let text = |t: &str| Value::Text(t.to_owned());
        for (asked, got) in [
            (Value::Int(256), "256.0"),
            (Value::Float(0.9), "0.9"),
            (Value::Switch(true), "true"),
            (text("half"), r#""torch.float16""#),
            (text("fp8"), r#""fp8_e4m3""#),
            (text("auto"), r#""triton""#),
            (text("bfloat16"), "null"),
            (Value::Int(256), r#""256""#),
        ] {
            assert_eq!(unequal_words(&asked, got), None, "{got}");
        }
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(unequal_words(&Value::Int(8192), "2048"), pair("8192", "2048"));
        assert_eq!(unequal_words(&Value::Switch(true), "false"), pair("true", "false"));
        assert_eq!(unequal_words(&text("fa3"), r#""triton""#), pair("fa3", "triton"));
    }
}
