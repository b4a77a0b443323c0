//! The measure of one stream: bytes and times go in, chunk times, tokens and a verdict come out. No clock and
//! no socket, so that recorded streams of real servers can be replayed through it in any pieces.

use super::event::{Event, error_text, model_in};
use super::record::{Chunk, Failure, FailureKind, Form, Outcome, Textless, TokenSource, UnknownText};
use super::share::{room_for_tokens, spread};
use super::shown::{example, glimpse, message};
use super::sse::{SseDecoder, SseEvent};
use super::template::Template;

/// Of a body without an event so much is kept to be shown,
const BEGINNING: usize = 300;
/// and so much of one that begins as a JSON object: an error may have been sent as a document.
const DOCUMENT: usize = 16 << 10;
/// What a server does that takes no notice of `"stream": true`.
const WHOLE: &str =
    "the answer is one JSON document, and no stream of events; `perflab bench --no-stream` measures such";
/// Chunks that room is made for ahead, at most: a limit of tokens is no promise.
const ROOM_MOST: usize = 4096;

/// The server's token counts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt, template included.
    pub prompt_tokens: Option<u32>,
    /// Tokens generated.
    pub completion_tokens: Option<u32>,
    /// Prompt tokens found in the prefix cache.
    pub cached_tokens: Option<u32>,
}

/// What came out of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamReport {
    /// Chunks with generated text, tokens cumulated.
    pub chunks: Vec<Chunk>,
    /// Events of the generation without text.
    pub silent: Vec<Textless>,
    /// When the last event that is JSON came, token counts included.
    pub last_event_ns: Option<u64>,
    /// When the first and the last text of the answer itself came, neither thoughts nor calls.
    pub content_ns: Option<(u64, u64)>,
    /// Tokens received.
    pub output_tokens: u32,
    /// Those for which the text that came has no room.
    pub unseen_tokens: u32,
    /// How they were counted.
    pub counted_by: TokenSource,
    /// The server's last word on tokens.
    pub usage: Usage,
    /// Why the server ended the stream.
    pub finish_reason: Option<String>,
    /// The model that answered, by its own account.
    pub model: Option<String>,
    /// How it went.
    pub outcome: Outcome,
    /// Unknown fields with text.
    pub unknown_text: Vec<UnknownText>,
    /// What other clients fail at.
    pub form: Form,
}

/// A stream being measured.
#[derive(Debug, Default)]
pub struct StreamMeter {
    decoder: SseDecoder,
    reading: Reading,
}

impl StreamMeter {
    /// A meter with room for the chunks of an answer of so many tokens, so that none of them has to make room.
    pub fn expecting(tokens: u32) -> Self {
        let mut meter = Self::default();
        let room = (tokens as usize + 1).min(ROOM_MOST);
        meter.reading.chunks.reserve_exact(room);
        meter.reading.text_bytes.reserve_exact(room);
        meter
    }

    /// Takes bytes that came at `at_ns`; returns how many chunks of generated text they completed.
    pub fn bytes(&mut self, at_ns: u64, bytes: &[u8]) -> usize {
        let before = self.reading.chunks.len();
        let reading = &mut self.reading;
        reading.begin(bytes);
        if let Err(e) = self.decoder.feed(bytes, &mut |event| reading.event(at_ns, event)) {
            reading.bad(e.to_string());
        }
        self.reading.chunks.len() - before
    }

    /// Whether generated text has come.
    pub fn has_text(&self) -> bool {
        !self.reading.chunks.is_empty()
    }

    /// Whether nothing that follows can matter: the stream's last word was said, or it cannot be read.
    pub fn is_done(&self) -> bool {
        self.reading.done || self.reading.bad.is_some()
    }

    /// Ends the stream at `at_ns`: with the body's proper end, or with the failure that the transport saw.
    /// `required` are the tokens that a sound answer has at least (with `ignore_eos`).
    pub fn finish(mut self, at_ns: u64, end: Result<(), Failure>, required: Option<u32>) -> StreamReport {
        let reading = &mut self.reading;
        if end.is_ok() {
            // an event cut off at the end can only be told by what is in it
            reading.at_end = true;
            if let Err(e) = self.decoder.finish(&mut |event| reading.event(at_ns, event)) {
                reading.bad(e.to_string());
            }
        }
        let seen = self.decoder.forms();
        let mut report = self.reading.report(end, required);
        report.form.fields = seen.fields;
        report.form.lines |= seen.lines;
        report
    }
}

