//! What a `use` takes: its names entered, and what is wrong with them.

use super::metrics;
use super::modules::Modules;
use super::name_uses;
use super::removal;
use super::scope::{ItemRef, Kind};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Sink, nearest, with_article};
use crate::lang::source::{Files, Sources};
use crate::lang::stdlib;
use crate::lang::syntax::ast::{Item, Name, Use, UsePath};

/// How many names of a file or a part of the library are listed.
const SHOWN: usize = 24;

impl Modules {
    pub(super) fn import(
        &mut self,
        module: usize,
        u: &Use,
        files: &dyn Files,
        sources: &mut Sources,
        trail: &mut Vec<String>,
        sink: &mut Sink,
    ) {
        let from = match &u.from {
            UsePath::Std(name) => self.library(name, u, files, sources, trail, sink),
            UsePath::File(path) => self.used_file(path, files, sources, trail, sink),
        };
        let Some(from) = from else {
            for name in &u.names {
                self.all[module].mark_broken(&name.value);
            }
            return;
        };
        for (i, name) in u.names.iter().enumerate() {
            if !self.imported_twice(module, u, i, &from, sink) {
                self.import_name(module, &from, name, sink);
            }
        }
    }

    /// Says that a name was imported from the same place already.
    fn imported_twice(
        &mut self,
        module: usize,
        u: &Use,
        index: usize,
        from: &[usize],
        sink: &mut Sink,
    ) -> bool {
        let name = &u.names[index];
        let Some(first) = self.all[module].imports.iter().find(|(n, _, f)| *n == name.value && f == from)
        else {
            self.all[module].imports.push((name.value.clone(), name.span, from.to_vec()));
            return false;
        };
        // a whole line that stands twice is one mistake
        let whole = |n: &Name| {
            self.all[module].imports.iter().any(|(m, at, f)| *m == n.value && f == from && *at != n.span)
        };
        if u.names.len() > 1 && u.names.iter().all(whole) {
            if index == 0 {
                let d = Diagnostic::new(Code::DeclaredTwice, u.span, "all of this line is imported twice");
                let d = d.label("the second time").related(first.1, "the first time");
                sink.push(d.help("import each name once").edit(u.span, ""));
            }
            return true;
        }
        let message = format!("`{}` is imported twice", name.value);
        let d = Diagnostic::new(Code::DeclaredTwice, name.span, message).label("the second time");
        let d = d.related(first.1, "the first time").help("import it once");
        sink.push(match removal::of_import(&self.texts[module], u, index) {
            Some(gone) => d.edit(gone, ""),
            None => d,
        });
        true
    }

    fn import_name(&mut self, module: usize, from: &[usize], name: &Name, sink: &mut Sink) {
        let own = |m: usize, k: Kind| self.all[m].find(k, &name.value).filter(|at| at.module == m);
        let found: Vec<(Kind, ItemRef)> = from
            .iter()
            .flat_map(|m| Kind::IMPORTABLE.map(|k| own(*m, k).map(|at| (k, at))))
            .flatten()
            .collect();
        if found.is_empty() {
            let broken = from.iter().any(|m| {
                let lost = |k| self.all[*m].is_lost(k, &name.value);
                Kind::IMPORTABLE.into_iter().any(lost)
            });
            self.all[module].mark_broken(&name.value);
            if !broken {
                let found = self.unknown_import(module, from, name);
                // the name that was meant is used under its right spelling further down: no second mistake
                let begun = |known: &&str| known.starts_with(&name.value);
                let names = |m: &usize| Kind::IMPORTABLE.map(|kind| self.all[*m].names(kind)).concat();
                let longer: Vec<String> =
                    from.iter().flat_map(names).filter(begun).map(str::to_owned).collect();
                let meant = found.edits.iter().map(|edit| edit.text.clone());
                for right in meant.chain(longer) {
                    self.all[module].mark_broken(&right);
                }
                sink.push(found);
            }
            return;
        }
        for (kind, at) in found {
            if self.all[module].imported.contains(&(kind, at)) {
                let message = format!("`{}` is taken from there twice", name.value);
                let d = Diagnostic::new(Code::DeclaredTwice, name.span, message).label("already taken");
                sink.push(d.help("name it once"));
                return;
            }
            self.enter(module, kind, name, at, sink);
            self.all[module].imported.push((kind, at));
        }
    }

