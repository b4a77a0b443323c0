//! Breaking text into lines where a reader would: at spaces and commas, else after punctuation, else anywhere but
//! never inside a number. `--max-num-batched-tokens=24576` cut to `…=245` and `76` would be a different experiment.

use tabled::grid::util::string::{get_char_width, get_line_width};

/// How good a place is for a line to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Break {
    /// Inside a number, or between a number and its percent sign.
    Never,
    /// Between any two characters.
    Anywhere,
    /// After punctuation: `--max-|num-seqs=|512`.
    Punctuation,
    /// At a space or after a comma.
    Space,
}

/// Columns that a line takes on the terminal.
pub fn width_of(line: &str) -> usize {
    get_line_width(line)
}

/// The text on one line: control characters, which could move the cursor, become spaces.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
}

/// The text in lines of at most that many columns; longer only where one number alone is.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let chars: Vec<char> = clean(text).chars().collect();
    let mut lines = Vec::new();
    let mut start = 0;
    while start < chars.len() {
        let end = line_end(&chars, start, width);
        let line: String = chars[start..end].iter().collect();
        lines.push(line.trim_end().to_owned());
        start = end + chars[end..].iter().take_while(|c| **c == ' ').count();
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// The text under a first prefix and, from the second line on, an indentation as wide.
pub fn hanging(prefix: &str, text: &str, width: usize) -> Vec<String> {
    let indent = width_of(prefix);
    let lines = wrap(text, width.saturating_sub(indent).max(1));
    let margin = " ".repeat(indent);
    lines
        .iter()
        .enumerate()
        .map(|(i, line)| format!("{}{line}", if i == 0 { prefix } else { &margin }))
        .collect()
}

/// Columns of the longest piece that [`wrap`] cannot cut at all.
pub fn longest_number(text: &str) -> usize {
    let chars: Vec<char> = clean(text).chars().collect();
    let (mut longest, mut current) = (0, 0);
    for i in 0..chars.len() {
        current += get_char_width(chars[i]);
        longest = longest.max(current - usize::from(chars[i] == ' '));
        if quality(&chars, i) > Break::Never {
            current = 0;
        }
    }
    longest
}

/// Where the line that begins at `start` ends: at the last of the best places that fit.
fn line_end(chars: &[char], start: usize, width: usize) -> usize {
    let mut best: Option<(Break, usize)> = None;
    let mut columns = 0;
    for i in start..chars.len() {
        // a space at the end of the line takes no room
        columns += get_char_width(chars[i]);
        if columns > width && i > start && chars[i] != ' ' {
            return best.map_or_else(|| next_break(chars, i), |(_, end)| end);
        }
        let quality = quality(chars, i);
        if quality > Break::Never && best.is_none_or(|(known, _)| quality >= known) {
            best = Some((quality, i + 1));
        }
    }
    chars.len()
}

/// The first place from `i` on where a line may end at all.
fn next_break(chars: &[char], i: usize) -> usize {
    (i - 1..chars.len()).find(|&at| quality(chars, at) > Break::Never).map_or(chars.len(), |at| at + 1)
}

/// How good it is to break after the character at `i`.
fn quality(chars: &[char], i: usize) -> Break {
    let c = chars[i];
    let Some(&next) = chars.get(i + 1) else { return Break::Space };
    let before = |at: usize| at.checked_sub(1).map(|at| chars[at]);
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    if next == ' ' {
        // the break belongs after the space
        return Break::Never;
    }
    if c == ' ' {
        return if next == '%' && digit(before(i)) { Break::Never } else { Break::Space };
    }
    let is_point = |c: char| matches!(c, '.' | ',');
    let in_number = (c.is_ascii_digit() && (next.is_alphanumeric() || next == '%'))
        || (c.is_ascii_digit() && is_point(next) && digit(chars.get(i + 2).copied()))
        || (is_point(c) && next.is_ascii_digit() && digit(before(i)))
        || (matches!(c, '+' | '-') && next.is_ascii_digit() && !before(i).is_some_and(char::is_alphabetic))
        || in_exponent(chars, i);
    if in_number {
        return Break::Never;
    }
    // the dashes that a flag begins with are part of its first word
    let begins = chars[..i].iter().rev().take_while(|c| **c != ' ').all(|c| *c == '-');
    match c {
        '-' if begins => Break::Never,
        ',' | ';' => Break::Space,
        '-' | '=' | '/' | '_' | ':' | '.' | '}' | ']' | ')' | '|' if next != c => Break::Punctuation,
        _ => Break::Anywhere,
    }
}

/// Whether the characters at `i` and after are both of an exponent: `1.2e-7`.
fn in_exponent(chars: &[char], i: usize) -> bool {
    let at = |place: Option<usize>| place.and_then(|place| chars.get(place)).copied();
    let e = if chars[i] == 'e' { Some(i) } else { i.checked_sub(1).filter(|&e| chars[e] == 'e') };
    let Some(e) = e else { return false };
    let sign = at(Some(e + 1)).is_some_and(|c| matches!(c, '-' | '+'));
    let digit_at = |place: Option<usize>| at(place).is_some_and(|c| c.is_ascii_digit());
    sign && digit_at(Some(e + 2)) && digit_at(e.checked_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_where_a_reader_would() {
        assert_eq!(wrap("failed: out of GPU memory", 12), ["failed: out", "of GPU", "memory"]);
        assert_eq!(wrap("--max-num-batched-tokens=24576", 16), ["--max-num-", "batched-tokens=", "24576"]);
        assert_eq!(wrap("--pipeline-parallel-size=2", 11), ["--pipeline-", "parallel-", "size=2"]);
        assert_eq!(wrap("a --pipeline-parallel-size=2", 10), ["a", "--pipeline", "-parallel-", "size=2"]);
        assert_eq!(wrap(r#"{"method":"mtp","tokens":4}"#, 18), [r#"{"method":"mtp","#, r#""tokens":4}"#]);
        assert_eq!(wrap("success_rate 51.5 % < 100 %", 18), ["success_rate", "51.5 % < 100 %"]);
        assert_eq!(wrap("gain -2.62 %", 6), ["gain", "-2.62 %"]);
        assert_eq!(wrap("", 10), [""]);
        assert_eq!(wrap("exactly ten", 11), ["exactly ten"]);
    }

    #[test]
    fn never_cuts_a_number() {
        assert_eq!(
            wrap("tokens 11,527,140 and 0.000125", 4),
            ["toke", "ns", "11,527,140", "and", "0.000125"]
        );
        assert_eq!(wrap("noise 1.25e-7", 8), ["noise", "1.25e-7"]);
        assert_eq!(longest_number("tokens 11,527,140 and 0.000125"), 10);
    }

    #[test]
    fn hangs_under_its_prefix() {
        assert_eq!(hanging("  why  ", "one two three", 12), ["  why  one", "       two", "       three"]);
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(clean("\u{1b}[31mred\nand\tmore"), "[31mred and more");
    }
}
