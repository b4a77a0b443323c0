//! The files that programs of other scripting languages name themselves: `open("conf.json")`, `require "./more.pl"`. Only literal names
//! count, of files that lie beside the program or where it runs, and not those that it says it writes.

/// First lines and endings of such programs.
const LANGUAGES: [&str; 5] = ["python", "perl", "ruby", "node", "lua"];
const ENDINGS: [&str; 7] = ["py", "pl", "pm", "rb", "js", "mjs", "lua"];
/// Endings of what programs write.
const WRITTEN: [&str; 9] = [".log", ".pid", ".sock", ".out", ".db", ".sqlite", ".sqlite3", ".lock", ".tmp"];
/// A longer text is no name.
const LONGEST: usize = 200;

/// Whether a file is such a program, by its first line, else by the ending of its name.
pub fn is_program(first: &str, ending: Option<&str>) -> bool {
    match first.strip_prefix("#!") {
        Some(line) => LANGUAGES.iter().any(|name| line.contains(name)),
        None => ending.is_some_and(|ending| ENDINGS.contains(&ending)),
    }
}

/// The relative names of files among its literal texts.
pub fn names(text: &str) -> Vec<&str> {
    let is_code = |line: &&str| !line.trim_start().starts_with(['#', '/']);
    text.lines().filter(is_code).flat_map(of_line).collect()
}

fn of_line(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut rest, mut before) = (line, "");
    while let Some(at) = rest.find(['"', '\'']) {
        let (quote, from) = (rest[at..].chars().next().unwrap_or('"'), at + 1);
        let Some(length) = rest[from..].find(quote) else { break };
        let (text, after) = (&rest[from..from + length], &rest[from + length + 1..]);
        if is_name(text) && !is_written(before, after) {
            found.push(text);
        }
        (rest, before) = (after, text);
    }
    found
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "._-/+@=,~".contains(c);
    text.len() <= LONGEST
        && text.contains(['.', '/'])
        && !text.starts_with(['/', '~', '-'])
        && text.chars().all(plain)
        && !WRITTEN.iter().any(|end| text.ends_with(end))
}

/// `open("x", "w")`, `open(my $f, ">", "x")`, `Path("x").write_text(…)`.
fn is_written(before: &str, after: &str) -> bool {
    let mode = after.trim_start().strip_prefix(',').map(|m| m.trim_start().trim_start_matches("mode="));
    let mode = mode.and_then(|m| m.strip_prefix(['"', '\'']));
    let by_mode = mode.is_some_and(|m| m.starts_with(['w', 'a', 'x', '>']));
    by_mode || before.starts_with('>') || after.trim_start().starts_with(").write")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_read_are_told_from_those_that_are_written() {
        let text = "# open('old.json')\nimport json\nconf = json.load(open(\"conf.json\"))\nwith open('out.json', 'w') as f: pass\n\
                    open(\"more.txt\", mode=\"a\"); Path('state.json').write_text(x); load('data/w.bin', \"rb\")\n\
                    require './x.pl'; open(my $f, '>', 'y.txt'); print(\"it's a.b c\", 'http://h/x', '/etc/passwd', 'x.log')\n";
        assert_eq!(names(text), ["conf.json", "data/w.bin", "./x.pl"]);
        assert!(is_program("#!/usr/bin/env perl", None) && is_program("import x", Some("py")));
        assert!(!is_program("#!/bin/sh", Some("py")) && !is_program("{}", Some("json")));
    }
}
