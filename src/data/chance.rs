//! The random streams of numpy and CPython: a recipe's exact bytes follow from the exact numbers that its tool drew.
//!
//! Sources: numpy's `bit_generator.pyx` (`SeedSequence`), `distributions.c` (bounded integers) and `mtrand.pyx`; CPython's
//! `Lib/random.py` and `_randommodule.c`.

use rand_core::Rng;
use rand_mt::Mt;
use rand_pcg::Pcg64;

/// `numpy.random.default_rng(seed)`: PCG64 (XSL RR 128/64), seeded by a `SeedSequence`.
#[derive(Debug, Clone)]
pub(super) struct NumpyGenerator {
    pcg: Pcg64,
    /// The upper half of a word whose lower half was used.
    half: Option<u32>,
}

impl NumpyGenerator {
    pub(super) fn seeded(seed: u64) -> Self {
        let [state_high, state_low, stream_high, stream_low] = seed_sequence(seed);
        let wide = |high: u64, low: u64| (u128::from(high) << 64) | u128::from(low);
        Self { pcg: Pcg64::new(wide(state_high, state_low), wide(stream_high, stream_low)), half: None }
    }

    fn next_u32(&mut self) -> u32 {
        if let Some(half) = self.half.take() {
            return half;
        }
        let word = self.pcg.next_u64();
        self.half = Some((word >> 32) as u32);
        word as u32
    }

    /// `integers(low, high + 1)`: a number of `low..=high`, by Lemire's method on 32 bits. A range of one number draws nothing.
    pub(super) fn within(&mut self, low: u32, high: u32) -> u32 {
        let span = high - low;
        match span.checked_add(1) {
            Some(1) => low,
            None => self.next_u32(),
            Some(numbers) => {
                let mut product = u64::from(self.next_u32()) * u64::from(numbers);
                if (product as u32) < numbers {
                    let biased = (u32::MAX - span) % numbers;
                    while (product as u32) < biased {
                        product = u64::from(self.next_u32()) * u64::from(numbers);
                    }
                }
                low + (product >> 32) as u32
            }
        }
    }

    /// `integers(0, end)`.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        self.within(0, end.saturating_sub(1))
    }
}

/// `SeedSequence(seed).generate_state(4, uint64)`.
fn seed_sequence(seed: u64) -> [u64; 4] {
    const POOL: usize = 4;
    let mut pool = [seed as u32, (seed >> 32) as u32, 0, 0];
    let mut hash = Hash { constant: 0x43b0_d7e5, step: 0x931e_8875 };
    for word in &mut pool {
        *word = hash.mixed(*word);
    }
    for from in 0..POOL {
        for to in (0..POOL).filter(|to| *to != from) {
            let hashed = hash.mixed(pool[from]);
            let mixed = pool[to].wrapping_mul(0xca01_f9dd).wrapping_sub(hashed.wrapping_mul(0x4973_f715));
            pool[to] = mixed ^ (mixed >> 16);
        }
    }
    let mut hash = Hash { constant: 0x8b51_f9dd, step: 0x58f3_8ded };
    std::array::from_fn(|at| {
        let low = hash.mixed(pool[(2 * at) % POOL]);
        let high = hash.mixed(pool[(2 * at + 1) % POOL]);
        (u64::from(high) << 32) | u64::from(low)
    })
}

/// The hash of a `SeedSequence`, whose constant changes with every use.
struct Hash {
    constant: u32,
    step: u32,
}

impl Hash {
    fn mixed(&mut self, word: u32) -> u32 {
        let word = word ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.step);
        let word = word.wrapping_mul(self.constant);
        word ^ (word >> 16)
    }
}

/// `numpy.random.seed(seed)` and the functions of `numpy.random` itself: MT19937, bounded by masks.
#[derive(Debug, Clone)]
pub(super) struct NumpyLegacy(Mt);

impl NumpyLegacy {
    pub(super) fn seeded(seed: u32) -> Self {
        Self(Mt::new(seed))
    }

    /// `randint(low, high + 1)`: a number of `low..=high`. A range of one number draws nothing.
    pub(super) fn within(&mut self, low: u32, high: u32) -> u32 {
        let span = high - low;
        let mask = u32::MAX.checked_shr(span.leading_zeros()).unwrap_or(0);
        if span == 0 {
            return low;
        }
        loop {
            let drawn = self.0.next_u32() & mask;
            if drawn <= span {
                return low + drawn;
            }
        }
    }

