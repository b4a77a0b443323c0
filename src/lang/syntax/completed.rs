//! Signs and words that are wrong where the first hint that fits would complete what stands around them, and lead on to the next mistake:
//! `total_tps()`, `goodput(a, and b)`, `best..total_tps`, `requests 900.`, `version >= "1.2"`.

use std::ops::Range;

use super::at::{At, mend, only};
use super::hints::{Hint, TEXT, is_condition};
use super::signs::{is_distribution, is_function};
use super::words;
use crate::lang::sema::metric_kind;

/// Whether nothing is missing before a token, though an operand could stand there.
pub fn lacks_nothing(chunk: &str, token: &Range<usize>, expected: &[String]) -> bool {
    let at = At::new(chunk, token, &chunk[token.clone()], expected);
    at.empty_call().or_else(|| at.comma_of_a_condition()).or_else(|| at.compared_release()).is_some()
}

/// The remedy for a token (of the chunk, a place in it) that no rule took.
pub fn slip(chunk: &str, token: &Range<usize>, word: &str, expected: &[String]) -> Option<Hint> {
    let at = At::new(chunk, token, word, expected);
    at.empty_call()
        .or_else(|| at.comma_of_a_condition())
        .or_else(|| at.compared_release())
        .or_else(|| at.second_dot())
        .or_else(|| at.last_point())
        .or_else(|| at.time_of_a_rule())
        .or_else(|| at.below_zero())
        .or_else(|| at.hyphens_of_a_flag())
        .or_else(|| at.set_by_a_word())
        .or_else(|| at.release_by_another_word())
}

