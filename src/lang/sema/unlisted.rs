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
    if let Some(d) = word_of_python(engine, name, written) {
        return Some(d);
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
    if let Some(right) = in_other_parts(&written.text, &spec.known) {
        let span = d.span;
        return Some(d.suggest(right).help(takes(&spec.known)).edit(span, right));
    }
    // `FLASH_ATTENTION` is `FLASH_ATTN`, and not `FLEX_ATTENTION`, however few letters that is away
    let first = |text: &str| text.split(['_', '-']).next().unwrap_or_default().to_ascii_lowercase();
    let own = first(&written.text);
    let alike = |known: &&str| own != written.text.to_ascii_lowercase() && first(known) == own;
    let known = || spec.known.iter().map(String::as_str);
    let near: Vec<&str> =
        if known().any(|k| alike(&k)) { known().filter(alike).collect() } else { known().collect() };
    let d = d.meant(&written.text, near, "not among what it takes", str::to_owned);
    Some(d.help(takes(&spec.known)))
}

fn takes(known: &[String]) -> String {
    format!("it takes {}; a plug-in may add to these", some_of(known))
}

/// `FLASH_INFER` for `FLASHINFER`: the one that has the same letters, with other signs between its parts or none.
fn in_other_parts<'k>(text: &str, known: &'k [String]) -> Option<&'k str> {
    let letters = |t: &str| t.replace(['_', '-', '.'], "").to_ascii_lowercase();
    let mut same = known.iter().filter(|k| letters(k) == letters(text));
    same.next().filter(|_| same.next().is_none()).map(String::as_str)
}

/// `--extra_llm_api_options.enable_attention_dp=[True]`, where nobody says what the key takes: a text, unless JSON's word is written.
fn word_of_python(engine: &Engine, name: &str, written: &WrittenValue) -> Option<Diagnostic> {
    let json = match written.text.as_str() {
        "True" | "TRUE" => "true",
        "False" | "FALSE" => "false",
        "None" => "null",
        _ => return None,
    };
    let (flag, _) = name.split_once('.')?;
    let Found::Known(spec, _) = engine.schema.find(flag, engine.version.as_deref()) else { return None };
    let is_bare = (written.span.end - written.span.start) as usize == written.text.len();
    (spec.kind == Kind::Json && is_bare && !written.json).then(|| {
        let message = format!("`{}` is a text here, and {name} is a key of JSON", written.text);
        let d = Diagnostic::new(Code::UnlistedValue, written.span, message).label("passed on as a text");
        d.help(format!("write `{json}`, or `\"{}\"` if a text is meant", written.text))
            .edit(written.span, json)
    })
}
