//! `recommended.sh`: the recommended serve command as a script that says what it is and can be run as it stands.

use super::asking::exports;
use super::command::wrapped_behind;
use super::document::{Recommended, Report};
use super::lookup::Lookup;
use super::phrases;
use super::wrap::{clean, wrap};

/// Width of the script's comments and of its command.
const WIDTH: usize = 100;

/// The script, or none when nothing is recommended. What follows on its command line (`--host`, `--port`) is passed on.
pub fn shell(report: &Report) -> Option<String> {
    let recommended = report.recommended.as_ref()?;
    let lookup = Lookup::new(report);
    // an object that a flag takes as a file is one of bash's substitutions, which plain shells do not have
    let substitutes = recommended.argv.iter().any(|word| word.contains("<("));
    let shell = if substitutes { "#!/usr/bin/env bash" } else { "#!/bin/sh" };
    let mut lines = vec![shell.to_owned()];
    lines.extend(comments(&lookup, recommended).iter().flat_map(|text| comment(text)));
    lines.push("\nset -eu".to_owned());
    lines.extend(exports(&recommended.env));
    lines.push(format!(
        "exec {} \"$@\"\n",
        wrapped_behind(&recommended.env, &recommended.argv, WIDTH, "    ")
    ));
    Some(lines.join("\n"))
}

fn comments(lookup: &Lookup, recommended: &Recommended) -> Vec<String> {
    let report = lookup.report;
    let mut lines = vec![
        format!("{}: the recommended serve command", report.title),
        format!("study {} ({}), perflab {}", report.study, report.file, report.perflab),
    ];
    lines.extend(phrases::banner(report));
    lines.push(format!("gain: {}", phrases::gain(report, recommended)));
    if recommended.trial != report.baseline {
        lines.push(phrases::certainty(report, &recommended.gain));
    }
    lines.extend(phrases::caveats(lookup, recommended));
    if let Some(path) = recommended.argv.iter().find_map(|word| relative(word)) {
        lines.push(format!("run it where the study lies: {path} is relative to that"));
    }
    lines
}

/// A path in a word of a command, as it stands or behind a flag, that leads elsewhere from another directory.
fn relative(word: &str) -> Option<&str> {
    let value = word.split_once('=').filter(|_| word.starts_with('-')).map_or(word, |(_, value)| value);
    (value.starts_with("./") || value.starts_with("../")).then_some(value)
}

/// One comment, on as many lines as it needs; nothing in it can end the comment.
fn comment(text: &str) -> Vec<String> {
    wrap(&clean(text), WIDTH - 2).iter().map(|line| format!("# {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn runs_as_it_stands() {
        let mut report = fixture::full();
        let recommended = report.recommended.as_mut().expect("recommended");
        recommended.argv[0] = "printf".to_owned();
        recommended.argv.insert(1, r"%s\n".to_owned());
        recommended.env.insert("GREETING".to_owned(), "it's $HOME".to_owned());
        let script = shell(&report).expect("a script");
        let output = std::process::Command::new("sh")
            .args(["-c", &script, "recommended.sh", "--port", "80 81"])
            .output()
            .expect("sh runs");
        let words: Vec<&str> = std::str::from_utf8(&output.stdout).expect("text").lines().collect();
        let argv = &report.recommended.as_ref().expect("recommended").argv[2..];
        assert_eq!(words[..argv.len()], *argv);
        assert_eq!(words[argv.len()..], ["--port", "80 81"]);
        assert!(script.contains(r"export GREETING='it'\''s $HOME'"), "{script}");
    }

    #[test]
    fn a_title_stays_in_its_comment() {
        let mut report = fixture::full();
        report.title = "harmless\nrm -rf /".to_owned();
        let script = shell(&report).expect("a script");
        assert!(script.lines().all(|line| !line.starts_with("rm")), "{script}");
    }

    #[test]
    fn relative_paths_are_told() {
        let mut report = fixture::full();
        let absolute = shell(&report).expect("a script");
        assert!(!absolute.contains("where the study lies"), "{absolute}");
        let argv = &mut report.recommended.as_mut().expect("recommended").argv;
        argv.push("--chat-template=../t.jinja".to_owned());
        let script = shell(&report).expect("a script");
        assert!(script.contains("# run it where the study lies: ../t.jinja is relative to that"), "{script}");
    }

    #[test]
    fn nothing_recommended_is_no_script() {
        assert_eq!(shell(&fixture::nothing_recommended()), None);
    }

    #[test]
    fn whole_script() {
        insta::assert_snapshot!(shell(&fixture::full()).expect("a script"));
    }
}