/// What the events said so far.
#[derive(Debug, Default)]
pub(super) struct Reading {
    chunks: Vec<Chunk>,
    /// What most events of the stream look like.
    template: Option<Template>,
    /// Bytes of text of each chunk, by which tokens are spread where the server merged some.
    text_bytes: Vec<u32>,
    silent: Vec<Textless>,
    /// Bytes of text in events that are no chunks: whole answers with their total.
    unchunked_bytes: u32,
    /// When the last event that had to be parsed came.
    parsed_ns: Option<u64>,
    content_ns: Option<(u64, u64)>,
    /// The server's last running total, where it sends them.
    running: Option<u32>,
    usage: Option<Usage>,
    model: Option<String>,
    finish_reason: Option<String>,
    finish_ns: u64,
    /// When the event that gave the reason came, if it had an empty text, which may have been a token.
    blank_end_ns: Option<u64>,
    error: Option<String>,
    bad: Option<String>,
    cut: bool,
    at_end: bool,
    events: u64,
    /// The first bytes of the body, kept until an event is understood.
    beginning: Vec<u8>,
    done: bool,
    /// What other clients fail at, as far as the events' data tell it.
    form: Form,
    unknown: Vec<UnknownText>,
}

impl Reading {
    fn begin(&mut self, bytes: &[u8]) {
        if self.events > 0 {
            return;
        }
        let first = self.beginning.iter().chain(bytes).find(|byte| !byte.is_ascii_whitespace());
        let most = if first == Some(&b'{') { DOCUMENT } else { BEGINNING };
        let room = most.saturating_sub(self.beginning.len());
        self.beginning.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    pub(super) fn bad(&mut self, why: String) {
        self.bad.get_or_insert(why);
    }

    fn event(&mut self, at_ns: u64, event: SseEvent<'_>) {
        if self.done || self.bad.is_some() {
            return;
        }
        // a keep-alive
        if event.data.trim_ascii().is_empty() && event.name != b"error" {
            self.form.lines = true;
            return;
        }
        self.events += 1;
        let plain = self.template.as_ref().filter(|_| event.name.is_empty());
        if let Some((bytes, content)) = plain.and_then(|t| Some((t.text_bytes(event.data)?, t.has_content))) {
            let counted = self.chunks.last().map_or(0, |chunk| chunk.tokens());
            self.push(at_ns, counted + 1, bytes);
            if content && bytes > 0 {
                self.note_content(at_ns);
            }
            return;
        }
        if event.data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return;
        }
        if event.name == b"error" {
            self.error.get_or_insert_with(|| error_data(event.data));
            return;
        }
        match Event::parse(event.data) {
            Ok(parsed) => {
                // an event of another kind may come between those of the usual one
                self.template = Template::of(event.data, &parsed).or(self.template.take());
                self.chunk(at_ns, parsed, event.data);
            }
            Err(_) if self.at_end => self.cut = true,
            Err(e) => self.bad(format!("an event that is not understood ({e}): {}", glimpse(event.data))),
        }
    }

    /// Takes an answer that is one document, which came to its end at `at_ns`.
    pub(super) fn document(&mut self, at_ns: u64, data: &[u8]) {
        self.events += 1;
        match Event::parse(data) {
            // its total is no running one
            Ok(answer) => self.chunk(at_ns, Event { has_totals: false, ..answer }, data),
            Err(e) => {
                self.bad(format!("the answer is no JSON document of an answer ({e}): {}", glimpse(data)));
            }
        }
    }

    fn chunk(&mut self, at_ns: u64, event: Event, data: &[u8]) {
        // each event of an answer says it again
        if self.parsed_ns.is_none() {
            self.model = model_in(data);
        }
        self.parsed_ns = Some(at_ns);
        if event.has_content {
            self.note_content(at_ns);
        }
        if let Some(said) = event.error {
            self.error.get_or_insert_with(|| message(&said));
        }
        for field in event.unknown {
            self.note_unknown(field, data);
        }
        let goes_on = event.finish_reason.is_none();
        let total = event.usage.and_then(|usage| usage.completion_tokens);
        // a total in the event that ends the stream is one only if there were others before: else it is the
        // final count, and the tokens in it are spread over all chunks
        let running =
            total.filter(|_| event.has_choices && (goes_on || self.running.is_some() || event.has_totals));
        let counted = self.chunks.last().map_or(0, |chunk| chunk.tokens());
        let had_totals = self.running.is_some() || event.has_totals;
        let is_chunk = event.is_token || (had_totals && running.is_some_and(|total| total > counted));
        if is_chunk {
            let tokens = running.filter(|total| *total > counted).unwrap_or(counted + 1);
            self.push(at_ns, tokens, event.text_bytes);
        } else if event.has_choices {
            self.unchunked_bytes = self.unchunked_bytes.saturating_add(event.text_bytes);
            self.silent.push(Textless(at_ns, event.is_blank));
        }
        self.running = running.or(self.running);
        self.usage = merge(self.usage, event.usage);
        if let (Some(reason), None) = (event.finish_reason, &self.finish_reason) {
            self.finish_reason = Some(reason);
            self.finish_ns = at_ns;
            self.blank_end_ns = (event.is_blank && !is_chunk).then_some(at_ns);
        }
    }

