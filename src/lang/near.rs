//! Which of some known words was probably meant by another.

use super::stdlib;

/// Longer words are noise, and comparing them is slow.
const LONGEST_WORD: usize = 80;

/// The nearest of `known` to `word`, if it is near enough to have been meant.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(word, known).first().copied()
}

/// Those of `known` that are nearest to `word`, all equally near, if they are near enough to have been meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let length = word.chars().count();
    if length > LONGEST_WORD {
        return Vec::new();
    }
    let known: Vec<&str> = known.into_iter().collect();
    // `vLLM` is `vllm`, however many letters are others
    if let Some(same) = known.iter().find(|k| **k != word && k.eq_ignore_ascii_case(word)) {
        return vec![same];
    }
    // of a single letter nothing would be left
    let limit = (length / 3).max(1).min(length.saturating_sub(1));
    let near = known.into_iter().map(|k| (strsim::damerau_levenshtein(word, k), k));
    let mut near: Vec<_> = near.filter(|(d, _)| *d <= limit).collect();
    near.sort_unstable();
    near.dedup();
    let best = near.first().map_or(0, |n| n.0);
    near.into_iter().take_while(|n| n.0 == best).map(|n| n.1).collect()
}

/// Whether two names are the same but for a part that is another word, and no slip: `enable_noop` is not `enable_sp`, `s_seqs` not `v_seqs`.
pub fn differ_in_a_part(a: &str, b: &str) -> bool {
    fn parts(name: &str) -> Vec<&str> {
        name.split(['_', '-', '.']).filter(|part| !part.is_empty()).collect()
    }
    let (a, b) = (parts(a), parts(b));
    let begin = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let end = a[begin..].iter().rev().zip(b[begin..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (own, other) = (a[begin..a.len() - end].concat(), b[begin..b.len() - end].concat());
    let longer = own.chars().count().max(other.chars().count());
    let share = begin + end > 0 && !own.is_empty() && !other.is_empty();
    // `vllm_base` is no `trtllm_base`
    let is_engine = |part: &str| stdlib::home("engine", part).is_some();
    share && (is_engine(&own) && is_engine(&other))
        || share && strsim::damerau_levenshtein(&own, &other) * 3 > longer * 2
}

/// The one of `known` that a word begins, as where somebody stopped typing.
pub fn begun<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut longer =
        known.into_iter().filter(|k| word.len() > 2 && k.len() > word.len() && k.starts_with(word));
    longer.next().filter(|_| longer.next().is_none())
}

/// Whether two names hold the same digits in the same order.
pub fn same_digits(a: &str, b: &str) -> bool {
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).collect::<Vec<_>>();
    digits(a) == digits(b)
}

/// What of a word means more than its letters: `!64` and `<96` are no slips of `64` and `96`, nor is `-fp8` one of `fp8`.
pub(super) fn signs(word: &str) -> (bool, Vec<char>) {
    (word.starts_with('-'), word.chars().filter(|c| "!<>=^~*%+&|".contains(*c)).collect())
}

/// Of numbers those below and above it: `48` is no slip of `8`. `None` where other things are known too.
pub(super) fn numbers_beside<'a>(word: &str, known: &[&'a str]) -> Option<Vec<&'a str>> {
    let number = |text: &str| text.parse::<u64>().ok();
    let own = number(word)?;
    let all: Option<Vec<(u64, &str)>> = known.iter().map(|k| Some((number(k)?, *k))).collect();
    let all = all?;
    let below = all.iter().filter(|(n, _)| *n < own).max();
    let above = all.iter().filter(|(n, _)| *n > own).min();
    Some(below.into_iter().chain(above).map(|(_, k)| *k).collect())
        .filter(|beside: &Vec<_>| !beside.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_near() {
        assert_eq!(did_you_mean("throughputt", ["throughput", "chat"]), Some("throughput"));
        assert_eq!(did_you_mean("x", ["throughput", "y"]), None);
        assert_eq!(
            did_you_mean("--max-num-seq", ["--max-num-seqs", "--max-model-len"]),
            Some("--max-num-seqs")
        );
    }

    #[test]
    fn a_number_stands_between_others() {
        assert_eq!(numbers_beside("48", &["8", "64", "32", "128"]), Some(vec!["32", "64"]));
        assert_eq!(numbers_beside("4", &["8", "16"]), Some(vec!["8"]));
        assert_eq!((numbers_beside("48", &["8", "auto"]), numbers_beside("fp8", &["8"])), (None, None));
    }
}
