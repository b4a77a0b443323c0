//! Lines that end where none may end, `study s` with its brace on the line after: the two are one, and are told of once.

use std::collections::HashSet;

use pest::Parser;

use super::grammar::{Grammar, Rule};
use super::habits;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{Diagnostic, short};
use crate::lang::source::{FileId, Span};

/// Lines that are put together at most, and bytes: what belongs together stands together.
pub const MOST_LINES: usize = 4;
const MOST_BYTES: usize = 1 << 16;

/// A declaration that can be read once the ends of its first lines are taken away: what is wrong, and the text without them.
pub fn head(id: FileId, base: usize, text: &str) -> Option<(Diagnostic, String)> {
    let mut joined = text.to_owned();
    let mut first = None;
    for _ in 1..MOST_LINES {
        let end = joined.trim_end().find('\n')?;
        let line = plain(joined[..end].trim_end());
        let line = line.trim_end();
        if line.trim().is_empty() || line.contains('{') {
            return None;
        }
        let end = line.len();
        let next = end + joined[end..].len() - joined[end..].trim_start().len();
        first.get_or_insert(end..next);
        // a comment between them goes with the end of the line
        joined.replace_range(end..next, &" ".repeat(next - end));
        if reads(Rule::only_item, &joined) {
            return Some((torn(id, base, text, first?), joined));
        }
    }
    None
}

/// How many of the lines that follow a bad one belong to it, and what is wrong. `lines` are their places in the text, the first one's
/// first.
pub fn following(
    id: FileId,
    rule: Rule,
    base: usize,
    text: &str,
    lines: &[(usize, usize)],
) -> Option<(usize, Diagnostic)> {
    let start = lines.first()?.0;
    for (count, window) in (2..=lines.len().min(MOST_LINES)).map(|n| (n, &lines[..n])) {
        let whole = text.get(start..window[count - 1].1)?;
        if whole.len() > MOST_BYTES {
            return None;
        }
        let uncommented = plain(whole);
        let breaks: Vec<_> = window.windows(2).map(|w| w[0].1 - start..w[1].0 - start).collect();
        let without = |some: &[std::ops::Range<usize>]| {
            let mut joined = uncommented.clone();
            for gap in some {
                joined.replace_range(gap.clone(), &" ".repeat(gap.len()));
            }
            // nothing stands between a flag's sign and its value
            reads(rule, &joined)
                || some.iter().all(|gap| uncommented[..gap.start].ends_with('=')) && {
                    let mut glued = uncommented.clone();
                    some.iter().rev().for_each(|gap| glued.replace_range(gap.clone(), ""));
                    reads(rule, &glued)
                }
        };
        let one = breaks.iter().find(|b| without(std::slice::from_ref(b)));
        if let Some(at) = one.or_else(|| breaks.first().filter(|_| without(&breaks))) {
            return Some((count - 1, torn(id, base + start, whole, at.clone())));
        }
    }
    None
}

/// A bad line that goes on with what the good one before it says: `on chat` below a `require`.
pub fn before(
    id: FileId,
    rule: Rule,
    base: usize,
    text: &str,
    good: (usize, usize),
    bad: (usize, usize),
) -> Option<Diagnostic> {
    let (whole, gap) = (text.get(good.0..bad.1)?, good.1 - good.0..bad.0 - good.0);
    let line = &text[bad.0..bad.1];
    // an operator has a hint of its own
    if whole.len() > MOST_BYTES || whole.contains('#') || habits::leading_operator(line).is_some() {
        return None;
    }
    let mut joined = whole.to_owned();
    joined.replace_range(gap.clone(), &" ".repeat(gap.len()));
    if !reads(rule, &joined) {
        return None;
    }
    let word = first_token(line);
    let span = Span::new(id, base + bad.0..base + bad.0 + word.len());
    let d = Diagnostic::new(Code::Unexpected, span, format!("`{}` begins no line", short(word)));
    let gap = Span::new(id, base + good.0 + gap.start..base + good.0 + gap.end);
    Some(d.label("goes on from the line before").help("write it on the line before").edit(gap, " "))
}

