//! Server-sent events out of bytes, without input or output of its own: a transport hands over what it
//! received, in whatever pieces, and gets back the events that these bytes complete.

/// The most bytes of one event; a server that sends more has lost its framing. Answers of 16 MiB are seen in one event, with their
/// JSON around them.
pub(super) const MAX_EVENT: usize = 64 << 20;

/// One complete event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The `event:` field, empty if there was none.
    pub name: &'a [u8],
    /// The `data:` lines, joined by line feeds. Not checked to be UTF-8.
    pub data: &'a [u8],
}

/// An event grew beyond what is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {limit} bytes")]
pub struct TooLong {
    /// The bytes accepted.
    pub limit: usize,
}

/// The decoder's state between two pieces.
#[derive(Debug)]
pub struct SseDecoder {
    /// The begun line, without its end; of a comment, its colon alone.
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last line ended in CR: an LF that follows belongs to it.
    after_cr: bool,
    at_start: bool,
    forms: Forms,
    limit: usize,
}

/// What a stream holds beside lines `data: …` that are an event each. Clients that look for nothing else stumble over it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forms {
    /// Other fields, data without a space behind the colon, or a comment inside an event.
    pub fields: bool,
    /// Data on several lines.
    pub lines: bool,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT)
    }
}

impl SseDecoder {
    /// A decoder that refuses events of more than `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            at_start: true,
            forms: Forms::default(),
            limit,
        }
    }

    /// What was seen beside the usual form.
    pub(super) fn forms(&self) -> Forms {
        self.forms
    }

    /// Takes the next bytes and calls `sink` for every event that they complete. After an error the decoder
    /// has lost its place and must not be used again.
    pub fn feed(&mut self, mut bytes: &[u8], sink: &mut impl FnMut(SseEvent<'_>)) -> Result<(), TooLong> {
        while !bytes.is_empty() {
            if self.after_cr {
                self.after_cr = false;
                if let Some(rest) = bytes.strip_prefix(b"\n") {
                    bytes = rest;
                    continue;
                }
            }
            if let Some((data, rest)) = self.whole(bytes) {
                sink(SseEvent { name: b"", data });
                bytes = rest;
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                return self.hold(bytes);
            };
            self.after_cr = bytes[end] == b'\r';
            let (piece, rest) = (&bytes[..end], &bytes[end + 1..]);
            if self.is_comment(piece) {
                self.line.clear();
                self.at_start = false;
                self.forms.fields |= self.has_data;
                bytes = rest;
                continue;
            }
            // however it was cut, the same line is too long
            self.check(self.line.len() + piece.len())?;
            if self.line.is_empty() {
                self.line_ended(piece, sink)?;
            } else {
                self.hold(piece)?;
                let line = std::mem::take(&mut self.line);
                self.line_ended(&line, sink)?;
                self.line = line;
                self.line.clear();
            }
            bytes = rest;
        }
        Ok(())
    }

    /// The body has ended: an event whose last empty line is missing is delivered, since some servers leave
    /// it out.
    pub fn finish(&mut self, sink: &mut impl FnMut(SseEvent<'_>)) -> Result<(), TooLong> {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.line_ended(&line, sink)?;
        }
        self.dispatch(sink);
        Ok(())
    }

    /// The data of an event that lies in `bytes` whole and in its usual form, and what follows it: nothing of it is copied.
    fn whole<'b>(&mut self, bytes: &'b [u8]) -> Option<(&'b [u8], &'b [u8])> {
        let begun = self.at_start || self.has_data || !self.line.is_empty() || !self.name.is_empty();
        let value = bytes.strip_prefix(b"data:").filter(|_| !begun)?;
        let value = value.strip_prefix(b" ").unwrap_or_else(|| {
            // where a piece ends behind the colon, its space may follow
            self.forms.fields |= !value.is_empty();
            value
        });
        let end = memchr::memchr2(b'\n', b'\r', value)?;
        let rest = value[end..].strip_prefix(b"\n\n")?;
        let line = bytes.len() - value.len() + end;
        (line <= self.limit).then_some((&value[..end], rest))
    }

    /// Whether a line that goes on with this piece is a comment: nothing of it is needed, and it may be as long as it likes.
    fn is_comment(&self, piece: &[u8]) -> bool {
        self.line.first().or(piece.first()) == Some(&b':')
    }

    fn hold(&mut self, piece: &[u8]) -> Result<(), TooLong> {
        if self.is_comment(piece) {
            self.line.clear();
            self.line.push(b':');
            return Ok(());
        }
        self.check(self.line.len() + piece.len())?;
        self.line.extend_from_slice(piece);
        Ok(())
    }

    fn check(&self, more: usize) -> Result<(), TooLong> {
        if self.data.len() + more > self.limit { Err(TooLong { limit: self.limit }) } else { Ok(()) }
    }

    fn line_ended(&mut self, line: &[u8], sink: &mut impl FnMut(SseEvent<'_>)) -> Result<(), TooLong> {
        let line = if std::mem::take(&mut self.at_start) {
            line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
        } else {
            line
        };
        if line.is_empty() {
            self.dispatch(sink);
            return Ok(());
        }
        let (field, value) = split_field(line);
        match field {
            b"data" => {
                self.check(value.len() + 1)?;
                if self.has_data {
                    self.data.push(b'\n');
                    self.forms.lines = true;
                }
                self.forms.fields |= !line.starts_with(b"data: ");
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.name = value.to_vec();
                self.forms.fields = true;
            }
            // older llama.cpp reports a failure in a field of its own, which the standard would have us
            // ignore
            b"error" => {
                self.check(value.len())?;
                self.dispatch(sink);
                sink(SseEvent { name: b"error", data: value });
            }
            // comments (an empty field name), ids, retry times and whatever is not known
            _ => self.forms.fields |= !field.is_empty(),
        }
        Ok(())
    }

    fn dispatch(&mut self, sink: &mut impl FnMut(SseEvent<'_>)) {
        if std::mem::take(&mut self.has_data) {
            sink(SseEvent { name: &self.name, data: &self.data });
        }
        self.name.clear();
        self.data.clear();
    }
}

/// `field: value`, at most one space after the colon being no part of the value. A comment has an empty
/// field.
fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|b| *b == b':') {
        None => (line, b""),
        Some(colon) => {
            let value = &line[colon + 1..];
            (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Owned = (String, String);

    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Owned> {
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        let mut sink = |e: SseEvent<'_>| {
            events.push((
                String::from_utf8_lossy(e.name).into_owned(),
                String::from_utf8_lossy(e.data).into_owned(),
            ));
        };
        for piece in pieces {
            decoder.feed(piece, &mut sink).expect("below the limit");
        }
        decoder.finish(&mut sink).expect("below the limit");
        events
    }

    fn data(events: &[Owned]) -> Vec<&str> {
        events.iter().map(|(_, data)| data.as_str()).collect()
    }

    #[test]
    fn all_line_ends_comments_and_fields() {
        let text = "\u{feff}data: a\n\n: ping\n:\n\ndata:b\r\n\r\nid: 3\rdata:  c\r\rretry: 5\nevent: error\ndata: d\ndata:\ndata: e\n\n\n\nunknown\n\n";
        let events = decode([text.as_bytes()]);
        assert_eq!(data(&events), ["a", "b", " c", "d\n\ne"]);
        assert_eq!(events[3].0, "error");
        assert_eq!(events[2].0, "", "an event name ends with its event");
    }

    #[test]
    fn a_missing_last_empty_line_and_an_error_field() {
        assert_eq!(data(&decode([&b"data: a\n\ndata: b"[..]])), ["a", "b"]);
        let events = decode([&b"data: a\nerror: {\"code\":500}\n\n"[..]]);
        assert_eq!(
            events,
            [(String::new(), "a".to_owned()), ("error".to_owned(), "{\"code\":500}".to_owned())]
        );
        assert!(decode([&b""[..]]).is_empty());
    }

    #[test]
    fn what_is_not_in_the_usual_form_is_noted() {
        let forms = |text: &str, pieces: usize| {
            let mut decoder = SseDecoder::default();
            for piece in text.as_bytes().chunks(pieces) {
                decoder.feed(piece, &mut |_| {}).expect("below the limit");
            }
            decoder.finish(&mut |_| {}).expect("below the limit");
            let Forms { fields, lines } = decoder.forms();
            (fields, lines)
        };
        for pieces in [1, 3, 5, 1000] {
            let usual = "data: a\n\n: ping\n\ndata: b\n\n:\n\ndata: c\n\n\ndata: [DONE]\n\n";
            assert_eq!(forms(usual, pieces), (false, false));
            for fields in [
                "event: message\ndata: a\n\n",
                "data: a\nid: 5\n\n",
                "retry: 1\n\n",
                "data:a\n\n",
                "data\n\n",
            ] {
                assert_eq!(forms(&format!("{usual}{fields}"), pieces), (true, false), "{fields}");
                assert_eq!(forms(fields, pieces), (true, false), "{fields}");
            }
            assert_eq!(forms("data: a\n: c\n\n", pieces), (true, false));
            assert_eq!(forms("data: a\n\ndata: b\ndata: c\n\n", pieces), (false, true));
        }
    }

    #[test]
    fn an_event_without_end_is_refused_in_one_piece_and_in_many() {
        let mut decoder = SseDecoder::with_limit(100);
        let mut sink = |_: SseEvent<'_>| {};
        let piece = [b'x'; 60];
        assert_eq!(decoder.feed(&piece, &mut sink), Ok(()));
        assert_eq!(decoder.feed(&piece, &mut sink), Err(TooLong { limit: 100 }));
        let mut decoder = SseDecoder::with_limit(100);
        let many = "data: 0123456789\n".repeat(8);
        assert_eq!(decoder.feed(many.as_bytes(), &mut sink), Ok(()));
        assert_eq!(decoder.feed(many.as_bytes(), &mut sink), Err(TooLong { limit: 100 }));
    }

    #[test]
    fn a_comment_may_be_as_long_as_it_likes_and_is_not_kept() {
        let mut decoder = SseDecoder::with_limit(100);
        let mut events = Vec::new();
        let mut sink = |e: SseEvent<'_>| events.push(e.data.to_vec());
        let long = format!(": {}\r\ndata: a\n:{}\ndata: b\n\n", "x".repeat(300), "data: y".repeat(50));
        for pieces in [long.len(), 1, 7] {
            for piece in long.as_bytes().chunks(pieces) {
                decoder.feed(piece, &mut sink).expect("comments are no events");
                assert!(decoder.line.len() < 50);
            }
        }
        assert_eq!(events, [b"a\nb", b"a\nb", b"a\nb"]);
    }

    proptest! {
        #[test]
        fn splits_do_not_matter(
            lines in proptest::collection::vec(("(data|event|:|error|id|)", "[:a é]{0,6}", "(\n|\r\n|\r)"), 0..40),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let mut text = String::new();
            for (field, value, end) in &lines {
                let empty_line = if value.len() > 4 { end } else { "" };
                text.extend([field, ":", value, end, empty_line]);
            }
            let bytes = text.as_bytes();
            let places = cuts.iter().map(|cut| cut.index(bytes.len() + 1));
            let mut cuts: Vec<usize> = places.chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let whole = decode([bytes]);
            prop_assert_eq!(&whole, &decode(cuts.windows(2).map(|w| &bytes[w[0]..w[1]])));
            prop_assert_eq!(&whole, &decode(bytes.chunks(1)));
        }
    }
}
