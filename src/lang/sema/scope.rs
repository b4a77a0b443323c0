//! Files and the names in them: which item a name stands for, at home and where it was imported.

use foldhash::{HashMap, HashSet};

use super::removal;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Edit, Sink, one_of, with_article};
use crate::lang::source::{FileId, Files, Source, Sources, Span};
use crate::lang::stdlib;
use crate::lang::syntax::ast::{File, Item, Literal, Name, Param, Use, UsePath};
use crate::lang::syntax::{self, Parsed};

/// Kinds of items. Each has names of its own, only params and metrics share theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Param,
    Engine,
    Axis,
    Profile,
    Metric,
    Prune,
    Study,
    Site,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Param => "param",
            Self::Engine => "engine",
            Self::Axis => "axis",
            Self::Profile => "profile",
            Self::Metric => "metric",
            Self::Prune => "prune rule",
            Self::Study => "study",
            Self::Site => "site",
        }
    }

    pub const IMPORTABLE: [Kind; 5] = [Self::Engine, Self::Axis, Self::Profile, Self::Metric, Self::Prune];
}

/// Where an item stands: which module, and which of its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemRef {
    pub module: usize,
    pub item: usize,
}

/// One file, parsed, with its names.
#[derive(Debug, Default)]
pub struct Module {
    pub file: File,
    pub id: FileId,
    names: HashMap<(Kind, String), ItemRef>,
    broken: HashSet<String>,
    /// imported names, where they stand and the modules that they are from
    imports: Vec<(String, Span, Vec<usize>)>,
    /// the order of import, for what is inherited by mere import (prune rules)
    pub imported: Vec<(Kind, ItemRef)>,
    /// the path by which it was found, joined to that of the file that uses it
    pub path: String,
    /// where another file uses it first; `None` for the root file
    pub used_at: Option<Span>,
    /// part of the standard library
    pub library: bool,
}

/// All modules of an analysis; the root file is the first.
#[derive(Debug, Default)]
pub struct Modules {
    pub all: Vec<Module>,
    by_path: HashMap<String, usize>,
    /// the texts, by module, for what reports print as written
    texts: Vec<String>,
}

pub fn name_of(item: &Item) -> Option<(Kind, &Name)> {
    Some(match item {
        Item::Use(_) => return None,
        Item::Param(p) => (Kind::Param, &p.name),
        Item::Engine(e) => (Kind::Engine, &e.name),
        Item::Axis(a) => (Kind::Axis, &a.name),
        Item::Profile(p) => (Kind::Profile, &p.name),
        Item::Metric(m) => (Kind::Metric, &m.name),
        Item::Prune(p) => (Kind::Prune, &p.name),
        Item::Study(s) => (Kind::Study, &s.name),
        Item::Site(s) => (Kind::Site, &s.name),
    })
}

impl Module {
    /// Whether this name's declaration could not be read, so that its use is no mistake of its own.
    pub fn is_broken(&self, name: &str) -> bool {
        self.broken.contains(name) || self.broken.contains(syntax::ANY)
    }

    /// Whether a name that was refused reads like this one, but for letters of other alphabets or a digit in front.
    fn looks_broken(&self, name: &str) -> bool {
        self.broken.iter().any(|b| {
            let alike = |(x, y): (char, char)| x == y || !x.is_ascii();
            let foreign = !b.is_ascii() && b.chars().count() == name.chars().count();
            foreign && b.chars().zip(name.chars()).all(alike)
                || b.starts_with(|c: char| c.is_ascii_digit())
                    && b.trim_start_matches(|c: char| c.is_ascii_digit()) == name
        })
    }

    pub fn mark_broken(&mut self, name: &str) {
        self.broken.insert(name.to_owned());
    }

    pub fn find(&self, kind: Kind, name: &str) -> Option<ItemRef> {
        self.names.get(&(kind, name.to_owned())).copied()
    }

