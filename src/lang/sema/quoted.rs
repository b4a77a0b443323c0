//! Quotes in comparisons: around a quantity, which takes none, and not around a path, which takes some.

use super::check::Checker;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::syntax::ast::{BinaryOp, Expr, ExprKind, Name};
use crate::lang::syntax::number_alone;
use crate::lang::units::{self, Dim};

impl Checker<'_> {
    /// `p99(ttft) <= "5s"`: whether what is compared with a quantity is one in quotes. Says so.
    pub(super) fn is_quoted_number(&mut self, text: &Expr, wanted: Dim) -> bool {
        let ExprKind::Text(said) = &text.kind else { return false };
        let bare = said.value.trim();
        let unit = number_alone(bare, said.span).and_then(|n| units::unit(&n.unit));
        let Some((_, dim)) = unit else { return false };
        let message = "a quantity is compared with a text";
        let d = Diagnostic::new(Code::Dimension, said.span, message).label("a quantity in quotes");
        let unit = wanted.usual_unit().filter(|_| dim == Dim::PLAIN && dim != wanted);
        // of another kind it is no mistake less without them
        self.sink.push(match unit {
            _ if dim == wanted => {
                d.help(format!("a quantity stands without quotes: write `{bare}`")).edit(said.span, bare)
            }
            Some(unit) => d.help(format!(
                "a quantity stands without quotes, and with its unit: write for example `{bare}{unit}`"
            )),
            None => {
                d.help(format!("a quantity of its kind stands there, without quotes: `{bare}` is another"))
            }
        });
        true
    }

    /// `model == openai/gpt-oss-20b`: whether what is compared with texts is a path, which reads as a quotient. Says so.
    pub(super) fn is_bare_path(&mut self, module: usize, e: &Expr) -> bool {
        let path = self.source_text(e.span);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        let mut names = Vec::new();
        if !path.contains('/') || !path.chars().all(plain) || !of_names(e, &mut names) {
            return false;
        }
        // a quotient of what there is was meant as one
        if names.iter().all(|n| self.is_known(module, n)) {
            return false;
        }
        let right = format!("\"{path}\"");
        let message = format!("`{path}` is no quantity, and texts are quoted");
        let d = Diagnostic::new(Code::UnknownMetric, e.span, message).label("a text without its quotes");
        self.sink.push(d.help(format!("a text is quoted: write {right}")).edit(e.span, right));
        true
    }
}

/// Whether an expression is made of names and numbers; all its names.
fn of_names<'e>(e: &'e Expr, names: &mut Vec<&'e Name>) -> bool {
    match &e.kind {
        ExprKind::Number(_) => true,
        ExprKind::Call { owner, name, args: None } => {
            names.extend(owner);
            names.push(name);
            true
        }
        ExprKind::Binary { op: BinaryOp::Div | BinaryOp::Sub, left, right } => {
            of_names(left, names) && of_names(right, names)
        }
        _ => false,
    }
}