/// The name that a text ends with.
fn name_at_end(text: &str) -> &str {
    &text[text.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').len()..]
}

impl At<'_> {
    fn is_glued(&self) -> bool {
        self.before.len() == self.token.start
    }

    /// `total_tps()`: functions of other languages, which a metric is none of, are left to others
    fn empty_call(&self) -> Option<Hint> {
        let name = name_at_end(self.before.strip_suffix('(').filter(|_| self.word == ")")?);
        let takes = is_function(name) || name == "goodput" || metric_kind(name).is_none();
        if takes || !is_condition(self.chunk) {
            return None;
        }
        if is_distribution(name) {
            return Some(only(format!(
                "`{name}` takes nothing, and a statistic takes it: write `p99({name})`"
            )));
        }
        let help = format!("`{name}` takes nothing: write it without `()`");
        Some(mend(help, self.before.len() - 1..self.token.end, ""))
    }

    /// `goodput(ttft <= 1s, and tpot <= 50ms)`
    fn comma_of_a_condition(&self) -> Option<Hint> {
        let head = self.before.strip_suffix(',').filter(|_| matches!(self.word, "and" | "or"))?;
        let function = name_at_end(&head[..head.rfind('(')?]);
        let help = format!("conditions are joined by `{}` alone: remove the comma", self.word);
        match function {
            "goodput" => Some(mend(help, head.len()..self.before.len(), "")),
            _ if is_condition(self.chunk) => Some(only(help)),
            _ => None,
        }
    }

    /// `version >= "0.17.1"`, `versions >= "1.0"`
    fn compared_release(&self) -> Option<Hint> {
        let sign = matches!(self.word, ">=" | "<=" | "==" | "!=" | "<" | ">" | "~" | "~=" | "^" | "!");
        let behind = self.after.trim_start_matches(['=', ' ', '\t']);
        let end =
            behind.strip_prefix('"').and_then(|b| b.find(['"', '\n'])).filter(|_| sign && self.is(TEXT))?;
        let release = behind.get(..end + 2)?;
        match self.before {
            "version" if self.word == "==" => {
                let at = self.token.start..self.chunk.len() - behind.len();
                Some(mend(format!("the release stands without a sign: write `version {release}`"), at, ""))
            }
            "version" => Some(only(format!(
                "an engine is of one release, which stands without a sign: write `version {release}`"
            ))),
            "versions" => {
                Some(only(format!("releases are listed, each by its name: write `versions {release}, …`")))
            }
            _ => None,
        }
    }

    /// `best..total_tps`
    fn second_dot(&self) -> Option<Hint> {
        let name = self.word.strip_prefix('.').filter(|n| n.starts_with(|c: char| c.is_ascii_lowercase()))?;
        let whose = name_at_end(self.before.strip_suffix('.').filter(|_| self.is_glued())?);
        let named = whose.starts_with(|c: char| c.is_ascii_lowercase()) && is_condition(self.chunk);
        named.then(|| {
            let help = format!("one dot stands between the two: write `{whose}.{name}`");
            mend(help, self.before.len() - 1..self.before.len(), "")
        })
    }

    /// `requests 900.`: of the end of a line its last character is shown
    fn last_point(&self) -> Option<Hint> {
        let ends = self.word.is_empty() && self.chunk.get(self.token.clone()) == Some(".");
        let number = self.before.rsplit([' ', '\t', ',', '=']).next().filter(|_| ends && self.is_glued())?;
        let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        let help = format!("no digits stand behind the point: write `{number}`");
        digits.then(|| mend(help, self.token.clone(), ""))
    }

    /// `after 10 min`
    fn time_of_a_rule(&self) -> Option<Hint> {
        let (rule, number) = self.before.rsplit_once([' ', '\t'])?;
        let counted = rule.ends_with(" after") && number.bytes().all(|b| b.is_ascii_digit());
        let time =
            ["ms", "s", "sec", "second", "seconds", "m", "min", "minute", "minutes", "h", "hour", "hours"];
        (counted && self.chunk.starts_with("prune ") && time.contains(&self.word))
            .then(|| only("a rule waits for a number of requests, not for a time: `after 100 requests`"))
    }

    /// `output - 256`
    fn below_zero(&self) -> Option<Hint> {
        let setting = self.before.strip_suffix('-')?.trim_end();
        let number = self.word.starts_with(|c: char| c.is_ascii_digit()) && !self.is_glued();
        (number && words::PROFILE_SETTINGS.contains(&setting))
            .then(|| only(format!("no `{setting}` is below zero: write `{setting} {}`", self.word)))
    }

    /// `--enforce‑eager`, with hyphens as a page has them: all of those in the flag
    fn hyphens_of_a_flag(&self) -> Option<Hint> {
        const OTHERS: [char; 6] = ['‐', '‑', '‒', '–', '—', '−'];
        let flag = self.before.rsplit([' ', '\t', '\n', '=', ':']).next()?;
        let rest = &self.chunk[self.token.start..];
        let name = &rest[..rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c) || OTHERS.contains(&c)))
            .unwrap_or(rest.len())];
        let begun =
            self.is_glued() && flag.starts_with('-') && flag.ends_with(|c: char| c.is_ascii_alphanumeric());
        let (first, last) = (name.chars().next()?, name.rfind(OTHERS)?);
        let end = last + name[last..].chars().next().map_or(0, char::len_utf8);
        (begun && OTHERS.contains(&first)).then(|| {
            let right = name.replace(OTHERS, "-");
            let help =
                format!("the hyphens of a flag are plain, which `{first}` is not: write `{flag}{right}`");
            mend(help, self.token.start..self.token.start + end, name[..end].replace(OTHERS, "-"))
        })
    }

    /// `metric tail is p95(ttft)`
    fn set_by_a_word(&self) -> Option<Hint> {
        (matches!(self.word, "is" | "equals" | "eq") && self.is_only("`=`"))
            .then(|| self.here("what it stands for is set by `=`: write `=`", "="))
    }

    /// `flag --mode text from "1.1"`, `refuses "why" before "2.0" when …`
    fn release_by_another_word(&self) -> Option<Hint> {
        let right = match self.word {
            "from" | "starting" | "beginning" => "since",
            "before" | "till" => "until",
            _ => return None,
        };
        let takes = self.expected.iter().any(|e| e.contains("since"));
        let release = self.after.trim_start().split([' ', '\t', '\n']).next()?;
        (takes && release.starts_with('"')).then(|| {
            self.here(format!("releases stand behind `since` and `until`: write `{right} {release}`"), right)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(chunk: &str, word: &str, expected: &str) -> Option<(String, Option<String>)> {
        let at = chunk.rfind(word).expect("in the chunk");
        let hint = slip(chunk, &(at..at + word.len()), word, &[expected.to_owned()])?;
        let mended =
            hint.edit.map(|(at, right)| format!("{}{right}{}", &chunk[..at.start], &chunk[at.end..]));
        Some((hint.help, mended))
    }

    #[test]
    fn what_is_too_much_is_not_completed() {
        for (chunk, word, expected, right) in [
            ("maximize total_tps() on p", ")", "an expression", "maximize total_tps on p"),
            (
                "metric g = goodput(ttft <= 1s, and x)",
                "and",
                "an expression",
                "metric g = goodput(ttft <= 1s and x)",
            ),
            ("version == \"1\"", "==", TEXT, "version \"1\""),
            ("require best..total_tps < 3", ".total_tps", "a name", "require best.total_tps < 3"),
            ("--enforce‑eager‑now=1", "‑eager", "`=`", "--enforce-eager-now=1"),
            ("metric t is x", "is", "`=`", "metric t = x"),
            ("flag --m text from \"1\"", "from", "an attribute (since)", "flag --m text since \"1\""),
        ] {
            assert_eq!(help(chunk, word, expected).and_then(|h| h.1).as_deref(), Some(right), "{chunk}");
        }
        for (chunk, word, expected) in [
            ("version >= \"1\"", ">=", TEXT),
            ("prune a \"b\" when c after 10 min", "min", "`requests`"),
            ("output - 256", "256", ""),
        ] {
            assert!(matches!(help(chunk, word, expected), Some((_, None))), "{chunk}");
        }
        for (chunk, word, expected) in [
            ("require p99() < 1s", ")", "an expression"),
            ("prune a \"b\" when is", "is", "an expression"),
            ("flag --m text from 1", "from", "an attribute (since)"),
        ] {
            assert!(help(chunk, word, expected).is_none(), "{chunk}");
        }
    }
}
