//! Log lines as people want to read them: without colours, without what loggers put before a message, and short.

use std::borrow::Cow;

/// A line of a log is shown up to this many characters; some engines print whole configurations on one.
pub const LONGEST_LINE: usize = 400;

/// A line without what is not the message: the process's name, level, date, time, module, and the rest of a
/// configuration that a validator repeats. Line numbers and times would make equal failures look different.
pub fn clean(line: &str) -> &str {
    let line = without_prefix(line);
    line.split_once(" [type=").map_or(line, |(message, _)| message)
}

fn without_prefix(line: &str) -> &str {
    let mut rest = line.trim();
    loop {
        let word = rest.split_whitespace().next().unwrap_or_default();
        let bracketed = word.starts_with(['[', '(']);
        if bracketed {
            let close = if word.starts_with('[') { ']' } else { ')' };
            // an error's number belongs to its message
            let end = rest.find(close).filter(|e| e + 1 < rest.len() && !rest.starts_with("[Errno"));
            let Some(end) = end else { return rest };
            rest = rest[end + 1..].trim_start();
        } else if (is_level(word) || is_stamp(word)) && word.len() < rest.len() {
            rest = rest[word.len()..].trim_start();
        } else {
            return rest;
        }
    }
}

fn is_level(word: &str) -> bool {
    let levels = ["ERROR", "CRITICAL", "WARNING", "INFO", "FATAL", "E", "W", "I"];
    levels.contains(&word.trim_end_matches(':'))
}

fn is_stamp(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    digits >= 4 && word.chars().all(|c| c.is_ascii_digit() || "-:.,/TZ".contains(c))
}

/// A line for people: not longer than [`LONGEST_LINE`], and without characters that a terminal takes for orders.
pub fn shortened(line: &str) -> String {
    let shown = match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    };
    shown.replace(|c: char| c.is_control() && c != '\t', "\u{fffd}")
}

/// What a terminal would show of a log, from its end, without empty lines: progress bars overwrite themselves with
/// carriage returns, and what counts is what stood there last.
pub fn lines_from_the_end(log: &str) -> impl Iterator<Item = &str> {
    let visible = |line: &'_ str| line.trim_end().len();
    log.lines()
        .rev()
        .map(move |line| line[..visible(line)].rsplit('\r').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
}

/// Colours and cursor movements: an escape, a bracket, parameters, a letter.
pub fn strip_ansi(text: &str) -> Cow<'_, str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loggers_prefixes_are_no_reasons() {
        let line = "(EngineCore pid=12) ERROR 11-21 10:43:02 [core.py:946] ValueError: No available memory";
        assert_eq!(clean(line), "ValueError: No available memory");
        assert_eq!(clean("[2026-01-01 10:00:00] sglang died"), "sglang died");
        assert_eq!(clean("error: invalid argument: --x"), "error: invalid argument: --x");
        assert_eq!(clean("0.00.271.898 E llama_init: no"), "llama_init: no");
        assert_eq!(clean("ERROR:    [Errno 98] address in use"), "[Errno 98] address in use");
        assert_eq!(clean("[Errno 98]"), "[Errno 98]");
        assert_eq!(clean("  Value error, no [type=value_error, input_value=1]"), "Value error, no");
    }

    #[test]
    fn colours_hide_nothing() {
        assert_eq!(strip_ansi("\x1b[1;31mERROR\x1b[0m: no\x1b[K"), "ERROR: no");
        assert_eq!(strip_ansi("plain"), "plain");
    }

    #[test]
    fn bars_show_their_last_state() {
        let lines: Vec<&str> = lines_from_the_end("a\n 10%|\r 50%|\r 99%|\r\n\n b \n").collect();
        assert_eq!(lines, ["b", "99%|", "a"]);
    }
}
