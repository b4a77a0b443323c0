//! A document on its way into a file, masked piece by piece: that of a long study is too large to be held as text, let alone as a tree.

use std::io::{self, Write};
use std::sync::Arc;

use super::document;
use super::known::{mask_document, masker};
use super::mask::{Masker, is_variable};

/// Takes an object of indented JSON, however it is cut, and gives on its fields, and the elements of lists, as each is whole: a list within
/// an element may be most of a document. Call [`DocumentWriter::finish`]: a last line without an end waits for it.
pub struct DocumentWriter<W: Write> {
    to: W,
    masker: Arc<Masker>,
    line: Vec<u8>,
    /// what is not whole yet
    piece: String,
    /// in a field of the document that is one piece
    in_field: bool,
    /// the lists that are open and given on element by element, the innermost last
    lists: Vec<List>,
}

/// A list, and the element of it that is being written.
struct List {
    /// how far to the right its field stands
    depth: usize,
    /// the element has such a list itself, and what stood before that is given on already
    is_split: bool,
}

/// What a piece is: fields of an object, or one element of a list.
#[derive(Clone, Copy)]
enum Piece {
    Fields,
    Element,
}

impl Piece {
    /// What makes a document of it, so that it is masked as it would be in its own.
    fn around(self) -> [&'static str; 2] {
        match self {
            Self::Fields => ["{\n", "\n}"],
            Self::Element => ["{\n  \"of\": [\n", "\n  ]\n}"],
        }
    }

    /// How far to the right it stands there.
    fn depth(self) -> usize {
        match self {
            Self::Fields => 2,
            Self::Element => 4,
        }
    }
}

impl<W: Write> DocumentWriter<W> {
    /// With everything that this process knows.
    pub fn new(to: W) -> Self {
        Self::with(masker(), to)
    }

    fn with(masker: Arc<Masker>, to: W) -> Self {
        Self { to, masker, line: Vec::new(), piece: String::new(), in_field: false, lists: Vec::new() }
    }

    pub fn finish(&mut self) -> io::Result<()> {
        if !self.line.is_empty() {
            self.whole_line()?;
        }
        // of a document that was cut off
        let rest = std::mem::take(&mut self.piece);
        self.to.write_all(mask_document(&rest).as_bytes())?;
        self.to.flush()
    }

    fn whole_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let bare = text.trim_end();
        let body = bare.trim_start_matches(' ');
        let (depth, opens) = (bare.len() - body.len(), body.ends_with(['{', '[']));
        match self.lists.last().map(|list| list.depth) {
            None => self.of_document(&text, body, depth, opens)?,
            Some(list) if depth == list => {
                self.lists.pop();
                self.to.write_all(&line)?;
            }
            Some(list) if depth == list + 4 && lists(body) => {
                self.split()?;
                self.to.write_all(&line)?;
                self.lists.push(List { depth, is_split: false });
            }
            Some(list) => self.of_element(&text, depth == list + 2 && !opens)?,
        }
        self.line = line;
        self.line.clear();
        Ok(())
    }

    fn of_document(&mut self, text: &str, body: &str, depth: usize, opens: bool) -> io::Result<()> {
        if self.in_field || depth == 2 {
            if !self.in_field && lists(body) {
                self.lists.push(List { depth, is_split: false });
                return self.to.write_all(text.as_bytes());
            }
            self.piece.push_str(text);
            self.in_field = depth != 2 || opens && !body.starts_with(['}', ']']);
            if !self.in_field {
                self.give_on(Piece::Fields)?;
            }
            return Ok(());
        }
        self.to.write_all(mask_document(text).as_bytes())
    }

    fn of_element(&mut self, text: &str, ends: bool) -> io::Result<()> {
        let is_split = self.lists.last().is_some_and(|list| list.is_split);
        if ends && is_split {
            self.give_on(Piece::Fields)?;
            self.lists.iter_mut().last().into_iter().for_each(|list| list.is_split = false);
            return self.to.write_all(text.as_bytes());
        }
        self.piece.push_str(text);
        if ends { self.give_on(Piece::Element) } else { Ok(()) }
    }

    /// Gives on what stands in an element before a list of its own.
    fn split(&mut self) -> io::Result<()> {
        let Some(list) = self.lists.last_mut() else { return Ok(()) };
        if !list.is_split {
            list.is_split = true;
            let begin = self.piece.find('\n').map_or(0, |end| end + 1);
            self.to.write_all(&self.piece.as_bytes()[..begin])?;
            self.piece.drain(..begin);
        }
        self.give_on(Piece::Fields)
    }

    /// Writes the piece, with the comma that may follow it.
    fn give_on(&mut self, what: Piece) -> io::Result<()> {
        let bare = self.piece.trim_end().trim_end_matches(',');
        let rest = &self.piece[bare.len()..];
        // most pieces hold nothing that could be a secret
        let masked =
            if self.masker.may_hold(bare.as_bytes()) { masked(&self.masker, bare, what) } else { None };
        self.to.write_all(masked.as_deref().unwrap_or(bare).as_bytes())?;
        self.to.write_all(rest.as_bytes())?;
        self.piece.clear();
        Ok(())
    }
}

