//! An answer that comes as one document (`stream: false`): collected as it comes, and read when it is whole. Only its end has a time
//! that says something of the generation.

use super::meter::{Reading, StreamMeter, StreamReport};
use super::record::Failure;
use super::sse::MAX_EVENT;

/// An answer being measured, in either form.
#[derive(Debug)]
pub(super) enum Meter {
    /// It comes token by token.
    Stream(Box<StreamMeter>),
    /// It comes as a whole.
    Whole(WholeMeter),
}

impl Meter {
    /// Takes bytes that came at `at_ns`; returns how many chunks of generated text are known to have come with them.
    pub(super) fn bytes(&mut self, at_ns: u64, bytes: &[u8]) -> usize {
        match self {
            Self::Stream(meter) => meter.bytes(at_ns, bytes),
            Self::Whole(meter) => {
                meter.bytes(at_ns, bytes);
                0
            }
        }
    }

    /// Whether the answer has begun: generated text has come, or bytes of the document.
    pub(super) fn has_begun(&self) -> bool {
        match self {
            Self::Stream(meter) => meter.has_text(),
            Self::Whole(meter) => meter.ended_ns.is_some(),
        }
    }

    /// Whether nothing that follows can matter.
    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Stream(meter) => meter.is_done(),
            Self::Whole(meter) => meter.too_long,
        }
    }

    /// Ends the answer, as [`StreamMeter::finish`].
    pub(super) fn finish(self, at_ns: u64, end: Result<(), Failure>, required: Option<u32>) -> StreamReport {
        match self {
            Self::Stream(meter) => meter.finish(at_ns, end, required),
            Self::Whole(meter) => meter.finish(end, required),
        }
    }
}

/// A document being collected.
#[derive(Debug, Default)]
pub(super) struct WholeMeter {
    body: Vec<u8>,
    /// When its last bytes so far came.
    ended_ns: Option<u64>,
    too_long: bool,
}

impl WholeMeter {
    fn bytes(&mut self, at_ns: u64, bytes: &[u8]) {
        self.ended_ns = Some(at_ns);
        self.too_long |= self.body.len() + bytes.len() > MAX_EVENT;
        if !self.too_long {
            self.body.extend_from_slice(bytes);
        }
    }

