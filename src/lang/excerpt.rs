//! What a diagnostic shows of its file: a few lines around each of its places, the block of the mistake itself before the others.
//!
//! miette reads a whole text, from its beginning for every place, shows places in their order and what lies between two of them. It is
//! given the blocks one behind the other instead, and is told what lines they are.

use std::ops::Range;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

use super::pictures::pictured;
use super::source::Source;

/// Lines shown before and after a place, as miette does it.
const AROUND: usize = 1;

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
    /// where they stand in the excerpts' text
    shown: Range<usize>,
}

impl<'a> Excerpts<'a> {
    /// Around places of a file, the first of which comes first.
    pub fn new(source: &'a Source, places: &[Range<usize>]) -> Self {
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
            text.push_str(&pictured(&source.text[block.bytes.clone()]));
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
            let before = self.source.text.get(block.bytes.start..offset).unwrap_or_default();
            block.shown.start + pictured(before).len()
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
        _ => blocks.push(Block { lines, bytes, shown: 0..0 }),
    }
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
        Ok(Box::new(MietteSpanContents::new_named(name, read.data(), shown, line, read.column(), lines)))
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
                let excerpts = Excerpts::new(&source, std::slice::from_ref(&place));
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
        let excerpts = Excerpts::new(&source, &places);
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
        let excerpts = Excerpts::new(&source, std::slice::from_ref(&place));
        let here = excerpts.place(&place).unwrap();
        assert_eq!((excerpts.text.as_str(), &excerpts.text[here.offset()..][..here.len()]), ("a␛[1mbc", "b"));
    }
}
