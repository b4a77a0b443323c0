//! What a client asks for: the fields of the OpenAI protocol that change what the engine does, and the prompt as
//! tokens. Other fields are ignored, as vLLM ignores them.

use serde::Deserialize;

use super::super::sequence::Ending;
use super::super::tokens::{self, Prompt, mix};
use super::errors::ApiError;

/// Tokens that the chat template puts around the messages. They stand in front, so that the turns of a conversation
/// share a prefix.
pub const TEMPLATE_TOKENS: u32 = 8;

/// Answer tokens of `/v1/completions` when the client does not say.
const DEFAULT_COMPLETION_TOKENS: u32 = 16;

/// Marks template tokens and token ids, which no word may equal.
const TEMPLATE_SALT: u64 = 0x7465_6D70_6C61_7465;
const TOKEN_ID_SALT: u64 = 0x746F_6B65_6E69_6473;

/// Body of `/v1/chat/completions`.
#[derive(Debug, Deserialize)]
pub struct ChatBody {
    messages: Vec<Message>,
    max_completion_tokens: Option<i64>,
    #[serde(flatten)]
    common: Common,
}

/// Body of `/v1/completions`.
#[derive(Debug, Deserialize)]
pub struct CompletionBody {
    prompt: PromptField,
    #[serde(flatten)]
    common: Common,
}

/// What bodies have in common.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Common {
    pub(super) model: Option<String>,
    pub(super) max_tokens: Option<i64>,
    pub(super) min_tokens: Option<u32>,
    pub(super) ignore_eos: Option<bool>,
    pub(super) stream: Option<bool>,
    pub(super) stream_options: Option<StreamOptions>,
    pub(super) n: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
    #[serde(default)]
    continuous_usage_stats: bool,
}

#[derive(Debug, Deserialize)]
struct Message {
    content: Option<Content>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

/// A prompt as text or as token ids, alone or as the only one of a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum PromptField {
    Text(String),
    TokenIds(Vec<u64>),
    Texts(Vec<String>),
    TokenIdLists(Vec<Vec<u64>>),
}

/// What the engine needs to know of its server.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// Name that clients use for the model.
    pub model: &'a str,
    /// Tokens of prompt and answer together.
    pub context: u32,
    /// Seed of the model's answers.
    pub seed: u64,
}

/// A request that can be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The tokenised prompt.
    pub prompt: Prompt,
    /// Name of the answer's text.
    pub stream_name: u64,
    /// Tokens of the answer.
    pub output_tokens: u32,
    /// Why it ends there.
    pub ending: Ending,
    /// Whether tokens are sent as they come.
    pub stream: bool,
    /// Whether the stream ends with the usage.
    pub include_usage: bool,
    /// Whether every event has the usage so far.
    pub continuous_usage: bool,
}

impl ChatBody {
    /// Checks the request against what is served.
    pub fn ask(self, terms: Terms<'_>) -> Result<Asked, ApiError> {
        let mut prompt = Prompt::default();
        prompt.extend((0..u64::from(TEMPLATE_TOKENS)).map(|place| mix(TEMPLATE_SALT ^ place)));
        for message in &self.messages {
            match &message.content {
                Some(Content::Text(text)) => prompt.push_text(text),
                Some(Content::Parts(parts)) => parts.iter().for_each(|part| prompt.push_text(&part.text)),
                None => {}
            }
        }
        let left = terms.context.saturating_sub(prompt.tokens).max(1);
        let wanted = self.max_completion_tokens.or(self.common.max_tokens);
        self.common.ask(prompt, wanted, left, terms)
    }
}

impl CompletionBody {
    /// Checks the request against what is served.
    pub fn ask(self, terms: Terms<'_>) -> Result<Asked, ApiError> {
        let prompt = self.prompt.tokenise()?;
        let wanted = self.common.max_tokens;
        self.common.ask(prompt, wanted, DEFAULT_COMPLETION_TOKENS, terms)
    }
}

impl PromptField {
    pub(super) fn tokenise(self) -> Result<Prompt, ApiError> {
        let mut prompt = Prompt::default();
        match self {
            Self::Text(text) => prompt.push_text(&text),
            Self::TokenIds(ids) => push_ids(&mut prompt, &ids),
            Self::Texts(texts) => single(&texts).map(|text| prompt.push_text(text))?,
            Self::TokenIdLists(lists) => single(&lists).map(|ids| push_ids(&mut prompt, ids))?,
        }
        if prompt.tokens == 0 { Err(ApiError::EmptyPrompt) } else { Ok(prompt) }
    }
}

fn push_ids(prompt: &mut Prompt, ids: &[u64]) {
    prompt.extend(ids.iter().map(|id| mix(TOKEN_ID_SALT ^ id)));
}

fn single<T>(list: &[T]) -> Result<&T, ApiError> {
    match list {
        [only] => Ok(only),
        [] => Err(ApiError::EmptyPrompt),
        many => Err(ApiError::Unsupported {
            parameter: "prompt",
            problem: "must be a single prompt in the simulated engine",
            value: many.len() as u64,
        }),
    }
}

