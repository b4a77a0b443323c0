//! The chunks of a request as they are kept: packed. A long load has millions of them, and nearly all come some milliseconds after the
//! one before with one token more, which takes four bytes and not sixteen.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::record::Chunk;

/// Chunks in the order in which they came. They read and write as a list of pairs.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Chunks {
    packed: Box<[u8]>,
    len: u32,
}

impl Chunks {
    /// In the order in which they came.
    pub fn iter(&self) -> Unpacked<'_> {
        Unpacked { rest: &self.packed, before: Chunk(0, 0) }
    }

    /// Each with the one before it.
    pub fn pairs(&self) -> impl Iterator<Item = (Chunk, Chunk)> {
        self.iter().zip(self.iter().skip(1))
    }

    /// The one that came first.
    pub fn first(&self) -> Option<Chunk> {
        self.iter().next()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The chunks of a request, one after another.
#[derive(Debug, Clone)]
pub struct Unpacked<'a> {
    rest: &'a [u8],
    before: Chunk,
}

impl Iterator for Unpacked<'_> {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        let later = take(&mut self.rest)?;
        let tokens = if later & 1 == 0 { 1 } else { take(&mut self.rest)? as u32 };
        let step = unsigned((later >> 1) as u64);
        self.before = Chunk(self.before.0.wrapping_add(step), self.before.1.wrapping_add(tokens));
        Some(self.before)
    }
}

impl<'a> IntoIterator for &'a Chunks {
    type Item = Chunk;
    type IntoIter = Unpacked<'a>;

    fn into_iter(self) -> Unpacked<'a> {
        self.iter()
    }
}

/// Of each chunk what it is later than the one before, and in the lowest bit whether it has not one token more; then how many it has.
impl FromIterator<Chunk> for Chunks {
    fn from_iter<I: IntoIterator<Item = Chunk>>(chunks: I) -> Self {
        let chunks = chunks.into_iter();
        let mut packed = Vec::with_capacity(chunks.size_hint().0 * 5);
        let (mut before, mut len) = (Chunk(0, 0), 0);
        for chunk in chunks {
            let later = u128::from(signed(chunk.0.wrapping_sub(before.0))) << 1;
            let tokens = chunk.1.wrapping_sub(before.1);
            put(&mut packed, later | u128::from(tokens != 1));
            if tokens != 1 {
                put(&mut packed, tokens.into());
            }
            (before, len) = (chunk, len + 1);
        }
        Self { packed: packed.into_boxed_slice(), len }
    }
}

/// A step forwards or backwards as a number that is small where the step is.
fn signed(step: u64) -> u64 {
    let step = step.cast_signed();
    ((step << 1) ^ (step >> 63)).cast_unsigned()
}

fn unsigned(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn put(into: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

fn take(from: &mut &[u8]) -> Option<u128> {
    let (mut number, mut shift) = (0_u128, 0);
    loop {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        number |= u128::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for Chunks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Chunks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_is_packed_is_unpacked(all in proptest::collection::vec((any::<u64>(), any::<u32>()), 0..40)) {
            let all: Vec<Chunk> = all.into_iter().map(|(at, tokens)| Chunk(at, tokens)).collect();
            let packed: Chunks = all.iter().copied().collect();
            prop_assert_eq!((packed.iter().collect::<Vec<_>>(), packed.len()), (all.clone(), all.len()));
            let json = serde_json::to_string(&packed).expect("it is written");
            prop_assert_eq!(&json, &serde_json::to_string(&all).expect("it is written"));
            prop_assert_eq!(serde_json::from_str::<Chunks>(&json).expect("it is read"), packed);
        }
    }

    #[test]
    fn a_usual_chunk_takes_four_bytes() {
        // 40 tokens a second with some jitter, the first after half a second
        let at = |n: u64| 500_000_000 + n * 25_000_000 + n * 7919 % 900_000;
        let packed: Chunks = (0..1000).map(|n| Chunk(at(n), n as u32 + 1)).collect();
        assert_eq!(packed.packed.len(), 5 + 999 * 4);
        assert_eq!(packed.pairs().count(), 999);
        assert_eq!((packed.first(), packed.is_empty()), (Some(Chunk(at(0), 1)), false));
    }
}
