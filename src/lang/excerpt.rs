//! What a diagnostic shows of its file: a few lines around each of its places, the block of the mistake itself before the others.
//!
//! miette reads a whole text, from its beginning for every place, shows places in their order and what lies between two of them. It is
//! given the blocks one behind the other instead, and is told what lines they are. Of a line that is longer than the screen is wide it gets
//! the part around the place, so that the marks below it stay where they belong.

use std::ops::Range;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

use super::pictures::pictured;
use super::source::Source;

/// Lines shown before and after a place, as miette does it.
const AROUND: usize = 1;

/// Stands for the part of a line that is left out.
const CUT: char = '…';

/// Blocks of one file, as a screen may show them.
#[derive(Debug)]
pub(super) struct Excerpts<'a> {
    name: String,
    source: &'a Source,
    text: String,
    blocks: Vec<Block>,
}

/// Lines that are shown together.
#[derive(Debug)]
struct Block {
    /// of the file, from 0; the last one is shown
    lines: Range<usize>,
    /// bytes of the file, a few lines more than are shown
    bytes: Range<usize>,
    /// its lines of which a part is shown only, in order
    cuts: Vec<Cut>,
    /// where they stand in the excerpts' text
    shown: Range<usize>,
}

/// A line that is too long, and the part of it that is shown, in bytes of the file.
#[derive(Debug)]
struct Cut {
    line: Range<usize>,
    kept: Range<usize>,
}

impl<'a> Excerpts<'a> {
    /// Around places of a file, the first of which comes first; of longer lines only so many characters are shown.
    pub fn new(source: &'a Source, places: &[Range<usize>], longest: usize) -> Self {
        let mut blocks = Vec::new();
        let mut sorted: Vec<&Range<usize>> = places.iter().collect();
        sorted.sort_by_key(|p| (p.start, p.end));
        for place in sorted {
            add(&mut blocks, source, place);
        }
        if let Some(main) = places.first() {
            // the end of the file is in its last block
            blocks.sort_by_key(|b| main.start < b.bytes.start || b.bytes.end < main.start);
        }
        let mut text = String::new();
        for block in &mut blocks {
            let from = text.len();
            block.cuts = cuts(&source.text, &block.bytes, places, longest);
            block.draw(&source.text, block.bytes.end, &mut text);
            block.shown = from..text.len();
        }
        Self { name: pictured(&source.name).into_owned(), source, text, blocks }
    }

    /// Where a place of the file stands here; nothing where no block holds it.
    pub fn place(&self, place: &Range<usize>) -> Option<SourceSpan> {
        let held = |b: &&Block| b.bytes.start <= place.start && place.end <= b.bytes.end;
        let block = self.blocks.iter().find(held)?;
        // pictures are longer than what they show
        let at = |offset: usize| {
            let mut before = String::new();
            if self.source.text.is_char_boundary(offset) {
                block.draw(&self.source.text, offset, &mut before);
            }
            block.shown.start + before.len()
        };
        let start = at(place.start);
        Some(SourceSpan::from((start, at(place.end).saturating_sub(start))))
    }
}

/// Adds the lines around a place, to the block before where they go on there.
fn add(blocks: &mut Vec<Block>, source: &Source, place: &Range<usize>) {
    let (lines, bytes) = source.lines_around(place, AROUND);
    match blocks.last_mut() {
        Some(last) if lines.start <= last.lines.end => {
            last.lines.end = last.lines.end.max(lines.end);
            last.bytes.end = last.bytes.end.max(bytes.end);
        }
        _ => blocks.push(Block { lines, bytes, cuts: Vec::new(), shown: 0..0 }),
    }
}

