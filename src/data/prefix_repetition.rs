//! Prompts that share their beginnings, as vLLM's load generator draws them: what a prefix cache is measured with.
//!
//! Source: `PrefixRepetitionRandomDataset` of `vllm/benchmarks/datasets.py` (0.17.1).

use super::chance::{NumpyLegacy, Python};
use super::question::{DataError, Question};
use super::recipe::mend;
use super::vocabulary::Vocabulary;

/// Groups of prompts, each group with a beginning of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixRepetition {
    /// Tokens that the prompts of a group share.
    pub prefix: u32,
    /// Tokens after them.
    pub suffix: u32,
    /// How many groups.
    pub prefixes: u32,
    /// Tokens of an answer.
    pub output: u32,
    /// How many prompts; vLLM sends as many as fill all groups alike.
    pub count: usize,
    /// The tool's own `--seed`.
    pub seed: u64,
}

impl PrefixRepetition {
    /// The prompts, shuffled as vLLM shuffles them.
    ///
    /// # Errors
    /// Fewer prompts than groups, or a tokenizer that fails.
    pub fn questions(&self, vocabulary: &Vocabulary) -> Result<Vec<Question>, DataError> {
        let groups = self.prefixes.max(1);
        let each = self.count / groups as usize;
        if each == 0 {
            return Err(DataError::Settings(format!("{} prompts do not fill {groups} groups", self.count)));
        }
        let seed = u32::try_from(self.seed)
            .map_err(|_| DataError::Settings("numpy's older generator takes seeds below 2^32".to_owned()))?;
        let mut numpy = NumpyLegacy::seeded(seed);
        let mut questions = Vec::with_capacity(each * groups as usize);
        for _ in 0..groups {
            let prefix = exact(vocabulary, self.prefix, &mut numpy)?;
            for _ in 0..each {
                let mut tokens = prefix.clone();
                tokens.extend(exact(vocabulary, self.suffix, &mut numpy)?);
                let text = vocabulary.decode(&tokens)?;
                questions.push(vocabulary.question(text, &tokens, self.output));
            }
        }
        Python::seeded(self.seed).shuffle(&mut questions);
        Ok(questions)
    }
}

/// Random tokens that stay as many when they are decoded and encoded again.
fn exact(vocabulary: &Vocabulary, length: u32, numpy: &mut NumpyLegacy) -> Result<Vec<u32>, DataError> {
    let tokens: Vec<u32> = (0..length).map(|_| numpy.below(vocabulary.size())).collect();
    let text = vocabulary.decode(&tokens)?;
    let encoded = vocabulary.encode(&text, false)?;
    mend(vocabulary, (text, encoded), length as usize, &mut |end| numpy.below(end)).map(|(_, tokens)| tokens)
}
