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

/// How much of a line is what a logger put before the message, in bytes, spaces included.
pub fn prefix_len(line: &str) -> usize {
    let end = line.trim_end();
    end.len() - without_prefix(end).len()
}

fn without_prefix(line: &str) -> &str {
    let mut rest = line.trim();
    loop {
        let word = rest.split_whitespace().next().unwrap_or_default();
        let bracketed = word.starts_with(['[', '(']);
        let skipped = if bracketed {
            let close = if word.starts_with('[') { ']' } else { ')' };
            // an error's number belongs to its message
            let end = rest.find(close).filter(|e| e + 1 < rest.len() && !rest.starts_with("[Errno"));
            // `[rank1]:[E1121 …] no`, as PyTorch's own threads say it
            end.map(|end| end + 1 + usize::from(rest[end + 1..].starts_with(":[")))
        } else if is_level(word) || is_stamp(word) || is_separator(word) || is_logger(word, rest) {
            Some(word.len()).filter(|len| *len < rest.len())
        } else {
            logger_before_message(word)
        };
        let Some(skipped) = skipped else { return rest };
        rest = rest[skipped..].trim_start();
    }
}

const LEVELS: [&str; 12] =
    ["ERROR", "CRITICAL", "WARNING", "WARN", "INFO", "DEBUG", "FATAL", "NOTICE", "E", "W", "I", "D"];

fn is_level(word: &str) -> bool {
    LEVELS.contains(&word.trim_end_matches(':'))
}

/// `2026-01-01 10:00:00,123 - vllm.engine - ERROR - no`
fn is_separator(word: &str) -> bool {
    matches!(word, "-" | "|")
}

/// A logger's name is told from a message by the level that follows it.
fn is_logger(word: &str, rest: &str) -> bool {
    let mut next = rest[word.len()..].split_whitespace();
    let named = word.chars().all(|c| c.is_alphanumeric() || "._".contains(c));
    named && next.next().is_some_and(is_separator) && next.next().is_some_and(is_level)
}

/// `WARNING:root:no`, as Python's `logging` says it by default.
fn logger_before_message(word: &str) -> Option<usize> {
    let mut parts = word.splitn(3, ':');
    let (level, logger) = (parts.next()?, parts.next()?);
    let is_one = level.len() > 1 && LEVELS.contains(&level) && !logger.is_empty();
    parts.next().filter(|message| is_one && !message.is_empty())?;
    Some(level.len() + logger.len() + 2)
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
    shown.replace(|c: char| (c.is_control() && c != '\t') || turns_around(c), "\u{fffd}")
}

/// Orders to show what follows from right to left, or in another place: a line would read otherwise than it is.
fn turns_around(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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

/// The text of a log, also where a program wrote it in sixteen bits a letter: of those, letters of ASCII are left without their zeros,
/// so that lines end where they did.
pub fn narrow(bytes: &[u8]) -> Cow<'_, str> {
    let wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    if !wide && !bytes.contains(&0) {
        return String::from_utf8_lossy(bytes);
    }
    let letters: Vec<u8> = bytes[if wide { 2 } else { 0 }..].iter().copied().filter(|b| *b != 0).collect();
    Cow::Owned(String::from_utf8_lossy(&letters).into_owned())
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
    fn no_line_of_a_log_orders_how_it_is_shown() {
        assert_eq!(
            shortened("bad \u{202e}txt.exe\u{2066} \x1b]0;x\x07 schön"),
            "bad \u{fffd}txt.exe\u{fffd} \u{fffd}]0;x\u{fffd} schön"
        );
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
