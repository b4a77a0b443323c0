//! Ends of steps whose first lines are missing: `vary` and what goes with it stand in the block around, and a `}` below them closes too much.

use std::collections::BTreeSet;

use super::blocks::first_word;
use super::lexical::{Piece, Scanner};
use super::nesting::{code, indent};
use super::twice::{blank, lines};

/// The text without each `}` that ends `vary` and what goes with it, above which the first line of the step is missing: that is told of where
/// they stand. Asked of texts in which a `}` closes too much.
pub fn without(text: &mut String) {
    let lines = lines(text);
    let codes: Vec<&str> = lines.iter().map(|place| code(&text[place.clone()])).collect();
    let ends = next_outside(&codes);
    let (mut stack, mut found): (Vec<&str>, BTreeSet<usize>) = (Vec::new(), BTreeSet::new());
    let (mut headless, mut of_steps) = (false, Vec::new());
    for (n, place) in lines.iter().enumerate() {
        let line = &text[place.clone()];
        let within = stack.last().copied().unwrap_or_default();
        let in_none = matches!(first_word(within.trim_start()), "track" | "study");
        if in_none && headless && first_word(line.trim_start()) == "vary" {
            let of_step = |n: &usize| codes[*n].trim() == "}" && indent(codes[*n]) > indent(within);
            if let Some(end) = ends[n].filter(of_step) {
                found.insert(lines[end].start + indent(codes[end]));
                // what goes with `vary` is of the step, not of the block around it
                of_steps.extend(lines[n + 1..end].iter().cloned());
            }
        }
        for (at, piece) in Scanner::new(line) {
            match piece {
                Piece::Open(b'{') => stack.push(line),
                Piece::Close(b'}') if !found.contains(&(place.start + at)) => drop(stack.pop()),
                _ => {}
            }
        }
        if !codes[n].is_empty() {
            headless = first_word(codes[n].trim_start()) != "step" || codes[n].ends_with('}');
        }
    }
    for at in found {
        text.replace_range(at..=at, " ");
    }
    for line in of_steps {
        blank(text, line);
    }
}

/// For each line the next one that stands further out, empty ones apart.
fn next_outside(codes: &[&str]) -> Vec<Option<usize>> {
    let mut next = vec![None; codes.len()];
    let mut inner: Vec<usize> = Vec::new();
    for (n, line) in codes.iter().enumerate().filter(|(_, l)| !l.is_empty()) {
        while let Some(last) = inner.pop_if(|last| indent(codes[*last]) > indent(line)) {
            next[last] = Some(n);
        }
        inner.push(n);
    }
    next
}
