//! Slips in the lines by which an engine is declared: the types and bounds of its flags, its variables, patterns and signals.

use std::ops::Range;

use super::at::{Line, mend};
use super::hints::Hint;
use super::types;
use super::words::{ATTRIBUTES, TYPES};

/// The remedy for a token (of the chunk, a place in it) in such a line.
pub fn slip(chunk: &str, token: &Range<usize>, word: &str) -> Option<Hint> {
    let line = Line::of(chunk, token, word);
    match line.before.split_whitespace().next()? {
        "flag" => line
            .bound()
            .or_else(|| line.choices())
            .or_else(|| line.negated())
            .or_else(|| line.keys())
            .or_else(|| line.uses()),
        "failure" => line.compared().or_else(|| line.pattern()),
        "env" => line.variable(),
        "variables" => line.names(),
        "stop" => line.no_signal(),
        "ready" => line.deadline_first(),
        _ => None,
    }
}

/// `refuses when --n > 8 "reason"`, as a failure has it elsewhere.
pub fn reason_last(chunk: &str, token: &Range<usize>, word: &str) -> Option<Hint> {
    let line = Line::of(chunk, token, word);
    let (condition, reason) = line.rest.strip_suffix('"')?.rsplit_once('"')?;
    let condition = condition.trim_end();
    let compared = condition.ends_with(['=', '<', '>', '(', ',']);
    let is_last = line.before == "refuses" && word == "when" && condition.len() > word.len() && !compared;
    is_last.then(|| {
        let right = format!("\"{reason}\" {condition}");
        let place = token.start..token.start + line.rest.len();
        mend("the reason stands before the condition: write `refuses \"…\" when …`", place, right)
    })
}

