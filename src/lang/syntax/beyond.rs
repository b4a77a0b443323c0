//! What stands in a line beyond what it takes: a profile behind `adopt`, a unit behind an objective, quotes within a text, braces around the
//! values of one flag, the next line of a step, a title without its quotes, a key of YAML.

use std::ops::Range;

use super::at::{Line, mend, only};
use super::blocks::first_word;
use super::hints::Hint;
use crate::lang::{stdlib, units};

/// The remedy for a token (of the chunk, a place in it) with which it begins.
pub fn beyond(chunk: &str, token: &Range<usize>, word: &str) -> Option<Hint> {
    let line = Line::of(chunk, token, word);
    line.profile_of_gain()
        .or_else(|| line.unit_of_objective())
        .or_else(|| line.quotes_in_a_text(chunk))
        .or_else(|| line.second_answer())
        .or_else(|| line.dotted_parent())
        .or_else(|| line.next_of_step())
        .or_else(|| line.values_in_braces(chunk))
        .or_else(|| line.title_of_point())
        .or_else(|| line.title_before_sign())
        .or_else(|| line.key_of_yaml())
}

fn is_name(word: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(inner)
}

impl Line<'_> {
    /// The rest of the line, with the space before it.
    fn gap(&self) -> Range<usize> {
        self.end..self.token.start + self.rest.len()
    }

    /// `adopt gain >= 1% on chat`
    fn profile_of_gain(&self) -> Option<Hint> {
        let profile = self.rest.strip_prefix("on ").map(str::trim).filter(|p| is_name(p))?;
        (self.first() == "adopt" && self.before.contains("gain")).then(|| {
            let help = format!("a gain is one of the objective, on its profile: remove `on {profile}`");
            mend(help, self.gap(), "")
        })
    }

    /// `maximize total_tps on chat as tok/s`
    fn unit_of_objective(&self) -> Option<Hint> {
        let unit = ["as ", "in "].iter().find_map(|w| self.rest.strip_prefix(w))?.trim();
        let aims = matches!(self.first(), "maximize" | "minimize") && self.before.contains(" on ");
        (aims && units::unit(unit).is_some() && !unit.is_empty()).then(|| {
            let help = format!("what is measured has its unit: remove `{}`", self.rest);
            mend(help, self.gap(), "")
        })
    }

    /// `note "used by "day": run at night"`, `study s "Names and "algebra"" {`
    fn quotes_in_a_text(&self, chunk: &str) -> Option<Hint> {
        let goes_on = self.rest.starts_with(|c: char| c.is_alphanumeric());
        let glued = self.end == self.token.start && self.before.ends_with('"');
        let open = self.before.find('"').filter(|_| glued && goes_on)?;
        let before = self.before.matches('"').count();
        let quotes = self.rest.match_indices('"').map(|(at, _)| at).enumerate();
        let ends = |(n, at): &(usize, usize)| {
            (before + n + 1).is_multiple_of(2) && ends_a_text(self.rest[at + 1..].trim_start())
        };
        let (_, last) = quotes.clone().find(ends)?;
        let inner = &self.rest[..last];
        let plain =
            !self.before.contains('\\') && !inner.contains('\\') && self.before[..open].ends_with(' ');
        (plain && self.before.len() > open + 1).then(|| {
            let start = self.start() + open;
            let end = self.token.start + last + 1;
            let right = format!("\"{}\"", chunk[start + 1..end - 1].replace('"', "\\\""));
            mend(format!("a quote within a text is `\\\"`: write {right}"), start..end, right)
        })
    }

    /// `answers recorded own`
    fn second_answer(&self) -> Option<Hint> {
        let said = self.before.strip_prefix("answers")?.trim();
        matches!(said, "own" | "recorded").then(|| only("`answers` takes one word: `own` or `recorded`"))
    }

    /// `engine plain = sim.first {`, `engine box = llama.cpp {`
    fn dotted_parent(&self) -> Option<Hint> {
        let last = self.word.strip_prefix('.').filter(|n| is_name(n))?;
        let (_, base) = self.before.rsplit_once('=')?;
        let whole = format!("{}_{last}", base.trim());
        let of_library = stdlib::home(self.first(), &whole).is_some();
        let name = if of_library { whole.as_str() } else { last };
        let opens = self.rest.strip_prefix(self.word)?.trim_start().starts_with('{');
        let derives = matches!(self.first(), "engine" | "profile") && is_name(base.trim()) && opens;
        (derives && self.end == self.token.start).then(|| {
            let start = self.end - base.trim().len();
            let help = format!("what it derives from is one name: write `{name}`");
            mend(help, start..self.token.start + self.word.len(), name)
        })
    }

    /// `vary ngram, pick base because "…"`
    fn next_of_step(&self) -> Option<Hint> {
        let next = self.rest.strip_prefix(',').map(str::trim_start)?;
        let setting = first_word(next);
        let known = matches!(setting, "pick" | "budget" | "note") && next[setting.len()..].starts_with(' ');
        (known && self.before.contains("vary ") && !self.before.ends_with(['[', '('])).then(|| {
            let end = self.token.start + self.rest.len() - next.len();
            let help = format!("a setting ends with its line: write `{setting} …` on a line of its own");
            mend(help, self.end..end, "\n        ")
        })
    }

    /// `axis seqs = { --max-num-seqs=[16, 32] }`
    fn values_in_braces(&self, chunk: &str) -> Option<Hint> {
        let open = self.before.strip_suffix('{').map(str::trim_end).filter(|b| b.ends_with('='))?;
        let (flag, values) = self.rest.strip_suffix('}')?.trim_end().split_once("=[")?;
        let list = values.strip_suffix(']')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let one = flag.starts_with('-') && flag.chars().all(plain) && !list.contains(['[', ']', '{', '"']);
        (chunk.starts_with("axis ") && self.first() == "axis" && one && !open.contains('{')).then(|| {
            let right = format!("{flag}=[{list}]");
            let help =
                format!("points of braces have names, and values of one flag need none: write `{right}`");
            mend(help, self.end - 1..self.token.start + self.rest.len(), right)
        })
    }

    /// `two 2 big: --max-num-seqs=64`
    fn title_of_point(&self) -> Option<Hint> {
        let (title, change) = self.rest.split_once(':')?;
        let name = self.before.rsplit(['{', ',']).next().unwrap_or_default().trim();
        let changes = ["--", "model ", "env ", "unset ", "raw "];
        let points = changes.iter().any(|c| change.trim_start().starts_with(c));
        let several = title.contains(' ') && self.word != "-";
        (is_name(name) && points && several && is_title(title)).then(|| self.titled(title))
    }

    /// `axis seqs Sequences = --max-num-seqs=[64, 128]`, `metric per_gpu Per GPU = total_tps / gpus`
    fn title_before_sign(&self) -> Option<Hint> {
        let title = self.rest.split('=').next()?.trim_end();
        let keyword = ["axis ", "metric "].iter().find(|k| self.before.starts_with(**k))?;
        let name = self.before[keyword.len()..].trim_start();
        let like_one = title.starts_with(|c: char| c.is_ascii_uppercase()) || title.contains(' ');
        let signed = self.rest[title.len()..].trim_start().starts_with('=');
        (is_name(name) && like_one && signed && is_title(title)).then(|| self.titled(title))
    }

    fn titled(&self, title: &str) -> Hint {
        let right = format!("\"{title}\"");
        mend(
            format!("a title is a text: write {right}"),
            self.token.start..self.token.start + title.len(),
            right,
        )
    }

    /// `axis sched = scheduling-policy: priority`
    fn key_of_yaml(&self) -> Option<Hint> {
        let (name, begun) = self.before.strip_prefix("axis ")?.split_once('=')?;
        let glued = self.end == self.token.start && self.word.starts_with('-');
        let (rest, value) = self.rest.split_once(':')?;
        let (begun, value) = (begun.trim_start(), value.trim());
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let listed = value.starts_with('[') && value.ends_with(']') || !value.contains([' ', '[', ',']);
        let one = !value.is_empty() && !value.contains(['{', '"', ':', '=']) && listed;
        (is_name(name.trim()) && is_name(begun) && glued && rest.chars().all(plain) && one).then(|| {
            let right = format!("--{begun}{rest}={value}");
            let start = self.end - begun.len();
            mend(
                format!("a flag is typed as in a shell: write `{right}`"),
                start..self.token.start + self.rest.len(),
                right,
            )
        })
    }
}

