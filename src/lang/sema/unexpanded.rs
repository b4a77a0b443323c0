//! Values that a shell would have changed: `~/models`, `$HOME/models`, `${TOKEN}`, `value;`. No shell reads a study, so they are passed on as they
//! stand, and an engine looks for a directory called `~`. Only what a shell would surely expand is doubted: JSON has `$defs`, patterns end
//! in `$`, and templates have signs of their own.

use serde_json::Value as Json;

use super::check::Checker;
use super::scope::Kind;
use super::template::LAUNCH_NAMES;
use super::variables;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;
use crate::lang::syntax::ast;

/// What a value belongs to, which decides what to write instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of<'a> {
    Flag(&'a str),
    Variable(&'a str),
    Model,
    /// a file or directory that a profile names
    Path,
    /// something of a site, where `~/` is the home directory
    Site,
}

/// What a shell would replace in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'t> {
    Home,
    /// `$NAME` or `${NAME}`, as written, and the name
    Variable(&'t str, &'t str),
}

/// `--chat-template=a.jinja;`: what ends a command in a shell is part of the value here.
fn ended_by_a_shell(source: &str, span: Span) -> Option<Diagnostic> {
    let plain = source.strip_suffix(';').filter(|p| !p.is_empty() && !p.contains(['"', ';', '{']))?;
    let sign = Span { start: span.end - 1, ..span };
    let message = format!("the value is `{plain};`, with its semicolon: no shell reads this");
    let d = Diagnostic::new(Code::Unexpanded, sign, message).label("part of the value");
    Some(d.help("remove it; in quotes it is surely meant").edit(sign, ""))
}

/// `"{{ctx}}"`, as templates write it: doubled braces are a text's own, and insert nothing.
fn doubled_braces(source: &str, span: Span, is_param: &dyn Fn(&str) -> bool) -> Option<Diagnostic> {
    let begins = |at: usize| source.starts_with('"') && !source[..at].ends_with('$');
    let name = |at: usize| source[at + 2..].split_once("}}").map(|(name, _)| name);
    let braces = source.match_indices("{{").map(|(at, _)| at).filter(|at| begins(*at));
    let (at, name) = braces.filter_map(|at| Some((at, name(at)?))).find(|(_, name)| is_param(name))?;
    let start = span.start as usize + at;
    let written = Span::new(span.file, start..start + name.len() + "{{}}".len());
    let d = Diagnostic::new(Code::Unexpanded, written, format!("`{{{{{name}}}}}` is the text `{{{name}}}`"));
    let d = d.label("inserts nothing").help(format!("write `{{{name}}}`: that inserts the param"));
    Some(d.edit(written, format!("{{{name}}}")))
}

