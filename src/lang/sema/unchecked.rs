//! Keys of an options file of which the schema lists none: nothing is held against them, which is said once.

use super::check::Checker;
use super::program::{Change, Engine};
use super::schema::{FlagSpec, Found};
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;

impl Checker<'_> {
    /// A note on the first change that sets such keys.
    pub(super) fn unchecked_keys(&mut self, change: &Change, engine: &Engine) {
        let Change::Flag { name, value: Some(value), .. } = change else { return };
        let flag = name.split('.').next().unwrap_or(name);
        let Found::Known(spec, _) = engine.schema.find(flag, engine.version.as_deref()) else { return };
        let keys = name.contains('.') || value.text.trim_start().starts_with('{');
        let said = |d: &Diagnostic| d.code == Code::UncheckedKeys;
        if !keys || !lists_none(spec) || self.sink.found().any(said) {
            return;
        }
        let message = format!("the keys of {} are not checked: the schema lists none", spec.names[0]);
        let d = Diagnostic::new(Code::UncheckedKeys, value.span, message).label("passed on as it stands");
        self.sink.push(d.help(format!(
            "hold them against what {} documents: of a misspelt one the engine may say nothing",
            engine.title
        )));
    }
}

/// Whether a flag takes a file of options, and nobody says which.
pub(super) fn lists_none(spec: &FlagSpec) -> bool {
    spec.file && spec.keys.is_empty()
}

/// What is said of an unknown flag that may be an option of an engine's file: the option as it is written, and whether it surely is one.
pub(super) fn as_option(name: &str, engine: &Engine) -> Option<(String, bool)> {
    let bare = name.strip_prefix("--").filter(|n| !n.contains('.'))?.replace('-', "_");
    let mut files = engine.schema.of_version(engine.version.as_deref()).filter(|s| s.file);
    files.find_map(|spec| {
        let known = spec.keys.iter().any(|k| k.name == bare);
        (known || lists_none(spec)).then(|| (format!("{}.{bare}", spec.names[0]), known))
    })
}
