//! `llama-server --help`, read: a program without a parser that could be asked.

use std::sync::OnceLock;

use regex::Regex;
use serde_json::Value as Json;

use super::rows::Row;

/// The options that a help text describes.
pub fn rows_of_help(text: &str) -> Vec<Row> {
    let mut entries: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if line.starts_with('-') && !line.starts_with("---") {
            let (head, rest) = head_of(line);
            entries.push((head, rest));
        } else if let Some((_, description)) = entries.last_mut().filter(|_| line.starts_with("      ")) {
            description.push(' ');
            description.push_str(line.trim());
        } else if !line.trim().is_empty() {
            // a heading
            entries.push((String::new(), String::new()));
        }
    }
    entries.iter().filter_map(|(head, description)| row(head, description)).collect()
}

/// Names and value, and what follows them after two spaces. Short names are padded: `-c,    --ctx-size N`.
fn head_of(line: &str) -> (String, String) {
    static GAPS: OnceLock<Option<Regex>> = OnceLock::new();
    let gaps = GAPS.get_or_init(|| Regex::new(r",\s+-").ok());
    let line = gaps.as_ref().map_or(line.into(), |g| g.replace_all(line, ", -"));
    let (head, rest) = line.split_once("  ").unwrap_or((&line, ""));
    (head.trim().to_owned(), rest.trim().to_owned())
}

fn row(head: &str, description: &str) -> Option<Row> {
    let mut names: Vec<String> = Vec::new();
    let mut value = "";
    let mut rest = head;
    while rest.starts_with('-') {
        let end = rest.find([' ', ',']).unwrap_or(rest.len());
        names.push(rest[..end].to_owned());
        let Some(more) = rest[end..].strip_prefix(", ") else {
            value = rest[end..].trim();
            break;
        };
        rest = more;
    }
    let flag = names.iter().find(|n| n.starts_with("--")).or(names.first())?.clone();
    let kind = match value {
        "" => "bool",
        "N" => "int",
        _ => "str",
    };
    let choices = choices(value, description);
    let default = default(description).map_or(Json::Null, Json::from);
    let aliases = names.into_iter().filter(|n| *n != flag).collect();
    Some(Row {
        flag,
        aliases,
        kind: kind.to_owned(),
        action: String::new(),
        nargs: Json::Null,
        choices,
        default,
        vague: true,
        keys: Vec::new(),
        known: Vec::new(),
    })
}

/// `[on|off|auto]`, `{none,linear,yarn}`, or `allowed values: f32, f16`.
fn choices(value: &str, description: &str) -> Option<Vec<Json>> {
    let word = |w: &str| {
        !w.is_empty()
            && !w.starts_with("..")
            && w.chars().all(|c| c.is_ascii_alphanumeric() || "_.+-".contains(c))
    };
    let all = |text: &str| {
        let parts: Vec<&str> = text.split(['|', ',']).map(str::trim).collect();
        (parts.len() > 1 && parts.iter().all(|p| word(p)))
            .then(|| parts.into_iter().map(Json::from).collect::<Vec<_>>())
    };
    let bracketed = value.trim_matches(['[', ']', '{', '}', '<', '>']);
    let listed = if bracketed == value { None } else { all(bracketed) };
    let allowed = || {
        description.split_once("allowed values: ").and_then(|(_, rest)| all(rest.split('(').next()?.trim()))
    };
    listed.or_else(allowed)
}

/// `(default: 2048)`, `(default: 'auto')`.
fn default(description: &str) -> Option<String> {
    let (_, rest) = description.split_once("default: ")?;
    if let Some(quoted) = rest.strip_prefix(['\'', '"']) {
        return quoted.split(['\'', '"']).next().map(str::to_owned);
    }
    rest.split([',', ')', '(', ';']).next().map(|d| d.trim().to_owned())
}
