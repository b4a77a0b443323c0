//! What is wrong with the files that a file uses: said as it is where such a file is checked by itself, and once, however many use it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::files::analysis_of;
use crate::lang::codes::Code;
use crate::lang::diag::{self, Diagnostic};
use crate::lang::source::{FileId, Source, Sources, Span};
use crate::lang::{Analysis, fix, given, stdlib};

/// What a check of one file found.
pub struct Found {
    pub diagnostics: Vec<Diagnostic>,
    pub sources: Sources,
}

/// What used files say of themselves, by their names: many files may use one.
#[derive(Debug, Default)]
pub struct Homes(HashMap<String, Home>);

/// What one file says of itself, fixes included.
#[derive(Debug)]
struct Home {
    own: Vec<Diagnostic>,
    /// of the files of that analysis, in their order
    names: Vec<String>,
}

/// Puts what a used file says by itself in the place of the same seen from here, its fix included: a mistake has one code and one place.
/// What only shows from here stays, without a fix, which nobody tried on that file.
pub fn as_at_home(analysis: &mut Analysis, homes: &mut Homes) {
    let named = |d: &Diagnostic| d.is_error().then(|| related(d).map(|at| at.file).collect::<Vec<_>>());
    let used: BTreeSet<FileId> = analysis
        .diagnostics
        .iter()
        .flat_map(|d| named(d).unwrap_or_default().into_iter().chain([d.span.file]))
        .collect();
    for id in used.into_iter().filter(|id| is_used(*id, analysis.sources.get(*id))) {
        let home = homes.seen_from(id, &analysis.sources);
        let mut out: Vec<Diagnostic> = Vec::new();
        for mut d in std::mem::take(&mut analysis.diagnostics) {
            if d.span.file != id {
                // a use of what is wrong at home
                match home.iter().find(|own| is_cause(own, &d)) {
                    Some(own) if out.iter().any(|o| same(o, own)) => {}
                    Some(own) => out.push(own.clone().related(d.span, "used here")),
                    None => out.push(d),
                }
                continue;
            }
            let instead = in_place_of(&d, &home, &analysis.sources.get(id).text);
            if instead.is_empty() {
                d.edits.clear();
                out.push(d);
                continue;
            }
            let path = d.related.iter().filter(|(span, _)| !home_names(&instead, *span) && span.file != id);
            let path: Vec<(Span, String)> = path.cloned().collect();
            for own in instead {
                if !out.iter().any(|o| same(o, own)) {
                    let mut own = own.clone();
                    own.related.extend(path.iter().cloned());
                    out.push(own);
                }
            }
        }
        diag::sort(&mut out);
        analysis.diagnostics = out;
    }
}

/// Leaves each mistake of a used file once: with that file if it is checked too, else with the first that uses it.
pub fn once(all: &mut [Found]) {
    let key = |d: &Diagnostic, sources: &Sources| {
        let name = &sources.get(d.span.file).name;
        let path = fs::canonicalize(name).unwrap_or_else(|_| PathBuf::from(name));
        (path, d.code, d.span.range(), d.message.clone())
    };
    let roots = all.iter().flat_map(|f| f.diagnostics.iter().map(|d| (d, &f.sources)));
    let roots = roots.filter(|(d, _)| d.span.file == FileId::default());
    let mut told: HashSet<_> = roots.map(|(d, sources)| key(d, sources)).collect();
    let mut circles: HashSet<BTreeSet<PathBuf>> = HashSet::new();
    for found in all {
        let sources = &found.sources;
        found.diagnostics.retain(|d| {
            let is_new = !is_used(d.span.file, sources.get(d.span.file)) || told.insert(key(d, sources));
            is_new && circle(d, sources).is_none_or(|files| circles.insert(files))
        });
    }
}

