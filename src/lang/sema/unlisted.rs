//! Texts that are none of those that an engine is known to take: methods, backends, formats, parsers. A doubt only, as plug-ins have names
//! of their own.

use super::problem::some_of;
use super::program::{Engine, WrittenValue};
use super::schema::{FlagSpec, Found, Kind};
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;

/// What is said of a flag's text that the schema lists others for.
pub fn unlisted(engine: &Engine, name: &str, value: Option<&WrittenValue>) -> Option<Diagnostic> {
    let written = value.filter(|v| !v.template)?;
    let version = engine.version.as_deref();
    // releases bring new names: of one that was not read, nothing is known
    if engine.schema.stand_in(version).is_some() {
        return None;
    }
    let Found::Known(spec, _) = engine.schema.find(name, version) else { return None };
    let of_version: Vec<&FlagSpec> = match version {
        Some(_) => vec![spec],
        None => engine.schema.named(name).collect(),
    };
    let listed = |spec: &&FlagSpec| {
        let is = |known: &String| known.eq_ignore_ascii_case(&written.text);
        let default = spec.default.as_ref().is_some_and(is);
        spec.kind != Kind::Text || spec.known.is_empty() || default || spec.known.iter().any(is)
    };
    if of_version.iter().any(listed) {
        return None;
    }
    let release = version.map(|v| format!(" {v}")).unwrap_or_default();
    let message = format!("{}{release} is not known to take `{}` for {name}", engine.title, written.text);
    let d = Diagnostic::new(Code::UnlistedValue, written.span, message);
    // `FLASH_ATTENTION` is `FLASH_ATTN`, and not `FLEX_ATTENTION`, however few letters that is away
    let first = |text: &str| text.split(['_', '-']).next().unwrap_or_default().to_ascii_lowercase();
    let own = first(&written.text);
    let alike = |known: &&str| own != written.text.to_ascii_lowercase() && first(known) == own;
    let known = || spec.known.iter().map(String::as_str);
    let near: Vec<&str> =
        if known().any(|k| alike(&k)) { known().filter(alike).collect() } else { known().collect() };
    let d = d.meant(&written.text, near, "not among what it takes", str::to_owned);
    Some(d.help(format!("it takes {}; a plug-in may add to these", some_of(&spec.known))))
}
