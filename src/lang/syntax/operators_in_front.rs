//! Lines that begin with an operator and go on from the line before, which can be read alone: what was meant is both, and the half is not
//! judged.

use std::ops::Range;

use super::blocks::{Block, first_word};
use super::grammar::Rule;
use super::habits::{LEADING_OPERATORS, behind_its_operator};
use super::joins::{MOST_LINES, plain, reads};
use super::lexical::{Piece, Scanner};
use super::nesting::code;
use super::twice::lines;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// Nobody writes more such lines, and for each the text before it is looked through.
const MOST: usize = 64;

/// The text with such lines behind those that they go on from, all else in its place; they are told of, once for each expression.
pub fn behind_their_halves(id: FileId, text: &mut String, sink: &mut Sink) {
    let all = lines(text);
    // where the expression ends that the last such line went on from
    let (mut tried, mut joined_to) = (0, None);
    for (n, line) in all.iter().enumerate() {
        let Some(operator) =
            operator(code(&text[line.clone()])).map(|o| o.start + line.start..o.end + line.start)
        else {
            continue;
        };
        let said = |l: &&Range<usize>| !code(&text[(*l).clone()]).trim().is_empty();
        let above: Vec<Range<usize>> = all[..n].iter().rev().filter(said).take(MOST_LINES).cloned().collect();
        tried += 1;
        if tried > MOST {
            return;
        }
        let Some(last) = above.first() else { continue };
        let Some(block) = around(&text[..operator.start]) else { continue };
        if !goes_on(text, block, &above, &operator) {
            continue;
        }
        if joined_to != Some(last.start) {
            sink.push(told(id, block, &text[operator.clone()], operator.start));
        }
        let end = last.start + code(&text[last.clone()]).len();
        text.replace_range(end..operator.start, &" ".repeat(operator.start - end));
        joined_to = Some(line.start);
    }
}

/// The operator that a line begins with and something stands behind.
fn operator(line: &str) -> Option<Range<usize>> {
    let start = line.len() - line.trim_start_matches([' ', '\t']).len();
    let word = line[start..].split([' ', '\t']).next()?;
    let known = LEADING_OPERATORS.contains(&word) || word == "-" && start > 0;
    (known && line.len() > start + word.len()).then(|| start..start + word.len())
}

/// Whether the lines above (the nearest first) can be read as they are, and with something behind that operator.
fn goes_on(text: &str, block: Option<Block>, above: &[Range<usize>], operator: &Range<usize>) -> bool {
    let sign = &text[operator.clone()];
    // a list of another language
    let rest = first_word(text[operator.end..].trim_start_matches([' ', '\t']));
    if sign == "-" && block.is_some_and(|b| b == Block::Engine || b.settings().1.contains(&rest)) {
        return false;
    }
    let rule = block.map_or(Rule::only_item, Block::rule);
    above.iter().any(|first| {
        let half = &text[first.start..operator.start];
        // `step one { vary seqs`
        let opened = if block.is_some() { last_open(half).map_or(0, |at| at + 1) } else { 0 };
        let half = plain(half[opened..].trim());
        reads(rule, &half) && reads(rule, &format!("{half} {sign} x"))
    })
}

/// The brace that is open at the end of a text.
fn last_open(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    for (at, piece) in Scanner::new(text) {
        match piece {
            Piece::Open(b'{') => open.push(at),
            Piece::Close(b'}') => drop(open.pop()),
            _ => {}
        }
    }
    open.pop()
}

/// The block that a text ends in, if it is in any; `None` where it is in something else.
#[expect(clippy::option_option, reason = "in none, and in none that has expressions")]
fn around(before: &str) -> Option<Option<Block>> {
    let Some(brace) = last_open(before) else { return Some(None) };
    let head = before[..brace].rsplit(['\n', '{']).next().unwrap_or_default().trim_start();
    let block = match first_word(head) {
        "engine" => Block::Engine,
        "study" => Block::Study,
        "track" => Block::Track,
        "step" => Block::Step,
        _ => return None,
    };
    Some(Some(block))
}

fn told(id: FileId, block: Option<Block>, sign: &str, at: usize) -> Diagnostic {
    let span = Span::new(id, at..at + sign.len());
    let d = match block {
        Some(block) => {
            let message = format!("{} has no setting `{sign}`", block.settings().0);
            Diagnostic::new(Code::UnknownSetting, span, message).label("unknown")
        }
        None => Diagnostic::new(Code::NotADeclaration, span, format!("`{sign}` begins no declaration"))
            .label("expected a declaration"),
    };
    d.help(behind_its_operator(sign))
}
