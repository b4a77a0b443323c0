//! Lines of a block that are a text alone: the word that it is the value of was lost.

use super::blocks::Block;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::{FileId, Span};

/// What is said of a text at the beginning of a line, if what it says tells which setting it is of.
pub(super) fn text(id: FileId, block: Block, line: &str, base: usize) -> Option<Diagnostic> {
    let inner = alone(line)?;
    let word = setting(block, inner)?;
    let d = Diagnostic::new(
        Code::UnknownSetting,
        span(id, inner, base),
        format!("`{word}` is missing before `\"{inner}\"`"),
    );
    let d = d.suggest(word).help(format!("write `{word} \"{inner}\"`"));
    Some(d.edit(Span::new(id, base..base), format!("{word} ")))
}

/// The same where it may be of any setting.
pub(super) fn any_text(id: FileId, block: Block, line: &str, base: usize) -> Option<Diagnostic> {
    let inner = alone(line)?;
    let (what, known) = block.settings();
    let message = format!("in {what} a text stands behind the word that says what it is");
    let d = Diagnostic::new(Code::UnknownSetting, span(id, inner, base), message).label("of which setting?");
    Some(d.about(About::NoSetting(block)).help(format!("{what} has the settings {}", known.join(", "))))
}

/// The text of a line that holds nothing else.
fn alone(line: &str) -> Option<&str> {
    let (inner, rest) = line.strip_prefix('"')?.split_once('"')?;
    let rest = rest.trim_start_matches([' ', '\t']);
    (rest.is_empty() || rest.starts_with(['#', '\n', '\r'])).then_some(inner)
}

fn span(id: FileId, inner: &str, base: usize) -> Span {
    Span::new(id, base..base + inner.len() + "\"\"".len())
}

/// The setting that such a text is the value of.
fn setting(block: Block, text: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    let is_release = text.contains('.')
        && text.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(plain);
    let is_model = text.split_once('/').is_some_and(|(org, name)| {
        org.len() > 1 && name.len() > 2 && (org.to_owned() + name).chars().all(plain)
    });
    // `b11434`, and the same as its program says it
    let is_build =
        text.strip_prefix('b').unwrap_or(text).bytes().all(|b| b.is_ascii_digit()) && text.len() > 3;
    let begins_with_a_number = text.starts_with(|c: char| c.is_ascii_digit());
    match block {
        Block::Engine if is_release || is_build => Some("version"),
        Block::Engine if text.contains("{port}") => Some("serve"),
        Block::Engine | Block::Study if is_model => Some("model"),
        Block::Study | Block::Step if text.contains(' ') && !begins_with_a_number => Some("note"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_says_tells_its_setting() {
        assert_eq!(setting(Block::Engine, "0.17.1rc2"), Some("version"));
        assert_eq!(setting(Block::Engine, "srv --port {port}"), Some("serve"));
        assert_eq!(setting(Block::Study, "Qwen/Qwen3-8B"), Some("model"));
        assert_eq!(setting(Block::Engine, "b11434"), Some("version"));
        assert_eq!(setting(Block::Study, "a note of 1.5"), Some("note"));

        for text in ["Qwen", "tok/s", "./models/q", "256"] {
            assert_eq!(setting(Block::Study, text).or(setting(Block::Engine, text)), None, "{text}");
        }
    }
}
