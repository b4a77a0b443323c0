//! A server's key: sent to it, and shown nowhere.

use std::fmt;

use super::known::{known, learn};

/// What a server asks its clients for. Whoever has one has also told the masks of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Takes a text as a key.
    pub fn new(key: impl Into<String>) -> Self {
        let key = key.into();
        if !known().contains(&key) {
            learn([key.clone()]);
        }
        Self(key)
    }

    /// The value of the `Authorization` header that says it.
    pub fn authorization(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(super::mask::MASKED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sent_and_never_shown() {
        let key = Key::new("the-key-of-a-server");
        assert_eq!(key.authorization(), "Bearer the-key-of-a-server");
        assert_eq!(format!("{:?}", Some(key)), "Some(***)");
        assert_eq!(crate::secrets::mask("it is the-key-of-a-server"), "it is ***");
    }
}
