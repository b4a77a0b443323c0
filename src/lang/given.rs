//! Params that the command line sets: `--set ctx=64Ki`. A value takes the place of the declared one before anything is checked, so
//! that it takes part in every check.

use std::fmt;
use std::str::FromStr;

use super::diag::{Diagnostic, Severity, did_you_mean, one_of};
use super::sema::Modules;
use super::source::{FileId, Source, Sources, Span, Spanned};
use super::syntax::ast::{Literal, Param};
use super::syntax::number_alone;
use super::{unit_slips, units};

/// The name of the source that a value stands in; it has no place that anybody could go to.
pub const SOURCE: &str = "--set";

/// `NAME=VALUE`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub name: String,
    pub value: String,
}

impl FromStr for Given {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, as in `--set ctx=64Ki`")?;
        let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(in_name) {
            return Err(format!("`{name}` is no name of a param; write NAME=VALUE, as in `--set ctx=64Ki`"));
        }
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// Why a file does not take a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub message: String,
    pub help: String,
}

/// Puts the values into the root file. What it does not take is returned.
pub fn apply(given: &[Given], modules: &mut Modules, sources: &mut Sources) -> Vec<Refused> {
    let mut refused = Vec::new();
    for g in given {
        let Some(param) = modules.root_param(&g.name) else {
            // a declaration that could not be read has its own diagnostic
            if !modules.root().is_broken(&g.name) {
                refused.push(unknown(g, modules, sources));
            }
            continue;
        };
        let id = sources.add(Source::new(SOURCE, g.to_string()));
        let span = Span::new(id, g.name.len() + 1..g.name.len() + 1 + g.value.len());
        match typed(g, &param.value, span) {
            Ok(value) => modules.set_param(&g.name, value),
            Err((expected, help)) => refused.push(wrong(g, &param, &expected, help, sources)),
        }
    }
    refused
}

/// The value as the type that the default has; the error says what that is, and how to write it.
fn typed(g: &Given, default: &Literal, span: Span) -> Result<Literal, (String, String)> {
    match default {
        Literal::Text(_) => {
            Ok(Literal::Text(Spanned { value: unquoted(&g.value).unwrap_or(&g.value).to_owned(), span }))
        }
        Literal::Bool(_) => match g.value.as_str() {
            "true" | "false" => Ok(Literal::Bool(Spanned { value: g.value == "true", span })),
            _ => Err(("true or false".to_owned(), format!("write `--set {}=true` or `=false`", g.name))),
        },
        Literal::Number(n) => {
            let Some((_, wanted)) = units::unit(&n.unit) else { return Ok(default.clone()) };
            let written = number_alone(&g.value, span);
            let like = format!("write it like `--set {}={}{}`", g.name, n.value, n.unit);
            match written.as_ref().map(|w| (units::unit(&w.unit), w)) {
                Some((Some((scale, dim)), w)) if dim == wanted && scale.apply(w.value).is_finite() => {
                    Ok(Literal::Number(w.clone()))
                }
                Some((None, w)) if !unit_slips::suggest(w.value, &w.unit).is_empty() => {
                    let near = unit_slips::suggest(w.value, &w.unit);
                    let near: Vec<_> = near.iter().map(|u| format!("`{u}`")).collect();
                    Err((wanted.to_string(), format!("`{}` is no unit; write {}", w.unit, one_of(&near))))
                }
                _ => Err((wanted.to_string(), like)),
            }
        }
    }
}

/// `"14B"` as a file would write it: of `--set 'who="14B"'` the shell leaves the quotes to us.
fn unquoted(value: &str) -> Option<&str> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    (!inner.contains(['"', '\\'])).then_some(inner)
}

fn wrong(g: &Given, param: &Param, expected: &str, help: String, sources: &Sources) -> Refused {
    let source = sources.get(param.span.file);
    let place = source.place(param.span.start);
    let declared = sources.text(param.span);
    let at = format!("{}:{}:{}", source.name, place.line, place.column);
    let message =
        format!("--set {g}: `{}` is {expected}, and `{}` is not (`{declared}`, {at})", g.name, g.value);
    Refused { message, help }
}

fn unknown(g: &Given, modules: &Modules, sources: &Sources) -> Refused {
    let known = modules.root().names(super::sema::scope::Kind::Param);
    let file = &sources.get(FileId::default()).name;
    // nobody declared what its value is: it may be a key
    let message = format!("--set {0}=…: {file} has no param `{0}`", g.name);
    let help = match (did_you_mean(&g.name, known.iter().copied()), known.as_slice()) {
        (Some(near), _) => format!("did you mean `{near}`? It has {}", known.join(", ")),
        (None, []) => format!("declare it there: `param {} = …`, and use it as `\"{{{}}}\"`", g.name, g.name),
        (None, _) => format!("it has {}", known.join(", ")),
    };
    Refused { message, help }
}

/// Says at every finding that a set value takes part in where that value comes from.
pub fn explain(given: &[Given], found: &mut [Diagnostic], sources: &Sources) {
    let values: Vec<(&Given, Span)> = given
        .iter()
        .filter_map(|g| {
            let text = g.to_string();
            let (id, source) = sources.iter().find(|(_, s)| s.name == SOURCE && s.text == text)?;
            Some((g, Span::new(id, 0..source.text.len())))
        })
        .collect();
    for d in found.iter_mut().filter(|d| d.severity() != Severity::Note) {
        if d.span.file != FileId::default() {
            continue;
        }
        let text = sources.text(d.span);
        for (g, span) in &values {
            if mentions(text, &g.name) {
                d.related.push((*span, format!("`{}` is {} by `--set {g}`", g.name, g.value)));
            }
        }
    }
}

fn mentions(text: &str, name: &str) -> bool {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(in_word) && !text[at + name.len()..].starts_with(in_word))
}