    /// All names of a kind, sorted.
    pub fn names(&self, kind: Kind) -> Vec<&str> {
        let mut names: Vec<_> =
            self.names.keys().filter(|(k, _)| *k == kind).map(|(_, n)| n.as_str()).collect();
        names.sort_unstable();
        names
    }

    /// Says that a name is not declared, unless that follows from another mistake.
    pub fn unknown(&self, kind: Kind, name: &Name, extra: &[&str], sink: &mut Sink) {
        if self.is_broken(&name.value) || self.looks_broken(&name.value) {
            return;
        }
        let other = Kind::IMPORTABLE.iter().find(|k| **k != kind && self.find(**k, &name.value).is_some());
        if let Some(other) = other {
            let message = format!(
                "`{}` is {}, not {}",
                name.value,
                with_article(other.word()),
                with_article(kind.word())
            );
            let help = format!("name {} here", one_of_or(&self.known(kind, extra), kind));
            sink.push(
                Diagnostic::new(Code::WrongKind, name.span, message).label("of another kind").help(help),
            );
            return;
        }
        let known = self.known(kind, extra);
        let message = format!("no {} is called `{}`", kind.word(), name.value);
        if named_again(&message, name.span, sink) {
            return;
        }
        let d = Diagnostic::new(Code::UnknownName, name.span, message);
        if let Some(library) = stdlib::home(kind.word(), &name.value) {
            sink.push(not_imported(d, library, &name.value));
            return;
        }
        if let Some(called) = self.titled(&name.value).filter(|_| kind == Kind::Engine) {
            let d = d.label(format!("did you mean `{called}`?")).edit(name.span, called);
            sink.push(d.help(format!("that is its title; lines call it by its name, `{called}`")));
            return;
        }
        let mut d = d.meant(&name.value, known.iter().copied(), "not declared", str::to_owned);
        // `vLLM` is a title of many engines, and no slip of the one that all of them derive from
        if kind == Kind::Engine && known.iter().any(|k| k.eq_ignore_ascii_case(&name.value)) {
            d.edits.clear();
        }
        sink.push(d.help(format!("name {}; or declare or `use` it", one_of_or(&known, kind))));
    }

    /// The one engine of the file that has this title.
    fn titled(&self, title: &str) -> Option<&str> {
        let is =
            |i: &&Item| matches!(i, Item::Engine(e) if e.title.as_ref().is_some_and(|t| t.value == title));
        let mut all = self.file.items.iter().filter(is).filter_map(name_of);
        let (_, first) = all.next()?;
        all.next().is_none().then_some(first.value.as_str())
    }

    fn known<'a>(&'a self, kind: Kind, extra: &[&'a str]) -> Vec<&'a str> {
        let mut known = self.names(kind);
        known.extend_from_slice(extra);
        known
    }
}

/// What is not declared is one mistake, however often it is named: says so where it was told of first.
fn named_again(message: &str, again: Span, sink: &mut Sink) -> bool {
    const MOST_SHOWN: usize = 4;
    let mut said = sink.each_mut();
    let Some(first) = said.find(|d| d.code == Code::UnknownName && d.message == message) else {
        return false;
    };
    if first.span != again
        && first.related.len() < MOST_SHOWN
        && first.related.iter().all(|(s, _)| *s != again)
    {
        first.related.push((again, "and here".to_owned()));
        if let [edit] = first.edits.as_slice() {
            let text = edit.text.clone();
            first.edits.push(Edit { span: again, text });
        }
    }
    true
}

/// A name of the standard library that the file does not import.
pub fn not_imported(d: Diagnostic, library: &str, name: &str) -> Diagnostic {
    d.label("not imported")
        .help(format!("it is of the standard library: write `use std/{library} {{ {name} }}` at the top"))
}

fn one_of_or(known: &[&str], kind: Kind) -> String {
    match known.len() {
        1..=12 => one_of(known),
        _ => format!("a declared {}", kind.word()),
    }
}

impl Modules {
    pub fn root(&self) -> &Module {
        &self.all[0]
    }

