//! Secrets inside of a value whose own name says nothing of them: under a key of JSON, after an option, in a header, a query or a URL.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

use super::known::{mask, shown};
use super::names::{hides, is_secret, words};

/// `NAME: VALUE`, `NAME=VALUE`, `NAME='VALUE'`, where the name ends in what makes it one.
static ASSIGNED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern =
        format!(r#"(?<name>[\w.-]*{}[\w.-]*)["']?(?:=|:\s+)["']?(?<value>[^\s"',;&(){{}}\[\]]+)"#, words());
    Regex::new(&pattern).ok()
});
/// `--NAME VALUE`.
static OPTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern =
        format!(r#"(?:^|\s)(?<name>--?[\w.-]*{}[\w.-]*)\s+["']?(?<value>[^\s"'-][^\s"']*)"#, words());
    Regex::new(&pattern).ok()
});
/// `Authorization: SCHEME VALUE`, and what stands before the host of a URL.
static FORMS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?i:authorization)["']?\s*[:=]\s*["']?(?:[A-Za-z]+ +)?(?<value>[^\s"',;]+)|://(?<user>[^\s/@:"']*:)?(?<url>[^\s/@:"']+)@"#).ok()
});

/// Who is so long is no user but a token.
const LONG_USER: usize = 12;

/// The secrets of a value under a name: all of it, or what stands inside.
pub fn inside(name: &str, value: &str) -> Vec<String> {
    let trimmed = value.trim();
    if trimmed.is_empty() {
        return Vec::new();
    }
    if let Some(json) = parsed(trimmed) {
        let mut found = Vec::new();
        of_json(name, &json, &mut found);
        return found;
    }
    if hides(name, trimmed) {
        return vec![value.to_owned()];
    }
    if is_one_word(value) { Vec::new() } else { of_text(value) }
}

/// Whether a value has nothing that could set a name apart from a secret: most have not, and are not looked through.
fn is_one_word(value: &str) -> bool {
    !value.contains(|c: char| matches!(c, '=' | ':') || c.is_whitespace())
}

/// The value as people may see it, whatever is known of it elsewhere.
pub fn mask_value<'v>(name: &str, value: &'v str) -> Cow<'v, str> {
    let mut found = inside(name, value);
    if found.is_empty() {
        return mask(value);
    }
    found.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let mut text = value.to_owned();
    for secret in found {
        text = text.replace(&secret, &shown(&secret));
    }
    Cow::Owned(mask(&text).into_owned())
}

/// A value of JSON as people may see it.
pub fn mask_leaves(name: &str, value: Json) -> Json {
    match value {
        Json::String(text) => mask_value(name, &text).into_owned().into(),
        Json::Number(n) if hides(name, &n.to_string()) => shown(&n.to_string()).into(),
        Json::Array(all) => all.into_iter().map(|v| mask_leaves(name, v)).collect(),
        Json::Object(map) => {
            let below = |key: &str, v| mask_leaves(if is_secret(name) { name } else { key }, v);
            map.into_iter().map(|(key, v)| (key.clone(), below(&key, v))).collect()
        }
        other => other,
    }
}

/// The words of a command as people may see them.
pub fn mask_words(words: Vec<String>) -> Vec<String> {
    let mut option = String::new();
    let mut out = Vec::with_capacity(words.len());
    for word in words {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with('-') => (name.to_owned(), value.to_owned()),
            _ => (std::mem::take(&mut option), word.clone()),
        };
        let is_option = word.starts_with('-') && !word.contains('=');
        if is_option {
            option.clone_from(&word);
            out.push(word);
        } else {
            let prefix = &word[..word.len() - value.len()];
            out.push(format!("{prefix}{}", mask_value(&name, &value)));
        }
    }
    out
}

fn parsed(text: &str) -> Option<Json> {
    text.starts_with(['{', '[']).then(|| serde_json::from_str(text).ok()).flatten()
}

fn of_json(name: &str, json: &Json, found: &mut Vec<String>) {
    match json {
        Json::String(text) => found.extend(inside(name, text)),
        Json::Number(n) if hides(name, &n.to_string()) => found.push(n.to_string()),
        Json::Array(all) => all.iter().for_each(|v| of_json(name, v, found)),
        Json::Object(map) => {
            for (key, value) in map {
                // what is below a secret is as secret as it
                of_json(if is_secret(name) { name } else { key }, value, found);
            }
        }
        _ => {}
    }
}

fn of_text(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for regex in [&ASSIGNED, &OPTION].into_iter().filter_map(|r| r.as_ref()) {
        for part in regex.captures_iter(text).filter(|c| hides(&c["name"], &c["value"])) {
            found.push(part["value"].to_owned());
        }
    }
    for part in FORMS.iter().flat_map(|r| r.captures_iter(text)) {
        let url = part.name("url").filter(|m| part.name("user").is_some() || m.len() >= LONG_USER);
        found.extend(part.name("value").or(url).map(|m| m.as_str().to_owned()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_wherever_they_stand() {
        for (value, expected) in [
            (
                r#"{"api_key": "one", "deep": {"password": "two", "n": 3}, "url": "redis://:three@h/0"}"#,
                &["one", "two", "three"][..],
            ),
            ("--ssl-keyfile-password one --admin-api-key=two --n 5", &["two", "one"]),
            ("X-Api-Key: pw", &["pw"]),
            ("Authorization: Basic dTpw", &["dTpw"]),
            ("http://token-as-user@host/x", &["token-as-user"]),
            ("postgres://postgres@host/x", &[]),
            ("https://u:pw@host/x?api_key=query&n=1", &["query", "pw"]),
            ("api_key='one' n=2", &["one"]),
            (r#"{"api_key": 123456}"#, &["123456"]),
            ("--max-num-batched-tokens 8192 --token-budget=5 eos_token=7", &[]),
            ("nothing of it: http://host:80/a@b", &[]),
        ] {
            assert_eq!(inside("--x", value), expected, "{value}");
        }
        assert_eq!(inside("--api-key", "123"), ["123"]);
        assert_eq!(inside("--api-key", r#"["a", "b"]"#), ["a", "b"]);
        assert_eq!(inside("--num-key-value-heads", "8"), [] as [&str; 0]);
    }

    #[test]
    fn commands_show_that_there_is_one() {
        let words = |all: &[&str]| mask_words(all.iter().map(|w| (*w).to_owned()).collect());
        assert_eq!(
            words(&["serve", "--api-key", "12", "--hf-token=ab", "--n=3", r#"--c={"password":"x"}"#, "--on"]),
            ["serve", "--api-key", "***", "--hf-token=***", "--n=3", r#"--c={"password":"***"}"#, "--on"]
        );
    }
}
