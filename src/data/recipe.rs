//! Random prompts as vLLM's and SGLang's load generators draw them, to the byte: for comparison with numbers that those tools gave.
//!
//! Sources: `vllm/benchmarks/datasets.py` of 0.11.0 and 0.17.1 (`RandomDataset`), `sglang/bench_serving.py` of 0.5.9
//! (`sample_random_requests`).

use super::beginnings::Beginnings;
use super::chance::{NumpyGenerator, NumpyLegacy};
use super::parallel;
use super::question::{DataError, Question};
use super::vocabulary::Vocabulary;

/// How often an offset is drawn again at most: a small vocabulary may have no other.
const DRAWN_AGAIN: usize = 1000;

/// Whose way of drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipe {
    /// `vllm bench serve --dataset-name random` of 0.11: texts are cut where they became longer, and stay short where shorter.
    Vllm011,
    /// The same from 0.17 on: texts are mended until they have their length.
    Vllm,
    /// `python -m sglang.bench_serving --dataset-name random-ids`: texts are as they were decoded.
    Sglang,
}

/// A length and how far it may vary, as the tools take them: `--random-input-len` and `--random-range-ratio`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lengths {
    /// Tokens of a prompt.
    pub input: u32,
    /// Tokens of an answer.
    pub output: u32,
    /// vLLM: lengths are drawn from `(1 − r)` to `(1 + r)` times the length; SGLang: from `r` to 1 times.
    pub range_ratio: f64,
    /// Tokens that all prompts begin with; 0 in SGLang's recipe.
    pub prefix: u32,
}

/// Random prompts of one recipe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Random {
    /// Whose.
    pub recipe: Recipe,
    /// How long.
    pub lengths: Lengths,
    /// How many.
    pub count: usize,
    /// The tool's own `--seed`.
    pub seed: u64,
    /// The tool's bytes are asked for, whatever other loads begin with.
    pub exact: bool,
}

/// What was drawn for one prompt.
#[derive(Debug, Clone, Copy)]
struct Draw {
    input: u32,
    output: u32,
    offset: u32,
}

impl Random {
    /// The prompts, in the tool's order. The numbers are drawn first; what needs none is made on all cores.
    ///
    /// # Errors
    /// Settings that the tool refuses too, or a tokenizer that fails.
    pub fn questions(&self, vocabulary: &Vocabulary) -> Result<Vec<Question>, DataError> {
        self.apart_from(&Beginnings::default(), vocabulary)
    }

    /// The prompts, of which none begins as one of those: such an offset is drawn again, unless the tool's own bytes are asked for.
    ///
    /// # Errors
    /// As [`Random::questions`].
    pub fn apart_from(
        &self,
        others: &Beginnings,
        vocabulary: &Vocabulary,
    ) -> Result<Vec<Question>, DataError> {
        match self.recipe {
            Recipe::Vllm011 => self.vllm_011(others, vocabulary),
            Recipe::Vllm => self.vllm(others, vocabulary),
            Recipe::Sglang => self.sglang(others, vocabulary),
        }
    }

    /// The tokens that its prompts begin with, drawn apart from those.
    pub(super) fn first_tokens(
        &self,
        others: &Beginnings,
        vocabulary: &Vocabulary,
    ) -> Result<Vec<u32>, DataError> {
        let pool = self.pool(vocabulary);
        let draws = match self.recipe {
            Recipe::Sglang => self.sglang_draws(others, &pool, vocabulary)?,
            Recipe::Vllm | Recipe::Vllm011 => {
                self.vllm_draws(others, &pool, vocabulary, &mut NumpyGenerator::seeded(self.seed))?
            }
        };
        Ok(draws.iter().enumerate().filter_map(|(at, draw)| pool.token(draw.offset, at)).collect())
    }

    fn pool(&self, vocabulary: &Vocabulary) -> Pool {
        match self.recipe {
            Recipe::Vllm => Pool::Of(vocabulary.allowed()),
            Recipe::Vllm011 | Recipe::Sglang => Pool::All(vocabulary.size()),
        }
    }

