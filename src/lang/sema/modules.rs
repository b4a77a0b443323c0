//! All files of an analysis: the root file, what it uses and what that uses, each parsed once and its names entered.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::{HashMap, HashSet};

use super::scope::{ItemRef, Kind, Module, declared_again, is_base_word, name_of, torn_heads};
use super::unread_files::unreadable;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{About, Diagnostic, Sink};
use crate::lang::source::{FileId, Files, Source, Sources, Span};
use crate::lang::stdlib;
use crate::lang::syntax::ast::{File, Item, Literal, Name, Param, Text, Use};
use crate::lang::syntax::{self, Parsed};

/// Trees of the library that are kept: each of its files in a few places.
const MOST_KEPT: usize = 64;

/// How many files may use one another in a row: each is read while those before it wait.
const MOST_USES: usize = 32;

/// All modules of an analysis; the root file is the first.
#[derive(Debug, Default)]
pub struct Modules {
    pub all: Vec<Module>,
    by_path: HashMap<String, usize>,
    /// the texts, by module, for what reports print as written
    pub(super) texts: Vec<String>,
}

impl Modules {
    pub fn root(&self) -> &Module {
        &self.all[0]
    }

    /// The file in which something stands.
    pub fn home(&self, span: Span) -> &Module {
        self.at(span.file).map_or_else(|| self.root(), |at| &self.all[at])
    }

    pub fn root_text(&self) -> &str {
        &self.texts[0]
    }

    /// Text as written.
    pub fn slice(&self, span: Span) -> &str {
        self.at(span.file).and_then(|m| self.texts[m].get(span.range())).unwrap_or_default()
    }

    /// The whole text of a file.
    pub fn text_of(&self, file: FileId) -> &str {
        self.at(file).map_or("", |m| &self.texts[m])
    }

    /// The module of a file: sources and modules are entered in one order.
    fn at(&self, file: FileId) -> Option<usize> {
        let at = file.0 as usize;
        self.all.get(at).is_some_and(|m| m.id == file).then_some(at)
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
        if let Item::Param(p) = &mut Arc::make_mut(&mut self.all[at.module].file).items[at.item] {
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
        let mut at = self.at(file);
        while let Some(span) = at.and_then(|m| self.all[m].used_at) {
            out.push(span);
            at = self.at(span.file);
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

    /// How often a module's text holds each word, in lower case: in lines with a mistake wherever it stands, in all others where it may
    /// be a name, not within a flag or a quoted text.
    pub fn words(&self, module: usize, mistaken: impl Fn(Range<usize>) -> bool) -> HashMap<String, usize> {
        let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut counts = HashMap::default();
        let mut add = |w: &str| *counts.entry(w.to_ascii_lowercase()).or_insert(0) += 1;
        let mut at = 0;
        for line in self.texts[module].split_inclusive('\n') {
            let place = at..at + line.len();
            at = place.end;
            let line = behind_name_of_step(line);
            if mistaken(place) || line.matches('"').count() % 2 == 1 {
                line.split(|c| !name(c)).for_each(&mut add);
                continue;
            }
            let code = &line[..start_of_comment(line).unwrap_or(line.len())];
            let plain = code.split('"').step_by(2);
            let tokens = plain.flat_map(|p| p.split(|c| !(name(c) || c == '-')));
            tokens.filter(|t| !t.starts_with('-')).flat_map(|t| t.split('-')).for_each(&mut add);
        }
        counts
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
        let (file, broken) = read(id, &path, &text, sink);
        let index = self.all.len();
        let torn = torn_heads(&text, &broken);
        self.texts.push(text);
        self.by_path.insert(path.clone(), index);
        self.all.push(Module { file, id, broken, torn, path: path.clone(), ..Module::default() });
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

    pub(super) fn enter(&mut self, module: usize, kind: Kind, name: &Name, at: ItemRef, sink: &mut Sink) {
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
                let mut d = Diagnostic::new(Code::DeclaredTwice, name.span, message)
                    .about(About::Second(kind))
                    .label("already taken");
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

    pub(super) fn library(
        &mut self,
        name: &Name,
        u: &Use,
        files: &dyn Files,
        sources: &mut Sources,
        trail: &mut Vec<String>,
        sink: &mut Sink,
    ) -> Option<Vec<usize>> {
        let wanted: Vec<&str> = u.names.iter().map(|n| n.value.as_str()).collect();
        let parts = stdlib::parts(&name.value, &wanted).or_else(|| {
            let message = format!("the standard library has no `std/{}`", name.value);
            let d = Diagnostic::new(Code::UnknownLibrary, name.span, message);
            let libraries = stdlib::LIBRARIES.iter().copied();
            let d = d.meant(&name.value, libraries, "not there", |near| format!("std/{near}"));
            let all: Vec<_> = stdlib::LIBRARIES.iter().map(|l| format!("std/{l}")).collect();
            // read as it was meant, so that what else is wrong is found
            let meant = d.edits.first().map(|e| e.text.trim_start_matches("std/").to_owned());
            sink.push(d.help(format!("there is {}", all.join(", "))));
            stdlib::parts(&meant?, &wanted)
        })?;
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

    pub(super) fn used_file(
        &mut self,
        path: &Text,
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
        if trail.len() >= MOST_USES {
            let message =
                format!("this is used by a file that is used by another … {MOST_USES} times in a row");
            let help = "a name is used from the file that declares it: what derives from one another fits in fewer files";
            sink.push(Diagnostic::new(Code::TooDeep, path.span, message).label("too far").help(help));
            return None;
        }
        match files.read(&full) {
            Ok(text) => {
                let source = Source::new(full.clone(), without_mark(&text));
                let index = self.add(full, source, files, sources, trail, sink);
                self.all[index].used_at = Some(path.span);
                Some(vec![index])
            }
            Err(why) => {
                let from = trail.last().map_or("", String::as_str);
                sink.push(unreadable(path, from, &full, &why, files));
                None
            }
        }
    }
}

/// A file's tree and the names of it that could not be read.
fn read(id: FileId, path: &str, text: &str, sink: &mut Sink) -> (Arc<File>, HashSet<String>) {
    if stdlib::holds(path, text) {
        return (library_file(id, path, text), HashSet::default());
    }
    let Parsed { file, broken } = syntax::parse(id, text, sink);
    (Arc::new(file), broken)
}

/// A file of the standard library, parsed once for each place that it has among the files of an analysis: fixes are found by reading a
/// user's file many times, and an engine's schema is far longer than that.
fn library_file(id: FileId, path: &str, text: &str) -> Arc<File> {
    static READ: Mutex<BTreeMap<(String, FileId), Arc<File>>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (path.to_owned(), id);
    if let Some(file) = read.get(&key) {
        return Arc::clone(file);
    }
    let file = Arc::new(syntax::parse(id, text, &mut Sink::default()).file);
    if read.len() < MOST_KEPT {
        read.insert(key, Arc::clone(&file));
    }
    file
}

/// The byte order mark that some editors put before a text is no part of it.
pub fn without_mark(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
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

/// A line without the name of the step that it begins, which is no use of what is called so too.
fn behind_name_of_step(line: &str) -> &str {
    let named = line.trim_start().strip_prefix("step ").map(str::trim_start);
    let behind = named.map(|l| l.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_'));
    behind.filter(|l| l.starts_with(' ')).unwrap_or(line)
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
