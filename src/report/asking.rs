//! Commands with holes: where a secret stands that is not written anywhere, or the address that a server will have, the shell asks for it by
//! the name of a variable, and runs nothing while that is not set.

use std::collections::HashMap;
use std::sync::LazyLock;

use indexmap::IndexMap;
use regex::Regex;

use super::command::quote;
use super::document::Recommended;
use crate::plan::command::{HOST, PORT};
use crate::plan::shell::quote_all;

static HOLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\*\*\*\d*|<host>|<port>").ok());

/// The words quoted for a shell; what is masked in them is asked for under the name of its flag.
pub fn quoted(words: &[String]) -> Vec<String> {
    Asked::default().words(words)
}

/// The same behind these variables. What they ask for is another secret: a flag that would ask by the same name asks by one of its own.
pub fn quoted_behind(env: &IndexMap<String, String>, words: &[String]) -> Vec<String> {
    exported(env).1.words(words)
}

/// `export NAME=VALUE` of each variable. Of a secret too: then it has to be set by whoever runs it.
pub fn exports(env: &IndexMap<String, String>) -> Vec<String> {
    exported(env).0
}

fn exported(env: &IndexMap<String, String>) -> (Vec<String>, Asked) {
    let mut asked = Asked(env.keys().map(|name| (name.clone(), 1)).collect());
    (env.iter().map(|(name, value)| asked.export(name, value)).collect(), asked)
}

/// The recommended command with its variables before it, as one line of shell.
pub fn with_environment(recommended: &Recommended) -> String {
    let variables = exports(&recommended.env);
    let variables = variables.iter().map(|v| format!("{} ", v.strip_prefix("export ").unwrap_or(v)));
    variables.collect::<String>() + &recommended.command
}

fn holds_one(text: &str) -> bool {
    HOLE.as_ref().is_some_and(|h| h.is_match(text))
}

fn ask(variable: &str, of: &str) -> String {
    format!("${{{variable}:?set it to the secret of {of}}}")
}

/// Variables that a command asks for, and how often the name of each was wanted.
#[derive(Default)]
struct Asked(HashMap<String, usize>);

impl Asked {
    fn words(&mut self, words: &[String]) -> Vec<String> {
        let mut flag = String::new();
        let mut out = Vec::with_capacity(words.len());
        for word in words {
            if word.starts_with('-') {
                word.split('=').next().unwrap_or_default().clone_into(&mut flag);
            }
            out.push(self.word(word, &flag));
        }
        out
    }

    fn export(&mut self, name: &str, value: &str) -> String {
        let is_secret = HOLE.as_ref().is_some_and(|h| h.find(value).is_some_and(|m| m.len() == value.len()));
        if is_secret && ![HOST, PORT].contains(&value) {
            return format!("export {name}=\"{}\"", ask(name, name));
        }
        if !holds_one(value) {
            return format!("export {}", quote(&format!("{name}={value}")));
        }
        format!("export {name}={}", self.pieces(value, &format!("{name}_SECRET"), name))
    }

    fn word(&mut self, word: &str, flag: &str) -> String {
        if !holds_one(word) {
            return quote(word);
        }
        let of = if flag.is_empty() { "this command" } else { flag };
        let (option, value) = match word.split_once('=') {
            Some((option, value)) if option.starts_with('-') && !holds_one(option) => {
                (format!("{}=", quote(option)), value)
            }
            _ => (String::new(), word),
        };
        option + &self.pieces(value, &variable_of(flag), of)
    }

    /// A text with its holes, each a question; what lies between is quoted by itself.
    fn pieces(&mut self, text: &str, name: &str, of: &str) -> String {
        let mut out = String::new();
        let mut rest = 0;
        for hole in HOLE.iter().flat_map(|h| h.find_iter(text)) {
            if hole.start() > rest {
                out += &quote_all(&text[rest..hole.start()]);
            }
            rest = hole.end();
            let place = match hole.as_str() {
                HOST => Some("${HOST:?set it to the address that it serves on}"),
                PORT => Some("${PORT:?set it to the port that it serves on}"),
                _ => None,
            };
            if let Some(place) = place {
                out.extend(["\"", place, "\""]);
                continue;
            }
            let times = self.0.entry(name.to_owned()).and_modify(|n| *n += 1).or_insert(1);
            let variable = if *times > 1 { format!("{name}_{times}") } else { name.to_owned() };
            out.extend(["\"", &ask(&variable, of), "\""]);
        }
        if rest < text.len() {
            out += &quote_all(&text[rest..]);
        }
        out
    }
}

