//! Slips within a line that have one remedy: what a token in a wrong place was meant to say, and the edit that says it.

use std::ops::Range;

use super::at::goes_on;
use super::hints::Hint;
use super::json_slips;
use super::words::{ATTRIBUTES, TYPES};

/// The remedy for a token (of the chunk, a place in it) that no rule took.
pub fn slip(chunk: &str, token: &Range<usize>, word: &str, expected: &[String]) -> Option<Hint> {
    let before = chunk[..token.start].trim_end();
    let s = Slip { chunk, token, word, before };
    s.flag_attribute()
        .or_else(|| s.unset_value())
        .or_else(|| s.text_with_sign())
        .or_else(|| s.yaml_colon())
        .or_else(|| s.variable_with_spaces())
        .or_else(|| s.lower_case_variable(expected))
        .or_else(|| s.missing_colon(expected))
        .or_else(|| s.param_without_text())
        .or_else(|| s.title_behind_colon())
        .or_else(|| s.round_choices())
        .or_else(|| s.range_in_list())
        .or_else(|| s.price())
        .or_else(|| s.condition_word())
        .or_else(|| s.missing_equals(expected))
        .or_else(|| s.version_without_quotes(expected))
        .or_else(|| s.json_keys(expected))
}

struct Slip<'a> {
    chunk: &'a str,
    token: &'a Range<usize>,
    word: &'a str,
    before: &'a str,
}

fn hint(help: impl Into<String>, edit: Option<(Range<usize>, String)>) -> Hint {
    Hint { help: help.into(), edit }
}

