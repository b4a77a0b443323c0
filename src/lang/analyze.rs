//! The one entry to the language: text in, program and diagnostics out; always both, also for broken text.

use super::codes::Code;
use super::diag::{Diagnostic, Severity, Sink, list, once_a_name};
use super::given::{self, Given, Refused};
use super::sema::program::Program;
use super::sema::{
    Modules, check_program, doubts_that_follow, lacking_in_a_schema, moved_lines, odd_declarations, spare,
    without_mark,
};
use super::source::{Files, Source, Sources, Span};
use super::syntax::{habits_told_once, offer_other_halves, only_unseen};

/// What an analysis found.
#[derive(Debug)]
pub struct Analysis {
    pub program: Program,
    pub diagnostics: Vec<Diagnostic>,
    pub sources: Sources,
    /// values for params that the file does not take
    pub refused: Vec<Refused>,
    /// how many errors are not among the diagnostics
    pub unlisted: usize,
    /// what all of this was made from
    pub modules: Modules,
}

impl Analysis {
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity() == Severity::Error)
    }

    /// Leaves of the diagnostics those that are listed.
    #[must_use]
    pub fn listed(mut self) -> Self {
        self.unlisted = list(&mut self.diagnostics, self.unlisted);
        self
    }
}

/// Analyses a file and everything that it uses. `name` is shown in messages and resolves relative paths.
pub fn analyze(files: &dyn Files, name: &str, text: &str) -> Analysis {
    analyze_with(files, name, text, &[])
}

/// The same, with params of the file set from outside.
pub fn analyze_with(files: &dyn Files, name: &str, text: &str, given: &[Given]) -> Analysis {
    analyze_whole(files, name, text, given).listed()
}

/// The same, with far more diagnostics than are listed: what is to be mended among them does not depend on how many others there are.
pub fn analyze_whole(files: &dyn Files, name: &str, text: &str, given: &[Given]) -> Analysis {
    let mut sink = Sink::default();
    let mut sources = Sources::default();
    let text = without_mark(text);
    let mut modules = Modules::load(files, Source::new(name, text), &mut sources, &mut sink);
    let refused = given::apply(given, &mut modules, &mut sources);
    let root = modules.root();
    if root.file.items.is_empty() && !sink.has_errors() {
        let span = Span::new(root.id, 0..0);
        let help = "begin with `use std/engines { vllm }` and a `study`; the examples show how";
        sink.push(Diagnostic::new(Code::Empty, span, "the file declares nothing").help(help));
    }
    let mut program = check_program(&modules, &mut sink);
    program.given = given.iter().map(|g| (g.name.clone(), g.value.clone())).collect();
    only_unseen(&mut sink);
    let unlisted = sink.unlisted();
    let mut diagnostics = sink.into_sorted();
    let line = |span: Span| span.line_in(modules.text_of(span.file));
    odd_declarations(&mut diagnostics, &modules);
    lacking_in_a_schema(&mut diagnostics, &modules);
    moved_lines(&mut diagnostics, &modules);
    doubts_that_follow(&mut diagnostics, &modules);
    once_a_name(&mut diagnostics, line, |name| modules.root().is_declared(name));
    habits_told_once(modules.root_text(), &mut diagnostics);
    offer_other_halves(modules.root_text(), &mut diagnostics);
    spare(&mut diagnostics, &modules);
    given::explain(given, &mut diagnostics, &sources);
    for d in &mut diagnostics {
        let whole = |span: Span| span.whole_in(&sources.get(span.file).text);
        d.span = whole(d.span);
        d.related.iter_mut().for_each(|(span, _)| *span = whole(*span));
        // what would be written within a character was meant for another place
        if d.edits.iter().any(|e| whole(e.span) != e.span) {
            d.edits.clear();
        }
        d.related.extend(modules.uses_of(d.span.file).into_iter().map(|at| (at, "used here".to_owned())));
    }
    Analysis { program, diagnostics, sources, refused, unlisted, modules }
}
