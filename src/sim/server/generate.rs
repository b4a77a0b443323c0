//! SGLang's own endpoint, `/generate`: another body, and events that each hold the whole text so far and the tokens so far in
//! `meta_info`, field for field as SGLang 0.5.9 writes them, token ids apart.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::sequence::{Emission, Ending};
use super::super::tokens;
use super::asked::{Asked, Common, PromptField, Terms};
use super::errors::ApiError;
use super::events::Answer;

/// Answer tokens when the client does not say.
const DEFAULT_TOKENS: u32 = 128;

/// Body of `/generate`. It names no model.
#[derive(Debug, Deserialize)]
pub struct GenerateBody {
    text: Option<PromptField>,
    input_ids: Option<PromptField>,
    #[serde(default)]
    sampling_params: Sampling,
    stream: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
struct Sampling {
    max_new_tokens: Option<i64>,
    min_new_tokens: Option<u32>,
    ignore_eos: Option<bool>,
    n: Option<u64>,
}

impl GenerateBody {
    /// Checks the request against what is served.
    pub fn ask(self, terms: Terms<'_>) -> Result<Asked, ApiError> {
        let prompt = self.text.or(self.input_ids).ok_or(ApiError::EmptyPrompt)?.tokenise()?;
        let Sampling { max_new_tokens, min_new_tokens, ignore_eos, n } = self.sampling_params;
        let common =
            Common { min_tokens: min_new_tokens, ignore_eos, stream: self.stream, n, ..Common::default() };
        common.ask(prompt, max_new_tokens, DEFAULT_TOKENS, terms)
    }
}

/// An event's document, and a whole answer's: what was generated up to `sent` tokens.
pub fn document(answer: &Answer, sent: u32, ending: Option<Ending>, cached_tokens: u32) -> Value {
    let text: String = (0..sent).map(|at| tokens::generated_text(answer.stream_name, at)).collect();
    let reason = ending.map(|ending| match ending {
        Ending::Length => json!({"type": "length", "length": sent}),
        Ending::Stop => json!({"type": "stop", "matched": 2}),
    });
    json!({
        "text": text,
        "meta_info": {
            "id": format!("{:032x}", answer.id), "finish_reason": reason, "prompt_tokens": answer.prompt_tokens,
            "weight_version": "default", "total_retractions": 0, "completion_tokens": sent, "cached_tokens": cached_tokens,
        },
    })
}

/// One event of a stream.
pub fn event(answer: &Answer, emission: &Emission) -> String {
    let sent = emission.position + emission.tokens;
    format!("data: {}\n\n", document(answer, sent, emission.ending, emission.cached_tokens))
}
