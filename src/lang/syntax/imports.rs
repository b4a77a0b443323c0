//! Imports that cannot be read: what they were meant to take, so that its uses are no further mistakes, and how they are written.

use std::ops::Range;

use super::ast::{Name, Use, UsePath};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, did_you_mean};
use crate::lang::source::{FileId, Span};
use crate::lang::stdlib;

/// Words that import in other languages.
const ELSEWHERE: [&str; 7] = ["import", "from", "include", "using", "require", "load", "source"];

/// Stands for every name: nobody can say which ones a file's import was meant to take.
pub const ANY: &str = "*";

/// The same of a step.
pub const A_STEP: &str = "step *";

/// Stands for every name that a declaration may have which begins with this word: it lost its own.
pub fn any_of(keyword: &str) -> String {
    match keyword {
        "engine" | "profile" | "axis" | "step" | "prune" | "site" => format!("{keyword} *"),
        "prune rule" => "prune *".to_owned(),
        // what a condition may name
        "param" | "metric" => "value *".to_owned(),
        _ => ANY.to_owned(),
    }
}

/// Whether a declaration that begins with a word was meant to import something.
pub fn is_meant(word: &str, text: &str) -> bool {
    let rest = text[word.len().min(text.len())..].trim_start();
    // `load "Load" = chat {`: a name and its title
    let titled = rest
        .strip_prefix('"')
        .and_then(|t| t.split_once('"'))
        .is_some_and(|(_, r)| r.trim_start().starts_with('='));
    !titled
        && ELSEWHERE.contains(&word)
        && (rest.starts_with("std") || rest.starts_with(['"', '\'', '{', '.']))
}

/// The names that an import was meant to take, as written and as names are spelled.
pub fn names(text: &str) -> Vec<String> {
    let (path, list) = text.split_once('{').unwrap_or((text, ""));
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let words = |part: &str| -> Vec<String> {
        part.split(|c| !in_word(c)).filter(|w| !w.is_empty()).map(str::to_owned).collect()
    };
    let library = library(path);
    let mut out = words(list);
    if out.is_empty() && library.is_none() {
        return vec![ANY.to_owned()];
    }
    if out.is_empty() {
        out.extend(library.iter().flat_map(|l| stdlib::items(l)).map(|i| i.name));
    }
    out.extend(words(path));
    let spelled: Vec<String> = out.iter().map(|n| n.to_ascii_lowercase().replace('-', "_")).collect();
    out.extend(spelled);
    out
}

/// All that an import may take, where its list has a comma too many or is not closed: a name was left out, and nobody knows which.
pub fn left_out(text: &str) -> Vec<String> {
    let Some((path, list)) = text.split_once('{') else { return Vec::new() };
    let Some((list, _)) = list.split_once('}') else {
        let Some(library) = library(path) else { return vec![ANY.to_owned()] };
        return stdlib::items(library).into_iter().map(|i| i.name).collect();
    };
    let items: Vec<&str> = list.split(',').map(str::trim).collect();
    let empty = items.iter().rev().skip(1).any(|item| item.is_empty());
    let library = library(path).filter(|_| empty);
    library.into_iter().flat_map(stdlib::items).map(|i| i.name).collect()
}

