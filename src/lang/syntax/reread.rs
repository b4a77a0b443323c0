//! Reading a chunk again as it was meant: with the bracket that it lacks or the word that is misspelt in it, so that what else is wrong
//! with it is told too. All that was not mended stays in its place.

use std::ops::Range;

use foldhash::HashSet;
use pest::Parser;

use super::ast::Item;
use super::bad_lines::settings_named;
use super::blocks::{Block, first_word};
use super::build::Builder;
use super::flag_lines::declared_flags;
use super::grammar::{Grammar, Rule};
use super::lexical::{Piece, Scanner};
use super::recover::declared_name;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// Reads a declaration as if its closing brace were there, so that its other mistakes are found too.
pub(super) fn closed(
    id: FileId,
    file: &str,
    span: Span,
    sink: &mut Sink,
    broken: &mut Vec<String>,
) -> Option<Item> {
    let text = format!("{}\n}}", &file[span.range()]);
    // settings of the block around an unclosed one are lines of that: they follow from the missing bracket
    let told: HashSet<Span> = sink.found().map(|d| d.span).collect();
    let (start, end) = (span.start as usize, span.end as usize);
    let item = reread_within(start..end, id, &text, start, sink, broken);
    sink.forget(|d| d.about == About::NotHere && !told.contains(&d.span));
    item
}

/// A declaration with the brace that its head lacks, in the place of the end of the line.
pub(super) fn opened(text: &str, indent: usize) -> Option<String> {
    let line = indent + text[indent..].find('\n')?;
    let head = &text[indent..line];
    let head = head[..head.find(" #").unwrap_or(head.len())].trim_end().trim_end_matches([':', '(']);
    let at = indent + head.len();
    Some(format!("{}{{{}{}", &text[..at], " ".repeat(line - at), &text[line + 1..]))
}

/// Reads a declaration without the block in it that is not closed, so that its other mistakes are found too.
pub(super) fn without_block(
    id: FileId,
    text: &str,
    open: usize,
    base: usize,
    sink: &mut Sink,
    broken: &mut Vec<String>,
) -> Option<Item> {
    let start = text[..open].rfind('\n').map_or(0, |n| n + 1);
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let depth = indent(&text[start..]);
    let mut lines = text[start..].split_inclusive('\n');
    let head = lines.next()?;
    let within = |l: &&str| indent(l) > depth || l.trim().is_empty();
    let end = start + head.len() + lines.take_while(within).map(str::len).sum::<usize>();
    let blank: String = text[start..end].bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect();
    broken.extend(declared_name(head.trim_start()));
    let mut item = reread(id, &format!("{}{blank}{}", &text[..start], &text[end..]), base, sink, broken)?;
    match &mut item {
        Item::Study(study) => study.unread.extend(settings_named(Block::Study, head)),
        Item::Engine(engine) => {
            engine.unread_flags.extend(declared_flags(head.trim_start()));
            engine.unread.extend(settings_named(Block::Engine, head));
        }
        _ => {}
    }
    Some(item)
}

/// A text with its beginning as it was meant, if a diagnostic says so for sure, and where it begins so that all behind that is in its place.
pub(super) fn renamed(found: &Diagnostic, at: usize, text: &str, known: &[&str]) -> Option<(String, usize)> {
    let [edit] = found.edits.as_slice() else { return None };
    let right = edit.text.as_str();
    let (start, end) = (edit.span.start as usize, edit.span.end as usize);
    // a sign that is taken away leaves the word behind it
    let begins = if right.is_empty() { text.get(end.checked_sub(at)?..)? } else { right };
    let replaced = start == at && end <= at + text.len() && known.contains(&first_word(begins));
    // `NAME = 1` as `env NAME=1`: of a whole line its first word stays in its place
    let (own, rest) = (first_word(text), text.get(end.checked_sub(at)?..)?.trim_start());
    let whole = rest.is_empty() || rest.starts_with('#');
    let kept = right.find(own).filter(|_| whole && own.len() > 1 && end > at);
    let base = match kept {
        Some(behind) => at.checked_sub(behind)?,
        None => end.checked_sub(right.len())?,
    };
    replaced.then(|| (format!("{right}{}", &text[end - at..]), base))
}