/// A piece without its secrets, as far to the right as it stood; `None` if there are none.
fn masked(masker: &Masker, piece: &str, what: Piece) -> Option<String> {
    let [before, after] = what.around();
    let depth = piece.len() - piece.trim_start_matches(' ').len();
    let further = " ".repeat(depth.saturating_sub(what.depth()));
    let alone: Vec<&str> = piece.lines().map(|line| line.strip_prefix(&further).unwrap_or(line)).collect();
    let whole = document::masked(masker, &[before, &alone.join("\n"), after].concat())?;
    let lines = whole[before.len()..whole.len() - after.len()].lines();
    Some(lines.map(|line| format!("{further}{line}")).collect::<Vec<_>>().join("\n"))
}

/// Whether this line begins a list whose elements may be looked at one by one: what is called `value` may be that of a secret flag.
fn lists(body: &str) -> bool {
    let name = body.strip_suffix(": [").and_then(|name| serde_json::from_str::<String>(name).ok());
    name.is_some_and(|name| !is_variable(&name) && name != "value")
}

impl<W: Write> Write for DocumentWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|b| *b == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.whole_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streamed(masker: &Arc<Masker>, text: &str, cut: usize) -> String {
        let mut out = Vec::new();
        let mut writer = DocumentWriter::with(masker.clone(), &mut out);
        for part in text.as_bytes().chunks(cut) {
            writer.write_all(part).expect("memory");
        }
        writer.finish().expect("memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_stream_says_what_the_document_says_wherever_it_is_cut() {
        let masker = Arc::new(Masker::new(["very-secret-value".to_owned()]));
        for document in [
            serde_json::json!({"a": "very-secret-value", "b": [1, {"c": ["very-secret-value"], "d": {}}, "x{"], "e": null}),
            serde_json::json!({"HF_TOKEN": "anything", "env": {"MY_API_KEY": "another"}, "flags": [{"name": "--api-key", "value": "k"}]}),
            serde_json::json!({"MY_KEYS": ["one", {"two": "three"}], "plain": [], "none": {}, "text": "no secret: ["}),
            serde_json::json!({"deep": [[{"MY_KEY": "one"}], [], {}, ["very-secret-value"]], "of": {"list": ["very-secret-value,"]}}),
            serde_json::json!({"only": ["plain", "things [", "\n  ]\n}"], "last": "very-secret-value"}),
            serde_json::json!({"steps": [
                {"name": "a", "rows": [{"k": ["very-secret-value"], "MY_KEY": "x", "n": [{"l": [{"API_KEY": "y"}, 1]}]}, 3, []], "MY_KEY": "z"},
                {"rows": [], "note": "very-secret-value", "also": ["very-secret-value", {"flags": [{"name": "--api-key", "value": ["k"]}]}]},
                {"rows": [{"name": "--api-key", "value": "k"}], "env": {"MY_KEYS": ["one"]}},
                [["very-secret-value"], {"rows": ["very-secret-value"]}],
                "a plain one",
            ], "last": 1}),
            serde_json::json!({}),
        ] {
            let text = serde_json::to_string_pretty(&document).expect("text") + "\n";
            let whole = document::masked(&masker, &text).unwrap_or_else(|| text.clone());
            assert!(!whole.contains("very-secret"), "{whole}");
            for cut in [1, 7, text.len()] {
                assert_eq!(streamed(&masker, &text, cut), whole);
            }
        }
    }

    #[test]
    fn a_long_document_is_never_held() {
        let trials: Vec<_> = (0..10_000).map(|n| serde_json::json!({"id": n, "MY_KEY": "one"})).collect();
        let mut out = Vec::new();
        let mut writer = DocumentWriter::with(Arc::new(Masker::default()), &mut out);
        serde_json::to_writer_pretty(&mut writer, &serde_json::json!({"trials": trials})).expect("memory");
        writer.finish().expect("memory");
        assert!(writer.piece.capacity() + writer.line.capacity() < 4096);
        assert!(out.len() > 400_000 && !String::from_utf8_lossy(&out).contains("one"));
        // nor one that has all of it in one element
        let rows: Vec<_> = (0..10_000).map(|n| serde_json::json!({"id": n, "MY_KEY": "one"})).collect();
        let mut out = Vec::new();
        let mut writer = DocumentWriter::with(Arc::new(Masker::default()), &mut out);
        let steps = serde_json::json!({"steps": [{"name": "all", "rows": rows, "best": "x"}]});
        serde_json::to_writer_pretty(&mut writer, &steps).expect("memory");
        writer.finish().expect("memory");
        assert!(writer.piece.capacity() + writer.line.capacity() < 4096);
        assert!(out.len() > 400_000 && !String::from_utf8_lossy(&out).contains("one"));
    }

    #[test]
    fn what_is_no_indented_document_is_masked_all_the_same() {
        let masker = Arc::new(Masker::default());
        super::super::learn(["streamed-secret".to_owned()]);
        for text in [
            "{\"a\":\"streamed-secret\"}\n",
            "a streamed-secret",
            "{\n  \"a\": {\n    \"b\": \"streamed-secret\"",
        ] {
            assert!(!streamed(&masker, text, 5).contains("streamed-secret"), "{text}");
        }
    }
}