/// An import without its path or its names, or with a sign or word for them, as it was surely meant: `use { sim }` takes what one library
/// alone has, of `use std/engines { }` those are taken that engines of the file derive from, of `use std/axes { * }` those that it names, and
/// of `{ chat throughput }` both.
pub fn as_meant(id: FileId, file: &str, at: usize, text: &str) -> Option<Use> {
    let rest = text.strip_prefix("use")?.split('}').next()?;
    let (path, list) = rest.split_once('{')?;
    let open = "use".len() + path.len();
    let spanned = |value: &str, from: usize| Name {
        value: value.to_owned(),
        span: Span::new(id, at + from..at + from + value.len()),
    };
    let (home, names) = if path.trim().is_empty() {
        let word = |w: &&str| is_name(w);
        let names: Vec<&str> = list.split([',', ' ', '\t', '\n', '\r']).filter(word).collect();
        let place = |n: &str| n.as_ptr() as usize - text.as_ptr() as usize;
        (home_of(&names)?, names.iter().map(|n| spanned(n, place(n))).collect())
    } else if path.trim() == "std/engines" && list.trim().is_empty() {
        let mut parents: Vec<&str> = parents(file).filter(|p| stdlib::home("engine", p).is_some()).collect();
        parents.sort_unstable();
        parents.dedup();
        let brace = Span::new(id, at + open..at + open + 1);
        let named = |p: &str| Name { value: p.to_owned(), span: brace };
        ("engines", parents.into_iter().map(named).collect::<Vec<_>>())
    } else if let Some((library, names)) = all_or_renamed(file, path.trim(), list) {
        let brace = Span::new(id, at + open..at + open + 1);
        (library, names.into_iter().map(|value| Name { value, span: brace }).collect())
    } else {
        let place = |n: &str| n.as_ptr() as usize - text.as_ptr() as usize;
        let words = list.split([',', ' ', '\t', '\n', '\r']).filter(|w| !w.is_empty());
        let meant = misspelled(path.trim()).map(|library| (library, words.collect::<Vec<_>>()));
        let (library, names) = meant
            .or_else(|| without_commas(file, path.trim(), list))
            .filter(|(_, names)| names.iter().all(|n| is_name(n)))?;
        (library, names.iter().map(|n| spanned(n, place(n))).collect())
    };
    (!names.is_empty()).then(|| Use {
        from: UsePath::Std(Name { value: home.to_owned(), span: Span::new(id, at + open..at + open + 1) }),
        names,
        span: Span::new(id, at..at + open + 1 + list.len()),
    })
}

/// `{ * }`, `{ vllm as engine, sim }`: what a part of the library is asked for of what the file names.
fn all_or_renamed(file: &str, path: &str, list: &str) -> Option<(&'static str, Vec<String>)> {
    let library = stdlib::LIBRARIES.iter().copied().find(|l| path.strip_prefix("std/") == Some(l))?;
    let mut renamed = false;
    let mut taken = Vec::new();
    for item in list.split(',') {
        match item.split_whitespace().collect::<Vec<_>>().as_slice() {
            [] => {}
            [ANY] => return Some((library, named(file, stdlib::items(library).into_iter().map(|i| i.name)))),
            [name] if is_name(name) => taken.push((*name).to_owned()),
            [name, "as", _] if is_name(name) => {
                renamed = true;
                taken.push((*name).to_owned());
            }
            _ => return None,
        }
    }
    renamed.then(|| (library, named(file, taken.into_iter())))
}

/// Those of some names that a file has in lines which import nothing.
fn named(file: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let lines = || file.lines().filter(|line| !line.starts_with("use "));
    names.filter(|name| lines().any(|line| line.split(|c| !in_name(c)).any(|word| word == name))).collect()
}

/// `use std/rules`: what that part of the library has.
pub(super) fn nothing_taken(text: &str) -> Option<String> {
    const SHOWN: usize = 4;
    let path = text.strip_prefix("use ")?.trim();
    let items = stdlib::items(path.strip_prefix("std/")?);
    let names: Vec<&str> = items.iter().take(SHOWN).map(|item| item.name.as_str()).collect();
    let more = if items.len() > SHOWN { ", …" } else { "" };
    (!names.is_empty())
        .then(|| format!("say what is taken: `use {path} {{ NAME }}`; it has {}{more}", names.join(", ")))
}

/// The part of the library of whose list nothing is wrong but commas that are missing, and what is taken of it: what stands behind a name,
/// and is used nowhere, may be what is wrong.
fn without_commas<'t>(file: &str, path: &str, list: &'t str) -> Option<(&'static str, Vec<&'t str>)> {
    let library = path.strip_prefix("std/")?;
    let library = stdlib::LIBRARIES.iter().copied().find(|known| *known == library)?;
    let of_library = |name: &str| stdlib::items(library).iter().any(|item| item.name == name);
    // what is none of it may be a keyword that got into the list, or one half of a name
    let all_there = |part: &str| !part.trim().is_empty() && part.split_whitespace().all(of_library);
    let is_used = |name: &str| !named(file, std::iter::once(name.to_owned())).is_empty();
    let taken = |part: &'t str| {
        part.split_whitespace().enumerate().filter(|(n, name)| *n == 0 || is_used(name)).map(|(_, name)| name)
    };
    list.split(',').all(all_there).then(|| (library, list.split(',').flat_map(taken).collect()))
}

