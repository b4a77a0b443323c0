//! Strings that insert things: `"{ctx}"` inserts a param, in an engine also `{model} {host} {port} {version}`; `{{` and `}}` are braces.

use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Sink, did_you_mean};
use crate::lang::source::Span;

/// What only a launch knows stays as it is; the executor inserts it.
pub const LAUNCH_NAMES: [&str; 4] = ["model", "host", "port", "version"];

/// A text from each of its single braces on.
fn from_braces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let tail = &rest[rest.find(['{', '}'])?..];
            if tail.starts_with("{{") || tail.starts_with("}}") {
                rest = &tail[2..];
                continue;
            }
            rest = &tail[1..];
            return Some(tail);
        }
    })
}

/// Whether a text holds something that only a launch inserts.
pub fn waits_for_launch(text: &str) -> bool {
    from_braces(text).any(|tail| launch_name(tail).is_some())
}

/// Whether a text holds what a launch inserts by this name.
pub fn inserts(text: &str, name: &str) -> bool {
    from_braces(text)
        .any(|tail| launch_name(tail).is_some_and(|held| held[1..].strip_suffix('}') == Some(name)))
}

/// The first name in single braces, with them.
pub fn first_inserted(text: &str) -> Option<&str> {
    from_braces(text).find_map(|tail| {
        let (name, _) = tail.strip_prefix('{')?.split_once('}')?;
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        let is_name = begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name.then(|| &tail[..name.len() + 2])
    })
}

/// The braces of what a launch inserts, with the name in them, if a text begins with one.
fn launch_name(tail: &str) -> Option<&str> {
    let (name, _) = tail.strip_prefix('{')?.split_once('}')?;
    LAUNCH_NAMES.contains(&name).then(|| &tail[..name.len() + 2])
}

/// Doubled braces as the single ones that they stand for; what a launch inserts stays.
pub fn single_braces(text: &str) -> String {
    text.replace("{{", "{").replace("}}", "}")
}

/// The other way round: every brace is doubled but those of what a launch inserts.
pub fn double_braces(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        let len = launch_name(tail).map_or(1, str::len);
        let piece = &tail[..len];
        out.push_str(piece);
        if len == 1 {
            out.push_str(piece);
        }
        rest = &tail[len..];
    }
    out.push_str(rest);
    out
}

/// What a name in braces stands for.
pub enum Param {
    Value(String),
    /// its declaration could not be read, which has been said
    Unreadable,
    Unknown,
}

/// A text with what could be inserted into it.
pub struct Inserted {
    pub text: String,
    /// false where something could not be inserted, which has been said: the text means nothing
    pub whole: bool,
}

/// A string where it stands in its file.
pub struct Written<'s> {
    pub span: Span,
    /// as written, with its quotes and escapes
    pub source: &'s str,
}

impl Written<'_> {
    /// Where a part of the string stands, looked for behind `from`, which moves on behind it.
    fn part(&self, part: &str, from: &mut usize) -> Span {
        let Some(at) = self.source.get(*from..).and_then(|rest| rest.find(part)).map(|n| *from + n) else {
            return self.span;
        };
        *from = at + part.len();
        let start = self.span.start as usize;
        Span::new(self.span.file, start + at..start + *from)
    }
}

/// Inserts params into a text; `known` lists them where one is asked for that there is not. With `launch`, the names of a launch may stand in it and stay, and braces stay doubled for
/// [`crate::plan::command`] to resolve.
pub fn insert<'a>(
    text: &str,
    written: &Written,
    launch: bool,
    param: &dyn Fn(&str) -> Param,
    known: &dyn Fn() -> Vec<&'a str>,
    sink: &mut Sink,
) -> Inserted {
    let mut out = String::with_capacity(text.len());
    let mut whole = true;
    let mut from = 0;
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        if tail.starts_with("{{") || tail.starts_with("}}") {
            let brace = &tail[..1];
            out.push_str(brace);
            if launch {
                out.push_str(brace);
            }
            written.part(&tail[..2], &mut from);
            rest = &tail[2..];
            continue;
        }
        let Some(name) = tail.strip_prefix('{').and_then(|t| t.split_once('}')).map(|(n, _)| n) else {
            sink.push(stray_brace(written.part(&tail[..1], &mut from), &tail[..1]));
            return Inserted { text: out, whole: false };
        };
        let span = written.part(&tail[..name.len() + 2], &mut from);
        if launch && LAUNCH_NAMES.contains(&name) {
            out.push_str(&tail[..name.len() + 2]);
        } else {
            match param(name) {
                Param::Value(value) => out.push_str(&value),
                Param::Unreadable => whole = false,
                Param::Unknown => {
                    whole = false;
                    let of_a_shell = rest[..at].ends_with('$');
                    sink.push(if of_a_shell {
                        shells(span, name)
                    } else {
                        unknown(span, name, launch, known())
                    });
                }
            }
        }
        rest = &tail[name.len() + 2..];
    }
    out.push_str(rest);
    Inserted { text: out, whole }
}

fn stray_brace(span: Span, brace: &str) -> Diagnostic {
    let message = format!("a lone `{brace}` in a string inserts nothing");
    Diagnostic::new(Code::UnknownParam, span, message)
        .label("a lone brace")
        .help(format!("write `{brace}{brace}` for a brace, or `{{name}}` to insert a param"))
}

/// `${HOME}`: the braces insert params, and the sign before them nothing.
fn shells(span: Span, name: &str) -> Diagnostic {
    let message = format!("`{{{name}}}` inserts a param that does not exist");
    let param = name.to_ascii_lowercase();
    Diagnostic::new(Code::UnknownParam, span, message).label("no shell reads this").help(format!(
        "write the value, or `param {param} = …` and `{{{param}}}` without `$`, which `--set {param}=…` changes"
    ))
}

fn unknown(span: Span, name: &str, launch: bool, known: Vec<&str>) -> Diagnostic {
    let mut all = known;
    if launch {
        all.extend(LAUNCH_NAMES);
    }
    let d = Diagnostic::new(
        Code::UnknownParam,
        span,
        format!("`{{{name}}}` inserts a param that does not exist"),
    );
    let d = match did_you_mean(name, all.iter().copied()) {
        Some(near) => d.suggest(&format!("{{{near}}}")).edit(span, format!("{{{near}}}")),
        None => d.label("inserts nothing"),
    };
    let bare = name.trim();
    if bare != name && all.contains(&bare) {
        return d.help(format!("write `{{{bare}}}`, without spaces"));
    }
    let is_name = bare.starts_with(|c: char| c.is_ascii_lowercase())
        && bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if bare.starts_with('"') {
        return d.help("write a JSON object without quotes around it, `{\"key\": 1}`; braces in a text are `{{` and `}}`");
    }
    if !is_name {
        return d.help("write `{{` and `}}` for braces, or `{name}` to insert a param");
    }
    let there =
        if all.is_empty() { "there is none".to_owned() } else { format!("there is {}", all.join(", ")) };
    d.help(format!("declare `param {bare} = …` ({there}), or write `{{{{` and `}}}}` for braces"))
}
