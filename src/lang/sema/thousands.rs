//! A list whose numbers have their thousands set apart: `[2,048, 4,096]` is four numbers to the grammar and two to who wrote it.

use super::check::Checker;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, short};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{Number, Single};

/// The numbers that were meant by words, where they were others; and whether nothing stands between the comma behind each and the next one.
type Meant = fn(&[&str], &[bool]) -> Option<Vec<String>>;

impl Checker<'_> {
    /// `concurrency 1,024`: tells of loads that are read as more than were meant; whether they are.
    pub(super) fn loads_apart(&mut self, all: &[Number]) -> bool {
        let spans: Vec<Span> = all.iter().map(|n| n.span).collect();
        let Some((span, right)) = self.meant_by(&spans, meant) else { return false };
        let message = format!("`{}` is {} loads", short(&self.source_text(span)), all.len());
        let d = Diagnostic::new(Code::ProfileSetting, span, message).label("a comma ends a load");
        self.sink.push(d.help(format!("digits stand together: write `{right}`")).edit(span, right));
        true
    }

    /// Tells of a list that is read as more numbers than were meant; whether it is one.
    pub(super) fn sets_thousands_apart(&mut self, values: &[Single]) -> bool {
        let spans: Vec<Span> = values.iter().map(|v| v.span).collect();
        let points = self.meant_by(&spans, with_points).map(|m| (m, "a decimal point is a point"));
        let apart = || self.meant_by(&spans, meant).map(|m| (m, "digits stand together"));
        let Some(((span, right), rule)) = points.or_else(apart) else { return false };
        let message = format!("`{}` is {} values", short(&self.source_text(span)), values.len());
        let d = Diagnostic::new(Code::BadFlagValue, span, message).label("a comma ends a value");
        let help = format!("{rule}: write `[{}]`", short(&right));
        self.sink.push(d.help(help).edit(span, right));
        true
    }

    /// Where such numbers stand, and as they were meant.
    fn meant_by(&self, numbers: &[Span], meant: Meant) -> Option<(Span, String)> {
        let words: Vec<&str> = numbers.iter().map(|s| self.modules.slice(*s)).collect();
        let glued: Vec<bool> = numbers.windows(2).map(|pair| pair[1].start == pair[0].end + 1).collect();
        let right = meant(&words, &glued)?.join(", ");
        Some((numbers.first()?.to(*numbers.last()?), right))
    }
}

/// `0,85, 0,95` as `0.85 0.95`: only where a zero stands twice, or beside numbers with a point, as `0,1` may be two.
fn with_points(words: &[&str], glued: &[bool]) -> Option<Vec<String>> {
    let digits = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let zeros = words.iter().filter(|w| **w == "0").count();
    let points = words.iter().any(|w| w.starts_with("0.") && digits(&w[2..]));
    if zeros == 0 || zeros == 1 && !points {
        return None;
    }
    let mut joined: Vec<String> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let fraction = words.get(at + 1).filter(|w| digits(w) && glued[at] && words[at] == "0");
        joined.push(fraction.map_or_else(|| words[at].to_owned(), |f| format!("0.{f}")));
        at += 1 + usize::from(fraction.is_some());
    }
    (joined.len() < words.len()).then_some(joined)
}

/// The numbers that were meant, where it is sure that they are others. `glued` says whether nothing stands between the comma behind a word and
/// the next one.
fn meant(words: &[&str], glued: &[bool]) -> Option<Vec<String>> {
    let digits = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    if glued.is_empty() || !words.iter().all(|w| digits(w)) {
        return None;
    }
    let mut joined: Vec<String> = Vec::new();
    // whether what stands last may be the begin of a number
    let mut begins = false;
    let mut zeros = false;
    for (i, word) in words.iter().enumerate() {
        let goes_on = begins && i > 0 && glued[i - 1] && word.len() == 3;
        if let Some(number) = joined.last_mut().filter(|_| goes_on) {
            zeros |= word.starts_with('0');
            number.push_str(word);
        } else {
            joined.push((*word).to_owned());
            begins = word.len() <= 3 && !word.starts_with('0');
        }
    }
    // `[128,256, 512]` was only written in haste
    let ascend = |all: &[u64]| all.windows(2).all(|pair| pair[0] < pair[1]);
    let numbers = |all: Vec<&str>| all.iter().filter_map(|w| w.parse().ok()).collect::<Vec<u64>>();
    let apart = glued.iter().any(|g| !g)
        && !ascend(&numbers(words.to_vec()))
        && ascend(&numbers(joined.iter().map(String::as_str).collect()));
    (joined.len() < words.len() && (zeros || apart)).then_some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: &str, meant: Meant) -> Option<String> {
        let words: Vec<&str> = list.split(',').map(str::trim).collect();
        let glued: Vec<bool> = list.split(',').skip(1).map(|w| !w.starts_with(' ')).collect();
        meant(&words, &glued).map(|all| all.join(" "))
    }

    #[test]
    fn decimal_commas_are_told_from_lists() {
        let read = |list| read(list, with_points);
        assert_eq!(read("0,85, 0,95").as_deref(), Some("0.85 0.95"));
        assert_eq!(read("0.85, 0,95").as_deref(), Some("0.85 0.95"));
        assert_eq!(read("0,5,0,9").as_deref(), Some("0.5 0.9"));
        for right in ["0,1", "0, 1", "0.5, 0, 1", "1,2", "0"] {
            assert_eq!(read(right), None, "{right}");
        }
    }

    #[test]
    fn thousands_that_are_set_apart_are_told_from_lists() {
        let read = |list| read(list, meant);
        assert_eq!(read("2,048, 4,096").as_deref(), Some("2048 4096"));
        assert_eq!(read("8,192, 16,384").as_deref(), Some("8192 16384"));
        assert_eq!(read("512, 1,024").as_deref(), Some("512 1024"));
        assert_eq!(read("1,048,576, 2,097,152").as_deref(), Some("1048576 2097152"));
        assert_eq!(read("1,024,2,048").as_deref(), Some("1024 2048"));
        for right in
            ["128,256,512", "128,256, 512", "1, 2, 4", "64, 128,256", "0,001", "4Ki,128", "512,256, 128", "7"]
        {
            assert_eq!(read(right), None, "{right}");
        }
    }
}