    fn push(&mut self, at_ns: u64, tokens: u32, text_bytes: u32) {
        self.chunks.push(Chunk(at_ns, tokens));
        self.text_bytes.push(text_bytes);
    }

    fn note_content(&mut self, at_ns: u64) {
        self.content_ns = Some((self.content_ns.map_or(at_ns, |(first, _)| first), at_ns));
    }

    fn note_unknown(&mut self, field: String, data: &[u8]) {
        match self.unknown.iter_mut().find(|known| known.field == field) {
            Some(known) => known.chunks += 1,
            None => self.unknown.push(UnknownText { field, chunks: 1, example: example(data) }),
        }
    }

    /// Says what was read. `required` are the tokens that a sound answer has at least.
    pub(super) fn report(mut self, end: Result<(), Failure>, required: Option<u32>) -> StreamReport {
        let usage = self.usage.unwrap_or_default();
        let total = usage.completion_tokens;
        let room = room_for_tokens(&self.text_bytes).saturating_add(self.unchunked_bytes);
        if total.or(required).is_some_and(|tokens| self.opens_without_token(tokens)) {
            self.forget_opening();
        }
        if let (true, Some(total), Some(_)) =
            (self.chunks.is_empty(), total.filter(|n| *n > 0), &self.finish_reason)
        {
            // the only tokens had no text (an end of sequence at once): they came with the reason
            self.chunks.push(Chunk(self.finish_ns, total));
            self.text_bytes.push(0);
            self.forget_silent_end();
        }
        let counted = self.chunks.last().map_or(0, |chunk| chunk.tokens());
        // totals that lag behind the chunks (a server that fills them in at the end only) are no running
        // totals
        let keeps_up = self.running.is_some_and(|running| running >= counted);
        let counted_by = match total {
            None => TokenSource::Chunks,
            Some(_) if keeps_up => TokenSource::RunningUsage,
            Some(_) => TokenSource::Usage,
        };
        if let (Some(total), TokenSource::Usage) = (total, counted_by) {
            self.spread(total);
        }
        let output_tokens = total.unwrap_or(counted);
        // chunks are not tokens: without the server's count fewer chunks than tokens asked prove nothing
        let short =
            counted_by != TokenSource::Chunks && required.is_some_and(|required| output_tokens < required);
        let cut = self.done && matches!(&end, Err(failure) if failure.kind == FailureKind::StreamBroken);
        let outcome = match self.failure(end) {
            Some(failure) => Outcome::Failed(failure),
            None if short => Outcome::Short,
            None => Outcome::Ok,
        };
        StreamReport {
            last_event_ns: self.parsed_ns.max(self.chunks.last().map(|chunk| chunk.at_ns())),
            silent: self.silent,
            content_ns: self.content_ns,
            chunks: self.chunks,
            output_tokens,
            unseen_tokens: output_tokens.saturating_sub(room),
            counted_by,
            usage,
            finish_reason: self.finish_reason,
            model: self.model,
            outcome,
            unknown_text: self.unknown,
            form: Form { cut, ..self.form },
        }
    }

    /// Whether the empty text that began the answer was none of its `tokens`: some servers open a stream by one while they still
    /// prefill. It looks like a token inside a multi-byte character, and is told from that where exactly one chunk is too many.
    fn opens_without_token(&self, tokens: u32) -> bool {
        let one_each = |last: &Chunk| last.tokens() as usize == self.chunks.len();
        self.text_bytes.first() == Some(&0)
            && self.chunks.last().is_some_and(one_each)
            && self.chunks.len() == tokens as usize + 1
    }

