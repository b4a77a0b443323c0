//! The declaration as the mistake: a name that is declared and never used, beside nearly the same that is used and declared nowhere. Told at
//! the use, a fix would spread the slip.

use std::collections::HashMap;

use super::copied::called_alike;
use super::modules::Modules;
use super::name_uses;
use super::schema::Kind as Takes;
use super::scope::{Kind, declared};
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{About, Diagnostic, Edit, nearest, same_digits};
use crate::lang::source::Span;
use crate::lang::stdlib;
use crate::lang::syntax::ast::{EngineLineKind as Line, FlagKind, Item, KeyDecl};

/// More letters than this are no slip.
pub(super) const MOST_LETTERS: usize = 2;

/// Tells at the declarations of the root file what is wrong with them, and takes back what was said of their uses.
pub fn odd_declarations(found: &mut Vec<Diagnostic>, modules: &Modules) {
    let missing: Vec<Missing> = Missing::all(found, modules);
    if missing.is_empty() {
        return;
    }
    let words = words(modules.root_text());
    let mut odd: Vec<(Missing, &str, Span)> = Vec::new();
    for m in missing {
        if let Some((name, at)) = m.misspelt(modules, &words)
            && odd.iter().all(|(.., other)| *other != at)
        {
            odd.push((m, name, at));
        }
    }
    for (m, name, at) in odd {
        let count = m.uses(modules, &words).max(1);
        tell(found, modules, &m, (name, at), count);
    }
    called_alike(found, modules, &words);
}

/// A choice or a key that a schema of the root file lacks, named several times: most likely one slip of the schema, and told once.
pub fn lacking_in_a_schema(found: &mut Vec<Diagnostic>, modules: &Modules) {
    if found.iter().filter(|d| lacking(d, modules).is_some()).count() < 2 {
        return;
    }
    let own = of_schemas(modules);
    let is_own = |(flag, _): &(&str, &str)| own.iter().any(|(name, _)| name == flag);
    let mut firsts: HashMap<(Code, String, String), usize> = HashMap::new();
    let mut kept: Vec<Diagnostic> = Vec::with_capacity(found.len());
    for d in found.drain(..) {
        let lacks = lacking(&d, modules).filter(is_own);
        let first = lacks.map(|(flag, what)| {
            *firsts.entry((d.code, flag.to_owned(), what.to_owned())).or_insert(kept.len())
        });
        match first.and_then(|at| kept.get_mut(at)) {
            Some(first) => {
                first.related.push((d.span, "and here".to_owned()));
                first.edits.extend(d.edits);
            }
            None => kept.push(d),
        }
    }
    misspelt_choices(&mut kept, &firsts, modules);
    *found = kept;
}

/// The flag that lacks a choice or a key, and which.
fn lacking<'d>(d: &'d Diagnostic, modules: &'d Modules) -> Option<(&'d str, &'d str)> {
    match (&d.about, d.code) {
        (About::Compared { flag }, _) => Some((flag, modules.slice(d.span).trim_matches('"'))),
        (About::NotTaken { flag, value, takes: Takes::OneOf(_) }, Code::BadFlagValue) => Some((flag, value)),
        (About::NoKey { flag, key }, Code::UnknownFlag) => Some((flag, key)),
        _ => None,
    }
}

/// A choice that nothing names, beside nearly the same one that several places name and no schema has.
fn misspelt_choices(
    told: &mut [Diagnostic],
    firsts: &HashMap<(Code, String, String), usize>,
    modules: &Modules,
) {
    let words = words(modules.root_text());
    for ((code, flag, used), at) in firsts {
        let d = &mut told[*at];
        let [near] = d.suggested.as_slice() else { continue };
        let near = near.trim_matches('"').to_owned();
        let unused = words.get(near.as_str()) == Some(&1);
        if *code != Code::BadFlagValue || d.related.is_empty() || !unused {
            continue;
        }
        let Some(choice) = choice(modules, flag, &near) else { continue };
        let often = d.related.len() + 1;
        d.related.insert(0, (d.span, "used here".to_owned()));
        d.span = choice;
        d.message = format!(
            "the choice `{near}` of {flag} is never used; `{used}` is used {often} times and is none"
        );
        d.label = format!("did you mean `{used}`?");
        d.suggested = vec![used.clone()];
        d.help = Some(format!("call it `{used}` here, or `{near}` wherever it is used"));
        d.edits = vec![Edit { span: choice, text: used.clone() }];
    }
}

