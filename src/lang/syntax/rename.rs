//! A name that is none is spelled anew where it is declared and wherever it is used, or a fix would leave its uses behind.

use std::ops::Range;

use super::lexical::{Piece, Scanner};
use super::words::DECLARATIONS;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Edit, Sink};
use crate::lang::invisible;
use crate::lang::source::{FileId, Span};

/// So many names are looked for, each in the whole text; of more at once nobody wants all renamed.
const MOST: usize = 100;

/// Completes the fixes of names that are declared wrongly; where the right name is taken already, there is none.
pub fn everywhere(id: FileId, text: &str, sink: &mut Sink) {
    let mut seen = 0;
    for d in sink.each_mut().filter(|d| d.code == Code::Unexpected && d.span.file == id) {
        let [edit] = d.edits.as_slice() else { continue };
        if edit.span != d.span || d.about != About::NoName {
            continue;
        }
        seen += 1;
        if seen > MOST {
            d.edits.clear();
            continue;
        }
        let (wrong, right) = (&text[d.span.range()], edit.text.clone());
        let Some(keyword) = d.span.before_in(text).split_whitespace().next_back() else { continue };
        if is_declared(text, keyword, &right) {
            d.edits.clear();
            continue;
        }
        let inserted = insertions(text, wrong).filter(|_| keyword == "param");
        let uses = uses(text, wrong).filter(|at| *at != d.span.range()).chain(inserted);
        let uses = uses.map(|at| Edit { span: Span::new(id, at), text: right.clone() });
        let uses: Vec<Edit> = uses.collect();
        d.edits.extend(uses);
    }
}

/// `axis sеqs`, of which a letter is another alphabet's: to the eye the name may be right.
pub(super) fn foreign_letter(
    d: Diagnostic,
    text: &str,
    keyword: &str,
    name: &str,
    foreign: char,
) -> Diagnostic {
    let d = d.label(format!("`{foreign}` (U+{:04X}) is no letter of a name", u32::from(foreign)));
    let right: Option<String> = name.chars().map(invisible::looks_like).collect();
    match right.filter(|right| !is_declared(text, keyword, right)) {
        Some(right) => {
            let span = d.span;
            d.help(format!("it only looks like one: write `{right}` in plain letters")).edit(span, right)
        }
        None => d.help("write it in the letters `a` to `z`, digits and `_`"),
    }
}

pub(super) fn is_declared(text: &str, keyword: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(keyword) && words.next() == Some(name)
    })
}

/// What a file calls something whose name is none, where that differs from it, and from what it would be called, only in case and in how words
/// are joined: `vllm_base` of `VllmBase`. A longer file is written by a machine, and each such name would have all of it read.
pub(super) fn as_used<'t>(text: &'t str, keyword: &str, wrong: &str, right: &str) -> Option<&'t str> {
    const MOST_BYTES: usize = 1 << 15;
    let joined = |w: &str| w.replace(['_', '-', '.'], "").to_ascii_lowercase();
    let called = joined(wrong);
    if text.len() > MOST_BYTES || !called.is_ascii() || called.is_empty() {
        return None;
    }
    let named = |w: &&str| {
        let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        w.len() >= called.len() && w.starts_with(|c: char| c.is_ascii_lowercase()) && w.chars().all(snake)
    };
    let is_used = |w: &str| {
        uses(text, w).next().is_some() || keyword == "param" && insertions(text, w).next().is_some()
    };
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(named);
    let mut alike: Vec<&str> = words.filter(|w| joined(w) == called).collect();
    alike.sort_unstable();
    alike.dedup();
    alike.retain(|w| is_used(w) && !DECLARATIONS.iter().any(|keyword| is_declared(text, keyword, w)));
    match alike.as_slice() {
        [only] if *only != right => Some(only),
        _ => None,
    }
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Words behind which no name of the file stands, but what they say it of: `default FP8`, `env FP8=1`.
const OF_VALUES: [&str; 13] = [
    "default", "env", "one_of", "known", "keys", "words", "repeated", "api", "args", "stop", "data", "via",
    "arrivals",
];

