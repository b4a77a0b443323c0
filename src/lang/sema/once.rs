//! Settings of a study that stand once: a second one is told, also where the first one could not be read.

use super::check::Checker;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, StudyLineKind as Line};

impl Checker<'_> {
    /// Settings that stand once at most.
    pub(super) fn once(&mut self, decl: &ast::Study) {
        let mut seen: Vec<(&str, Span)> = self.unread_once(decl);
        for line in &decl.lines {
            let Some(word) = single_word(&line.kind) else { continue };
            self.stands_once(&mut seen, (word, line.span), || format!("the study states its {word} twice"));
        }
    }

    /// Tells of a setting that was seen before in its block, else notes it.
    pub(super) fn stands_once<'w>(
        &mut self,
        seen: &mut Vec<(&'w str, Span)>,
        (word, span): (&'w str, Span),
        message: impl FnOnce() -> String,
    ) {
        match seen.iter().find(|(w, _)| *w == word) {
            Some((_, first)) if self.is_read_as_guessed((word, span), *first) => {}
            Some((_, first)) => {
                let d = Diagnostic::new(Code::SettingTwice, span, message()).label("the second one");
                self.sink.push(d.related(*first, "the first one").help("keep one of them"));
            }
            None => seen.push((word, span)),
        }
    }

    /// `repeats 3` beside `repeat 1`: which of the two is meant nobody knows, and it is one mistake.
    fn is_read_as_guessed(&mut self, (word, second): (&str, Span), first: Span) -> bool {
        let on = |line: Span, d: &Diagnostic| {
            d.code == Code::UnknownSetting
                && d.span.file == line.file
                && d.span.start < line.end
                && line.start < d.span.end
        };
        for (line, other) in [(second, first), (first, second)] {
            let Some(d) = self.sink.each_mut().find(|d| on(line, d)) else { continue };
            d.edits.clear();
            d.help = Some(format!("`{word}` is stated already: keep one of them"));
            d.related.push((other, "stated here".to_owned()));
            return true;
        }
        false
    }

    /// Lines with such settings that could not be read, which has been said, up to the first one of their kind that could be.
    fn unread_once(&self, decl: &ast::Study) -> Vec<(&'static str, Span)> {
        let text = self.modules.slice(decl.span);
        let mut found: Vec<(&str, Span)> = Vec::new();
        let mut at = decl.span.start as usize;
        for line in text.split_inclusive('\n') {
            let start = at + line.len() - line.trim_start().len();
            at += line.len();
            let word = line.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
            let Some(what) = ONCE.iter().find(|(w, _)| *w == word).map(|(_, what)| *what) else { continue };
            let here = Span::new(decl.span.file, start..at.max(start + 1));
            // a line that was read is looked at there, and what stands in a block is the block's
            let read = decl.lines.iter().any(|l| l.span.start <= here.start && here.start < l.span.end);
            if !read && decl.unread.contains(&word) && self.sink.in_span(here).next().is_some() {
                found.push((what, here));
            }
        }
        let comes_first = |(what, span): &(&str, Span)| {
            !decl.lines.iter().any(|l| single_word(&l.kind) == Some(what) && l.span.start < span.start)
        };
        found.retain(comes_first);
        found
    }
}

/// The words of settings that stand once, and what they state.
const ONCE: [(&str, &str); 10] = [
    ("model", "model"),
    ("gpus", "gpus"),
    ("baseline", "baseline"),
    ("maximize", "objective"),
    ("minimize", "objective"),
    ("adopt", "adopt"),
    ("repeat", "repeat"),
    ("confirm", "confirm"),
    ("curve", "curve"),
    ("budget", "budget"),
];

fn single_word(line: &Line) -> Option<&'static str> {
    Some(match line {
        Line::Model(_) => "model",
        Line::Gpus { .. } => "gpus",
        Line::Baseline(_) => "baseline",
        Line::Objective { .. } => "objective",
        Line::Adopt(_) => "adopt",
        Line::Repeat(_) => "repeat",
        Line::Confirm(_) => "confirm",
        Line::Curve(_) => "curve",
        Line::Budget(_) => "budget",
        _ => return None,
    })
}