    /// All tokens are one chunk, which came with the document's last bytes.
    fn finish(self, end: Result<(), Failure>, required: Option<u32>) -> StreamReport {
        let mut reading = Reading::default();
        if self.too_long {
            reading.bad(format!("an answer of more than {MAX_EVENT} bytes"));
        } else if let (Ok(()), Some(at_ns)) = (&end, self.ended_ns) {
            reading.document(at_ns, &self.body);
        }
        reading.report(end, required)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::record::{FailureKind, Outcome, TokenSource};
    use super::*;

    fn measure(body: &[u8], required: Option<u32>) -> StreamReport {
        let mut meter = Meter::Whole(WholeMeter::default());
        for (at, piece) in (1..).zip(body.chunks(100)) {
            assert_eq!(meter.bytes(at, piece), 0);
            assert!(meter.has_begun() && !meter.is_done());
        }
        meter.finish(u64::MAX, Ok(()), required)
    }

    fn failed(body: &str) -> (FailureKind, String) {
        match measure(body.as_bytes(), None).outcome {
            Outcome::Failed(failure) => (failure.kind, failure.message),
            other => panic!("{body}: {other:?}"),
        }
    }

    #[test]
    fn answers_of_real_servers_are_one_chunk_with_the_server_s_count() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/whole");
        let engines = std::fs::read_dir(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
        let mut seen = 0;
        for engine in engines.map(|entry| entry.expect("readable").path()).filter(|path| path.is_dir()) {
            for file in std::fs::read_dir(&engine).expect("readable") {
                let path = file.expect("readable").path();
                let raw = std::fs::read(&path).expect("readable");
                let body = raw.windows(4).position(|w| w == b"\r\n\r\n").expect("headers") + 4;
                let report = measure(&raw[body..], Some(6));
                let tokens = if path.ends_with("chat-reasoning.json") { 13 } else { 6 };
                let name = path.display();
                assert_eq!(report.outcome, Outcome::Ok, "{name}");
                assert_eq!((report.output_tokens, report.counted_by), (tokens, TokenSource::Usage), "{name}");
                assert!(report.usage.prompt_tokens.is_some_and(|n| n > 10), "{name}");
                let last = (raw.len() - body).div_ceil(100) as u64;
                assert_eq!(report.chunks.iter().map(|c| (c.0, c.1)).collect::<Vec<_>>(), [(last, tokens)]);
                assert!(report.unknown_text.is_empty(), "{name}: {:?}", report.unknown_text);
                assert_eq!(report.finish_reason.as_deref(), Some("length"), "{name}");
                assert_eq!(measure(&raw[body..], Some(14)).outcome, Outcome::Short, "{name}");
                seen += 1;
            }
        }
        assert!(seen > 8, "only {seen} answers");
    }

    #[test]
    fn a_whole_answer_of_sglang_has_its_counts_too() {
        let body = r#"{"text":" a b","output_ids":[5,6],"meta_info":{"id":"8cb4","finish_reason":{"type":"length","length":2},"prompt_tokens":12,"completion_tokens":2,"cached_tokens":0,"e2e_latency":0.2}}"#;
        let report = measure(body.as_bytes(), Some(2));
        assert_eq!((report.outcome, report.output_tokens, report.chunks.len()), (Outcome::Ok, 2, 1));
        assert_eq!(report.usage.prompt_tokens, Some(12));
        let error = failed(r#"{"error":{"message":"The input is too long"}}"#);
        assert_eq!(error.0, FailureKind::StreamError);
    }

    #[test]
    fn what_is_no_answer_fails_by_its_kind() {
        use FailureKind::{BadStream, NoFinishReason, NoTokens, StreamError};
        let error = failed(r#"{"error":{"message":"gone","code":500}}"#);
        assert_eq!(error, (StreamError, "gone".to_owned()));
        assert_eq!(failed(r#"{"object":"error","message":"gone"}"#).0, StreamError);
        assert_eq!(failed("").0, NoTokens);
        let (kind, said) = failed("data: {\"choices\":[]}\n\n");
        assert_eq!(kind, BadStream);
        assert!(said.contains("no JSON document") && said.contains("data: {"), "{said}");
        assert_eq!(failed(r#"{"choices":[{"text":"a","fin"#).0, BadStream, "cut off");
        assert_eq!(failed(r#"{"choices":[{"text":"a"}],"usage":{"completion_tokens":1}}"#).0, NoFinishReason);
        assert_eq!(failed(r#"{"choices":[{"text":"","finish_reason":"stop"}]}"#).0, NoTokens);
        assert_eq!(failed(r#"{"choices":[{"text":"a","finish_reason":"abort"}]}"#).0, StreamError);
    }

    #[test]
    fn an_answer_that_broke_off_is_told_by_how_it_did() {
        let broken = Failure::new(FailureKind::StreamBroken, "cut");
        let mut meter = Meter::Whole(WholeMeter::default());
        meter.bytes(5, br#"{"choices":[{"text":"a","finish_reason":"stop"}]}"#);
        let report = meter.finish(9, Err(broken.clone()), None);
        assert_eq!((report.outcome, report.chunks.len()), (Outcome::Failed(broken), 0));
        let mut endless = Meter::Whole(WholeMeter::default());
        let piece = vec![b' '; 1 << 20];
        for at in 0..=(MAX_EVENT as u64 >> 20) {
            endless.bytes(at, &piece);
        }
        assert!(endless.is_done());
        let report = endless.finish(20, Ok(()), None);
        assert!(matches!(report.outcome, Outcome::Failed(f) if f.kind == FailureKind::BadStream));
    }
}
