//! Whether a log says anything new: an engine that repeats itself is alive, and nothing more is known of it.
//!
//! A line is new if no line of its shape was seen, digits and signs left out, or if the share that it names has grown:
//! bars of weights, graphs and downloads say how far they are in percent or in bytes. Of lines that begin alike only so many are new: a
//! name, a path or a random word at their end makes no other message of them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use regex::Regex;

use super::failure::text;

/// No start says so many different things: what does is noise, and new shapes of it are no progress.
const MOST_SHAPES: usize = 2000;

/// New lines that begin with the same words: names of weights and layers come one after another, and those are read from files meanwhile.
const MOST_OF_A_KIND: usize = 24;
/// So many words begin a line.
const BEGINNING: usize = 2;

/// What is new about a line, the greater the surer that it tells of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum News {
    /// it says what was not said before
    Words,
    /// a share that it names has grown
    Progress,
}

/// What was seen of a log.
#[derive(Debug, Default)]
pub(super) struct Novelty {
    /// By the shape of a line: how far it was, from 0 to 1, where it says.
    shapes: HashMap<u64, f64>,
    /// how many shapes began with which words
    kinds: HashMap<u64, usize>,
}

impl Novelty {
    /// Takes a line; returns what it says that was not said before.
    pub fn take(&mut self, line: &str) -> Option<News> {
        let shape = shape(line)?;
        let done = share(line).unwrap_or(0.0);
        let is_full = self.shapes.len() >= MOST_SHAPES;
        match self.shapes.get_mut(&shape) {
            Some(furthest) => {
                let is_further = done > *furthest;
                *furthest = furthest.max(done);
                is_further.then_some(News::Progress)
            }
            None if !is_full => {
                self.shapes.insert(shape, done);
                let kind = self.kinds.entry(kind(line)).or_default();
                *kind += 1;
                (*kind <= MOST_OF_A_KIND).then_some(News::Words)
            }
            None => None,
        }
    }
}

/// The letters of a line; a line without any has no shape.
fn shape(line: &str) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    let mut letters = 0;
    for letter in line.chars().filter(|c| c.is_alphabetic()) {
        letter.hash(&mut hasher);
        letters += 1;
    }
    // units that come and go in a bar make shapes of their own
    (letters > 0).then(|| hasher.finish())
}

/// The words that a message begins with.
fn kind(line: &str) -> u64 {
    let message = text::clean(line);
    let mut hasher = DefaultHasher::new();
    let words = message.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.take(BEGINNING).for_each(|word| word.hash(&mut hasher));
    hasher.finish()
}

/// `42%`, `1.2G/9.9G`, `120MB / 4.9 GB`.
fn share(line: &str) -> Option<f64> {
    static SHARE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(\d+(?:\.\d+)?) ?%|(\d+(?:\.\d+)?) ?([kKMGT])i?B? ?/ ?(\d+(?:\.\d+)?) ?([kKMGT])i?B?\b")
            .ok()
    });
    let found = SHARE.as_ref()?.captures(line)?;
    let number = |group: usize| found.get(group)?.as_str().parse::<f64>().ok();
    if let Some(percent) = number(1) {
        return Some(percent / 100.0);
    }
    let unit = |group: usize| {
        let place = "KMGT".find(found.get(group)?.as_str().to_uppercase().as_str())?;
        Some(1000_f64.powi(i32::try_from(place).ok()?))
    };
    Some(number(2)? * unit(3)? / (number(4)? * unit(5)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_before_is_nothing_new_whatever_its_numbers() {
        let mut seen = Novelty::default();
        assert!(seen.take("waiting for the server (1 s)").is_some());
        assert_eq!(seen.take("waiting for the server (2 s)"), None);
        assert_eq!(seen.take("waiting for the server (2000 s)..."), None);
        assert_eq!(seen.take("...."), None);
        assert_eq!(seen.take(""), None);
        assert_eq!(seen.take("2026-01-01 10:00:00"), None);
        assert!(seen.take("allocating the cache").is_some());
    }

    #[test]
    fn new_letters_at_the_end_of_a_line_make_it_no_other_message() {
        let mut seen = Novelty::default();
        let word = |n: u32| (0..6).map(|i| char::from(b'a' + (n >> (4 * i) & 15) as u8)).collect::<String>();
        let new =
            (0..500).filter(|n| seen.take(&format!("INFO 11-21 waiting for {}", word(*n))).is_some()).count();
        assert_eq!(new, MOST_OF_A_KIND);
        assert!(seen.take("INFO 11-21 allocating the cache").is_some());
    }

    #[test]
    fn a_bar_is_new_as_long_as_it_grows() {
        let mut seen = Novelty::default();
        assert!(seen.take("model.safetensors:  10%|█    | 1/9").is_some());
        assert_eq!(seen.take("model.safetensors:  20%|██   | 2/9"), Some(News::Progress));
        assert_eq!(seen.take("model.safetensors:  20%|██   | 2/9"), None);
        assert_eq!(seen.take("model.safetensors:  15%|█▌   | 2/9"), None);
        assert!(seen.take("model.safetensors:  20.5%|██   | 2/9").is_some());
        assert!(seen.take("got 900MB/9.9GB").is_some());
        assert!(seen.take("got 950MB/9.9GB").is_some());
        assert_eq!(seen.take("got 950MB/9.9GB"), None);
        assert!(seen.take("got 1.2GB/9.9GB").is_some());
        assert!(seen.take("got 1.3GB/9.9GB").is_some());
        assert_eq!(seen.take("got 1.3GB/9.9GB"), None);
    }

    #[test]
    fn noise_is_no_progress_for_ever() {
        let mut seen = Novelty::default();
        let letters =
            |n: usize| format!("{n}").bytes().map(|b| char::from(b'a' + b - b'0')).collect::<String>();
        let new = (0..3 * MOST_SHAPES).filter(|n| seen.take(&letters(*n)).is_some()).count();
        assert_eq!(new, MOST_SHAPES);
    }
}
