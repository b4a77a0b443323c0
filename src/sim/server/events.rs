//! Text of the answers: the events of a stream and the whole answer, field for field as vLLM writes them. A stream's
//! constant parts are rendered once, because thousands of events a second differ in one word only.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::sequence::{Emission, Ending};
use super::super::tokens;
use super::generate;

/// What every answer says about its origin.
pub const FINGERPRINT: &str = "perflab-sim";

/// Which of the endpoints answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completions,
    /// SGLang's `/generate`
    Generate,
}

impl Endpoint {
    const fn id_prefix(self) -> &'static str {
        match self {
            Self::Chat => "chatcmpl",
            Self::Completions => "cmpl",
            Self::Generate => "gen",
        }
    }
}

/// Who answers what, and when.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Name of the answer, without the endpoint's prefix.
    pub id: u64,
    /// Unix time in seconds.
    pub created: u64,
    /// The model's public name.
    pub model: String,
    /// Name of the answer's text.
    pub stream_name: u64,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
}

impl Answer {
    fn full_id(&self) -> String {
        format!("{}-{:016x}", self.endpoint.id_prefix(), self.id)
    }

    fn usage(&self, completion_tokens: u32, cached_tokens: u32) -> Value {
        json!({
            "prompt_tokens": self.prompt_tokens,
            "total_tokens": self.prompt_tokens + completion_tokens,
            "completion_tokens": completion_tokens,
            "prompt_tokens_details": {"cached_tokens": cached_tokens},
        })
    }

    /// The answer in one piece.
    pub fn whole(&self, completion_tokens: u32, ending: Ending, cached_tokens: u32) -> Value {
        let text: String =
            (0..completion_tokens).map(|at| tokens::generated_text(self.stream_name, at)).collect();
        let (object, choice) = match self.endpoint {
            Endpoint::Generate => {
                return generate::document(self, completion_tokens, Some(ending), cached_tokens);
            }
            Endpoint::Chat => (
                "chat.completion",
                json!({
                    "index": 0,
                    "message": {
                        "role": "assistant", "content": text, "refusal": null, "annotations": null, "audio": null,
                        "function_call": null, "tool_calls": [], "reasoning": null,
                    },
                    "logprobs": null, "finish_reason": ending.finish_reason(), "stop_reason": null, "token_ids": null,
                }),
            ),
            Endpoint::Completions => (
                "text_completion",
                json!({
                    "index": 0, "text": text, "logprobs": null, "finish_reason": ending.finish_reason(),
                    "stop_reason": null, "token_ids": null, "prompt_logprobs": null, "prompt_token_ids": null,
                }),
            ),
        };
        json!({
            "id": self.full_id(), "object": object, "created": self.created, "model": self.model,
            "choices": [choice], "service_tier": null, "system_fingerprint": FINGERPRINT,
            "usage": self.usage(completion_tokens, cached_tokens), "kv_transfer_params": null,
        })
    }
}

/// Renders the events of one stream.
#[derive(Debug)]
pub struct EventWriter {
    answer: Answer,
    /// An event up to the value of `choices`.
    head: String,
    include_usage: bool,
    continuous_usage: bool,
}

impl EventWriter {
    /// A writer for one answer.
    pub fn new(answer: Answer, include_usage: bool, continuous_usage: bool) -> Self {
        let object = match answer.endpoint {
            Endpoint::Chat => "chat.completion.chunk",
            Endpoint::Completions | Endpoint::Generate => "text_completion",
        };
        let model = Value::from(answer.model.as_str());
        let head = format!(
            r#"data: {{"id":"{}","object":"{object}","created":{},"model":{model},"system_fingerprint":"{FINGERPRINT}","choices":"#,
            answer.full_id(),
            answer.created
        );
        Self { answer, head, include_usage, continuous_usage }
    }

    /// Appends the events of one emission: the role before the first token, one event for the emission's text, and
    /// usage and end behind the last.
    pub fn write(&self, emission: &Emission, out: &mut String) {
        let sent = emission.position + emission.tokens;
        match self.answer.endpoint {
            Endpoint::Chat => self.write_chat(emission, sent, out),
            Endpoint::Completions => self.write_completion(emission, sent, out),
            Endpoint::Generate => out.push_str(&generate::event(&self.answer, emission)),
        }
        if emission.ending.is_some() {
            if self.include_usage {
                let usage = self.answer.usage(sent, emission.cached_tokens);
                append(out, format_args!("{}[],\"usage\":{usage}}}\n\n", self.head));
            }
            out.push_str(DONE);
        }
    }

    /// Appends an error and the end of the stream.
    pub fn write_error(error: &Value, out: &mut String) {
        append(out, format_args!("data: {error}\n\n"));
        out.push_str(DONE);
    }

