//! Diagnostics for people (through miette) and for programs (JSON, version 1).

use std::fmt::{self, Write as _};
use std::ops::Range;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan};
use serde::Serialize;

use super::diag::{Diagnostic, Severity};
use super::excerpt::Excerpts;
use super::fix::{edits_of, fix_of};
use super::given;
use super::pictures::pictured;
use super::source::{Place, Source, Sources, Span};

/// How text diagnostics look.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub color: bool,
    /// columns of text
    pub width: usize,
    /// columns of a line of a file, with its number before it
    pub line: usize,
}

/// What stands before a line of a file: spaces, its number, a bar.
const MARGIN: usize = 8;
/// Narrower, nothing can be seen of a line.
const LEAST: usize = 32;

/// So many other places of a mistake are shown; a machine's file may have thousands.
const MOST_RELATED: usize = 12;

/// A diagnostic together with its source, as miette wants it.
struct Shown<'a> {
    diagnostic: &'a Diagnostic,
    source: Excerpts<'a>,
    labels: Vec<LabeledSpan>,
}

impl<'a> Shown<'a> {
    fn of(d: &'a Diagnostic, file: &'a Source, longest: usize) -> Self {
        let others = d.related.iter().filter(|(s, _)| s.file == d.span.file);
        let label = label_of(d).map(str::to_owned);
        let all: Vec<(Range<usize>, Option<String>)> = std::iter::once((d.span.range(), label))
            .chain(others.map(|(s, t)| (s.range(), Some(t.clone()))))
            .collect();
        let places: Vec<Range<usize>> = all.iter().map(|(place, _)| place.clone()).collect();
        let source = Excerpts::new(file, &places, longest);
        let mut labels = Vec::new();
        for (place, text) in all {
            let Some(at) = source.place(&place) else { continue };
            let first = labels.is_empty();
            let label = if first { LabeledSpan::new_primary_with_span } else { LabeledSpan::new_with_span };
            labels.push(label(text, at));
        }
        Self { diagnostic: d, source, labels }
    }
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
        Some(Box::new(heading(self.diagnostic)))
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
        Some(Box::new(self.labels.iter().cloned()))
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
        let unshown = only_the_first(&mut wrapped.related);
        wrapped.message = wrap(&pictured(&diagnostic.message), look.width.saturating_sub(4));
        wrapped.help = diagnostic.help.as_deref().map(|h| wrap(&pictured(h), look.width.saturating_sub(8)));
        wrapped.label = pictured(&diagnostic.label).into_owned();
        let shown = Shown::of(&wrapped, source, look.line.saturating_sub(MARGIN).max(LEAST));
        if handler.render_report(&mut out, &shown).is_err() {
            out.push_str(&diagnostic.message);
        }
        let notes = elsewhere(&wrapped, sources).into_iter().chain(unshown);
        for note in notes {
            out.push_str("  note: ");
            out.push_str(&wrap(&pictured(&note), look.width.saturating_sub(8)).replace('\n', "\n        "));
            out.push('\n');
        }
        out.push('\n');
    }
    out
}

/// Leaves as many of the other places as are shown, and says how many there are beside them.
fn only_the_first(related: &mut Vec<(Span, String)>) -> Option<String> {
    let more = related.len().checked_sub(MOST_RELATED + 1)? + 1;
    related.truncate(MOST_RELATED);
    Some(format!("and {more} more such place{}", if more == 1 { "" } else { "s" }))
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

/// The code, and whether `--fix` mends it.
fn heading(d: &Diagnostic) -> String {
    let fixable = if fix_of(d).is_some() { " [fixable]" } else { "" };
    format!("{}{fixable}", d.code.id())
}

/// `3 errors, 1 warning in 2 files`
pub fn summary<'a>(found: impl IntoIterator<Item = &'a Diagnostic>, files: usize) -> String {
    let (mut counts, mut fixable, mut away) = ([0_usize; 3], 0, 0);
    for d in found {
        counts[d.severity() as usize] += 1;
        match fix_of(d) {
            Some(_) => fixable += 1,
            None => away += usize::from(!edits_of(d).is_empty()),
        }
    }
    let many = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let words = ["error", "warning", "note"];
    let counted = counts.iter().zip(words).filter(|(n, _)| **n > 0).map(|(n, w)| many(*n, w));
    let counted: Vec<String> = counted.collect();
    let what = if counted.is_empty() { "no errors".to_owned() } else { counted.join(", ") };
    let mended = match (fixable, counts.iter().sum::<usize>()) {
        (0, _) if away > 0 => format!("; `--fix` mends {away} of them where the used file itself is named"),
        (0, _) => String::new(),
        (1, 1) => "; `--fix` mends it".to_owned(),
        (n, all) if n == all => "; `--fix` mends them".to_owned(),
        (n, _) => format!("; `--fix` mends {n} of them"),
    };
    format!("{what} in {}{mended}", many(files, "file"))
}

/// Workflow commands of GitHub Actions, one line each: they mark the lines of a pull request.
pub fn github(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let mut out = String::new();
    for d in diagnostics {
        let source = sources.get(d.span.file);
        let (start, end) = (source.place(d.span.start), source.place(d.span.end));
        let level = match d.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        let help = d.help.as_deref().map(|h| format!("\nhelp: {h}")).unwrap_or_default();
        let label = label_of(d).map(|l| format!("\n{l}")).unwrap_or_default();
        // columns mean something on one line only
        let columns = if start.line == end.line {
            format!(",col={},endColumn={}", start.column, end.column)
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "::{level} file={},line={},endLine={}{columns},title={}::{}",
            escaped(&source.name, true),
            start.line,
            end.line,
            d.code.id(),
            escaped(&pictured(&format!("{}{label}{help}", d.message)), false)
        );
    }
    out
}

/// What is said at the place itself: often the name that was meant.
fn label_of(d: &Diagnostic) -> Option<&str> {
    (!d.label.is_empty()).then_some(d.label.as_str())
}

/// As workflow commands take it: in a property, its separators too.
fn escaped(text: &str, property: bool) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    if property { text.replace(':', "%3A").replace(',', "%2C") } else { text }
}

/// Breaks a text into lines at spaces, where that helps.
pub fn wrap(text: &str, width: usize) -> String {
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
    /// what text output writes under the place, "did you mean …" among others
    label: Option<&'a str>,
    help: Option<&'a str>,
    file: &'a str,
    span: SpanEntry,
    related: Vec<RelatedEntry<'a>>,
    /// what `--fix` of that file would do: all of them, or nothing
    fixes: Vec<FixEntry<'a>>,
}

#[derive(Serialize)]
struct FixEntry<'a> {
    span: SpanEntry,
    replacement: &'a str,
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
        label: label_of(d),
        help: d.help.as_deref(),
        file: &sources.get(d.span.file).name,
        span: span(d.span),
        related: d
            .related
            .iter()
            .map(|(s, text)| RelatedEntry { message: text, file: &sources.get(s.file).name, span: span(*s) })
            .collect(),
        fixes: edits_of(d).iter().map(|e| FixEntry { span: span(e.span), replacement: &e.text }).collect(),
    });
    let document = Document { schema: "perflab.diagnostics/1", diagnostics: entries.collect() };
    serde_json::to_value(document).unwrap_or_default()
}