    /// The first chunk is an event without a token.
    fn forget_opening(&mut self) {
        let opening = self.chunks.remove(0);
        self.text_bytes.remove(0);
        self.silent.insert(0, Textless(opening.at_ns(), true));
        for chunk in &mut self.chunks {
            chunk.1 -= 1;
        }
    }

    /// Gives the chunks their tokens where only the total is known, one of them to an end without text that was a token.
    fn spread(&mut self, total: u32) {
        let own = u32::from(self.ends_by_token(total));
        spread(&mut self.chunks, &self.text_bytes, total - own);
        if own > 0 {
            self.push(self.finish_ns, total, 0);
            self.forget_silent_end();
        }
    }

    /// The event that ended the answer is a chunk, and no event without a token.
    fn forget_silent_end(&mut self) {
        if let Some(place) = self.silent.iter().rposition(|silent| silent.at_ns() == self.finish_ns) {
            self.silent.remove(place);
        }
    }

    /// Whether the empty text that ended the answer was a token, as an end of sequence is: only where the server counts more tokens than
    /// chunks came. One more is that one. Where there are several more, tokens were merged, and none need be missing: then the end is one if
    /// the model itself ended (`stop`), and it took at least half as long to come as a chunk does. A word that only ends comes with the text
    /// before it.
    fn ends_by_token(&self, total: u32) -> bool {
        let (Some(first), Some(last)) = (self.chunks.first(), self.chunks.last()) else { return false };
        let (total, chunks) = (u64::from(total), self.chunks.len() as u64);
        let Some(after) = self.blank_end_ns.and_then(|end| end.checked_sub(last.at_ns())) else {
            return false;
        };
        if total <= chunks {
            return false;
        }
        let gaps = last.at_ns().saturating_sub(first.at_ns());
        let is_step = chunks > 1 && after > 0 && after.saturating_mul(2 * (chunks - 1)) >= gaps;
        total == chunks + 1 || (is_step && self.finish_reason.as_deref() == Some("stop"))
    }

    /// What is wrong with the stream, the most telling first.
    fn failure(&self, end: Result<(), Failure>) -> Option<Failure> {
        use FailureKind::{BadStream, NoFinishReason, NoTokens, StreamBroken, StreamError};
        if let Some(message) = &self.error {
            return Some(Failure::new(StreamError, message));
        }
        if let Some(why) = &self.bad {
            return Some(Failure::new(BadStream, why));
        }
        if let (Err(failure), false) = (end, self.done) {
            return Some(failure);
        }
        if self.cut {
            return Some(Failure::new(StreamBroken, "the body ended inside an event"));
        }
        if self.events == 0 && !self.beginning.is_empty() {
            return Some(match Event::parse(&self.beginning) {
                Ok(Event { error: Some(said), .. }) => Failure::new(StreamError, message(&said)),
                Ok(Event { has_choices: true, .. }) => {
                    Failure::new(BadStream, format!("{WHOLE}: {}", glimpse(&self.beginning)))
                }
                _ => {
                    Failure::new(BadStream, format!("the body holds no event: {}", glimpse(&self.beginning)))
                }
            });
        }
        match self.finish_reason.as_deref() {
            None if self.events == 0 => Some(Failure::new(NoTokens, "the body is empty")),
            None => Some(Failure::new(NoFinishReason, "the stream ended without a finish reason")),
            Some(reason @ ("abort" | "error")) => {
                Some(Failure::new(StreamError, format!("the server ended it by `{reason}`")))
            }
            Some(reason) if self.chunks.is_empty() => {
                Some(Failure::new(NoTokens, format!("ended by `{reason}` without any text")))
            }
            Some(_) => None,
        }
    }
}

/// Later counts replace earlier ones, field by field: not every event has all of them.
fn merge(old: Option<Usage>, new: Option<Usage>) -> Option<Usage> {
    let (Some(old), Some(new)) = (old, new) else { return new.or(old) };
    Some(Usage {
        prompt_tokens: new.prompt_tokens.or(old.prompt_tokens),
        completion_tokens: new.completion_tokens.or(old.completion_tokens),
        cached_tokens: new.cached_tokens.or(old.cached_tokens),
    })
}

/// The message of an event that is called an error, JSON or not.
fn error_data(data: &[u8]) -> String {
    serde_json::from_slice(data).map_or_else(|_| glimpse(data), |value| message(&error_text(&value)))
}

#[cfg(test)]
mod tests;
