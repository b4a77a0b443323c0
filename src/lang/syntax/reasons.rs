//! Texts of several words without their quotes: `because we want head room`, `prune slow first token too late when …`. The quotes go
//! around all of them.

use std::ops::Range;

use super::at::mend;
use super::hints::{Hint, TEXT};
use crate::lang::comments::start_of_comment;

/// The remedy for the first word of such a text (of the chunk, a place in it).
pub fn unquoted(chunk: &str, token: &Range<usize>, expected: &[String]) -> Option<Hint> {
    if !matches!(expected, [only] if only == TEXT) {
        return None;
    }
    let place = place(chunk, token)?;
    let text = chunk.get(place.clone()).filter(|t| t.contains([' ', '\t']))?;
    // a quote in it may be the one that is to begin or end it
    if text.contains(['"', '\\']) || !text.starts_with(|c: char| c.is_alphanumeric()) {
        return None;
    }
    let right = format!("\"{text}\"");
    Some(mend(format!("a text stands in double quotes: write {right}"), place, right))
}

/// Whether other words follow that a text may hold too: nobody knows where it ends.
pub fn more_follows(chunk: &str, token: &Range<usize>) -> bool {
    let before = chunk[..token.start].trim_end();
    let line = before.rsplit('\n').next().unwrap_or(before);
    let named = ["prune ", "failure ", "refuses "].iter().any(|w| line.trim_start().starts_with(w));
    named
        && !line.contains('"')
        && !rest(chunk, token).trim_start_matches(|c: char| !c.is_whitespace()).is_empty()
}

/// Where the text stands, which ends with its line or before what follows a text.
fn place(chunk: &str, token: &Range<usize>) -> Option<Range<usize>> {
    let before = chunk[..token.start].trim_end();
    let line = before.rsplit('\n').next().unwrap_or(before).trim_start();
    let rest = rest(chunk, token);
    let end = match line.split_whitespace().next()? {
        "pick" | "publish" if line.ends_with(" because") => rest.len(),
        "failure" if line.ends_with(" matches") => rest.len(),
        "serve" | "probe" | "image" if !line.contains(' ') => rest.len(),
        "prune" | "failure" | "refuses" if !line.contains('"') => rest.find(" when ")?,
        _ => return None,
    };
    Some(token.start..token.start + rest[..end].trim_end().len())
}

/// From the token to the end of its line, without a comment.
fn rest<'t>(chunk: &'t str, token: &Range<usize>) -> &'t str {
    let line = chunk[token.start..].split(['\n', '\r']).next().unwrap_or_default();
    line[..start_of_comment(line).unwrap_or(line.len())].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(chunk: &str, word: &str) -> Option<String> {
        let at = chunk.find(word).expect("in the chunk");
        let (range, text) = unquoted(chunk, &(at..at + word.len()), &[TEXT.to_owned()])?.edit?;
        Some(format!("{}{text}{}", &chunk[..range.start], &chunk[range.end..]))
    }

    #[test]
    fn the_quotes_go_around_all_words() {
        for (chunk, word, right) in [
            ("pick q[fp8] because we want room # why", "we", "pick q[fp8] because \"we want room\" # why"),
            ("publish --x=1 because clients ask", "clients", "publish --x=1 because \"clients ask\""),
            ("prune slow too late when x > 2", "too", "prune slow \"too late\" when x > 2"),
            (
                "failure \"oom\" when log matches CUDA out of memory",
                "CUDA",
                "failure \"oom\" when log matches \"CUDA out of memory\"",
            ),
            ("serve own serve {model}", "own", "serve \"own serve {model}\""),
        ] {
            assert_eq!(mended(chunk, word).as_deref(), Some(right), "{chunk}");
        }
        for (chunk, word) in [
            ("prune slow too late x > 2", "too"),
            ("pick q[fp8] because we\"", "we"),
            ("version 0.17 x", "0.17"),
        ] {
            assert_eq!(mended(chunk, word), None, "{chunk}");
        }
        let chunk = "prune slow too late x > 2";
        assert!(more_follows(chunk, &(11..14)) && !more_follows("prune slow late", &(11..15)));
    }
}
