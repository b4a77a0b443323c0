//! Names of the standard library that a file does not take: one mistake for all of a library, and the `use` that mends it.

use super::scope::Module;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Sink, Untaken};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{Item, Use, UsePath};

/// Says that a name is of a library; beside others of it that were told of, where there are some.
pub fn say(module: &Module, d: Diagnostic, library: &str, name: &str, sink: &mut Sink) {
    let begins = |names: &[&str]| {
        let are = if names.len() > 1 { "they are" } else { "it is" };
        format!("{are} of the standard library: write `{}` at the top", whole(library, names))
    };
    // a list that cannot be read as it stands, `{ , chat }`: the name was to stand there. One that has another word for it, `{ tensorrt }`:
    // what that means was said
    let lost = |d: &Diagnostic| d.code == Code::Unexpected;
    let meant = |d: &Diagnostic| d.code == Code::UnknownImport && d.edits.iter().any(|e| e.text == name);
    if is_meant_by_an_import(name, sink) || says_of_list(module, library, sink, |d| lost(d) || meant(d)) {
        return;
    }
    let span = d.span;
    let of_file = |o: &&mut Diagnostic| o.span.file == span.file;
    let told = |o| untaken_in(o, library);
    let Some((first, mut names)) = sink.each_mut().filter(of_file).find_map(told) else {
        let mut d = d.label("not imported").help(begins(&[name]));
        of_library(&mut d.about, library, vec![name.to_owned()]);
        let (at, text) = place(module, library, &[name]);
        sink.push(d.edit(at, text));
        return;
    };
    if names.iter().any(|n| n == name) {
        return;
    }
    names.push(name.to_owned());
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    first.help = Some(begins(&all));
    first.related.push((span, format!("nor is `{name}`")));
    let (span, text) = place(module, library, &all);
    of_library(&mut first.about, library, names);
    first.edits.clear();
    first.edits.push(crate::lang::diag::Edit { span, text });
}

/// Whether an import that is called otherwise may mean a name: of two words that it may mean it is the one that is used.
pub fn is_meant_by_an_import(name: &str, sink: &mut Sink) -> bool {
    let open = |d: &&mut Diagnostic| d.code == Code::UnknownImport && d.edits.is_empty();
    let meant = sink.each_mut().filter(open).find(|d| d.suggested.iter().any(|s| s == name));
    let Some(d) = meant else { return false };
    d.label = format!("did you mean `{name}`?");
    d.edits.push(crate::lang::diag::Edit { span: d.span, text: name.to_owned() });
    true
}

/// Whether such a thing was said of a list of that library.
fn says_of_list(module: &Module, library: &str, sink: &Sink, what: impl Fn(&Diagnostic) -> bool) -> bool {
    let uses = module.file.items.iter().filter_map(|i| if let Item::Use(u) = i { Some(u) } else { None });
    let mut of_library = uses.filter(|u| matches!(&u.from, UsePath::Std(n) if n.value == library));
    of_library.any(|u| sink.in_span(u.span).any(&what))
}

fn whole(library: &str, names: &[&str]) -> String {
    format!("use std/{library} {{ {} }}", names.join(", "))
}

/// The names of this library that a diagnostic is about.
fn untaken(about: &About, library: &str) -> Option<Vec<String>> {
    match about {
        About::Missing { library: Some(of), .. } if of.library == library => Some(of.names.clone()),
        _ => None,
    }
}

fn untaken_in<'d>(d: &'d mut Diagnostic, library: &str) -> Option<(&'d mut Diagnostic, Vec<String>)> {
    untaken(&d.about, library).map(|names| (d, names))
}

fn of_library(about: &mut About, library: &str, names: Vec<String>) {
    if let About::Missing { library: of, .. } = about {
        *of = Some(Untaken { library: library.to_owned(), names });
    }
}

/// Where the names are taken, and what is to be written there: at the end of a list that is there, else on a line of its own.
fn place(module: &Module, library: &str, names: &[&str]) -> (Span, String) {
    let uses = || module.file.items.iter().filter_map(|i| if let Item::Use(u) = i { Some(u) } else { None });
    let same = |u: &&Use| matches!(&u.from, UsePath::Std(n) if n.value == library);
    let after = |span: Span| Span { start: span.end, ..span };
    if let Some(last) = uses().find(same).and_then(|u| u.names.last()) {
        return (after(last.span), format!(", {}", names.join(", ")));
    }
    match (uses().next_back(), module.file.items.first()) {
        (Some(u), _) => (after(u.span), format!("\n{}", whole(library, names))),
        (None, first) => {
            let start = first.map_or(0, |item| item.span().start);
            (Span { file: module.id, start, end: start }, format!("{}\n\n", whole(library, names)))
        }
    }
}