impl Block {
    /// Writes what is shown of its text up to a place in it.
    fn draw(&self, text: &str, end: usize, out: &mut String) {
        let mut at = self.bytes.start;
        for cut in self.cuts.iter().take_while(|cut| cut.line.start < end) {
            out.push_str(&pictured(&text[at..cut.line.start]));
            if cut.line.start < cut.kept.start && cut.kept.start < end {
                out.push(CUT);
            }
            out.push_str(&pictured(&text[cut.kept.start..end.clamp(cut.kept.start, cut.kept.end)]));
            if cut.kept.end < cut.line.end && cut.line.end <= end {
                out.push(CUT);
            }
            at = cut.line.end.min(end);
        }
        out.push_str(&pictured(&text[at..end]));
    }

    /// By how many bytes a place in one of its lines, from 0, is further on in the file than in what is shown, as far as that is for a part
    /// that is left out before it.
    fn left_out(&self, text: &str, line: usize, column: usize) -> usize {
        let starts = |cut: &&Cut| text[self.bytes.start..cut.line.start].matches('\n').count() == line;
        let cut = self.cuts.iter().find(starts).filter(|cut| column > 0 && cut.kept.start > cut.line.start);
        cut.map_or(0, |cut| (cut.kept.start - cut.line.start).saturating_sub(CUT.len_utf8()))
    }
}

/// Of which lines a part is shown, the one around the first place in it.
fn cuts(text: &str, block: &Range<usize>, places: &[Range<usize>], longest: usize) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut start = block.start;
    for whole in text[block.clone()].split_inclusive('\n') {
        let line = start..start + whole.trim_end_matches(['\n', '\r']).len();
        start += whole.len();
        let count = if line.len() > longest { text[line.clone()].chars().count() } else { 0 };
        if count > longest {
            let here = |p: &&Range<usize>| line.start <= p.start && p.start <= line.end;
            let place =
                places.iter().find(here).map_or(line.start..line.start, |p| p.start..p.end.min(line.end));
            let (before, marked) = (&text[line.start..place.start], &text[place]);
            let first = first_shown(before.chars().count(), marked.chars().count(), count, longest);
            let byte = |n: usize| {
                text[line.clone()].char_indices().nth(n).map_or(line.end, |(at, _)| line.start + at)
            };
            let room = longest - usize::from(first > 0);
            let end = if first + room >= count { line.end } else { byte(first + room - 1) };
            cuts.push(Cut { kept: byte(first)..end, line });
        }
    }
    cuts
}

/// The first character that is shown of a line of `count`: its first, if the marked ones are among the `longest` that are shown then,
/// else one that leaves some before the mark.
fn first_shown(before: usize, marked: usize, count: usize, longest: usize) -> usize {
    if before + marked.min(longest / 2) < longest {
        return 0;
    }
    (before - longest / 4).min(count - (longest - 1))
}

