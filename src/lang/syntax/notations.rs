//! Numbers, quotients, lists and comments in other notations, `5 percent`, `a \ b`, `[a | b]`, `/* why */`: the first hint that fits would
//! name something else, so they are asked for before it.

use std::ops::Range;

use super::at::{At, goes_on, mend, number_at_end, only};
use super::hints::{Hint, TEXT, is_condition};
use crate::lang::units;

/// The remedy for a token (of the chunk, a place in it) that no rule took.
pub fn notation(chunk: &str, token: &Range<usize>, word: &str, expected: &[String]) -> Option<Hint> {
    let at = At::new(chunk, token, word, expected);
    at.comment()
        .or_else(|| at.subscript())
        .or_else(|| at.quotient())
        .or_else(|| at.unit_after_a_gap())
        .or_else(|| at.cards())
        .or_else(|| at.alternatives())
        .or_else(|| at.inserted())
        .or_else(|| at.torn_sign())
        .or_else(|| at.picked())
        .or_else(|| at.object_apart())
        .or_else(|| at.profile_again())
        .or_else(|| at.requests_of_a_rule())
}

/// `--speculative-config['method']=mtp`, `--config["a"]["b"]=1`: the brackets that begin at a place, the keys as they are written here,
/// and what to say of them.
pub(super) fn subscripts(chunk: &str, at: usize) -> Option<(Range<usize>, String, String)> {
    let flag = chunk[..at].rsplit([' ', '\t', '\n']).next()?;
    let (brackets, _) = chunk[at..].lines().next()?.split_once("]=")?;
    if !flag.starts_with("--") || flag.contains('=') {
        return None;
    }
    let keys = brackets.strip_prefix('[')?.split("][").map(|key| key.trim_matches(['"', '\'']));
    let plain = |key: &&str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let (keys, others): (Vec<&str>, Vec<&str>) = keys.partition(plain);
    others.is_empty().then(|| {
        let path = format!(".{}", keys.join("."));
        let help = format!("a key of a JSON flag stands behind a dot: write `{flag}{path}=…`");
        (at..at + brackets.len() + 1, path, help)
    })
}

