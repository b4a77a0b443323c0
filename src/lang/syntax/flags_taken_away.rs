//! Two flags of a condition with nothing between them, `--n --s`, are read as the one less `-s`, which nobody means: what leaves a condition so
//! mends nothing.

use std::ops::Range;

use super::escapes::is_condition;

/// Whether a flag in a place of a text, or the one behind it, is read as taken away from what stands before it.
pub(super) fn any(text: &str, place: &Range<usize>) -> bool {
    // the place is one of the text as it was, which may be within a character of this one
    let Some(behind) = text.get(place.end..).filter(|_| text.is_char_boundary(place.start)) else {
        return false;
    };
    let last = text.len() - behind.trim_start_matches([' ', '\t']).len();
    let flags = text.match_indices("--").map(|(at, _)| at).filter(|at| (place.start..=last).contains(at));
    let is_name = |at: usize| text[at + 2..].starts_with(|c: char| c.is_ascii_alphabetic());
    is_condition(text, place.start) && flags.filter(|at| is_name(*at)).any(|at| ends_operand(&text[..at]))
}

fn ends_operand(before: &str) -> bool {
    let said = before.trim_end_matches([' ', '\t']);
    let word = said.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
    let joins =
        matches!(word, "and" | "or" | "not" | "when" | "divides" | "given" | "per" | "unless" | "requests");
    said.len() < before.len()
        && !joins
        && said.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, ')' | '_' | '"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minus_of_its_own_takes_away() {
        let at = |text: &str| any(text, &(text.find('(').unwrap_or(21)..text.len() - 6));
        for text in ["refuses \"x\" when not (--n   --s)", "refuses \"x\" when (mod --s --n)"] {
            assert!(at(text), "{text}");
        }
        for text in
            ["refuses \"x\" when (--n - --s)", "refuses \"x\" when (--s divides --n)", "flag --n (--s)"]
        {
            assert!(!at(text), "{text}");
        }
    }
}
