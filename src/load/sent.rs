//! What the loads of one launch have sent: a prompt that begins as an earlier one did may find its beginning in the server's cache.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::data::Question;

/// Beginnings of the questions of data sets, shared by the loads of a launch. What loads draw themselves is too random to begin alike.
#[derive(Debug, Clone, Default)]
pub struct Sent(Arc<Mutex<HashSet<u64>>>);

impl Sent {
    /// Notes what the questions of a load begin with, and says how many of them begin as one of an earlier load.
    pub(super) fn begin_alike(&self, beginnings: &[Option<u64>]) -> u64 {
        let mut sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let beginnings = || beginnings.iter().flatten();
        let alike = beginnings().filter(|beginning| sent.contains(beginning)).count();
        sent.extend(beginnings());
        alike as u64
    }
}

/// How many of so many requests ask what an earlier one of the same load has asked.
pub(super) fn asked_again(questions: &[Question], requests: u64) -> u64 {
    let asked = questions.iter().take(usize::try_from(requests).unwrap_or(usize::MAX));
    let different: HashSet<&str> = asked.map(|question| question.text.as_str()).collect();
    requests.saturating_sub(different.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn questions(of: &[u64]) -> Vec<Question> {
        let question = |n: &u64| Question { text: n.to_string(), tokens: 16, output: 1, beginning: None };
        of.iter().map(question).collect()
    }

    #[test]
    fn only_whole_blocks_of_earlier_loads_count() {
        let sent = Sent::default();
        assert_eq!(sent.begin_alike(&[None, Some(1), Some(1), Some(2)]), 0, "its own are its own");
        assert_eq!(sent.clone().begin_alike(&[None, Some(2), Some(3)]), 1, "a short one fills no block");
        assert_eq!(sent.begin_alike(&[Some(3), Some(3), Some(4)]), 2);
    }

    #[test]
    fn questions_are_asked_again_within_a_file_and_beyond_its_end() {
        let all = questions(&[5, 6, 5, 7]);
        assert_eq!([1, 2, 3, 4, 9].map(|requests| asked_again(&all, requests)), [0, 0, 1, 1, 6]);
    }
}
