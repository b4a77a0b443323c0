//! Blocks whose first line is wrong, which was told: read with that line as it was meant, or under a name that stands in, so that what
//! else is wrong with the block is told too. Everything behind the `{` keeps its place.

use super::ast::Item;
use super::blocks::first_word;
use super::imports::A_STEP;
use super::lexical::{Piece, Scanner};
use super::rename::is_declared;
use super::reread::reread_within;
use super::words;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// The first line of a block, as far as it can be told apart.
#[derive(Debug, Default)]
struct Head<'t> {
    name: Option<&'t str>,
    /// with its quotes, of which the last one may have been missing
    title: Option<String>,
    /// what follows `=`
    base: Option<&'t str>,
    /// what follows `from`
    from: Option<&'t str>,
    /// a step's `when` and all that follows
    when: Option<&'t str>,
}

/// Tells what is wrong with the first line of a declaration, and reads the rest; `text` begins with its keyword, at `at` of the file.
pub(super) fn told(
    id: FileId,
    file: &str,
    (at, text): (usize, &str),
    found: Diagnostic,
    sink: &mut Sink,
    broken: &mut Vec<String>,
) -> Option<Item> {
    let place = found.span;
    sink.push(found);
    let (text, base) = meant(file, at, text, place)?;
    reread_within(at..usize::MAX, id, &text, base, sink, broken)
}

/// A block with its first line as it was meant, and where that text begins so that all behind the `{` is in its place.
pub(super) fn meant(file: &str, at: usize, text: &str, told: Span) -> Option<(String, usize)> {
    let keyword = first_word(text);
    let (head, brace) = head(text)?;
    if !(at..=at + brace).contains(&(told.start as usize)) {
        return None;
    }
    let spelled = head.name.and_then(spelled).filter(|name| {
        // of two that would be called the same, one is lost
        head.name == Some(name.as_str()) || !is_declared(file, keyword, name)
    });
    let name = spelled.unwrap_or_else(|| stand_in(file, at));
    let base = head.base.map(|base| format!("= {base}"));
    let from = match head.from {
        Some(from) => Some(format!("from {}", self::spelled(from)?)),
        None => None,
    };
    let parts = [Some(name), head.title, base, from].into_iter().flatten();
    let parts: Vec<String> = parts.chain([head.when.unwrap_or_default().to_owned()]).collect();
    let right = format!("{keyword} {}", parts.join(" "));
    // what is written where it should be stays in its place, where letters are bytes
    let right = if text[..brace].is_ascii() { format!("{:brace$}", right.trim_end()) } else { right };
    let base = (at + brace).checked_sub(right.len())?;
    Some((format!("{right}{}", &text[brace..]), base))
}

/// The names by which a step without one that can be read may be meant where another starts from it.
pub(super) fn names_of_step(text: &str) -> Vec<String> {
    let Some((Head { name, .. }, _)) = head(text) else { return Vec::new() };
    match name {
        Some(name) => spelled(name).into_iter().chain([name.to_owned()]).collect(),
        None => vec![A_STEP.to_owned()],
    }
}

/// What a step starts from that is no name, where its own name is one.
pub(super) fn starts_from(text: &str) -> Option<&str> {
    let (head, _) = head(text)?;
    let right = |name: &&str| spelled(name).is_some_and(|right| right == *name);
    head.name.filter(right)?;
    head.from.filter(|from| !right(from) && spelled(from).is_some())
}

