//! The one entry to the language: text in, program and diagnostics out; always both, also for broken text.

use super::codes::Code;
use super::diag::{Diagnostic, Severity, Sink};
use super::sema::program::Program;
use super::sema::{Modules, check_program, without_mark};
use super::source::{Files, Source, Sources, Span};

/// What an analysis found.
#[derive(Debug)]
pub struct Analysis {
    pub program: Program,
    pub diagnostics: Vec<Diagnostic>,
    pub sources: Sources,
}

impl Analysis {
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity() == Severity::Error)
    }
}

/// Analyses a file and everything that it uses. `name` is shown in messages and resolves relative paths.
pub fn analyze(files: &dyn Files, name: &str, text: &str) -> Analysis {
    let mut sink = Sink::default();
    let mut sources = Sources::default();
    let text = without_mark(text);
    let modules = Modules::load(files, Source::new(name, text), &mut sources, &mut sink);
    let root = modules.root();
    if root.file.items.is_empty() && !sink.has_errors() {
        let span = Span::new(root.id, 0..0);
        let help = "begin with `use std/engines { vllm }` and a `study`; the examples show how";
        sink.push(Diagnostic::new(Code::Empty, span, "the file declares nothing").help(help));
    }
    let program = check_program(&modules, &mut sink);
    Analysis { program, diagnostics: sink.into_sorted(), sources }
}
