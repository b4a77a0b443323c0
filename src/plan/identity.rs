//! Identity: twelve hex digits of a hash over a normal form.

use serde::Serialize;
use sha2::{Digest, Sha256};

/// A short identity, small enough to be copied and to be a key in a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id([u8; LENGTH]);

const LENGTH: usize = 12;

impl Id {
    /// The identity of a text.
    pub fn of(text: &[u8]) -> Self {
        let digest = Sha256::digest(text);
        let mut out = [b'0'; LENGTH];
        for (two, byte) in out.chunks_exact_mut(2).zip(digest.iter()) {
            two.copy_from_slice(&[hex(byte >> 4), hex(byte & 15)]);
        }
        Self(out)
    }

    /// The identity of a document, by its JSON.
    pub fn of_json(document: &impl Serialize) -> Self {
        let mut text = Vec::with_capacity(1024);
        // writing to memory cannot fail, and normal forms have string keys only
        let _ = serde_json::to_writer(&mut text, document);
        Self::of(&text)
    }

    pub fn as_str(&self) -> &str {
        // hex digits are ASCII
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

fn hex(nibble: u8) -> u8 {
    b"0123456789abcdef"[usize::from(nibble & 15)]
}

/// The first twelve hex digits of a SHA-256.
pub fn short_hash(text: &str) -> String {
    Id::of(text.as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_the_beginning_of_the_hash_in_hex() {
        // the hash of nothing is well known
        assert_eq!(short_hash(""), "e3b0c44298fc");
        assert_eq!(Id::of_json(&"x").as_str(), short_hash("\"x\""));
    }
}
