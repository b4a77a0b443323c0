//! Signs and words that conditions compare by in other languages and in speech: `=>`, `is at most`.

use super::kinds::digits;
use crate::lang::syntax::at::{At, mend, only};
use crate::lang::syntax::hints::{Hint, is_condition};

impl At<'_> {
    pub(super) fn condition(&self) -> Option<Hint> {
        if !is_condition(self.chunk) {
            return None;
        }
        Some(match self.word {
            "AND" | "Or" | "OR" | "And" | "NOT" => {
                let right = self.word.to_ascii_lowercase();
                self.here(format!("write `{right}`"), &right)
            }
            "=" if self.before.ends_with(['<', '>', '!']) => {
                let right = format!("{}=", &self.before[self.before.len() - 1..]);
                self.from(self.before.len() - 1, format!("write `{right}`, without a space in it"), &right)
            }
            "9" if self.before.ends_with("p99.") => {
                self.from(self.before.len() - "p99.".len(), "write `p999`", "p999")
            }
            "." if self.is("`..`") => self.here("write `..`", ".."),
            _ if digits(self.word) && percentile_before(self.before) => {
                only("percentiles are p50, p90, p95, p99 and p999")
            }
            "=>" | "≥" => self.here("write `>=`", ">="),
            "≠" => self.here("write `!=`", "!="),
            "=<" | "≤" => self.here("write `<=`", "<="),
            ">" if self.before.ends_with('<') => self.from(self.before.len() - 1, "write `!=`", "!="),
            "less" | "lower" | "smaller" | "below" | "under" if self.is("an operator") => self.words_for("<"),
            "more" | "greater" | "higher" | "above" if self.is("an operator") => self.words_for(">"),
            "is" if worded(self.after).is_some() => {
                let (sign, len) = worded(self.after)?;
                let at = self.token.start..self.token.end + len;
                mend(format!("write `{sign}`"), at, sign)
            }
            "is" | "equals" | "eq" => self.here("write `==` to compare", "=="),
            "in" if self.is("`on`") && !self.after.trim_start().starts_with(['[', '(', '{', '"']) => {
                self.here("write `on`", "on")
            }
            "in" => only("compare with each: `engine == vllm or engine == sglang`"),
            "for" | "with" | "over" if self.is("`on`") => self.here("write `on`", "on"),
            "and" if self.before.contains(" on ") && self.is("`,`") => {
                self.from(self.before.len(), "profiles are separated by commas", ",")
            }
            _ => return None,
        })
    }

    /// `p99(ttft) less than 3s`
    fn words_for(&self, sign: &str) -> Hint {
        let rest = &self.chunk[self.token.end..];
        let than =
            rest.trim_start().strip_prefix("than ").map_or(0, |_| rest.len() - rest.trim_start().len() + 4);
        let at = self.token.start..self.token.end + than;
        Hint { help: format!("write `{sign}`"), edit: Some((at, sign.to_owned())) }
    }
}

/// What words behind `is` compare by, and how much of a text they are.
fn worded(after: &str) -> Option<(&'static str, usize)> {
    const WORDS: [(&str, &str); 25] = [
        ("less than or equal to", "<="),
        ("greater than or equal to", ">="),
        ("more than or equal to", ">="),
        ("not equal to", "!="),
        ("not less than", ">="),
        ("no less than", ">="),
        ("not more than", "<="),
        ("no more than", "<="),
        ("less than", "<"),
        ("lower than", "<"),
        ("smaller than", "<"),
        ("more than", ">"),
        ("greater than", ">"),
        ("higher than", ">"),
        ("larger than", ">"),
        ("at most", "<="),
        ("at least", ">="),
        ("equal to", "=="),
        ("below", "<"),
        ("under", "<"),
        ("above", ">"),
        ("over", ">"),
        ("less", "<"),
        ("more", ">"),
        ("not", "!="),
    ];
    let text = after.trim_start_matches([' ', '\t']);
    let said = |(words, _): &&(&str, &str)| {
        text.strip_prefix(words).is_some_and(|rest| rest.starts_with([' ', '\t']))
    };
    let (words, sign) = WORDS.iter().find(said)?;
    Some((sign, after.len() - text.len() + words.len()))
}

/// `p99.`, of which the rest follows
fn percentile_before(before: &str) -> bool {
    let name = before.rsplit([' ', '(', '.']).nth(1).unwrap_or_default();
    before.ends_with('.') && name.strip_prefix('p').is_some_and(digits)
}
