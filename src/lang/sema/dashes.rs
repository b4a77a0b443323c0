//! Dashes that are missing before the name of a flag, `--tool-call-parser=hermes async-scheduling`, and those before a word that has none,
//! `--unset --eager`: what else is said of such a line follows.

use super::check::Checker;
use super::lost::declares_flag;
use super::schema::{Found, Kind as Takes, key};
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;
use crate::lang::stdlib;

impl Checker<'_> {
    /// Tells each of them as what it is.
    pub(super) fn dashes(&mut self) {
        self.flags_without_dashes();
        self.words_with_dashes();
    }

    /// A word behind a flag that is the name of another one, which the engines here have.
    fn flags_without_dashes(&mut self) {
        let found: Vec<(Span, Span)> = self
            .sink
            .found()
            .filter(|d| matches!(d.code, Code::Unexpected | Code::SpacedFlag))
            .filter_map(|d| Some((d.span, self.bare_flag(d)?)))
            .collect();
        for (told, bare) in found {
            let word = self.modules.slice(bare);
            let flag = format!("--{}", word.replace('_', "-"));
            let d = Diagnostic::new(Code::Unexpected, bare, format!("`{word}` was not expected here"));
            let d = d.label("a flag without its dashes").help(format!("write `{flag}`")).edit(bare, flag);
            self.sink.forget(|o| {
                o.span.file == told.file
                    && (o.span == told || told.start <= o.span.start && o.span.end <= told.end)
                    && (o.code.id().starts_with("E1") || o.code == Code::FlagNeedsValue)
            });
            self.sink.push(d);
        }
    }

    /// The word that a mistake is about, if it is such a name: behind a flag with its value, or in the place of the value of a switch.
    fn bare_flag(&self, d: &Diagnostic) -> Option<Span> {
        let text = self.modules.text_of(d.span.file);
        let written = text.get(d.span.range())?;
        let start = if d.code == Code::SpacedFlag {
            let (switch, _) = written.split_once([' ', '\t'])?;
            let last = written.rfind([' ', '\t'])? + 1;
            let alone = written[switch.len()..last].trim().is_empty();
            (alone && self.is_switch(switch)).then_some(d.span.start as usize + last)?
        } else {
            let line = d.span.line_in(text).range();
            let before = text.get(line.start..d.span.start as usize)?;
            let apart = before.trim_end_matches([' ', '\t']);
            let last = apart.rsplit([' ', '\t']).next()?;
            let named = last.split('=').next().unwrap_or_default();
            // `--overrides={rope_theta: 1}` is a key
            let whole = apart.len() < before.len() && !last.contains(['{', '[']);
            (whole && last.starts_with('-') && (last.contains('=') || self.is_switch(named)))
                .then_some(d.span.start as usize)?
        };
        let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let name = &text[start..];
        let name = &name[..name.find(|c| !in_name(c)).unwrap_or(name.len())];
        // a single word may be a value as well
        let sets = text[start + name.len()..].starts_with('=');
        let sure = name.contains(['-', '_']) || sets;
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        (sure && begins && self.may_be_flag(&format!("--{}", name.replace('_', "-")))).then(|| Span {
            start: start as u32,
            end: (start + name.len()) as u32,
            ..d.span
        })
    }

    /// Whether an engine here has a flag of this name, or one of the library where those of the file are not known.
    fn may_be_flag(&self, flag: &str) -> bool {
        let of_library = || stdlib::engine_texts().any(|text| declares_flag(text, &key(flag)));
        self.is_flag(flag) || self.engine_lost() && of_library()
    }

    /// Whether an engine here has a switch of this name.
    fn is_switch(&self, flag: &str) -> bool {
        let mut engines = self.engines.values().flatten();
        engines.any(|e| {
            matches!(e.schema.find(flag, e.version.as_deref()), Found::Known(spec, _) if spec.kind == Takes::Switch)
        })
    }

    /// `--unset --eager`, `--raw --fork=2`
    fn words_with_dashes(&mut self) {
        let modules = self.modules;
        let word_of = |d: &Diagnostic| match modules.slice(d.span) {
            "--unset" => Some("unset"),
            "--raw" => Some("raw"),
            _ => None,
        };
        let unknown = self.sink.found().filter(|d| d.code == Code::UnknownFlag);
        let words: Vec<(Span, &str)> = unknown.filter_map(|d| Some((d.span, word_of(d)?))).collect();
        for (at, word) in words {
            let text = modules.text_of(at.file);
            let line = &text[at.end as usize..at.line_in(text).end as usize];
            let flag = line.trim_start();
            let start = at.end as usize + line.len() - flag.len();
            let flag = flag.split([' ', '\t', '=', ',', '}', '\n']).next().unwrap_or_default();
            if !flag.starts_with('-') {
                continue;
            }
            // what is said of the flag itself is said of one that is set
            self.sink.forget(|d| {
                d.span.file == at.file
                    && (d.span == at || d.span.start as usize == start)
                    && matches!(d.code, Code::UnknownFlag | Code::FlagNeedsValue | Code::FlagVersion)
            });
            let d = Diagnostic::new(Code::UnknownFlag, at, format!("`{word}` is no flag"));
            let d = d.label("a word without dashes").help(format!("write `{word} {flag}`"));
            self.sink.push(d.edit(at, word));
        }
    }
}
