//! Diagnostics for people (through miette) and for programs (JSON, version 1).

use std::fmt;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};
use serde::Serialize;

use super::diag::{Diagnostic, Severity};
use super::given;
use super::source::{Place, Source, Sources, Span};

/// How text diagnostics look.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub color: bool,
    pub width: usize,
}

/// A diagnostic together with its source, as miette wants it.
struct Shown<'a> {
    diagnostic: &'a Diagnostic,
    source: NamedSource<String>,
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.diagnostic.message)
    }
}

impl std::error::Error for Shown<'_> {}

impl miette::Diagnostic for Shown<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.diagnostic.code.id()))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity() {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
            Severity::Note => miette::Severity::Advice,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.diagnostic.help.as_ref().map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let d = self.diagnostic;
        let label = (!d.label.is_empty()).then(|| d.label.clone());
        let main = LabeledSpan::new_primary_with_span(label, d.span.range());
        let same_file = d.related.iter().filter(|(s, _)| s.file == d.span.file);
        let others = same_file.map(|(s, t)| LabeledSpan::new_with_span(Some(t.clone()), s.range()));
        Some(Box::new(std::iter::once(main).chain(others)))
    }
}

/// All diagnostics as text, one block each.
pub fn text(diagnostics: &[Diagnostic], sources: &Sources, look: Look) -> String {
    let theme = if look.color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    // lines are wrapped here, at spaces: a flag must not be broken at its hyphens
    let handler = GraphicalReportHandler::new_themed(theme).with_wrap_lines(false).with_links(false);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let source = sources.get(diagnostic.span.file);
        let mut wrapped = diagnostic.clone();
        wrapped.message = wrap(&diagnostic.message, look.width.saturating_sub(4));
        wrapped.help = diagnostic.help.as_deref().map(|h| wrap(h, look.width.saturating_sub(8)));
        if source.longest_line(diagnostic.span) > LONGEST_LINE {
            bare(&mut out, &wrapped, source);
        } else {
            let shown =
                Shown { diagnostic: &wrapped, source: NamedSource::new(&source.name, source.text.clone()) };
            if handler.render_report(&mut out, &shown).is_err() {
                out.push_str(&diagnostic.message);
            }
        }
        for note in elsewhere(diagnostic, sources) {
            out.push_str("  note: ");
            out.push_str(&wrap(&note, look.width.saturating_sub(8)).replace('\n', "\n        "));
            out.push('\n');
        }
        out.push('\n');
    }
    out
}

/// What a diagnostic says about other files, one line each; what the command line said has no place in a file.
fn elsewhere(d: &Diagnostic, sources: &Sources) -> Vec<String> {
    let others = d.related.iter().filter(|(s, _)| s.file != d.span.file);
    let line = |(span, text): &(Span, String)| {
        let source = sources.get(span.file);
        let place = source.place(span.start);
        match source.name.as_str() {
            given::SOURCE => text.clone(),
            name => format!("{name}:{}:{}: {text}", place.line, place.column),
        }
    };
    others.map(line).collect()
}

/// Longer lines are not printed: nobody finds a place in them.
const LONGEST_LINE: usize = 500;

/// A diagnostic without the lines that it is about.
fn bare(out: &mut String, d: &Diagnostic, source: &Source) {
    let place = source.place(d.span.start);
    let help = d.help.as_deref().unwrap_or_default().replace('\n', "\n        ");
    let (code, message) = (d.code.id(), d.message.replace('\n', "\n    "));
    let place = format!("{}:{}:{}", source.name, place.line, place.column);
    for part in [code, "\n\n  × ", &message, "\n   ─[", &place, "]\n  help: ", &help, "\n"] {
        out.push_str(part);
    }
}

/// Breaks a text into lines at spaces, where that helps.
fn wrap(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut column = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            column = 0;
        } else if !out.is_empty() {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    diagnostics: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    code: &'static str,
    severity: Severity,
    message: &'a str,
    help: Option<&'a str>,
    file: &'a str,
    span: SpanEntry,
    related: Vec<RelatedEntry<'a>>,
}

#[derive(Serialize)]
struct SpanEntry {
    start: Place,
    end: Place,
}

#[derive(Serialize)]
struct RelatedEntry<'a> {
    message: &'a str,
    file: &'a str,
    span: SpanEntry,
}

/// The `perflab.diagnostics/1` document.
pub fn json(diagnostics: &[Diagnostic], sources: &Sources) -> serde_json::Value {
    let span = |s: Span| {
        let source = sources.get(s.file);
        SpanEntry { start: source.place(s.start), end: source.place(s.end) }
    };
    let entries = diagnostics.iter().map(|d| Entry {
        code: d.code.id(),
        severity: d.severity(),
        message: &d.message,
        help: d.help.as_deref(),
        file: &sources.get(d.span.file).name,
        span: span(d.span),
        related: d
            .related
            .iter()
            .map(|(s, text)| RelatedEntry { message: text, file: &sources.get(s.file).name, span: span(*s) })
            .collect(),
    });
    let document = Document { schema: "perflab.diagnostics/1", diagnostics: entries.collect() };
    serde_json::to_value(document).unwrap_or_default()
}