    pub fn root_text(&self) -> &str {
        &self.texts[0]
    }

    /// Text as written.
    pub fn slice(&self, span: Span) -> &str {
        let module = self.all.iter().position(|m| m.id == span.file);
        module.and_then(|m| self.texts[m].get(span.range())).unwrap_or_default()
    }

    /// The whole text of a file.
    pub fn text_of(&self, file: FileId) -> &str {
        let module = self.all.iter().position(|m| m.id == file);
        module.map_or("", |m| &self.texts[m])
    }

    /// Text as written, its line ends as spaces.
    pub fn text(&self, span: Span) -> String {
        self.slice(span).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The root file's own param of a name.
    pub fn root_param(&self, name: &str) -> Option<Param> {
        match self.item(self.root().find(Kind::Param, name)?) {
            Item::Param(p) => Some(p.clone()),
            _ => None,
        }
    }

    /// Gives a param of the root file another value.
    pub fn set_param(&mut self, name: &str, value: Literal) {
        let Some(at) = self.root().find(Kind::Param, name) else { return };
        if let Item::Param(p) = &mut self.all[at.module].file.items[at.item] {
            p.value = value;
        }
    }

    /// A path that a module names, as it reads from the root file's directory.
    pub fn from_root(&self, module: usize, path: &str) -> String {
        if module == 0 || path.starts_with(['/', '~']) {
            return path.to_owned();
        }
        let full = join(&self.all[module].path, path);
        let root = &self.root().path;
        let root: Vec<&str> = root.rsplit_once('/').map_or(Vec::new(), |(dir, _)| dir.split('/').collect());
        let parts: Vec<&str> = full.split('/').collect();
        let common = root.iter().zip(&parts).take_while(|(a, b)| a == b).count();
        let up = std::iter::repeat_n("..", root.len() - common);
        up.chain(parts[common..].iter().copied()).collect::<Vec<_>>().join("/")
    }

    /// Where the files lead in which a diagnostic of a file stands: each use, from the nearest to the root file's.
    pub fn uses_of(&self, file: FileId) -> Vec<Span> {
        let mut out: Vec<Span> = Vec::new();
        let mut at = self.all.iter().find(|m| m.id == file);
        while let Some(span) = at.and_then(|m| m.used_at) {
            out.push(span);
            at = self.all.iter().find(|m| m.id == span.file);
        }
        out
    }

    /// The texts of all files.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// How often a module's text holds a piece of text.
    pub fn mentions(&self, module: usize, piece: &str) -> usize {
        self.texts[module].matches(piece).count()
    }

    /// How often a module's text holds a word, comments apart from nothing; in upper case it is the same word.
    pub fn words(&self, module: usize, word: &str) -> usize {
        let parts = self.texts[module].split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        parts.filter(|w| w.eq_ignore_ascii_case(word)).count()
    }

    pub fn item(&self, at: ItemRef) -> &Item {
        &self.all[at.module].file.items[at.item]
    }

    /// Parses the root file and everything that it uses.
    pub fn load(files: &dyn Files, root: Source, sources: &mut Sources, sink: &mut Sink) -> Self {
        let mut modules = Self::default();
        let path = join("", &root.name);
        let mut trail = Vec::new();
        modules.add(path, root, files, sources, &mut trail, sink);
        modules
    }

    fn add(
        &mut self,
        path: String,
        source: Source,
        files: &dyn Files,
        sources: &mut Sources,
        trail: &mut Vec<String>,
        sink: &mut Sink,
    ) -> usize {
        let text = source.text.clone();
        let id = sources.add(source);
        let Parsed { file, broken } = syntax::parse(id, &text, sink);
        let index = self.all.len();
        self.texts.push(text);
        self.by_path.insert(path.clone(), index);
        self.all.push(Module { file, id, broken, path: path.clone(), ..Module::default() });
        self.declare(index, sink);
        trail.push(path);
        for use_item in self.uses(index) {
            self.import(index, &use_item, files, sources, trail, sink);
        }
        trail.pop();
        index
    }

    fn uses(&self, module: usize) -> Vec<Use> {
        let items = &self.all[module].file.items;
        items.iter().filter_map(|i| if let Item::Use(u) = i { Some(u.clone()) } else { None }).collect()
    }

    /// Enters a module's own names.
    fn declare(&mut self, module: usize, sink: &mut Sink) {
        let items: Vec<(usize, Kind, Name)> = self.all[module]
            .file
            .items
            .iter()
            .enumerate()
            .filter_map(|(i, item)| name_of(item).map(|(k, n)| (i, k, n.clone())))
            .collect();
        for (item, kind, name) in items {
            built_in(kind, &name, sink);
            self.enter(module, kind, &name, ItemRef { module, item }, sink);
        }
    }

    fn enter(&mut self, module: usize, kind: Kind, name: &Name, at: ItemRef, sink: &mut Sink) {
        let shared = match kind {
            Kind::Param => Some(Kind::Metric),
            Kind::Metric => Some(Kind::Param),
            _ => None,
        };
        let m = &self.all[module];
        let other = m.find(kind, &name.value).or_else(|| shared.and_then(|k| m.find(k, &name.value)));
        match other {
            Some(first) if first != at => {
                let first = name_of(self.item(first)).map(|(_, n)| n.span);
                let message = format!("a second {} is called `{}`", kind.word(), name.value);
                let mut d = Diagnostic::new(Code::DeclaredTwice, name.span, message).label("already taken");
                if let Some(span) = first {
                    d = d.related(span, "the first one");
                }
                sink.push(d.help("give one of them another name"));
                // what the name stands for is not known: what follows from the one or the other is no further mistake
                self.all[module].mark_broken(&name.value);
            }
            _ => {
                self.all[module].names.insert((kind, name.value.clone()), at);
            }
        }
    }

    fn import(
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
            let broken = from.iter().any(|m| self.all[*m].is_broken(&name.value));
            self.all[module].mark_broken(&name.value);
            if !broken {
                let found = self.unknown_import(from, name);
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

    fn unknown_import(&self, from: &[usize], name: &Name) -> Diagnostic {
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
        if super::metrics::kind_of(&name.value).is_some() {
            let help = format!("`{}` is there without being imported: take it out of the list", name.value);
            return d.label("built in").help(help);
        }
        let d = d.meant(&name.value, known.iter().copied(), "not there", str::to_owned);
        known.truncate(24);
        d.help(if known.is_empty() {
            "it declares nothing that can be imported".to_owned()
        } else {
            format!("it has {}", known.join(", "))
        })
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

    fn library(
        &mut self,
        name: &Name,
        u: &Use,
        files: &dyn Files,
        sources: &mut Sources,
        trail: &mut Vec<String>,
        sink: &mut Sink,
    ) -> Option<Vec<usize>> {
        let wanted: Vec<&str> = u.names.iter().map(|n| n.value.as_str()).collect();
        let Some(parts) = stdlib::parts(&name.value, &wanted) else {
            let message = format!("the standard library has no `std/{}`", name.value);
            let d = Diagnostic::new(Code::UnknownLibrary, name.span, message);
            let libraries = stdlib::LIBRARIES.iter().copied();
            let d = d.meant(&name.value, libraries, "not there", |near| format!("std/{near}"));
            let all: Vec<_> = stdlib::LIBRARIES.iter().map(|l| format!("std/{l}")).collect();
            sink.push(d.help(format!("there is {}", all.join(", "))));
            return None;
        };
        let mut modules = Vec::new();
        for part in parts {
            modules.push(if let Some(m) = self.by_path.get(part.name) {
                *m
            } else {
                let source = Source::new(part.name, part.text);
                let index = self.add(part.name.to_owned(), source, files, sources, trail, sink);
                self.all[index].library = true;
                index
            });
        }
        Some(modules)
    }

    fn used_file(
        &mut self,
        path: &crate::lang::syntax::ast::Text,
        files: &dyn Files,
        sources: &mut Sources,
        trail: &mut Vec<String>,
        sink: &mut Sink,
    ) -> Option<Vec<usize>> {
        let full = join(trail.last().map_or("", String::as_str), &path.value);
        if trail.contains(&full) {
            let message = format!("`{}` uses this file again", path.value);
            let help = "move what both need into a third file, and use that from both";
            sink.push(Diagnostic::new(Code::Cycle, path.span, message).label("a circle").help(help));
            return None;
        }
        if let Some(m) = self.by_path.get(&full) {
            return Some(vec![*m]);
        }
        match files.read(&full) {
            Ok(text) => {
                let source = Source::new(full.clone(), without_mark(&text));
                let index = self.add(full, source, files, sources, trail, sink);
                self.all[index].used_at = Some(path.span);
                Some(vec![index])
            }
            Err(why) => {
                let message = format!("`{}` cannot be read: {why}", path.value);
                let d = Diagnostic::new(Code::UnreadableFile, path.span, message).label("this file");
                let bare = path.value.trim_end_matches(".plab");
                sink.push(if bare.starts_with("std/") {
                    d.help(format!("the standard library stands without quotes: write `{bare}`"))
                        .edit(path.span, bare)
                } else {
                    d.help("the path is relative to the file that names it")
                });
                None
            }
        }
    }
}

/// The byte order mark that some editors put before a text is no part of it.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn built_in(kind: Kind, name: &Name, sink: &mut Sink) {
    let taken = match kind {
        Kind::Axis => name.value == "engine" || is_base_word(&name.value),
        Kind::Engine | Kind::Profile | Kind::Study => is_base_word(&name.value),
        Kind::Param | Kind::Metric => {
            super::metrics::is_built_in(&name.value) || is_base_word(&name.value) || name.value == "baseline"
        }
        _ => false,
    };
    if taken {
        sink.push(declared_again(name));
    }
}

/// Words that stand for a configuration: `from best`, `pick base`.
pub fn is_base_word(name: &str) -> bool {
    matches!(name, "best" | "base")
}

/// What is built in has its name for itself.
pub fn declared_again(name: &Name) -> Diagnostic {
    let message = format!("`{}` is built in and cannot be declared again", name.value);
    Diagnostic::new(Code::BuiltIn, name.span, message).label("built in").help("choose another name")
}

/// A path relative to the file that names it, `.` and `..` resolved as far as the text allows.
fn join(from: &str, path: &str) -> String {
    let from = if path.starts_with('/') { "/" } else { from };
    let dir = from.rfind('/').map_or("", |i| &from[..i]);
    let mut parts: Vec<&str> = dir.split('/').filter(|p| !p.is_empty() && *p != ".").collect();
    for part in path.split('/').filter(|p| !p.is_empty() && *p != ".") {
        if part == ".." && parts.last().is_some_and(|p| *p != "..") {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    let joined = parts.join("/");
    if from.starts_with('/') { format!("/{joined}") } else { joined }
}

/// Spans of names, for warnings about what nobody uses.
pub fn declared(module: &Module) -> impl Iterator<Item = (Kind, &str, Span)> {
    module.file.items.iter().filter_map(|i| name_of(i).map(|(k, n)| (k, n.value.as_str(), n.span)))
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn paths_are_relative_to_the_file_that_names_them() {
        assert_eq!(join("studies/a.plab", "./lab.plab"), "studies/lab.plab");
        assert_eq!(join("/x/y/a.plab", "../lab.plab"), "/x/lab.plab");
        assert_eq!(join("a.plab", "../lab.plab"), "../lab.plab");
        assert_eq!(join("a.plab", "/l.plab"), "/l.plab");
        assert_eq!(join("a.plab", "/x/../l.plab"), "/l.plab");
        assert_eq!(join("", "./x/../a.plab"), "a.plab");
    }
}
