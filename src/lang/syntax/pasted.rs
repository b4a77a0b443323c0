//! A declaration of one line at the margin within a block that goes on below it, as it comes out when it was pasted there: spaces take its
//! place, so that the block is read. Between the points of an axis it may be indented too: there no setting looks like it.

use std::ops::Range;

use super::blocks::first_word;
use super::lexical::depth;
use super::recover::declared_name;
use super::twice::{blank, lines};
use super::words;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// The text without such lines. The names that they declare are lost.
pub fn within(id: FileId, text: &mut String, sink: &mut Sink, lost: &mut Vec<String>) {
    for (head, places) in found(text) {
        for place in places {
            let line = text[place.clone()].trim_start().to_owned();
            let place = place.end - line.len()..place.end;
            let begin = text[..place.start].rfind('\n').map_or(0, |n| n + 1);
            let (keyword, block) = (first_word(&line), first_word(&text[head..]).to_owned());
            let here = Span::new(id, place.start..place.start + keyword.len());
            let end = place.end + usize::from(text[place.end..].starts_with('\n'));
            let d = Diagnostic::new(
                Code::UnknownSetting,
                here,
                format!("`{keyword}` stands within the block of `{block}`"),
            )
            .label("declared here")
            .help(format!("declare it at the top of the file, above the {block}"))
            .edit(Span::new(id, head..head), format!("{line}\n"))
            .edit(Span::new(id, begin..end), "");
            sink.push(d);
            lost.extend(declared_name(&line));
            blank(text, place);
        }
    }
}

/// Blocks, by where they begin, and the declarations that stand within each.
fn found(text: &str) -> Vec<(usize, Vec<Range<usize>>)> {
    let (mut out, mut open): (Vec<_>, Option<Open>) = (Vec::new(), None);
    for line in lines(text) {
        let code = &text[line.clone()];
        let word = first_word(code);
        let block = matches!(word, "engine" | "profile" | "study" | "site")
            || word == "axis" && code.trim_end().ends_with('{');
        match &mut open {
            Some(o) if is_whole(o.own(code)) && !o.goes_on => o.pasted.push(line),
            Some(o) if block || words::DECLARATIONS.contains(&word) => {
                // the block above was not closed
                o.depth = 0;
                open = Open::at(line.start, code, block);
            }
            Some(o) => {
                o.holds_settings |= o.points && is_setting(code);
                o.depth += depth(code);
                let ends: &[char] = if o.points { &['=', '*', '+'] } else { &['=', ',', '*', '+'] };
                o.goes_on = code.trim_end().ends_with(ends);
                if o.depth <= 0 {
                    // between its own lines, and closed below them
                    let closed = code.starts_with('}') && o.depth == 0 && !o.holds_settings;
                    if closed && !o.pasted.is_empty() {
                        out.push((o.head, std::mem::take(&mut o.pasted)));
                    }
                    open = None;
                }
            }
            None => open = Open::at(line.start, code, block),
        }
    }
    out
}

struct Open {
    head: usize,
    depth: i64,
    /// of an axis
    points: bool,
    /// the line above is not at its end
    goes_on: bool,
    /// lines of a block stand where points should: the points were not closed, and it is that block's first line that is lost
    holds_settings: bool,
    pasted: Vec<Range<usize>>,
}

impl Open {
    fn at(head: usize, line: &str, block: bool) -> Option<Self> {
        let depth = depth(line);
        let points = first_word(line) == "axis";
        let open = Self { head, depth, points, goes_on: false, holds_settings: false, pasted: Vec::new() };
        (block && depth == 1).then_some(open)
    }

    /// What of a line may have been pasted, without the indentation that it was given.
    fn own<'t>(&self, line: &'t str) -> &'t str {
        if self.points && self.depth == 1 { line.trim_start() } else { line }
    }
}

/// Whether a line begins with a word of a study's or a profile's, and names no point: `repeat 3`.
fn is_setting(line: &str) -> bool {
    let line = line.trim_start();
    let word = first_word(line);
    let known = words::STUDY_SETTINGS.contains(&word) || words::PROFILE_SETTINGS.contains(&word);
    known && !line[word.len()..].trim_start().starts_with(['"', ':'])
}

/// A declaration that ends on its line.
fn is_whole(line: &str) -> bool {
    let word = first_word(line);
    let rest = line[word.len()..].trim_start_matches([' ', '\t']);
    let named = rest.starts_with(|c: char| c.is_ascii_lowercase());
    let sets = match word {
        "use" => true,
        "param" | "axis" | "metric" | "engine" | "profile" => rest.contains('='),
        "prune" => rest.contains(" when "),
        _ => false,
    };
    named && sets && depth(line) == 0 && !line.trim_end().ends_with(['=', ',', '*', '+', '[', '('])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<&str> {
        found(text).into_iter().flat_map(|(_, places)| places).map(|place| &text[place]).collect()
    }

    #[test]
    fn a_line_between_those_of_a_block_was_pasted_there() {
        assert_eq!(told("study s {\n    repeat 2\naxis a = -x\n    model \"m\"\n}\n"), ["axis a = -x"]);
        assert_eq!(told("study s {\n    step a {\nparam b = 2\n    }\n}\n"), ["param b = 2"]);
        assert_eq!(told("engine e = v {\naxis a = -x\naxis b = -y\n}\n"), ["axis a = -x", "axis b = -y"]);
    }

    #[test]
    fn between_points_it_may_be_indented() {
        assert_eq!(told("axis q = {\n    a: -y,\n    axis b = -x\n    c: -z\n}\n"), ["    axis b = -x"]);
        assert_eq!(told("axis q = {\n    a: -y\nparam b = 2\n}\n"), ["param b = 2"]);
        assert_eq!(told("axis q = {\n    a: -y\naxis b = -x\n"), [""; 0]);
        assert_eq!(told("axis q = {\n    a: -y\naxis b = -x\n    repeat 3\n}\n"), [""; 0]);
    }

    #[test]
    fn below_a_block_that_is_not_closed_it_is_another_mistake() {
        assert_eq!(told("study s {\n    repeat 2\naxis a = -x\nstudy t {\n}\n"), [""; 0]);
        assert_eq!(told("study s {\n    repeat 2\naxis a = -x\n"), [""; 0]);
        assert_eq!(told("study s {\n}\naxis a = -x\n"), [""; 0]);
        assert_eq!(told("study s {\n    repeat 2\naxis a = [\n    1\n]\n}\n"), [""; 0]);
    }
}