/// Where a schema of the root file has a choice of a flag.
fn choice(modules: &Modules, flag: &str, choice: &str) -> Option<Span> {
    let items = modules.root().file.items.iter();
    let engines = items.filter_map(|i| if let Item::Engine(e) = i { Some(e) } else { None });
    let flags = engines.flat_map(|e| &e.lines).filter_map(|l| match &l.kind {
        Line::Flag(f) if f.names.iter().any(|n| n.value == flag) => Some(f),
        _ => None,
    });
    let mut choices = flags.filter_map(|f| if let FlagKind::OneOf(all) = &f.kind { Some(all) } else { None });
    choices.find_map(|all| all.iter().find(|c| c.text == choice)).map(|c| c.span)
}

/// A name that is used and that nothing declares.
pub(super) struct Missing {
    pub(super) code: Code,
    pub(super) name: String,
    pub(super) kinds: Vec<Kind>,
    /// what was said to have been meant
    pub(super) suggested: Vec<String>,
    pub(super) first: Span,
}

impl Missing {
    pub(super) fn of(d: &Diagnostic, modules: &Modules) -> Option<Self> {
        let name = asked(d, modules)?.to_owned();
        let of_blocks = |k: &Kind| matches!(k, Kind::Engine | Kind::Axis | Kind::Profile);
        let kinds = match d.code {
            Code::UnknownName if matches!(d.about, About::MissingBase { .. }) => vec![Kind::Engine],
            Code::UnknownName => d.about.missing_kind().filter(of_blocks).into_iter().collect(),
            Code::UnknownMetric => vec![Kind::Metric, Kind::Param],
            Code::UnknownParam => vec![Kind::Param],
            _ => Vec::new(),
        };
        let suggested = d.suggested.iter().map(|s| s.trim_matches(['{', '}']).to_owned()).collect();
        Some(Self { code: d.code, name, kinds, suggested, first: d.span })
    }

    pub(super) fn all(found: &[Diagnostic], modules: &Modules) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for m in found.iter().filter_map(|d| Self::of(d, modules)) {
            if all.iter().all(|o| (o.code, &o.name) != (m.code, &m.name)) {
                all.push(m);
            }
        }
        all
    }

    pub(super) fn distance(&self, other: &str) -> usize {
        strsim::damerau_levenshtein(&self.name, other)
    }

    /// Whether the standard library declares it: its spelling is a right one.
    pub(super) fn in_library(&self) -> bool {
        self.kinds.iter().any(|k| stdlib::home(k.word(), &self.name).is_some())
    }

    /// The declaration that was meant by all uses of the name, if nothing uses that one and the name is more than one slip.
    fn misspelt<'m>(&self, modules: &'m Modules, words: &Words) -> Option<(&'m str, Span)> {
        let uses = self.uses(modules, words);
        if self.name.len() < 3 || uses == 0 {
            return None;
        }
        let mut unused = self.declared(modules);
        unused.retain(|(name, _)| words.get(name) == Some(&1));
        let [near] = nearest(&self.name, unused.iter().map(|(name, _)| *name))[..] else { return None };
        let slip = self.distance(near) <= MOST_LETTERS && same_digits(&self.name, near);
        // a name that is used already is as near
        let other = |s: &String| s != near && self.distance(s) <= self.distance(near);
        if !slip || self.suggested.iter().any(other) {
            return None;
        }
        let (near, at) = unused.into_iter().find(|(name, _)| *name == near)?;
        // `step async { vary async }` says twice how the axis is called
        let of_step =
            self.kinds.contains(&Kind::Axis) && name_uses::names_a_step(modules.root_text(), &self.name);
        let is_sure = uses > 1 || of_step || self.in_library() || is_titled(modules, at, &self.name);
        is_sure.then_some((near, at))
    }

    /// How often the name is used. A flag, its keys and a variable are known by their words; of all else a word may be another thing's name.
    fn uses(&self, modules: &Modules, words: &Words) -> usize {
        match self.code {
            Code::UnknownFlag | Code::UnknownVariable => {
                words.get(self.name.as_str()).copied().unwrap_or_default()
            }
            _ => name_uses::count(modules.root_text(), &self.name),
        }
    }

    /// What the root file declares of such a kind.
    pub(super) fn declared<'m>(&self, modules: &'m Modules) -> Vec<(&'m str, Span)> {
        let root = modules.root();
        match self.code {
            Code::UnknownFlag | Code::UnknownVariable => of_schemas(modules),
            _ => {
                let own = declared(root).filter(|(kind, ..)| self.kinds.contains(kind));
                own.map(|(_, name, at)| (name, at)).collect()
            }
        }
    }
}

