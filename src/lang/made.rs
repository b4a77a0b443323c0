//! What fixes wrote, and where it stands in the text that they made: so that nobody needs to compare the two files.

use super::changes::{Step, after};
use super::codes::Code;
use super::diag::{Diagnostic, Edit};
use super::source::{FileId, Span};

/// One fix, as it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    pub code: Code,
    /// the line of the mended text, from 1
    pub line: usize,
    /// what stood there, and stands there now
    pub was: String,
    pub now: String,
    /// the lines of its other edits
    pub also: Vec<usize>,
}

/// One fix while others are still made: its places move.
#[derive(Debug, Clone)]
pub(super) struct Making {
    code: Code,
    places: Vec<Span>,
    was: String,
    now: String,
}

impl Making {
    /// The fixes of a step, by the text before it.
    pub(super) fn of(fixes: &[&Diagnostic], text: &str, step: &Step) -> Vec<Self> {
        let one = |(n, d): (usize, &&Diagnostic)| {
            let mut edits: Vec<&Edit> = d.edits.iter().collect();
            edits.sort_by_key(|e| (e.span.start, e.span.end));
            let first = edits.first()?;
            let made = step.iter().filter(|c| c.fix == n);
            let places = made.map(|c| Span::new(FileId::default(), c.new.clone())).collect();
            let was = text.get(first.span.range()).unwrap_or_default().to_owned();
            Some(Self { code: d.code, places, was, now: first.text.clone() })
        };
        fixes.iter().enumerate().filter_map(one).collect()
    }

    pub(super) fn moved(mut self, step: &Step) -> Self {
        for place in &mut self.places {
            *place = after(*place, step);
        }
        self
    }

    /// In the text after all fixes.
    pub(super) fn made(self, text: &str) -> Made {
        let line = |at: &Span| {
            let written = text.get(at.range()).unwrap_or_default();
            let blank = written.len() - written.trim_start().len();
            let start = if written.trim().is_empty() { at.range().start } else { at.range().start + blank };
            1 + text.get(..start).unwrap_or(text).matches('\n').count()
        };
        let mut lines: Vec<usize> = self.places.iter().map(line).collect();
        let first = lines.first().copied().unwrap_or(1);
        lines.retain(|l| *l != first);
        lines.dedup();
        Made { code: self.code, line: first, was: self.was, now: self.now, also: lines }
    }
}

impl Made {
    /// `wrote `a` for `b` (E201), also in line 7`
    pub fn told(&self) -> String {
        let (was, now) = (quoted(&self.was), quoted(&self.now));
        let done = match (was, now) {
            (Some(was), Some(now)) if was != now => format!("wrote {now} for {was}"),
            (None, Some(now)) => format!("put in {now}"),
            (Some(was), None) => format!("took out {was}"),
            _ if self.now.len() < self.was.len() => "took out a space".to_owned(),
            _ if self.now.contains('\n') => "began a new line".to_owned(),
            _ => "put in a space".to_owned(),
        };
        let also: Vec<String> = self.also.iter().map(usize::to_string).collect();
        let also = match also.as_slice() {
            [] => String::new(),
            [one] => format!(", also in line {one}"),
            many => format!(", also in lines {}", many.join(", ")),
        };
        format!("{done} ({}){also}", self.code.id())
    }
}

/// A text in one line, as messages quote it; `None` where nobody would see anything.
fn quoted(text: &str) -> Option<String> {
    const MOST: usize = 80;
    let text = super::invisible::shown(text.split_whitespace().collect::<Vec<_>>().join(" "));
    if text.is_empty() {
        return None;
    }
    Some(match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_seen_is_told() {
        let told = |was: &str, now: &str| {
            let made = Made {
                code: Code::Unexpected,
                line: 1,
                was: was.to_owned(),
                now: now.to_owned(),
                also: Vec::new(),
            };
            made.told()
        };
        for (was, now, says) in [
            ("a", "b", "wrote `b` for `a` (E103)"),
            (" =", "=", "took out a space (E103)"),
            ("5 %", "5%", "wrote `5%` for `5 %` (E103)"),
            (" ", "", "took out a space (E103)"),
            ("", " {", "put in `{` (E103)"),
            ("=", " =", "put in a space (E103)"),
            (" ", "\n    ", "began a new line (E103)"),
        ] {
            assert_eq!(told(was, now), says);
        }
    }
}
