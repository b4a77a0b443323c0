//! The releases that an engine's schema names: each once, each one that there can be, and flags only of those that it was read from.

use super::check::Checker;
use super::versions::compare_versions;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::syntax::ast::{Engine, EngineLineKind as Line, FlagDecl, Text};

impl Checker<'_> {
    /// `versions`, and the `since` and `until` of the flags beside it.
    pub fn versions_named(&mut self, decl: &Engine, flags: &[&FlagDecl]) {
        let versions: Vec<&Text> = decl
            .lines
            .iter()
            .filter_map(|l| if let Line::Versions(v) = &l.kind { Some(v) } else { None })
            .flatten()
            .collect();
        for (i, version) in versions.iter().enumerate() {
            let first = versions[..i].iter().find(|v| compare_versions(&v.value, &version.value).is_eq());
            if let Some(first) = first {
                let message = format!("the version {} stands twice", version.value);
                let d = Diagnostic::new(Code::SettingTwice, version.span, message).label("the second one");
                self.sink.push(d.related(first.span, "the first one").help("name each version once"));
            }
        }
        let bounds = flags.iter().flat_map(|f| f.since.iter().chain(&f.until));
        for text in versions.iter().copied().chain(bounds).filter(|t| !is_version(&t.value)) {
            let message = format!("`{}` is no version", text.value);
            let d = Diagnostic::new(Code::EngineSetting, text.span, message).label("not a version");
            self.sink.push(d.help("write it as the engine prints it: `\"0.17.1\"`"));
        }
        for since in flags.iter().filter_map(|f| f.since.as_ref()).filter(|s| is_version(&s.value)) {
            let later = |v: &&Text| compare_versions(&v.value, &since.value).is_lt();
            if !versions.is_empty() && versions.iter().all(later) {
                let d = Diagnostic::new(
                    Code::EngineSetting,
                    since.span,
                    "no version of the schema has this flag",
                );
                let help = "name the version in `versions` too, or mend the `since`";
                self.sink.push(d.label("after all of `versions`").help(help));
            }
        }
    }
}

/// Something with a digit and without spaces.
fn is_version(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit()) && !text.contains(char::is_whitespace)
}
