//! Remedies that studies of strangers asked for: signs and words for which every other hint names something that was not meant. They are
//! asked first.

use std::ops::Range;

use super::at::{mend, only};
use super::blocks::first_word;
use super::hints::{Hint, is_condition};
use super::imports;
use super::tokens::SEPARATORS;
use super::{several, words};

/// The remedy for a token (of the chunk, a place in it) that no rule took.
pub fn remedy(chunk: &str, token: &Range<usize>, word: &str) -> Option<Hint> {
    let at = At { chunk, token, word, before: chunk[..token.start].trim_end() };
    at.comment()
        .or_else(|| at.import())
        .or_else(|| at.counted())
        .or_else(|| at.head())
        .or_else(|| at.compared())
        .or_else(|| at.param())
        .or_else(|| at.profile())
        .or_else(|| at.device())
        .or_else(|| at.flags())
        .or_else(|| at.algebra())
        .or_else(|| at.on())
}

/// The number that is written out.
pub(super) fn number_in_words(word: &str) -> Option<usize> {
    const NUMBERS: [&str; 10] =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    NUMBERS.iter().position(|n| n.eq_ignore_ascii_case(word)).map(|n| n + 1)
}

struct At<'a> {
    chunk: &'a str,
    token: &'a Range<usize>,
    word: &'a str,
    /// what stands before it, without spaces at its end
    before: &'a str,
}