impl Slip<'_> {
    fn after(&self) -> &str {
        &self.chunk[self.token.end..]
    }

    /// The last word before the token, and what stands before that.
    fn last_words(&self) -> (&str, &str) {
        let cut = self.before.rfind([' ', '\t', '\n', '{', ',', ':']).map_or(0, |n| n + 1);
        (&self.before[cut..], self.before[..cut].trim_end())
    }

    /// The rest of a word behind the token, without spaces in front.
    fn next_word(&self) -> Range<usize> {
        let rest = self.after();
        let start = self.token.end + rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let word = &self.chunk[start..];
        let end = word.find([' ', '\t', ',', '}', '\n', '\r', '#']).unwrap_or(word.len());
        start..start + end
    }

    /// `flag --seqs int 1.. = 256`, `flag --seqs int = 1..`, `flag --seqs=int`, `flag --seqs|-s int`, `… uses=gpus`
    fn flag_attribute(&self) -> Option<Hint> {
        if !matches!(self.word, "=" | "|" | "/" | "," | ":") || !self.chunk.starts_with("flag ") {
            return None;
        }
        let spaced = |what: &str| hint(what, Some((self.token.clone(), " ".to_owned())));
        let value = self.next_word();
        let next = &self.chunk[value.clone()];
        let named = self.last_words().0.starts_with('-');
        if named && self.word != "," && TYPES.contains(&next) {
            return Some(hint(
                "a flag's type stands behind a space",
                Some((self.token.start..value.start, " ".to_owned())),
            ));
        }
        if self.word != "=" {
            let edit = (self.token.start..value.start, " ".to_owned());
            return (named && next.starts_with('-'))
                .then(|| hint("spellings of one flag stand side by side", Some(edit)));
        }
        if named {
            return None;
        }
        if next.contains("..") {
            return Some(spaced("a range stands behind its type: remove the `=`"));
        }
        if ATTRIBUTES.contains(&self.last_words().0) {
            return Some(spaced("an attribute and its value are separated by a space: remove the `=`"));
        }
        let fixed = format!("default {next}");
        let edit = (!value.is_empty()).then(|| (self.token.start..value.end, fixed.clone()));
        Some(hint(format!("a default has its word: write `{fixed}`"), edit))
    }

    /// `unset --seqs=5`
    fn unset_value(&self) -> Option<Hint> {
        let (flag, rest) = self.last_words();
        if self.word != "=" || !rest.ends_with("unset") && !rest.ends_with("unset env") {
            return None;
        }
        if flag == "env" {
            // `unset env=NCCL_DEBUG`
            let name = &self.chunk[self.next_word()];
            let edit = (self.before.len()..self.next_word().end, format!(" {name}"));
            return Some(hint(format!("write `unset env {name}`"), Some(edit)));
        }
        let edit = (self.before.len()..self.next_word().end, String::new());
        let what = if rest.ends_with("env") { "env " } else { "" };
        Some(hint(format!("`unset` takes a name without a value: write `unset {what}{flag}`"), Some(edit)))
    }

    /// `model=org/M`, `version: 0.17.1`
    fn text_with_sign(&self) -> Option<Hint> {
        const TEXTS: [&str; 8] = ["model", "version", "note", "because", "of", "serve", "image", "probe"];
        let (word, _) = self.last_words();
        if !matches!(self.word, "=" | ":") || !TEXTS.contains(&word) {
            return None;
        }
        let value = self.next_word();
        let text = &self.chunk[value.clone()];
        if text.is_empty() || text.starts_with('"') && !text[1..].contains('"') {
            return Some(hint(format!("no sign stands between: write `{word} \"…\"`"), None));
        }
        let fixed = if text.starts_with('"') { format!(" {text}") } else { format!(" \"{text}\"") };
        Some(hint(format!("write `{word}{fixed}`"), Some((self.before.len()..value.end, fixed))))
    }

    /// `concurrency: 64`
    fn yaml_colon(&self) -> Option<Hint> {
        let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if self.word != ":" || self.before.is_empty() || !self.before.chars().all(name) {
            return None;
        }
        let gap = if self.after().starts_with([' ', '\t']) { "" } else { " " };
        let edit = (self.before.len()..self.token.end, gap.to_owned());
        Some(hint("a setting and its value are separated by a space: remove the `:`", Some(edit)))
    }

    /// `env NAME = value`
    fn variable_with_spaces(&self) -> Option<Hint> {
        let (name, rest) = self.last_words();
        let is_env = rest == "env" || rest.ends_with([' ', ':']) && rest.trim_end().ends_with("env");
        if self.word != "=" || !(is_env || rest.ends_with(" env")) || name.is_empty() {
            return None;
        }
        let value = self.next_word();
        let text = &self.chunk[value.clone()];
        let edit = (!text.is_empty()).then(|| (self.before.len()..value.start, "=".to_owned()));
        // a text that inserts a param is more than a word
        let rest = self.chunk[value.start..].split('\n').next().unwrap_or_default();
        let quoted =
            rest.strip_prefix('"').and_then(|r| r.split_once('"')).map(|(inner, _)| &rest[..inner.len() + 2]);
        let shown = if text.is_empty() { "value" } else { quoted.unwrap_or(text) };
        Some(hint(format!("no space stands at the `=`: write `env {name}={shown}`"), edit))
    }

    /// `env vllm_use_v1=1`, `env NCCL_debug=WARN`
    fn lower_case_variable(&self, expected: &[String]) -> Option<Hint> {
        let word = self.word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let lower = word && self.word.contains(|c: char| c.is_ascii_lowercase());
        if !lower || !expected.iter().any(|e| e == "a variable in upper case" || e == "`NAME=value`") {
            return None;
        }
        let name = self.word.to_ascii_uppercase();
        // most of it is right: it was meant to be one, and no proxy, which in small letters is none
        if self.word.starts_with(|c: char| c.is_ascii_uppercase()) {
            let edit = (self.token.clone(), name.clone());
            return Some(hint(format!("variables are written in capitals: write `env {name}`"), Some(edit)));
        }
        Some(hint(
            format!("engines read variables in upper case: `env {name}=…`; proxies are inherited"),
            None,
        ))
    }

    /// `fp8 "FP8" model "org/M"`
    fn missing_colon(&self, expected: &[String]) -> Option<Hint> {
        let json = self.before.contains("={");
        if json || !self.chunk.starts_with("axis") || !matches!(expected, [only] if only == "`:`") {
            return None;
        }
        let at = self.before.len();
        let end = if self.word == "=" { self.token.end } else { at };
        Some(hint(
            "a colon stands between a point's name and what it changes",
            Some((at..end, ":".to_owned())),
        ))
    }

    /// `--max-model-len={ctx}`, `--api-key={who}-x`
    fn param_without_text(&self) -> Option<Hint> {
        let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let plain = !self.word.is_empty() && self.word.chars().all(name);
        if !plain || !self.before.ends_with("={") || !self.after().starts_with('}') {
            return None;
        }
        let behind = self.token.end + 1;
        let place = self.before.len() - 1..behind + goes_on(&self.chunk[behind..]);
        let fixed = format!("\"{}\"", &self.chunk[place.clone()]);
        let edit = (place, fixed.clone());
        Some(hint(format!("a param is inserted into a text: write `{fixed}`"), Some(edit)))
    }

    /// `fp8: "FP8" model "org/M"`
    fn title_behind_colon(&self) -> Option<Hint> {
        let before = self.before.strip_suffix(':')?;
        if !self.chunk.starts_with("axis") || !self.word.starts_with('"') || self.word.len() < 2 {
            return None;
        }
        let cut = before.rfind([' ', '\t', '\n', '{', ',']).map_or(0, |n| n + 1);
        let name = &before[cut..];
        let edit = (before.len()..self.token.end, format!(" {}:", self.word));
        Some(hint(format!("a title stands before the colon: write `{name} {}: …`", self.word), Some(edit)))
    }

    /// `one_of (fast, slow)`
    fn round_choices(&self) -> Option<Hint> {
        if !self.before.ends_with("one_of") || !matches!(self.word, "(" | "{") {
            return None;
        }
        let close = if self.word == "(" { ')' } else { '}' };
        let inner = self.after().find(close).map(|n| &self.after()[..n]);
        let help = "choices stand in square brackets: `one_of [fast, slow]`";
        let edit = inner.filter(|i| !i.contains(['(', '{', '[', '\n'])).map(|inner| {
            let words: Vec<&str> = inner.split([',', '|', ' ']).filter(|w| !w.is_empty()).collect();
            (self.token.start..self.token.end + inner.len() + 1, format!("[{}]", words.join(", ")))
        });
        Some(hint(help, edit))
    }

    /// `--max-num-seqs=[64 .. 512]`, `vary seqs[4 to 16]`
    fn range_in_list(&self) -> Option<Hint> {
        let open = self.before.rfind('[')?;
        let low = self.before[open + 1..].trim();
        let rest = self.chunk[self.token.start..].split([']', '\n']).next()?;
        let high = ["..", "to ", "through ", "until ", "- "].iter().find_map(|w| rest.strip_prefix(w))?;
        let digits = |t: &str| t.starts_with(|c: char| c.is_ascii_digit());
        let high = high.trim_start_matches('.').trim();
        let is_range = rest.starts_with("..") || digits(low) && digits(high);
        if self.before[open..].contains(']') || !is_range {
            return None;
        }
        let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = &self.before[self.before[..open].trim_end_matches(in_name).len()..open];
        if name.is_empty() || self.before[..open].ends_with(['=', ' ']) || !digits(low) || !digits(high) {
            return Some(hint("an axis names each of its values: `[64, 128, 256, 512]`", None));
        }
        Some(hint(format!("name each point that is picked: `{name}[{low}, …, {high}]`"), None))
    }

    /// `price $2.99/h`, `budget $20`
    fn price(&self) -> Option<Hint> {
        let amount = self.next_word();
        let (digits, per) = self.chunk.get(amount.clone())?.split_once('/').map_or_else(
            || (&self.chunk[amount.clone()], ""),
            |(d, p)| (d, if matches!(p, "h" | "hr" | "hour") { "/h" } else { "?" }),
        );
        let number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
        if self.word != "$" || !number || per == "?" {
            return None;
        }
        // of a GPU it is the price of an hour
        let per = if self.chunk.starts_with("price ") { "/h" } else { per };
        let fixed = format!("{digits}usd{per}");
        let edit = (self.token.start..amount.end, fixed.clone());
        Some(hint(format!("the unit stands behind the number: write `{fixed}`"), Some(edit)))
    }

    /// `step spec if p50(tpot) > 15ms`
    fn condition_word(&self) -> Option<Hint> {
        let takes = self.chunk.starts_with("step ") || self.chunk.starts_with("prune ");
        if !takes || !matches!(self.word, "if" | "unless" | "where" | "only_if" | "while") {
            return None;
        }
        let edit = (self.word != "unless").then(|| (self.token.clone(), "when".to_owned()));
        let help = if edit.is_some() {
            "a condition stands behind `when`"
        } else {
            "a condition stands behind `when`: write `when not …`"
        };
        Some(hint(help, edit))
    }

    /// `param ctx 32Ki`
    fn missing_equals(&self, expected: &[String]) -> Option<Hint> {
        let declares = ["param ", "metric ", "axis "].iter().any(|w| self.chunk.starts_with(w));
        if !declares || self.word.is_empty() || !matches!(expected, [only] if only == "`=`") {
            return None;
        }
        if let Some(hint) = self.bare_points().or_else(|| self.parameters()).or_else(|| self.typed()) {
            return Some(hint);
        }
        let edit = if matches!(self.word, ":" | "=" | "is") {
            (self.before.len()..self.token.end, " =".to_owned())
        } else {
            (self.token.start..self.token.start, "= ".to_owned())
        };
        Some(hint(format!("write `{} = …`", self.before), Some(edit)))
    }

    /// `metric tail: ratio = p95(ttft) / p50(ttft)`: what something is, its value says.
    fn typed(&self) -> Option<Hint> {
        let (kind, _) = self.chunk[self.token.start..].strip_prefix(':')?.split_once('=')?;
        let in_type = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '[' | ']');
        let edit =
            (self.before.len()..self.token.start + ":".len() + kind.len() + "=".len(), " =".to_owned());
        let help = format!("what is declared has no type: write `{} = …`", self.before);
        let named = !kind.trim().is_empty() && kind.trim().chars().all(in_type);
        named.then(|| hint(help, Some(edit)))
    }

    /// `metric per_gpu(x) = total_tps / gpus`: what is declared is no function. One that its value names may stand for something.
    fn parameters(&self) -> Option<Hint> {
        let (inner, rest) = self.chunk[self.token.start..].strip_prefix('(')?.split_once(')')?;
        let value = rest.trim_start().strip_prefix('=').filter(|_| !inner.contains('\n'))?;
        let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let names = |text: &str, name: &str| text.split(|c| !in_name(c)).any(|word| word == name);
        let used = inner.split(|c| !in_name(c)).any(|name| !name.is_empty() && names(value, name));
        let edit = (self.before.len()..self.token.start + inner.len() + "()".len(), String::new());
        let help = format!("what is declared takes nothing in brackets: write `{} =`", self.before);
        Some(hint(help, (!used).then_some(edit)))
    }

    /// `axis a { --x=[1, 2] }`: flags alone need no braces, as their points need no names.
    fn bare_points(&self) -> Option<Hint> {
        let rest = self.chunk[self.token.start..].trim_end();
        let flags = rest.strip_prefix('{')?.strip_suffix('}')?.trim();
        let alone = flags.starts_with('-') && !flags.contains(['{', '}', '\n']);
        alone.then(|| {
            let right = format!("= {flags}");
            let place = self.token.start..self.token.start + rest.len();
            hint(format!("write `{} {right}`", self.before), Some((place, right)))
        })
    }

    /// `engine vllm 0.17.1 via venv`, `versions "1.0", 2.0`
    fn version_without_quotes(&self, expected: &[String]) -> Option<Hint> {
        let is = |what: &str| expected.iter().any(|e| e == what);
        let number = self.word.starts_with(|c: char| c.is_ascii_digit());
        if !number
            || self.before.contains("={")
            || !is("a string in double quotes")
            || is("a number")
            || is("`=`")
            || is("`{`")
        {
            return None;
        }
        let fixed = format!("\"{}\"", self.word);
        let what = if self.before.starts_with("gpus ") {
            "a device is named by a text"
        } else {
            "versions are texts"
        };
        Some(hint(format!("{what}: write `{fixed}`"), Some((self.token.clone(), fixed))))
    }

    /// `{method: mtp}` behind a flag, in an axis or an engine
    fn json_keys(&self, expected: &[String]) -> Option<Hint> {
        json_slips::open(self.before)?;
        let ends = self.before.ends_with(['"', '}', ']'])
            || self.before.ends_with(|c: char| c.is_ascii_alphanumeric());
        if self.word == "=" {
            return Some(hint(
                "in JSON a colon stands between a key and its value",
                Some((self.token.clone(), ":".to_owned())),
            ));
        }
        let colon = matches!(expected, [only] if only == "`:`");
        if matches!(self.word, "," | "}" | "]") && self.before.ends_with([':', '"']) {
            let key = self.before.trim_end_matches(':').trim_end();
            let key = key.trim_end_matches('"').rsplit('"').next().unwrap_or_default();
            let missing = self.before.ends_with(':') || colon;
            return missing.then(|| hint(format!("the value is missing: write `\"{key}\": VALUE`"), None));
        }
        if self.word.starts_with('"') && colon && self.before.ends_with('"') {
            let at = self.before.len();
            return Some(hint(
                "in JSON a colon stands between a key and its value",
                Some((at..at, ":".to_owned())),
            ));
        }
        if self.word.starts_with('"') && ends {
            let at = self.before.len();
            return Some(hint("in JSON commas separate keys", Some((at..at, ",".to_owned()))));
        }
        let value = self.word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '{' | '['));
        if self.before.ends_with('"') && (value || matches!(self.word, "true" | "false" | "null")) {
            let at = self.before.len();
            return Some(hint(
                "in JSON a colon stands between a key and its value",
                Some((at..at, ":".to_owned())),
            ));
        }
        if let Some((at, right)) = json_slips::bare_keys(self.chunk, self.token) {
            return Some(hint(format!("keys in JSON are quoted: write {right}"), Some((at, right))));
        }
        if self.word.strip_prefix('.').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit())) {
            let at = self.token.start;
            let help = format!("a number in JSON begins with a digit: write `0{}`", self.word);
            return Some(hint(help, Some((at..at, "0".to_owned()))));
        }
        let digits =
            self.before.len() - self.before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let number = &self.before[self.before.len() - digits..];
        if number.strip_suffix('.').is_some_and(|n| !n.is_empty() && !n.contains('.')) {
            let right = format!("{number}0");
            let help = format!("digits stand behind a point: write `{right}`");
            return Some(hint(help, Some((self.before.len() - digits..self.before.len(), right))));
        }
        let before = if self.chunk.trim_start().starts_with("body") { "body " } else { "--flag=" };
        let example = format!("{before}{{\"key\": \"text\"}}");
        Some(hint(format!("JSON takes double quotes around keys and texts: `{example}`"), None))
    }
}