    /// `randint(0, end)`.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        self.within(0, end.saturating_sub(1))
    }
}

/// `random.Random(seed)` of CPython: MT19937, seeded by the words of the number.
#[derive(Debug, Clone)]
pub(super) struct Python(Mt);

impl Python {
    pub(super) fn seeded(seed: u64) -> Self {
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        let words = [low, high];
        let used = if high == 0 { 1 } else { 2 };
        Self(Mt::new_with_key(words.into_iter().take(used)))
    }

    /// `_randbelow(end)`: as many bits as `end` has, drawn until they are less. `end` is at least 1.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        let bits = u32::BITS - end.leading_zeros();
        loop {
            let drawn = self.0.next_u32() >> (u32::BITS - bits);
            if drawn < end {
                return drawn;
            }
        }
    }

    /// `random()`: 53 bits, from 0 to less than 1.
    fn random(&mut self) -> f64 {
        let (high, low) = (self.0.next_u32() >> 5, self.0.next_u32() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    /// The place of `choice(items)`, of which there are `many`.
    pub(super) fn choice(&mut self, many: usize) -> usize {
        self.below(u32::try_from(many).unwrap_or(u32::MAX)) as usize
    }

    /// The place of one of `choices(items)`.
    pub(super) fn one_of_choices(&mut self, many: usize) -> usize {
        (self.random() * many as f64).floor() as usize
    }

    /// `shuffle(items)`.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let end = u32::try_from(last + 1).unwrap_or(u32::MAX);
            items.swap(last, self.below(end) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn<const N: usize>(mut draw: impl FnMut() -> u32) -> [u32; N] {
        std::array::from_fn(|_| draw())
    }

    // python -c "import numpy as np; g = np.random.default_rng(42); print(g.integers(0, 151643, size=6), g.integers(90, 167, size=5))"
    #[test]
    fn the_generator_draws_what_numpy_draws() {
        let mut numpy = NumpyGenerator::seeded(42);
        assert_eq!(drawn(|| numpy.below(151_643)), [13534, 117_365, 99261, 66552, 65663, 130_200]);
        assert_eq!(drawn(|| numpy.within(90, 166)), [96, 143, 105, 97, 130]);
        assert_eq!(drawn(|| numpy.within(1024, 1024)), [1024, 1024, 1024]);
        let mut numpy = NumpyGenerator::seeded(0);
        assert_eq!(drawn(|| numpy.below(3)), [2, 1, 1, 0, 0, 0, 0, 0, 0, 2, 1, 2]);
    }

    // python -c "import numpy as np; np.random.seed(1); print(np.random.randint(1, 1025, size=6), np.random.randint(0, 151643, size=4))"
    #[test]
    fn the_legacy_functions_draw_what_numpy_draws() {
        let mut numpy = NumpyLegacy::seeded(1);
        assert_eq!(drawn(|| numpy.within(1, 1024)), [38, 236, 909, 73, 768, 906]);
        assert_eq!(drawn(|| numpy.below(151_643)), [109_259, 73349, 117_583, 21440]);
        assert_eq!(drawn(|| numpy.within(7, 7)), [7, 7]);
    }

    // python -c "import random; random.seed(7); print(random.choices(range(1000), k=6)); random.seed(2**33); print(random.choices(range(5), k=8))"
    #[test]
    fn python_chooses_what_python_chooses() {
        let mut python = Python::seeded(7);
        assert_eq!(drawn(|| python.one_of_choices(1000) as u32), [323, 150, 650, 72, 535, 365]);
        let mut python = Python::seeded(1 << 33);
        assert_eq!(drawn(|| python.one_of_choices(5) as u32), [0, 3, 0, 4, 4, 1, 1, 2]);
    }

    // python -c "import random; random.seed(42); l = list(range(20)); random.shuffle(l); print(l)"
    #[test]
    fn python_is_shuffled_as_python_shuffles() {
        let mut items: Vec<u32> = (0..20).collect();
        Python::seeded(42).shuffle(&mut items);
        assert_eq!(items, [19, 5, 14, 4, 9, 13, 15, 18, 6, 12, 17, 10, 1, 11, 2, 16, 7, 8, 0, 3]);
        // random.seed(2**40 + 3); random.getrandbits(32)
        assert_eq!(Python::seeded((1 << 40) + 3).0.next_u32(), 943_978_446);
    }
}
