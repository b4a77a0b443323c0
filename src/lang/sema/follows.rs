//! Mistakes that follow from another one, taken back once everything was looked at: a point that is not there because its axis is broken,
//! a flag that is too new for the engine that is left, a release that nobody has.

use super::check::Checker;
use super::schema::key;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::{FileId, Span};
use crate::lang::stdlib;
use crate::lang::syntax::ast::{Axis, Item};

impl Checker<'_> {
    /// Takes back what follows from something else that was said.
    pub(super) fn forget_what_follows(&mut self) {
        if !self.sink.has_errors() {
            return;
        }
        self.points_of_broken_axes();
        self.releases_of_nobody();
        self.doubled_for_want_of_a_value();
        self.doubled_for_a_slip();
        self.made_of_a_guess();
    }

    /// `seqs * seqz`, `seqz[512]`: what a misspelt name is read as is a guess, of which nothing else is wrong.
    fn made_of_a_guess(&mut self) {
        let guesses =
            self.sink.found().filter(|d| d.code == Code::UnknownName && d.label.starts_with("did you"));
        let guesses: Vec<Span> = guesses.map(|d| d.span).collect();
        let points: Vec<String> =
            guesses.iter().map(|s| format!("the axis `{}` has no point", self.modules.slice(*s))).collect();
        let modules = self.modules;
        let line = |s: &Span| {
            let text = modules.text_of(s.file);
            (
                s.file,
                memchr::memchr_iter(b'\n', &text.as_bytes()[..(s.start as usize).min(text.len())]).count(),
            )
        };
        let lines: Vec<_> = guesses.iter().map(line).collect();
        self.sink.forget(|d| match d.code {
            Code::UnknownPoint => points.iter().any(|p| d.message.starts_with(p.as_str())),
            Code::FlagClash => lines.contains(&line(&d.span)),
            _ => false,
        });
    }

    /// `basline a` beside `baseline a`: the misspelt one is the mistake.
    fn doubled_for_a_slip(&mut self) {
        let slips = self.sink.found().filter(|d| d.code == Code::UnknownSetting && !d.edits.is_empty());
        let slips: Vec<(FileId, u32)> = slips.map(|d| (d.span.file, d.span.start)).collect();
        let at = |s: &Span| slips.contains(&(s.file, s.start));
        // other tools cap a rate by what would be a closed load here
        let both = |d: &Diagnostic| d.code == Code::ProfileSetting && d.message.starts_with("a load is open");
        self.sink.forget(|d| {
            (d.code == Code::SettingTwice || both(d)) && (at(&d.span) || d.related.iter().any(|(s, _)| at(s)))
        });
    }

    /// `--seqs --seqs=5`: the one without its value is the mistake.
    fn doubled_for_want_of_a_value(&mut self) {
        let wanting = self.sink.found().filter(|d| d.code == Code::FlagNeedsValue);
        let wanting: Vec<Span> = wanting.map(|d| d.span).collect();
        let at =
            |s: &Span| wanting.iter().any(|w| w.file == s.file && s.range().contains(&(w.start as usize)));
        self.sink
            .forget(|d| d.code == Code::FlagTwice && (at(&d.span) || d.related.iter().any(|(s, _)| at(s))));
    }

    /// `seqs[512]` of an axis in whose list `512` was misspelt.
    fn points_of_broken_axes(&mut self) {
        let axes = self.modules.root().file.items.iter();
        let axes = axes.filter_map(|i| if let Item::Axis(a) = i { Some(a) } else { None });
        // a flag that some engine lacks says nothing of the points
        let apart = [Code::UnknownPoint, Code::UnknownFlag, Code::FlagVersion];
        let torn = |a: &&Axis| self.sink.in_span(a.span).any(|d| !apart.contains(&d.code));
        let said: Vec<String> =
            axes.filter(torn).map(|a| format!("the axis `{}` has no point", a.name.value)).collect();
        self.sink.forget(|d| {
            d.code == Code::UnknownPoint && said.iter().any(|s| d.message.starts_with(s.as_str()))
        });
    }

    /// A flag `since` a release that the schema does not have, which was said of the `since`.
    fn releases_of_nobody(&mut self) {
        let beyond = |d: &&Diagnostic| d.code == Code::EngineSetting && d.label == super::releases::BEYOND;
        let found: Vec<Span> = self.sink.found().filter(beyond).map(|d| d.span).collect();
        let said: Vec<String> = found
            .into_iter()
            .map(|span| format!("yet ({} has it)", self.modules.slice(span).trim_matches('"')))
            .collect();
        self.sink
            .forget(|d| d.code == Code::FlagVersion && said.iter().any(|s| d.message.ends_with(s.as_str())));
    }

    /// Whether an engine may be meant that is not known here, and another one of the library has the flag: that the known one lacks it
    /// in its release is then no mistake for certain.
    pub(super) fn may_be_anothers(&self, flag: &str) -> bool {
        let flag = key(flag.split('.').next().unwrap_or(flag));
        stdlib::engine_texts().filter(|text| super::lost::declares_flag(text, &flag)).count() > 1
            && (self.engine_lost() || self.sink.found().any(|d| self.hides_engine(d)))
    }

    /// Whether a diagnostic is about a line that names engines.
    fn hides_engine(&self, d: &Diagnostic) -> bool {
        if d.span.file != FileId::default() || !d.is_error() {
            return false;
        }
        let text = self.modules.root_text();
        let before = &text[..(d.span.start as usize).min(text.len())];
        let line = &text[before.rfind('\n').map_or(0, |n| n + 1)..];
        let word = line.split_whitespace().next().unwrap_or_default();
        let names = matches!(word, "use" | "engine" | "baseline" | "track" | "step" | "vary");
        d.message.starts_with("no engine is called") || d.code.id().starts_with("E1") && names
    }
}
