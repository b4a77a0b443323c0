//! A line that stands outside the declaration it belongs to: it is not at home where it stands, and its declaration lacks it. Both are
//! one mistake, told at the line.

use super::modules::Modules;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};

/// Takes back what declarations lack that stands in another place, and says there where it belongs.
pub fn moved_lines(found: &mut Vec<Diagnostic>, modules: &Modules) {
    let mut moved = Vec::new();
    for i in 0..found.len() {
        let stranger = &found[i];
        let Some(word) = begins_elsewhere(stranger, modules) else { continue };
        let lacks = |d: &Diagnostic| d.span.file == stranger.span.file && missing_words(d).contains(&word);
        let candidates = (0..found.len()).filter(|k| lacks(&found[*k]) && !moved.contains(k));
        let Some(k) = candidates.min_by_key(|k| found[*k].span.start.abs_diff(stranger.span.start)) else {
            continue;
        };
        moved.push(k);
        let at = found[k].span;
        let stranger = &mut found[i];
        stranger.help = Some(format!("`{}` has none: move this into its block", modules.slice(at)));
        stranger.related = vec![(at, format!("has no `{word}`"))];
        stranger.label = String::from("not here");
        stranger.edits.clear();
    }
    let mut places = 0..;
    found.retain(|_| places.next().is_none_or(|k| !moved.contains(&k)));
}

/// The first word of a line that has no place where it stands, if that is told of it.
fn begins_elsewhere<'m>(d: &Diagnostic, modules: &'m Modules) -> Option<&'m str> {
    let at_word = matches!(d.code, Code::NotADeclaration | Code::UnknownSetting | Code::Unexpected);
    if !at_word && !matches!(d.code, Code::SettingTwice | Code::FlagTwice) {
        return None;
    }
    // a name that stands twice in a list is no line
    if matches!(d.about, About::Twice(_)) {
        return None;
    }
    let line = d.span.line_in(modules.text_of(d.span.file));
    let text = modules.slice(line);
    let begins = text.trim_start();
    if at_word && d.span.start as usize != line.range().end - begins.len() {
        return None;
    }
    begins.split(|c: char| !c.is_ascii_lowercase()).next().filter(|w| !w.is_empty())
}

/// With which words a line begins that a declaration lacks.
fn missing_words(d: &Diagnostic) -> &'static [&'static str] {
    match &d.about {
        About::Lacks(words) => words,
        About::Engine(_) if d.code == Code::VersionMissing => &["version"],
        _ => &[],
    }
}