impl SourceCode for Excerpts<'_> {
    fn read_span<'s>(
        &'s self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'s> + 's>, MietteError> {
        let end = span.offset() + span.len();
        let block = self.blocks.iter().find(|b| b.shown.start <= span.offset() && end <= b.shown.end);
        let block = block.ok_or(MietteError::OutOfBounds)?;
        let within = SourceSpan::from((span.offset() - block.shown.start, span.len()));
        let read = self.text[block.shown.clone()].read_span(&within, before, after)?;
        let shown = SourceSpan::from((block.shown.start + read.span().offset(), read.span().len()));
        let lines = read.data().split(|b| *b == b'\n').count();
        let line = block.lines.start + read.line();
        let name = self.name.clone();
        let column = read.column() + block.left_out(&self.source.text, read.line(), read.column());
        Ok(Box::new(MietteSpanContents::new_named(name, read.data(), shown, line, column, lines)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of a source: its bytes, and where it begins.
    fn read(source: &dyn SourceCode, span: SourceSpan) -> Option<(String, usize, usize)> {
        let read = source.read_span(&span, AROUND, AROUND).ok()?;
        Some((String::from_utf8_lossy(read.data()).into_owned(), read.line(), read.column()))
    }

    #[test]
    fn one_place_is_shown_as_miette_shows_it_of_the_whole_text() {
        let text = "one\ntwo\n\nfour é\nfive\r\nsix\n\n\nnine";
        let source = Source::new("x", text);
        let splits = |n: &usize| text.is_char_boundary(*n) && !text[..*n].ends_with('\r');
        let ends = (0..=text.len()).filter(splits);
        for start in ends.clone() {
            for end in ends.clone().filter(|end| *end >= start) {
                let place = start..end;
                let excerpts = Excerpts::new(&source, std::slice::from_ref(&place), 100);
                let here = excerpts.place(&place).unwrap();
                let whole = read(&text, SourceSpan::from((start, end - start)));
                assert_eq!(read(&excerpts, here), whole, "{start}..{end}");
            }
        }
    }

    #[test]
    fn the_block_of_the_mistake_comes_first_and_far_places_are_blocks_of_their_own() {
        let lines: Vec<String> = (1..=100).map(|n| format!("line {n}")).collect();
        let text = lines.join("\n");
        let at = |line: &str| text.find(line).map(|n| n..n + line.len()).unwrap();
        let source = Source::new("x", &*text);
        let places = [at("line 80"), at("line 20"), at("line 82"), at("line 23")];
        let excerpts = Excerpts::new(&source, &places, 100);
        let first: Vec<usize> = excerpts.blocks.iter().map(|b| b.lines.start + 1).collect();
        assert_eq!(first, [79, 19], "lines that touch are one block");
        for place in places {
            let here = excerpts.place(&place).unwrap();
            assert_eq!(excerpts.text[here.offset()..here.offset() + here.len()], text[place]);
        }
    }

    #[test]
    fn a_place_behind_a_control_character_is_found_behind_its_picture() {
        let source = Source::new("x", "a\u{1b}[1mbc");
        let place = 5..6;
        let excerpts = Excerpts::new(&source, std::slice::from_ref(&place), 100);
        let here = excerpts.place(&place).unwrap();
        assert_eq!((excerpts.text.as_str(), &excerpts.text[here.offset()..][..here.len()]), ("a␛[1mbc", "b"));
    }

    #[test]
    fn of_a_long_line_the_part_around_the_place_is_shown() {
        let text = format!("short\n{}MISTAKE{}\nshort", "é".repeat(300), "x".repeat(300));
        let source = Source::new("x", &*text);
        let at = text.find("MISTAKE").unwrap();
        for (place, begins, ends) in
            [(at..at + 7, true, true), (6..8, false, true), (text.len() - 9..text.len() - 7, true, false)]
        {
            let excerpts = Excerpts::new(&source, std::slice::from_ref(&place), 40);
            let line = excerpts.text.lines().find(|l| *l != "short").unwrap();
            assert_eq!(line.chars().count(), 40, "{line}");
            assert_eq!((line.starts_with(CUT), line.ends_with(CUT)), (begins, ends), "{line}");
            let here = excerpts.place(&place).unwrap();
            assert_eq!(excerpts.text[here.offset()..here.offset() + here.len()], text[place.clone()]);
            let read = excerpts.read_span(&here, 0, 0).unwrap();
            assert_eq!((read.line(), read.column()), (1, place.start - 6), "the place in the file is told");
        }
    }

    #[test]
    fn any_place_of_a_long_line_is_shown_within_it() {
        let text = "é".repeat(120) + "\r\n" + &"ab".repeat(60);
        let source = Source::new("x", &*text);
        let ends: Vec<usize> = (0..=text.len()).filter(|n| text.is_char_boundary(*n)).collect();
        for start in &ends {
            for end in ends.iter().filter(|end| *end >= start) {
                let place = *start..*end;
                let excerpts = Excerpts::new(&source, std::slice::from_ref(&place), 20);
                assert!(excerpts.text.lines().all(|l| l.chars().count() == 20), "{}", excerpts.text);
                let here = excerpts.place(&place).unwrap();
                assert!(excerpts.text.get(here.offset()..here.offset() + here.len()).is_some(), "{place:?}");
            }
        }
    }
}
