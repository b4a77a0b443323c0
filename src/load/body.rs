//! The request body: the same fields in the same order every time, nothing left to a server's defaults.

use serde::Serialize;
use serde_json::{Map, Value};

use super::prompts::Prompt;
use super::spec::{Api, LoadSpec, SAMPLING_PARAMS};
use super::talks::Said;

/// Fields that say how long an answer may be, the one that counts first.
const LENGTHS: [&str; 2] = ["max_completion_tokens", "max_tokens"];
/// What [`Api::Generate`] calls it.
const NEW_TOKENS: &str = "max_new_tokens";

/// What all bodies of a load have in common.
#[derive(Debug, Clone)]
pub(super) struct BodyForm {
    api: Api,
    model: String,
    temperature: f64,
    top_p: f64,
    ignore_eos: bool,
    stream: bool,
    continuous_usage: bool,
    extra: Map<String, Value>,
}

impl BodyForm {
    pub(super) fn of(spec: &LoadSpec) -> Self {
        Self {
            api: spec.api,
            model: spec.model.clone(),
            temperature: spec.sampling.temperature,
            top_p: spec.sampling.top_p,
            ignore_eos: spec.ignores_eos(),
            stream: spec.stream,
            continuous_usage: spec.continuous_usage,
            extra: spec.extra_body.clone(),
        }
    }

    /// Tokens that a request really asks for where its prompt asks for so many: a field that is stated counts.
    pub(super) fn asked(&self, output: u32) -> u32 {
        let stated = match self.api {
            Api::Generate => self.extra.get(SAMPLING_PARAMS).and_then(|params| params.get(NEW_TOKENS)),
            Api::Chat => LENGTHS.iter().find_map(|field| self.extra.get(*field)),
            Api::Completions => self.extra.get(LENGTHS[1]),
        };
        stated.and_then(Value::as_u64).map_or(output, |n| u32::try_from(n).unwrap_or(u32::MAX))
    }

    /// The JSON to send for a prompt.
    pub(super) fn render(&self, prompt: &Prompt) -> Result<Vec<u8>, serde_json::Error> {
        if self.api == Api::Generate {
            return self.generate(prompt);
        }
        if self.api == Api::Chat {
            return self.with(None, Some(&[Message { role: "user", content: &prompt.text }]), prompt.output);
        }
        self.with(Some(prompt.text.as_str()), None, prompt.output)
    }

    /// The JSON to send for what was said in a conversation.
    pub(super) fn talk(&self, said: &[Said], output: u32) -> Result<Vec<u8>, serde_json::Error> {
        let messages: Vec<Message> =
            said.iter().map(|said| Message { role: said.role, content: &said.content }).collect();
        self.with(None, Some(&messages), output)
    }

    fn with(
        &self,
        prompt: Option<&str>,
        messages: Option<&[Message]>,
        output: u32,
    ) -> Result<Vec<u8>, serde_json::Error> {
        let text = prompt.map_or(0, str::len)
            + messages.into_iter().flatten().map(|m| m.content.len()).sum::<usize>();
        // a field that is stated takes the place of ours: a key that stands twice is refused by some servers
        let ours = |field: &str| !self.extra.contains_key(field);
        let body = Body {
            model: ours("model").then_some(self.model.as_str()),
            prompt,
            messages,
            // two lengths contradict each other
            max_tokens: (ours(LENGTHS[1]) && (self.api != Api::Chat || ours(LENGTHS[0]))).then_some(output),
            temperature: ours("temperature").then_some(self.temperature),
            top_p: ours("top_p").then_some(self.top_p),
            // left out when false: some servers reject fields that they do not know
            ignore_eos: (self.ignore_eos && ours("ignore_eos")).then_some(true),
            stream: self.stream,
            // a whole answer has its usage anyway
            stream_options: (self.stream && ours("stream_options")).then(|| StreamOptions {
                include_usage: true,
                continuous_usage_stats: self.continuous_usage.then_some(true),
            }),
            extra: &self.extra,
        };
        // grown step by step it would have, and keep, room for twice as much; a few of its characters are written as two
        let mut written = Vec::with_capacity(text + text / 32 + self.model.len() + 256);
        serde_json::to_writer(&mut written, &body)?;
        Ok(written)
    }
}