    /// An offset, drawn again while the prompt would begin as another load's. What all prompts begin with is another matter.
    fn offset(&self, others: &Beginnings, pool: &Pool, at: usize, mut draw: impl FnMut() -> u32) -> u32 {
        let mut offset = draw();
        if self.exact || self.lengths.prefix > 0 || others.is_empty() {
            return offset;
        }
        for _ in 0..DRAWN_AGAIN {
            if pool.token(offset, at).is_none_or(|token| !others.holds(token)) {
                break;
            }
            offset = draw();
        }
        offset
    }

    fn vllm_011(&self, others: &Beginnings, vocabulary: &Vocabulary) -> Result<Vec<Question>, DataError> {
        let mut numpy = NumpyGenerator::seeded(self.seed);
        let size = vocabulary.size();
        let draws = self.vllm_draws(others, &Pool::All(size), vocabulary, &mut numpy)?;
        let prefix: Vec<u32> = (0..self.lengths.prefix).map(|_| numpy.below(size)).collect();
        on_all_cores(&draws, |at, draw| {
            let tokens: Vec<u32> = prefix.iter().copied().chain(sequence(*draw, at, size)).collect();
            let mut ids = vocabulary.encode(&vocabulary.decode(&tokens)?, false)?;
            ids.truncate(tokens.len());
            Ok(vocabulary.question(vocabulary.decode(&ids)?, &ids, draw.output))
        })
    }

    fn vllm(&self, others: &Beginnings, vocabulary: &Vocabulary) -> Result<Vec<Question>, DataError> {
        let mut numpy = NumpyGenerator::seeded(self.seed);
        let allowed = vocabulary.allowed();
        let draws = self.vllm_draws(others, &Pool::Of(allowed.clone()), vocabulary, &mut numpy)?;
        let pool = u32::try_from(allowed.len()).unwrap_or(u32::MAX);
        let prefix: Vec<u32> =
            (0..self.lengths.prefix).map(|_| allowed[numpy.below(pool) as usize]).collect();
        let prefix = if prefix.is_empty() { prefix } else { settled(vocabulary, &prefix, &mut numpy)? };
        // the first look at each text needs no numbers, and is nearly all of the work
        let first = on_all_cores(&draws, |at, draw| {
            let own = sequence(*draw, at, pool).map(|id| allowed[id as usize]);
            let text = vocabulary.decode(&prefix.iter().copied().chain(own).collect::<Vec<_>>())?;
            let tokens = vocabulary.encode(&text, false)?;
            Ok((text, tokens))
        })?;
        let mended = first.into_iter().zip(&draws).map(|(looked_at, draw)| {
            let wanted = (self.lengths.prefix + draw.input) as usize;
            let (text, tokens) = mend(vocabulary, looked_at, wanted, &mut |end| numpy.below(end))?;
            Ok(vocabulary.question(text, &tokens, draw.output))
        });
        mended.collect()
    }

    /// All lengths of prompts, then of answers, then all offsets.
    fn vllm_draws(
        &self,
        others: &Beginnings,
        pool: &Pool,
        vocabulary: &Vocabulary,
        numpy: &mut NumpyGenerator,
    ) -> Result<Vec<Draw>, DataError> {
        let (lengths, count) = (self.lengths, self.count);
        if !(0.0..1.0).contains(&lengths.range_ratio) {
            return Err(DataError::Settings("the range ratio lies from 0 to below 1".to_owned()));
        }
        let (low, high) = around(lengths.input.saturating_sub(vocabulary.added()), lengths.range_ratio);
        if low + lengths.prefix < 1 {
            return Err(DataError::Settings(format!(
                "a prompt of {} tokens has no room beside the {} that the tokenizer adds",
                lengths.input,
                vocabulary.added()
            )));
        }
        let inputs: Vec<u32> = (0..count).map(|_| numpy.within(low, high)).collect();
        let (low, high) = around(lengths.output, lengths.range_ratio);
        let outputs: Vec<u32> = (0..count).map(|_| numpy.within(low.max(1), high.max(1))).collect();
        let offsets = (0..count).map(|at| self.offset(others, pool, at, || numpy.below(vocabulary.size())));
        let lengths = inputs.into_iter().zip(outputs);
        Ok(lengths.zip(offsets).map(|((input, output), offset)| Draw { input, output, offset }).collect())
    }

