//! Signs and words of other notations for which the first hint that fits would name something else: they are asked first.

use std::ops::Range;

use super::at::{At, mend, only};
use super::blocks::first_word;
use super::hints::{Hint, is_condition};
use super::json_slips;
use super::lacking::lacks_flag;
use crate::lang::diag::did_you_mean;

/// The remedy for a token (of the chunk, a place in it) that no rule took.
pub fn usage(chunk: &str, token: &Range<usize>, word: &str, expected: &[String]) -> Option<Hint> {
    let at = At::new(chunk, token, word, expected);
    at.compared()
        .or_else(|| at.divides())
        .or_else(|| at.beside_a_text())
        .or_else(|| at.given())
        .or_else(|| at.and_of_a_shell())
        .or_else(|| at.placed())
        .or_else(|| at.objective_of())
        .or_else(|| at.releases())
        .or_else(|| at.body())
        .or_else(|| at.shell())
        .or_else(|| at.list_dash())
        .or_else(|| at.point())
        .or_else(|| at.empty())
        .or_else(|| at.bare_list())
        .or_else(|| at.title_of_a_site())
        .or_else(|| at.unfinished())
        .or_else(|| at.negated())
        .or_else(|| at.release())
        .or_else(|| at.flag_before_sign())
}

impl At<'_> {
    /// `refuses "…" when --mode = "fast"`, `prune a "b" when --x == 1 and --y = 2`
    fn compared(&self) -> Option<Hint> {
        let condition = self.before.contains(" when ") || self.before.starts_with("require ");
        let operand =
            self.before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, ')' | '"' | '_'));
        if self.word != "=" || !is_condition(self.chunk) || !condition || !operand {
            return None;
        }
        Some(if self.is_measured() {
            only("write `<=`, `>=` or `==` to compare")
        } else {
            self.here("write `==` to compare", "==")
        })
    }

    /// Whether what stands before a sign is measured: that a limit is kept was meant then, hardly that it is met.
    fn is_measured(&self) -> bool {
        let word = self.before.rsplit([' ', '\t', '(']).next().unwrap_or_default();
        let is_stated =
            word.starts_with('-') || word.ends_with('"') || matches!(word, "engine" | "model" | "gpus");
        !is_stated
    }

    /// `when not --shards divide --seqs`
    fn divides(&self) -> Option<Hint> {
        let slip = self.word.len() > 3 && did_you_mean(self.word, ["divides"]).is_some();
        (slip && is_condition(self.chunk) && (self.is("an operator") || self.is("a comparison")))
            .then(|| self.here("write `divides`", "divides"))
    }

    /// `when --quantization "fp8"`
    fn beside_a_text(&self) -> Option<Hint> {
        let flag = self.before.rsplit([' ', '\t', '(']).next().filter(|w| w.starts_with('-'))?;
        let compared = self.word.starts_with('"') && is_condition(self.chunk) && self.is("an operator");
        let text = self.word;
        compared.then(|| {
            only(format!("how the two compare is not said: write `{flag} == {text}`, or `!=` between them"))
        })
    }

    /// `when given max-num-seqs`
    fn given(&self) -> Option<Hint> {
        let asks = self.before.rsplit([' ', '(']).next() == Some("given") && is_condition(self.chunk);
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
        let named = self.word.starts_with(|c: char| c.is_ascii_lowercase()) && self.word.chars().all(plain);
        let joins = matches!(self.word, "and" | "or" | "not" | "on" | "from" | "after" | "when");
        (asks && named && !joins).then(|| {
            let right = format!("--{}", self.word.replace('_', "-"));
            let help = format!("a flag is written with its dashes: write `given {right}`");
            // a step whose guard is mended would be doubted for it besides
            if first_word(self.chunk) == "step" { only(help) } else { self.here(help, &right) }
        })
    }

    /// `p99(ttft) <= 5s -a p90(tpot) <= 90ms`, of which the sign was read as one that takes away
    fn and_of_a_shell(&self) -> Option<Hint> {
        let (before, right) = match self.before.strip_suffix(" -a") {
            Some(before) => (before, "and"),
            None => (self.before.strip_suffix(" -o")?, "or"),
        };
        let goes_on = self.word.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '-' | '('));
        let compares = before.contains(['<', '>', '=']) && is_condition(self.chunk);
        (compares && goes_on).then(|| {
            let at = before.len() + 1..self.before.len();
            mend(format!("conditions are joined by `{right}`"), at, right)
        })
    }

    /// `model "org/M" = "models/m"` in a site
    fn placed(&self) -> Option<Hint> {
        let other =
            matches!(self.word, "=" | ":" | "->" | "=>" | "in" | "is" | "from" | "to" | "under" | "path");
        (self.is_only("`at`") && other).then(|| {
            let gap = if self.after.starts_with([' ', '\t']) { "" } else { " " };
            let at = self.before.len()..self.token.end;
            mend(
                format!("where something lies stands behind `at`: `{} at \"…\"`", self.before),
                at,
                format!(" at{gap}"),
            )
        })
    }

    /// `minimize wait of chat`
    fn objective_of(&self) -> Option<Hint> {
        let objective = matches!(first_word(self.chunk), "maximize" | "minimize" | "require");
        // of `90% of baseline.total_tps` another is meant
        let named = self.after.trim_start().starts_with(|c: char| c.is_ascii_lowercase())
            && !self.before.ends_with('%');
        (objective
            && named
            && self.is("`on`")
            && matches!(self.word, "of" | "at" | "under" | "against" | "by"))
        .then(|| self.here("write `on`", "on"))
    }

    /// `version "1.0", "1.4"`
    fn releases(&self) -> Option<Hint> {
        let list = self.word == "," && self.after.trim_start().starts_with('"');
        let line = self.chunk.strip_prefix("version").filter(|rest| list && rest.starts_with([' ', '\t']))?;
        let all = line.lines().next()?.split(" #").next()?.trim();
        Some(only(format!(
            "the releases that a schema was read from are its `versions {all}`; an engine that is started has one `version`"
        )))
    }

    /// `body "key": {…}`, of which the braces around are missing
    fn body(&self) -> Option<Hint> {
        let line = self.chunk.lines().next()?.strip_prefix("body").filter(|_| self.word == ":")?;
        let pairs = line.split(" #").next()?.trim();
        let fields = self.before.ends_with('"') && pairs.starts_with('"');
        let start = self.chunk.find(pairs).filter(|_| fields)?;
        let right = format!("{{{pairs}}}");
        let whole = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&right).is_ok();
        let help = "the fields of a body are a JSON object, in braces";
        Some(if whole {
            mend(format!("{help}: write `body {right}`"), start..start + pairs.len(), right)
        } else {
            only(format!("{help}: `body {{\"key\": value}}`"))
        })
    }

    /// `--max-num-seqs=256 &&`, with nothing behind it
    fn shell(&self) -> Option<Hint> {
        let flags = self.chunk.starts_with('-') || self.chunk.starts_with("env ");
        (flags && self.ends_line() && matches!(self.word, "&&" | "||" | "&" | "|" | ";")).then(|| {
            let help = format!("no shell reads this, and a line ends by itself: remove the `{}`", self.word);
            mend(help, self.before.len()..self.token.end, "")
        })
    }

    /// `axis a = - --enforce-eager`
    fn list_dash(&self) -> Option<Hint> {
        let rest = self.after.trim_start_matches([' ', '\t']);
        // at the beginning of a line it is that of a whole list
        (!self.before.is_empty()
            && self.word == "-"
            && rest.starts_with('-')
            && rest.len() < self.after.len())
        .then(|| {
            let end = self.chunk.len() - rest.len();
            mend("a flag stands without the dash of a list: remove the `-`", self.token.start..end, "")
        })
    }

    /// `fp8 "FP8" = model "org/M"`
    fn point(&self) -> Option<Hint> {
        let point = self.word == "=" && self.is_only("`:`") && self.chunk.starts_with("axis ");
        (point && json_slips::open(self.before).is_none()).then(|| {
            let at = self.before.len()..self.token.end;
            mend("a colon stands between a point's name and what it changes", at, ":")
        })
    }

    /// `vary seqs[]`, `use std/ {`
    fn empty(&self) -> Option<Hint> {
        if self.word == "{" && self.before.ends_with("std/") && self.chunk.starts_with("use ") {
            return Some(only(
                "say which part of the library: `use std/engines { … }`, `std/profiles`, `std/axes`, `std/rules` or `std/metrics`",
            ));
        }
        // whether a point was to stand there, or none, nobody knows
        let open = self.before.strip_suffix('[').filter(|_| self.word == "]")?;
        let name = &open[open.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').len()..];
        let picked = name.starts_with(|c: char| c.is_ascii_lowercase());
        picked.then(|| {
            let help =
                format!("name the points that are picked, `{name}[a, b]`, or take all of them: `{name}`");
            only(help)
        })
    }

    /// `site office "Our office" {`
    fn title_of_a_site(&self) -> Option<Hint> {
        let named = first_word(self.chunk) == "site" && self.before.split_whitespace().count() == 2;
        (named && self.is("`{`") && self.word.len() > 1 && self.word.starts_with('"')).then(|| {
            mend("a site has a name, and no title: remove it", self.before.len()..self.token.end, "")
        })
    }

    /// `known fast, slow`, `known {fast, slow}`
    fn bare_list(&self) -> Option<Hint> {
        let attribute = self.before.rsplit([' ', '\t']).next()?;
        if !self.is("a [list]") || !matches!(attribute, "known" | "one_of") {
            return None;
        }
        let line = self.chunk[self.token.start..].lines().next()?.split(" #").next()?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
        let (mut values, mut end) = (Vec::new(), 0);
        let rest = line.strip_prefix('{');
        for item in rest.unwrap_or(line).split(',') {
            let value = item.trim_matches([' ', '\t', '}']);
            let first = value.split([' ', '\t', '}']).next()?;
            if first.is_empty() || !first.chars().all(plain) {
                return None;
            }
            values.push(first);
            end = first.as_ptr() as usize + first.len() - line.as_ptr() as usize;
            if first.len() < value.len() {
                break;
            }
        }
        let closes = &line[end..];
        let spare = closes.len() - closes.trim_start().strip_prefix('}').map_or(closes, |c| c).len();
        let right = format!("[{}]", values.join(", "));
        let at = self.token.start..self.token.start + end + if rest.is_some() { spare } else { 0 };
        Some(mend(format!("a list stands in square brackets: write `{attribute} {right}`"), at, right))
    }

    /// `flag --graphs switch --no-graphs`
    fn negated(&self) -> Option<Hint> {
        let switch = self.before.starts_with("flag ") && self.before.ends_with(" switch");
        (switch && self.word.starts_with("--no")).then(|| {
            let at = self.token.start..self.token.start;
            mend(
                format!("what turns a switch off has its word: write `negated {}`", self.word),
                at,
                "negated ",
            )
        })
    }

    /// `refuses "why" "2.0" when …`, `refuses since "2.0" when …`
    fn release(&self) -> Option<Hint> {
        if first_word(self.chunk) != "refuses" {
            return None;
        }
        if self.before == "refuses" && matches!(self.word, "since" | "until" | "when") {
            return Some(only(format!("the reason is missing: write `refuses \"why\" {} …`", self.word)));
        }
        (self.word.starts_with('"') && self.before.ends_with('"'))
            .then(|| only(format!("say which releases: write `since {0}` or `until {0}`", self.word)))
    }

    /// `axis seqs = =[16, 32]`
    fn flag_before_sign(&self) -> Option<Hint> {
        let lacks = self.word == "=" && lacks_flag(&self.chunk[..self.token.start], self.after);
        lacks.then(|| {
            let value = self.after.lines().next().unwrap_or_default();
            let value = value.split(" #").next().unwrap_or_default().trim_end();
            only(format!("the flag is missing before it: write `--FLAG={value}`"))
        })
    }

    /// `axis kv = --`, `-` on a line of an engine
    fn unfinished(&self) -> Option<Hint> {
        let line = self.chunk[..self.token.end].trim_end().rsplit('\n').next()?;
        let last = line.rsplit([' ', '\t', '=', ':']).next()?;
        (self.word.is_empty() && matches!(last, "--" | "-")).then(|| {
            let shown = line.split_whitespace().collect::<Vec<_>>().join(" ");
            let shown = shown.strip_suffix(last).unwrap_or_default();
            only(format!("name the flag: `{shown}--max-num-seqs=256`"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(chunk: &str, word: &str, expected: &str) -> Option<String> {
        let at = chunk.rfind(word).expect("in the chunk");
        let word = word.split(' ').next().unwrap_or(word);
        let (range, text) = usage(chunk, &(at..at + word.len()), word, &[expected.to_owned()])?.edit?;
        Some(format!("{}{text}{}", &chunk[..range.start], &chunk[range.end..]))
    }

    #[test]
    fn what_other_notations_have_is_mended() {
        for (chunk, word, expected, right) in [
            ("refuses \"a\" when --m = \"b\"", "= ", "", "refuses \"a\" when --m == \"b\""),
            (
                "prune a \"b\" when --m == 1 and --n = 2",
                "= 2",
                "",
                "prune a \"b\" when --m == 1 and --n == 2",
            ),
            (
                "prune a \"b\" when not --m divide --n",
                "divide",
                "an operator",
                "prune a \"b\" when not --m divides --n",
            ),
            ("model \"a/b\" = \"c\"", "=", "`at`", "model \"a/b\" at \"c\""),
            ("data sharegpt: \"c\"", ":", "`at`", "data sharegpt at \"c\""),
            ("minimize wait of chat", "of", "`on`", "minimize wait on chat"),
            ("--a=1 && # b", "&&", "", "--a=1 # b"),
            ("site a \"A\" {", "\"A\"", "`{`", "site a {"),
            ("axis a = - --b", "- ", "", "axis a = --b"),
            ("axis q = { fp8 \"FP8\" = --q=fp8 }", "= --q", "`:`", "axis q = { fp8 \"FP8\": --q=fp8 }"),
            (
                "flag --k text known a, b since \"1\"",
                "a, b",
                "a [list]",
                "flag --k text known [a, b] since \"1\"",
            ),
            (
                "flag --k text known {a, b} since \"1\"",
                "{a",
                "a [list]",
                "flag --k text known [a, b] since \"1\"",
            ),
        ] {
            assert_eq!(mended(chunk, word, expected).as_deref(), Some(right), "{chunk}");
        }
        let body = "body \"a\": {\"b\": 1}  # c";
        let colon = body.find(':').expect("there");
        let edit = usage(body, &(colon..colon + 1), ":", &[]).and_then(|h| h.edit);
        assert_eq!(edit, Some((5..18, "{\"a\": {\"b\": 1}}".to_owned())));
    }

    #[test]
    fn what_is_another_mistake_is_left_to_others() {
        for (chunk, word, expected) in [
            ("step b when = x > 1 {", "=", "an expression"),
            ("axis q = { a: --s={\"m\" = 1} }", "= 1", "`:`"),
            ("--a=1 && --b", "&&", ""),
            ("prune a \"b\" when c die d", "die", "an operator"),
        ] {
            let at = chunk.rfind(word).expect("in the chunk");
            let word = word.split(' ').next().unwrap_or(word);
            assert!(usage(chunk, &(at..at + word.len()), word, &[expected.to_owned()]).is_none(), "{chunk}");
        }
    }
}
