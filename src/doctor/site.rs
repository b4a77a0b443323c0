//! The first site file: how the engines that were found are launched here. Everything in it is commented or true.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::engines::{Found, Via, shown};

/// Variables that engines would not inherit, and that say where models lie.
const HANDED_ON: [&str; 2] = ["HF_HOME", "HF_HUB_CACHE"];

/// The text of a site for this machine, before it is laid out.
pub fn site(host: &str, found: &[Found], variable: impl Fn(&str) -> Option<String>) -> String {
    let mut out =
        "# What perflab doctor found on this machine. Studies beside this file are launched by it.\n"
            .to_owned();
    let _ = writeln!(out, "site {} {{", name(host));
    let mut seen = BTreeSet::new();
    for f in found {
        let known = seen.insert((&f.engine, &f.version));
        let Some(line) = line(f) else {
            let _ = writeln!(out, "    # no file can name {}", comment(&shown(&f.path)));
            continue;
        };
        // of two installations of one version the first is used
        let _ = writeln!(out, "    {}{line}", if known { "" } else { "# also: " });
    }
    for name in HANDED_ON {
        if let Some(value) = variable(name).filter(|v| !v.is_empty()).and_then(|v| text(&v)) {
            let _ = writeln!(out, "    env {name}={value}");
        }
    }
    out.push_str("    # model \"Qwen/Qwen3-8B\" at \"~/models/qwen3-8b\"\n");
    out.push_str("    # price 2.99usd/h\n}\n");
    out
}

/// `None` where the place cannot be written down.
fn line(f: &Found) -> Option<String> {
    let version = f.version.as_ref().and_then(|v| text(v)).map_or_else(String::new, |v| format!(" {v}"));
    let is_text = f.path.to_str().is_some();
    Some(match f.via {
        Via::Venv if !is_text => return None,
        Via::Venv => format!("engine {}{version} via venv {}", f.engine, text(&shown(&f.path))?),
        Via::Path => format!("engine {}{version} via path  # {}", f.engine, comment(&shown(&f.path))),
    })
}

/// A string of the language; `None` for what it has no sign for.
fn text(value: &str) -> Option<String> {
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            // a single brace would insert something
            '{' | '}' => out.extend([c, c]),
            c if c.is_control() => return None,
            c => out.push(c),
        }
    }
    out.push('"');
    Some(out)
}

/// A text as it can stand in a comment.
fn comment(value: &str) -> String {
    value.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// A name of the language from a host's: `gpu-07.lab` is `gpu_07_lab`.
fn name(host: &str) -> String {
    let snake: String =
        host.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let snake = snake.trim_matches('_');
    match snake.chars().next() {
        Some(c) if c.is_ascii_alphabetic() && !["and", "or", "not", "true", "false"].contains(&snake) => {
            snake.to_owned()
        }
        Some(_) => format!("host_{snake}"),
        None => "here".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_written_as_the_language_reads_them() {
        assert_eq!(text("a\"b\\c{d}\n").as_deref(), Some(r#""a\"b\\c{{d}}\n""#));
        assert_eq!(text("é 漢"), Some("\"é 漢\"".to_owned()));
        assert_eq!(text("bell\u{7}"), None);
    }

    #[test]
    fn hosts_become_names() {
        for (host, expected) in [
            ("gpu-07.lab", "gpu_07_lab"),
            ("9b2f", "host_9b2f"),
            ("", "here"),
            ("Not", "host_not"),
            ("-", "here"),
        ] {
            assert_eq!(name(host), expected);
        }
    }
}