    fn unknown_import(&self, module: usize, from: &[usize], name: &Name) -> Diagnostic {
        if let Some(d) = self.not_to_import(from, name) {
            return d;
        }
        let mut known: Vec<&str> = Vec::new();
        for m in from {
            let own = |k: &Kind| {
                let names = self.all[*m].names(*k).into_iter();
                names
                    .filter(|n| self.all[*m].find(*k, n).is_some_and(|at| at.module == *m))
                    .collect::<Vec<_>>()
            };
            known.extend(Kind::IMPORTABLE.iter().flat_map(own));
        }
        let message = format!("nothing called `{}` can be imported from there", name.value);
        let d = Diagnostic::new(Code::UnknownImport, name.span, message);
        if metrics::kind_of(&name.value).is_some() {
            let help = format!("`{}` is there without being imported: take it out of the list", name.value);
            return d.label("built in").help(help);
        }
        let listed = self.listed_beside(name.span);
        let others = known.iter().copied().filter(|k| !listed.contains(k));
        if let Some(right) = self.meant_by_its_uses(module, &name.value, &known) {
            return d
                .suggest(right)
                .help(format!("the file uses `{right}`: write it here"))
                .edit(name.span, right);
        }
        let d = match alias(&name.value).filter(|engine| known.contains(engine)) {
            Some(engine) if !listed.contains(&engine) => d.suggest(engine).edit(name.span, engine),
            _ => d.meant(&name.value, others, "not there", str::to_owned),
        };
        let elsewhere = Kind::IMPORTABLE.iter().find_map(|k| stdlib::home(k.word(), &name.value));
        if let Some(library) = elsewhere.filter(|_| d.edits.is_empty()) {
            return d
                .help(format!("it stands in std/{library}: write `use std/{library} {{ {} }}`", name.value));
        }
        let more = if known.len() > SHOWN { ", …" } else { "" };
        known.truncate(SHOWN);
        d.help(if known.is_empty() {
            "it declares nothing that can be imported".to_owned()
        } else {
            format!("it has {}{more}", known.join(", "))
        })
    }

    /// `use std/axes { vllm_mem }` beside `vary vllm_memory`: the one name of those that are there which the file uses and takes nowhere, if
    /// the one that it takes may be a slip of it or short for it.
    fn meant_by_its_uses<'k>(&self, module: usize, name: &str, known: &[&'k str]) -> Option<&'k str> {
        let own = &self.all[module];
        let uses = own.file.items.iter().filter_map(|i| if let Item::Use(u) = i { Some(u) } else { None });
        let taken: Vec<&str> = uses.flat_map(|u| &u.names).map(|n| n.value.as_str()).collect();
        let text = &self.texts[module];
        let lost = |k: &&&str| {
            !taken.contains(*k) && !own.is_declared(k) && name_uses::count(text, k) > 0 && resembles(name, k)
        };
        let mut lost = known.iter().filter(lost);
        lost.next().copied().filter(|_| lost.next().is_none())
    }

    /// A name that is known there and not to be had from there: of a kind that stays at home, or imported itself.
    fn not_to_import(&self, from: &[usize], name: &Name) -> Option<Diagnostic> {
        let all = Kind::IMPORTABLE.into_iter().chain([Kind::Param, Kind::Study, Kind::Site]);
        let (kind, at) = from
            .iter()
            .find_map(|m| all.clone().find_map(|k| Some((k, self.all[*m].find(k, &name.value)?))))?;
        let d = |message: String| Diagnostic::new(Code::UnknownImport, name.span, message);
        Some(if Kind::IMPORTABLE.contains(&kind) {
            let home = &self.all[at.module].path;
            d(format!("`{}` is itself imported there", name.value))
                .label("declared elsewhere")
                .help(format!("use it from where it is declared, {home}"))
        } else {
            let word = with_article(kind.word());
            d(format!("`{}` is {word}, which stays in its file", name.value))
                .label("cannot be imported")
                .help("engines, axes, profiles, metrics and prune rules can be imported")
        })
    }
}

/// Whether a name is a slip of another one, or leaves letters out of it.
fn resembles(name: &str, other: &str) -> bool {
    let mut letters = other.chars();
    let short = name.len() > 2
        && name.chars().next() == other.chars().next()
        && name.chars().all(|c| letters.any(|l| l == c));
    short || !nearest(name, [other]).is_empty()
}

/// What engines of the library are called elsewhere.
fn alias(name: &str) -> Option<&'static str> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.to_ascii_lowercase().as_str() {
        "tensorrt" | "tensorrtllm" | "trt" | "tensorrtserve" => Some("trtllm"),
        "llamacpp" | "llama" | "llamaserver" | "ggml" => Some("llama_cpp"),
        _ => None,
    }
}
