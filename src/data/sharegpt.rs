//! Conversations of a ShareGPT file, chosen and ordered as vLLM's or SGLang's load generator does.
//!
//! Sources: `ShareGPTDataset` and `is_valid_sequence` of `vllm/benchmarks/datasets.py` (0.17.1), `sample_sharegpt_requests` of
//! `sglang/bench_serving.py` (0.5.9).

use std::io::BufReader;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::chance::Python;
use super::question::{DataError, DrawnAgain, Question, drawn_again, opened};
use super::recipe::on_all_cores;
use super::vocabulary::Vocabulary;

/// Which conversations are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareGptFilter {
    /// vLLM: 4 to 1,024 tokens of prompt, at least 4 of answer, at most 2,048 together; too few are drawn again, in one of its ways.
    Vllm(DrawnAgain),
    /// SGLang: at least 2 tokens each.
    Sglang,
}

/// The first question of each conversation, with an answer as long as the one in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareGpt {
    /// `ShareGPT_V3_unfiltered_cleaned_split.json`, or a file like it.
    pub file: PathBuf,
    /// Whose choice.
    pub filter: ShareGptFilter,
    /// How many; as many as the file has, where it is `None`.
    pub count: Option<usize>,
    /// The tool's own `--seed`.
    pub seed: u64,
    /// One length for all answers instead of those in the file.
    pub output: Option<u32>,
}

impl ShareGpt {
    /// The questions, in the tool's order.
    ///
    /// # Errors
    /// A file that cannot be read, is no such data set, or holds nothing that the filter takes.
    pub fn questions(&self, vocabulary: &Vocabulary) -> Result<Vec<Question>, DataError> {
        let mut pairs = self.read()?;
        Python::seeded(self.seed).shuffle(&mut pairs);
        let wanted = self.count.unwrap_or(usize::MAX);
        let mut chosen = Vec::new();
        // about three of four are taken: no more texts become tokens than are needed
        for part in pairs.chunks(wanted.clamp(64, 1 << 16)) {
            let looked_at = on_all_cores(part, |_, pair| self.question(vocabulary, pair))?;
            chosen.extend(looked_at.into_iter().flatten().take(wanted - chosen.len()));
            if chosen.len() == wanted {
                return Ok(chosen);
            }
        }
        self.filled(chosen)
    }

    fn read(&self) -> Result<Vec<(String, String)>, DataError> {
        let refuse = |why: String| DataError::File { path: self.file.clone(), why };
        let file = opened(&self.file)?;
        let entries: Vec<Entry> = serde_json::from_reader(BufReader::with_capacity(1 << 20, file))
            .map_err(|e| refuse(e.to_string()))?;
        let turns = |entry: Entry| match self.filter {
            ShareGptFilter::Vllm(_) => entry.conversations,
            ShareGptFilter::Sglang => entry.conversations.or(entry.conversation),
        };
        Ok(entries.into_iter().filter_map(|entry| turns(entry)?.0).collect())
    }

    fn question(
        &self,
        vocabulary: &Vocabulary,
        pair: &(String, String),
    ) -> Result<Option<Question>, DataError> {
        let length = |ids: &[u32]| u32::try_from(ids.len()).unwrap_or(u32::MAX);
        let ids = vocabulary.encode(&pair.0, true)?;
        let tokens = length(&ids);
        let output = match self.output {
            Some(output) => output,
            None => length(&vocabulary.encode(&pair.1, true)?),
        };
        let taken = match self.filter {
            ShareGptFilter::Vllm(_) => {
                let long_enough = tokens >= 4 && (output >= 4 || self.output.is_some());
                long_enough && tokens <= 1024 && tokens.saturating_add(output) <= 2048
            }
            ShareGptFilter::Sglang => tokens >= 2 && output >= 2,
        };
        Ok(taken.then(|| vocabulary.question(pair.0.clone(), &ids, output)))
    }

    /// What a file with too few conversations gives: vLLM draws among those that it has, SGLang sends fewer.
    fn filled(&self, chosen: Vec<Question>) -> Result<Vec<Question>, DataError> {
        if chosen.is_empty() {
            let why = "it holds no conversation of two turns of the lengths that are taken".to_owned();
            return Err(DataError::File { path: self.file.clone(), why });
        }
        Ok(match self.filter {
            ShareGptFilter::Vllm(how) => drawn_again(chosen, self.count.unwrap_or(0), self.seed, how),
            ShareGptFilter::Sglang => chosen,
        })
    }
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    conversations: Option<FirstTwo>,
    /// Another name of it, which SGLang knows and vLLM passes over.
    #[serde(default)]
    conversation: Option<FirstTwo>,
}

#[derive(Deserialize)]
struct Turn {
    value: String,
}

/// The texts of the first two turns, if there are as many. The rest of a file of some 600 MB is not kept.
#[derive(Default)]
struct FirstTwo(Option<(String, String)>);

impl<'de> Deserialize<'de> for FirstTwo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Turns)
    }
}

struct Turns;

impl<'de> Visitor<'de> for Turns {
    type Value = FirstTwo;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of turns, each with a `value`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut turns: A) -> Result<FirstTwo, A::Error> {
        let first: Option<Turn> = turns.next_element()?;
        let second: Option<Turn> = turns.next_element()?;
        while turns.next_element::<IgnoredAny>()?.is_some() {}
        Ok(FirstTwo(first.zip(second).map(|(question, answer)| (question.value, answer.value))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::vocabulary::small::vocabulary;
    use super::*;

    fn prompts(filter: ShareGptFilter) -> Vec<String> {
        let talk = |n: u32| format!(r#"[{{"value":"w{n} w1 w2 w3"}},{{"value":"w1 w2 w3 w4"}}]"#);
        let named = |n: u32, name: &str| format!(r#"{{"{name}":{}}}"#, talk(n));
        let both = format!(r#"{{"conversation":{},"conversations":{}}}"#, talk(30), talk(40));
        let entries = [named(10, "conversations"), named(20, "conversation"), both, "{}".to_owned()];
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("share.json");
        std::fs::write(&file, format!("[{}]", entries.join(","))).expect("written");
        let all = ShareGpt { file, filter, count: Some(3), seed: 1, output: None };
        let mut found: Vec<String> =
            all.questions(&vocabulary()).expect("questions").into_iter().map(|q| q.text).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn each_tool_knows_its_own_names_of_a_conversation() {
        assert_eq!(prompts(ShareGptFilter::Vllm(DrawnAgain::Choice)), ["w10 w1 w2 w3", "w40 w1 w2 w3"]);
        assert_eq!(prompts(ShareGptFilter::Sglang), ["w10 w1 w2 w3", "w20 w1 w2 w3", "w40 w1 w2 w3"]);
    }
}
