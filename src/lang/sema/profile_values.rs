//! What stands behind the word of a profile's setting: numbers, ranges, texts; and what is told where something else does.

use super::check::Checker;
use super::meant::truth;
use super::sampling;
use super::unexpanded::Of;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Edit, one_of};
use crate::lang::syntax::ast::{Name, Number, WordLine, WordValue};
use crate::lang::syntax::number_alone;

const MAX_TOKENS: u64 = 100_000_000;

impl Checker<'_> {
    pub(super) fn wrong(&mut self, line: &WordLine, expected: &str) {
        self.is_wrong_in_any_case(&line.value);
        let message = format!("`{}` takes {expected}", line.word.value);
        let d = Diagnostic::new(Code::ProfileSetting, line.value.span(), message)
            .label("something else stands here");
        if let Some(right) = self.decimal_comma(&line.value) {
            let (span, help) = (line.value.span(), format!("decimals stand behind a point: write `{right}`"));
            self.sink.push(d.help(help).edit(span, right));
            return;
        }
        if let Some((right, help)) = self.number_meant(line, expected) {
            self.sink.push(d.help(help).edit(line.value.span(), right));
            return;
        }
        let meant = match &line.value {
            WordValue::Word { word, argument: None } if expected == "`true` or `false`" => {
                truth(&word.value).map(|is| is.to_string())
            }
            WordValue::Numbers(_) if expected == "`true` or `false`" => {
                truth(&self.source_text(line.value.span())).map(|is| is.to_string())
            }
            // `data "random"`
            WordValue::Text(text) if expected.split([' ', ',']).any(|w| w == text.value) => {
                Some(text.value.clone())
            }
            _ => None,
        };
        let help = match (meant, self.groups_of_thousands(&line.value)) {
            (Some(meant), _) => format!("write `{} {meant}`", line.word.value),
            (None, Some(right)) => format!("write `{} {right}`: digits stand together", line.word.value),
            (None, None) => format!("write for example `{}`", example(&line.word.value)),
        };
        self.sink.push(d.help(help));
    }

    /// `temperature None`: that a name has no capitals is no mistake besides, where the name is none that can stand there.
    fn is_wrong_in_any_case(&mut self, value: &WordValue) {
        let WordValue::Word { word, argument: None } = value else { return };
        self.sink.forget(|d| {
            let is_case = |e: &Edit| e.span == word.span && e.text == word.value;
            d.code == Code::Unexpected && d.span == word.span && d.edits.iter().all(is_case)
        });
    }

    /// `data "requests.jsonl"`: a file, of which nobody says what it holds. Whether it is one.
    pub(super) fn file_of_no_kind(&mut self, line: &WordLine) -> bool {
        let WordValue::Text(file) = &line.value else { return false };
        // one of the words in quotes is that word
        if !file.value.contains(['.', '/']) {
            return false;
        }
        let message = "`data` does not say what the file holds";
        let d = Diagnostic::new(Code::ProfileSetting, file.span, message).label("a file of which kind?");
        let written = self.source_text(file.span);
        let kinds = ["jsonl", "trace", "conversations"].map(|kind| format!("`data {kind} {written}`"));
        self.sink.push(d.help(format!("write {}", one_of(&kinds))));
        true
    }

    /// A number in quotes, and two numbers where a range may stand.
    fn number_meant(&self, line: &WordLine, expected: &str) -> Option<(String, String)> {
        match &line.value {
            WordValue::Text(text)
                if expected.contains("number") && number_alone(text.value.trim(), text.span).is_some() =>
            {
                let right = text.value.trim().to_owned();
                let help = format!("a number has no quotes: write `{} {right}`", line.word.value);
                Some((right, help))
            }
            WordValue::Numbers(all)
                if expected.contains("range") && self.groups_of_thousands(&line.value).is_none() =>
            {
                let [from, to] = all.as_slice() else { return None };
                let right = format!("{} .. {}", self.source_text(from.span), self.source_text(to.span));
                Some((right.clone(), format!("a range is written `{} {right}`", line.word.value)))
            }
            _ => None,
        }
    }

    /// `0,2`, glued together: one number to most people, two to the grammar. Of `1,500` nobody knows.
    fn decimal_comma(&self, value: &WordValue) -> Option<String> {
        let WordValue::Numbers(all) = value else { return None };
        let written = self.source_text(value.span());
        let (whole, decimals) = written.split_once(',').filter(|_| all.len() == 2)?;
        let digits = decimals.bytes().take_while(u8::is_ascii_digit).count();
        let sure = digits > 0 && (digits != 3 || whole == "0") && whole.bytes().all(|b| b.is_ascii_digit());
        sure.then(|| format!("{whole}.{decimals}"))
    }

    /// `30,000`, glued together: thousands are set apart so elsewhere.
    fn groups_of_thousands(&self, value: &WordValue) -> Option<String> {
        let WordValue::Numbers(_) = value else { return None };
        let mut parts = self.source_text(value.span()).split(',').map(str::to_owned).collect::<Vec<_>>();
        let digits = |p: &String| p.bytes().all(|b| b.is_ascii_digit());
        let first = parts.first().is_some_and(|p| (1..=3).contains(&p.len()) && !p.starts_with('0'));
        let whole = first && parts.len() > 1 && parts.iter().all(digits);
        (whole && parts.iter().skip(1).all(|p| p.len() == 3)).then(|| parts.drain(..).collect())
    }

    /// A word that is none of those which a setting knows.
    pub(super) fn no_such(&mut self, what: &str, word: &Name, known: &[&str]) {
        self.is_wrong_in_any_case(&WordValue::Word { word: word.clone(), argument: None });
        let d =
            Diagnostic::new(Code::ProfileSetting, word.span, format!("no {what} is called `{}`", word.value));
        let d = d.meant(&word.value, known.iter().copied(), "unknown", str::to_owned);
        self.sink.push(d.help(format!("write {}", one_of(known))));
    }

    /// The line's one number.
    pub(super) fn one(&mut self, line: &WordLine) -> Option<Number> {
        if let WordValue::Numbers(all) = &line.value
            && let [one] = all.as_slice()
        {
            return Some(one.clone());
        }
        self.wrong(line, "one number");
        None
    }

    pub(super) fn count(&mut self, line: &WordLine, min: u64, max: u64) -> Option<u64> {
        let n = self.one(line)?;
        self.whole(&n, min, max, &format!("`{}`", line.word.value))
    }

    pub(super) fn text_of(&mut self, module: usize, line: &WordLine) -> Option<String> {
        if let WordValue::Text(t) = &line.value {
            return Some(self.inserted(module, t, false));
        }
        self.wrong(line, "a string in double quotes");
        None
    }

    pub(super) fn tokenizer(&mut self, module: usize, line: &WordLine) -> Option<String> {
        let WordValue::Text(path) = &line.value else { return self.text_of(module, line) };
        let help = format!("write for example `{}`", example("tokenizer"));
        self.unexpanded(module, path.span, Of::Path);
        Some(self.said(module, path, Code::ProfileSetting, "the path of the tokenizer", &help))
    }

    /// Tokens: a number, or a range that is drawn from.
    pub(super) fn tokens(&mut self, line: &WordLine, min: u64) -> Option<(u32, u32)> {
        let what = format!("`{}`", line.word.value);
        match &line.value {
            WordValue::Numbers(all) if all.len() == 1 => {
                let n = self.tokens_number(&all[0], min, &what)?;
                Some((n, n))
            }
            WordValue::Range(r) => {
                let from = self.tokens_number(&r.from, min, &what)?;
                let Some(to) = &r.to else {
                    self.wrong(line, "a number of tokens, or a range with two ends");
                    return None;
                };
                let to = self.tokens_number(to, min, &what)?;
                if to < from {
                    self.rises(line, f64::from(from), Some(f64::from(to)));
                }
                Some((from, to))
            }
            _ => {
                self.wrong(line, "a number of tokens, or a range");
                None
            }
        }
    }

    pub(super) fn prefix(&mut self, line: &WordLine) -> Option<u32> {
        let n = self.one(line)?;
        self.tokens_number(&n, 1, "`prefix`")
    }

    /// Tokens may carry their unit or none.
    fn tokens_number(&mut self, n: &Number, min: u64, what: &str) -> Option<u32> {
        let plain = if n.unit == "tok" { Number { unit: String::new(), ..n.clone() } } else { n.clone() };
        self.whole(&plain, min, MAX_TOKENS, what).map(|v| v as u32)
    }
}

/// A setting as it may be written.
fn example(setting: &str) -> &'static str {
    match setting {
        "data" => "data random",
        "input" => "input 1024",
        "output" => "output 100 .. 200",
        "prefix" => "prefix 512",
        "prefixes" => "prefixes 10",
        "rate" => "rate 8/s",
        "arrivals" => "arrivals gamma 0.5",
        "slowdown" => "slowdown 2",
        "think" => "think 1s .. 5s",
        "answers" => "answers recorded",
        "in_flight" => "in_flight 256",
        "concurrency" => "concurrency 64",
        "requests" => "requests 1000",
        "duration" => "duration 5min",
        "seed" => "seed 42",
        "warmup" => "warmup 16",
        "timeout" => "timeout 60s",
        "recipe" => "recipe vllm",
        "tokenizer" => "tokenizer \"~/models/qwen3\"",
        "temperature" => "temperature 0",
        "body" => r#"body {"chat_template_kwargs": {"enable_thinking": false}}"#,
        "ignore_eos" => "ignore_eos true",
        "stream" => "stream false",
        other => sampling::example(other),
    }
}
