//! Words and signs in the place of those of the language that say the same elsewhere: `stop sigterm in 10s`, `flag --ratio float 0 - 1`.

use std::ops::Range;

use super::at::mend;
use super::hints::Hint;
use super::words::{ATTRIBUTES, TYPES};

/// Lines, what is written in them, and the word that was meant where it is expected.
const WORDS: [(&[&str], &[&str], &str); 6] = [
    (&["stop", "ready"], &["in", "after", "for", "under", "timeout"], "within"),
    (&["refuses", "failure"], &["if", "where", "while"], "when"),
    (&["failure"], &["match", "contains", "has", "like", "matching"], "matches"),
    (&["flag"], &["use", "using", "needs", "takes"], "uses"),
    (&["maximize", "minimize", "require", "confirm", "curve"], &["at", "for"], "on"),
    (&["pick", "publish"], &["as", "since", "for"], "because"),
];

/// The remedy for a token (of the chunk, a place in it) that stands for another.
pub fn meant(chunk: &str, token: &Range<usize>, word: &str, expected: &[String]) -> Option<Hint> {
    let before = chunk[..token.start].trim_end();
    let first = chunk.split_whitespace().next().unwrap_or_default();
    let line = Line { chunk, token, word, before, first };
    line.word(expected)
        .or_else(|| line.kebab())
        .or_else(|| line.braced_picks())
        .or_else(|| line.when())
        .or_else(|| line.dashes())
        .or_else(|| line.range())
        .or_else(|| line.choices())
        .or_else(|| line.round_list())
        .or_else(|| line.bounds())
        .or_else(|| line.forgotten(expected))
}

struct Line<'a> {
    chunk: &'a str,
    token: &'a Range<usize>,
    word: &'a str,
    before: &'a str,
    /// its first word
    first: &'a str,
}

fn write(at: Range<usize>, right: &str) -> Hint {
    mend(format!("write `{right}`"), at, right)
}

