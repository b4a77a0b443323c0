//! What one request asks, and what may be wrong with where it comes from.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::chance::Python;

/// Tokens of the smallest block that prefix caches keep.
const BLOCK: usize = 16;

/// One request's question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The prompt, or the one user message.
    pub text: String,
    /// Its tokens, as its recipe counts them.
    pub tokens: u32,
    /// Tokens of the answer to ask for.
    pub output: u32,
    /// What it begins with, as far as a prefix cache may keep it; `None` where it is shorter than that.
    pub beginning: Option<u64>,
}

impl Question {
    /// A question whose tokens are known, behind so many of a chat template.
    pub(super) fn of(text: String, ids: &[u32], output: u32, behind: u32) -> Self {
        let tokens = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        // the template fills a part of the first block that holds anything of the question
        let own = BLOCK - behind as usize % BLOCK;
        Self { text, tokens, output, beginning: ids.get(..own).map(of_tokens) }
    }

    /// A question whose words are counted for its tokens.
    pub(super) fn of_words(text: String, output: u32) -> Self {
        let words: Vec<&str> = text.split_whitespace().take(BLOCK).collect();
        let beginning = words.get(..BLOCK).map(|words| hashed(words.join(" ").as_bytes()));
        let tokens = u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX);
        Self { text, tokens, output, beginning }
    }
}

fn of_tokens(ids: &[u32]) -> u64 {
    hashed(&ids.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>())
}

/// The same wherever and whenever it is asked, for it is kept on disks.
fn hashed(beginning: &[u8]) -> u64 {
    Sha256::digest(beginning).first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight))
}

/// Why there are no questions.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// A tokenizer that cannot be used.
    #[error("the tokenizer {path}: {why}", path = path.display())]
    Tokenizer {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A file of a data set.
    #[error("the data set {path}: {why}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, with its line where it has one.
        why: String,
    },
    /// Prompts that are made of tokens, and no tokenizer.
    #[error("these prompts are made of tokens and need a tokenizer")]
    NoTokenizer,
    /// Settings that the recipe cannot take.
    #[error("{0}")]
    Settings(String),
    /// The model's chat template.
    #[error("the chat template cannot be used: {0}")]
    Template(String),
    /// The tokenizer failed on a text.
    #[error("the tokenizer cannot {0}")]
    Tokenizing(String),
}

/// As many questions as are wanted: where there are too few, vLLM draws among those that it has, by `random.choices` of the seed
/// (`maybe_oversample_requests` of `vllm/benchmarks/datasets.py`, 0.17.1).
pub(super) fn drawn_again(mut questions: Vec<Question>, count: usize, seed: u64) -> Vec<Question> {
    let mut python = Python::seeded(seed);
    let found = questions.len();
    while found > 0 && questions.len() < count {
        questions.push(questions[python.choice(found)].clone());
    }
    questions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_a_template_a_beginning_is_what_its_first_block_has_room_for() {
        let beginning = |ids: &[u32], behind| Question::of(String::new(), ids, 1, behind).beginning;
        let (one, two): (Vec<u32>, Vec<u32>) = ((0..16).collect(), (0..16).map(|n| n % 13).collect());
        assert_ne!(beginning(&one, 0), beginning(&two, 0));
        // three tokens of a template leave room for thirteen
        assert_eq!(beginning(&one, 3), beginning(&two, 3));
        assert_eq!(beginning(&one, 19), beginning(&one, 3));
        assert_eq!((beginning(&one[..12], 3), beginning(&one[..1], 15).is_some()), (None, true));
    }
}
