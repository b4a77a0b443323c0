//! Choices out of bytes: where they end, every choice is the first, so that less entropy means smaller trees.

/// A source of choices.
pub struct Dice {
    bytes: Vec<u8>,
    at: usize,
}

impl Dice {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, at: 0 }
    }

    /// Many bytes from a number.
    pub fn seeded(seed: u64) -> Self {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let byte = |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        };
        Self::new((0..2000).map(byte).collect())
    }

    /// A number below `n`; 0 when nothing is left.
    pub fn below(&mut self, n: usize) -> usize {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(byte) % n
    }

    /// True once in `n` times; false when nothing is left.
    pub fn chance(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    pub fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    pub fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.chance(2).then(|| make(self))
    }

    /// From `least` to `least + more` of something.
    pub fn several<T>(&mut self, least: usize, more: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = least + self.below(more + 1);
        (0..count).map(|_| make(self)).collect()
    }
}
