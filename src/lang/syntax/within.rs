//! A declaration whose name and brackets are right: what is wrong within it, and the rest of it as far as it can be read.

use super::ast::Item;
use super::blocks::first_word;
use super::expected::by_rule;
use super::grammar::Rule;
use super::recover::Recovered;
use super::reread::reread;
use super::unread_points::other_points;
use super::{borrowed, heads, imports, json_slips, lexical, title_first};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// Explains what is wrong; `own` is what of the text its mistake stands in, up to the end of the first line of a block.
pub(super) fn within(
    id: FileId,
    (file, base): (&str, usize),
    (text, indent, own): (&str, usize, &str),
    sink: &mut Sink,
    mut out: Recovered,
) -> Recovered {
    let word = first_word(&text[indent..]);
    if let Some((found, right, base)) = nameless_axis(id, file, base, text, indent) {
        sink.push(found);
        out.item = reread(id, &right, base, sink, &mut out.broken)
            .or_else(|| axis(id, &right, base, sink, &mut out.broken));
        return out;
    }
    if word == "axis" {
        out.item = axis(id, text, base, sink, &mut out.broken);
        return out;
    }
    let named = if word == "use" { imports::mistake(id, base, text) } else { None };
    let found = lexical::mistake(id, base, own)
        .or(named)
        .unwrap_or_else(|| by_rule(id, Rule::only_item, text, base, &[]));
    if word == "use" {
        let meant = imports::as_meant(id, file, base + indent, &text[indent..]).map(Item::Use);
        // `use std/engines { vllm } from std`: what stands behind it takes nothing from it
        let whole = || reread(id, text.get(..=text.find('}')?)?, base, sink, &mut out.broken);
        let meant = meant.or_else(whole);
        if let Some(Item::Use(meant)) = &meant {
            out.broken.retain(|b| meant.names.iter().all(|n| n.value != *b));
        }
        sink.push(found);
        out.item = meant;
    } else {
        out.item = heads::told(id, file, (base + indent, &text[indent..]), found, sink, &mut out.broken);
    }
    out
}

/// The points of an axis, each of which may have a mistake of its own. The text begins with its keyword or spaces.
pub(super) fn axis(
    id: FileId,
    text: &str,
    base: usize,
    sink: &mut Sink,
    broken: &mut Vec<String>,
) -> Option<Item> {
    let indent = text.len() - text.trim_start().len();
    if first_word(&text[indent..]) != "axis" {
        return None;
    }
    let found = lexical::mistake(id, base, text)
        .or_else(|| semicolons(id, base + indent, &text[indent..]))
        .unwrap_or_else(|| title_first::or_by_rule(id, text, base));
    json_slips::others(id, Rule::only_item, text, base, &found, sink);
    other_points(id, text, base, found, sink, broken)
}

/// `axis = { … }`: what is said of it, and the text with a name that stands in, all behind it in its place.
fn nameless_axis(
    id: FileId,
    file: &str,
    base: usize,
    text: &str,
    indent: usize,
) -> Option<(Diagnostic, String, usize)> {
    let rest = text[indent..].strip_prefix("axis")?.trim_start_matches([' ', '\t']);
    let points = rest.strip_prefix('=').is_some_and(|r| r.trim_start().starts_with('{'));
    let head = format!("axis {} ", heads::stand_in(file, base + indent));
    let from = (base + text.len() - rest.len()).checked_sub(head.len()).filter(|_| points)?;
    let found = by_rule(id, Rule::only_item, text, base, &[]);
    Some((found, format!("{head}{rest}"), from))
}

/// A text up to the end of the line that its declaration begins on.
pub(super) fn first_line(text: &str, indent: usize) -> &str {
    text[indent..].find('\n').map_or(text, |n| &text[..indent + n])
}

/// Points of an axis that end with semicolons.
fn semicolons(id: FileId, base: usize, text: &str) -> Option<Diagnostic> {
    let all = borrowed::semicolons(text);
    let span = |at: &usize| Span::new(id, base + at..base + at + 1);
    let d = Diagnostic::new(Code::Unexpected, span(all.first()?), "`;` was not expected here");
    let d = d.label("expected `,` or `}`").help("points are separated by commas");
    let last = |at: &usize| text[at + 1..].trim_start().starts_with('}');
    Some(all.iter().fold(d, |d, at| d.edit(span(at), if last(at) { "" } else { "," })))
}
