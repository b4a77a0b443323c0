//! One token of a statement that was left out, and can only be that one: the `{` of a block that stands on one line, the `from` of a step,
//! the `(` of a function; and an article that is one too many.

use std::ops::Range;

use super::blocks::first_word;
use super::lexical::{self, Piece, depth};
use super::misplaced::{Statement, units};
use super::opened::lacks_brace;
use super::signs::is_function;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::Diagnostic;

/// The statement as it was meant, as long as it is, and what is said of it. `stop` is where it could not be read on.
pub(super) fn mended(statement: &Statement, stop: usize) -> Option<(String, Diagnostic)> {
    brace(statement)
        .or_else(|| from(statement, stop))
        .or_else(|| article(statement))
        .or_else(|| round_bracket(statement))
        .or_else(|| bracket_of_goodput(statement))
}

/// `track e step r { vary seqs } }`, `step a vary seqs }`: the end of the block may be all that the line above it left of the line.
fn brace(statement: &Statement) -> Option<(String, Diagnostic)> {
    let text = statement.written();
    let line = statement.text[statement.chunk.place.end..].split('\n').next()?;
    let behind = line[..start_of_comment(line).unwrap_or(line.len())].trim();
    let lacks = matches!(behind, "" | "}") && !text.contains('\n') && depth(text) + depth(behind) == -1;
    if !lacks || !matches!(first_word(text), "track" | "step") {
        return None;
    }
    units(text).iter().skip(1).find_map(|unit| {
        let gap = unit.start.checked_sub(1).filter(|at| text.as_bytes()[*at] == b' ')?;
        // the block begins before those in it
        if lexical::opens_brace(&text[..unit.end]) {
            return None;
        }
        let mut mended = text.to_owned();
        mended.replace_range(gap..unit.start, "{");
        let whole = format!("{mended}{behind}");
        statement.chunk.reads_at(&whole, &(gap..unit.start)).then(|| {
            let at = statement.chunk.place.start;
            let d = lacks_brace(statement.id, at, &text[..gap], "write `{` before its first word", 0, " {");
            (mended, d)
        })
    })
}

/// `step a "A" best when …`: the name of an engine or of a step above stands behind the step's own.
fn from(statement: &Statement, stop: usize) -> Option<(String, Diagnostic)> {
    let text = statement.written();
    let units = units(text);
    let place = units.iter().skip(2).take(2).find(|unit| unit.start == stop)?.clone();
    let name = &text[place.clone()];
    let title = units.get(2).is_some_and(|u| text[u.clone()].starts_with('"') || u.start == place.start);
    let next = units.iter().find(|u| u.start >= place.end).map(|u| &text[u.clone()])?;
    // what stands before the brace may be a title without its quotes
    let sure = next == "when" || next == "{" && units[2].start < place.start;
    let is_step = first_word(text) == "step" && title && sure;
    if !is_step || !is_started_from(&statement.text[..statement.chunk.place.start], name) {
        return None;
    }
    let mut mended = text.to_owned();
    mended.replace_range(place.clone(), &" ".repeat(name.len()));
    let d = Diagnostic::new(
        Code::Unexpected,
        statement.span(place.clone()),
        format!("`from` is missing before `{name}`"),
    );
    let d = d.label("expected `from` before it").help(format!("write `from {name}`"));
    statement.chunk.reads_at(&mended, &place).then(|| {
        let at = statement.span(place.start..place.start);
        (mended, d.edit(at, "from "))
    })
}

/// `step a from the best { … }`
fn article(statement: &Statement) -> Option<(String, Diagnostic)> {
    let text = statement.written();
    let units = units(text);
    let is = |unit: &Range<usize>, word: &str| &text[unit.clone()] == word;
    let pair = units.windows(2).find(|pair| is(&pair[0], "from") && is(&pair[1], "the"))?;
    let (from, place) = (pair[0].clone(), pair[1].clone());
    let mut mended = text.to_owned();
    mended.replace_range(place.clone(), &" ".repeat(place.len()));
    let reads = first_word(text) == "step" && statement.chunk.reads_at(&mended, &place);
    reads.then(|| {
        let d =
            Diagnostic::new(Code::Unexpected, statement.span(place.clone()), "`the` was not expected here");
        let d = d.label("one too many").help("remove it: names stand alone");
        (mended, d.edit(statement.span(from.end..place.end), ""))
    })
}

