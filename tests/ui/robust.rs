//! Whatever the text, an analysis ends soon, with diagnostics that lie in it and help.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use perflab::lang::Analysis;
use perflab::lang::fmt::{Refusal, format};
use perflab::lang::hidden::reveal;
use perflab::lang::source::FileId;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::{analysis, folder};
use crate::support::studies;

/// Generous: builds without optimisation on busy machines. What is not linear takes far longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// What this thread has computed, whatever else the machine does.
fn processor_time() -> Duration {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock").into()
}

/// `PROPTEST_CASES` asks for more of each.
fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    }
}

/// Analyses a text and holds the result against what every result must be.
fn sound(text: &str) -> Analysis {
    let begun = processor_time();
    let mut found = analysis(text);
    let took = processor_time().saturating_sub(begun);
    let begins = text.chars().take(60).collect::<String>();
    let beginning = text.chars().take(2000).collect::<String>();
    assert!(took < PATIENCE, "{took:?} for {} bytes of {beginning:?}", text.len());
    // what hides behind what a machine can mend has a place in the text as it is
    if text.len() < 20_000 {
        let read = found.sources.get(FileId::default()).text.clone();
        reveal(&read, &mut found, &analysis);
    }
    for d in &found.diagnostics {
        let what = format!("{} {} in {begins:?}", d.code.id(), d.message);
        for span in
            std::iter::once(d.span).chain(d.related.iter().map(|r| r.0)).chain(d.edits.iter().map(|e| e.span))
        {
            let text = &found.sources.get(span.file).text;
            assert!(text.get(span.range()).is_some(), "{span:?} is no place: {what}");
        }
        assert!(!d.message.is_empty(), "{what}");
        assert!(d.help.as_ref().is_some_and(|h| !h.is_empty()), "no help: {what}");
    }
    // what no rule took is an error, and so never in the formatter's way
    let laid_out = format(text);
    assert!(!matches!(laid_out, Err(Refusal::Different(_))), "{laid_out:?} of {begins:?}");
    found
}

/// Files that are mutilated: those of these tests, the examples and the standard library.
static SEEDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["examples", "stdlib", "stdlib/engines"].map(|f| root.join(f));
    let files = folders.iter().flat_map(|f| studies(f)).chain(studies(&folder()));
    let texts = files.map(|f| fs::read_to_string(f).unwrap());
    // long schemas are slow to read many times without optimisation
    texts.map(|t| t.chars().take(6000).collect()).collect()
});

/// One thing done to a text.
#[derive(Debug, Clone)]
enum Cut {
    Delete(usize, usize),
    Repeat(usize, usize),
    Insert(usize, String),
    /// where the next word begins or ends, in the place of so many characters
    Beside(usize, String, usize),
    Swap(usize, usize),
}

/// Characters that are wider than a byte, some of which are white or unseen.
const WIDE: &[&str] =
    &["é", "…", "“", "–", "😀", "\u{a0}", "\u{3000}", "\u{200b}", "\u{301}", "\u{fffd}", "\u{fffd}\u{fffd}"];

/// Pieces that mean something to the language.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "\"",
    "'",
    "#",
    "\n",
    "\r\n",
    "\r",
    "=",
    "==",
    ",",
    ":",
    "..",
    "--",
    "--x=",
    "\\",
    "\"\\\n",
    "-",
    " not ",
    " and ",
    " when ",
    " on ",
    "study s {",
    "step ",
    "use std/",
    "axis a = ",
    "32K",
    "5m",
    "é",
    "\u{feff}",
    "\u{a0}",
    "{{",
    "{x}",
    "engine ",
    " prune ",
    "env A=1",
    "*",
    "+",
    "%",
    "1e999",
    "99999999999999999999",
];

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(PIECES).prop_map(str::to_owned),
        any::<char>().prop_map(String::from)
    ]
}