/// The one part of the library that has all of these names.
pub(super) fn home_of(names: &[&str]) -> Option<&'static str> {
    const KINDS: [&str; 4] = ["engine", "axis", "profile", "metric"];
    let homes = |name: &str| KINDS.iter().filter_map(|kind| stdlib::home(kind, name)).collect::<Vec<_>>();
    let [home] = homes(names.first()?)[..] else { return None };
    names.iter().all(|name| homes(name) == [home]).then_some(home)
}

/// What the engines of a file derive from.
fn parents(file: &str) -> impl Iterator<Item = &str> {
    file.lines().filter_map(|line| {
        let (_, parent) = line.strip_prefix("engine ")?.split_once(" = ")?;
        parent.split([' ', '{']).next()
    })
}

/// The part of the standard library that a path names, in whatever way it is written.
fn library(path: &str) -> Option<&str> {
    let rest = &path[path.find("std")? + 3..];
    let name = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(name.len());
    stdlib::LIBRARIES.contains(&&name[..end]).then(|| &name[..end])
}

/// The part of the library that was meant by a path with other signs in it: `std::engines`, `std\engines`, `/std/engines.plab`.
fn misspelled(path: &str) -> Option<&'static str> {
    let letters: String =
        path.strip_suffix(".plab").unwrap_or(path).chars().filter(char::is_ascii_alphanumeric).collect();
    let letters = letters.to_ascii_lowercase();
    let rest = letters.strip_prefix("stdlib").or_else(|| letters.strip_prefix("std"))?;
    let quoted = path.contains(['"', '\'']);
    let known = || stdlib::LIBRARIES.iter().copied();
    known()
        .find(|library| *library == rest)
        .or_else(|| did_you_mean(rest, known()))
        .filter(|library| !quoted && path != format!("std/{library}"))
}

/// An import of another language. `at` is where it begins in its file.
pub fn of_another_language(id: FileId, at: usize, text: &str, word: &str) -> Diagnostic {
    let span = |r: Range<usize>| Span::new(id, at + r.start..at + r.end);
    let message = format!("`{word}` begins no declaration");
    let d = Diagnostic::new(Code::NotADeclaration, span(0..word.len()), message).label("write `use`");
    let line = text.lines().next().unwrap_or_default().trim_end();
    let rest = line[word.len()..].trim();
    if let Some((path, list)) = taken_from(line, word) {
        let right = format!("use {path} {}", if list.contains('}') { list } else { "{ … }" });
        let second = line.len() - list.len();
        let gap = line[..second].rfind(path).map_or(second, |at| at + path.len());
        let d = d.help(format!("write `{right}`")).edit(span(0..word.len()), "use");
        return d.edit(span(gap..second), " ");
    }
    // `from std.engines import vllm, sglang`, `import { vllm } from "std/engines"`
    if let Some((library, names)) = named_elsewhere(line, word) {
        let right = format!("use std/{library} {{ {names} }}");
        return d.help(format!("write `{right}`")).edit(span(0..line.len()), right);
    }
    let right = rest.contains('{') && (rest.starts_with("std/") || rest.starts_with('"'));
    let d = d.help("write for example `use std/engines { vllm, sglang }`");
    if right { d.edit(span(0..word.len()), "use") } else { d }
}

/// `from std/rules use { far_behind }`: the path, and the list that follows with its brace.
fn taken_from<'t>(line: &'t str, word: &str) -> Option<(&'t str, &'t str)> {
    let (path, list) = line.strip_prefix("from ").filter(|_| word == "from")?.split_once(" use")?;
    let path = path.trim();
    let list = list.trim_start();
    (list.starts_with('{') && !path.is_empty() && !path.contains(' ')).then_some((path, list))
}