/// Whether such a rest of a line may follow a text: nothing, or what goes on behind a title.
fn ends_a_text(rest: &str) -> bool {
    rest.is_empty() || ["{", "=", "from ", "when "].iter().any(|next| rest.starts_with(next))
}

/// Words as a person writes them in a title.
fn is_title(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_alphanumeric());
    let changes = ["env", "model", "unset", "raw"].contains(&first_word(text));
    begins && !changes && text.chars().all(|c| c.is_alphanumeric() || " _-.,!?'/&+".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(chunk: &str, word: &str) -> Option<String> {
        let at = chunk.rfind(word).expect("in the chunk");
        let word = word.split(' ').next().unwrap_or(word);
        let (range, text) = beyond(chunk, &(at..at + word.len()), word)?.edit?;
        Some(format!("{}{text}{}", &chunk[..range.start], &chunk[range.end..]))
    }

    #[test]
    fn what_is_beyond_a_line_is_told() {
        for (chunk, word, right) in [
            ("adopt gain >= 1% on chat # so", "on", "adopt gain >= 1% # so"),
            ("maximize total_tps on chat as tok/s", "as", "maximize total_tps on chat"),
            ("note \"by \"day\": at night\"", "day", "note \"by \\\"day\\\": at night\""),
            ("study s \"By \"day\"\" {", "day", "study s \"By \\\"day\\\"\" {"),
            ("engine plain = sim.first {", ".first", "engine plain = first {"),
            (
                "step a { vary a, pick base because \"x\" }",
                ",",
                "step a { vary a\n        pick base because \"x\" }",
            ),
            ("axis a = { --seqs=[16, 32] }", "--seqs", "axis a = --seqs=[16, 32]"),
        ] {
            assert_eq!(mended(chunk, word).as_deref(), Some(right), "{chunk}");
        }
        for (chunk, word) in [
            ("require p99(ttft) < 1s on chat on code", "on code"),
            ("maximize total_tps on chat as well", "as"),
            ("note \"by \" day", "day"),
            ("axis a = { --seqs=16 }", "--seqs"),
            ("answers recorded own", "own"),
        ] {
            assert_eq!(mended(chunk, word), None, "{chunk}");
        }
    }
}
