//! What a server sent, for a message: one line, short, and nothing in it that a terminal takes for an order or shows as noise.

/// Columns of what is not understood, and of what is.
const GLIMPSE: usize = 60;
const MESSAGE: usize = 240;
/// Columns of an event of which a part is not known: enough to find that part.
const EVENT: usize = 300;

/// Bytes that are not understood: their beginning, so that one sees what they are.
pub(super) fn glimpse(bytes: &[u8]) -> String {
    escaped(bytes, GLIMPSE)
}

/// What a server says of an error, its lines as one.
pub(super) fn message(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    escaped(words.join(" ").as_bytes(), MESSAGE)
}

/// An event as an example.
pub(super) fn example(bytes: &[u8]) -> String {
    escaped(bytes, EVENT)
}

fn escaped(bytes: &[u8], most: usize) -> String {
    let (mut out, mut columns) = (String::new(), 0);
    for piece in bytes.utf8_chunks() {
        let text = piece.valid().chars().map(visible);
        let rest = piece.invalid().iter().map(|byte| format!("\\x{byte:02x}"));
        for shown in text.chain(rest) {
            columns += shown.chars().count();
            if columns > most {
                return out + "…";
            }
            out += &shown;
        }
    }
    out
}

/// Quotes and backslashes are what they are: most of what is shown is JSON.
fn visible(c: char) -> String {
    if matches!(c, '"' | '\'' | '\\') { c.to_string() } else { c.escape_debug().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_one_short_line() {
        let noise: Vec<u8> = (0..=u8::MAX).rev().cycle().take(4000).collect();
        let shown = glimpse(&noise);
        assert!(shown.starts_with("\\xff\\xfe\\xfd") && shown.ends_with('…'), "{shown}");
        assert!(shown.chars().count() <= GLIMPSE + 1, "{shown}");
        let orders = example(b"\x1b[2J\x07a\nb\xe2\x80\xaec\0");
        assert!(orders.chars().all(|c| c == ' ' || c.is_ascii_graphic()), "{orders}");
    }

    #[test]
    fn what_can_be_read_stays() {
        assert_eq!(glimpse(br#"{"a": "b\n", 'c'}"#), r#"{"a": "b\n", 'c'}"#);
        assert_eq!(glimpse("größer 漢".as_bytes()), "größer 漢");
        assert_eq!(message("too long:\n  4096 tokens\n"), "too long: 4096 tokens");
        assert_eq!(message(&"ab ".repeat(200)).chars().count(), MESSAGE + 1);
    }
}
