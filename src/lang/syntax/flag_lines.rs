//! Lines by which an engine declares flags, `flag --seqs int 1..`, where something is wrong with them.

use super::blocks::Block;
use super::imports::ANY;
use super::types;
use super::words::{ATTRIBUTES, ENGINE_SETTINGS, TYPES};
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{Diagnostic, did_you_mean};
use crate::lang::source::{FileId, Span};

/// What is put before `--seqs int 1..`, by which an engine declares a flag.
pub(super) const FLAG: &str = "flag ";

/// `--seqs int 1..`: a flag and its type, without the word by which it is declared.
pub(super) fn without_word(id: FileId, block: Block, text: &str, base: usize) -> Option<Diagnostic> {
    if block != Block::Engine || !lacks_word(text) {
        return may_declare(text).filter(|_| block == Block::Engine).map(|line| either(id, base, &line));
    }
    let first = text.split_whitespace().next()?;
    let span = Span::new(id, base..base + first.len());
    let d = Diagnostic::new(Code::Unexpected, span, format!("`{first}` is declared without `flag`"));
    let d = d.label("expected `flag`").help(format!("write `flag {first} …`"));
    Some(d.edit(Span::new(id, base..base), FLAG))
}

/// What is said of a flag beside a word that may be its type or its value.
fn either(id: FileId, base: usize, (flag, word, len): &(&str, &str, usize)) -> Diagnostic {
    let span = Span::new(id, base..base + len);
    let d = Diagnostic::new(Code::Unexpected, span, format!("`{flag}` and `{word}` stand apart"));
    d.label("its type, or its value?")
        .help(format!("write `flag {flag} {word}` to declare the flag, or join the two by `=` to set it"))
}

/// `--api-key text`: a flag and a type that may also be a value, alone on their line; and how long they are.
fn may_declare(text: &str) -> Option<(&str, &str, usize)> {
    let line = text.lines().next()?;
    let line = line[..start_of_comment(line).unwrap_or(line.len())].trim_end();
    let mut words = line.split_whitespace();
    let (flag, word) = (words.next()?, words.next()?);
    let alone = words.next().is_none() && flag.starts_with("--") && !flag.contains('=');
    (alone && ALSO_VALUES.contains(&word)).then_some((flag, word, line.len()))
}

/// Types that flags of some engines take as values too.
const ALSO_VALUES: [&str; 4] = ["text", "path", "json", "words"];

/// Whether a line begins with flags and a type, not with a flag and its value: `--log-format json` may be either.
fn lacks_word(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default();
    let named = line.split_whitespace().take_while(|w| w.starts_with('-') && !w.contains('=')).count();
    let mut rest = line.split_whitespace().skip(named);
    let (Some(kind), next) = (rest.next().filter(|_| named > 0), rest.next().unwrap_or_default()) else {
        return false;
    };
    let described = ATTRIBUTES.contains(&next) || next.starts_with(|c: char| c.is_ascii_digit() || c == '[');
    let sure = TYPES.contains(&kind) && !ALSO_VALUES.contains(&kind);
    let also = ALSO_VALUES.contains(&kind) || types::known(FLAG, kind).is_some();
    // what is set beside it is no declaration
    (sure || also && described) && !rest.any(|w| w.starts_with("--") && w.contains('='))
}

/// The flags that a line of an engine declares, whatever else is wrong with it: `flag --seqs -s integer`, also `flg --seqs int`. Each is known
/// by the name that was meant: `--seqs` where `–seqs`, `"--seqs"` or `seqs` stands.
pub fn declared_flags(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut words = text.split_whitespace().peekable();
    // `--seqs int`, without its word
    let first = words.next_if(|_| !lacks_word(text) && may_declare(text).is_none()).unwrap_or("flag");
    // `option --seqs int`, of which the word is like none
    let dashed = |w: &str| unquoted(w).starts_with(DASHES);
    let typed = || text.split_whitespace().any(dashed) && text.split_whitespace().any(|w| TYPES.contains(&w));
    let declares = did_you_mean(first, ["flag"]).is_some() || !ENGINE_SETTINGS.contains(&first) && typed();
    // a name without its dashes is one before the type, and behind `negated`
    let before_type = words.clone().position(|w| TYPES.contains(&w)).unwrap_or(1);
    let mut negated = false;
    words.enumerate().filter(move |_| declares).flat_map(move |(n, w)| {
        // `flag int 1..` lost its name, and nobody knows which
        if n == 0 && TYPES.contains(&w) {
            return vec![ANY.to_owned()];
        }
        negated &= !ATTRIBUTES.contains(&w);
        let names = names_meant(w, n < before_type || negated);
        negated |= w == "negated";
        names
    })
}

/// Dashes, as they are typed and as word processors make them.
const DASHES: [char; 7] = ['-', '‐', '‑', '–', '—', '―', '−'];

/// A word without the quotes that it was put in.
fn unquoted(word: &str) -> &str {
    word.trim_start_matches(['"', '\'', '`', '“', '”', '„', '‘', '’'])
}

/// The flags that a word may have been meant to name: with other dashes, in quotes, and `bare` without any dashes.
fn names_meant(word: &str, bare: bool) -> Vec<String> {
    let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let word = unquoted(word);
    let rest = word.trim_start_matches(DASHES);
    let name = rest.split(|c| !in_name(c)).next().unwrap_or_default();
    let dashes = &word[..word.len() - rest.len()];
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    match dashes {
        "" if bare && begins => vec![format!("--{name}")],
        "" => Vec::new(),
        "-" | "--" => vec![format!("{dashes}{name}")],
        // one long dash may stand for one or for two
        _ if name.len() == 1 => vec![format!("-{name}"), format!("--{name}")],
        _ if name.is_empty() => Vec::new(),
        _ => vec![format!("--{name}")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_known_by_the_names_that_were_meant() {
        for (line, names) in [
            ("flag --seqs -s integer", "--seqs -s"),
            ("flag –slots int 1..", "--slots"),
            ("flag —slots −s int 1..", "--slots -s --s"),
            ("flag \"--slots\" int", "--slots"),
            ("flag “–slots” int", "--slots"),
            ("flag ---slots int", "--slots"),
            ("flag slots seqs int 1..", "--slots --seqs"),
            ("flag slots integer", "--slots"),
            ("flag int 1..", ANY),
            ("flag --cache switch negated no-cache default true", "--cache --no-cache"),
            ("flag --cache switch negated \"--no-cache\" since \"1.4\"", "--cache --no-cache"),
            ("flag --cache switch negated –no-cache off-cache", "--cache --no-cache --off-cache"),
            ("flag --mode text default fast known [a, b]", "--mode"),
            ("serve \"x –port\"", ""),
        ] {
            assert_eq!(declared_flags(line).collect::<Vec<_>>().join(" "), names, "{line}");
        }
    }
}
