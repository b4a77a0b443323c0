//! Phrases in studies and steps.

use super::{Place, ends_in_number, hint, in_word, is_name};
use crate::lang::syntax::blocks::first_word;
use crate::lang::syntax::hints::Hint;
use crate::lang::syntax::words::STUDY_SETTINGS;

impl Place<'_> {
    pub(super) fn study(&self, setting: &str) -> Option<Hint> {
        let number = self.word.starts_with(|c: char| c.is_ascii_digit());
        match (setting, self.word) {
            // `gain > >= 1%`
            ("adopt", ">" | "=")
                if self.before.ends_with("gain") && self.after().trim_start().starts_with(">=") =>
            {
                let end = self.chunk.len() - self.after().trim_start().len();
                hint(
                    "one sign compares: write `adopt gain >= …`",
                    Some((self.token.start..end, String::new())),
                )
            }
            ("adopt", ">" | "=>" | "=" | "==" | "≥") if self.before.ends_with("gain") => {
                // `>:`, `>-`: another sign is of the same slip
                let sign = |c: char| matches!(c, ':' | '-' | '>' | '<' | '=' | '~' | '+' | '!' | '.');
                let more = self.after().len() - self.after().trim_start_matches(sign).len();
                hint(
                    "write `adopt gain >= …`",
                    Some((self.token.start..self.token.end + more, ">=".to_owned())),
                )
            }
            // `maximize total_tps = chat`
            ("maximize" | "minimize", _) if self.stands_for_on() => {
                let glued = self.before.len() == self.token.start;
                let right = if glued { " on" } else { "on" };
                let behind = if self.after().starts_with([' ', '\t']) { "" } else { " " };
                self.replace("write `on`", &format!("{right}{behind}"))
            }
            // `12h30min`
            ("budget", word) if self.before == "budget" && in_minutes(word).is_some() => {
                let minutes = in_minutes(word)?;
                self.replace(format!("a time has one unit: write `{minutes}min`"), &format!("{minutes}min"))
            }
            // `1% gain`, `>= 1% gain`
            ("adopt", _) if self.before == "adopt" && self.gained().is_some() => {
                let right = format!("gain >= {}", self.gained()?);
                hint(format!("write `adopt {right}`"), Some((self.to_line_end(), right)))
            }
            ("adopt", _) if number && self.before == "adopt" => {
                self.insert(format!("write `adopt gain >= {}`", self.word), "gain >= ")
            }
            ("adopt", ">" | ">=" | "=>") => {
                self.replace("what is adopted is a gain: write `adopt gain >= …`", "gain >=")
            }
            ("confirm" | "curve", word) if self.before == setting && STUDY_SETTINGS.contains(&word) => hint(
                format!("write for example `{setting} on chat`, and `{}` on a line of its own", self.rest()),
                None,
            ),
            ("confirm" | "curve", word) if self.before == setting && is_name(word) && self.names() => {
                self.insert(format!("write `{setting} on {}`", self.rest()), "on ")
            }
            ("maximize" | "minimize" | "confirm" | "curve", "[" | "(" | "{")
                if self.before.ends_with(" on") && self.is("a name") =>
            {
                let (inner, _) = self.after().split_once([']', ')', '}'])?;
                let inner = inner.trim().to_owned();
                let end = self.token.end + self.after().find([']', ')', '}']).map_or(0, |n| n + 1);
                let edit = Some((self.token.start..end, inner.clone()));
                let plain = inner.split(',').map(str::trim).all(is_name);
                hint("profiles stand side by side, without brackets", edit.filter(|_| plain))
            }
            ("maximize" | "minimize", "and" | "with" | "if" | "when" | "where")
                if self.before.contains(" on ") && !self.names_another() =>
            {
                let limit = self.after().split(['\n', '#']).next().unwrap_or_default().trim();
                if limit.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "gain") {
                    return hint("what a change must gain stands behind `adopt`: `adopt gain >= 2%`", None);
                }
                let gap = self.before.len()..self.to_line_end().end;
                let edit =
                    Some((gap, format!("\n    require {limit}"))).filter(|_| limit.contains(['<', '>']));
                hint(format!("a limit stands on a line of its own: write `require {limit}`"), edit)
            }
            ("confirm" | "curve" | "maximize" | "minimize", "and" | "+" | "&")
                if self.before.contains(" on ") =>
            {
                let gap = self.before.trim_end().len()..self.token.end;
                hint("profiles are separated by commas", Some((gap, ",".to_owned())))
            }
            ("confirm" | "curve" | "maximize" | "minimize", word)
                if self.before.contains(" on ") && is_name(word) && word != "and" =>
            {
                let rest: Vec<&str> = self.rest().split([' ', '\t', ',']).filter(|w| !w.is_empty()).collect();
                // `chat summarize throughput`
                if rest.iter().all(|w| is_name(w)) {
                    let all = self.before.len()..self.to_line_end().end;
                    return hint(
                        "profiles are separated by commas",
                        Some((all, format!(", {}", rest.join(", ")))),
                    );
                }
                let gap = self.before.len()..self.token.start;
                hint("profiles are separated by commas", Some((gap, ", ".to_owned())))
            }
            ("budget", "gpu") if self.after().trim_start().starts_with("hour") => {
                hint("write `gpu_hours`", Some((self.to_line_end(), "gpu_hours".to_owned())))
            }
            _ => None,
        }
    }

    /// Whether names end an objective behind the token: they are the profiles that it is asked of.
    fn stands_for_on(&self) -> bool {
        let names = self.after().split(['\n', '#']).next().unwrap_or_default().trim();
        let word = self.word.bytes().all(|b| b.is_ascii_lowercase());
        let sign = matches!(self.word, "=" | ":" | "->" | "=>" | "@" | "~" | "|");
        let joins = matches!(self.word, "and" | "or" | "not" | "divides" | "per");
        let has_on = self.before.split_whitespace().any(|w| w == "on");
        (word || sign) && !joins && !has_on && self.is("`on`") && names.split(',').map(str::trim).all(is_name)
    }

    /// The number before the word for what is gained, at the end of a line.
    fn gained(&self) -> Option<&str> {
        let amount = self.rest().strip_suffix("gain")?.trim_end();
        let amount = amount.trim_start_matches(['>', '=', '≥']).trim_start();
        let number = amount.strip_suffix('%').unwrap_or(amount);
        number.parse::<f64>().is_ok().then_some(amount)
    }

    /// Whether the rest of the line is names.
    fn names(&self) -> bool {
        self.rest().split([',', ' ', '\t']).filter(|w| !w.is_empty()).all(is_name)
    }

    /// Whether a name follows and nothing else: `on chat and code`.
    fn names_another(&self) -> bool {
        self.word == "and" && is_name(self.after().split(['\n', '#']).next().unwrap_or_default().trim())
    }

    /// `p99(ttft) <= 1s, success_rate >= 99%`, `p99(ttft) <= 1s; failed < 2`, `… after 100`
    pub(super) fn condition(&self) -> Option<Hint> {
        if self.word.is_empty() && self.is("`requests`") {
            let end = self.before.len().max(self.token.end);
            // `after 200req`
            let start = self.before.rfind([' ', '\t']).map_or(0, |n| n + 1);
            let number = self.before[start..].trim_end_matches(|c: char| c.is_ascii_alphabetic());
            if number.len() < self.before.len() - start && number.parse::<u64>().is_ok() {
                let right = format!("{number} requests");
                return hint(format!("write `{right}`"), Some((start..self.before.len(), right)));
            }
            return hint("write `requests` behind it", Some((end..end, " requests".to_owned())));
        }
        let rest = self.after().trim_start();
        if self.word == "of" && rest.contains(['<', '>', '=']) && self.is("an operator") {
            return self.replace("conditions are joined by `or` or `and`", "or");
        }
        // `50ms per tok`
        if self.word == "per"
            && matches!(first_word(rest), "tok" | "token" | "request")
            && ends_in_time(self.before)
        {
            let gone = (self.before.len()..self.to_line_end().end, String::new());
            return hint("what a time is per, its metric says: remove it", Some(gone));
        }
        let more = !self.after().trim().is_empty();
        // each of the two is a condition, not half of one
        let begun = self.before.split_once(" when ").or_else(|| self.before.split_once("require "));
        let whole = begun.is_some_and(|(_, left)| {
            left.contains(['<', '>', '=']) && !left.ends_with(['<', '>', '=', '+', '-', '*', '/', '('])
        });
        let goes_on = self.after().trim_start().starts_with(['<', '>', '=', '!', '*', '/', '+', ')', ',']);
        let joins = self.word == "," || self.word == ";" && self.rest().contains(['<', '>', '=']);
        if !joins || !more || self.before.contains(" on ") || !whole || goes_on {
            return None;
        }
        let next = self.after().trim_start();
        if let word @ ("and" | "or") = first_word(next) {
            let sign = if self.word == "," { "comma" } else { "semicolon" };
            let help = format!("conditions are joined by `{word}` alone: remove the {sign}");
            return hint(help, Some((self.before.len()..self.token.end, String::new())));
        }
        let and = if self.after().starts_with([' ', '\t']) { " and" } else { " and " };
        let edit = (self.before.len()..self.token.end, and.to_owned());
        hint("conditions are joined by `and`", Some(edit))
    }

    pub(super) fn step(&self, setting: &str) -> Option<Hint> {
        let rest = self.after().trim_start();
        let example = if setting == "step" { "step NAME { vary AXIS }" } else { "track ENGINE { step … }" };
        if self.before == setting && self.word == "{" {
            return hint(format!("a {setting} has a name: `{example}`"), None);
        }
        if matches!(self.word, "after" | "on" | "over" | "using" | "based_on" | "starting")
            && !rest.is_empty()
        {
            return self.replace("what a step starts from stands behind `from`", "from");
        }
        let line = self.rest();
        let body = if self.word == ":" { line[1..].trim() } else { line };
        let lines = ["vary ", "pick ", "step ", "budget ", "note "].iter().any(|w| body.starts_with(w));
        let axes = setting == "step" && is_name(body) && self.chunk.trim_end().ends_with(body);
        if !self.is("`{`") && self.word != ":" || body.contains(['{', '}']) {
            return None;
        }
        let inner = if axes { format!("vary {body}") } else { body.to_owned() };
        // a place within a word is none for a brace
        let apart = self.before.len() < self.token.start
            || !self.before.ends_with(in_word)
            || !line.starts_with(in_word);
        let edit = ((lines || axes) && apart)
            .then(|| (self.before.len()..self.to_line_end().end, format!(" {{ {inner} }}")));
        hint(format!("its lines stand in braces: `{example}`"), edit.filter(|_| !body.is_empty()))
    }

    /// `seqs.64`, `seqs(64, 128)`, `vary seqs using grid`, `vary seqs from best`
    pub(super) fn picked(&self) -> Option<Hint> {
        let strategy = matches!(first_word(self.after().trim_start()), "grid" | "staged" | "guided");
        let varies = self.before.contains("vary ") && !self.before.ends_with('}');
        if varies && strategy && matches!(self.word, "using" | "with" | "via" | "as" | "in") {
            return self.replace("write `by`", "by");
        }
        if varies && matches!(self.word, "from" | "when") {
            let rest = self.rest().trim_end_matches(['}', ' ']);
            return hint(
                format!("`{}` stands before the step's braces: `step NAME {rest} {{ vary … }}`", self.word),
                None,
            );
        }
        let glued = self.before.len() == self.token.start
            && self.before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let help = "points are picked in square brackets: `seqs[64, 128]`";
        if !glued {
            return None;
        }
        if let Some(point) = self.word.strip_prefix('.').filter(|p| !p.is_empty()) {
            return self.replace(help, &format!("[{point}]"));
        }
        let inner =
            self.after().split_once(')').map(|(inner, _)| inner).filter(|i| !i.contains(['(', '\n']))?;
        let edit = (self.token.start..self.token.end + inner.len() + 1, format!("[{inner}]"));
        (self.word == "(").then(|| hint(help, Some(edit)))?
    }
}

/// The minutes of a time in hours and minutes: `12h30min`, `1h30m`.
fn in_minutes(text: &str) -> Option<u64> {
    let (hours, rest) = text.split_once('h')?;
    let minutes = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let known = matches!(&rest[minutes.len()..], "m" | "min" | "");
    known.then_some(hours.parse::<u64>().ok()? * 60 + minutes.parse::<u64>().ok()?)
}

/// Whether a text ends in a time: `50ms`.
fn ends_in_time(text: &str) -> bool {
    let unit = text.rsplit(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    matches!(unit, "ms" | "s" | "min") && ends_in_number(text)
}
