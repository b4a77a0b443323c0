//! Tokens of the simulated model. A word is a token, known by a 64-bit hash; a chain of hashes names the blocks of a
//! text, so that equal beginnings are found in the prefix cache whoever sent them, and an answer that comes back
//! inside the next prompt of a conversation is found as well.

use std::sync::LazyLock;

/// Tokens per block of the KV cache.
pub const BLOCK_TOKENS: u32 = 16;

/// Words that the simulated model knows.
const VOCABULARY: usize = 1024;

/// What an unprompted end of text waits for on average, in tokens.
const MEAN_NATURAL_LENGTH: f64 = 300.0;

struct Word {
    text: String,
    token: u64,
}

static WORDS: LazyLock<Vec<Word>> = LazyLock::new(|| (0..VOCABULARY).map(make_word).collect());

/// Scrambles 64 bits so that every input bit moves every output bit (the finaliser of SplitMix64).
pub fn mix(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// A number in (0, 1] that is a function of `bits` alone.
pub fn unit(bits: u64) -> f64 {
    ((mix(bits) >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// The token of a word of a prompt.
pub fn word_token(word: &str) -> u64 {
    // FNV-1a: prompts are short words, and a keyed hash would cost more than the rest of the request
    word.bytes()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

/// Which word the model with this stream generates at `position`; the stream names model seed and prompt.
fn generated_word(stream: u64, position: u32) -> &'static Word {
    let index = mix(stream ^ u64::from(position).wrapping_mul(0x2545_F491_4F6C_DD1D)) as usize % VOCABULARY;
    &WORDS[index]
}

/// Text of the generated token at `position`: a space and a word of ASCII letters, safe inside JSON.
pub fn generated_text(stream: u64, position: u32) -> &'static str {
    &generated_word(stream, position).text
}

/// Token that is generated at `position`, equal to the token of its text in a prompt.
pub fn generated_token(stream: u64, position: u32) -> u64 {
    generated_word(stream, position).token
}

/// Length in tokens (at least 1) at which the model would end its answer when it is allowed to.
pub fn natural_length(stream: u64) -> u32 {
    let length = -unit(stream ^ 0x656E_6453_6571_0001).ln() * MEAN_NATURAL_LENGTH;
    (length.ceil() as u32).max(1)
}

fn make_word(index: usize) -> Word {
    const FIRST: &[u8; 16] = b"bdfghjklmnprstvz";
    const SECOND: &[u8; 4] = b"aeio";
    let syllable = |number: usize| [FIRST[number / 4 % 16] as char, SECOND[number % 4] as char];
    // 1024 = 64 syllables × 16 tails: every index has its own spelling
    let tail = [FIRST[index / 64 % 16] as char, 'u'];
    let text: String = std::iter::once(' ').chain(syllable(index % 64)).chain(tail).collect();
    let token = word_token(text.trim_start());
    Word { text, token }
}

/// Running name of a text, from which the names of its full blocks fall off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Chain {
    state: u64,
    filled: u32,
}

impl Chain {
    /// Takes one more token; returns the block's name when the token fills a block.
    pub fn push(&mut self, token: u64) -> Option<u64> {
        self.state = mix(self.state.rotate_left(17) ^ token);
        self.filled += 1;
        if self.filled < BLOCK_TOKENS {
            return None;
        }
        self.filled = 0;
        Some(self.state)
    }

    /// A name of everything pushed so far.
    pub fn name(&self) -> u64 {
        self.state ^ u64::from(self.filled)
    }
}

/// A tokenised prompt, reduced to what the engine needs of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    /// Number of tokens.
    pub tokens: u32,
    /// Names of the full blocks, in order.
    pub blocks: Vec<u64>,
    /// State behind the last token, for the blocks that the answer fills.
    pub chain: Chain,
}

impl Prompt {
    /// Adds one token.
    pub fn push(&mut self, token: u64) {
        self.tokens = self.tokens.saturating_add(1);
        self.blocks.extend(self.chain.push(token));
    }

    /// Adds the whitespace-separated words of a text.
    pub fn push_text(&mut self, text: &str) {
        text.split_whitespace().for_each(|word| self.push(word_token(word)));
    }

    /// The stream of the answer: a function of the model's seed and the prompt, as greedy sampling has it.
    pub fn stream(&self, seed: u64) -> u64 {
        mix(self.chain.name() ^ mix(seed))
    }
}

impl Extend<u64> for Prompt {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, tokens: I) {
        tokens.into_iter().for_each(|token| self.push(token));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn prompt(text: &str) -> Prompt {
        let mut prompt = Prompt::default();
        prompt.push_text(text);
        prompt
    }

    #[test]
    fn words_are_distinct_and_need_no_escape() {
        let spellings: HashSet<&str> = WORDS.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(spellings.len(), VOCABULARY);
        assert!(WORDS.iter().all(|word| word.text.bytes().all(|b| b == b' ' || b.is_ascii_lowercase())));
    }

    #[test]
    fn equal_beginnings_share_block_names_and_differing_ones_do_not() {
        let start = "a b c d e f g h i j k l m n o p";
        let (one, two) = (prompt(&format!("{start} q r")), prompt(&format!("{start} s")));
        assert_eq!((one.tokens, two.tokens), (18, 17));
        assert_eq!(one.blocks, two.blocks);
        assert_ne!(one.stream(0), two.stream(0));
        let other = prompt(&format!("z {start}"));
        assert_ne!(one.blocks[0], other.blocks[0]);
    }

    #[test]
    fn an_answer_that_comes_back_in_a_prompt_has_the_same_blocks() {
        let question = prompt("one two three");
        let stream = question.stream(7);
        let mut engine = question.clone();
        engine.extend((0..40).map(|position| generated_token(stream, position)));
        let answer: String = (0..40).map(|position| generated_text(stream, position)).collect();
        assert_eq!(prompt(&format!("one two three{answer}")), engine);
    }

    #[test]
    fn natural_lengths_follow_the_seed() {
        let lengths: Vec<u32> = (0..2000).map(|n| natural_length(prompt("x").stream(n))).collect();
        let mean = f64::from(lengths.iter().sum::<u32>()) / 2000.0;
        assert!((mean / MEAN_NATURAL_LENGTH - 1.0).abs() < 0.1, "{mean}");
        assert_eq!(natural_length(5), natural_length(5));
    }
}
