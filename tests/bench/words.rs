//! What `perflab bench` says of words on its command line that cannot be, and how it says it on a narrow terminal.

use std::process::Command;
use std::sync::Arc;

use super::ends::{answer, options, server};
use crate::support::{Lab, Terminal, binary};

/// Nobody is asked: whatever is said is said before.
fn said(lab: &Lab, more: &[&str], code: i32) -> String {
    lab.run(&options("http://127.0.0.1:9", more)).expect_code(code).stderr
}

#[test]
fn a_number_below_zero_is_a_wrong_value_and_no_option() {
    let lab = Lab::new();
    let refused = [
        ("--request-rate", "a rate is more than 0"),
        ("--burstiness", "write a number above 0"),
        ("--trace-slowdown", "write a number above 0"),
        ("--duration", "write a number above 0"),
        ("--seed", "write a whole number from 0 on"),
        ("--num-warmups", "write a whole number from 0 on"),
        ("--num-prompts", "write a whole number from 1 to 10000000"),
        ("--max-concurrency", "write a whole number from 1 on"),
        ("--temperature", "write a number from 0 on"),
        ("--top-p", "write a number from 0 to 1"),
        ("--random-range-ratio", "write a number from 0 to 1"),
        ("--random-output-len", "-1 is not in 1.."),
        ("--sharegpt-output-len", "-1 is not in 0.."),
        ("--metric-percentiles", "50, 90, 95, 99 and 99.9"),
        ("--think-time", "write seconds"),
    ];
    for (option, words) in refused {
        let said = said(&lab, &[option, "-1"], 2);
        assert!(said.contains(words) && said.contains(option), "{option}: {said}");
    }
    for command in [&["exec", "a.plab", "--parallel", "-1"][..], &["plan", "a.plab", "--parallel", "-1"]] {
        lab.run(command).expect_error(2, &["-1 is not in 1..", "--parallel"]);
    }
    lab.run(&["doctor", "--client", "--tokens-per-second", "-1"]).expect_error(1, &["tokens a second"]);
    let budget = lab.run(&["exec", "a.plab", "--budget", "-1h"]).expect_code(2).stderr;
    assert!(budget.contains("--budget") && !budget.contains("unexpected argument"), "{budget}");
}

#[test]
fn what_cannot_be_read_or_written_is_told_by_its_name_before_anything_is_sent() {
    let lab = Lab::new();
    let kernel = said(&lab, &["--json", "/proc/x.json"], 1);
    assert!(kernel.contains("/proc/x.json") && kernel.contains("nothing was sent"), "{kernel}");
    lab.write("plain", "a file");
    let dated = said(&lab, &["--save-result", "--result-dir", "plain"], 1);
    assert!(dated.contains("openai-chat-infqps-m-DATE.json"), "{dated}");
    for set in ["custom", "conversations", "mooncake", "azure"] {
        let folder = said(&lab, &["--dataset-name", set, "--dataset-path", "."], 1);
        assert!(folder.contains("the data set .: is a directory"), "{set}: {folder}");
    }
    assert!(said(&lab, &["--insecure"], 2).contains("an address with https://"));
}

#[test]
fn columns_that_there_cannot_be_are_told() {
    let lab = Lab::new();
    let (url, _) = server(Arc::new(|_, to| answer(to)));
    let output = lab.run(&options(&url, &["--num-prompts", "2", "--compat", "--no-stream"]));
    assert!(output.stderr.contains("note: --compat: of whole answers (--no-stream)"), "{}", output.stderr);
}

#[test]
fn a_long_warning_ends_its_lines_between_words_on_a_terminal() {
    let lab = Lab::new();
    let (url, _) = server(Arc::new(|_, to| {
        super::ends::send(
            to,
            r#"{"error":{"message":"there is no room for another request in the cache of keys"}}"#,
        )
    }));
    let mut command = Command::new(binary());
    command.current_dir(lab.path(".")).env("TERM", "xterm").env("COLUMNS", "60");
    command.args(options(&url, &["--num-prompts", "2", "--max-concurrency", "1"]));
    let mut terminal = Terminal::start(command);
    assert_eq!(terminal.wait(), 3);
    let text = terminal.text().replace('\r', "");
    let (_, warning) = text.split_once("warning: 2 requests failed").unwrap_or_else(|| panic!("{text}"));
    assert!(text.lines().filter(|l| l.contains("requests failed")).all(|l| l.len() <= 60), "{text}");
    let words: Vec<&str> = warning.split_whitespace().collect();
    assert!(words.join(" ").contains("no room for another request in the cache of keys"), "{text}");
}