/// Whether a step can start from what is called so: `best`, or what a text declares or imports.
fn is_started_from(above: &str, name: &str) -> bool {
    let declared = |line: &str| {
        let mut words =
            line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|w| !w.is_empty());
        match words.next() {
            Some("engine" | "step") => words.next() == Some(name),
            Some("use") => words.any(|w| w == name),
            // its keyword is missing, which is told there
            Some(word) => word == name && line[word.len()..].trim_start().starts_with('='),
            None => false,
        }
    };
    name == "best" || above.lines().any(|line| declared(line.trim_start()))
}

/// `p99ttft) < 1s`: what a `)` closes is opened behind the name of a function.
fn round_bracket(statement: &Statement) -> Option<(String, Diagnostic)> {
    let text = statement.written();
    let units = units(text);
    let (word, _) =
        units.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).find(|(word, close)| {
            word.end == close.start
                && &text[close.clone()] == ")"
                && text[word.clone()].starts_with(char::is_alphabetic)
        })?;
    // of `baseline.p99ttft)` what stands behind the last dot
    let prefix = text[word.clone()].rfind('.').map_or(0, |dot| dot + 1);
    let word = word.start + prefix..word.end;
    let written = &text[word.clone()];
    let name = |rest: &str| rest.starts_with(|c: char| c.is_ascii_lowercase());
    let cut = (1..written.len())
        .rev()
        .filter(|n| written.is_char_boundary(*n))
        .find(|n| is_function(&written[..*n]) && name(&written[*n..]))?;
    let at = word.start + cut;
    let close = word.end + 1;
    let call = format!("{}({}", &written[..cut], &text[at..close]);
    // the space behind or before it makes room
    let mended = if text[close..].starts_with(' ') {
        [&text[..word.start], &call, &text[close + 1..]].concat()
    } else {
        // before all of `baseline.p99ttft)`
        let whole = text[..word.start].trim_end_matches(|c: char| in_name(c) || c == '.').len();
        [text[..whole].strip_suffix(' ')?, &text[whole..word.start], &call, &text[close..]].concat()
    };
    let d = Diagnostic::new(Code::Unopened, statement.span(word.end..close), "this `)` closes nothing");
    let d = d.label("nothing is open here").help(format!("write `{call}`"));
    statement.chunk.reads_at(&mended, &(at..at)).then(|| {
        let place = statement.span(at..at);
        (mended, d.edit(place, "("))
    })
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// `goodputttft <= 300ms and tpot <= 50ms)`: the bracket is missing behind the only function that is asked for a condition.
fn bracket_of_goodput(statement: &Statement) -> Option<(String, Diagnostic)> {
    const GOODPUT: &str = "goodput";
    let text = statement.written();
    let (close, _) = super::brackets::unbalanced(text).filter(|(_, piece)| *piece == Piece::Close(b')'))?;
    let word = units(text).into_iter().find(|unit| {
        let rest = text[unit.clone()].strip_prefix(GOODPUT).unwrap_or_default();
        unit.end <= close && rest.starts_with(|c: char| c.is_ascii_lowercase())
    })?;
    let at = word.start + GOODPUT.len();
    // the space before it makes room
    let before = text[..word.start].strip_suffix(' ')?;
    let mended = [before, GOODPUT, "(", &text[at..]].concat();
    let d = Diagnostic::new(Code::Unopened, statement.span(close..close + 1), "this `)` closes nothing");
    let d = d.label("nothing is open here").help(format!("write `{GOODPUT}({} …`", &text[at..word.end]));
    statement.chunk.reads_at(&mended, &(at..at)).then(|| {
        let place = statement.span(at..at);
        (mended, d.edit(place, "("))
    })
}