/// The files that use each other in a circle, where that is what is said: each of them would say it of the next.
fn circle(d: &Diagnostic, sources: &Sources) -> Option<BTreeSet<PathBuf>> {
    let path = |id: FileId| fs::canonicalize(&sources.get(id).name).ok();
    let text = sources.get(d.span.file).text.get(d.span.range()).filter(|_| d.code == Code::Cycle)?;
    let here = path(d.span.file)?;
    let again = fs::canonicalize(here.parent()?.join(text.trim_matches('"'))).ok()?;
    let chain = std::iter::once(d.span.file).chain(related(d).map(|at| at.file)).filter_map(path);
    let mut files = BTreeSet::new();
    for file in chain {
        let last = file == again;
        files.insert(file);
        if last {
            return Some(files);
        }
    }
    None
}

/// Whether a source is a file that another uses, not the one that is checked, the library or the command line.
fn is_used(id: FileId, source: &Source) -> bool {
    id != FileId::default() && source.name != given::SOURCE && !stdlib::is_part(&source.name)
}

impl Homes {
    /// What a used file says of itself where it is checked alone, in the places of the analysis that uses it.
    fn seen_from(&mut self, id: FileId, sources: &Sources) -> Vec<Diagnostic> {
        let Source { name, text, .. } = sources.get(id);
        if !self.0.contains_key(name) {
            self.0.insert(name.clone(), at_home(Path::new(name), text));
        }
        let Some(home) = self.0.get(name) else { return Vec::new() };
        let moved = |span: Span| {
            let name = home.names.get(span.file.0 as usize)?;
            let file = if span.file == FileId::default() {
                Some(id)
            } else {
                sources.iter().find(|(_, s)| s.name == *name).map(|(id, _)| id)
            };
            Some(Span { file: file?, ..span })
        };
        let one = |d: &Diagnostic| {
            let mut d = d.clone();
            d.span.file = id;
            d.edits.iter_mut().for_each(|e| e.span.file = id);
            d.related = d.related.into_iter().filter_map(|(at, text)| Some((moved(at)?, text))).collect();
            d
        };
        home.own.iter().map(one).collect()
    }
}

fn at_home(path: &Path, text: &str) -> Home {
    let mut home = analysis_of(path, text, &[]);
    fix::complete(text, &mut home, &|t| analysis_of(path, t, &[]));
    let names = home.sources.iter().map(|(_, s)| s.name.clone()).collect();
    let own = home.diagnostics.into_iter().filter(|d| d.span.file == FileId::default());
    let own = own.map(|d| Diagnostic { edits: fix::fix_of(&d).unwrap_or_default().to_vec(), ..d }).collect();
    Home { own, names }
}

/// What a file says of itself for what was seen from another: the same, or the errors of that code where this one points, or those of
/// the same word. What else is wrong beside it is another mistake.
fn in_place_of<'a>(d: &Diagnostic, home: &'a [Diagnostic], text: &str) -> Vec<&'a Diagnostic> {
    if let Some(own) = home.iter().find(|own| same(own, d)) {
        return vec![own];
    }
    let about = |own: &&Diagnostic| {
        own.code == d.code && [own.span].into_iter().chain(related(own)).any(|at| touch(at, d.span))
    };
    let in_word = |own: &&Diagnostic| {
        let both = text.get(own.span.to(d.span).range()).unwrap_or_default();
        touch(own.span, d.span) && !both.contains(char::is_whitespace)
    };
    home.iter()
        .filter(|own| d.is_error() && own.is_error())
        .filter(|own| about(own) || in_word(own))
        .collect()
}

/// Whether what is said of a use follows from what the used file says of itself.
fn is_cause(own: &Diagnostic, d: &Diagnostic) -> bool {
    own.is_error() && own.code == d.code && related(d).any(|at| touch(at, own.span))
}

fn related(d: &Diagnostic) -> impl Iterator<Item = Span> {
    d.related.iter().map(|(at, _)| *at)
}

fn touch(a: Span, b: Span) -> bool {
    a.file == b.file && a.start < b.end && b.start < a.end
}

fn same(a: &Diagnostic, b: &Diagnostic) -> bool {
    (a.code, a.span, &a.message) == (b.code, b.span, &b.message)
}

/// Whether a place is named by what a file says of itself.
fn home_names(home: &[&Diagnostic], span: Span) -> bool {
    home.iter().any(|d| d.related.iter().any(|(at, _)| *at == span))
}
