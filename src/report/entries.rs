//! The entries of a table's column, in one text: ten thousand of them, each for itself, would take several times as much.

use crate::secrets::mask;

/// Texts in their order. What is masked is masked here, and not after columns were measured.
#[derive(Debug, Clone, Default)]
pub struct Entries {
    text: String,
    /// where each of them ends
    ends: Vec<usize>,
}

impl Entries {
    /// One of them; nothing beyond the last.
    pub fn get(&self, at: usize) -> &str {
        let begin = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let end = self.ends.get(at).copied();
        begin.zip(end).and_then(|(begin, end)| self.text.get(begin..end)).unwrap_or_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|at| self.get(at))
    }
}

impl<S: AsRef<str>> FromIterator<S> for Entries {
    fn from_iter<T: IntoIterator<Item = S>>(texts: T) -> Self {
        let mut all = Self::default();
        for text in texts {
            all.text.push_str(&mask(text.as_ref()));
            all.ends.push(all.text.len());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_what_it_was() {
        crate::secrets::learn(["an-entry-s-secret".to_owned()]);
        let entries: Entries = ["a", "", "ü an-entry-s-secret", "b"].into_iter().collect();
        assert_eq!(entries.iter().collect::<Vec<_>>(), ["a", "", "ü ***", "b"]);
        assert_eq!((entries.get(3), entries.get(4), Entries::default().get(0)), ("b", "", ""));
    }
}
