//! The first line of a block that stands twice: spaces take the place of the second one, so that the rest is read.

use std::ops::Range;

use super::blocks::first_word;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// The text without the second of two lines that are the same and begin the same block.
pub fn once(id: FileId, text: &mut String, sink: &mut Sink) {
    let lines = lines(text);
    let code = |l: &Range<usize>| {
        let line = &text[l.clone()];
        line[..start_of_comment(line).unwrap_or(line.len())].trim()
    };
    let mut gone = Vec::new();
    for pair in lines.windows(2) {
        let (above, line) = (code(&pair[0]), code(&pair[1]));
        let head = matches!(
            first_word(line),
            "engine" | "profile" | "study" | "site" | "step" | "track" | "axis" | "use"
        );
        if head && line.ends_with('{') && above == line && line.matches('{').count() == 1 {
            let start = pair[1].start + text[pair[1].clone()].find(line).unwrap_or(0);
            let d = Diagnostic::new(
                Code::Unexpected,
                Span::new(id, start..start + line.len()),
                "the first line of this block stands twice",
            );
            let d = d.label("the second one").help("remove it");
            sink.push(d.edit(Span::new(id, pair[0].end..pair[1].end), ""));
            gone.push(pair[1].clone());
        }
    }
    for line in gone {
        blank(text, line);
    }
}

/// Where the lines of a text stand, without their ends.
pub(super) fn lines(text: &str) -> Vec<Range<usize>> {
    let ends = |(at, line): (usize, &str)| at..at + line.trim_end_matches(['\n', '\r']).len();
    let whole =
        text.split_inclusive('\n').scan(0, |at, line| Some((std::mem::replace(at, *at + line.len()), line)));
    whole.map(ends).collect()
}

/// Spaces in the place of a part of a text, line ends apart.
pub(super) fn blank(text: &mut String, place: Range<usize>) {
    let spaces: String = text[place.clone()]
        .bytes()
        .map(|b| if matches!(b, b'\n' | b'\r') { char::from(b) } else { ' ' })
        .collect();
    text.replace_range(place, &spaces);
}
