//! The process's log, line by line in vLLM's manner: INFO to stdout, errors to stderr. A reader that went away is no
//! reason to die.

use std::fmt::Display;
use std::io::Write as _;

use jiff::Timestamp;

/// Logs a line to stdout.
pub fn info(message: impl Display) {
    let _ = writeln!(std::io::stdout().lock(), "INFO {} [perflab-sim] {message}", now());
}

/// Logs a line without a prefix to stdout, as the HTTP server under vLLM does.
pub fn plain(message: impl Display) {
    let _ = writeln!(std::io::stdout().lock(), "INFO:     {message}");
}

/// Logs an error to stderr, each of its lines with the prefix.
pub fn error(message: impl Display) {
    let (text, now) = (message.to_string(), now());
    let mut stderr = std::io::stderr().lock();
    text.lines().for_each(|line| drop(writeln!(stderr, "ERROR {now} [perflab-sim] {line}")));
}

/// Prints a text to stderr as it is.
pub fn raw_error(text: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// A number with a comma between thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn now() -> String {
    Timestamp::now().strftime("%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_parted() {
        assert_eq!([7, 512, 1000, 1_048_576].map(thousands), ["7", "512", "1,000", "1,048,576"]);
    }
}
