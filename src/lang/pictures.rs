//! Control characters of a file as a screen may show them: as what they are, they would move its cursor and change its colours.

use std::borrow::Cow;

/// The picture of a control character; `None` for all others, line ends and tabs among them.
fn picture(c: char, next: Option<char>) -> Option<char> {
    match c {
        '\n' | '\t' => None,
        // a line end of its own kind
        '\r' if next == Some('\n') => None,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)),
        '\u{7f}' => Some('\u{2421}'),
        c if c.is_control() => Some(char::REPLACEMENT_CHARACTER),
        _ => None,
    }
}

/// A text with pictures in place of its control characters.
pub(super) fn pictured(text: &str) -> Cow<'_, str> {
    // those of two bytes begin with 0xc2
    let may_be = |b: u8| (b < 0x20 && b != b'\n' && b != b'\t') || matches!(b, 0x7f | 0xc2);
    if !text.bytes().any(may_be) {
        return Cow::Borrowed(text);
    }
    let mut chars = text.chars().peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        out.push(picture(c, chars.peek().copied()).unwrap_or(c));
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_shown_and_lines_stay_lines() {
        assert_eq!(pictured("a\tb\r\nc"), "a\tb\r\nc");
        assert_eq!(pictured("\u{1b}[31m\0\u{7}\u{7f}"), "␛[31m␀␇␡");
        assert_eq!(pictured("a\rb\u{9b}1m é"), "a␍b\u{fffd}1m é");
    }
}