/// A change on the line below an axis, which ends with its line: `axis a = --x` and then `env B=1`. `at` is where the line begins.
pub fn behind_axis(id: FileId, file: &str, at: usize, text: &str) -> Option<Diagnostic> {
    let line = text.lines().next()?.trim_end();
    let begins = ["-", "env ", "model \"", "raw -", "unset "].iter().any(|w| line.starts_with(w));
    let before = file.get(..at)?.trim_end();
    let above = before.rsplit('\n').next()?;
    let commented = start_of_comment(above);
    let axis = plain(above);
    let axis = axis.trim_end();
    if !begins || !axis.starts_with("axis ") || !reads(Rule::only_item, &format!("{axis} {}", plain(line))) {
        return None;
    }
    let word = first_token(line);
    let span = Span::new(id, at..at + word.len());
    let d = Diagnostic::new(Code::NotADeclaration, span, format!("`{}` begins no declaration", short(word)));
    let is_at_margin = file[..at].ends_with('\n');
    if let Some(name) = is_at_margin.then(|| varied_alone(file)).flatten() {
        let right = format!("axis {name} = ");
        let d = d.label("expected `axis`").help(format!("write `{right}{line}`"));
        return Some(d.edit(Span::new(id, at..at), right));
    }
    let d = d
        .label("of the axis above?")
        .help("an axis ends with its line: write all that its point sets on one line");
    Some(if commented.is_some() { d } else { d.edit(Span::new(id, before.len()..at), " ") })
}

/// The name that a head gives back which was lost.
pub fn given_back(d: &Diagnostic) -> Option<&str> {
    d.edits.first()?.text.strip_prefix("axis ")?.strip_suffix(" = ")
}

/// The one axis that steps vary and nothing declares or imports. Not looked for in what a machine wrote: each such line would have all of
/// it read.
fn varied_alone(file: &str) -> Option<&str> {
    if file.len() > MOST_BYTES {
        return None;
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let lines = || file.lines().map(|l| &l[..start_of_comment(l).unwrap_or(l.len())]);
    let declared: HashSet<&str> = lines()
        .filter_map(|l| l.split_once(' '))
        .filter(|(word, _)| matches!(*word, "axis" | "use"))
        .flat_map(|(_, rest)| rest.split(|c| !is_name(c)))
        .collect();
    let varied = lines().filter_map(|l| l.split_once("vary ")).map(|(_, axes)| axes.split('}').next());
    let names = varied.flatten().flat_map(|axes| {
        // names in brackets are of points
        let outside = axes.split('[').map(|part| part.rsplit(']').next().unwrap_or_default());
        outside.flat_map(|part| part.split(|c| !is_name(c)))
    });
    let mut unknown = names.filter(|n| !n.is_empty() && *n != "engine" && !declared.contains(n));
    let name = unknown.next()?;
    unknown.all(|other| other == name).then_some(name)
}

pub(super) fn reads(rule: Rule, text: &str) -> bool {
    Grammar::parse(rule, text).is_ok()
}

/// A text with spaces in place of its comments.
pub(super) fn plain(text: &str) -> String {
    let line = |line: &str| match start_of_comment(line) {
        Some(at) => format!("{}{}", &line[..at], " ".repeat(line.len() - at)),
        None => line.to_owned(),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Something is missing at the end of a line, and stands on the next.
fn torn(id: FileId, base: usize, text: &str, gap: std::ops::Range<usize>) -> Diagnostic {
    let said = plain(&text[..gap.start]).trim_end().len();
    let between = said..gap.end;
    let commented = text[between.clone()].contains('#');
    let gap = if commented { between } else { gap };
    let last = text[..gap.start].char_indices().next_back().map_or(0, |(at, _)| at);
    let span = Span::new(id, base + last..base + gap.start);
    let next = first_token(&text[gap.end..]);
    let d = Diagnostic::new(Code::Unexpected, span, "something is missing at the end of the line")
        .label("goes on in the next line");
    let next = short(next);
    if commented {
        return d.help(format!("`{next}` stands on the same line, before the comment: join the two"));
    }
    let flag = text[..gap.start].ends_with('=');
    let between = if flag && text.starts_with('-') { "" } else { " " };
    d.help(format!("`{next}` stands on the same line: join the two"))
        .edit(Span::new(id, base + gap.start..base + gap.end), between)
}

fn first_token(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_is_put_together() {
        let joined = |t: &str| head(FileId(0), 0, t).map(|(_, text)| text);
        assert_eq!(joined("engine v\n= vllm {\n--a\n}\n").as_deref(), Some("engine v = vllm {\n--a\n}\n"));
        assert_eq!(joined("study s\n{\n}\n").as_deref(), Some("study s {\n}\n"));
        assert_eq!(joined("axis a = --b=\n"), None);
    }

    #[test]
    fn only_the_line_end_that_is_one_too_many_goes() {
        let text = "vary a *\n b by\n grid";
        let found = following(FileId(0), Rule::only_step_line, 0, text, &[(0, 8), (10, 14), (16, 20)]);
        let (more, d) = found.expect("they belong together");
        assert_eq!((more, d.edits[0].span), (2, Span::new(FileId(0), 14..16)));
    }
}
