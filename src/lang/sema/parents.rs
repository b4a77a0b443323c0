//! `engine s = vllm { version "0.5.9" --context-length=32Ki }`: a parent that has neither the release nor the flags, where another engine
//! of the file has both. Read as it was meant, the slip is one mistake and not one for each flag.

use std::sync::Arc;

use super::check::Checker;
use super::program::Engine;
use super::schema::Found;
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, one_of};
use crate::lang::syntax::ast::{self, ChangeKind, EngineLineKind as Line, Name};

impl Checker<'_> {
    /// The engine that was surely meant instead of the parent that is written, if one was; that is then said.
    pub(super) fn parent_meant(
        &mut self,
        module: usize,
        decl: &ast::Engine,
        name: &Name,
        parent: &Engine,
    ) -> Option<Arc<Engine>> {
        let version =
            decl.lines.iter().find_map(|l| if let Line::Version(t) = &l.kind { Some(t) } else { None })?;
        let flags: Vec<&Name> = flags(decl).collect();
        let strange: Vec<&str> = unknown(&flags, parent).collect();
        let releases = |e: &Engine| e.schema.versions().contains(&version.value);
        if strange.is_empty() || releases(parent) {
            return None;
        }
        let m = self.module(module);
        let others = m.names(Kind::Engine).into_iter().filter(|n| *n != decl.name.value && *n != name.value);
        let others: Vec<_> =
            others.filter_map(|n| m.find(Kind::Engine, n)).filter(|at| at.module != module).collect();
        let mut meant = Vec::new();
        for at in others {
            let engine = self.engine(at).filter(|e| e.ancestry.len() == 1 && e.root() != parent.root());
            let has = |e: &Arc<Engine>| releases(e) && unknown(&flags, e).next().is_none();
            meant.extend(engine.filter(has).map(|e| (at, e)));
        }
        let [(at, engine)] = meant.as_slice() else { return None };
        self.used.insert(*at);
        let is = if strange.len() == 1 { "is a flag" } else { "are flags" };
        let all: Vec<String> = strange.iter().map(|f| (*f).to_owned()).collect();
        let all = one_of(&all).replace(" or ", " and ");
        let message = format!(
            "{} is a release of {}, and {all} {is} of it: {} has none of them",
            version.value, engine.title, parent.title
        );
        let d = Diagnostic::new(Code::EngineSetting, name.span, message);
        let right = engine.name.clone();
        let d = d.suggest(&right).help(format!("derive it from `{right}`"));
        self.sink.push(d.edit(name.span, right));
        Some(engine.clone())
    }
}

/// The flags that an engine sets.
fn flags(decl: &ast::Engine) -> impl Iterator<Item = &Name> {
    let changes =
        decl.lines.iter().filter_map(|l| if let Line::Changes(c) = &l.kind { Some(c) } else { None });
    changes.flatten().filter_map(|c| if let ChangeKind::Flag(f) = &c.kind { Some(&f.name) } else { None })
}

/// Those that an engine has in no release.
fn unknown<'f>(flags: &'f [&Name], engine: &'f Engine) -> impl Iterator<Item = &'f str> {
    let there =
        |n: &str| !matches!(engine.schema.find(n.split('.').next().unwrap_or(n), None), Found::Unknown);
    flags.iter().map(|n| n.value.as_str()).filter(move |n| !there(n))
}
