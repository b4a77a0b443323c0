//! What one request asks, and what may be wrong with where it comes from.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

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

/// The file of a data set. A folder can be opened, and fails only where a line of it is read.
pub(super) fn opened(path: &Path) -> Result<File, DataError> {
    let file = File::open(path).and_then(|file| {
        if file.metadata()?.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(file) }
    });
    file.map_err(|e: io::Error| DataError::File { path: path.to_owned(), why: e.to_string() })
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

/// How a tool draws the questions that a file has too few of: each by `random.choice` as vLLM 0.17.1, or all by
/// `random.choices` as 0.11, both from the seed on (`maybe_oversample_requests` of `vllm/benchmarks/datasets.py`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawnAgain {
    /// One after the other.
    Choice,
    /// All at once.
    Choices,
}

/// As many questions as are wanted: where there are too few, vLLM draws among those that it has.
pub(super) fn drawn_again(
    mut questions: Vec<Question>,
    count: usize,
    seed: u64,
    how: DrawnAgain,
) -> Vec<Question> {
    let mut python = Python::seeded(seed);
    let found = questions.len();
    while found > 0 && questions.len() < count {
        let drawn = match how {
            DrawnAgain::Choice => python.choice(found),
            DrawnAgain::Choices => python.one_of_choices(found),
        };
        questions.push(questions[drawn].clone());
    }
    questions
}

#[cfg(test)]
mod tests {
    use super::*;

    // python -c "import random as r; r.seed(1); print([r.choice(range(234)) for _ in range(8)]); r.seed(1); print(r.choices(range(234), k=8))"
    #[test]
    fn what_a_file_has_too_few_of_is_drawn_as_each_vllm_draws_it() {
        let all: Vec<Question> = (0..234).map(|n| Question::of_words(n.to_string(), 1)).collect();
        let again = |how| -> Vec<String> {
            drawn_again(all.clone(), 242, 1, how).drain(234..).map(|question| question.text).collect()
        };
        assert_eq!(again(DrawnAgain::Choice), CHOICE);
        assert_eq!(again(DrawnAgain::Choices), CHOICES);
    }

    const CHOICE: [&str; 8] = ["34", "145", "216", "205", "195", "16", "65", "30"];
    const CHOICES: [&str; 8] = ["31", "198", "178", "59", "115", "105", "152", "184"];

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