impl<'a> At<'a> {
    /// The word that the line begins with.
    fn setting(&self) -> &'a str {
        self.chunk.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default()
    }

    fn after(&self) -> &'a str {
        &self.chunk[self.token.end..]
    }

    /// From the token to the end of its line, without a comment.
    fn rest(&self) -> &'a str {
        let line = self.chunk[self.token.start..].split('\n').next().unwrap_or_default();
        line.split(" #").next().unwrap_or_default().trim_end()
    }

    fn here(&self, help: impl Into<String>, right: &str) -> Hint {
        mend(help, self.token.clone(), right)
    }

    /// From the end of what stands before it on: with the space between.
    fn with_gap(&self, help: impl Into<String>, right: &str) -> Hint {
        mend(help, self.before.len()..self.token.end, right)
    }

    /// `--x=1  // why`
    fn comment(&self) -> Option<Hint> {
        let begins = self.word.starts_with("//") && !self.chunk[..self.token.start].ends_with(':');
        let at = self.token.start;
        begins.then(|| mend("comments begin with `#`", at..at + 2, "#"))
    }

    /// `use std/engines { , sglang }`
    fn import(&self) -> Option<Hint> {
        let spare = self.chunk.starts_with("use ") && self.word == "," && self.before.ends_with(['{', ',']);
        let help = "a name stands between two commas: add it, or remove one comma";
        // of two that are apart a name may be missing between them
        let glued = self.before.ends_with(',') && self.before.len() == self.token.start;
        spare.then(|| if glued { self.with_gap(help, "") } else { only(help) })
    }

    /// `repeat three`, `gpus two`, `gpus eight of "H100"`
    fn counted(&self) -> Option<Hint> {
        let setting = self.setting();
        if !matches!(setting, "repeat" | "gpus" | "after" | "budget") || self.before != setting {
            return None;
        }
        if let ("gpus", Some(text)) = (setting, self.word.strip_prefix('"').and_then(|w| w.strip_suffix('"')))
        {
            let count = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (n, rest) = text.split_at(count);
            let card = rest.trim_start_matches([' ', 'x', '×', '*']);
            let card = card.strip_prefix("of ").unwrap_or(card).trim();
            let right = if card.is_empty() { n.to_owned() } else { format!("{n} of \"{card}\"") };
            let named = !card.is_empty() && rest.starts_with([' ', 'x', '×', '*']);
            // `"4090"` is a card
            if count > 0 && (card.is_empty() && count < 3 || named) {
                return Some(self.here(format!("write `gpus {right}`"), &right));
            }
        }
        match number_in_words(self.word) {
            Some(n) => Some(self.here(format!("write `{setting} {n}`"), &n.to_string())),
            None if setting == "repeat" && self.word.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                Some(only("write how many launches each candidate has, or `auto`: `repeat 3`"))
            }
            None => None,
        }
    }

    /// `prune fill = "cannot fill" when`, `step a = { … }`, `step b from a, c`, `profile p = {`
    fn head(&self) -> Option<Hint> {
        let setting = self.setting();
        let named = self.before.strip_prefix(setting).is_some_and(|name| is_name(name.trim()));
        if self.before == format!("{setting} {setting}") && words::DECLARATIONS.contains(&setting) {
            let second = setting.len()..self.before.len();
            return Some(mend(format!("`{setting}` stands here twice: remove one"), second, ""));
        }
        let sign = self.word.chars().count() == 1 && SEPARATORS.contains(&self.word.chars().next()?);
        let glued = self.before.len() == self.token.start && self.after().starts_with(' ');
        // `profile! mine`
        let keyword = self.before == setting && words::DECLARATIONS.contains(&setting);
        let stray = sign && glued && !matches!(self.word, ":" | "=");
        if keyword && stray && is_name(first_word(self.after().trim_start())) {
            return Some(self.here("remove it", ""));
        }
        if self.before == "use" && self.word == "{" {
            let list = self.after().split('}').next().unwrap_or_default();
            let taken: Vec<&str> = list.split([',', ' ', '\t', '\n']).filter(|n| !n.is_empty()).collect();
            // `use { vllm } from std/engines`
            let behind =
                self.after().split_once('}').map(|(_, rest)| rest.split('\n').next().unwrap_or_default());
            let home = behind.and_then(|rest| rest.trim_start().strip_prefix("from ")).map(str::trim);
            if let (Some(home), Some(rest)) = (home.filter(|h| !h.is_empty()), behind) {
                let right = format!("{home} {{ {} }}", taken.join(", "));
                let end = self.token.end + list.len() + 1 + rest.trim_end().len();
                return Some(mend(
                    format!("where names come from stands before them: `use {right}`"),
                    self.token.start..end,
                    right,
                ));
            }
            let Some(home) = imports::home_of(&taken) else {
                return Some(only("say where the names come from: `use std/profiles { … }`"));
            };
            let help =
                format!("say where the names come from: write `use std/{home} {{ {} }}`", taken.join(", "));
            let place = self.token.start..self.token.start;
            return Some(mend(help, place, format!("std/{home} ")));
        }
        if self.before.starts_with("flag -")
            && self.word == "="
            && !self.before[5..].contains(' ')
            && !words::TYPES.contains(&first_word(self.after().trim_start()))
        {
            return Some(mend("a flag is set without the word `flag`: remove it", 0..5, ""));
        }
        if self.before == "env" && self.word == "=" {
            let value = self.after().split([' ', '\t', '\n']).next().unwrap_or_default();
            return Some(only(format!("the variable's name is missing: write `env NAME={value}`")));
        }
        if self.before == setting && words::DECLARATIONS.contains(&setting) && matches!(self.word, "=" | "{")
        {
            return Some(only(format!("what is declared has a name: `{setting} NAME {} …`", self.word)));
        }
        let head = matches!(setting, "prune" | "step" | "track" | "study" | "site");
        if head && named && matches!(self.word, "=" | ":=") {
            let text = self.after().trim_start().starts_with(['"', '{']);
            return Some(if text {
                self.with_gap("no sign stands behind the name: remove it", "")
            } else if setting == "prune" {
                only(format!("a rule says why and when: `{} \"reason\" when CONDITION`", self.before))
            } else {
                only(format!("its lines stand in braces: `{} {{ … }}`", self.before))
            });
        }
        if matches!(setting, "engine" | "profile") && self.word == "{" && self.before.ends_with('=') {
            return Some(only(format!(
                "name what it derives from, `{} NAME {{`, or remove the `=`",
                self.before
            )));
        }
        let base = self.before.rsplit_once(' ').filter(|(rest, _)| rest.trim_end().ends_with(" from"))?.1;
        (setting == "step" && matches!(self.word, "," | "and" | "or" | "+")).then(|| {
            only(format!("a step starts from one step or engine: write `from {base}` alone, or another one"))
        })
    }

    /// `model = "x"`, `total_tps below 5`, `p99(ttft) > 2s after 1min`
    fn compared(&self) -> Option<Hint> {
        if !is_condition(self.chunk) {
            return None;
        }
        let last = self.before.rsplit([' ', '(']).next().unwrap_or_default();
        let condition = [" when ", "require "].iter().any(|w| self.before.contains(w));
        match self.word {
            "=" if condition && matches!(last, "model" | "engine" | "gpus") => {
                Some(self.here("write `==` to compare", "=="))
            }
            "under" | "below" => Some(self.here("write `<`", "<")),
            "above" | "over" | "exceeds" if condition => Some(self.here("write `>`", ">")),
            "" if self.chunk[..self.token.end].rsplit_once(" after ").is_some_and(|(_, n)| is_time(n)) => {
                Some(only("a rule waits for a number of requests, not for a time: `after 100 requests`"))
            }
            _ => None,
        }
    }

    /// `> $slo`, `$VLLM_USE_V1 == "1"`
    fn param(&self) -> Option<Hint> {
        let rest = self.after();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = &rest[..end];
        // `p99{ttft}` asks a function
        let glued = self.before.len() == self.token.start
            && self.before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let inserted = self.word == "{" && rest[end..].starts_with('}') && !glued;
        if inserted && is_name(name) && is_condition(self.chunk) {
            let place = self.token.start..self.token.start + end + 2;
            return Some(mend(format!("a param stands by its name: write `{name}`"), place, name));
        }
        // behind `on` a profile stands
        let of_profile = self.chunk[..self.token.start].trim_end().ends_with(" on");
        let asks = self.word == "$" && is_condition(self.chunk) && !of_profile;
        // `> ${limit}`
        let braced = rest.strip_prefix('{').and_then(|r| r.split_once('}')).map(|(name, _)| name);
        if let Some(name) = braced.filter(|name| asks && is_name(name)) {
            let place = self.token.start..self.token.end + name.len() + 2;
            return Some(mend(format!("a param stands by its name: write `{name}`"), place, name));
        }
        if self.word == "$" && self.chunk.starts_with("param ") {
            return Some(only(
                "the shell's variables are not known here: write a value, and set another by `--set NAME=…`",
            ));
        }
        let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        if asks && name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(upper) {
            return Some(self.here(format!("a variable of the server is asked for by `env {name}`"), "env "));
        }
        let named = asks && is_name(name);
        named.then(|| self.here(format!("a param stands by its name: write `{name}`"), ""))
    }

    /// `input 6Ki, output 200`, `requests 900 requests`, `arrivals gamma(0.5)`
    fn profile(&self) -> Option<Hint> {
        let setting = self.setting();
        if !words::PROFILE_SETTINGS.contains(&setting) {
            return None;
        }
        if words::PROFILE_SETTINGS.contains(&self.word) && self.before.ends_with(',') {
            let comma = self.before.len() - 1..self.token.start;
            return Some(mend("each setting has a line of its own", comma, "\n    "));
        }
        let last = self.before.rsplit([' ', '\t']).next().unwrap_or_default();
        let number = last.starts_with(|c: char| c.is_ascii_digit()) && !self.rest().contains(' ');
        let counted = match self.word {
            "tokens" | "tok" => matches!(setting, "input" | "output" | "prefix"),
            "requests" | "request" | "reqs" | "req" | "users" | "clients" => {
                !matches!(setting, "duration" | "timeout")
            }
            _ => false,
        };
        if number && counted {
            return Some(self.with_gap("the setting says what is counted: write the number alone", ""));
        }
        let inner =
            self.after().strip_suffix(')').or_else(|| self.after().split_once(')').map(|(i, _)| i))?;
        let inner = inner.split_once('=').map_or(inner, |(_, value)| value).trim();
        let glued = setting == "arrivals" && self.word == "(" && inner.parse::<f64>().is_ok();
        glued.then(|| {
            let end = self.token.end + self.after().find(')').map_or(0, |n| n + 1);
            mend(format!("write `{} {inner}`", self.before), self.token.start..end, format!(" {inner}"))
        })
    }

    /// `gpus 2 x H100`, `gpus 2 H100`, `gpus "H100" of 2`
    fn device(&self) -> Option<Hint> {
        if self.setting() != "gpus" || self.word.is_empty() {
            return None;
        }
        let rest = self.rest();
        let end = self.token.start + rest.len();
        if self.before == "gpus" && self.word.starts_with('"') {
            let Some(count) = rest.rsplit(' ').next().filter(|n| n.parse::<u32>().is_ok()) else {
                return Some(only(format!("say how many of them: `gpus N of {}`", self.word)));
            };
            let right = format!("{count} of {}", self.word);
            return Some(mend(format!("write `gpus {right}`"), self.token.start..end, right));
        }
        if self.before == "gpus" && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            // `4xH100`
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let card = rest[digits..].trim_start_matches('x');
            if digits == 0 {
                return Some(only(format!("say how many of them: `gpus N of \"{card}\"`")));
            }
            let right = format!("{} of \"{card}\"", &rest[..digits]);
            let glued = rest[digits..].starts_with('x') && !card.is_empty();
            return glued.then(|| mend(format!("write `gpus {right}`"), self.token.start..end, right));
        }
        let before = self.before.strip_prefix("gpus ")?;
        // `1 of H100 80GB`
        let count = before.strip_suffix(" of").unwrap_or(before).trim();
        count.parse::<u32>().ok()?;
        let of = if before.ends_with(" of") { "" } else { "of " };
        let times = rest.strip_prefix(['x', '*', '×']).filter(|r| r.starts_with([' ', '"']));
        let name = times.unwrap_or(rest).trim().trim_matches('"');
        let is_card = name.starts_with(|c: char| c.is_alphanumeric());
        // one word alone may be a param's name
        let is_of = of.is_empty() && !name.contains(' ');
        if !is_card || is_of || name.contains(['"', '\\', '{', '}']) || name.starts_with("of") {
            return None;
        }
        let right = format!("{of}\"{name}\"");
        let apart = if self.chunk[..self.token.start].ends_with(' ') { "" } else { " " };
        let at = self.token.start..self.token.start + rest.len();
        Some(mend(format!("write `gpus {count} of \"{name}\"`"), at, format!("{apart}{right}")))
    }

    /// `--a && --b`, `flag --mode one_of=[a, b]`
    fn flags(&self) -> Option<Hint> {
        let next = self.after().trim_start();
        let change = |text: &str| ["-", "env "].iter().any(|w| text.starts_with(w));
        let body = self.chunk.strip_prefix("axis ").and_then(|rest| rest.split_once('='));
        let sets = change(self.chunk) || body.is_some_and(|(_, body)| change(body.trim_start()));
        if sets && change(next) && matches!(self.word, "&&" | "&" | "and" | ";") {
            return Some(self.with_gap("what one engine or point sets stands side by side: remove it", ""));
        }
        if let Some(points) = several::alternatives(self.chunk, self.token, self.word) {
            return Some(points);
        }
        let typed = self.chunk.starts_with("flag ") && self.before.ends_with(" one_of");
        (typed && self.word == "=" && next.starts_with('[')).then(|| {
            self.here(
                "choices stand behind a space: remove the `=`",
                if next.len() == self.after().len() { " " } else { "" },
            )
        })
    }

    /// `axis q = quantization=[fp8]`, `axis s = max-num-seqs=[1]`, `axis a = b, c`, `vary a or b`, `--x=[low: 64]`
    fn algebra(&self) -> Option<Hint> {
        let named = "every pair is `a * b`, one or the other `a + b`";
        if self.before.contains("vary ") && self.word == "or" {
            return Some(self.here("one or the other is a sum: write `+`", "+"));
        }
        let (head, body) = self.chunk.split_once('=').filter(|_| self.chunk.starts_with("axis "))?;
        let said = self.before.get(head.len() + 1..)?.trim_start();
        if self.word == "or" && !said.is_empty() && said.split(' ').all(is_algebra) {
            return Some(self.here("one or the other is a sum: write `+`", "+"));
        }
        if matches!(self.word, "," | "and" | "&") && !said.is_empty() && said.split(' ').all(is_algebra) {
            return Some(only(named));
        }
        let glued = self.before.len() == self.token.start;
        let start = self.before.len() - said.len();
        let unspaced = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let dashed = glued && self.word.starts_with('-') && self.word.chars().all(unspaced);
        let equals = glued && self.word == "=" && !self.after().starts_with(' ');
        if is_name(said) && !said.contains('_') && (dashed || equals) {
            let end = if dashed { self.token.end } else { self.before.len() };
            let right = format!("--{}", &self.chunk[start..end]);
            return Some(mend(format!("a flag is written with its dashes: `{right}=…`"), start..end, right));
        }
        let open = said.rfind('[').filter(|_| said.ends_with(':') && !said.contains(']'))?;
        // `=[{"key": True}]`: an object of JSON
        if said[open..].contains(['{', '"']) {
            return None;
        }
        let flag = said[..open].trim_end_matches('=');
        let (inner, _) = body.split_once('[')?.1.split_once(']')?;
        let point = |item: &str| {
            let (name, value) = item.split_once(':')?;
            let (name, value) = (name.trim(), value.trim());
            (is_name(name) && is_value(value)).then(|| format!("{name}: {flag}={value}"))
        };
        let points: Option<Vec<String>> = inner.split(',').map(point).collect();
        let right = points.map(|all| format!("{{ {} }}", all.join(", ")));
        let end = self.chunk.len() - self.chunk.split_once(']')?.1.len();
        let help = "points that have names stand in braces";
        Some(match right.filter(|_| flag.starts_with('-') && !flag.contains(' ')) {
            Some(right) => mend(format!("{help}: write `{right}`"), start..end, right),
            None => only(format!("{help}: `{{ low: --flag=64, high: --flag=512 }}`")),
        })
    }

    /// `confirm with chat`, `adopt if gain >= 1%`
    fn on(&self) -> Option<Hint> {
        let setting = self.setting();
        if self.before != setting {
            return None;
        }
        let next = self.after().trim_start();
        match (setting, self.word) {
            // `confirm = on chat`
            ("confirm" | "curve", "=" | ":") if first_word(next) == "on" => {
                let at = self.before.len()..self.token.end;
                Some(mend("a setting and its value are separated by a space: remove the sign", at, ""))
            }
            ("confirm" | "curve", "with" | "for" | "over" | "using" | "against" | "by" | "=" | ":")
                if next.starts_with(|c: char| c.is_ascii_lowercase()) =>
            {
                Some(self.here(format!("write `{setting} on {}`", next.trim_end()), "on"))
            }
            ("adopt", "if" | "when" | "where" | "from") if next.starts_with("gain") => {
                let at = self.token.start..self.chunk.len() - next.len();
                Some(mend(format!("write `adopt {}`", next.trim_end()), at, ""))
            }
            _ => None,
        }
    }
}

