//! What an engine refuses to start with: combinations of its flags, each with the reason, as its schema tells them.

use std::sync::Arc;

use super::check::Checker;
use super::exprs::Place;
use super::guess::with_words;
use super::program::{Engine, Expr, Refusal};
use super::releases::is_version;
use super::schema::{Found, Schema, key};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, one_of};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, EngineLineKind as Line, ExprKind, Text};

impl Checker<'_> {
    /// Those that an engine inherits, and its own.
    pub(super) fn refusals(&mut self, module: usize, decl: &ast::Engine, engine: &mut Engine) {
        let mut own = Vec::new();
        for line in &decl.lines {
            let Line::Refuses { reason, since, until, when } = &line.kind else { continue };
            for text in [since, until].into_iter().flatten() {
                self.is_release(text);
            }
            self.reads_flags_of(when, &engine.schema);
            let Some(checked) = self.condition(module, when, Place::Refusal) else { continue };
            self.values_of_flags(when, &engine.schema, true);
            if !checked.is_static() {
                self.wrong_place(
                    when.span,
                    "what is measured",
                    "in a prune rule: `refuses` is decided before a start",
                );
                continue;
            }
            own.push(Refusal {
                reason: self.inserted(module, reason, false),
                since: since.as_ref().map(|t| t.value.clone()),
                until: until.as_ref().map(|t| t.value.clone()),
                flags: flags_of(&checked, &engine.schema),
                when: checked,
                read_from: engine.schema.versions().to_vec(),
            });
        }
        if !own.is_empty() {
            engine.refusals = Arc::new(engine.refusals.iter().cloned().chain(own).collect());
        }
    }

    fn is_release(&mut self, text: &Text) {
        if !is_version(&text.value) {
            let message = format!("`{}` is no version", text.value);
            let d = Diagnostic::new(Code::EngineSetting, text.span, message).label("not a version");
            self.sink.push(d.help("write it as the engine prints it: `\"0.17.1\"`"));
        }
    }

    /// The flags of a condition, which the engine declares.
    fn reads_flags_of(&mut self, when: &ast::Expr, schema: &Schema) {
        let mut names: Vec<(&str, Span)> = Vec::new();
        flags_in(when, &mut names);
        for (name, span) in names {
            let flag = name.split('.').next().unwrap_or(name);
            // `--a --b` and `when when --a`, of which the first dash was read as a sign: what is wrong with it is told
            let before = self.modules.text_of(span.file).get(..span.start as usize);
            let torn = before.is_some_and(|text| text.ends_with('-'));
            if torn || !matches!(schema.find(flag, None), Found::Unknown) || schema.is_unread(flag) {
                continue;
            }
            let span = Span { end: span.start + u32::try_from(flag.len()).unwrap_or(0), ..span };
            let d = Diagnostic::new(Code::UnknownFlag, span, format!("the engine declares no flag {flag}"));
            let known = schema.specs().iter().flat_map(|s| &s.names).map(String::as_str);
            let known: Vec<(String, &str)> = known.map(|n| (key(n), n)).collect();
            let d = match with_words(&key(flag), &known, 1).as_slice() {
                [] => d.meant(flag, known.iter().map(|(_, n)| *n), "unknown", str::to_owned),
                several => {
                    d.suggest_as(format!("did you mean {}?", one_of(several)), several.iter().copied())
                }
            };
            self.sink.push(d.help("name a flag that the engine declares"));
        }
    }
}

fn flags_in<'e>(e: &'e ast::Expr, found: &mut Vec<(&'e str, Span)>) {
    match &e.kind {
        // the word `given` stands before the name
        ExprKind::Given(name) => {
            let start = e.span.end.saturating_sub(u32::try_from(name.len()).unwrap_or(0));
            found.push((name, Span { start, ..e.span }));
        }
        ExprKind::Flag(name) => found.push((name, e.span)),
        ExprKind::Not(inner) => flags_in(inner, found),
        ExprKind::Binary { left, right, .. } => {
            flags_in(left, found);
            flags_in(right, found);
        }
        _ => {}
    }
}

/// The keys of the flags that a condition reads, under all their spellings.
fn flags_of(when: &Expr, schema: &Schema) -> Vec<String> {
    let mut out = Vec::new();
    when.walk(&mut |e| {
        let (Expr::Flag(name) | Expr::Given(name)) = e else { return };
        let flag = name.split('.').next().unwrap_or(name);
        out.push(key(flag));
        out.extend(schema.named(flag).flat_map(|s| s.names.iter().chain(&s.negated)).map(|n| key(n)));
    });
    out.sort_unstable();
    out.dedup();
    out
}
