//! Where randomness comes from: one `ChaCha` stream per purpose and index, so that request 17 is the same
//! whether it is drawn first or last, on one thread or on eight.

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;

/// What a stream of random numbers is for; streams of different purposes never overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Load,
    Warmup,
}

/// The generator that draws the text and the lengths of one request.
pub(super) fn prompt_rng(seed: u64, purpose: Purpose, index: u64) -> ChaCha12Rng {
    stream(
        seed,
        match purpose {
            Purpose::Load => 1,
            Purpose::Warmup => 2,
        },
        index,
    )
}

/// The generator that draws what the prompts of a group share.
pub(super) fn shared_rng(seed: u64, purpose: Purpose, group: u32) -> ChaCha12Rng {
    let purpose = match purpose {
        Purpose::Load => 4,
        Purpose::Warmup => 5,
    };
    stream(seed, purpose, u64::from(group))
}

/// The generator that draws a block of a trace's prompts, which all prompts with this block have.
pub(super) fn block_rng(seed: u64, block: u64) -> ChaCha12Rng {
    stream(seed, 6, block & (u64::MAX >> 8))
}

/// The generator that draws how long is thought in a conversation.
pub(super) fn think_rng(seed: u64, conversation: u64) -> ChaCha12Rng {
    stream(seed, 7, conversation)
}

/// The generator that draws a schedule.
pub(super) fn arrivals_rng(seed: u64) -> ChaCha12Rng {
    stream(seed, 3, 0)
}

fn stream(seed: u64, purpose: u64, index: u64) -> ChaCha12Rng {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    rng.set_stream((purpose << 56) | index);
    rng
}