impl Common {
    pub(super) fn ask(
        self,
        prompt: Prompt,
        wanted: Option<i64>,
        default: u32,
        terms: Terms<'_>,
    ) -> Result<Asked, ApiError> {
        if let Some(model) = self.model.filter(|model| model != terms.model) {
            return Err(ApiError::UnknownModel { model });
        }
        if let Some(value) = self.n.filter(|n| *n != 1) {
            return Err(ApiError::Unsupported {
                parameter: "n",
                problem: "must be 1 in the simulated engine",
                value,
            });
        }
        let limit = wanted.map_or(Ok(default), token_limit)?;
        fits(prompt.tokens, limit, terms.context)?;
        let stream_name = prompt.stream(terms.seed);
        let natural = tokens::natural_length(stream_name).max(self.min_tokens.unwrap_or(1));
        let stops = !self.ignore_eos.unwrap_or(false) && natural <= limit;
        let options = self.stream_options.unwrap_or_default();
        Ok(Asked {
            prompt,
            stream_name,
            output_tokens: if stops { natural } else { limit },
            ending: if stops { Ending::Stop } else { Ending::Length },
            stream: self.stream.unwrap_or(false),
            include_usage: options.include_usage,
            continuous_usage: options.include_usage && options.continuous_usage_stats,
        })
    }
}

fn token_limit(value: i64) -> Result<u32, ApiError> {
    if value < 1 {
        return Err(ApiError::BadMaxTokens { value });
    }
    Ok(u32::try_from(value).unwrap_or(u32::MAX))
}

fn fits(input: u32, output: u32, context: u32) -> Result<(), ApiError> {
    if u64::from(input) + u64::from(output) <= u64::from(context) {
        return Ok(());
    }
    Err(ApiError::ContextOverflow { input, output, context, longest: context.saturating_sub(output) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms<'_> = Terms { model: "m", context: 1000, seed: 0 };

    fn chat(body: &str) -> Result<Asked, ApiError> {
        serde_json::from_str::<ChatBody>(body)?.ask(TERMS)
    }

    fn completion(body: &str) -> Result<Asked, ApiError> {
        serde_json::from_str::<CompletionBody>(body)?.ask(TERMS)
    }

    #[test]
    fn words_of_all_messages_count_and_the_template_too() -> Result<(), ApiError> {
        let asked = chat(
            r#"{"messages": [{"role": "system", "content": "be brief"},
                {"role": "user", "content": [{"type": "text", "text": "a b  c"}]}, {"role": "user", "content": null}],
                "max_tokens": 3, "max_completion_tokens": 7, "ignore_eos": true, "unknown": {}}"#,
        )?;
        assert_eq!((asked.prompt.tokens, asked.output_tokens), (5 + TEMPLATE_TOKENS, 7));
        Ok(())
    }

    #[test]
    fn limits_have_the_defaults_of_their_endpoint() -> Result<(), ApiError> {
        let chat = chat(r#"{"messages": [{"content": "a"}], "ignore_eos": true}"#)?;
        assert_eq!(chat.output_tokens, 1000 - 1 - TEMPLATE_TOKENS);
        assert_eq!(completion(r#"{"prompt": "a", "ignore_eos": true}"#)?.output_tokens, 16);
        Ok(())
    }

    #[test]
    fn an_answer_may_end_early_and_always_at_the_same_place() -> Result<(), ApiError> {
        let ask = |prompt: usize, more: &str| {
            completion(&format!(r#"{{"prompt": "p{prompt}", "max_tokens": 400{more}}}"#))
        };
        let asked: Vec<Asked> = (0..200).map(|prompt| ask(prompt, "")).collect::<Result<_, _>>()?;
        let stopped = asked.iter().filter(|asked| asked.ending == Ending::Stop).count();
        assert!((100..200).contains(&stopped), "{stopped} of 200");
        assert_eq!(asked[7], ask(7, "")?);
        let whole = ask(7, r#", "ignore_eos": true"#)?;
        assert_eq!((whole.output_tokens, whole.ending), (400, Ending::Length));
        for prompt in 0..50 {
            assert!(ask(prompt, r#", "min_tokens": 390"#)?.output_tokens >= 390);
        }
        Ok(())
    }

    #[test]
    fn token_ids_are_not_words() -> Result<(), ApiError> {
        let (ids, word) = (completion(r#"{"prompt": [7]}"#)?, completion(r#"{"prompt": "7"}"#)?);
        assert_eq!(ids.prompt.tokens, word.prompt.tokens);
        assert_ne!(ids.prompt.chain, word.prompt.chain);
        Ok(())
    }

    #[test]
    fn several_answers_at_once_are_not_simulated() {
        assert!(matches!(
            completion(r#"{"prompt": ["a", "b"]}"#),
            Err(ApiError::Unsupported { value: 2, .. })
        ));
        assert!(matches!(
            completion(r#"{"prompt": "a", "n": 3}"#),
            Err(ApiError::Unsupported { value: 3, .. })
        ));
        assert_eq!(completion(r#"{"prompt": []}"#), Err(ApiError::EmptyPrompt));
    }
}