/// A line with the only edit of what was told of it, which leaves all behind it in its place: `concurrency=8`, `concurrency 8 users`.
pub(super) fn padded(found: &Diagnostic, at: usize, line: &str) -> Option<String> {
    let [edit] = found.edits.as_slice() else { return None };
    let place = (edit.span.start as usize).checked_sub(at)?..(edit.span.end as usize).checked_sub(at)?;
    let written = line.get(place.clone())?;
    let spare = written.len().checked_sub(edit.text.len())?;
    // `"fp8"` without its quotes stays where it was
    let before = written.find(&edit.text).unwrap_or(0);
    let mut mended = line.to_owned();
    let right = format!("{}{}{}", " ".repeat(before), edit.text, " ".repeat(spare - before));
    mended.replace_range(place, &right);
    Some(mended)
}

/// Whether what was told of a line puts its words in another order, and changes none.
pub(super) fn reorders(found: &Diagnostic, at: usize, line: &str) -> bool {
    let [edit] = found.edits.as_slice() else { return false };
    let place = |offset: u32| (offset as usize).checked_sub(at);
    let written = place(edit.span.start).zip(place(edit.span.end)).and_then(|(a, b)| line.get(a..b));
    let sorted = |text: &str| {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words
    };
    written.is_some_and(|written| sorted(written) == sorted(&edit.text))
}

/// A line of flags in which a value stands apart from its flag, or commas between flags, as was told of it: as it was meant, all else in its
/// place.
pub(super) fn flags_apart(found: &Diagnostic, at: usize, line: &str) -> Option<String> {
    let within = |span: Span| {
        let range = (span.start as usize).checked_sub(at)?..(span.end as usize).checked_sub(at)?;
        line.get(range.clone()).map(|written| (range, written))
    };
    let mut mended = line.to_owned();
    if let (Code::SpacedFlag, [edit]) = (found.code, found.edits.as_slice()) {
        let (range, written) = within(edit.span)?;
        let spare = written.len().checked_sub(edit.text.len())?;
        mended.replace_range(range, &format!("{}{}", edit.text, " ".repeat(spare)));
        return Some(mended);
    }
    let (_, written) =
        within(found.span).filter(|_| found.code == Code::Unexpected && line.starts_with('-'))?;
    if written != "," {
        return None;
    }
    let mut depth = 0_usize;
    for (place, piece) in Scanner::new(line) {
        match piece {
            Piece::Open(_) => depth += 1,
            Piece::Close(_) => depth = depth.saturating_sub(1),
            // pieces are bytes, which need not begin a character
            Piece::Other if depth == 0 && line.as_bytes()[place] == b',' => {
                if !line[place + 1..].trim_start().starts_with('-') {
                    return None;
                }
                mended.replace_range(place..=place, " ");
            }
            _ => {}
        }
    }
    Some(mended)
}

/// Reads a declaration of which a mistake was mended, all else in its place.
pub(super) fn reread(
    id: FileId,
    text: &str,
    base: usize,
    sink: &mut Sink,
    broken: &mut Vec<String>,
) -> Option<Item> {
    reread_within(base..usize::MAX, id, text, base, sink, broken)
}

/// The same for one whose first word was mended or behind which a bracket was put: where it begins and ends in the file.
pub(super) fn reread_within(
    place: Range<usize>,
    id: FileId,
    text: &str,
    base: usize,
    sink: &mut Sink,
    broken: &mut Vec<String>,
) -> Option<Item> {
    let pairs = Grammar::parse(Rule::only_item, text).ok()?;
    let mut builder = Builder::new(id, text, base, sink).beginning(place.start).ending(place.end);
    let inner =
        pairs.into_iter().next()?.into_inner().find(|p| !matches!(p.as_rule(), Rule::COMMENT | Rule::EOI))?;
    let item = builder.item(inner);
    broken.extend(builder.into_broken());
    item
}
