//! Prompts of a file of JSON lines, chosen and ordered as vLLM's load generator does (`--dataset-name custom`).
//!
//! Source: `CustomDataset` of `vllm/benchmarks/datasets.py` (0.17.1). Unlike there, a prompt is sent as it stands in the
//! file: the server puts it into its chat template.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use serde::Deserialize;

use super::chance::Python;
use super::question::{DataError, DrawnAgain, Question, drawn_again, opened};
use super::vocabulary::Vocabulary;

/// The prompts of a file, shuffled; where it has too few, some are drawn again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Custom {
    /// Each line an object with `prompt` and, unless `output` is given, `output_tokens`.
    pub file: PathBuf,
    /// How many; as many as the file has, where it is `None`.
    pub count: Option<usize>,
    /// The tool's own `--seed`.
    pub seed: u64,
    /// One length for all answers instead of those in the file.
    pub output: Option<u32>,
    /// The length of those answers of which the file says none.
    pub otherwise: Option<u32>,
    /// How too few are made enough.
    pub again: DrawnAgain,
}

#[derive(Deserialize)]
struct Line {
    prompt: String,
    output_tokens: Option<u32>,
}

impl Custom {
    /// The questions, in the tool's order. Without a vocabulary a prompt's words are counted for its tokens.
    ///
    /// # Errors
    /// A file that cannot be read, or with a line that is none of these.
    pub fn questions(&self, vocabulary: Option<&Vocabulary>) -> Result<Vec<Question>, DataError> {
        let mut lines = self.read()?;
        Python::seeded(self.seed).shuffle(&mut lines);
        lines.truncate(self.count.unwrap_or(usize::MAX));
        let mut questions = Vec::with_capacity(lines.len());
        for (text, output) in lines {
            questions.push(match vocabulary {
                Some(vocabulary) => {
                    let ids = vocabulary.encode(&text, true)?;
                    vocabulary.question(text, &ids, output)
                }
                None => Question::of_words(text, output),
            });
        }
        Ok(drawn_again(questions, self.count.unwrap_or(0), self.seed, self.again))
    }

    fn read(&self) -> Result<Vec<(String, u32)>, DataError> {
        let refuse = |why: String| DataError::File { path: self.file.clone(), why };
        let file = opened(&self.file)?;
        let mut all = Vec::new();
        for (number, line) in (1..).zip(BufReader::new(file).lines()) {
            let line = line.map_err(|e| refuse(format!("line {number}: {e}")))?;
            if line.trim().is_empty() {
                continue;
            }
            let read: Line =
                serde_json::from_str(&line).map_err(|e| refuse(format!("line {number}: {}", reason(&e))))?;
            let output = self.output.or(read.output_tokens).or(self.otherwise).filter(|tokens| *tokens > 0);
            let missing =
                || refuse(format!("line {number} has no `output_tokens`, and no other length is given"));
            all.push((read.prompt, output.ok_or_else(missing)?));
        }
        if all.is_empty() { Err(refuse("it holds no prompt".to_owned())) } else { Ok(all) }
    }
}

/// What is wrong with a line; its place within the line stays, the line that serde counts is always the first.
fn reason(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", ", column ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn custom(text: &str, count: usize, output: Option<u32>) -> Result<Vec<Question>, DataError> {
        drawn(text, count, output, None)
    }

    fn drawn(
        text: &str,
        count: usize,
        output: Option<u32>,
        otherwise: Option<u32>,
    ) -> Result<Vec<Question>, DataError> {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("prompts.jsonl");
        std::fs::write(&file, text).expect("written");
        Custom { file, count: Some(count), seed: 0, output, otherwise, again: DrawnAgain::Choice }
            .questions(None)
    }

    // python -c "import random; random.seed(0); d = list('abcde'); random.shuffle(d); random.seed(0); print(d, [random.choice(d) for _ in range(3)])"
    #[test]
    fn lines_are_shuffled_and_drawn_again_as_vllm_does() {
        let text: String = ["a", "b", "c", "d", "e"]
            .map(|p| format!("{{\"prompt\": \"{p}\", \"output_tokens\": 7}}\n\n"))
            .concat();
        let drawn = custom(&text, 8, None).expect("prompts");
        let texts: Vec<&str> = drawn.iter().map(|q| q.text.as_str()).collect();
        assert_eq!(texts, EXPECTED);
        assert!(drawn.iter().all(|q| (q.tokens, q.output) == (1, 7)));
        assert_eq!(custom(&text, 2, Some(3)).expect("prompts").last().map(|q| q.output), Some(3));
    }

    #[test]
    fn a_length_for_answers_stands_where_the_file_says_none() {
        let lines = "{\"prompt\": \"a\", \"output_tokens\": 7}\n{\"prompt\": \"a\"}\n";
        let mut lengths: Vec<u32> =
            drawn(lines, 2, None, Some(9)).expect("prompts").iter().map(|q| q.output).collect();
        lengths.sort_unstable();
        assert_eq!(lengths, [7, 9]);
    }

    const EXPECTED: [&str; 8] = ["c", "b", "a", "e", "d", "e", "e", "c"];

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let told = |text: &str| custom(text, 1, None).expect_err("wrong").to_string();
        assert!(
            told("{\"prompt\": \"a\", \"output_tokens\": 1}\n{\"text\": 1}\n")
                .contains("line 2: missing field `prompt`")
        );
        assert!(told("{\"prompt\": \"a\"}\n").contains("line 1 has no `output_tokens`"));
        assert!(told("\n").contains("holds no prompt"));
    }
}
