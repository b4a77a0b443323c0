//! Texts that must say something: a reason is what reviewers and reports read, and an empty path leads nowhere.

use super::check::Checker;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::syntax::ast::Text;

impl Checker<'_> {
    /// A text with its params inserted. An empty one is reported: `what` names it, `help` says what to write.
    pub(super) fn said(&mut self, module: usize, text: &Text, code: Code, what: &str, help: &str) -> String {
        let inserted = self.inserted_text(module, &text.value, text.span, false);
        if inserted.whole && inserted.text.trim().is_empty() {
            let d = Diagnostic::new(code, text.span, format!("{what} is empty"));
            self.sink.push(d.label("says nothing").help(help));
        }
        inserted.text
    }

    /// A title with its params inserted; without one, and where it says nothing, the name stands.
    pub(super) fn titled(&mut self, module: usize, title: Option<&Text>, name: &str) -> String {
        let title = title.map(|t| self.inserted(module, t, false));
        title.filter(|t| !t.trim().is_empty()).unwrap_or_else(|| name.to_owned())
    }
}