    fn sglang(&self, others: &Beginnings, vocabulary: &Vocabulary) -> Result<Vec<Question>, DataError> {
        let plan = self.sglang_draws(others, &self.pool(vocabulary), vocabulary)?;
        on_all_cores(&plan, |at, draw| {
            let tokens: Vec<u32> = sequence(*draw, at, vocabulary.size()).collect();
            Ok(vocabulary.question(vocabulary.decode(&tokens)?, &tokens, draw.output))
        })
    }

    fn sglang_draws(
        &self,
        others: &Beginnings,
        pool: &Pool,
        vocabulary: &Vocabulary,
    ) -> Result<Vec<Draw>, DataError> {
        let seed = u32::try_from(self.seed)
            .map_err(|_| DataError::Settings("numpy's older generator takes seeds below 2^32".to_owned()))?;
        let mut numpy = NumpyLegacy::seeded(seed);
        let mut drawn = |length: u32| -> Vec<u32> {
            let low = ((f64::from(length) * self.lengths.range_ratio) as u32).max(1);
            (0..self.count).map(|_| numpy.within(low, length.max(low))).collect()
        };
        let (inputs, outputs) = (drawn(self.lengths.input), drawn(self.lengths.output));
        let plan = (0..self.count).map(|at| Draw {
            input: inputs[at].saturating_sub(vocabulary.added()),
            output: outputs[at],
            offset: self.offset(others, pool, at, || numpy.below(vocabulary.size())),
        });
        Ok(plan.collect())
    }
}

/// The tokens that prompts run through.
enum Pool {
    /// all so many of the vocabulary
    All(u32),
    Of(Vec<u32>),
}

impl Pool {
    /// The first token of the prompt at a place.
    fn token(&self, offset: u32, at: usize) -> Option<u32> {
        let place = u64::from(offset) + at as u64;
        match self {
            Self::All(size) => place.checked_rem(u64::from(*size)).map(|token| token as u32),
            Self::Of(tokens) => tokens.get(place.checked_rem(tokens.len() as u64)? as usize).copied(),
        }
    }
}

/// From `(1 − ratio)` to `(1 + ratio)` times a length, rounded outwards.
fn around(length: u32, ratio: f64) -> (u32, u32) {
    let length = f64::from(length);
    ((length * (1.0 - ratio)).floor() as u32, (length * (1.0 + ratio)).ceil() as u32)
}

/// Consecutive numbers from the prompt's offset on, round and round the pool.
fn sequence(draw: Draw, at: usize, pool: u32) -> impl Iterator<Item = u32> {
    let from = u64::from(draw.offset) + at as u64;
    (0..u64::from(draw.input)).map(move |next| ((from + next) % u64::from(pool.max(1))) as u32)
}

/// A prefix that stays as long when it is decoded and encoded again.
fn settled(
    vocabulary: &Vocabulary,
    tokens: &[u32],
    numpy: &mut NumpyGenerator,
) -> Result<Vec<u32>, DataError> {
    let text = vocabulary.decode(tokens)?;
    let encoded = vocabulary.encode(&text, false)?;
    mend(vocabulary, (text, encoded), tokens.len(), &mut |end| numpy.below(end)).map(|(_, tokens)| tokens)
}

/// Repairs a text until it has as many tokens as wanted, ten times at most: tokens are drawn and added, or cut off.
pub(super) fn mend(
    vocabulary: &Vocabulary,
    (mut text, mut tokens): (String, Vec<u32>),
    wanted: usize,
    draw_below: &mut dyn FnMut(u32) -> u32,
) -> Result<(String, Vec<u32>), DataError> {
    const TIMES: u32 = 10;
    for _ in 0..TIMES {
        if tokens.len() == wanted {
            break;
        }
        while tokens.len() < wanted {
            tokens.push(draw_below(vocabulary.size()));
        }
        tokens.truncate(wanted);
        text = vocabulary.decode(&tokens)?;
        tokens = vocabulary.encode(&text, false)?;
    }
    Ok((text, tokens))
}

/// Maps items on all cores, their order kept; the first error wins.
pub(super) fn on_all_cores<T: Sync, R: Send>(
    items: &[T],
    make: impl Fn(usize, &T) -> Result<R, DataError> + Sync,
) -> Result<Vec<R>, DataError> {
    let panicked = || DataError::Tokenizing("work: it panicked".to_owned());
    parallel::on_all_cores(items.len(), |at| make(at, &items[at]), panicked)
}
