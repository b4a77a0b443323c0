//! Slips of the hand and of other notations, looked at before anything else: a comma at the end of a line, a dash of a word processor,
//! a comma between flags, a flag in quotes, a range or a decimal as it is typed elsewhere.

use std::ops::Range;

use super::at::{At, mend};
use super::hints::{Hint, is_condition};

/// The remedy for a token (of the chunk, a place in it), if it is such a slip.
pub fn lapse(chunk: &str, token: &Range<usize>, word: &str, expected: &[String]) -> Option<Hint> {
    let at = At::new(chunk, token, word, expected);
    at.comma_at_end()
        .or_else(|| at.comma_twice())
        .or_else(|| at.three_dots())
        .or_else(|| at.long_dash())
        .or_else(|| at.comma_between())
        .or_else(|| at.quoted_flag())
        .or_else(|| at.dashed_range())
        .or_else(|| at.decimal_comma())
        .or_else(|| at.leading_comma())
        .or_else(|| at.unit_apart())
        .or_else(|| at.json_equals())
        .or_else(|| at.full_width())
        .or_else(|| at.bare_title())
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

impl At<'_> {
    /// `input 100,`
    fn comma_at_end(&self) -> Option<Hint> {
        let number = self.is_only("a number");
        let comma = self.chunk.get(self.token.clone()) == Some(",");
        (number && comma && self.word.is_empty())
            .then(|| mend("a setting ends with its line: remove the comma", self.token.clone(), ""))
    }

    /// `[256,, 512]`, `[256, , 512]`, `{ a: -tp=2,, b: -tp=4 }`; in a `use` a name may be missing
    fn comma_twice(&self) -> Option<Hint> {
        let twice = self.word == "," && self.before.ends_with(',') && !self.chunk.starts_with("use ");
        let named = self.before.contains(" on ") || self.before.rfind('[') > self.before.rfind(']');
        if twice && named && self.before.len() < self.token.start {
            let help = "something stands between two commas: add it, or remove one comma";
            return Some(Hint { help: help.to_owned(), edit: None });
        }
        twice.then(|| mend("one comma is enough: remove the other", self.before.len()..self.token.end, ""))
    }

    /// `input 128 ... 512`
    fn three_dots(&self) -> Option<Hint> {
        let rest = self.chunk[self.token.start..].strip_prefix('.')?.trim_start();
        let range = self.chunk[..self.token.start].ends_with("..") && !self.before.ends_with("...");
        (range && rest.starts_with(|c: char| c.is_ascii_digit()))
            .then(|| mend("a range is written with two dots", self.token.start..self.token.start + 1, ""))
    }

    /// `p90（ttft） ＞ 2s`, as some keyboards type signs: all of them up to the end of the line
    fn full_width(&self) -> Option<Hint> {
        let plain = |c: char| match c {
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
            _ => c,
        };
        let line = self.chunk[self.token.start..].split(['\n', '\r', '"', '#']).next()?;
        let first = line.chars().next().filter(|c| plain(*c) != *c)?;
        let last = line.char_indices().rfind(|(_, c)| plain(*c) != *c);
        let len = last.map_or(0, |(n, c)| n + c.len_utf8());
        let right: String = line[..len].chars().map(plain).collect();
        let help = format!("`{first}` is a wide sign: write `{}`", plain(first));
        Some(mend(help, self.token.start..self.token.start + len, right))
    }

    /// `—tensor-parallel-size=2`, as word processors make of two dashes
    fn long_dash(&self) -> Option<Hint> {
        let rest = &self.chunk[self.token.start..];
        let dash = rest.chars().next().filter(|c| matches!(c, '—' | '–' | '−'))?;
        let name = rest[dash.len_utf8()..].starts_with(|c: char| c.is_ascii_alphabetic());
        let at = self.token.start..self.token.start + dash.len_utf8();
        if rest[dash.len_utf8()..].starts_with(|c: char| c.is_ascii_digit()) {
            return Some(mend(
                format!("the sign of a number is a plain `-`: write it for `{dash}`"),
                at,
                "-",
            ));
        }
        name.then(|| mend(format!("flags begin with two plain dashes: write `--` for `{dash}`"), at, "--"))
    }

    /// `--max-num-seqs=256, --async-scheduling`
    fn comma_between(&self) -> Option<Hint> {
        let flags = self.chunk.starts_with('-') || self.chunk.starts_with("env ");
        let next = self.after.trim_start_matches([' ', '\t']);
        (flags && self.word == "," && next.starts_with("--")).then(|| {
            mend("flags are separated by spaces: remove the comma", self.before.len()..self.token.end, "")
        })
    }

    /// `"-tp=2"`
    fn quoted_flag(&self) -> Option<Hint> {
        let text = self.chunk.get(self.token.clone())?;
        let inner = text.strip_prefix('"')?.strip_suffix('"')?;
        (inner.starts_with('-') && !inner.contains(' '))
            .then(|| mend(format!("a flag stands without quotes: write {inner}"), self.token.clone(), inner))
    }

    /// `input 500-2000`
    fn dashed_range(&self) -> Option<Hint> {
        let setting =
            ["input ", "output ", "rate ", "concurrency "].iter().any(|s| self.chunk.starts_with(s));
        let to = self.word.strip_prefix('-').filter(|t| digits(t) > 0)?;
        (setting && self.before.ends_with(|c: char| c.is_ascii_alphanumeric())).then(|| {
            let right = format!(" .. {to}");
            mend(
                format!("a range is written with two dots: `…{right}`"),
                self.before.len()..self.token.end,
                right,
            )
        })
    }

    /// `success_rate >= 99,5%`
    fn decimal_comma(&self) -> Option<Hint> {
        let decimals = digits(self.after);
        let call = self.before.rfind('(') > self.before.rfind(')');
        let glued = self.before.len() == self.token.start;
        (self.word == "," && glued && decimals > 0 && !call && is_condition(self.chunk)).then_some(())?;
        let whole = self.before.len() - self.before.bytes().rev().take_while(u8::is_ascii_digit).count();
        let end = self.token.end + self.after.find([' ', '\n', ')']).unwrap_or(self.after.len());
        let written = self.chunk.get(whole..end).filter(|_| whole < self.before.len())?;
        let right = written.replacen(',', ".", 1);
        // `1,000ms` is a second to some and a millisecond to others
        let thousands = decimals == 3 && !written.starts_with('0');
        if thousands || right.contains(',') {
            let whole = written.replace(',', "");
            let either = if right.contains(',') { String::new() } else { format!(" or `{right}`") };
            let help =
                format!("numbers are written without commas: write `{whole}`{either}, whichever is meant");
            return Some(Hint { help, edit: None });
        }
        Some(mend(format!("decimals stand behind a point: write `{right}`"), whole..end, right))
    }

    /// `--mem-fraction-static=,85`
    fn leading_comma(&self) -> Option<Hint> {
        let is_value = self.before.ends_with('=') && self.before.len() == self.token.start;
        let len = digits(self.after);
        let ends = self.after[len..].is_empty() || self.after[len..].starts_with([' ', '\n', ',', '}']);
        (self.word == "," && is_value && len > 0 && ends).then(|| {
            let right = format!("0.{}", &self.after[..len]);
            let help = format!("decimals stand behind a point: write `{right}`");
            mend(help, self.token.start..self.token.end + len, right)
        })
    }

    /// `rate 8 / s`
    fn unit_apart(&self) -> Option<Hint> {
        let unit = self.after.trim_start_matches(' ');
        let len = unit.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(unit.len());
        let rate = self.word == "/" && matches!(&unit[..len], "s" | "min" | "h");
        (rate && self.before.ends_with(|c: char| c.is_ascii_digit()) && !is_condition(self.chunk)).then(
            || {
                let end = self.chunk.len() - unit.len() + len;
                let right = format!("/{}", &unit[..len]);
                mend(format!("a unit is glued to its number: `…{right}`"), self.before.len()..end, right)
            },
        )
    }

    /// `step two Two from one {`, `study s Tuning {`
    fn bare_title(&self) -> Option<Hint> {
        let mut head = self.before.split_whitespace();
        let block = head.next().filter(|w| matches!(*w, "step" | "engine" | "profile" | "study"))?;
        head.next().filter(|_| head.next().is_none())?;
        let title = self.chunk.get(self.token.clone()).filter(|t| !t.is_empty())?;
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let behind = self.after.trim_start_matches([' ', '\t']);
        let next = behind.find([' ', '\t', '\n', '{', '=']).map_or(behind, |end| &behind[..end.max(1)]);
        // what reads like a name may be one, before which `from` or `=` was left out
        let name = title.starts_with(|c: char| c.is_ascii_lowercase()) && block != "study";
        let sure = match next {
            "from" => block == "step",
            "when" => block == "step" && !name,
            "{" => !name,
            _ => false,
        };
        let right = format!("\"{title}\"");
        (sure && title.chars().all(word) && !matches!(title, "from" | "when"))
            .then(|| mend(format!("a title is a text: write {right}"), self.token.clone(), right))
    }

    /// `{"num_speculative_tokens" = 4}`
    fn json_equals(&self) -> Option<Hint> {
        let key = self.before.ends_with('"') && self.before.rfind('{') > self.before.rfind('}');
        (self.word == "=" && key).then(|| {
            mend("in JSON a colon stands between a key and its value", self.before.len()..self.token.end, ":")
        })
    }
}
