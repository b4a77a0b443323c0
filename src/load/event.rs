//! What one streamed event of an OpenAI-compatible server says. Only lengths of text are kept, so that an
//! ordinary chunk costs no allocation; fields are looked for by meaning, and text in an unknown one is told,
//! not skipped.

use serde_json::Value;

use super::json::read;
use super::meter::Usage;
use super::raw::{RawChoice, RawEvent, RawMeta, TextBytes};

/// What an event carries.
#[derive(Debug, Default, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing that an event may say")]
pub(super) struct Event {
    /// There is at least one choice, so that the event belongs to the generation.
    pub has_choices: bool,
    /// It carries generated text, or an empty text that stands for a token.
    pub is_token: bool,
    /// Bytes of generated text, all fields and choices together.
    pub text_bytes: u32,
    /// Some of it is the answer itself (`content`, `text`), neither thoughts nor calls.
    pub has_content: bool,
    /// It carries an empty text that is no part of a role's event.
    pub is_blank: bool,
    pub finish_reason: Option<String>,
    pub usage: Option<Usage>,
    /// Its `usage` counts the tokens so far in any event (SGLang's `/generate`).
    pub has_totals: bool,
    /// The message of an error that was sent instead of a chunk.
    pub error: Option<String>,
    /// Names of delta fields that carry text and are not known to.
    pub unknown: Vec<String>,
}

impl Event {
    /// Reads the data of one event.
    pub(super) fn parse(data: &[u8]) -> Result<Self, serde_json::Error> {
        let raw: RawEvent = read(data)?;
        let error = raw.error_message();
        let mut event = Self { usage: raw.usage.map(Usage::from), error, ..Self::default() };
        for choice in raw.choices.unwrap_or_default() {
            event.add(choice);
        }
        if let Some(meta) = raw.meta_info {
            event.add_generated(raw.text, meta);
        }
        Ok(event)
    }

    /// Adds what an event of SGLang's `/generate` says. Its text is all that was generated so far, or what came anew, as the server was
    /// started; which tokens are new is told by the total.
    fn add_generated(&mut self, text: Option<TextBytes>, meta: RawMeta) {
        self.has_choices = true;
        self.has_totals = meta.completion_tokens.is_some();
        self.text_bytes = text.map_or(0, |text| text.0);
        self.is_token = self.text_bytes > 0 && !self.has_totals;
        self.usage = Some(Usage {
            prompt_tokens: meta.prompt_tokens,
            completion_tokens: meta.completion_tokens,
            cached_tokens: meta.cached_tokens,
        });
        let Some(reason) = meta.finish_reason.filter(|reason| !reason.is_null()) else { return };
        let said = reason.get("message").and_then(Value::as_str).filter(|said| !said.is_empty());
        if let (Some(said), None) = (said, &self.error) {
            self.error = Some(said.to_owned());
        }
        self.finish_reason = Some(reason_text(&reason));
    }

    fn add(&mut self, choice: RawChoice) {
        self.has_choices = true;
        let finish =
            choice.finish_reason.filter(|reason| !reason.is_null()).map(|reason| reason_text(&reason));
        let goes_on = finish.is_none();
        if let Some(text) = choice.text {
            self.text_bytes = self.text_bytes.saturating_add(text.0);
            self.has_content |= text.0 > 0;
            self.is_blank |= text.0 == 0;
            // a token inside a multi-byte character has no text yet, and is a token all the same
            self.is_token |= text.0 > 0 || goes_on;
        }
        if let Some(delta) = choice.delta.or(choice.message) {
            self.text_bytes = self.text_bytes.saturating_add(delta.text_bytes);
            let blank = delta.empty_content && !delta.has_role;
            self.has_content |= delta.has_content;
            self.is_blank |= blank;
            self.is_token |= delta.text_bytes > 0 || (blank && goes_on);
            self.unknown.extend(delta.unknown);
        }
        if self.finish_reason.is_none() {
            self.finish_reason = finish;
        }
    }
}

