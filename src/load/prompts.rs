//! What requests ask: random text of an exact length, each request's drawn from its own random stream. The
//! prompts of a warm-up begin with words that no prompt of the load begins with, so that no prefix is in the
//! cache too early.

use std::ops::RangeInclusive;

use rand::RngExt;
use rand_chacha::ChaCha12Rng;

use super::error::LoadError;
use super::late::LateTokens;
use super::seeds::{Purpose, block_rng, prompt_rng, shared_rng};
use super::spec::Shared;
use super::words::WORDS;
use crate::data::{BLOCK_TOKENS, Traced};

/// One request's question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prompt {
    pub text: String,
    /// Tokens of the text by our own count.
    pub tokens: u32,
    /// Tokens to ask for.
    pub output: u32,
}

/// Draws prompts.
#[derive(Debug)]
pub(super) struct PromptMaker {
    pub input: RangeInclusive<u32>,
    pub output: RangeInclusive<u32>,
    pub tokenizer: Option<LateTokens>,
    pub shared: Option<Shared>,
    pub seed: u64,
}

impl PromptMaker {
    /// The prompt of one request: the same whenever and wherever it is drawn.
    pub(super) fn make(&self, purpose: Purpose, index: u64) -> Result<Prompt, LoadError> {
        let mut rng = prompt_rng(self.seed, purpose, index);
        let tokens = rng.random_range(self.input.clone());
        let output = rng.random_range(self.output.clone());
        let mut shared = self.shared.map(|shared| {
            let group = rng.random_range(0..shared.groups.max(1));
            (shared.tokens, shared_rng(self.seed, purpose, group))
        });
        let (before, mut of_group) = match &mut shared {
            Some((before, of_group)) => (*before, Some(of_group)),
            None => (0, None),
        };
        let tokens = tokens.saturating_add(before);
        // the first `before` places are drawn from the group's stream, all others from the request's own
        let mut draw = |at: usize, places: usize| {
            let rng = of_group.as_deref_mut().filter(|_| at < before as usize).unwrap_or(&mut rng);
            if at == 0 { first_place(places, purpose, rng) } else { rng.random_range(0..places) }
        };
        let text = match &self.tokenizer {
            Some(tokenizer) => tokenizer.get()?.text(tokens, &mut draw)?,
            None => words(tokens, &mut draw),
        };
        Ok(Prompt { text, tokens, output })
    }

    /// The prompt of a trace's request: equal blocks are equal texts, and what stands in no block is the request's own.
    pub(super) fn of_trace(&self, traced: &Traced, index: u64) -> Result<Prompt, LoadError> {
        let mut own = prompt_rng(self.seed, Purpose::Load, index);
        let mut block: Option<(usize, ChaCha12Rng)> = None;
        let mut draw = |at: usize, places: usize| {
            let number = at / BLOCK_TOKENS as usize;
            let rng = match (traced.blocks.get(number), &mut block) {
                (None, _) => &mut own,
                (Some(_), Some((drawn, rng))) if *drawn == number => rng,
                (Some(id), block) => &mut block.insert((number, block_rng(self.seed, *id))).1,
            };
            if at == 0 { first_place(places, Purpose::Load, rng) } else { rng.random_range(0..places) }
        };
        let (tokens, output) = (traced.input, traced.output);
        let text = match &self.tokenizer {
            Some(tokenizer) => tokenizer.get()?.text(tokens, &mut draw)?,
            None => words(tokens, &mut draw),
        };
        Ok(Prompt { text, tokens, output })
    }

    /// A prompt of so many words, for so long an answer.
    pub(super) fn as_long_as(
        &self,
        tokens: u32,
        output: u32,
        purpose: Purpose,
        index: u64,
    ) -> Result<Prompt, LoadError> {
        let (input, output) = (tokens.max(1)..=tokens.max(1), output..=output);
        Self { input, output, tokenizer: None, shared: None, seed: self.seed }.make(purpose, index)
    }
}

fn words(count: u32, draw: &mut impl FnMut(usize, usize) -> usize) -> String {
    let mut text = WORDS[draw(0, WORDS.len())].to_owned();
    for at in 1..count as usize {
        text.push(' ');
        text.push_str(WORDS[draw(at, WORDS.len())]);
    }
    text
}

