//! Settings in the phrases of other tools and of everyday speech: `adopt 1%`, `confirm chat`, `step a: vary seqs`, `seqs(64)`. What was
//! meant is plain, and the edit says it.

mod studies;

use std::ops::Range;

use super::hints::Hint;
use super::imports;
use super::signs::json_word;
use super::spaced;
use super::words::DATA;
use crate::lang::unit_slips;

/// The remedy for a token (of the chunk, a place in it) that no rule took.
pub fn phrase(chunk: &str, token: &Range<usize>, word: &str, expected: &[String]) -> Option<Hint> {
    let setting = chunk.trim_start().split([' ', '\t', '\n']).next().unwrap_or_default();
    let before = chunk[..token.start].trim_end();
    let at = Place { chunk, token, word, before, expected };
    match setting {
        "adopt" | "confirm" | "curve" | "budget" | "maximize" | "minimize" => at.study(setting),
        "require" | "prune" => at.condition(),
        "step" | "track" => at.step(setting).or_else(|| at.picked()).or_else(|| at.condition()),
        "vary" | "pick" => at.picked(),
        "axis" => at.list(),
        "use" => at.import(),
        "engine" | "profile" => at.parent(),
        "param" => at.param(),
        "metric" => at.metric(),
        "env" => at.variable(),
        _ => at.line(setting),
    }
}

/// A token where it stands.
struct Place<'a> {
    chunk: &'a str,
    token: &'a Range<usize>,
    word: &'a str,
    /// what stands before it, without spaces at its end
    before: &'a str,
    expected: &'a [String],
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "as what was meant is known here, it is the answer of whoever asks"
)]
fn hint(help: impl Into<String>, edit: Option<(Range<usize>, String)>) -> Option<Hint> {
    Some(Hint { help: help.into(), edit })
}

impl<'a> Place<'a> {
    fn is(&self, what: &str) -> bool {
        self.expected.iter().any(|e| e == what)
    }

