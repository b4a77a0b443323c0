//! `model who` for `model "{who}"`: a word where a text was to stand is a param that the text inserts, if the file has such a one.

use super::check::Checker;
use super::scope::Kind;
use crate::lang::codes::Code;

impl Checker<'_> {
    /// Says so, and counts the param as used.
    pub(super) fn unquoted_params(&mut self) {
        let root = self.modules.root();
        let mut named = Vec::new();
        for d in self.sink.each_mut().filter(|d| d.code == Code::Unexpected && d.span.file == root.id) {
            let [edit] = d.edits.as_mut_slice() else { continue };
            let word = self.modules.slice(edit.span);
            let Some(param) = root.find(Kind::Param, word).filter(|_| edit.text == format!("\"{word}\""))
            else {
                continue;
            };
            edit.text = format!("\"{{{word}}}\"");
            d.help = Some(format!("a param is inserted into a text: write `{}`", edit.text));
            named.push(param);
        }
        self.used.extend(named);
    }
}