/// A place for the first word: even ones for the load, odd ones for the warm-up. There must be two places at
/// least.
pub(super) fn first_place(places: usize, purpose: Purpose, rng: &mut ChaCha12Rng) -> usize {
    let half = rng.random_range(0..places / 2);
    match purpose {
        Purpose::Load => 2 * half,
        Purpose::Warmup => 2 * half + 1,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use super::*;

    fn maker(input: RangeInclusive<u32>, seed: u64) -> PromptMaker {
        PromptMaker { input, output: 3..=5, tokenizer: None, shared: None, seed }
    }

    fn texts(maker: &PromptMaker, purpose: Purpose) -> Vec<String> {
        (0..300).map(|i| maker.make(purpose, i).expect("words never fail").text).collect()
    }

    #[test]
    fn a_prompt_has_exactly_as_many_words_as_tokens() {
        let maker = maker(1..=40, 5);
        let mut lengths = HashSet::new();
        for index in 0..500 {
            let prompt = maker.make(Purpose::Load, index).expect("words never fail");
            assert_eq!(prompt.text.split_ascii_whitespace().count(), prompt.tokens as usize);
            assert!((1..=40).contains(&prompt.tokens) && (3..=5).contains(&prompt.output));
            lengths.insert((prompt.tokens, prompt.output));
        }
        assert!(lengths.len() > 100, "both lengths vary: {}", lengths.len());
    }

    #[test]
    fn prompts_depend_on_seed_and_index_alone_and_do_not_repeat() {
        let load = texts(&maker(12..=12, 5), Purpose::Load);
        assert_eq!(load, texts(&maker(12..=12, 5), Purpose::Load));
        assert_eq!(load.iter().collect::<HashSet<_>>().len(), load.len());
        assert!(load.iter().zip(texts(&maker(12..=12, 6), Purpose::Load)).all(|(a, b)| *a != b));
    }

    #[test]
    fn warm_up_prompts_begin_with_words_of_their_own() {
        let maker = maker(4..=4, 5);
        let first = |purpose| -> HashSet<String> {
            texts(&maker, purpose)
                .iter()
                .filter_map(|text| text.split(' ').next().map(str::to_owned))
                .collect()
        };
        let (load, warmup) = (first(Purpose::Load), first(Purpose::Warmup));
        assert!(load.len() > 50 && warmup.len() > 50);
        assert!(load.is_disjoint(&warmup));
    }

    #[test]
    fn prompts_of_a_group_share_as_much_as_is_asked_and_no_more() {
        let shared = Some(Shared { tokens: 20, groups: 3 });
        let maker = PromptMaker { shared, ..maker(8..=8, 5) };
        let prompts: Vec<Prompt> =
            (0..90).map(|i| maker.make(Purpose::Load, i).expect("words never fail")).collect();
        assert!(prompts.iter().all(|p| p.tokens == 28 && p.text.split(' ').count() == 28));
        let beginning = |words: usize| -> HashSet<Vec<&str>> {
            prompts.iter().map(|p| p.text.split(' ').take(words).collect()).collect()
        };
        assert_eq!(beginning(20).len(), 3);
        assert_eq!(beginning(28).len(), 90);
        let warm = maker.make(Purpose::Warmup, 0).expect("words never fail").text;
        assert!(prompts.iter().all(|p| p.text.split(' ').next() != warm.split(' ').next()));
        let longer = maker.as_long_as(3, 9, Purpose::Warmup, 1).expect("words never fail");
        assert_eq!((longer.tokens, longer.output, longer.text.split(' ').count()), (3, 9, 3));
    }

    #[test]
    fn equal_blocks_of_a_trace_are_equal_texts() {
        let maker = maker(1..=1, 5);
        let prompt = |index, input, blocks: &[u64]| {
            let traced = Traced { at: Duration::ZERO, input, output: 4, blocks: blocks.to_vec() };
            let prompt = maker.of_trace(&traced, index).expect("words never fail");
            assert_eq!((prompt.tokens, prompt.output), (input, 4));
            let words: Vec<String> = prompt.text.split(' ').map(str::to_owned).collect();
            assert_eq!(words.len(), input as usize);
            words
        };
        let (long, other) = (prompt(0, 1100, &[7, 8, 9]), prompt(1, 1300, &[7, 8, 10]));
        assert_eq!(long[..1024], other[..1024]);
        assert_ne!(long[1024..], other[1024..1100]);
        // a last block that is cut short is the beginning of the whole one
        assert_eq!(prompt(2, 600, &[7, 8]), long[..600]);
        // what no block stands for is nobody else's
        let (bare, again) = (prompt(3, 600, &[]), prompt(4, 600, &[7]));
        assert_eq!(again[..512], long[..512]);
        assert!(bare[..40] != long[..40] && bare[512..] != again[512..]);
        assert_ne!(again[512..], prompt(5, 600, &[7])[512..]);
    }
}