/// A number with the unit of a time.
fn is_time(text: &str) -> bool {
    let unit = text.trim().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(unit, "ms" | "s" | "min" | "h" | "m" | "sec" | "minutes" | "seconds")
        && unit.len() < text.trim().len()
}

fn is_name(word: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(inner)
}

fn is_value(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '%'))
}

/// A name of an axis, picked from or not, or a sign between two.
fn is_algebra(word: &str) -> bool {
    matches!(word, "*" | "+") || is_name(word.split('[').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(chunk: &str, word: &str) -> Option<String> {
        let at = chunk.rfind(word).expect("in the chunk");
        let word = word.split(' ').next().unwrap_or(word);
        let (range, text) = remedy(chunk, &(at..at + word.len()), word)?.edit?;
        Some(format!("{}{text}{}", &chunk[..range.start], &chunk[range.end..]))
    }

    #[test]
    fn what_strangers_wrote_is_mended() {
        for (chunk, word, right) in [
            ("--x=1  // few", "//", "--x=1  # few"),
            ("duration 2min //few", "//few", "duration 2min #few"),
            ("use std/engines { vllm,, sim }", ", s", "use std/engines { vllm, sim }"),
            ("axis axis a = --x", "a ", "axis a = --x"),
            ("repeat three", "three", "repeat 3"),
            ("prune a = \"b\" when c", "=", "prune a \"b\" when c"),
            ("prune a \"b\" when model = \"x\"", "=", "prune a \"b\" when model == \"x\""),
            ("require p99(ttft) under 2s", "under", "require p99(ttft) < 2s"),
            ("prune a \"b\" when p99(ttft) > $slo", "$", "prune a \"b\" when p99(ttft) > slo"),
            ("input 6Ki, output 200", "output", "input 6Ki\n    output 200"),
            ("requests 900 requests", "requests", "requests 900"),
            ("arrivals gamma(0.5)", "(", "arrivals gamma 0.5"),
            ("gpus 2 x H100", "x", "gpus 2 of \"H100\""),
            ("gpus 2 H100 SXM # ours", "H100", "gpus 2 of \"H100 SXM\" # ours"),
            ("gpus \"H100\" of 2", "\"H100\"", "gpus 2 of \"H100\""),
            ("--a=1 && --b", "&&", "--a=1 --b"),
            ("flag --a one_of=[b, c]", "=", "flag --a one_of [b, c]"),
            ("axis q = quantization=[fp8]", "=", "axis q = --quantization=[fp8]"),
            ("axis q = max-num-seqs=[8]", "-num-seqs", "axis q = --max-num-seqs=[8]"),
            ("axis q = --s=[low: 64, high: 512]", "64", "axis q = { low: --s=64, high: --s=512 }"),
            ("vary a or b", "or", "vary a + b"),
            ("confirm with chat, code", "with", "confirm on chat, code"),
            ("adopt if gain >= 1%", "if", "adopt gain >= 1%"),
        ] {
            assert_eq!(mended(chunk, word).as_deref(), Some(right), "{chunk}");
        }
    }

    #[test]
    fn what_is_another_mistake_is_left_to_others() {
        for (chunk, word) in [
            ("api http://x", "//x"),
            ("price $20", "$"),
            ("axis q = a = b", "= b"),
            ("gpus 2 of H100", "H100"),
            ("prune a \"b\" when c after 100", ""),
        ] {
            let at = if word.is_empty() { chunk.len() } else { chunk.rfind(word).expect("in the chunk") };
            assert!(remedy(chunk, &(at..at + word.len()), word).is_none(), "{chunk}");
        }
    }
}
