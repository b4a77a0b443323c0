//! Texts of a file as messages show them: characters that nobody sees are named, and what is too long to be read is cut.

use std::borrow::Cow;

/// A longer word of a message is no word: a file's megabyte of letters, echoed.
const LONGEST_WORD: usize = 200;
/// How much of it is shown.
const SHOWN: usize = 60;
/// A longer message, whatever its words are.
const LONGEST: usize = 2000;

/// What Unicode calls a character that takes no room on the screen; `None` for all others.
pub fn name(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{ad}' => "soft hyphen",
        '\u{200b}' => "zero width space",
        '\u{200c}' => "zero width non-joiner",
        '\u{200d}' => "zero width joiner",
        '\u{200e}' => "left-to-right mark",
        '\u{200f}' => "right-to-left mark",
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => "a mark of the direction of writing",
        '\u{2060}' => "word joiner",
        '\u{2061}'..='\u{2064}' => "an invisible operator",
        '\u{feff}' => "byte order mark",
        _ => return None,
    })
}

/// What Unicode calls a space that looks like a plain one and is none.
pub fn space(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{a0}' => "no-break space",
        '\u{202f}' => "narrow no-break space",
        '\u{2007}' => "figure space",
        '\u{2000}'..='\u{200a}' | '\u{205f}' => "a space of typesetting",
        '\u{3000}' => "ideographic space",
        _ => return None,
    })
}

/// The letter of this language that another one looks like.
pub fn plain(c: char) -> Option<char> {
    const PAIRS: [(&str, &str); 3] = [
        ("аеорсухіјѕһԁԛԝкмтвнАВЕКМНОРСТХУЅІЈ", "aeopcyxijshdqwkmtbhABEKMHOPCTXYSIJ"),
        ("οανρυικτΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "oavpuiktABEZHIKMNOPTYX"),
        ("ıɡ", "ig"),
    ];
    if let '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' = c {
        return char::from_u32(u32::from(c) - 0xfee0);
    }
    PAIRS.iter().find_map(|(like, right)| right.chars().nth(like.chars().position(|l| l == c)?))
}

/// What a character of a name may be: itself, or the small letter that one of another alphabet looks like.
pub fn looks_like(c: char) -> Option<char> {
    let own = c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if own { Some(c) } else { plain(c).filter(char::is_ascii_lowercase) }
}

/// A message's text: invisible characters as `<U+200B>`, and nothing that fills the screen.
pub fn shown(text: String) -> String {
    let text = if text.is_ascii() { text } else { visible(&text).into_owned() };
    if text.len() <= LONGEST_WORD {
        return text;
    }
    let readable = |word: &str| match word.char_indices().nth(LONGEST_WORD) {
        Some(_) => cut(word, SHOWN),
        None => word.to_owned(),
    };
    let text = text.split(' ').map(readable).collect::<Vec<_>>().join(" ");
    if text.chars().nth(LONGEST).is_some() { cut_at(&text, LONGEST) } else { text }
}

fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| name(c).is_some()) {
        return text.into();
    }
    let one = |c: char| match name(c) {
        Some(_) => format!("<U+{:04X}>", u32::from(c)),
        None => c.to_string(),
    };
    text.chars().map(one).collect::<String>().into()
}

/// The beginning of a word; what closes it stays.
fn cut(word: &str, most: usize) -> String {
    let close = if word.ends_with('`') { "`" } else { "" };
    format!("{}{close}", cut_at(word, most))
}

fn cut_at(text: &str, most: usize) -> String {
    text.chars().take(most).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_named_and_what_nobody_reads_is_cut() {
        assert_eq!(shown("no `a\u{200b}b`".to_owned()), "no `a<U+200B>b`");
        assert_eq!(shown("é is seen".to_owned()), "é is seen");
        let long = shown(format!("no `{}` here", "x".repeat(1 << 20)));
        assert!(long.starts_with("no `xxx") && long.ends_with("…` here") && long.len() < 90, "{long}");
        assert!(shown("a b ".repeat(1 << 18)).chars().count() == LONGEST + 1);
    }
}