/// The message inside an error object, whatever its shape, or the whole of it as it was sent.
pub(super) fn error_text(error: &Value) -> String {
    let inner = error.get("error").unwrap_or(error);
    let message = ["message", "detail", "error"].iter().find_map(|key| inner.get(key));
    match message.unwrap_or(inner) {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The model that an event, or an answer in one document, says to be of.
pub(super) fn model_in(data: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        #[serde(default)]
        model: Option<Value>,
    }
    let Named { model } = read(data).ok()?;
    model?.as_str().map(str::to_owned)
}

pub(super) fn reason_text(reason: &Value) -> String {
    match reason {
        Value::String(text) => text.clone(),
        Value::Object(object) => {
            object.get("type").and_then(Value::as_str).map_or_else(|| reason.to_string(), str::to_owned)
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Event {
        Event::parse(json.as_bytes()).expect("valid json")
    }

    fn delta(delta: &str) -> Event {
        parse(&format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#))
    }

    #[test]
    fn a_role_alone_is_no_token_and_every_kind_of_text_is() {
        for role in [
            r#"{"role":"assistant","content":""}"#,
            r#"{"role":"assistant","content":null}"#,
            r#"{"role":"assistant"}"#,
        ] {
            assert!(!delta(role).is_token, "{role}");
        }
        for text in [
            r#"{"content":"hé"}"#,
            r#"{"role":"assistant","content":"hé"}"#,
            r#"{"role":null,"content":null,"reasoning_content":"hé","tool_calls":null}"#,
            r#"{"reasoning":"hé"}"#,
            r#"{"content":[{"index":1,"text":"hé"}]}"#,
        ] {
            let event = delta(text);
            assert!(event.is_token, "{text}");
            assert_eq!(event.text_bytes, 3, "{text}");
            assert!(event.unknown.is_empty());
        }
        assert!(delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1"}}]}"#).is_token);
    }

    #[test]
    fn empty_text_is_a_token_only_while_the_stream_goes_on() {
        assert!(parse(r#"{"choices":[{"text":"","finish_reason":null}]}"#).is_token);
        assert!(!parse(r#"{"choices":[{"text":"","finish_reason":"length"}]}"#).is_token);
        assert!(delta(r#"{"content":""}"#).is_token);
        assert!(!delta("{}").is_token);
        assert!(!delta(r#"{"role":null,"content":null,"tool_calls":null}"#).is_token);
    }

    #[test]
    fn text_in_an_unknown_field_counts_and_is_named() {
        let event = delta(r#"{"content":"","thinking":{"text":"so"},"annotations":[],"step":3}"#);
        assert_eq!((event.is_token, event.text_bytes), (true, 2));
        assert_eq!(event.unknown, ["thinking"]);
    }

    #[test]
    fn generated_text_is_counted_by_its_total() {
        let event = parse(
            r#"{"text":" a b","output_ids":[1,2],"meta_info":{"id":"x","finish_reason":null,"prompt_tokens":7,"completion_tokens":2,"cached_tokens":1}}"#,
        );
        let usage = Usage { prompt_tokens: Some(7), completion_tokens: Some(2), cached_tokens: Some(1) };
        let totals = Event { has_choices: true, has_totals: true, text_bytes: 4, ..Event::default() };
        assert_eq!(event, Event { usage: Some(usage), ..totals });
        let event = parse(r#"{"text":"a","meta_info":{"finish_reason":{"type":"length","length":9}}}"#);
        assert_eq!((event.is_token, event.finish_reason.as_deref()), (true, Some("length")));
        let event = parse(
            r#"{"text":"","meta_info":{"finish_reason":{"type":"abort","message":"too long"},"completion_tokens":0}}"#,
        );
        assert_eq!((event.error.as_deref(), event.is_token), (Some("too long"), false));
        assert!(!parse(r#"{"text":"a"}"#).has_choices, "text of nobody's");
    }

    #[test]
    fn finish_usage_and_errors_in_their_shapes() {
        let event = parse(
            r#"{"choices":[{"text":"x","finish_reason":{"type":"length","length":9}}],
                "usage":{"prompt_tokens":7,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":4}}}"#,
        );
        assert_eq!(event.finish_reason.as_deref(), Some("length"));
        assert_eq!(
            event.usage,
            Some(Usage { prompt_tokens: Some(7), completion_tokens: Some(9), cached_tokens: Some(4) })
        );
        assert_eq!(parse(r#"{"choices":[],"usage":null}"#), Event::default());
        assert_eq!(parse(r#"{"error":{"message":"gone","code":500}}"#).error.as_deref(), Some("gone"));
        assert_eq!(parse(r#"{"error":"gone"}"#).error.as_deref(), Some("gone"));
        assert_eq!(parse(r#"{"object":"error","message":"gone"}"#).error.as_deref(), Some("gone"));
        assert_eq!(parse(r#"{"error":null,"choices":[]}"#).error, None);
        assert!(Event::parse(b"42").is_err());
        assert!(Event::parse(b"{\"choices\":[").is_err());
    }

    #[test]
    fn json_is_read_as_python_reads_it() {
        let half = delta(r#"{"content":"\ud83d"}"#);
        assert_eq!((half.is_token, half.text_bytes), (true, 3));
        assert_eq!(delta(r#"{"content":"\ude00 \ud83d\ude00 \\ud83d"}"#).text_bytes, 3 + 1 + 4 + 1 + 6);
        assert!(Event::parse(br#"{"choices":"\ud83d""#).is_err());
        let usage = |counts: &str| parse(&format!(r#"{{"choices":[],"usage":{counts}}}"#)).usage;
        let counted = usage(r#"{"prompt_tokens":7.0,"completion_tokens":2.0}"#).expect("counts");
        assert_eq!((counted.prompt_tokens, counted.completion_tokens), (Some(7), Some(2)));
        for none in ["2.5", "-1", "\"2\"", "null", "1e99"] {
            let counted = usage(&format!(r#"{{"prompt_tokens":7,"completion_tokens":{none}}}"#));
            assert_eq!(
                counted.map(|u| (u.prompt_tokens, u.completion_tokens)),
                Some((Some(7), None)),
                "{none}"
            );
        }
    }
}
