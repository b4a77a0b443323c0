//! Whatever the text, the formatter refuses it for its syntax, or lays it out so that a second time changes nothing; and it never
//! has to refuse because the result would not be the same.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use perflab::lang::fmt::{Refusal, format};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::folder;
use crate::support::studies;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    }
}

/// Formats, and holds the result against what every result must be.
fn sound(text: &str) -> Option<String> {
    match format(text) {
        Ok(formatted) => {
            assert_eq!(format(&formatted).as_ref(), Ok(&formatted), "a second time changes something");
            for line in formatted.lines() {
                assert!(!line.ends_with([' ', '\t', '\r']), "{line:?} ends with a space");
            }
            assert!(!formatted.contains("\n\n\n") && !formatted.starts_with('\n'), "blank lines pile up");
            Some(formatted)
        }
        Err(Refusal::Syntax(found)) => {
            assert!(!found.is_empty());
            None
        }
        Err(refusal @ Refusal::Different(_)) => panic!("{refusal}:\n{text}"),
    }
}

/// Files without mistakes of syntax: those of the tests, the examples and the standard library.
static SEEDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["examples", "stdlib", "stdlib/engines", "tests/ui"].map(|f| root.join(f));
    let files = folders.iter().flat_map(|f| studies(f)).chain(studies(&folder()));
    let texts = files.map(|f| fs::read_to_string(f).unwrap());
    texts.filter(|t| t.len() < 12_000 && format(t).is_ok()).collect()
});

#[test]
fn every_file_of_this_project_can_be_formatted() {
    assert!(SEEDS.len() > 60);
    for text in SEEDS.iter() {
        sound(text);
        sound(&text.replace('\n', "\r\n"));
    }
}

/// Generous: builds without optimisation on busy machines. What is not linear takes far longer.
const PATIENCE: Duration = Duration::from_mins(1);

#[test]
fn long_files_are_laid_out_soon() {
    let repeated = [
        ("", "# a comment\n", "", 80_000),
        ("engine e {\n", "--x # why\n", "}\n", 20_000),
        ("axis a = --x=[1,\n", "2, # why\n", "3]\n", 20_000),
        ("axis a = --x=[1", " # why\n", ", 2]\n", 20_000),
        ("axis a = { p: --x\n", "# why\n", "--y }\n", 20_000),
        ("axis a = {", "p: --x, ", "}\n", 20_000),
        ("axis a = --x={\n\"a\": [", "1, # why\n", "1]}\n", 20_000),
        ("use std/engines {", "a, ", "b }\n", 40_000),
        ("", "axis a = --x\n", "", 20_000),
        ("study s {\n", "step a { vary b } # why\n", "}\n", 10_000),
        ("", "\n", "", 400_000),
        ("axis a = ", "a * ", "b\n", 40_000),
    ];
    for (begin, piece, end, count) in repeated {
        let text = format!("{begin}{}{end}", piece.repeat(count));
        let begun = Instant::now();
        assert!(format(&text).is_ok(), "{piece:?} after {begin:?} is right");
        assert!(begun.elapsed() < PATIENCE, "{:?} for {piece:?} after {begin:?}", begun.elapsed());
    }
}

/// What the lines of a text hold, without their spaces.
fn spoken(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn no_character_but_spaces_changes() {
    for text in SEEDS.iter() {
        let formatted = sound(text).expect("seeds can be formatted");
        // a comma may move before comments
        let sorted = |t: &str| {
            let mut bytes = spoken(t).into_bytes();
            bytes.sort_unstable();
            bytes
        };
        assert_eq!(sorted(text), sorted(&formatted));
    }
}

/// Changes of spaces, line ends and comments at places of a text, where they may mean something or break it.
#[derive(Debug, Clone)]
enum Nudge {
    /// more spaces where there is one
    Spread(prop::sample::Index, usize),
    /// a comment at the end of a line
    Remark(prop::sample::Index),
    /// a comment on a line of its own, after blank lines
    Alone(prop::sample::Index, usize),
    /// a line end behind a sign
    Break(prop::sample::Index),
    /// the line goes on with the next
    Join(prop::sample::Index),
}

fn nudge() -> impl Strategy<Value = Nudge> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        (at(), 0..9usize).prop_map(|(a, n)| Nudge::Spread(a, n)),
        at().prop_map(Nudge::Remark),
        (at(), 0..4usize).prop_map(|(a, n)| Nudge::Alone(a, n)),
        at().prop_map(Nudge::Break),
        at().prop_map(Nudge::Join),
    ]
}

/// One of the places in a text, if there is any.
fn pick(at: prop::sample::Index, text: &str, of: &[char]) -> Option<usize> {
    let places: Vec<usize> = text.match_indices(of).map(|(i, _)| i).collect();
    (!places.is_empty()).then(|| *at.get(&places))
}

impl Nudge {
    fn apply(&self, text: &mut String) {
        let signs = [',', '{', '[', '(', '=', ':', '+', '*'];
        match *self {
            Self::Spread(at, n) => {
                if let Some(i) = pick(at, text, &[' ']) {
                    text.insert_str(i, &" ".repeat(n));
                }
            }
            Self::Remark(at) => {
                if let Some(i) = pick(at, text, &['\n']) {
                    text.insert_str(i, " # sprinkled");
                }
            }
            Self::Alone(at, n) => {
                if let Some(i) = pick(at, text, &['\n']) {
                    text.insert_str(i, &format!("{}  # alone", "\n".repeat(n + 1)));
                }
            }
            Self::Break(at) => {
                if let Some(i) = pick(at, text, &signs) {
                    text.insert_str(i + 1, " # behind a sign\n");
                }
            }
            Self::Join(at) => {
                if let Some(i) = pick(at, text, &['\n']) {
                    text.replace_range(i..=i, " ");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn nudged_files_are_laid_out_or_refused(
        seed in any::<prop::sample::Index>(),
        nudges in proptest::collection::vec(nudge(), 1..6),
    ) {
        let mut text = seed.get(&SEEDS).clone();
        for nudge in &nudges {
            nudge.apply(&mut text);
        }
        sound(&text);
    }
}
