//! Flags that conditions read: one that no engine of any study here has is a mistake, as nothing ever compares with it.

use std::sync::Arc;

use super::check::Checker;
use super::problem::Problem;
use super::program::{Change, Engine, Study};
use super::schema::{Found, key};
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;
use crate::lang::syntax::ast;

/// A flag in a condition.
#[derive(Debug)]
pub struct AskedFlag {
    name: String,
    span: Span,
    /// some engine of some study has it
    known: bool,
    /// engines that were looked at
    engines: Vec<Arc<Engine>>,
}

impl Checker<'_> {
    /// Notes a flag of a condition; those of imported rules are kept for other studies too.
    pub fn asks_flag(&mut self, name: &str, span: Span, module: usize) {
        if module == 0 && !self.asked_flags.iter().any(|a| a.span == span) {
            let asked = AskedFlag { name: name.to_owned(), span, known: false, engines: Vec::new() };
            self.asked_flags.push(asked);
        }
    }

    /// Holds the flags that were asked for against the engines of a study.
    pub fn rule_flags_of(&mut self, decl: &ast::Study, study: &Study) {
        let engines: Vec<Arc<Engine>> = self.engines_named(decl).into_iter().map(|(e, _)| e).collect();
        let raw = study.steps.iter().flat_map(|s| s.space.points()).flat_map(|p| &p.changes);
        let raw: Vec<String> = raw
            .filter_map(|c| if let Change::Raw { name, .. } = c { Some(key(name)) } else { None })
            .collect();
        for asked in &mut self.asked_flags {
            let has = |e: &Arc<Engine>| {
                // a key of a JSON flag is there with its flag
                let flag = asked.name.split('.').next().unwrap_or(&asked.name);
                !matches!(e.schema.find(flag, e.version.as_deref()), Found::Unknown)
                    || e.flags.iter().any(|f| key(&f.canonical) == key(&asked.name))
            };
            asked.known |= raw.contains(&key(&asked.name)) || engines.iter().any(has);
            asked.engines.extend(engines.iter().cloned());
        }
    }

    /// Says which of them no engine has.
    pub fn unknown_asked_flags(&mut self) {
        for asked in std::mem::take(&mut self.asked_flags) {
            let Some(engine) = asked.engines.first().filter(|_| !asked.known) else { continue };
            let many = asked.engines.iter().any(|e| e.name != engine.name);
            let message = if many {
                format!("no engine here has a flag {}", asked.name)
            } else {
                format!("{} has no flag {}", engine.title, asked.name)
            };
            let guess = |e: &Arc<Engine>| Problem::Unknown.diagnostic(&asked.name, asked.span, None, e);
            let guess = asked.engines.iter().map(guess).find(Problem::suggests);
            let d = Diagnostic::new(Code::UnknownFlag, asked.span, message).label("unknown");
            let d = match guess {
                Some(guess) => Diagnostic { label: guess.label, edits: guess.edits, ..d },
                None => d,
            };
            let help = match d.edits.first() {
                Some(edit) => format!("write {}", edit.text),
                None => "compare with a flag of an engine that the study names".to_owned(),
            };
            self.sink.push(d.help(help));
        }
    }
}