    fn after(&self) -> &'a str {
        &self.chunk[self.token.end..]
    }

    /// From the token to the end of its line.
    fn rest(&self) -> &'a str {
        self.chunk[self.token.start..].split(['\n', '#']).next().unwrap_or_default().trim_end()
    }

    fn to_line_end(&self) -> Range<usize> {
        self.token.start..self.token.start + self.rest().len()
    }

    /// A text in front of the token.
    fn insert(&self, help: impl Into<String>, text: &str) -> Option<Hint> {
        hint(help, Some((self.token.start..self.token.start, text.to_owned())))
    }

    /// Another text in its place.
    fn replace(&self, help: impl Into<String>, text: &str) -> Option<Hint> {
        hint(help, Some((self.token.clone(), text.to_owned())))
    }

    /// `--x=[1,, 2]`, `--x=1, 2`
    fn list(&self) -> Option<Hint> {
        let function = self.before.rsplit('=').next().filter(|_| self.word == "(");
        if function
            .is_some_and(|f| matches!(f, "range" | "list" | "seq" | "linspace" | "logspace" | "arange"))
        {
            return hint("nothing is computed here: the values stand in square brackets, `[8, 16]`", None);
        }
        if self.word != "," {
            return None;
        }
        if self.before.ends_with(',') {
            let edit = (self.before.len()..self.token.end, String::new());
            return hint("one comma stands between two values", Some(edit));
        }
        let start = self.before.rfind('=').filter(|_| self.after().starts_with(' '))? + 1;
        let values = &self.chunk[start..self.to_line_end().end];
        let plain =
            |v: &str| !v.is_empty() && v.bytes().all(|b| b.is_ascii_alphanumeric() || b"._%-".contains(&b));
        let all = values.split(',').map(str::trim).all(plain) && self.before[..start].contains('-');
        let right = format!("[{values}]");
        all.then(|| {
            let edit = (start..start + values.len(), right.clone());
            hint(format!("a list stands in square brackets: write `{right}`"), Some(edit))
        })?
    }

    /// `use std.engines { … }`, `use std/engines vllm`, `use std/engines/vllm`
    fn import(&self) -> Option<Hint> {
        let line = self.rest();
        if let Some(part) = self.word.strip_prefix("std.").filter(|_| self.before == "use") {
            return self.replace(format!("write `use std/{part} {{ … }}`"), &format!("std/{part}"));
        }
        if self.word == "from" && self.before.ends_with('}') {
            let edit = (self.before.len()..self.to_line_end().end, String::new());
            let help = "where names come from stands before them: remove what stands behind the `}`";
            return hint(help, Some(edit));
        }
        if let Some(what) = imports::nothing_taken(self.chunk).filter(|_| self.is("`{`")) {
            return hint(what, None);
        }
        if let Some(name) =
            self.word.strip_prefix('/').filter(|n| is_name(n) && line.len() == self.word.len())
        {
            let edit = (self.before.len()..self.token.end, format!(" {{ {name} }}"));
            return hint(
                format!("what is taken stands in braces: `{} {{ {name} }}`", self.before),
                Some(edit),
            );
        }
        if matches!(self.word, "[" | "(") && self.is("`{`") {
            let (inner, _) = self.after().split_once([']', ')'])?;
            let right = format!("{{{inner}}}");
            let edit = (self.token.start..self.token.end + inner.len() + 1, right.clone());
            return hint(format!("what is taken stands in braces: `{right}`"), Some(edit));
        }
        let names = line.split(',').map(str::trim).all(is_name) && self.is("`{`");
        names.then(|| {
            let edit = (self.to_line_end(), format!("{{ {line} }}"));
            hint(format!("what is taken stands in braces: `{{ {line} }}`"), Some(edit))
        })?
    }

    /// `engine s "SGLang" sglang {`, `engine s SGLang = sglang {`, `engine s = sglang(`
    fn parent(&self) -> Option<Hint> {
        let next = self.after().trim_start();
        if self.is("`=`") && is_name(self.word) && next.starts_with('{') {
            return self.insert("what it derives from stands behind `=`", "= ");
        }
        let words = |w: &str| w.starts_with(|c: char| c.is_ascii_alphabetic());
        if self.is("`=`") && words(self.word) && next.starts_with('=') {
            let quoted = format!("\"{}\"", self.word);
            return self.replace(format!("a title is a text: write {quoted}"), &quoted);
        }
        None
    }

    /// `param dtype = fp8`, `param sizes = [1, 2]`
    fn param(&self) -> Option<Hint> {
        // `param strict: bool = true`
        if self.word == ":" && self.before.split_whitespace().count() == 2 {
            let (_, value) = self.rest().split_once('=')?;
            let place = self.before.len()..self.to_line_end().end - value.len();
            let help = format!("a param is declared without a type: write `{} ={value}`", self.before);
            return hint(help, Some((place, " =".to_owned())));
        }
        if !self.before.ends_with('=') {
            return None;
        }
        if matches!(self.word, "[" | "{") {
            return hint("a param is one number, text, true or false; an axis lists values", None);
        }
        let truth = match self.rest() {
            "True" | "TRUE" | "yes" | "Yes" | "on" | "On" => Some("true"),
            "False" | "FALSE" | "no" | "No" | "off" | "Off" => Some("false"),
            "None" | "null" | "nil" | "NULL" => {
                return hint("a param has a value: a number, a text, true or false", None);
            }
            word => json_word(word).filter(|meant| *meant != "null"),
        };
        if let Some(truth) = truth {
            return self.replace(format!("write `{truth}`"), truth);
        }
        let (words, quoted) = (self.rest(), format!("\"{}\"", self.rest()));
        let plain = words.starts_with(|c: char| c.is_ascii_alphabetic())
            && !words.contains(['"', '\\', '{', '}', ' ', '(']);
        plain.then(|| {
            hint(format!("a text is quoted: write {quoted}"), Some((self.to_line_end(), quoted.clone())))
        })?
    }

    fn metric(&self) -> Option<Hint> {
        let divided = "one quantity per another is `a / b`";
        match self.word {
            ":" | "=" if self.before.contains("goodput(") => {
                hint("it counts what meets a condition: `goodput(ttft <= 500ms and tpot <= 50ms)`", None)
            }
            "per" | "over" | "÷" => self.replace(divided, "/"),
            "^" | "**" => hint("there are no powers: write `a * a`", None),
            "×" | "x" => self.replace("write `*`", "*"),
            word if is_name(word) && self.compares() => {
                hint("conditions are joined by `and` or `or`: write it between the two", None)
            }
            word if is_name(word) && ends_in_number(self.before) => {
                // `1tok p90(tpot)` may be a quotient too, `2 total_tps` hardly
                if self.before.ends_with(|c: char| c.is_ascii_digit()) {
                    self.insert("a product has its sign: write `*`", "* ")
                } else {
                    hint("the sign between the two is missing: write `*` or `/`", None)
                }
            }
            _ => None,
        }
    }

    /// `ttft <= 300ms latency <= 20s`: whether a comparison stands before the token, and it begins another one.
    fn compares(&self) -> bool {
        let call = self.before.rfind(['(', ',']).map_or(self.before, |at| &self.before[at..]);
        let rest = self.after().trim_start();
        call.contains(['<', '>']) && rest.starts_with(['<', '>', '=', '!'])
    }

    /// `env FOO=a b`
    fn variable(&self) -> Option<Hint> {
        let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let named = self.word.starts_with(|c: char| c.is_ascii_uppercase()) && self.word.chars().all(upper);
        if named && self.after().starts_with('=') {
            return self.insert(format!("each variable has its word: write `env {}=…`", self.word), "env ");
        }
        let start = self.before.rfind('=')? + 1;
        let first = &self.before[start..];
        let words = spaced::words(&self.chunk[start..], first);
        let quoted = format!("\"{words}\"");
        (words.len() > first.len()).then(|| {
            let edit = (start..start + words.len(), quoted.clone());
            hint(format!("a value that holds a space is quoted: write {quoted}"), Some(edit))
        })?
    }

    /// Lines of engines and profiles.
    fn line(&self, setting: &str) -> Option<Hint> {
        if self.word == "," && self.after().trim().is_empty() {
            let edit = (self.before.len()..self.token.end, String::new());
            return hint("a setting ends with its line: remove the comma", Some(edit));
        }
        if setting == "-" && self.chunk.starts_with("- ") {
            let rest = self.chunk["-".len()..].trim_start();
            let start = self.chunk.len() - rest.len();
            // `- repeat: 2`
            let key = rest.split_once(": ").map(|(key, _)| key).filter(|key| is_name(key));
            let edit = match key {
                Some(key) => (0..start + key.len() + 1, key.to_owned()),
                None => (0..start, String::new()),
            };
            return hint("lines need no `-` in front: remove it", Some(edit));
        }
        match (setting, self.word) {
            ("rate" | "input" | "output" | "think" | "concurrency", "-" | "to" | "–" | "...") => {
                self.replace("a range is written with `..`", "..")
            }
            ("input" | "output", "[") => {
                let inner = self.after().split_once(']').map_or("", |(inner, _)| inner);
                let both = inner.split_once(',').map(|(from, to)| (from.trim(), to.trim()));
                let (from, to) = both.filter(|(_, to)| !to.contains(',')).unwrap_or(("256", "1Ki"));
                hint(format!("write one number, or a range to draw from: `{setting} {from} .. {to}`"), None)
            }
            ("rate" | "concurrency", "[") => {
                let inner = self.after().split_once(']').map(|(inner, _)| inner.trim())?;
                let edit = (self.token.start..self.token.start + self.rest().len(), inner.to_owned());
                hint(format!("values stand without brackets: write `{setting} {inner}`"), Some(edit))
            }
            // `input normal 512 128`, `output uniform(64, 128)`
            ("input" | "output", _)
                if self
                    .before
                    .get(setting.len()..)
                    .is_some_and(|b| b.trim_start().starts_with(char::is_alphabetic)) =>
            {
                hint(format!("a length is one number, or a range to draw from: `{setting} 256 .. 1Ki`"), None)
            }
            // `20 Hz`, `3 per second`, `6 req/s`
            ("rate", _) if self.before != setting && rate_unit(self.rest()).is_some() => {
                let unit = rate_unit(self.rest())?;
                let number = self.before.rsplit([' ', '\t', ',']).next().unwrap_or_default();
                let edit = Some((self.before.len()..self.to_line_end().end, unit.to_owned()));
                hint(format!("the unit stands behind the number: write `{number}{unit}`"), edit)
            }
            ("concurrency" | "rate", word)
                if word.starts_with(|c: char| c.is_ascii_digit()) && self.before != setting =>
            {
                let all = self.rest().split(|c: char| c.is_whitespace() || c == ',');
                let list = all.filter(|n| !n.is_empty()).collect::<Vec<_>>().join(", ");
                let edit = (self.before.len()..self.to_line_end().end, format!(", {list}"));
                hint("loads that run one after another are separated by commas", Some(edit))
            }
            ("data", _) if self.before.ends_with('-') || self.word.starts_with('-') => {
                // `prefix-repetition`
                let line = self.to_line_end();
                let start = self.before.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '-').len();
                let written = &self.chunk[start..line.end];
                let right = written.replace('-', "_");
                // `random-ids`: more than the name of a kind
                if let Some((kind, _)) = written.split_once('-').filter(|(k, _)| DATA.contains(k)) {
                    let edit = Some((start..line.end, kind.to_owned()));
                    return hint(format!("write `data {kind}`"), edit);
                }
                let is = is_name(&right).then_some((start..line.end, right.clone()));
                is.and_then(|edit| hint(format!("names are snake_case: write `{right}`"), Some(edit)))
            }
            ("data" | "tokenizer", word) if self.is_path(word) => {
                // `models/q`: its beginning was read as a word
                let start = self.before.rfind([' ', '\t']).map_or(0, |n| n + 1);
                let glued = self.before.len() == self.token.start && self.before[start..] != *setting;
                let path = if glued { start..self.token.end } else { self.token.clone() };
                let quoted = format!("\"{}\"", &self.chunk[path.clone()]);
                hint(format!("a path is quoted: write {quoted}"), Some((path, quoted)))
            }
            _ => None,
        }
    }

    fn is_path(&self, word: &str) -> bool {
        !word.starts_with('"') && word.contains(['/', '.']) && self.to_line_end().len() == word.len()
    }
}

fn is_name(word: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(inner)
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a number stands at the end: `2`, and not `p99`.
fn ends_in_number(text: &str) -> bool {
    let last = &text[text.trim_end_matches(|c| in_word(c) || c == '.').len()..];
    last.starts_with(|c: char| c.is_ascii_digit())
}

/// What is said behind a number of requests in a time: `Hz`, `per second`, `req/s`.
fn rate_unit(text: &str) -> Option<&'static str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let whole = words.join(" ");
    let counted = ["requests", "request", "reqs", "req"].iter().find_map(|w| whole.strip_prefix(w));
    let said = counted.unwrap_or(&whole).trim_start();
    let said = match said.strip_prefix("per ").or_else(|| said.strip_prefix("a ")) {
        Some(time) => format!("/{time}"),
        None => said.to_owned(),
    };
    match unit_slips::names(&said).as_slice() {
        [unit @ ("/s" | "/min" | "/h")] => Some(unit),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