impl Checker<'_> {
    /// Doubts a value that holds what only a shell would have inserted.
    pub(super) fn unexpanded(&mut self, module: usize, span: Span, of: Of<'_>) {
        if let Some(d) = self.unexpanded_in(module, span, of) {
            self.sink.push(d);
        }
    }

    fn unexpanded_in(&self, module: usize, span: Span, of: Of<'_>) -> Option<Diagnostic> {
        if matches!(of, Of::Flag(flag) if is_secret(flag)) {
            return None;
        }
        let source = self.modules.slice(span);
        if let Some(d) = ended_by_a_shell(source, span) {
            return Some(d);
        }
        let m = self.module(module);
        let is_param = |name: &str| m.find(Kind::Param, name).is_some();
        if let Some(d) = doubled_braces(source, span, &is_param) {
            return Some(d);
        }
        let (piece, at) = found(source, &is_param)?;
        let start = span.start as usize + at;
        let (written, name) = match piece {
            Piece::Home if of == Of::Site => return None,
            Piece::Home => ("~", None),
            Piece::Variable(written, name) => (written, Some(name)),
        };
        let piece_span = Span::new(span.file, start..start + written.len());
        let message = format!("`{written}` is passed on as it stands: no shell reads this");
        let d = Diagnostic::new(Code::Unexpanded, piece_span, message).label("inserts nothing");
        match name.filter(|n| is_param(n)) {
            Some(name) => Some(self.param_for(d, span, written, name)),
            None if source.starts_with('{') && name.is_some() => Some(d.help(
                "write the value: JSON inserts nothing; a key set alone does, `--flag.key=\"{name}\"`",
            )),
            None => Some(d.help(instead(of, name))),
        }
    }

    /// `${port}` in a command that no shell reads: the port behind a `$`.
    pub(super) fn inserted_behind_a_sign(&mut self, text: &ast::Text) {
        let source = self.modules.slice(text.span).to_owned();
        for (at, _) in source.match_indices("${") {
            let Some((written, name)) = variable(&source[at..]).filter(|(w, _)| !w.starts_with("${{")) else {
                continue;
            };
            if !LAUNCH_NAMES.contains(&name) {
                continue;
            }
            let start = text.span.start as usize + at;
            let span = Span::new(text.span.file, start..start + written.len());
            let message = format!("`{written}` is a `$` and what `{{{name}}}` inserts: no shell reads this");
            let d = Diagnostic::new(Code::Unexpanded, span, message).label("the `$` stays");
            let sign = Span::new(text.span.file, start..start + 1);
            self.sink.push(d.help(format!("write `{{{name}}}`")).edit(sign, ""));
        }
    }

    /// A param with the sign of a shell: it is inserted into a text, without the sign.
    fn param_for(&self, d: Diagnostic, value: Span, written: &str, name: &str) -> Diagnostic {
        let fixed = format!("{{{name}}}");
        let text = self.modules.slice(value).replacen(written, &fixed, 1);
        let text = if text.starts_with('"') { text } else { format!("\"{text}\"") };
        d.help(format!("write `{fixed}`: that inserts the param")).edit(value, text)
    }

    /// What a value means that a shell would have replaced, where it is refused for what it is.
    pub(super) fn unexpanded_help(&self, d: Diagnostic, value: Option<Span>) -> Diagnostic {
        let Some(span) = value else { return d };
        let m = self.module(0);
        let is_param = |name: &str| m.find(Kind::Param, name).is_some();
        let Some((Piece::Variable(written, name), _)) = found(self.modules.slice(span), &is_param) else {
            return d;
        };
        let d = Diagnostic { edits: Vec::new(), ..d };
        if is_param(name) {
            return self.param_for(d, span, written, name);
        }
        let help = instead(Of::Flag(""), Some(name));
        d.help(format!("`{written}` inserts nothing: {help}"))
    }
}

/// What to write.
fn instead(of: Of<'_>, name: Option<&str>) -> String {
    let site = "site.plab stays on the machine";
    match (of, name) {
        (Of::Flag(_) | Of::Model | Of::Path, Some(name)) => {
            let param = name.to_ascii_lowercase();
            format!(
                "write the value, or `param {param} = …` and `\"{{{param}}}\"`, which `--set {param}=…` changes"
            )
        }
        (Of::Variable(variable), _) => {
            format!("write the value, or put `env {variable}=…` into a site, where `~/` is your home; {site}")
        }
        (Of::Site, _) => format!("write the value itself: {site}"),
        (Of::Model, None) => {
            "name the model, and say in a site where it lies: `model \"NAME\" at \"~/…\"`".to_owned()
        }
        (Of::Flag(_) | Of::Path, None) => {
            "write the whole path, or one beside the study; `~/` is your home in a site only".to_owned()
        }
    }
}

/// Of a secret it is said that it belongs into a site, whatever its value.
fn is_secret(flag: &str) -> bool {
    variables::secret(&flag.trim_start_matches('-').to_uppercase().replace('-', "_"))
}

/// The first piece of a value as written, and where in it that stands.
fn found<'s>(source: &'s str, is_param: &dyn Fn(&str) -> bool) -> Option<(Piece<'s>, usize)> {
    if source.starts_with('{') {
        return in_json(source);
    }
    let text = source.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let before = usize::from(text.is_some());
    let text = text.unwrap_or(source);
    // a template of chats has a language of its own
    if text.contains("{%") || text.contains("{{ ") {
        return None;
    }
    in_text(text, text.len() < source.len(), is_param).map(|(piece, at)| (piece, before + at))
}

