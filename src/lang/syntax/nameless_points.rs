//! Points that all lack their names: `{ --seqs=128, --seqs=256 }` lists one flag's values, `{ --eager, --async }` are points of their own.

use std::collections::BTreeSet;
use std::ops::Range;

use super::at::mend;
use super::hints::Hint;

/// Whoever has more of them misread the whole.
const MOST: usize = 64;

/// The body of an axis that begins at `start` of the chunk, written as it was meant.
pub fn named(chunk: &str, start: usize) -> Option<Hint> {
    let body = chunk[start..].strip_prefix('{')?;
    let inner = &body[..body.find('}')?];
    let place = start..start + inner.len() + 2;
    let points: Vec<&str> = inner.split(',').map(str::trim).collect();
    let bare = |point: &&str| point.starts_with('-') && !point.contains([':', '"', '{', '[']);
    if !(2..=MOST).contains(&points.len()) || !points.iter().all(bare) {
        return None;
    }
    of_one_flag(&points, &place).or_else(|| each_with_name(&points, place))
}

fn of_one_flag(points: &[&str], place: &Range<usize>) -> Option<Hint> {
    let single = |point: &&str| !point.contains(char::is_whitespace);
    let pairs: Vec<_> = points.iter().filter(|p| single(p)).filter_map(|p| p.split_once('=')).collect();
    let (flag, _) = *pairs.first()?;
    let same = pairs.len() == points.len() && pairs.iter().all(|(name, _)| *name == flag);
    let values = pairs.iter().map(|(_, value)| *value).collect::<Vec<_>>().join(", ");
    let right = format!("{flag}=[{values}]");
    same.then(|| {
        mend(format!("values of one flag stand in square brackets: write `{right}`"), place.clone(), right)
    })
}

fn each_with_name(points: &[&str], place: Range<usize>) -> Option<Hint> {
    let names: Vec<String> = points.iter().map(|point| name(point)).collect();
    let unlike: BTreeSet<&String> = names.iter().collect();
    let fit = names.iter().all(|n| n.starts_with(|c: char| c.is_ascii_lowercase()));
    let all: Vec<String> = names.iter().zip(points).map(|(name, point)| format!("{name}: {point}")).collect();
    let right = format!("{{ {} }}", all.join(", "));
    (unlike.len() == points.len() && fit)
        .then(|| mend(format!("each point has a name: write `{right}`"), place, right))
}

/// After the flag that it begins with, and that one's value.
fn name(point: &str) -> String {
    let first = point.split_whitespace().next().unwrap_or_default().trim_start_matches('-');
    first.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}
