//! Source text: files by number, byte spans in them, and the line and column that a person counts.
//!
//! Files arrive through the [`Files`] trait, so that the language touches no disk: the command line gives it the real one, tests
//! and editors give it text that was never saved.

use std::ops::Range;

/// Which file of an analysis: an index into [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u32);

/// A range of bytes in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(file: FileId, range: Range<usize>) -> Self {
        Self { file, start: range.start as u32, end: range.end as u32 }
    }

    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// What stands before it in the text of its file. Like all that is found in a text which was put right before it was read, it may
    /// begin within a character.
    #[must_use]
    pub fn before_in(self, text: &str) -> &str {
        &text[..text.floor_char_boundary(self.start as usize)]
    }

    /// What stands behind it in the text of its file.
    #[must_use]
    pub fn behind_in(self, text: &str) -> &str {
        &text[text.ceil_char_boundary(self.end as usize)..]
    }

    /// The line in which it begins, without its end, in the text of its file.
    #[must_use]
    pub fn line_in(self, text: &str) -> Span {
        let from = text.floor_char_boundary(self.start as usize);
        let start = text[..from].rfind('\n').map_or(0, |n| n + 1);
        let end = text[from..].find('\n').map_or(text.len(), |n| from + n);
        Span::new(self.file, start..end)
    }

    /// The same, without the head of an engine whose block begins on it.
    #[must_use]
    pub fn line_of_engine_in(self, text: &str) -> Span {
        let line = self.line_in(text);
        let from = line.start as usize;
        let said = &text[line.range()];
        let head = said.trim_start().starts_with("engine ");
        let body = said.find('{').map(|n| from + n + 1).filter(|n| head && *n <= self.start as usize);
        body.map_or(line, |body| Span::new(self.file, body..line.end as usize))
    }

    /// The smallest one of whole characters that holds it: a name that stands in for one that cannot be read may end within one of those.
    #[must_use]
    pub fn whole_in(self, text: &str) -> Span {
        let start = text.floor_char_boundary(self.start as usize);
        Span::new(self.file, start..text.ceil_char_boundary(self.end as usize).max(start))
    }

    /// The smallest span that holds both.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// An empty span at the start of this one: where something should be inserted.
    #[must_use]
    pub fn before(self) -> Span {
        Span { end: self.start, ..self }
    }
}

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

/// One file's name, as shown to the user, and its text.
#[derive(Debug, Clone)]
pub struct Source {
    pub name: String,
    pub text: String,
    line_starts: Vec<u32>,
}

/// A place as people count it: lines and columns from 1 (columns in characters), the offset in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Place {
    pub line: usize,
    pub column: usize,
    pub offset: usize,
}

impl Source {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let line_starts =
            std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i as u32 + 1)).collect();
        Self { name: name.into(), text, line_starts }
    }

    /// The lines around a place, so many before and after it, by numbers from 0; and their bytes, with a line more, to which what ends
    /// in a line end reaches.
    pub(super) fn lines_around(&self, place: &Range<usize>, around: usize) -> (Range<usize>, Range<usize>) {
        let line_of =
            |offset: usize| self.line_starts.partition_point(|&s| s as usize <= offset).saturating_sub(1);
        let first = line_of(place.start).saturating_sub(around);
        let last = line_of(place.end.saturating_sub(1).max(place.start)) + around;
        let end = self.line_starts.get(last + 2).map_or(self.text.len(), |s| *s as usize);
        (first..last + 1, self.line_starts[first] as usize..end)
    }

    pub fn place(&self, offset: u32) -> Place {
        let offset = (offset as usize).min(self.text.len());
        let line = self.line_starts.partition_point(|&s| s as usize <= offset);
        let start = self.line_starts[line - 1] as usize;
        let column = self.text.get(start..offset).map_or(0, |s| s.chars().count()) + 1;
        Place { line, column, offset }
    }
}

/// All files of one analysis, in the order in which they were met; the root file is the first.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    files: Vec<Source>,
}

impl Sources {
    pub fn add(&mut self, source: Source) -> FileId {
        self.files.push(source);
        FileId(self.files.len() as u32 - 1)
    }

    /// The number here of a file that another analysis of the same root file calls `id`. A root is the root, whatever its text is.
    pub(super) fn known_as(&mut self, id: FileId, source: &Source) -> FileId {
        if id == FileId::default() {
            return id;
        }
        let same = |s: &Source| s.name == source.name && s.text == source.text;
        let at = self.files.iter().skip(1).position(same);
        at.map_or_else(|| self.add(source.clone()), |at| FileId(at as u32 + 1))
    }

    pub fn get(&self, id: FileId) -> &Source {
        &self.files[id.0 as usize]
    }

    pub fn text(&self, span: Span) -> &str {
        self.get(span.file).text.get(span.range()).unwrap_or_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = (FileId, &Source)> {
        self.files.iter().enumerate().map(|(i, s)| (FileId(i as u32), s))
    }
}

/// Where the text of files comes from. Paths are as written in the source, joined to the directory of the file that names them.
pub trait Files {
    /// The text of a file, or in words why it cannot be had.
    fn read(&self, path: &str) -> Result<String, String>;

    /// Names of the study files in the folder of a path, where a name in it may be meant by another; in any order.
    fn beside(&self, _path: &str) -> Vec<String> {
        Vec::new()
    }
}

/// No files at all: for text that uses the standard library alone.
#[derive(Debug, Clone, Copy)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("there are no files here".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_from_one() {
        let s = Source::new("x", "aé\nb");
        assert_eq!(s.place(0), Place { line: 1, column: 1, offset: 0 });
        assert_eq!(s.place(3), Place { line: 1, column: 3, offset: 3 });
        assert_eq!(s.place(4), Place { line: 2, column: 1, offset: 4 });
        assert_eq!(s.place(99).line, 2);
    }
}