impl Line<'_> {
    /// `flag --seqs int >=1`, `flag --seqs int > 0`
    fn bound(&self) -> Option<Hint> {
        let typed = [" int", " float"].iter().any(|t| self.before.ends_with(t));
        let number = self.rest.strip_prefix(">=").filter(|_| typed)?;
        let digits = number.trim_start();
        let len = digits.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(digits.len());
        (len > 0).then(|| self.write(2 + number.len() - digits.len() + len, &format!("{}..", &digits[..len])))
    }

    /// `flag --mode [fast, exact]`
    fn choices(&self) -> Option<Hint> {
        let named = self.before.split_whitespace().skip(1).all(|w| w.starts_with('-'));
        let word = |w: &str| w.starts_with(|c: char| c.is_ascii_alphabetic());
        let (list, _) = self.rest.strip_prefix('[')?.split_once(']')?;
        let fits = named && self.before != "flag" && list.split(',').all(|w| word(w.trim()));
        fits.then(|| mend(format!("write `one_of [{list}]`"), self.token.start..self.token.start, "one_of "))
    }

    /// `flag --cache switch negated no-cache`
    fn negated(&self) -> Option<Hint> {
        let name = self.before.split_whitespace().nth(1).unwrap_or_default();
        if self.before.ends_with(" negated") && ATTRIBUTES.contains(&self.word) {
            let off = format!("negated --no-{}", name.trim_start_matches('-'));
            return Some(mend(
                format!("behind `negated` stands the flag that turns it off: write for example `{off}`"),
                self.end..self.end,
                &off["negated".len()..],
            ));
        }
        let len = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        let name = &self.rest[..len];
        let plain = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        (self.before.ends_with(" negated") && plain).then(|| self.write(len, &format!("--{name}")))
    }

    /// `flag --config json keys {depth int 1.., kind text}`, `keys [depth int kind text]`
    fn keys(&self) -> Option<Hint> {
        let open = self.before.rsplit_once(" keys [").filter(|(_, list)| !list.contains(']'));
        // `[depth integer]` names a type as other languages do, and of `[depth keys [unit]]` it is missing
        let of_flags =
            |w: &str| ATTRIBUTES.contains(&w) || TYPES.contains(&w) || types::known("flag ", w).is_some();
        let key = |w: &str| w.starts_with(|c: char| c.is_ascii_lowercase()) && !of_flags(w);
        if open.is_some_and(|(_, list)| !list.ends_with([',', '[']) && !list.is_empty()) && key(self.word) {
            return Some(mend("keys are separated by commas".to_owned(), self.end..self.end, ","));
        }
        let inner = self.rest.strip_prefix('{')?;
        let end = inner.rfind('}').filter(|_| self.before.ends_with(" keys"))?;
        let right = format!("[{}]", inner[..end].trim());
        Some(mend(
            "keys stand in square brackets".to_owned(),
            self.token.start..self.token.start + end + 2,
            &right,
        ))
    }

    /// `flag --tp int 1.. default 1 gpus`
    fn uses(&self) -> Option<Hint> {
        let lacks = !self.before.ends_with(" uses") && !self.before.ends_with(" adds");
        let typed = self.before.split_whitespace().any(|w| TYPES.contains(&w));
        (self.word == "gpus" && lacks && typed).then(|| self.write("gpus".len(), "uses gpus"))
    }

    /// `failure "…" when log == "…"`
    fn compared(&self) -> Option<Hint> {
        let sign = matches!(self.word, "==" | "=~" | "=" | "~" | "~=");
        let glued = ["=~", "~="].iter().any(|sign| self.rest.starts_with(sign));
        let len = if glued { 2 } else { self.word.len() };
        (sign && self.before.ends_with(" log")).then(|| self.write(len, "matches"))
    }

    /// `failure "…" when log matches /…/`
    fn pattern(&self) -> Option<Hint> {
        let inner = self.rest.strip_prefix('/')?;
        let end = inner.rfind('/').filter(|_| self.before.ends_with(" matches"))?;
        let (pattern, flags) = (&inner[..end], &inner[end + 1..]);
        let flags = if flags.contains('i') { "(?i)" } else { "" };
        let right = format!("\"{flags}{}\"", pattern.replace('\\', "\\\\").replace('"', "\\\""));
        Some(self.write(self.rest.len(), &right))
    }

    /// `env OWN-LOG=info`, `env OWN_LOG: info`
    fn variable(&self) -> Option<Hint> {
        if let Some(value) =
            self.rest.strip_prefix(':').filter(|_| self.before.split_whitespace().count() == 2)
        {
            let space = value.len() - value.trim_start().len();
            return Some(mend(
                "a variable is set by `=`".to_owned(),
                self.token.start..self.token.start + 1 + space,
                "=",
            ));
        }
        let name = self.rest.split('=').next().unwrap_or_default();
        let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
        let dashed = self.before.ends_with(|c: char| c.is_ascii_uppercase())
            && name.starts_with('-')
            && name.chars().all(upper);
        dashed.then(|| {
            let right = name.replace('-', "_");
            mend(
                format!("names of variables hold no `-`: write `{right}`"),
                self.token.start..self.token.start + name.len(),
                &right,
            )
        })
    }

    /// `variables "OWN_" OWN_LOG, OWN_CACHE`
    fn names(&self) -> Option<Hint> {
        let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let name = |w: &str| w.starts_with(|c: char| c.is_ascii_uppercase()) && w.chars().all(upper);
        let all: Vec<&str> = self.rest.split([' ', '\t', ',']).filter(|w| !w.is_empty()).collect();
        let bare = self.before.ends_with('"') && !all.is_empty() && all.iter().all(|w| name(w));
        bare.then(|| {
            let right = format!("[{}]", all.join(", "));
            let help = format!("a list stands in square brackets: write `{right}`");
            mend(help, self.token.start..self.token.start + self.rest.len(), right)
        })
    }

    /// `ready within 5min get "/health"`
    fn deadline_first(&self) -> Option<Hint> {
        let mut words = self.rest.split_whitespace();
        let (within, time, how, what) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let whole = self.before == "ready" && within == "within" && words.next().is_none();
        (whole && how == "get").then(|| self.write(self.rest.len(), &format!("get {what} within {time}")))
    }

    /// `stop within 30s`: the word was read as the signal
    fn no_signal(&self) -> Option<Hint> {
        let words: Vec<&str> = self.before.split_whitespace().collect();
        let taken = words == ["stop", "within"] && self.word.starts_with(|c: char| c.is_ascii_digit());
        taken.then(|| {
            let at = self.end - "within".len();
            mend(
                format!("a signal is missing: write `stop sigterm within {}`", self.word),
                at..at,
                "sigterm ",
            )
        })
    }
}