fn cut() -> impl Strategy<Value = Cut> {
    let (at, len) = (|| any::<usize>(), || 0..80usize);
    prop_oneof![
        (at(), len()).prop_map(|(a, n)| Cut::Delete(a, n)),
        (at(), len()).prop_map(|(a, n)| Cut::Repeat(a, n)),
        (at(), piece()).prop_map(|(a, s)| Cut::Insert(a, s)),
        (at(), proptest::sample::select(WIDE), 0..3usize).prop_map(|(a, s, n)| Cut::Beside(
            a,
            s.to_owned(),
            n
        )),
        (at(), at()).prop_map(|(a, b)| Cut::Swap(a, b)),
    ]
}

impl Cut {
    fn apply(&self, text: &mut Vec<char>) {
        let place = |at: usize, text: &[char]| at % (text.len() + 1);
        match self {
            Self::Delete(at, len) => {
                let from = place(*at, text);
                let to = (from + len).min(text.len());
                text.drain(from..to);
            }
            Self::Repeat(at, len) => {
                let from = place(*at, text);
                let chunk = text[from..(from + len).min(text.len())].to_vec();
                text.splice(from..from, chunk);
            }
            Self::Insert(at, piece) => {
                let from = place(*at, text);
                text.splice(from..from, piece.chars());
            }
            Self::Beside(at, piece, gone) => {
                let from = place(*at, text);
                let edge = |pair: &[char]| pair[0].is_alphanumeric() != pair[1].is_alphanumeric();
                let from = text[from..].windows(2).position(edge).map_or(from, |n| from + n + 1);
                text.splice(from..(from + gone).min(text.len()), piece.chars());
            }
            Self::Swap(a, b) if !text.is_empty() => {
                let (a, b) = (a % text.len(), b % text.len());
                text.swap(a, b);
            }
            Self::Swap(..) => {}
        }
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn any_text_is_read_to_its_end(text in any::<String>()) {
        sound(&text);
    }

    #[test]
    fn any_bytes_are_read_to_their_end(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        sound(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn pieces_of_the_language_in_any_order_are_read(pieces in proptest::collection::vec(piece(), 0..60)) {
        sound(&pieces.concat());
    }
}

/// Files that could not be checked once.
#[test]
fn what_broke_a_check_once_is_read() {
    for text in [
        "study s {\n    require  p99(ttft) <= 1.2 * \u{23a}baseline.p99ttft)\n}\n",
        "use std/engines { vllm }\n\nengine base_vll\u{fffd}\u{fffd}\u{fffd} {\n    version 0.17.1\n}\n",
        "use \"./a }\nuse \"./b.plab\" { Chat }\n",
        "use std/engines { ellm ",
        "axis seqs = { with: --max-num-seqs=16,\u{a0}if --enforce-eager }\n",
        "study s {\n    step a { vary x\u{a0}\n    step b { vary y }\n}\n",
        "engine mine {\n    serve \"mine {model} --port {port}\u{fffd}\n    ready get \"/health\"\n}\n",
        "\u{a0}\n\nstudy s {",
        "metric good = goodput(ttft <= 5\"00s and tpot <= 50ms)\"\nprune late \"late\" when p50(laten\"cy) > 40h\"\n",
        "use std/engines { sim }\n\nprofile cha random\n # x\n    input 256\n}\n\nstudy t {\n    maximize total_tps on chat\n}\n",
        "use std/engines { vllm\n\n\u{3000}\n\nparam a = 1 1\n",
        "\u{b}\nparam a = 1 1\n",
        "study s {\n    gpus 1\n}\n    repeat 1\u{3000}\n\nparam p = 1\n",
        "use std/engines gonem }\n\nenginendom\n    input       256\n    output      64\n    concurrency 8\n}\n\naxis seqs = --max-num-seqs=[16, 32]\n\nstudy tiny   repeat   1\n\n    step seqs { vary seq --max-num-seqs=[16, 32]\n\nstudy tiny   repeat   1\n\n    step seqs { vary seqs }\n}\n",
        "profile a = b { seed 1 }\u{fffd}\nprofile b { sed 1 }\n",
        "axis seqs = --max-num-seqs=\u{fffd}\u{fffd}[16, 32]\n",
        "use std/engines { vllm }\nengine w = vllm { --tokenizer=a\u{200b},b }\naxis one = --max-num-seqs=16,32\nstudy s { step a { vary engine[ ] } }\n",
    ] {
        sound(text);
    }
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn mutilated_files_are_read(seed in any::<prop::sample::Index>(), cuts in proptest::collection::vec(cut(), 1..8)) {
        let mut text: Vec<char> = seed.get(&SEEDS).chars().collect();
        for cut in &cuts {
            cut.apply(&mut text);
        }
        sound(&text.into_iter().collect::<String>());
    }
}

/// Places in a file where something may be repeated: before it, what it begins with.
const PLACES: [&str; 8] = [
    "",
    "metric m = ",
    "prune p \"r\" when ",
    "axis a = ",
    "axis a = --x=",
    "axis a = { p: --x=",
    "engine e = sim { --x=",
    "study s {\n    step t { vary ",
];

/// What may be repeated.
const REPEATED: [&str; 30] = [
    "not ",
    "+ a ",
    "a + ",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "\"",
    "\\\"",
    "'",
    "#",
    "# x\n",
    "\n",
    "\r\n",
    "a = ",
    ", ",
    "--x ",
    "-",
    "1",
    "..",
    "{\"a\":",
    "\"\\\n{",
    "# \r{",
    "a{}",
    "x\n",
    "a { b\n",
    "param x = 5K\n",
    "use std/profiles { chat_x }\n",
];

/// Whether a text may be without a diagnostic because it says nothing.
fn says_nothing(text: &str) -> bool {
    text.lines().all(|l| l.trim().is_empty() || l.starts_with('#'))
}

#[test]
fn a_hundred_thousand_times_the_same_is_a_diagnostic() {
    let places = [
        ("", "{"),
        ("", "("),
        ("", "["),
        ("", "\""),
        ("", "#"),
        ("", "\n"),
        ("", "}"),
        ("", "x\n"),
        ("", "\"\\\n{"),
        ("", "# \r{"),
    ];
    let inside = [
        ("prune p \"r\" when ", "not "),
        ("metric m = a ", "+ a "),
        ("axis a = ", "("),
        ("axis a = --x=", "{\"a\":"),
        ("metric m = ", "\\\""),
    ];
    for (place, piece) in places.into_iter().chain(inside) {
        let text = format!("{place}{}", piece.repeat(100_000));
        assert!(
            !sound(&text).diagnostics.is_empty() || says_nothing(&text),
            "nothing about {piece:?} after {place:?}"
        );
    }
}

#[test]
fn a_thousand_times_the_same_is_read_anywhere() {
    for place in PLACES {
        for piece in REPEATED {
            sound(&format!("{place}{}", piece.repeat(1000)));
        }
    }
}

#[test]
fn a_little_of_it_is_nested_safely() {
    // fewer than are refused before the grammar looks
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("{\"a\": ", "}"),
        ("a * (", ")"),
        ("1 + (", ")"),
        ("p99(", ")"),
        ("step s {", "}"),
    ] {
        for depth in [10, 40, 47, 48, 49, 60] {
            for place in PLACES {
                for ends in [true, false] {
                    let closing = if ends { close.repeat(depth) } else { String::new() };
                    sound(&format!("{place}{}a{closing}\n", open.repeat(depth)));
                }
            }
        }
    }
}

#[test]
fn ten_megabytes_of_noise_are_refused_at_once() {
    let noise: String = (0..10_000_000u32)
        .map(|i| char::from(b' ' + (i.wrapping_mul(2_654_435_761) >> 25) as u8 % 95))
        .collect();
    let found = sound(&noise);
    assert!(found.has_errors());
    let lines: String = noise.as_bytes()[..900_000]
        .chunks(70)
        .flat_map(|c| c.iter().map(|b| char::from(*b)).chain(['\n']))
        .collect();
    assert!(sound(&lines).has_errors());
}

#[test]
fn as_many_mistakes_of_one_kind_are_read_soon() {
    // each of these is looked for in all of the text, or mended with all that is behind it
    let study = "study s \"S\" {\n";
    for (place, piece) in [
        (study, "    step a vary x }\n"),
        (study, "    step a\n        vary x\n    }\n"),
        ("", "study s {\n}\n    repeat 1\n}\n"),
        ("study s \"S\" {\n", "    vary x\n"),
        ("study s \"S\" {\n}\n}\n", "    step a {\n        vary x * y\n"),
        ("axis a = }", "{}"),
        ("x = ", "{}"),
    ] {
        assert!(!sound(&format!("{place}{}", piece.repeat(3000))).diagnostics.is_empty(), "{piece:?}");
    }
}

#[test]
fn long_files_that_are_right_are_read_soon() {
    let mut text = String::from(
        "use std/engines { sim }\nengine e = sim {}\nprofile p {\n data random\n input 1\n output 1\n rate max\n}\n",
    );
    for i in 0..3000 {
        let _ = writeln!(text, "axis a{i} = --seed=[{i}, {}]\nmetric m{i} = total_tps * {i}", i + 5000);
    }
    text.push_str("study s {\n model \"m\"\n baseline e\n maximize total_tps on p\n repeat 1\n");
    for i in 0..3000 {
        let _ = writeln!(text, " step s{i} {{ vary a{i} }}");
    }
    text.push_str("}\n");
    let found = sound(&text);
    assert!(!found.has_errors(), "{:?}", found.diagnostics.first());
}

#[test]
fn spaces_that_double_with_every_line_are_refused() {
    let mut text = String::from("axis a0 = --x=[1]\nmetric m0 = total_tps\n");
    for i in 1..200 {
        let _ = writeln!(text, "axis a{i} = a{} + a{}\nmetric m{i} = m{} + m{}", i - 1, i - 1, i - 1, i - 1);
    }
    assert!(sound(&text).has_errors());
    // the same from the end, so that each must be resolved from the last on
    let turned: String = text.lines().rev().fold(String::new(), |all, line| all + line + "\n");
    assert!(sound(&turned).has_errors());
}

#[test]
fn control_characters_of_a_file_never_reach_the_screen() {
    let dir = tempfile::tempdir().unwrap();
    for (i, text) in
        ["axis a = \u{1b}[31mRED\u{1b}]0;owned\u{7}\n", "axis \0 = x\n", "use std/\u{9b}1m {\u{7f}}\n"]
            .iter()
            .enumerate()
    {
        let path = dir.path().join(format!("{i}.plab"));
        std::fs::write(&path, text).unwrap();
        for format in ["text", "github"] {
            let out = super::perflab(&["check", "--format", format, &path.to_string_lossy()]);
            let shown = String::from_utf8([out.stdout, out.stderr].concat()).unwrap();
            let raw = shown.chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(raw, None, "{shown:?}");
            assert!(shown.contains("control characters"), "{shown}");
        }
    }
}

#[test]
fn many_keys_of_one_flag_are_one_object() {
    let keys: String = (0..5000).fold(String::new(), |all, i| format!("{all} --hf-overrides.k{i}={i}\n"));
    let text = format!(
        "use std/engines {{ vllm }}\nengine e = vllm {{\n version \"0.17.1\"\n{keys} --hf-overrides.deep.x=1\n}}\n"
    );
    let found = sound(&text);
    assert!(!found.has_errors(), "{:?}", found.diagnostics.first());
}