/// The texts of a JSON object; its keys are names.
fn in_json(source: &str) -> Option<(Piece<'_>, usize)> {
    if !source.contains(['~', '$']) {
        return None;
    }
    let mut left = vec![serde_json::from_str::<Json>(source).ok()?];
    while let Some(json) = left.pop() {
        match json {
            Json::String(text) if in_text(&text, false, &|_| false).is_some() => {
                let at = source.find(&format!("\"{text}\""))? + 1;
                let piece = in_text(&source[at..at + text.len()], false, &|_| false);
                return piece.map(|(piece, inside)| (piece, at + inside));
            }
            Json::Array(all) => left.extend(all),
            Json::Object(all) => left.extend(all.into_iter().map(|(_, v)| v)),
            _ => {}
        }
    }
    None
}

/// Where braces insert params, `{HOME}` has been said to be none.
fn in_text<'t>(text: &'t str, inserts: bool, is_param: &dyn Fn(&str) -> bool) -> Option<(Piece<'t>, usize)> {
    if text == "~" || text.starts_with("~/") {
        return Some((Piece::Home, 0));
    }
    let mut dollars = text.match_indices('$');
    dollars.find_map(|(at, _)| {
        let begins = at == 0 || text[..at].ends_with(['/', ':', '=', ',', ' ']);
        let (written, name) = variable(&text[at..])?;
        let said = inserts && written.starts_with("${") && !written.starts_with("${{");
        let upper = begins && name.len() > 1 && !name.contains(|c: char| c.is_ascii_lowercase()) && !said;
        (upper || is_param(name)).then_some((Piece::Variable(written, name), at))
    })
}

/// `$NAME`, `${NAME}`, or `${{NAME}}`, which is the same in a string of the language.
pub(super) fn variable(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('$')?;
    let inner = rest.trim_start_matches('{');
    let opened = rest.len() - inner.len();
    let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
    let name = &inner[..end];
    let closed = inner[end..].len() - inner[end..].trim_start_matches('}').len();
    let named = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let whole = &text[..1 + opened + end + opened.min(closed)];
    (named && opened == closed.min(opened) && opened <= 2).then_some((whole, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(source: &str) -> Option<(String, usize)> {
        found(source, &|name| name == "ctx").map(|(piece, at)| match piece {
            Piece::Home => ("~".to_owned(), at),
            Piece::Variable(written, _) => (written.to_owned(), at),
        })
    }

    #[test]
    fn what_a_shell_would_expand_is_found() {
        let cases = [
            ("~/m/x.gguf", "~", 0),
            ("\"~/m\"", "~", 1),
            ("$HOME/x", "$HOME", 0),
            ("\"${{HOME}}/x\"", "${{HOME}}", 1),
            ("/opt:$LD_LIBRARY_PATH", "$LD_LIBRARY_PATH", 5),
            ("\"${ctx}\"", "${ctx}", 1),
            ("$ctx", "$ctx", 0),
            ("{\"model\": \"~/draft\"}", "~", 11),
            ("{\"model\": \"${HOME}/draft\"}", "${HOME}", 11),
            ("{\"a\": {\"b\": [\"$HOME/d\"]}}", "$HOME", 14),
        ];
        for (source, piece, start) in cases {
            assert_eq!(at(source), Some((piece.to_owned(), start)), "{source}");
        }
    }

    #[test]
    fn what_no_shell_would_expand_is_left_alone() {
        for source in [
            "a~/b",
            "~user",
            "^abc$",
            "\"^(a|b)$|c\"",
            "pa$word",
            "paSS$WORD",
            "$1",
            "$ref",
            "{\"$defs\": {\"x\": 1}, \"$ref\": \"#/$defs/x\"}",
            "{\"$HOME\": 1}",
            "\"{% if a %}$HOME{% endif %}\"",
            "US$",
            "\"${HOME}/x\"",
            "${{model}}",
        ] {
            assert_eq!(at(source), None, "{source}");
        }
    }
}