    fn write_chat(&self, emission: &Emission, sent: u32, out: &mut String) {
        if emission.position == 0 {
            out.push_str(&self.head);
            out.push_str(
                r#"[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]"#,
            );
            self.write_running_usage(0, out);
            out.push_str(",\"prompt_token_ids\":null}\n\n");
        }
        out.push_str(&self.head);
        out.push_str(r#"[{"index":0,"delta":{"content":""#);
        self.write_text(emission, out);
        out.push_str(r#""},"logprobs":null,"finish_reason":"#);
        match emission.ending {
            Some(ending) => append(out, format_args!(r#""{}","stop_reason":null"#, ending.finish_reason())),
            None => out.push_str("null"),
        }
        out.push_str(r#","token_ids":null}]"#);
        self.write_running_usage(sent, out);
        out.push_str("}\n\n");
    }

    fn write_completion(&self, emission: &Emission, sent: u32, out: &mut String) {
        out.push_str(&self.head);
        out.push_str(r#"[{"index":0,"text":""#);
        self.write_text(emission, out);
        out.push_str(r#"","logprobs":null,"finish_reason":"#);
        match emission.ending {
            Some(ending) => append(out, format_args!(r#""{}""#, ending.finish_reason())),
            None => out.push_str("null"),
        }
        out.push_str(r#","stop_reason":null,"prompt_token_ids":null,"token_ids":null}]"#);
        if self.continuous_usage {
            self.write_running_usage(sent, out);
        } else {
            out.push_str(",\"usage\":null");
        }
        out.push_str("}\n\n");
    }

    fn write_text(&self, emission: &Emission, out: &mut String) {
        for place in emission.position..emission.position + emission.tokens {
            out.push_str(tokens::generated_text(self.answer.stream_name, place));
        }
    }

    fn write_running_usage(&self, sent: u32, out: &mut String) {
        if self.continuous_usage {
            let prompt = self.answer.prompt_tokens;
            append(
                out,
                format_args!(
                    r#","usage":{{"prompt_tokens":{prompt},"total_tokens":{},"completion_tokens":{sent}}}"#,
                    prompt + sent
                ),
            );
        }
    }
}

const DONE: &str = "data: [DONE]\n\n";

fn append(out: &mut String, text: std::fmt::Arguments<'_>) {
    // writing to a String cannot fail
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(endpoint: Endpoint, continuous: bool) -> EventWriter {
        let answer = Answer {
            endpoint,
            id: 7,
            created: 1_795_235_733,
            model: "org/\"odd\" name".to_owned(),
            stream_name: 3,
            prompt_tokens: 14,
        };
        EventWriter::new(answer, true, continuous)
    }

    fn events(writer: &EventWriter, emissions: &[Emission]) -> Vec<Value> {
        let mut text = String::new();
        for emission in emissions {
            writer.write(emission, &mut text);
        }
        assert!(text.ends_with("data: [DONE]\n\n"));
        let lines = text.split("\n\n").filter_map(|event| event.strip_prefix("data: "));
        lines.filter_map(|json| serde_json::from_str(json).ok()).collect()
    }

    fn emission(position: u32, tokens: u32, ending: Option<Ending>) -> Emission {
        Emission { id: 1, position, tokens, ending, cached_tokens: 0 }
    }

    #[test]
    fn a_chat_stream_has_role_text_reason_and_usage() {
        let events = events(
            &writer(Endpoint::Chat, false),
            &[emission(0, 1, None), emission(1, 2, Some(Ending::Length))],
        );
        assert_eq!(events.len(), 4);
        assert_eq!(events[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
        assert_eq!(events[0]["model"], "org/\"odd\" name");
        assert_eq!(events[1]["choices"][0]["delta"]["content"], tokens::generated_text(3, 0));
        assert_eq!(events[1]["choices"][0]["finish_reason"], Value::Null);
        assert_eq!(events[2]["choices"][0]["finish_reason"], "length");
        assert_eq!(events[3]["choices"], json!([]));
        assert_eq!(events[3]["usage"]["completion_tokens"], 3);
        assert!(events.iter().all(|event| event["system_fingerprint"] == FINGERPRINT));
    }

    #[test]
    fn a_completion_stream_has_no_role() {
        let events = events(&writer(Endpoint::Completions, false), &[emission(0, 1, Some(Ending::Stop))]);
        assert_eq!(events.len(), 2);
        assert_eq!(events[0]["choices"][0]["text"], tokens::generated_text(3, 0));
        assert_eq!(events[0]["choices"][0]["finish_reason"], "stop");
        assert_eq!(events[0]["usage"], Value::Null);
        assert_eq!(events[0]["object"], "text_completion");
    }

    #[test]
    fn continuous_usage_counts_along() {
        for endpoint in [Endpoint::Chat, Endpoint::Completions] {
            let events = events(
                &writer(endpoint, true),
                &[emission(0, 1, None), emission(1, 1, Some(Ending::Length))],
            );
            let counts: Vec<_> =
                events.iter().filter_map(|event| event["usage"]["completion_tokens"].as_u64()).collect();
            let expected: &[u64] = if endpoint == Endpoint::Chat { &[0, 1, 2, 2] } else { &[1, 2, 2] };
            assert_eq!(counts, expected);
        }
    }
}
