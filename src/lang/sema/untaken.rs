//! What an unknown name cannot have been meant for: what is just being declared, which would go in a circle, and what stands in the same
//! list already, of which a machine would then take one out.

use std::ops::Range;

use super::check::Checker;
use super::modules::Modules;
use super::scope::name_of;
use crate::lang::source::Span;

impl<'a> Checker<'a> {
    /// The names that one at this place does not stand for.
    pub(super) fn not_meant(&self, at: Span) -> Vec<&'a str> {
        let modules: &'a Modules = self.modules;
        let declared = self.trail.iter().filter_map(|t| name_of(modules.item(*t)));
        let declared = declared.map(|(_, name)| name.value.as_str());
        declared.chain(modules.listed_beside(at)).collect()
    }
}

impl Modules {
    /// The other names of the list that a name stands in.
    pub(super) fn listed_beside(&self, at: Span) -> Vec<&str> {
        beside(self.text_of(at.file), at.range())
    }
}

fn beside(text: &str, at: Range<usize>) -> Vec<&str> {
    let product = joined(text, at.clone(), &[',', '*']);
    if !product.is_empty() {
        return product;
    }
    // of a sum a term that is a product may hold the same name once more
    let alone = |name: &&str| {
        let start = name.as_ptr() as usize - text.as_ptr() as usize;
        joined(text, start..start + name.len(), &['*']).is_empty()
    };
    joined(text, at, &['+']).into_iter().filter(alone).collect()
}

/// The names that stand before and behind a place with such signs between them.
fn joined<'t>(text: &'t str, at: Range<usize>, signs: &[char]) -> Vec<&'t str> {
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut names = Vec::new();
    let mut before = text.get(..at.start).unwrap_or_default();
    while let Some(list) = before.trim_end().strip_suffix(signs).map(str::trim_end) {
        let start = list.trim_end_matches(in_name).len();
        if start == list.len() {
            break;
        }
        names.push(&list[start..]);
        before = &list[..start];
    }
    let mut behind = text.get(at.end..).unwrap_or_default();
    while let Some(list) = behind.trim_start().strip_prefix(signs).map(str::trim_start) {
        let end = list.len() - list.trim_start_matches(in_name).len();
        if end == 0 {
            break;
        }
        names.push(&list[..end]);
        behind = &list[end..];
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_ends_where_its_commas_end() {
        let text = "vary engine[a_1, b,\n    c , d] * axis, e";
        let of = |name: &str| {
            let at = text.find(name).expect("there");
            beside(text, at..at + name.len())
        };
        assert_eq!(of("b"), ["a_1", "c", "d"]);
        assert_eq!(of("engine"), [""; 0]);
        assert_eq!(of("axis"), ["e"]);
        let sum = "vary a * b + c + d + e * f # g";
        let of = |name: &str| {
            let at = sum.rfind(name).expect("there");
            beside(sum, at..at + name.len())
        };
        assert_eq!((of("b"), of("c"), of("f")), (vec!["a"], vec!["d"], vec!["e"]));
    }
}
