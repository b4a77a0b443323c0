//! A document on its way into a file, masked piece by piece: that of a long study is too large to be held as text, let alone as a tree.

use std::io::{self, Write};
use std::sync::Arc;

use super::document;
use super::known::{mask_document, masker};
use super::mask::{Masker, is_variable};

/// Takes an object of indented JSON, however it is cut, and gives on its fields, and the elements of its fields' lists, as each is whole.
/// Call [`DocumentWriter::finish`]: a last line without an end waits for it.
pub struct DocumentWriter<W: Write> {
    to: W,
    masker: Arc<Masker>,
    line: Vec<u8>,
    piece: String,
    within: Within,
}

/// Where the next line stands.
#[derive(PartialEq, Eq)]
enum Within {
    Document,
    /// in a field that is one piece
    Field,
    /// in a field's list, whose elements are pieces
    List,
}

/// What makes a document of a piece, so that it is masked as it would be in its own: a field's and an element's.
const FIELD: [&str; 2] = ["{\n", "\n}"];
const ELEMENT: [&str; 2] = ["{\n  \"of\": [\n", "\n  ]\n}"];

impl<W: Write> DocumentWriter<W> {
    /// With everything that this process knows.
    pub fn new(to: W) -> Self {
        Self::with(masker(), to)
    }

    fn with(masker: Arc<Masker>, to: W) -> Self {
        Self { to, masker, line: Vec::new(), piece: String::new(), within: Within::Document }
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
        match self.within {
            Within::Document if depth == 2 && lists(body) => {
                self.within = Within::List;
                self.to.write_all(&line)?;
            }
            Within::Document if depth == 2 => {
                self.piece.push_str(&text);
                if opens {
                    self.within = Within::Field;
                } else {
                    self.give_on(FIELD)?;
                }
            }
            Within::Document => self.to.write_all(mask_document(&text).as_bytes())?,
            Within::Field => {
                self.piece.push_str(&text);
                if depth == 2 {
                    self.give_on(FIELD)?;
                    self.within = Within::Document;
                }
            }
            Within::List if depth == 2 => {
                self.within = Within::Document;
                self.to.write_all(&line)?;
            }
            Within::List => {
                self.piece.push_str(&text);
                if depth == 4 && !opens {
                    self.give_on(ELEMENT)?;
                }
            }
        }
        self.line = line;
        self.line.clear();
        Ok(())
    }

    /// Writes the piece, with the comma that may follow it.
    fn give_on(&mut self, [before, after]: [&str; 2]) -> io::Result<()> {
        let bare = self.piece.trim_end().trim_end_matches(',');
        let rest = &self.piece[bare.len()..];
        let alone = [before, bare, after].concat();
        let masked = document::masked(&self.masker, &alone);
        let bare = masked.as_deref().map_or(bare, |text| &text[before.len()..text.len() - after.len()]);
        self.to.write_all(bare.as_bytes())?;
        self.to.write_all(rest.as_bytes())?;
        self.piece.clear();
        Ok(())
    }
}

/// Whether this line begins a list whose elements may be looked at one by one.
fn lists(body: &str) -> bool {
    let name = body.strip_suffix(": [").and_then(|name| serde_json::from_str::<String>(name).ok());
    name.is_some_and(|name| !is_variable(&name))
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
