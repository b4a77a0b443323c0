//! Trees of every kind of item are printed, read and formatted: they stay the same trees, with every comment in its place.

#![expect(clippy::format_push_string, clippy::needless_pass_by_value, reason = "text in bits, for tests")]

mod dice;
mod grow;
mod print;

use std::sync::LazyLock;

use perflab::lang::diag::Sink;
use perflab::lang::fmt::format;
use perflab::lang::source::FileId;
use perflab::lang::syntax::ast::File;
use perflab::lang::syntax::parse;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use regex::Regex;

use dice::Dice;

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 300,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    }
}

fn read(text: &str) -> File {
    let mut sink = Sink::default();
    let parsed = parse(FileId::default(), text, &mut sink);
    let found = sink.into_sorted();
    assert!(found.is_empty(), "{found:#?} in\n{text}");
    parsed.file
}

/// A tree without its places.
fn shape(file: &File) -> String {
    static SPAN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"Span \{[^}]*\}").expect("a pattern"));
    SPAN.replace_all(&format!("{:#?}", file.items), "_").into_owned()
}

fn comments<'a>(file: &File, text: &'a str) -> Vec<&'a str> {
    file.comments.iter().map(|c| text[c.range()].trim_end()).collect()
}

fn entropy() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..600)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_tree_that_is_printed_is_read_back(entropy in entropy()) {
        let tree = grow::file(&mut Dice::new(entropy));
        let text = print::file(&tree, &mut Dice::new(Vec::new()));
        prop_assert_eq!(shape(&tree), shape(&read(&text)), "in\n{}", text);
    }

    #[test]
    fn formatting_keeps_the_tree_and_happens_once(entropy in entropy(), layout in entropy()) {
        let tree = grow::file(&mut Dice::new(entropy));
        let text = print::file(&tree, &mut Dice::new(layout));
        let formatted = format(&text).map_err(|e| TestCaseError::fail(format!("{e}: {e:?} in\n{text}")))?;
        prop_assert_eq!(shape(&tree), shape(&read(&formatted)), "in\n{}", formatted);
        prop_assert_eq!(format(&formatted), Ok(formatted.clone()), "a second time, from\n{}", text);
    }

    #[test]
    fn comments_anywhere_are_kept_in_order(entropy in entropy(), layout in entropy(), sprinkled in entropy()) {
        let tree = grow::file(&mut Dice::new(entropy));
        let text = sprinkle(&print::file(&tree, &mut Dice::new(layout)), &mut Dice::new(sprinkled));
        let written: Vec<String> = comments(&read(&text), &text).iter().map(|c| (*c).to_owned()).collect();
        let formatted = format(&text).map_err(|e| TestCaseError::fail(format!("{e}: {e:?} in\n{text}")))?;
        let after = read(&formatted);
        prop_assert_eq!(written, comments(&after, &formatted), "in\n{}", formatted);
        prop_assert_eq!(shape(&tree), shape(&after), "in\n{}", formatted);
        prop_assert_eq!(format(&formatted), Ok(formatted.clone()), "a second time, from\n{}", text);
    }
}

/// Comments at the ends of lines and on lines of their own, and blank lines. The printer ends lines only where the language lets it.
fn sprinkle(text: &str, dice: &mut Dice) -> String {
    let mut out = String::new();
    for (number, line) in text.lines().enumerate() {
        if dice.chance(4) {
            out.push_str(&format!("{}# alone {number}\n", " ".repeat(dice.below(9))));
        }
        out.push_str(&"\n".repeat(dice.below(8).saturating_sub(5)));
        out.push_str(line);
        if dice.chance(3) {
            out.push_str(&format!("{}# behind {number}", " ".repeat(1 + dice.below(5))));
        }
        out.push('\n');
    }
    out
}

#[test]
fn every_kind_of_item_grows() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..400u64 {
        let tree = grow::file(&mut Dice::seeded(seed));
        let shape = shape(&tree);
        let words =
            shape.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| w.starts_with(char::is_uppercase));
        seen.extend(words.map(str::to_owned));
    }
    // every variant of the tree's enums that a file can hold
    for kind in [
        "Use",
        "Param",
        "Engine",
        "Axis",
        "Profile",
        "Metric",
        "Prune",
        "Study",
        "Site",
        "Std",
        "File",
        "Version",
        "Versions",
        "Serve",
        "Image",
        "Probe",
        "Api",
        "Args",
        "Ready",
        "Metrics",
        "Reset",
        "Stop",
        "Key",
        "Failure",
        "Flag",
        "Publish",
        "Changes",
        "Switch",
        "Text",
        "Path",
        "Json",
        "Words",
        "Int",
        "Float",
        "OneOf",
        "UsesGpus",
        "Raw",
        "Env",
        "Model",
        "UnsetFlag",
        "UnsetEnv",
        "Single",
        "List",
        "Word",
        "Points",
        "Bundle",
        "Algebra",
        "Group",
        "Range",
        "Numbers",
        "Bool",
        "Gpus",
        "Baseline",
        "Objective",
        "Require",
        "Adopt",
        "Repeat",
        "Confirm",
        "Curve",
        "Budget",
        "Note",
        "Step",
        "Track",
        "Vary",
        "Pick",
        "Grid",
        "Staged",
        "Guided",
        "Trials",
        "GpuHours",
        "Data",
        "Price",
        "Runner",
        "Call",
        "Not",
        "Binary",
        "Or",
        "And",
        "Le",
        "Ge",
        "Eq",
        "Ne",
        "Lt",
        "Gt",
        "Add",
        "Sub",
        "Mul",
        "Div",
    ] {
        assert!(seen.contains(kind), "no tree holds {kind}");
    }
}