impl Line<'_> {
    /// `stop sigterm in 10s`
    fn word(&self, expected: &[String]) -> Option<Hint> {
        let means = |(lines, words, right): &&(&[&str], &[&str], &str)| {
            let wanted = expected.is_empty() || expected.iter().any(|e| e.contains(right));
            lines.contains(&self.first) && words.contains(&self.word) && wanted
        };
        let (_, _, right) = WORDS.iter().find(means)?;
        Some(write(self.token.clone(), right))
    }

    /// `vary max-seqs`, `step seqs-1 {`
    fn kebab(&self) -> Option<Hint> {
        let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let rest = &self.chunk[self.token.start..];
        let begins = self.chunk[..self.token.start].trim_end_matches(in_name).len();
        // where a name alone can stand, no number is taken away
        let named = self.chunk[..begins].split_whitespace().next_back();
        let lone = matches!(named, Some("step" | "track" | "from" | "baseline"));
        let part = |c: char| c.is_ascii_lowercase() || lone && c.is_ascii_digit();
        let glued = rest.starts_with('-') && rest[1..].starts_with(part);
        let name = &self.chunk[begins..self.token.start];
        if !glued || begins == 0 || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
            return None;
        }
        let whole = &self.chunk[begins..];
        let whole = &whole[..whole.find(|c| !in_name(c) && c != '-').unwrap_or(whole.len())];
        // `max-num-seqs=[…]` is a flag
        if self.chunk[begins + whole.len()..].starts_with('=') {
            return None;
        }
        // so is what an axis is made of alone: `axis eager = enforce-eager`
        let made_of = self.chunk[..begins].strip_prefix("axis ").is_some_and(|head| {
            head.trim_end().strip_suffix('=').is_some_and(|head| !head.contains(['=', '\n']))
        });
        let ends = self.chunk[begins + whole.len()..].trim_start_matches([' ', '\t']);
        if made_of && (ends.is_empty() || ends.starts_with(['\n', '#'])) {
            let right = format!("--{whole}");
            let help = format!("a flag is written with its dashes: `{right}`");
            return Some(mend(help, begins..begins + whole.len(), &right));
        }
        let right = whole.replace('-', "_");
        let plain = !whole.ends_with('-') && !self.chunk[..begins].ends_with('-');
        plain.then(|| {
            mend(format!("names are snake_case: write `{right}`"), begins..begins + whole.len(), &right)
        })
    }

    /// `vary engine{one, two}`, `axis engines = engine{one, two}`
    fn braced_picks(&self) -> Option<Hint> {
        let glued = self.chunk[..self.token.start].ends_with(|c: char| c.is_ascii_alphanumeric());
        if self.word != "{" || !glued || !matches!(self.first, "vary" | "pick" | "axis") {
            return None;
        }
        let (inner, _) = self.chunk[self.token.end..].split_once('}')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "_., -".contains(c);
        let name = self.before.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next()?;
        (!inner.trim().is_empty() && inner.chars().all(plain)).then(|| {
            let right = format!("[{}]", inner.trim());
            let at = self.token.start..self.token.end + inner.len() + 1;
            mend(format!("picks stand in square brackets: write `{name}{right}`"), at, right)
        })
    }

    /// `failure "…" log matches "…"`
    fn when(&self) -> Option<Hint> {
        let forgotten = self.first == "failure" && self.word == "log" && self.before.ends_with('"');
        forgotten.then(|| write(self.token.clone(), "when log"))
    }

    /// `flag ratio float`, `unset max-model-len`, `raw num-steps=8`, `publish alias=q`
    fn dashes(&self) -> Option<Hint> {
        let word = self.before.rsplit([' ', '\t', '{', ':', '\n']).next().unwrap_or_default();
        let sets = matches!(word, "raw" | "publish");
        let behind = self.before == "flag" || self.before.ends_with("unset") || sets;
        let end = self.chunk[self.token.start..].find([' ', '\t', '\n', ',', '}', '=']);
        let end = end.map_or(self.chunk.len(), |n| self.token.start + n);
        let name = &self.chunk[self.token.start..end];
        let plain = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        if !behind || !plain || name == "env" {
            return None;
        }
        // `raw quick`: no sign says that it is one
        if sets && !name.contains(['-', '_']) && !self.chunk[end..].starts_with('=') {
            return None;
        }
        if sets {
            let rest = &self.chunk[end..];
            let value = &rest[..rest.find([' ', '\t', '\n', ',', '}', '[', '{', '"']).unwrap_or(rest.len())];
            let open = if value == "=" { "…" } else { "" };
            let help = format!("a flag is written with its dashes: write `{word} --{name}{value}{open}`");
            return Some(mend(help, self.token.start..end, format!("--{name}")));
        }
        // `flag int 1..`: it lost its name
        if self.before == "flag" && TYPES.contains(&name) {
            let help = format!("a flag has a name: write `flag --NAME {name} …`");
            return Some(Hint { help, edit: None });
        }
        let unset = self.before.ends_with("unset") && !name.contains(['-', '_']);
        if unset {
            let help = format!(
                "what is unset is a flag, with its dashes, or a variable: `unset --{name}`, `unset env {}`",
                name.to_ascii_uppercase()
            );
            return Some(Hint { help, edit: None });
        }
        Some(write(self.token.start..end, &format!("--{name}")))
    }

    /// `flag --ratio float 0 - 1`, `input 128 to 512`
    fn range(&self) -> Option<Hint> {
        let numbers = self.before.ends_with(|c: char| c.is_ascii_digit())
            && self.chunk[self.token.end..].trim_start().starts_with(|c: char| c.is_ascii_digit());
        let dots = matches!(self.word, "-" | "to" | "–" | "...") && self.first == "flag";
        (dots && numbers).then(|| write(self.token.clone(), ".."))
    }

    /// `flag --ratio float [0, 1]`
    fn bounds(&self) -> Option<Hint> {
        let typed = self.first == "flag" && [" int", " float"].iter().any(|t| self.before.ends_with(t));
        let (inner, _) = self.chunk[self.token.end..].split_once([']', ')'])?;
        let (from, to) = inner.split_once([',', ';'])?;
        let (from, to) = (from.trim(), to.trim());
        let number = |n: &str| n.parse::<f64>().is_ok();
        let range = format!("{from} .. {to}");
        (typed && matches!(self.word, "[" | "(") && number(from) && number(to))
            .then(|| write(self.token.start..self.token.end + inner.len() + 1, &range))
    }

    /// `ready "/health"`, `stop sigterm 10s`
    fn forgotten(&self, expected: &[String]) -> Option<Hint> {
        let wants = |word: &str| expected.iter().any(|e| e.trim_matches('`') == word);
        let number = self.word.starts_with(|c: char| c.is_ascii_digit());
        let right = match self.first {
            "ready" | "metrics" if self.word.starts_with('"') && wants("get") => "get",
            "stop" | "ready" if number && (wants("within") || wants("within TIME")) => "within",
            _ => return None,
        };
        let help = format!("write `{right} {}`", self.word);
        Some(mend(help, self.token.start..self.token.start, format!("{right} ")))
    }

    /// `flag --level one_of low, high default low`
    fn choices(&self) -> Option<Hint> {
        const APART: [char; 4] = [' ', '\t', ',', '|'];
        if self.first != "flag" || !self.before.ends_with("one_of") {
            return None;
        }
        let line = self.chunk[self.token.start..].split(['\n', '#']).next()?;
        let (mut all, mut at, mut end) = (Vec::new(), 0, 0);
        for piece in line.split_inclusive(APART) {
            let word = piece.trim_end_matches(APART);
            if ATTRIBUTES.contains(&word) || word.starts_with('-') {
                break;
            }
            if !word.is_empty() {
                all.push(word);
                end = at + word.len();
            }
            at += piece.len();
        }
        let plain = all.iter().all(|w| w.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)));
        if !plain || all.is_empty() {
            return None;
        }
        Some(write(self.token.start..self.token.start + end, &format!("[{}]", all.join(", "))))
    }

    /// `--max-num-seqs=(256, 512)`
    fn round_list(&self) -> Option<Hint> {
        if self.word != "(" || !self.before.ends_with('=') || self.first != "axis" {
            return None;
        }
        let inner = &self.chunk[self.token.end..];
        let inner = &inner[..inner.find([')', '\n'])?];
        let close = self.token.end + inner.len();
        let plain = !inner.contains(['(', '[', '{', '"']) && self.chunk[close..].starts_with(')');
        let flag =
            self.before.rsplit([' ', '\t']).next().is_some_and(|w| w.starts_with('-') || w.contains('='));
        if !plain || !flag {
            return None;
        }
        let help = format!("a list stands in square brackets: write `[{inner}]`");
        Some(mend(help, self.token.start..close + 1, format!("[{inner}]")))
    }
}
