//! `engine v "vLLM" { … }`: an engine that says nothing of how it is started was meant to be derived from one that does.

use super::check::Checker;
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, one_of};
use crate::lang::syntax;
use crate::lang::syntax::ast::{Engine, EngineLineKind as Line, Text};

impl Checker<'_> {
    /// Says so of an engine that is no root, as no line of it is one of a root's. What it would be is then not known.
    pub fn parent_forgotten(&mut self, module: usize, decl: &Engine) -> bool {
        let of_any = |l: &Line| matches!(l, Line::Version(_) | Line::Changes(_) | Line::Publish { .. });
        let m = self.module(module);
        let other = |n: &&str| *n != decl.name.value;
        let known: Vec<&str> = m.names(Kind::Engine).into_iter().filter(other).collect();
        if !decl.unread.is_empty()
            || !decl.unread_flags.is_empty()
            || decl.lines.is_empty()
            || !decl.lines.iter().all(|l| of_any(&l.kind))
            || known.is_empty()
        {
            return false;
        }
        // told of where its first line ends
        if self.sink.in_span(decl.span).any(|d| d.about == About::ParentExpected) {
            return true;
        }
        let (name, title) = (decl.name.value.as_str(), decl.title.as_ref());
        let meant = syntax::parent_of(name, title.map(|t| t.value.as_str()), &known);
        let message = format!("the engine `{name}` derives from none and says nothing of how it is started");
        let at = title.map_or(decl.name.span, |t: &Text| t.span);
        let d = Diagnostic::new(Code::EngineIncomplete, decl.name.span, message);
        self.sink.push(match meant {
            Some(meant) => d
                .suggest_as(format!("did you mean to derive it from `{meant}`?"), [meant])
                .help(format!("write {} = {meant} {{ … }}`", self.head(decl)))
                .edit(crate::lang::source::Span { start: at.end, ..at }, format!(" = {meant}")),
            None => d.label("derives from nothing").help(format!(
                "write {} = PARENT {{ … }}`, where PARENT is {}",
                self.head(decl),
                one_of(&known)
            )),
        });
        true
    }

    /// The beginning of its declaration, as written.
    fn head(&self, decl: &Engine) -> String {
        let title = decl.title.as_ref().map(|t| format!(" {}", self.source_text(t.span))).unwrap_or_default();
        format!("`engine {}{title}", decl.name.value)
    }
}
