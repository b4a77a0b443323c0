//! A word of the language and what stands behind it, written as one: `paramctx = 16Ki`, `stepone { … }`, `gpus 1 baselinev`, `after40`.

use std::ops::Range;

use pest::Parser;

use super::blocks::{Block, first_word};
use super::expected::named;
use super::grammar::{Grammar, Rule};
use super::words;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{Diagnostic, short};
use crate::lang::source::{FileId, Span};

/// In longer files no name is looked for in all of the text.
const MOST_BYTES: usize = 128 << 10;

/// `paramctx = 16Ki`: a declaration of what the file names elsewhere. `text` begins at `at` of the file.
pub(super) fn declaration(id: FileId, (file, at): (&str, usize), text: &str) -> Option<Diagnostic> {
    if file.len() > MOST_BYTES {
        return None;
    }
    let word = first_word(text);
    let told = || {
        let span = Span::new(id, at..at + word.len());
        Diagnostic::new(Code::NotADeclaration, span, format!("`{}` begins no declaration", short(word)))
    };
    if text.starts_with("usestd/") {
        return Some(apart(told(), "use", word));
    }
    let of = |keyword: &&&str| {
        word.strip_prefix(**keyword).is_some_and(|name| is_name(name) && names(file, name) > 0)
    };
    let keyword = words::DECLARATIONS.iter().filter(of).max_by_key(|k| k.len())?;
    (**keyword != *"use" && names(file, word) == 1).then(|| apart(told(), keyword, word))
}

/// How often a file has a word, comments apart.
fn names(file: &str, word: &str) -> usize {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    file.lines().map(|line| code(line).split(|c| !in_word(c)).filter(|w| *w == word).count()).sum()
}

/// A line without its comment.
fn code(line: &str) -> &str {
    &line[..start_of_comment(line).unwrap_or(line.len())]
}

/// `stepone "One" { vary q }`, `repeat3`: a line of a block that can be read with a space behind its setting.
pub(super) fn line(id: FileId, block: Block, text: &str, base: usize) -> Option<Diagnostic> {
    let (what, settings) = block.settings();
    let word = first_word(text);
    let of = |setting: &&&str| {
        let Some(rest) = word.strip_prefix(**setting) else { return false };
        let fits = rest.starts_with(|c: char| c.is_ascii_digit()) || block != Block::Profile && is_name(rest);
        fits && Grammar::parse(block.rule(), &format!("{setting} {}", &text[setting.len()..])).is_ok()
    };
    let setting = settings.iter().filter(of).max_by_key(|s| s.len())?;
    let span = Span::new(id, base..base + word.len());
    let d = Diagnostic::new(Code::UnknownSetting, span, format!("{what} has no setting `{}`", short(word)));
    Some(apart(d, setting, word))
}

/// What is said of a word that is two, of which the first one is known.
fn apart(d: Diagnostic, first: &str, word: &str) -> Diagnostic {
    let right = format!("{first} {}", &word[first.len()..]);
    let span = d.span;
    d.label(format!("expected `{right}`"))
        .help(format!("a space stands behind `{first}`: write `{right}`"))
        .edit(span, right)
}

/// `gpus 1 baselinev`: where the setting ends in the word that glues it to its value, and the line that both are.
pub(super) fn setting(
    rule: Rule,
    text: &str,
    token: &Range<usize>,
    settings: &[&str],
    expected: &[String],
) -> Option<(usize, String)> {
    let word = &text[token.clone()];
    let of = |setting: &&&str| word.len() > setting.len() && word.starts_with(**setting);
    let setting = settings.iter().filter(of).max_by_key(|s| s.len()).filter(|_| !settings.contains(&word))?;
    let line = text[token.start..].lines().next()?;
    let line = format!("{setting} {}", code(line)[setting.len()..].trim_end());
    let ends = token.start > 0 && expected.iter().any(|e| e == "the end of the line");
    (ends && Grammar::parse(rule, &line).is_ok()).then_some((token.start + setting.len(), line))
}

/// Where other settings begin on a line behind a token that is one: `data random input 5 output 5`.
pub(super) fn others(text: &str, token: &Range<usize>, settings: &[&str]) -> Vec<usize> {
    let line = code(text[token.end..].split('\n').next().unwrap_or_default());
    // a block or a text holds what is its own
    let line = line.split(['{', '}', '"']).next().unwrap_or_default();
    let words = line.split(' ').scan(token.end, |at, word| {
        let here = *at;
        *at += word.len() + 1;
        Some((here, word))
    });
    words.filter(|(_, word)| settings.contains(word)).map(|(at, _)| at).collect()
}

/// `after40 requests`: one of the words that may stand there, and a number.
pub(super) fn number(
    id: FileId,
    text: &str,
    base: usize,
    token: &Range<usize>,
    expected: &[String],
) -> Option<Diagnostic> {
    let word = &text[token.clone()];
    let begun = |e: &&str| {
        let spelled = e.len() > 1 && e.chars().all(|c| c.is_ascii_lowercase());
        spelled && word.strip_prefix(*e).is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()))
    };
    let first = expected.iter().flat_map(|e| named(e)).find(begun)?;
    let span = Span::new(id, base + token.start..base + token.end);
    let d = Diagnostic::new(Code::Unexpected, span, format!("`{}` was not expected here", short(word)));
    Some(apart(d, first, word))
}

/// Whether what is left of a word is a name, and not the end of its plural.
fn is_name(rest: &str) -> bool {
    rest != "s" && rest.starts_with(|c: char| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_is_one_of_what_the_file_names() {
        let told = |file: &str| declaration(FileId(0), (file, 0), file).map(|d| d.edits[0].text.clone());
        assert_eq!(told("paramctx = 16Ki\nnote \"{ctx}\"\n").as_deref(), Some("param ctx"));
        assert_eq!(told("paramctx = 16Ki\nnote \"{paramctx}\" ctx\n"), None);
        assert_eq!(told("metrics good = 1\n"), None);
    }

    #[test]
    fn a_line_is_read_with_a_space_behind_its_setting() {
        let told = |text: &str| line(FileId(0), Block::Study, text, 0).map(|d| d.edits[0].text.clone());
        assert_eq!(told("repeat3").as_deref(), Some("repeat 3"));
        assert_eq!(told("stepone \"One\" { vary q }").as_deref(), Some("step one"));
        assert_eq!(told("steps { vary q }"), None);
        assert_eq!(told("models \"a/b\""), None);
    }
}