/// Where a name stands as a word of its own: in no text or comment, and neither as a value nor as a point's own name.
fn uses<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    // a value goes on to the end of its word, a list of values to its bracket; of lists only `engine[V, w]` names something
    let (mut depth, mut listed) = (0_usize, false);
    // the word that ends here or, behind spaces, ended last; and where what stands without a space before this begins
    let (mut word, mut glued) = (0..0, 0);
    Scanner::new(text).filter_map(move |(at, piece)| {
        let byte = text.as_bytes()[at];
        let last = text.get(word.clone()).unwrap_or_default();
        match piece {
            Piece::Open(b'[') => {
                depth += 1;
                listed |= !(word.end == at && last == "engine");
            }
            Piece::Close(b']') => {
                depth = depth.saturating_sub(1);
                listed &= depth > 0;
            }
            _ => {}
        }
        let here = matches!(piece, Piece::Other) && text.get(at..).is_some_and(|rest| rest.starts_with(name));
        let end = at + name.len();
        let alone = here && !text[..at].ends_with(in_word) && !text[end..].starts_with(in_word);
        let valued =
            || OF_VALUES.contains(&last) || text[..at].ends_with('=') || text[glued..at].starts_with('-');
        let found = alone && !listed && !valued() && !names_a_point(&text[end..]);
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            glued = at + 1;
        }
        if piece == Piece::Other && (byte.is_ascii_alphanumeric() || byte >= 0x80 || b"_-.".contains(&byte)) {
            word = if word.end == at { word.start..at + 1 } else { at..at + 1 };
        } else if !matches!(byte, b' ' | b'\t') {
            word = at..at;
        }
        found.then_some(at..end)
    })
}

/// Whether what was before this is the name of a point: `fp8: --q=fp8`, with or without a title.
fn names_a_point(behind: &str) -> bool {
    let rest = behind.trim_start_matches([' ', '\t']);
    let title = rest.strip_prefix('"').and_then(|t| t.lines().next()?.split_once('"'));
    title.map_or(rest, |(_, rest)| rest.trim_start_matches([' ', '\t'])).starts_with(':')
}

/// Where a text inserts a param: its name in single braces.
fn insertions<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    let texts = Scanner::new(text).filter_map(|(at, piece)| match piece {
        Piece::Text(end) => Some(at..end),
        _ => None,
    });
    texts.flat_map(move |place| {
        let mut at = place.start;
        std::iter::from_fn(move || {
            loop {
                at += text[at..place.end].find(['{', '}'])?;
                let rest = &text[at..place.end];
                if rest.starts_with("{{") || rest.starts_with("}}") {
                    at += 2;
                    continue;
                }
                at += 1;
                if rest[1..].strip_prefix(name).is_some_and(|r| r.starts_with('}')) {
                    return Some(at..at + name.len());
                }
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_spelled_as_it_is_used() {
        let text = "study s { baseline vllm_base }";
        assert_eq!(as_used(text, "engine", "VllmBase", "vllmbase"), Some("vllm_base"));
        assert_eq!(as_used(text, "engine", "Vllm_Base", "vllm_base"), None);
        assert_eq!(as_used("serve \"{max_len}\"", "param", "MaxLen", "maxlen"), Some("max_len"));
        for other in ["", "engine vllm_base = v {", "a vllm_base vllm__base", "# vllm_base", "--x=vllm_base"]
        {
            assert_eq!(as_used(other, "engine", "VllmBase", "vllmbase"), None, "{other}");
        }
    }

    #[test]
    fn names_are_found_where_they_stand_for_something() {
        let text = "engine V = x { --y=V --z=[V, W] \"V\" }\nstep a { vary engine[V, w] } # V\nbaseline V";
        let found: Vec<usize> = uses(text, "V").map(|r| r.start).collect();
        assert_eq!(found, [7, text.find("[V, w").unwrap_or(0) + 1, text.len() - 1]);
    }
}