impl At<'_> {
    /// `--config["a"]["b"]=1`
    fn subscript(&self) -> Option<Hint> {
        let (at, path, help) = subscripts(self.chunk, self.token.start)?;
        Some(mend(help, at, path))
    }

    /// The line from the token on, as far as it is written.
    fn line(&self) -> &str {
        self.chunk[self.token.start..].lines().next().unwrap_or_default()
    }

    /// `--x=1  /* why */`, `p99(ttft) <= 2s /* why */`, of which the first sign was read as one that divides
    fn comment(&self) -> Option<Hint> {
        let divides = self.before.ends_with('/') && self.before.len() == self.token.start;
        let start = if divides { self.before.len() - 1 } else { self.token.start };
        let text = self.chunk[start..].lines().next()?.strip_prefix("/*")?;
        let help = "comments begin with `#`";
        let Some((inner, behind)) = text.split_once("*/") else { return Some(only(help)) };
        if !behind.trim().is_empty() {
            return Some(only(format!("{help} and end with their line")));
        }
        let end = start + "/*".len() + inner.len() + "*/".len();
        Some(mend(help, start..end, format!("# {}", inner.trim()).trim_end()))
    }

    /// `output_tps \ gpus`
    fn quotient(&self) -> Option<Hint> {
        let operands = self.before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, ')' | '_'))
            && self.after.trim_start().starts_with(|c: char| c.is_ascii_alphanumeric() || c == '(');
        (self.word == "\\" && operands && !self.ends_line() && is_condition(self.chunk))
            .then(|| self.here("one quantity per another is `a / b`: write `/`", "/"))
    }

    /// `gain >= 5 percent`, `goodput(ttft <= 500 ms)`
    fn unit_after_a_gap(&self) -> Option<Hint> {
        let number = number_at_end(self.before);
        let compares = is_condition(self.chunk) || self.chunk.starts_with("adopt");
        if number.is_empty() || number.ends_with('.') || self.word.is_empty() || !compares {
            return None;
        }
        let rest = self.line();
        let percent = ["percent", "per cent", "pct"].into_iter().find(|p| begins_with_word(rest, p));
        let spelled = units::unit(self.word).is_some() && self.word != "x";
        let per = unit_per_unit(rest);
        let (unit, len) = match percent {
            Some(written) => ("%", written.len()),
            None if let Some((unit, len)) = &per => (unit.as_str(), *len),
            None if spelled => (self.word, self.word.len()),
            None => return None,
        };
        let place = self.before.len()..self.token.start + len;
        Some(mend(format!("a unit is glued to its number: write `{number}{unit}`"), place, unit))
    }

    /// `gpus 4x "L40S"`, `gpus 4x L40S`
    fn cards(&self) -> Option<Hint> {
        let count = self.before.strip_prefix("gpus ")?.trim().strip_suffix(['x', '×'])?;
        let name = self.line().split('#').next()?.trim_end();
        let card = name.trim_matches('"');
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let counted = count.bytes().all(|b| b.is_ascii_digit()) && !count.is_empty();
        (counted && !card.is_empty() && card.chars().all(plain)).then(|| {
            let right = format!("{count} of \"{card}\"");
            let place = "gpus ".len()..self.token.start + name.len();
            mend(format!("write `gpus {right}`"), place, right)
        })
    }

    /// `one_of [fcfs | shortest | fair]`, `known [a / b]`
    fn alternatives(&self) -> Option<Hint> {
        let open = self.before.rfind('[').filter(|_| self.chunk.starts_with("flag "))?;
        let (behind, _) = self.line().split_once(']').filter(|_| matches!(self.word, "|" | "/" | "||"))?;
        let list = &self.chunk[open + 1..self.token.start + behind.len()];
        let all: Vec<&str> = list.split(['|', '/', ',']).map(str::trim).filter(|w| !w.is_empty()).collect();
        let right = format!("[{}]", all.join(", "));
        let plain = !all.iter().any(|w| w.contains([' ', '[', '#', '"']));
        let help = format!("choices are separated by commas: write `{right}`");
        plain.then(|| mend(help, open..self.token.start + behind.len() + 1, right))
    }

    /// `model {who}`, `model {who}/m`
    fn inserted(&self) -> Option<Hint> {
        let (name, _) = self.after.split_once('}').filter(|_| self.word == "{" && self.is(TEXT))?;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let param = !name.is_empty() && name.chars().all(plain) && self.before.ends_with(char::is_alphabetic);
        param.then(|| {
            let behind = self.token.end + name.len() + 1;
            let place = self.token.start..behind + goes_on(&self.chunk[behind..]);
            let right = format!("\"{}\"", &self.chunk[place.clone()]);
            mend(format!("a param is inserted into a text: write `{right}`"), place, right)
        })
    }

    /// `goodput(ttft < = slow)`, `p99(ttft) > = 2s`
    fn torn_sign(&self) -> Option<Hint> {
        let sign = self.before.chars().next_back().filter(|c| matches!(c, '<' | '>' | '!'))?;
        (self.word == "=" && is_condition(self.chunk)).then(|| {
            let right = format!("{sign}=");
            let place = self.before.len() - 1..self.token.end;
            mend(format!("write `{right}`, without a space in it"), place, right)
        })
    }

    /// `axis both = mode + memory(0.95)`
    fn picked(&self) -> Option<Hint> {
        let axes = self.chunk.strip_prefix("axis ").filter(|_| self.word == "(")?;
        let (_, said) = self.before.get(self.chunk.len() - axes.len()..)?.split_once('=')?;
        let inner = self.after.split_once(')').map(|(inner, _)| inner)?;
        let algebra = |c: char| c.is_ascii_alphanumeric() || " _+*()[],.".contains(c);
        let plain = |c: char| c.is_ascii_alphanumeric() || " _,.-".contains(c);
        let glued = self.before.len() == self.token.start;
        let name = &said[said.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').len()..];
        let named = name.starts_with(|c: char| c.is_ascii_lowercase());
        let sure = glued && named && said.chars().all(algebra) && inner.chars().all(plain);
        (sure && !inner.trim().is_empty()).then(|| {
            let right = format!("[{}]", inner.trim());
            let place = self.token.start..self.token.end + inner.len() + 1;
            mend(format!("points are picked in square brackets: write `{name}{right}`"), place, right)
        })
    }

    /// `--speculative-config {`, with its object on the lines below
    fn object_apart(&self) -> Option<Hint> {
        let flag = self.before.rsplit([' ', '\t', '\n', ':']).next()?;
        let object = self.word == "{" && self.after.trim_start().starts_with(['"', '}']);
        (object && flag.starts_with("--") && !flag.contains('=')).then(|| {
            let help = format!("a flag and its value are one word: write `{flag}={{`");
            mend(help, self.before.len()..self.token.start, "=")
        })
    }

    /// `maximize total_tps on chat on code`
    fn profile_again(&self) -> Option<Hint> {
        let lists = ["maximize ", "minimize ", "require ", "confirm ", "curve "];
        let listed = lists.iter().any(|w| self.chunk.starts_with(w)) && self.before.contains(" on ");
        let named = self.after.starts_with([' ', '\t'])
            && self.after.trim_start().starts_with(|c: char| c.is_ascii_lowercase());
        (self.word == "on" && listed && named && self.is("`,`")).then(|| {
            let place = self.before.len()..self.token.end;
            mend("profiles are separated by commas: write `,` in the place of the second `on`", place, ",")
        })
    }

    /// `prune slow "slow" when p99(ttft) > 2s for 100 requests`
    fn requests_of_a_rule(&self) -> Option<Hint> {
        let mut behind = self.after.split_whitespace();
        let number = behind.next().filter(|n| n.bytes().all(|b| b.is_ascii_digit()))?;
        let counted = matches!(self.word, "for" | "within" | "over" | "since" | "from" | "once");
        let counts = counted && behind.next().is_some_and(|w| w == "requests");
        (counts && self.chunk.starts_with("prune ")).then(|| {
            let help = format!(
                "a rule that stops a load begins behind a number of requests: write `after {number} requests`"
            );
            self.here(&help, "after")
        })
    }
}

