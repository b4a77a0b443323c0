//! Files and the names in them: which item a name stands for, at home and where it was imported.

use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use super::unimported;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Edit, Sink, did_you_mean, nearest, one_of, with_article};
use crate::lang::source::{FileId, Span};
use crate::lang::stdlib;
use crate::lang::syntax;
use crate::lang::syntax::ast::{File, Item, Name};

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
    pub file: Arc<File>,
    pub id: FileId,
    pub(super) names: HashMap<(Kind, String), ItemRef>,
    pub(super) broken: HashSet<String>,
    /// names that the file declares in what could not be read
    pub(super) torn: Vec<(Kind, String)>,
    /// imported names, where they stand and the modules that they are from
    pub(super) imports: Vec<(String, Span, Vec<usize>)>,
    /// the order of import, for what is inherited by mere import (prune rules)
    pub imported: Vec<(Kind, ItemRef)>,
    /// the path by which it was found, joined to that of the file that uses it
    pub path: String,
    /// where another file uses it first; `None` for the root file
    pub used_at: Option<Span>,
    /// part of the standard library
    pub library: bool,
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

    /// The same of a name that could only be that of one kind.
    pub fn is_lost(&self, kind: Kind, name: &str) -> bool {
        self.is_broken(name) || self.broken.contains(&syntax::any_of(kind.word()))
    }

    /// Whether a name that was refused reads like this one, but for letters of other alphabets or a digit in front.
    fn looks_broken(&self, name: &str) -> bool {
        self.broken.iter().any(|b| {
            let alike = |(x, y): (char, char)| x == y || !x.is_ascii();
            let foreign = !b.is_ascii() && b.chars().count() == name.chars().count();
            foreign && b.chars().zip(name.chars()).all(alike)
                || b.starts_with(|c: char| c.is_ascii_digit())
                    && b.trim_start_matches(|c: char| c.is_ascii_digit()) == name
                || b.trim_start_matches('_') == name
                || b.starts_with('_') && name.len() <= b.len() + 2 && name.ends_with(b.as_str())
        })
    }

    /// Whether this file itself declares something of that name.
    pub fn is_declared(&self, name: &str) -> bool {
        declared(self).any(|(_, known, _)| known == name)
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
        // what stands in for a name that is missing is none to be offered
        names.retain(|n| !n.starts_with(syntax::UNNAMED));
        names.sort_unstable();
        names
    }

    /// The same with those of declarations that could not be read: they are there, whatever else is wrong with them.
    pub fn names_written(&self, kind: Kind) -> Vec<&str> {
        let mut names = self.names(kind);
        let torn = self.torn.iter().filter(|(k, _)| *k == kind);
        names.extend(torn.map(|(_, n)| n.as_str()));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Says that a name is not declared, unless that follows from another mistake.
    /// `taken` are names that cannot be meant; where an engine is declared, its parent is a `parent`.
    pub fn unknown(
        &self,
        (kind, name): (Kind, &Name),
        extra: &[&str],
        taken: &[&str],
        parent: bool,
        sink: &mut Sink,
    ) {
        if self.broken.contains(&name.value) || self.looks_broken(&name.value) {
            return;
        }
        // an engine of the standard library that others derive from is no other engine of the file
        let from_library = parent && stdlib::home(kind.word(), &name.value).is_some();
        if self.broken.contains(syntax::ANY) {
            // names were lost somewhere: this may be one of them, unless it is a slip of another one
            // of two or three letters another one makes another name
            let slip =
                |known: &str| name.value.len() > 3 && strsim::damerau_levenshtein(known, &name.value) == 1;
            let near = nearest(&name.value, self.known(kind, extra));
            if !matches!(near.as_slice(), [only] if slip(only)) {
                return;
            }
        } else if self.is_lost(kind, &name.value) && !from_library {
            return self.say_unknown((kind, name), extra, taken, parent, sink.supposed());
        }
        self.say_unknown((kind, name), extra, taken, parent, sink);
    }

    fn say_unknown(
        &self,
        (kind, name): (Kind, &Name),
        extra: &[&str],
        taken: &[&str],
        parent: bool,
        sink: &mut Sink,
    ) {
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
                Diagnostic::new(Code::WrongKind, name.span, message)
                    .about(About::Instead(kind))
                    .label("of another kind")
                    .help(help),
            );
            return;
        }
        let mut known = self.known(kind, extra);
        known.retain(|k| !taken.contains(k));
        let message = format!("no {} is called `{}`", kind.word(), name.value);
        if named_again(&|about| about.misses(kind, &name.value), name.span, taken, sink) {
            return;
        }
        let missing = About::missing(kind, &name.value);
        let d = Diagnostic::new(Code::UnknownName, name.span, message).about(missing);
        let library = stdlib::home(kind.word(), &name.value);
        // one of the file's own but for a slip may be meant as well: nobody knows for sure
        let own = did_you_mean(&name.value, known.iter().copied()).filter(|_| library.is_some());
        if library.is_some() && unimported::is_meant_by_an_import(&name.value, sink) {
            return;
        }
        if let Some((own, library)) = own.zip(library) {
            let help = format!(
                "`{own}` is declared here; std/{library} has another: `use std/{library} {{ {} }}`",
                name.value
            );
            sink.push(d.suggest(own).help(help));
            return;
        }
        if let Some(library) = library {
            unimported::say(self, d, library, &name.value, sink);
            return;
        }
        // `vLLM` is a title of many engines, and in small letters the name of the one that all of them derive from
        let small = known.iter().find(|k| kind == Kind::Engine && k.eq_ignore_ascii_case(&name.value));
        if let Some(called) = self.titled(&name.value).filter(|c| kind == Kind::Engine && known.contains(c)) {
            let help = format!("that is its title; lines call it by its name, `{called}`");
            sink.push(match small.filter(|small| parent && **small != called) {
                Some(small) => d
                    .suggest_one_of(&[(*small).to_owned(), called.to_owned()])
                    .help(format!("`{small}` is the engine of that name; `{called}` has it for its title")),
                None => d.suggest(called).help(help).edit(name.span, called),
            });
            return;
        }
        let small = small.is_some();
        let mut d = d.meant(&name.value, known.iter().copied(), "not declared", str::to_owned);
        if small && !parent {
            d.edits.clear();
        }
        // of what could not be read a name may be nearer
        let broken = self.broken.iter().map(String::as_str);
        let near = nearest(&name.value, known.iter().copied().chain(broken));
        if let Some(lost) = near.iter().find(|n| !known.contains(n)).filter(|_| !d.edits.is_empty()) {
            d.edits.clear();
            d = d.suggest(lost);
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
        let mut known = self.names_written(kind);
        known.extend_from_slice(extra);
        known
    }
}