impl BodyForm {
    /// The JSON of SGLang's `/generate`, which has fields of its own; it knows one model only.
    fn generate(&self, prompt: &Prompt) -> Result<Vec<u8>, serde_json::Error> {
        let mut sampling = Map::new();
        sampling.insert(NEW_TOKENS.to_owned(), prompt.output.into());
        sampling.insert("temperature".to_owned(), self.temperature.into());
        sampling.insert("top_p".to_owned(), self.top_p.into());
        if self.ignore_eos {
            sampling.insert("ignore_eos".to_owned(), true.into());
        }
        let mut extra = self.extra.clone();
        if let Some(Value::Object(more)) = extra.shift_remove(SAMPLING_PARAMS) {
            sampling.extend(more);
        }
        let mut body = Map::new();
        body.insert("text".to_owned(), prompt.text.as_str().into());
        body.insert(SAMPLING_PARAMS.to_owned(), sampling.into());
        body.insert("stream".to_owned(), self.stream.into());
        body.extend(extra);
        serde_json::to_vec(&body)
    }
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<&'a [Message<'a>]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_eos: Option<bool>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    continuous_usage_stats: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(change: impl FnOnce(&mut LoadSpec)) -> String {
        let mut spec = LoadSpec::new("http://h", "m");
        change(&mut spec);
        let prompt = Prompt { text: "a \"b\"".into(), tokens: 2, output: 9 };
        String::from_utf8(BodyForm::of(&spec).render(&prompt).expect("renders")).expect("utf-8")
    }

    #[test]
    fn both_forms_to_the_letter() {
        assert_eq!(
            rendered(|_| {}),
            r#"{"model":"m","messages":[{"role":"user","content":"a \"b\""}],"max_tokens":9,"temperature":0.0,"top_p":1.0,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}}"#
        );
        assert_eq!(
            rendered(|spec| {
                spec.api = Api::Completions;
                spec.sampling.ignore_eos = Some(false);
                spec.continuous_usage = true;
                spec.extra_body.insert("cache_prompt".into(), false.into());
            }),
            r#"{"model":"m","prompt":"a \"b\"","max_tokens":9,"temperature":0.0,"top_p":1.0,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},"cache_prompt":false}"#
        );
    }

    #[test]
    fn a_stated_field_takes_the_place_of_ours() {
        let body = rendered(|spec| {
            spec.extra_body.insert("temperature".into(), 0.5.into());
            spec.extra_body.insert("model".into(), "other".into());
            spec.extra_body.insert("stream_options".into(), serde_json::json!({"include_usage": false}));
        });
        for field in ["temperature", "model", "stream_options"] {
            assert_eq!(body.matches(&format!("\"{field}\":")).count(), 1, "{body}");
        }
        assert!(body.contains(r#""temperature":0.5"#) && body.contains(r#""model":"other""#), "{body}");
    }

    #[test]
    fn a_stated_length_is_what_is_asked_for() {
        let asked = |api: Api, field: &str| {
            let mut spec = LoadSpec { api, ..LoadSpec::new("http://h", "m") };
            spec.extra_body.insert(field.into(), 3.into());
            BodyForm::of(&spec).asked(9)
        };
        let fields = ["max_tokens", "max_completion_tokens", "top_k"];
        assert_eq!(fields.map(|field| asked(Api::Chat, field)), [3, 3, 9]);
        assert_eq!(fields.map(|field| asked(Api::Completions, field)), [3, 9, 9]);
        let mut spec = LoadSpec { api: Api::Generate, ..LoadSpec::new("http://h", "m") };
        spec.extra_body.insert("sampling_params".into(), serde_json::json!({"max_new_tokens": 4}));
        assert_eq!(BodyForm::of(&spec).asked(9), 4);
        let body = rendered(|spec| drop(spec.extra_body.insert("max_completion_tokens".into(), 3.into())));
        assert!(!body.contains("max_tokens"), "{body}");
    }

    #[test]
    fn the_form_of_sglang_to_the_letter() {
        let body = rendered(|spec| {
            spec.api = Api::Generate;
            spec.extra_body.insert("sampling_params".into(), serde_json::json!({"top_k": 5}));
            spec.extra_body.insert("lora_path".into(), "l".into());
        });
        assert_eq!(
            body,
            r#"{"text":"a \"b\"","sampling_params":{"max_new_tokens":9,"temperature":0.0,"top_p":1.0,"ignore_eos":true,"top_k":5},"stream":true,"lora_path":"l"}"#
        );
    }

    #[test]
    fn a_whole_answer_is_asked_for_without_the_options_of_streams() {
        let whole = rendered(|spec| (spec.stream, spec.continuous_usage) = (false, true));
        assert!(whole.ends_with(r#""ignore_eos":true,"stream":false}"#), "{whole}");
    }
}
