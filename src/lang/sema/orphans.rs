//! `engine v "vLLM" { … }`: an engine that says nothing of how it is started was meant to be derived from one that does.

use super::check::Checker;
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, one_of};
use crate::lang::syntax::ast::{Engine, EngineLineKind as Line, Item, Text};
use crate::lang::{stdlib, syntax};

impl Checker<'_> {
    /// Says so of an engine that is no root, as no line of it is one of a root's. What it would be is then not known.
    pub fn parent_forgotten(&mut self, module: usize, decl: &Engine) -> bool {
        let of_any = |l: &Line| matches!(l, Line::Version(_) | Line::Changes(_) | Line::Publish { .. });
        let m = self.module(module);
        let is_started = |e: &Engine| e.parent.is_some() || !e.lines.iter().all(|l| of_any(&l.kind));
        let orphan = |n: &str| {
            m.file.items.iter().any(|i| matches!(i, Item::Engine(e) if e.name.value == n && !is_started(e)))
        };
        let known: Vec<&str> = m.names(Kind::Engine).into_iter().filter(|n| !orphan(n)).collect();
        if !decl.unread.is_empty()
            || !decl.unread_flags.is_empty()
            || decl.lines.is_empty()
            || is_started(decl)
        {
            return false;
        }
        // told of where its first line ends
        if self.sink.in_span(decl.span).any(|d| d.about == About::ParentExpected) {
            return true;
        }
        let of_library = stdlib::home(Kind::Engine.word(), &decl.name.value).is_some();
        if known.is_empty() || of_library {
            self.library_forgotten(decl);
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

    /// Nothing is there that it could derive from: neither the library's engine was taken, nor does it say that it is one.
    fn library_forgotten(&mut self, decl: &Engine) {
        let library = stdlib::items("engines");
        let names: Vec<&str> = library.iter().map(|i| i.name.as_str()).collect();
        let (name, title) = (decl.name.value.as_str(), decl.title.as_ref().map(|t| t.value.as_str()));
        let meant = syntax::parent_of(name, title, &names);
        let parent = meant.unwrap_or("PARENT");
        let head = if meant == Some(name) { "`engine NAME".to_owned() } else { self.head(decl) };
        let those =
            if meant.is_some() { String::new() } else { format!(", where PARENT is {}", one_of(&names)) };
        let message = format!("the engine `{name}` derives from none and says nothing of how it is started");
        let d = Diagnostic::new(Code::EngineIncomplete, decl.name.span, message);
        let d = match meant {
            Some(meant) => {
                d.suggest_as(format!("did you mean to derive it from the library's `{meant}`?"), [meant])
            }
            None => d.label("derives from nothing"),
        };
        self.sink.push(d.help(format!(
            "write `use std/engines {{ {parent} }}` at the top and {head} = {parent} {{ … }}`{those}"
        )));
    }

    /// The beginning of its declaration, as written.
    fn head(&self, decl: &Engine) -> String {
        let title = decl.title.as_ref().map(|t| format!(" {}", self.source_text(t.span))).unwrap_or_default();
        format!("`engine {}{title}", decl.name.value)
    }
}