/// `tok per s`, `tok / s`: the unit that a text begins with, and how long it is.
fn unit_per_unit(text: &str) -> Option<(String, usize)> {
    let letters = |t: &str| t.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(t.len());
    let (one, behind) = text.split_at(letters(text));
    let sign = behind.trim_start();
    let other = ["per ", "/ "].iter().find_map(|s| sign.strip_prefix(s))?.trim_start();
    let per = &other[..letters(other)];
    let unit = format!("{one}/{per}");
    let known = !one.is_empty() && !per.is_empty() && units::unit(&unit).is_some();
    known.then(|| (unit, text.len() - other.len() + per.len()))
}

/// Whether a text begins with a word, and does not go on within it.
fn begins_with_word(text: &str, word: &str) -> bool {
    let rest = text.get(..word.len()).filter(|begin| begin.eq_ignore_ascii_case(word));
    rest.is_some() && !text[word.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(chunk: &str, word: &str, expected: &str) -> Option<String> {
        let at = chunk.rfind(word).expect("in the chunk");
        let word = word.split(' ').next().unwrap_or(word);
        let (range, text) = notation(chunk, &(at..at + word.len()), word, &[expected.to_owned()])?.edit?;
        Some(format!("{}{text}{}", &chunk[..range.start], &chunk[range.end..]))
    }

    #[test]
    fn other_notations_are_mended() {
        for (chunk, word, expected, right) in [
            ("metric m = output_tps \\ gpus", "\\", "", "metric m = output_tps / gpus"),
            ("adopt gain >= 5 percent", "percent", "", "adopt gain >= 5%"),
            ("prune a \"b\" when tps < 10 tok per s", "tok", "", "prune a \"b\" when tps < 10tok/s"),
            ("require success_rate >= 99 per cent", "per ", "", "require success_rate >= 99%"),
            ("prune a \"b\" when gain < -30 %", "%", "", "prune a \"b\" when gain < -30%"),
            ("metric g = goodput(ttft <= 500 ms)", "ms", "", "metric g = goodput(ttft <= 500ms)"),
            ("metric g = goodput(ttft < = slow)", "= slow", "", "metric g = goodput(ttft <= slow)"),
            ("gpus 4x \"L40S\"", "\"L40S\"", "", "gpus 4 of \"L40S\""),
            ("flag --p one_of [a | b | c] default a", "| b", "", "flag --p one_of [a, b, c] default a"),
            ("model {who}", "{", TEXT, "model \"{who}\""),
            ("--x=1 /* so */", "/* so", "", "--x=1 # so"),
            ("axis t = mode + batched * memory(0.95)", "(", "", "axis t = mode + batched * memory[0.95]"),
            ("--config {\n \"a\": 1\n}", "{", "", "--config={\n \"a\": 1\n}"),
            ("maximize tps on chat on code", "on ", "`,`", "maximize tps on chat, code"),
            (
                "prune s \"s\" when gain < 0 for 50 requests",
                "for",
                "",
                "prune s \"s\" when gain < 0 after 50 requests",
            ),
        ] {
            assert_eq!(mended(chunk, word, expected).as_deref(), Some(right), "{chunk}");
        }
        for (chunk, word, expected) in [
            ("--x=1 \\", "\\", ""),
            ("metric m = 2 total_tps", "total_tps", ""),
            ("gpus 4x {card}", "{", ""),
            ("flag --p one_of [a b] default a", "b]", ""),
            ("axis q = { a(1): --x }", "(", ""),
        ] {
            assert_eq!(mended(chunk, word, expected), None, "{chunk}");
        }
    }
}