/// What is not declared is one mistake, however often it is named: says so where it was told of first. `taken` are names that cannot be
/// meant in the place that names it again, and so in none.
pub(super) fn named_again(is: &dyn Fn(&About) -> bool, again: Span, taken: &[&str], sink: &mut Sink) -> bool {
    const MOST_SHOWN: usize = 4;
    let mut said = sink.each_mut();
    let Some(first) = said.find(|d| d.code == Code::UnknownName && is(&d.about)) else {
        return false;
    };
    if first.span == again {
        return true;
    }
    if first.suggested.iter().any(|meant| taken.contains(&meant.as_str())) {
        first.suggested.clear();
        first.edits.clear();
        "not declared".clone_into(&mut first.label);
    }
    // each is mended, or the fix would leave the others behind; they are kept in order, so that thousands are soon looked through
    let order = |s: Span| (s.file, s.start);
    let edit = |first: &Diagnostic, of: Span| first.edits.binary_search_by_key(&order(of), |e| order(e.span));
    if let (Ok(own), Err(at)) = (edit(first, first.span), edit(first, again))
        && first.edits[own].span == first.span
    {
        let text = first.edits[own].text.clone();
        first.edits.insert(at, Edit { span: again, text });
    }
    if first.related.len() < MOST_SHOWN && first.related.iter().all(|(s, _)| *s != again) {
        first.related.push((again, "and here".to_owned()));
    }
    true
}

fn one_of_or(known: &[&str], kind: Kind) -> String {
    match known.len() {
        1..=12 => one_of(known),
        _ => format!("a declared {}", kind.word()),
    }
}

/// The names that stand behind their keyword at the margin of a text and are among those that could not be read.
pub(super) fn torn_heads(text: &str, broken: &HashSet<String>) -> Vec<(Kind, String)> {
    const KINDS: [Kind; 5] = [Kind::Param, Kind::Engine, Kind::Axis, Kind::Profile, Kind::Metric];
    let head = |line: &str| {
        let (word, rest) = line.split_once([' ', '\t'])?;
        let kind = KINDS.into_iter().find(|k| k.word() == word)?;
        let rest = rest.trim_start();
        let name = rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next()?;
        let whole = matches!(rest.as_bytes().get(name.len()), None | Some(b' ' | b'\t' | b'=' | b'{' | b'"'));
        let reserved = syntax::RESERVED.contains(&name);
        let named =
            !reserved && whole && name.starts_with(|c: char| c.is_ascii_lowercase()) && broken.contains(name);
        named.then(|| (kind, name.to_owned()))
    };
    if broken.is_empty() { Vec::new() } else { text.lines().filter_map(head).collect() }
}

/// Words that stand for a configuration: `from best`, `pick base`.
pub fn is_base_word(name: &str) -> bool {
    matches!(name, "best" | "base")
}

/// What is built in has its name for itself.
pub fn declared_again(name: &Name) -> Diagnostic {
    let message = format!("`{}` is built in and cannot be declared again", name.value);
    let d = Diagnostic::new(Code::BuiltIn, name.span, message).label("built in");
    d.help(if is_base_word(&name.value) {
        "`best` and `base` are what steps stand on, `from best`, `pick base`: choose another name, such as `current`"
    } else {
        "choose another name"
    })
}

/// Spans of names, for warnings about what nobody uses.
pub fn declared(module: &Module) -> impl Iterator<Item = (Kind, &str, Span)> {
    module.file.items.iter().filter_map(|i| name_of(i).map(|(k, n)| (k, n.value.as_str(), n.span)))
}
