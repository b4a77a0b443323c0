//! A tokenizer as Python's tools see it: which tokens count, how texts become tokens and back.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tokenizers::PostProcessor;
use tokenizers::Tokenizer;
use tokenizers::processors::PostProcessorWrapper;

use super::chat::{Around, TemplateTokens};
use super::question::{DataError, Question};

/// What `transformers` takes out of a decoded text where a tokenizer's configuration asks for it.
const CLEAN_UP: [(&str, &str); 10] = [
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
];

/// Settings of `tokenizer_config.json` that name special tokens.
const NAMED: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// Why a `tokenizer.json` that is there can be none: it was cut, or is a page that says something else. Whether all of it is understood is
/// known only once it is loaded, which takes a second.
pub fn unreadable(file: &Path) -> Option<String> {
    let read = fs::read(file).map_err(|e| e.to_string());
    let json = read.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).map_err(|e| e.to_string()));
    match json {
        Ok(json) if json.get("model").is_some_and(Value::is_object) => None,
        Ok(_) => Some("it is JSON, and describes no tokenizer (it has no `model`)".to_owned()),
        Err(why) => Some(why),
    }
}

/// A tokenizer.
#[derive(Debug)]
pub struct Vocabulary {
    tokenizer: Tokenizer,
    /// Tokens without those that were added to the model's own.
    size: u32,
    specials: BTreeSet<u32>,
    cleans_up: bool,
    /// Tokens that are put around every text that is encoded with special tokens.
    added: u32,
    /// Tokens of a chat template that stand before every text.
    behind: u32,
}

impl Vocabulary {
    /// Reads `tokenizer.json`, given as the file or as the folder that holds it, and what lies beside it.
    ///
    /// # Errors
    /// A file that cannot be read or is no tokenizer's.
    pub fn load(path: &Path) -> Result<Self, DataError> {
        let file = if path.is_dir() { path.join("tokenizer.json") } else { path.to_path_buf() };
        let refuse = |why: String| DataError::Tokenizer { path: file.clone(), why };
        let tokenizer = Tokenizer::from_file(&file).map_err(|e| refuse(e.to_string()))?;
        let config = beside(&file, "tokenizer_config.json").map_err(refuse)?;
        Ok(Self::new(tokenizer, &config))
    }

    fn new(mut tokenizer: Tokenizer, config: &Value) -> Self {
        // the file may ask for a fixed length, which would make every count that length
        tokenizer.with_padding(None);
        let _ = tokenizer.with_truncation(None);
        let size = u32::try_from(tokenizer.get_vocab_size(false)).unwrap_or(u32::MAX);
        let added =
            tokenizer.get_post_processor().map_or(0, |p: &PostProcessorWrapper| p.added_tokens(false));
        Self {
            specials: specials(&tokenizer, config),
            cleans_up: config["clean_up_tokenization_spaces"].as_bool().unwrap_or(false),
            size,
            added: u32::try_from(added).unwrap_or(0),
            behind: 0,
            tokenizer,
        }
    }

    /// The same for texts that a server puts into a chat template; says what the template adds.
    ///
    /// # Errors
    /// A tokenizer that fails.
    pub fn within(&mut self, around: &Around) -> Result<TemplateTokens, DataError> {
        // any words do: what stands around a text does not look at it
        let tokens = TemplateTokens::of(around, "some words", |text| self.count(text))?;
        self.behind = tokens.before;
        Ok(tokens)
    }

    /// A question of these tokens.
    pub(super) fn question(&self, text: String, ids: &[u32], output: u32) -> Question {
        Question::of(text, ids, output, self.behind)
    }

    /// How many tokens a text has, none added.
    pub(super) fn count(&self, text: &str) -> Result<u32, DataError> {
        Ok(u32::try_from(self.encode(text, false)?.len()).unwrap_or(u32::MAX))
    }

    /// `vocab_size`: tokens without added ones.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// `num_special_tokens_to_add()`.
    pub fn added(&self) -> u32 {
        self.added
    }

    /// The tokens that may stand in a random prompt: all but special ones, ascending.
    pub(super) fn allowed(&self) -> Vec<u32> {
        (0..self.size).filter(|id| !self.specials.contains(id)).collect()
    }

    /// `decode(tokens)`.
    pub(super) fn decode(&self, tokens: &[u32]) -> Result<String, DataError> {
        let text = self.tokenizer.decode(tokens, false);
        let mut text = text.map_err(|e| DataError::Tokenizing(format!("decode tokens: {e}")))?;
        if self.cleans_up {
            for (from, to) in CLEAN_UP {
                text = text.replace(from, to);
            }
        }
        Ok(text)
    }

    /// `encode(text, add_special_tokens=special)`.
    pub(super) fn encode(&self, text: &str, special: bool) -> Result<Vec<u32>, DataError> {
        let encoded = self.tokenizer.encode_fast(text, special);
        let encoded = encoded.map_err(|e| DataError::Tokenizing(format!("encode a text: {e}")))?;
        Ok(encoded.get_ids().to_vec())
    }
}

/// A JSON file beside a tokenizer's; none is an empty one.
pub(super) fn beside(file: &Path, name: &str) -> Result<Value, String> {
    let path: PathBuf = file.with_file_name(name);
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| format!("{name} beside it: {e}")),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Value::Null),
        Err(e) => Err(format!("{name} beside it: {e}")),
    }
}

/// `all_special_ids`: what the configuration names; without one, what the tokenizer itself calls special.
fn specials(tokenizer: &Tokenizer, config: &Value) -> BTreeSet<u32> {
    if config.is_null() {
        let added = tokenizer.get_added_tokens_decoder();
        return added.into_iter().filter(|(_, token)| token.special).map(|(id, _)| id).collect();
    }
    let text = |value: &Value| value.as_str().or_else(|| value["content"].as_str()).map(str::to_owned);
    let named = NAMED.iter().filter_map(|name| text(&config[*name]));
    let more = config["additional_special_tokens"].as_array().into_iter().flatten().filter_map(text);
    named.chain(more).filter_map(|token| tokenizer.token_to_id(&token)).collect()
}

#[cfg(test)]
pub(super) mod small {
    //! A tokenizer of a hundred words, for tests.

    use std::str::FromStr;

    use super::*;

    pub fn vocabulary() -> Vocabulary {
        let words: Vec<String> = (0..100).map(|i| format!("\"w{i}\":{i}")).collect();
        let json = format!(
            r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
            "pre_tokenizer":{{"type":"WhitespaceSplit"}},"post_processor":null,"decoder":null,
            "model":{{"type":"WordLevel","vocab":{{{}}},"unk_token":"w0"}}}}"#,
            words.join(",")
        );
        Vocabulary::new(Tokenizer::from_str(&json).expect("a tokenizer"), &Value::Null)
    }
}