/// The part of the library that a line of Python or JavaScript imports from, and the names that it imports.
fn named_elsewhere<'t>(line: &'t str, word: &str) -> Option<(&'static str, &'t str)> {
    let rest = &line[word.len()..];
    let (path, names) = match word {
        "from" => rest.split_once(" import ").or_else(|| rest.split_once(" use "))?,
        "import" => rest.split_once(" from ").map(|(names, path)| (path, names))?,
        _ => return None,
    };
    let library = stdlib::LIBRARIES.iter().copied().find(|l| Some(*l) == library(path))?;
    let names = names.trim().trim_matches(['(', ')', '{', '}', ' ', ',']);
    (!names.is_empty() && names.split(',').all(|n| is_name(n.trim()))).then_some((library, names))
}

/// What an import of another language takes, as it was surely meant.
pub(super) fn elsewhere_as_meant(id: FileId, at: usize, text: &str, word: &str) -> Option<Use> {
    let line = text.lines().next()?;
    let (library, names) = named_elsewhere(line, word)?;
    let spanned = |value: &str| {
        let start = at + (value.as_ptr() as usize - text.as_ptr() as usize);
        Name { value: value.to_owned(), span: Span::new(id, start..start + value.len()) }
    };
    let keyword = Span::new(id, at..at + word.len());
    Some(Use {
        from: UsePath::Std(Name { value: library.to_owned(), span: keyword }),
        names: names.split(',').map(|n| spanned(n.trim())).collect(),
        span: Span::new(id, at..at + line.trim_end().len()),
    })
}

/// What is wrong with the names of a `use`. `base` is where the text begins in its file.
pub fn mistake(id: FileId, base: usize, text: &str) -> Option<Diagnostic> {
    let open = text.find('{')?;
    let path = text[..open].trim_end();
    let start = path.len() - path.trim_start().trim_start_matches("use").trim_start().len();
    let named = &path[start.min(path.len())..];
    if let Some(library) = misspelled(named) {
        let here = Span::new(id, base + start..base + path.len());
        let d = Diagnostic::new(Code::Unexpected, here, format!("`{named}` was not expected here"));
        let right = format!("std/{library}");
        return Some(
            d.label(format!("expected `{right}`"))
                .help(format!("write `use {right} {{ … }}`"))
                .edit(here, right),
        );
    }
    if named.starts_with(['.', '/', '~']) && !named.contains(char::is_whitespace) {
        let here = Span::new(id, base + start..base + path.len());
        let d = Diagnostic::new(Code::Unexpected, here, "the path of a file stands in double quotes");
        let right = format!("\"{named}\"");
        return Some(
            d.label("without quotes").help(format!("write `use {right} {{ … }}`")).edit(here, right),
        );
    }
    let inner = &text[open + 1..];
    let inner = &inner[..inner.find('}').unwrap_or(inner.len())];
    let mut at = open + 1;
    for part in inner.split([',', ' ', '\t', '\n', '\r']) {
        let here = Span::new(id, base + at..base + at + part.len());
        at += part.len() + 1;
        if part.starts_with('#') {
            return None;
        }
        if part.is_empty() || is_name(part) {
            continue;
        }
        let d = Diagnostic::new(Code::Unexpected, here, format!("`{part}` is no name"));
        let d = d.about(About::NoName);
        let right = part.to_ascii_lowercase().replace('-', "_");
        return Some(if part == ANY {
            d.label("everything?").help(
                "a `use` names what it takes: `{ chat, throughput }`; `perflab std` lists what there is",
            )
        } else if is_name(&right) {
            d.label("names are snake_case").help(format!("write `{right}`")).edit(here, right)
        } else {
            return None;
        });
    }
    None
}

fn is_name(word: &str) -> bool {
    let snake = |c: char| c.is_ascii_alphanumeric() || c == '_';
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(snake)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_import_was_meant_to_take_is_known() {
        assert!(names("use std/profiles { Chat }").contains(&"chat".to_owned()));
        assert!(names("use std/engines { * }").contains(&"sglang".to_owned()));
        assert!(names("from std.engines import vllm").contains(&"vllm".to_owned()));
        assert_eq!(names("use \"./lab.plab\" { * }"), [ANY]);
    }

    #[test]
    fn a_brace_that_closes_before_one_opens_is_no_end_of_the_names() {
        let text = "use \"./lab a } use \"./b.plab\" { Chat }";
        let found = mistake(FileId::default(), 0, text);
        assert_eq!(found.map(|d| d.message), Some("`Chat` is no name".to_owned()));
    }
}