/// Whether the title of a declaration says a name: `profile crwod "Crowd"`. Of `profile chat "Small chats"` it does not say `chats`: one and
/// several of a thing are words, neither of which is a slip for the other.
fn is_titled(modules: &Modules, at: Span, name: &str) -> bool {
    let declared = modules.slice(at);
    if declared.strip_suffix('s') == Some(name) || name.strip_suffix('s') == Some(declared) {
        return false;
    }
    let line = modules.slice(at.line_in(modules.root_text()));
    let title = line.split('"').nth(1).unwrap_or_default().to_lowercase();
    let words: Vec<&str> = title.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    words.contains(&name) || words.join("_") == name
}

/// The name that a diagnostic of the root file misses.
fn asked<'m>(d: &Diagnostic, modules: &'m Modules) -> Option<&'m str> {
    let missing = [
        Code::UnknownName,
        Code::UnknownMetric,
        Code::UnknownParam,
        Code::UnknownFlag,
        Code::UnknownVariable,
    ];
    let here = missing.contains(&d.code) && d.span.file == modules.root().id;
    let name = modules.slice(d.span).trim_matches(['{', '}', '"']);
    // `given --draft`, `--draft.tokens`: of a flag that is not there, neither is a key
    let name = name.strip_prefix("given ").map_or(name, str::trim_start);
    let of_key = d.code == Code::UnknownFlag && name.starts_with('-');
    let name = if of_key { name.split('.').next().unwrap_or(name) } else { name };
    (here && !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)))
        .then_some(name)
}

/// Flags, keys of flags and variables that engines of the root file declare.
fn of_schemas(modules: &Modules) -> Vec<(&str, Span)> {
    let items = modules.root().file.items.iter();
    let engines = items.filter_map(|i| if let Item::Engine(e) = i { Some(e) } else { None });
    let mut all = Vec::new();
    for line in engines.flat_map(|e| &e.lines) {
        match &line.kind {
            Line::Flag(flag) => {
                all.extend(flag.names.iter().chain(&flag.negated).map(|n| (n.value.as_str(), n.span)));
                keys(&flag.keys, &mut all);
            }
            Line::Variables { names, .. } => all.extend(names.iter().map(|n| (n.text.as_str(), n.span))),
            _ => {}
        }
    }
    all
}

fn keys<'m>(of: &'m [KeyDecl], all: &mut Vec<(&'m str, Span)>) {
    for key in of {
        all.push((&key.name.value, key.name.span));
        keys(&key.keys, all);
    }
}

/// One mistake, at the declaration.
fn tell(found: &mut Vec<Diagnostic>, modules: &Modules, m: &Missing, (name, at): (&str, Span), uses: usize) {
    let right = &m.name;
    let often = if uses == 1 { "once".to_owned() } else { format!("{uses} times") };
    let message = format!("`{name}` is never used; `{right}` is used {often} and declared nowhere");
    found.retain(|d| {
        let of_use = d.code == m.code && asked(d, modules) == Some(right);
        !(of_use || d.code == Code::Unused && d.span == at)
    });
    let d = Diagnostic::new(m.code, at, message).suggest(right);
    let d = d.help(if m.in_library() {
        format!("call it `{right}` here; the standard library has another `{right}`, which this file does not take")
    } else {
        format!("call it `{right}` here, or `{name}` wherever it is used")
    });
    found.push(d.related(m.first, "used here").edit(at, right.as_str()));
    crate::lang::diag::sort(found);
}

pub(super) type Words<'t> = HashMap<&'t str, usize>;

/// How often a text has each name: outside of comments and titles, and as params that strings insert.
fn words(text: &str) -> Words<'_> {
    let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut counts = Words::new();
    for line in text.lines() {
        let line = &line[..start_of_comment(line).unwrap_or(line.len())];
        for (n, part) in line.split('"').enumerate() {
            let quoted = n % 2 == 1 && !part.chars().all(in_name);
            let inserted = part.split('{').skip(1).filter_map(|p| p.split_once('}')).map(|(name, _)| name);
            let plain = part.split(|c| !in_name(c)).filter(|_| !quoted);
            for word in plain.chain(inserted.filter(|_| quoted)).filter(|w| !w.is_empty()) {
                *counts.entry(word).or_insert(0) += 1;
            }
        }
    }
    counts
}
