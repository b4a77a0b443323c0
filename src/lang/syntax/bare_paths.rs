//! Paths and addresses without their quotes, of which the beginning was read as something else: `model == org/M-8B`, `via url http://localhost:8000`.

use std::ops::Range;

use super::at::{At, mend};
use super::hints::{Hint, TEXT, is_condition};

/// The remedy for a token (of the chunk, a place in it) in such a path.
pub fn quoted(chunk: &str, token: &Range<usize>, word: &str, expected: &[String]) -> Option<Hint> {
    let at = At::new(chunk, token, word, expected);
    at.compared_path().or_else(|| at.address())
}

fn in_path(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')
}

impl At<'_> {
    /// `model == org/M-8B`, whose beginning reads as a quotient
    fn compared_path(&self) -> Option<Hint> {
        let start = self.chunk[..self.token.start].trim_end_matches(in_path).len();
        let rest = &self.chunk[start..];
        let path = &rest[..rest.find(|c| !in_path(c)).unwrap_or(rest.len())];
        let asked = self.chunk[..start].trim_end();
        let asked = asked.strip_suffix("==").or_else(|| asked.strip_suffix("!="))?;
        let mut words = asked.split_whitespace().rev();
        let of_text = words.next() == Some("model") || words.next() == Some("env");
        let begins = path.starts_with(|c: char| c.is_ascii_alphanumeric()) && path.contains('/');
        (is_condition(self.chunk) && of_text && begins && start < self.token.start).then(|| {
            let right = format!("\"{path}\"");
            mend(format!("a text is quoted: write {right}"), start..start + path.len(), right)
        })
    }

    /// `via url http://localhost:8000`
    fn address(&self) -> Option<Hint> {
        let scheme = self.after.starts_with("://") && self.word.bytes().all(|b| b.is_ascii_lowercase());
        let rest = &self.chunk[self.token.start..];
        let end = rest.find([' ', '\t', '\n', '\r', '"', ',', '}']).unwrap_or(rest.len());
        let whole = !rest[end..].starts_with('"') && !self.word.is_empty();
        (scheme && whole && self.is(TEXT)).then(|| {
            let right = format!("\"{}\"", &rest[..end]);
            let place = self.token.start..self.token.start + end;
            mend(format!("an address is quoted: write {right}"), place, right)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(chunk: &str, word: &str) -> Option<String> {
        let at = chunk.rfind(word).expect("in the chunk");
        let (range, text) = quoted(chunk, &(at..at + word.len()), word, &[TEXT.to_owned()])?.edit?;
        Some(format!("{}{text}{}", &chunk[..range.start], &chunk[range.end..]))
    }

    #[test]
    fn the_whole_path_is_quoted() {
        for (chunk, word, right) in [
            ("require model == a-b/C-8B and x > 2", "C-8B", "require model == \"a-b/C-8B\" and x > 2"),
            ("prune p \"x\" when env HF != a/b.0", ".0", "prune p \"x\" when env HF != \"a/b.0\""),
            ("engine e via url http://a:80/b # c", "http", "engine e via url \"http://a:80/b\" # c"),
        ] {
            assert_eq!(mended(chunk, word).as_deref(), Some(right), "{chunk}");
        }
        for (chunk, word) in [("require gpus == a/B", "B"), ("engine e via url http", "http")] {
            assert_eq!(mended(chunk, word), None, "{chunk}");
        }
    }
}