/// The parts of a first line, and where its `{` stands; `None` where it is not clear what they are.
fn head(text: &str) -> Option<(Head<'_>, usize)> {
    let keyword = first_word(text);
    if !matches!(keyword, "engine" | "profile" | "study" | "site" | "step") {
        return None;
    }
    let line = text.lines().next()?;
    let (mut head, mut brace) = (Head::default(), None);
    let (mut at, mut behind, mut more) = (keyword.len(), "", false);
    for (start, piece) in Scanner::new(line) {
        if start < at || line[start..].starts_with([' ', '\t']) {
            continue;
        }
        match piece {
            Piece::Open(b'{') => {
                brace = Some(start);
                break;
            }
            Piece::Text(end) => {
                more |= head.title.is_some() || behind == "from";
                head.title.get_or_insert(line[start..end].to_owned());
                at = end;
            }
            Piece::UnclosedText => {
                let end = line.trim_end().strip_suffix('{')?.len();
                let mut title = line.get(start..end)?;
                // the title takes all that follows it along
                if let Some((shorter, base)) = title.rsplit_once(" = ").filter(|_| keyword != "step") {
                    (title, head.base) = (shorter, Some(base.trim()));
                }
                head.title.get_or_insert(format!("{}\"", title.trim_end()));
                brace = Some(end);
                break;
            }
            Piece::Other if line[start..].starts_with('=') && keyword != "step" => {
                (behind, at) = ("=", start + 1);
            }
            Piece::Other => {
                let end = line[start..].find([' ', '\t', '"', '=', '{']).map_or(line.len(), |n| start + n);
                let word = &line[start..end];
                at = end.max(start + 1);
                match (keyword, word, behind) {
                    ("step", "when", _) => {
                        brace = line[start..].find('{').map(|n| start + n);
                        head.when = brace.map(|end| &line[start..end]);
                        break;
                    }
                    ("step", "from", "" | "name") => behind = "from",
                    (_, _, "=") if head.base.is_none() => (head.base, behind) = (Some(word), "base"),
                    ("step", _, "from") if head.from.is_none() => (head.from, behind) = (Some(word), "base"),
                    (_, _, "") if head.title.is_none() => (head.name, behind) = (Some(word), "name"),
                    _ => more = true,
                }
            }
            _ => return None,
        }
    }
    // a study is nothing but its lines; what an engine or a step begins with, a word too many may change
    let sure = !more || matches!(keyword, "study" | "site");
    let sure = sure && !matches!(behind, "=" | "from");
    brace.filter(|_| sure).map(|at| (head, at))
}

/// A name as it should be written.
fn spelled(word: &str) -> Option<String> {
    let snake = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = word.to_ascii_lowercase().replace(['-', '.'], "_");
    let right = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(snake);
    (right && !words::RESERVED.contains(&name.as_str())).then_some(name)
}

/// How the names begin that stand for those that blocks lack.
pub(in crate::lang) const UNNAMED: &str = "unnamed_";

/// A name that the file does not know and that no other place of it gets.
fn stand_in(file: &str, at: usize) -> String {
    let name = format!("{UNNAMED}{at}");
    let behind = |(from, _): (usize, &str)| {
        file.as_bytes()[from + name.len()..].iter().take_while(|b| **b == b'_').count()
    };
    match file.match_indices(&name).map(behind).max() {
        Some(most) => format!("{name}{}", "_".repeat(most + 1)),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_put_right_and_what_follows_keeps_its_place() {
        let read = |text: &str| {
            let (right, base) = meant(text, 100, text, Span::new(FileId(0), 105..106))?;
            assert_eq!(base + right.find('{')?, 100 + text.find('{')?, "{right}");
            Some(
                right
                    .replacen('{', " {", 1)
                    .split(' ')
                    .filter(|w| !w.is_empty())
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        };
        for (text, right) in [
            ("study \"A b\" {\n}", "study unnamed_100 \"A b\" {\n}"),
            ("study S { }", "study s { }"),
            ("study s T { }", "study s { }"),
            ("study my-study \"unclosed {\n}", "study my_study \"unclosed\" {\n}"),
            ("engine = vllm {", "engine unnamed_100 = vllm {"),
            ("engine here \"a vLLM = vllm {", "engine here \"a vLLM\" = vllm {"),
            ("engine here = vllm \"vLLM\" {", "engine here \"vLLM\" = vllm {"),
            ("step b-1 from a-1 when x > 1 { vary y }", "step b_1 from a_1 when x > 1 { vary y }"),
            ("step \"unnamed_100\" { vary y }", "step unnamed_100_ \"unnamed_100\" { vary y }"),
        ] {
            assert_eq!(read(text).as_deref(), Some(right), "{text}");
        }
        for text in ["engine here vllm {", "step a after b {", "axis A = {", "study S", "step a from {"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
