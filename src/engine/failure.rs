//! Why a start failed: a class by the first pattern that matches the log, and the line that says it.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use regex::{Regex, RegexBuilder};

/// Lines shown of a log that says nothing known.
const TAIL_LINES: usize = 20;
/// A line of a log is shown up to this many characters; some engines print whole configurations on one.
const LONGEST_LINE: usize = 400;

/// A class of failures and how it looks in a log.
#[derive(Debug, Clone)]
pub struct FailurePattern {
    pub name: String,
    regex: Regex,
}

impl FailurePattern {
    /// `^` and `$` match at lines; `\n` may stand in the pattern to match across them.
    pub fn new(name: impl Into<String>, pattern: &str) -> Result<Self, regex::Error> {
        Ok(Self { name: name.into(), regex: RegexBuilder::new(pattern).multi_line(true).build()? })
    }
}

/// What a log says about a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The name of the pattern that matched.
    pub class: String,
    /// The line that it matched; several, joined, if it matched across lines.
    pub line: String,
}

/// What is left of a log when its engine is gone, in a form to be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    pub failure: Option<Failure>,
    /// The one line that matters: the matched one, else the last that speaks of an error, else the last.
    pub line: Option<String>,
    /// The last lines, without empty ones.
    pub tail: Vec<String>,
}

/// Classifies a log by `patterns` in their order: the first that matches anywhere wins.
pub fn classify(log: &str, patterns: &[FailurePattern]) -> Option<Failure> {
    first_match(&strip_ansi(log), patterns)
}

/// Reads a log file, which may be missing, and judges it.
pub(super) fn examine(log: &Path, patterns: &[FailurePattern]) -> Evidence {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let text = strip_ansi(&text);
    let failure = first_match(&text, patterns);
    let mut last: Vec<String> = lines_from_the_end(&text).take(TAIL_LINES).collect();
    last.reverse();
    let line = match &failure {
        Some(f) => Some(f.line.clone()),
        None => last.iter().rev().find(|l| speaks_of_error(l)).or(last.last()).cloned(),
    };
    Evidence { failure, line, tail: last }
}

fn first_match(log: &str, patterns: &[FailurePattern]) -> Option<Failure> {
    patterns.iter().find_map(|p| {
        let found = p.regex.find(log)?;
        let start = log[..found.start()].rfind('\n').map_or(0, |i| i + 1);
        let end = log[found.end()..].find('\n').map_or(log.len(), |i| found.end() + i);
        let line = log[start..end].lines().map(clean).collect::<Vec<_>>().join(" ");
        Some(Failure { class: p.name.clone(), line: shortened(&line) })
    })
}

/// Progress bars overwrite themselves with carriage returns: what counts is what stood there last.
fn lines_from_the_end(log: &str) -> impl Iterator<Item = String> {
    let visible = |line: &str| shortened(clean(line.trim_end().rsplit('\r').next().unwrap_or_default()));
    log.lines().rev().map(visible).filter(|line| !line.is_empty())
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Colours and cursor movements: an escape, a bracket, parameters, a letter.
fn strip_ansi(text: &str) -> Cow<'_, str> {
    if !text.contains("\x1b[") {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.trim_start_matches(|c| (' '..='?').contains(&c)).chars();
        letters.next();
        plain.push_str(letters.as_str());
    }
    Cow::Owned(plain)
}

/// Words of a line that is more telling than those around it.
fn speaks_of_error(line: &str) -> bool {
    let line = line.to_lowercase();
    ["error", "exception", "fatal", "failed", "cannot", "not found"].iter().any(|word| line.contains(word))
}

/// A line without the name of the process that printed it, as `(EngineCore pid=42) `.
fn clean(line: &str) -> &str {
    let named = line.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    match named {
        Some((name, rest)) if name.contains("pid=") => rest.trim(),
        _ => line.trim(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(name: &str, regex: &str) -> FailurePattern {
        FailurePattern::new(name, regex).unwrap()
    }

    #[test]
    fn the_first_pattern_wins_wherever_it_stands() {
        let patterns = [pattern("cause", "out of memory"), pattern("consequence", "^engine died")];
        let found = classify("engine died\n(Worker pid=3) ERROR: out of memory, sorry\n", &patterns).unwrap();
        assert_eq!(found, Failure { class: "cause".into(), line: "ERROR: out of memory, sorry".into() });
        assert_eq!(classify("engine died", &patterns).unwrap().class, "consequence");
        assert_eq!(classify("the engine died", &patterns), None);
    }

    #[test]
    fn a_match_across_lines_is_one_line() {
        let patterns = [pattern("bad", r"ValidationError: .*\n.*Value error, (.+)")];
        let log = "x\n(A pid=1) ValidationError: 1\n(A pid=1)   Value error, no [type=y]\nz";
        assert_eq!(classify(log, &patterns).unwrap().line, "ValidationError: 1 Value error, no [type=y]");
    }

    #[test]
    fn colours_hide_nothing() {
        let patterns = [pattern("bad", "^ERROR: no$")];
        assert_eq!(classify("\x1b[1;31mERROR\x1b[0m: no\x1b[K", &patterns).unwrap().line, "ERROR: no");
    }

    #[test]
    fn the_line_that_matters_speaks_of_an_error_else_it_is_the_last() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("server.log");
        fs::write(&log, "start\nRuntimeError: no\n\nbye\n\n").unwrap();
        let evidence = examine(&log, &[]);
        assert_eq!(evidence.line.as_deref(), Some("RuntimeError: no"));
        assert_eq!(evidence.tail, ["start", "RuntimeError: no", "bye"]);
        fs::write(&log, " 10%|\r 50%|\r 99%|\r\n").unwrap();
        assert_eq!(examine(&log, &[]).line.as_deref(), Some("99%|"));
        assert_eq!(examine(&dir.path().join("missing"), &[]), Evidence::default());
    }

    #[test]
    fn long_lines_and_logs_are_shortened() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("server.log");
        fs::write(&log, "é".repeat(5000) + &"\nline".repeat(50)).unwrap();
        assert_eq!(examine(&log, &[]).tail.len(), TAIL_LINES);
        fs::write(&log, "é".repeat(5000)).unwrap();
        assert_eq!(examine(&log, &[]).line.unwrap().chars().count(), LONGEST_LINE + 1);
    }
}
