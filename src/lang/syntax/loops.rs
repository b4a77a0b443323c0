//! Loops and branches of other languages, of which this one has none: what stands for them.

use super::blocks::first_word;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::{FileId, Span};

/// What is said of loops and branches.
const INSTEAD: &str = "an axis lists values, `axis seqs = --max-num-seqs=[64, 128]`, and a step varies it: `step seqs { vary seqs }`";

const CONDITIONS: &str = "a step has its condition in its first line, `step seqs when p50(tpot) > 15ms { … }`; what is not worth running is pruned: `prune …`";

/// Whether a line begins a loop or a branch of another language.
pub fn is_one(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default();
    let word = first_word(line);
    let rest = &line[word.len()..];
    match word {
        "for" | "foreach" => rest.contains(" in ") || rest.contains(" of ") || rest.contains('='),
        "while" | "loop" => rest.starts_with([' ', '(', '{']),
        "if" | "else" | "elif" => line.trim_end().ends_with(['{', ':']),
        _ => false,
    }
}

/// Where the line of a bracket begins, if that is a loop.
pub fn opens(text: &str, bracket: usize) -> Option<usize> {
    let start = text[..bracket].rfind('\n').map_or(0, |n| n + 1);
    let line = &text[start..];
    let at = start + line.len() - line.trim_start_matches([' ', '\t']).len();
    is_one(&text[at..]).then_some(at)
}

/// `for seqs in [1, 2] {`: what is said of its word.
pub fn told(id: FileId, code: Code, at: usize, text: &str) -> Diagnostic {
    let word = first_word(text);
    let span = Span::new(id, at..at + word.len());
    let (what, help) = match word {
        "if" | "else" | "elif" => ("branches", CONDITIONS),
        _ => ("loops", INSTEAD),
    };
    let d = Diagnostic::new(code, span, format!("`{word}` begins nothing: there are no {what}"));
    d.label("not of this language").help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_told_from_settings() {
        for text in ["for s in [1, 2] {", "foreach (x of y)", "while x > 1 {", "if p50(tpot) > 1 {", "else {"]
        {
            assert!(is_one(text), "{text}");
        }
        for text in ["format \"x\"", "for_chat { vary x }", "iff true", "repeat 3", "while"] {
            assert!(!is_one(text), "{text}");
        }
        let text = "study s {\n    for a in b {\n";
        assert_eq!(opens(text, text.len() - 2), Some(14));
        assert_eq!(opens(text, 8), None);
    }
}
