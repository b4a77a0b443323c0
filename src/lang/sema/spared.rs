//! Fixes that a machine leaves to people: one that would write over a param that a text inserts, a bracket within a
//! word, and a bracket between what no block states together.

use std::ops::Range;

use super::modules::Modules;
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Edit};
use crate::lang::source::Span;
use crate::lang::syntax::ast::Item;

/// Takes such fixes away; what was inserted is pointed at.
pub fn spare(found: &mut [Diagnostic], modules: &Modules) {
    // what one block states before and behind a bracket, and no block states together
    let twice = found.iter().filter(|d| matches!(d.code, Code::SettingTwice | Code::ProfileSetting));
    let joined: Vec<Range<u32>> =
        twice.flat_map(|d| d.related.iter().map(|(first, _)| first.end..d.span.start)).collect();
    for d in found.iter_mut().filter(|d| !d.edits.is_empty()) {
        if d.edits.iter().any(|e| is_within_a_word(e, modules)) {
            d.edits.clear();
            continue;
        }
        if d.code == Code::Unopened
            && d.edits.iter().any(|e| joined.iter().any(|j| j.contains(&e.span.start)))
        {
            d.edits.clear();
            d.help = Some(
                "remove it, or put back the line that begins the block below: the two parts state things that exclude each other"
                    .to_owned(),
            );
            continue;
        }
        let Some((name, at)) = d.edits.iter().find_map(|e| overwritten(e, modules)) else { continue };
        d.edits.clear();
        let value = modules.slice(at);
        d.label = if d.suggested.is_empty() {
            format!("`{{{name}}}` is {value}")
        } else {
            format!("`{{{name}}}` is {value}: {}", d.label)
        };
        d.related.push((at, "its value".to_owned()));
    }
}

/// The param that an edit takes out of a text, and where its value stands.
fn overwritten(edit: &Edit, modules: &Modules) -> Option<(String, Span)> {
    let was = modules.slice(edit.span);
    let names = was.split('{').skip(1).filter_map(|p| p.split_once('}')).map(|(name, _)| name);
    let module = modules.home(edit.span);
    names.filter(|n| !edit.text.contains(&format!("{{{n}}}"))).find_map(|n| {
        let at = module.find(Kind::Param, n)?;
        let Item::Param(param) = modules.item(at) else { return None };
        Some((n.to_owned(), param.value.span()))
    })
}

/// Whether an edit puts a bracket between two letters.
fn is_within_a_word(edit: &Edit, modules: &Modules) -> bool {
    let text = modules.text_of(edit.span.file);
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    let (start, end) = (edit.span.start as usize, edit.span.end as usize);
    let before = text.get(..start).is_some_and(|t| t.ends_with(letter));
    let behind = text.get(start.min(end)..).is_some_and(|t| t.starts_with(letter));
    before && behind && edit.text.trim_start().starts_with(['{', '[', '(', '}', ']', ')'])
}
