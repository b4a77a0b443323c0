//! Files that a `use` names and nobody can read.

use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::near::{did_you_mean, differ_in_a_part, same_digits};
use crate::lang::source::Files;
use crate::lang::syntax::ast::Text;

/// What is said of one, at a path that is written in the file at `from` and leads to `full`.
pub(super) fn unreadable(path: &Text, from: &str, full: &str, why: &str, files: &dyn Files) -> Diagnostic {
    let message = format!("`{}` cannot be read: {why}", path.value);
    let d = Diagnostic::new(Code::UnreadableFile, path.span, message);
    let bare = path.value.trim_end_matches(".plab");
    if bare.starts_with("std/") {
        let d = d.label("this file");
        return d
            .help(format!("the standard library stands without quotes: write `{bare}`"))
            .edit(path.span, bare);
    }
    let (folder, name) = path
        .value
        .rsplit_once('/')
        .map_or(("", path.value.as_str()), |(_, name)| (&path.value[..path.value.len() - name.len()], name));
    // a file that uses itself is no help
    let own = from.rsplit('/').next().unwrap_or_default();
    let beside = files.beside(full);
    let known = beside.iter().filter(|k| *k != name && *k != own).map(|k| stem(k));
    let d = match did_you_mean(stem(name), known) {
        Some(near) => {
            let right = format!("\"{folder}{near}.plab\"");
            // which of two that are numbered was meant, a machine cannot know
            let sure = same_digits(stem(name), near) && !differ_in_a_part(stem(name), near);
            let d = d.suggest(&right);
            if sure { d.edit(path.span, right) } else { d }
        }
        None => d.label("this file"),
    };
    d.help("the path is relative to the file that names it")
}

fn stem(name: &str) -> &str {
    name.strip_suffix(".plab").unwrap_or(name)
}
