//! Which tokens stand close together, and after which a line may end. The grammar says where a line end may stand; this says where
//! one is best.

use super::tokens::What;
use crate::lang::syntax::grammar::Rule;

/// Whether a token touches the one before it and the one after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Glue {
    pub before: bool,
    pub after: bool,
}

/// How a token of `rule`, which stands in `parent`, is spaced. A sign belongs to the rule that it stands in.
pub fn glue(text: &str, what: What, rule: Rule, parent: Rule) -> Glue {
    let (before, after) = match (what, text) {
        (What::Sign, "," | ")" | "]" | ":") => (true, false),
        (What::Sign, "(") => (rule == Rule::call, true),
        (What::Sign, "[") => (!matches!(parent, Rule::flag_type | Rule::attribute | Rule::e_variables), true),
        (What::Sign, ".") => (true, true),
        (What::Sign, "..") if parent == Rule::flag_type => (true, true),
        (What::Sign, "=") => (touches(rule), touches(rule)),
        _ => (false, false),
    };
    Glue { before, after }
}

/// A flag or variable and its value.
fn touches(rule: Rule) -> bool {
    matches!(rule, Rule::flag | Rule::env | Rule::variable)
}

/// The level of the places between a point's changes.
pub const BEFORE_CHANGE: u8 = 1;

/// Where a line may end: the level of the place, the lower the better.
pub fn line_end(text: &str, what: What, rule: Rule, parent: Rule) -> Option<u8> {
    match (what, text, rule) {
        (What::Word, _, Rule::k_and | Rule::k_or) | (What::Sign, "+", Rule::axes) => Some(0),
        (What::Sign, ",", _) | (What::Sign, "*", Rule::product) => Some(1),
        (What::Word, _, Rule::k_when) if matches!(parent, Rule::prune | Rule::step | Rule::e_refuses) => {
            Some(2)
        }
        (What::Word, _, Rule::sum_op | Rule::term_op | Rule::comparison) => Some(3),
        _ => None,
    }
}
