//! What only a shell reads, in a command that none reads: `~/bin/srv`, `$MODEL`, `setup && srv`, `> log.txt`, `NAME=1 srv`. What stands in quotes
//! within the command is for a shell that it starts itself.

use super::check::Checker;
use super::scope::Kind;
use super::template::LAUNCH_NAMES;
use super::unexpanded::variable;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;
use crate::lang::syntax::ast;

impl Checker<'_> {
    /// Doubts the words of a command that a shell would have read.
    pub(super) fn of_a_shell(&mut self, text: &ast::Text) {
        let source = self.modules.slice(text.span).to_owned();
        let place = |at: usize, len: usize| {
            let start = text.span.start as usize + at;
            Span::new(text.span.file, start..start + len)
        };
        let mut begins = true;
        for (at, word) in plain_words(&source) {
            let name = assigned(word).filter(|_| begins);
            begins &= name.is_some();
            let found = if let Some(name) = name {
                let message = format!("`{word}` is taken for the command: no shell reads this");
                let d = Diagnostic::new(Code::Unexpanded, place(at, word.len()), message).label("no command");
                let value = &word[name.len() + 1..];
                Some(d.help(format!("a variable is a line of the engine: `env {name}={value}`")))
            } else if word == "~" || word.starts_with("~/") {
                Some(passed_on("~", place(at, 1)).help("write the whole path"))
            } else if let Some(help) = sign(word) {
                Some(passed_on(word, place(at, word.len())).label("an argument of the command").help(help))
            } else {
                self.variable_of_a_shell(word).map(|(start, written, name)| {
                    let span = place(at + start, written.len());
                    let right = format!("{{{name}}}");
                    passed_on(written, span).help(format!("write `{right}`")).edit(span, right)
                })
            };
            if let Some(d) = found {
                self.sink.push(d);
            }
        }
    }

    /// Where a command passes on `$port`, which is taken back to be told as what it lacks.
    pub(super) fn port_of_a_shell(&mut self, command: Span) -> Option<Span> {
        let inserts = |d: &Diagnostic| {
            d.code == Code::Unexpanded
                && d.span.file == command.file
                && command.range().contains(&(d.span.start as usize))
                && matches!(d.edits.as_slice(), [edit] if edit.text == "{port}")
        };
        let place = self.sink.found().filter(|d| inserts(d)).map(|d| d.span).min_by_key(|s| s.start)?;
        self.sink.forget(|d| inserts(d) && d.span == place);
        Some(place)
    }

    /// `$MODEL`: where in a word one stands that braces insert, as written, and how that is called. `${port}` is told of as such.
    fn variable_of_a_shell<'w>(&self, word: &'w str) -> Option<(usize, &'w str, String)> {
        let known = |name: &str| {
            LAUNCH_NAMES.contains(&name) || self.modules.root().find(Kind::Param, name).is_some()
        };
        word.match_indices('$').find_map(|(at, _)| {
            let (written, name) = variable(&word[at..]).filter(|(w, _)| !w.contains('{'))?;
            let name = name.to_ascii_lowercase();
            known(&name).then_some((at, written, name))
        })
    }
}

fn passed_on(written: &str, span: Span) -> Diagnostic {
    let message = format!("`{written}` is passed on as it stands: no shell reads this");
    Diagnostic::new(Code::Unexpanded, span, message).label("inserts nothing")
}

/// `NAME=1`
fn assigned(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(upper)).then_some(name)
}

/// What to write instead of a word by which a shell joins commands, or says where what they print goes.
fn sign(word: &str) -> Option<&'static str> {
    let redirects = ["&>", ">", "<", "1>", "2>"].iter().any(|sign| word.starts_with(sign));
    Some(match word {
        "&&" | "||" | "|" | ";" => "one command stands here: name a script that runs the others",
        "&" => "the server is started and stopped for each launch: remove it",
        _ if redirects => "what the server prints is kept with its launch: remove it",
        _ if word.ends_with(';') && word.len() > 1 => "one command stands here, without a sign at its end",
        _ => return None,
    })
}

/// The words of a command in which nothing is quoted, and where they stand in its source.
fn plain_words(source: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let (mut start, mut quote, mut plain) = (1, None, true);
    let end = source.len().saturating_sub(1);
    let mut escaped = false;
    for (at, c) in source.char_indices().filter(|(at, _)| (1..=end).contains(at)) {
        let ends = at == end || quote.is_none() && c.is_whitespace();
        match (c, quote) {
            _ if ends => {
                words.extend(source.get(start..at).filter(|w| plain && !w.is_empty()).map(|w| (start, w)));
                (start, plain) = (at + c.len_utf8(), true);
            }
            ('\'' | '"', None) => (quote, plain) = (Some(c), false),
            (c, Some(open)) if c == open && !(escaped && c == '\'') => quote = None,
            _ => {}
        }
        escaped = c == '\\';
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_in_a_command_is_not_its_own() {
        let words = |s: &'static str| plain_words(s).into_iter().map(|(_, w)| w).collect::<Vec<_>>();
        assert_eq!(words(r#""srv --x {model} > log""#), ["srv", "--x", "{model}", ">", "log"]);
        assert_eq!(words(r#""sh -c 'a && b' c""#), ["sh", "-c", "c"]);
        assert_eq!(words(r#""sh -c \"a && b\" ü c""#), ["sh", "-c", "ü", "c"]);
        assert_eq!(words("\"\""), Vec::<&str>::new());
        assert_eq!(plain_words("\"a ~/b\"")[1], (3, "~/b"));
    }

    #[test]
    fn signs_of_a_shell_are_words_of_their_own() {
        for word in ["&&", "|", ">", ">log", "2>&1", "&", "srv;"] {
            assert!(sign(word).is_some(), "{word}");
        }
        for word in ["a>b", "--x=<y>", "a&b", "{port}"] {
            assert_eq!(sign(word), None, "{word}");
        }
        assert_eq!(assigned("HF_HOME=/x"), Some("HF_HOME"));
        assert_eq!(assigned("--X=1").or(assigned("a=1")), None);
    }
}
