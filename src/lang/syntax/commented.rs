//! The first line of a block behind a `#`, above the lines of the block and its `}`: it is read as if it were no comment, so that what stands
//! below it is no mistake of its own.

use std::ops::Range;

use super::blocks::first_word;
use super::lexical::{self, depth};
use super::nesting::indent;
use super::twice::lines;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// Puts a space in the place of each such `#`. Whether that or the rest of the block was meant to be one, people say.
pub(super) fn heads(id: FileId, text: &mut String, sink: &mut Sink) {
    let mut gone = Vec::new();
    for part in parts(text) {
        // of a part in which as many braces close as open none is missing
        if depth(&text[part.clone()]) >= 0 {
            continue;
        }
        let lines: Vec<Range<usize>> = lines(&text[part.clone()])
            .into_iter()
            .map(|l| part.start + l.start..part.start + l.end)
            .collect();
        let open = lines.iter().enumerate().filter_map(|(n, line)| {
            let hash = head(&text[line.clone()])?;
            is_left(text, &lines[n + 1..], indent(&text[line.clone()])).then_some(line.start + hash)
        });
        gone.extend(open);
    }
    for at in gone {
        let line = text[at..].lines().next().unwrap_or_default().trim_end();
        let d = Diagnostic::new(
            Code::NotADeclaration,
            Span::new(id, at..at + line.len()),
            "the first line of this block is a comment, and what stands below it is none",
        );
        let d = d.label("a comment").help("remove the `#`, or put one before each line of the block");
        sink.push(d);
        text.replace_range(at..=at, " ");
    }
}

/// The parts of a text between blocks at the margin that are closed: what is missing in one is not made up for by another.
fn parts(text: &str) -> Vec<Range<usize>> {
    let mut ends: Vec<usize> = lines(text)
        .into_iter()
        .filter(|line| text[line.clone()].starts_with('}'))
        .map(|line| line.end)
        .collect();
    ends.push(text.len());
    let starts = std::iter::once(0).chain(ends.clone());
    starts.zip(ends).map(|(start, end)| start..end).filter(|part| !part.is_empty()).collect()
}

/// Where the `#` stands of a line that would begin a block without it.
fn head(line: &str) -> Option<usize> {
    let hash = line.len() - line.trim_start().len();
    let inner = line[hash..].strip_prefix('#')?.trim();
    let word = first_word(inner);
    let known = match hash {
        0 => matches!(word, "study" | "engine" | "profile" | "site"),
        _ => matches!(word, "step" | "track"),
    };
    let named = inner[word.len()..].starts_with([' ', '\t']);
    (known && named && inner.ends_with('{') && lexical::depth(inner) == 1).then_some(hash)
}

/// Whether lines further in follow, and then a `}` as far to the left, which nothing below the head opens.
fn is_left(text: &str, below: &[Range<usize>], column: usize) -> bool {
    let said = || below.iter().map(|l| &text[l.clone()]).filter(|l| !l.trim().is_empty());
    let inner = said().take_while(|l| indent(l) > column);
    let (mut count, mut open) = (0, 0);
    for line in inner {
        if !line.trim_start().starts_with('#') {
            count += 1;
        }
        open += depth(line);
    }
    let end = said().find(|l| indent(l) <= column);
    count > 0 && open == 0 && end.is_some_and(|l| indent(l) == column && l.trim() == "}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, usize) {
        let (mut mended, mut sink) = (text.to_owned(), Sink::default());
        heads(FileId::default(), &mut mended, &mut sink);
        (mended, sink.count())
    }

    #[test]
    fn a_first_line_is_read_where_the_rest_of_its_block_is_there() {
        let text = "profile day {\n    rate 1/s\n}\n# profile night = day {\n    rate 2/s\n}\n";
        assert_eq!(read(text), (text.replacen('#', " ", 1), 1));
        let inner = "study s {\n    track v {\n    }\n    # track w {\n        step a { vary x }\n    }\n}\n";
        assert_eq!(read(inner), (inner.replacen('#', " ", 1), 1));
    }

    #[test]
    fn a_block_that_is_a_comment_stays_one() {
        for text in [
            "# profile night = day {\n#    rate 2/s\n# }\n",
            "profile day {\n    # step a {\n    rate 2/s\n}\n",
            "# study s {\nuse std/engines { sim }\n",
        ] {
            assert_eq!(read(text), (text.to_owned(), 0));
        }
    }
}
