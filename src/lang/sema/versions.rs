//! Versions as the engines number them, in order: `0.9` < `0.17` < `0.17.1`, `1.2.0rc1` < `1.2.0` < `1.2.0.post1`, `b9999` < `b11434`.

use std::cmp::Ordering;

/// Which of two versions is the later one. What follows a `+` says how a release was built, not which it is.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    if let (Some(a), Some(b)) = (plain(a), plain(b)) {
        return a.cmp(&b);
    }
    let (a, b) = (parsed(a), parsed(b));
    a.release.cmp(&b.release).then_with(|| {
        let at = |parts: &[(i8, u64)], i: usize| parts.get(i).copied().unwrap_or(THE_RELEASE);
        (0..a.suffix.len().max(b.suffix.len()))
            .map(|i| at(&a.suffix, i).cmp(&at(&b.suffix, i)))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal)
    })
}

/// Which of some releases, lowest first, stands in for a version that is none of them.
pub fn stand_in<'a>(releases: &'a [String], version: &str) -> Option<&'a str> {
    let known = |v: &String| compare_versions(v, version) == Ordering::Equal;
    // a version as it is written is found without looking into numbers
    if releases.is_empty() || releases.iter().any(|v| v == version) || releases.iter().any(known) {
        return None;
    }
    let numbered = version.contains(|c: char| c.is_ascii_digit());
    let lower = |v: &&String| !numbered || compare_versions(v, version) == Ordering::Less;
    let lower = releases.iter().rev().find(lower);
    let comes_of_it = |v: &&String| is_before(version, v) && lower.is_none_or(|l| !is_before(l, v));
    releases.iter().find(comes_of_it).or(lower).or(releases.first()).map(String::as_str)
}

/// Whether a version leads up to a release: `0.17.1rc2` has most of what 0.17.1 has, which the release before that has not.
fn is_before(version: &str, release: &str) -> bool {
    let (version, release) = (parsed(version), parsed(release));
    let leads = version.suffix.first().is_some_and(|first| *first < THE_RELEASE);
    leads && release.suffix.is_empty() && version.release == release.release
}

/// The numbers of a version like `0.17.1`, as most are: they are compared for every flag of a file.
fn plain(text: &str) -> Option<[u64; 3]> {
    let mut numbers = [0; 3];
    for (i, part) in text.split('.').enumerate() {
        let digits = !part.is_empty() && part.len() < 19 && part.bytes().all(|b| b.is_ascii_digit());
        *numbers.get_mut(i).filter(|_| digits)? = part.parse().ok()?;
    }
    Some(numbers)
}

/// `rc1` and the like rank below it, `post1` above.
const THE_RELEASE: (i8, u64) = (0, 0);

struct Version {
    /// without zeros at its end, as `0.17` is `0.17.0`
    release: Vec<u64>,
    suffix: Vec<(i8, u64)>,
}

fn parsed(text: &str) -> Version {
    let text = text.split('+').next().unwrap_or(text).trim();
    let digits_follow = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    // builds are tagged `b11434`, releases `v0.17.1`
    let text = text.strip_prefix(['v', 'b']).filter(|rest| digits_follow(rest)).unwrap_or(text);
    let mut version = Version { release: Vec::new(), suffix: Vec::new() };
    for part in parts(text) {
        match (number(part), version.suffix.last_mut()) {
            (Some(n), None) => version.release.push(n),
            (Some(n), Some((_, of_suffix))) => *of_suffix = n,
            (None, _) => version.suffix.push((rank(part), 0)),
        }
    }
    while version.release.last() == Some(&0) {
        version.release.pop();
    }
    version
}

/// Runs of digits and runs of letters; all else only separates.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let first = rest.chars().next()?;
        let same = |c: char| c.is_ascii_alphanumeric() && c.is_ascii_digit() == first.is_ascii_digit();
        let end = rest.find(|c| !same(c)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        Some(part)
    })
}

fn number(part: &str) -> Option<u64> {
    part.starts_with(|c: char| c.is_ascii_digit()).then(|| part.parse().unwrap_or(u64::MAX))
}

fn rank(word: &str) -> i8 {
    match word.to_ascii_lowercase().as_str() {
        "dev" => -4,
        "a" | "alpha" => -3,
        "b" | "beta" => -2,
        "rc" | "c" | "pre" | "preview" => -1,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_people_number_them() {
        let releases = [
            "0.5.3rc0",
            "0.5.3",
            "0.5.5",
            "0.5.5.post1",
            "0.5.6.post2",
            "0.5.9",
            "0.9",
            "0.11.0",
            "0.13.0",
            "0.17",
            "0.17.1.dev3",
            "0.17.1rc2",
            "0.17.1",
            "0.17.1.post1",
            "0.32.0",
            "1.0.0",
            "1.2.0rc1",
            "1.2.0rc5",
            "1.2.0rc5.post1",
            "1.2.0rc10",
            "1.2.0",
            "1.2.1",
            "99999999999999999999999",
        ];
        let builds = ["b9999", "b11434", "b11549"];
        for pair in releases.windows(2).chain(builds.windows(2)) {
            assert_eq!(compare_versions(pair[0], pair[1]), Ordering::Less, "{pair:?}");
            assert_eq!(compare_versions(pair[1], pair[0]), Ordering::Greater, "{pair:?}");
        }
    }

    #[test]
    fn what_leads_up_to_a_release_is_read_as_that_and_all_else_as_the_nearest_lower_one() {
        let releases = ["0.11.0", "0.17.1", "0.20.0rc1", "0.20.0", "0.32.0"].map(str::to_owned);
        for (version, expected) in [
            ("0.17.1rc2", "0.17.1"),
            ("0.17.1.dev3+g12ab", "0.17.1"),
            ("0.11rc1", "0.11.0"),
            ("0.17.2rc1", "0.17.1"),
            ("0.17.1.post1", "0.17.1"),
            ("0.20.0rc0", "0.20.0"),
            ("0.20.0rc3", "0.20.0rc1"),
            ("0.31.9", "0.20.0"),
            ("0.9", "0.11.0"),
            ("latest", "0.32.0"),
        ] {
            assert_eq!(stand_in(&releases, version), Some(expected), "{version}");
        }
        assert_eq!(stand_in(&releases, "0.17.1+cpu"), None);
    }

    #[test]
    fn one_version_may_be_written_in_several_ways() {
        let same = [
            ("1.2", "1.2.0"),
            ("0.17.1+cpu", "v0.17.1"),
            ("b11434", "11434"),
            ("1.2rc1", "1.2.0-rc.1"),
            ("0.5.5.post1", "0.5.5post1"),
        ];
        for (a, b) in same {
            assert_eq!(compare_versions(a, b), Ordering::Equal, "{a} {b}");
        }
        assert_eq!(compare_versions("", ""), Ordering::Equal);
    }
}