/// `--api-key` asks for `API_KEY`; a flag that only holds a secret for its own name and that word.
fn variable_of(flag: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = flag.trim_start_matches('-').chars().map(plain).collect();
    let name =
        if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("SERVE{name}") };
    if crate::secrets::is_secret(&name) { name } else { format!("{name}_SECRET") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(all: &[&str]) -> Vec<String> {
        quoted(&all.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>())
    }

    fn export(name: &str, value: &str) -> String {
        exports(&IndexMap::from([(name.to_owned(), value.to_owned())])).remove(0)
    }

    #[test]
    fn two_secrets_of_one_name_are_asked_for_by_two() {
        let env =
            |all: &[(&str, &str)]| all.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let key: IndexMap<String, String> =
            env(&[("API_KEY", "***"), ("U", "http://***@h"), ("U_SECRET", "***")]);
        assert_eq!(
            exports(&key)[1..],
            [
                r#"export U=http://"${U_SECRET_2:?set it to the secret of U}"@h"#,
                r#"export U_SECRET="${U_SECRET:?set it to the secret of U_SECRET}""#
            ]
        );
        assert_eq!(
            quoted_behind(&key, &["--api-key=***".to_owned(), "--u=***".to_owned()]),
            [
                r#"--api-key="${API_KEY_2:?set it to the secret of --api-key}""#,
                r#"--u="${U_SECRET_3:?set it to the secret of --u}""#
            ]
        );
    }

    #[test]
    fn secrets_are_asked_for() {
        assert_eq!(
            words(&[
                "serve",
                "--api-key=***2",
                "--n=3",
                "--hf-token",
                "***",
                r#"--c={"password":"***","k":"***"}"#
            ]),
            [
                "serve",
                r#"--api-key="${API_KEY:?set it to the secret of --api-key}""#,
                "--n=3",
                "--hf-token",
                r#""${HF_TOKEN:?set it to the secret of --hf-token}""#,
                r#"--c='{"password":"'"${C_SECRET:?set it to the secret of --c}"'","k":"'"${C_SECRET_2:?set it to the secret of --c}"'"}'"#,
            ]
        );
        assert_eq!(
            export("U", "http://***@h"),
            r#"export U=http://"${U_SECRET:?set it to the secret of U}"@h"#
        );
        assert_eq!(
            export("A_TOKEN", "***"),
            r#"export A_TOKEN="${A_TOKEN:?set it to the secret of A_TOKEN}""#
        );
        assert_eq!(export("A", "b c"), "export A='b c'");
        let (host, port) = (
            "${HOST:?set it to the address that it serves on}",
            "${PORT:?set it to the port that it serves on}",
        );
        assert_eq!(export("U", "http://<host>:<port>"), format!(r#"export U=http://"{host}":"{port}""#));
        assert_eq!(words(&["--p=<port>", "<port>"]), [format!(r#"--p="{port}""#), format!(r#""{port}""#)]);
    }

    #[test]
    fn a_shell_puts_the_secrets_back_and_refuses_without_them() {
        let all = words(&["printf", r"%s\n", "--api-key=***", r#"--c={"it's":"***"}"#, "***"]).join(" ");
        let run = |set: &[(&str, &str)]| {
            let mut sh = std::process::Command::new("sh");
            sh.args(["-c", &all]).env_clear().envs(set.iter().copied()).output().expect("sh runs")
        };
        let out = run(&[("API_KEY", "a b$c"), ("C_SECRET", "x\"y"), ("C_SECRET_2", "z")]);
        assert_eq!(String::from_utf8_lossy(&out.stdout), "--api-key=a b$c\n--c={\"it's\":\"x\"y\"}\nz\n");
        let out = run(&[("C_SECRET", "x"), ("C_SECRET_2", "z")]);
        assert!(!out.status.success() && out.stdout.is_empty());
        assert!(String::from_utf8_lossy(&out.stderr).contains("API_KEY: set it to the secret of --api-key"));
    }
}
