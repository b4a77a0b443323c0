//! How to mend the body of an axis that no rule took: points without names, colons, commas or braces, and what is none of the
//! changes that a point can make.

use std::ops::Range;

use super::hints::Hint;
use super::lexical::{Piece, Scanner};
use super::{nameless_points, spaced};
use crate::lang::diag::did_you_mean;

/// The remedy for a token (of the chunk, a place in it) in the body of an axis.
pub fn point(chunk: &str, token: &Range<usize>, word: &str) -> Option<Hint> {
    let at = Body::of(chunk, token, word)?;
    at.variable().or_else(|| if at.inside { at.within() } else { at.outside() })
}

/// `model "a", "b"` as the points that it stands for: `{ a: model "a", b: model "b" }`.
pub fn of_models(models: &[&str]) -> String {
    let point = |model: &&str| {
        let last = model.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let name = last.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let first = if name.starts_with(|c: char| c.is_ascii_lowercase()) { "" } else { "m" };
        format!("{first}{name}: model \"{model}\"")
    };
    format!("{{ {} }}", models.iter().map(point).collect::<Vec<_>>().join(", "))
}

/// A token in an axis.
struct Body<'a> {
    chunk: &'a str,
    token: &'a Range<usize>,
    word: &'a str,
    /// what stands before it, without spaces at its end
    before: &'a str,
    /// where the body begins
    start: usize,
    /// directly within the braces of points
    inside: bool,
    /// what its point, or its axis, says before it
    own: &'a str,
}

fn hint(help: impl Into<String>, edit: Option<(Range<usize>, String)>) -> Hint {
    Hint { help: help.into(), edit }
}

impl<'a> Body<'a> {
    fn of(chunk: &'a str, token: &'a Range<usize>, word: &'a str) -> Option<Self> {
        let sign = chunk.find('=').filter(|s| chunk.starts_with("axis ") && *s < token.start)?;
        let start = sign + 1 + chunk[sign + 1..].len() - chunk[sign + 1..].trim_start().len();
        let before = chunk[..token.start].trim_end();
        let (mut depth, mut own) = (0_usize, start);
        let points = chunk[start..].starts_with('{');
        for (at, piece) in Scanner::new(&chunk[start..token.start.max(start)]) {
            match piece {
                Piece::Open(_) => depth += 1,
                Piece::Close(_) => depth = depth.saturating_sub(1),
                _ => {}
            }
            let sign = matches!(chunk.as_bytes()[start + at], b'{' | b',' | b';');
            if sign && depth == usize::from(points) {
                own = start + at + 1;
            }
        }
        let own = chunk.get(own..before.len()).unwrap_or_default().trim_start();
        Some(Self { chunk, token, word, before, start, inside: points && depth == 1, own })
    }

    fn after(&self) -> &'a str {
        &self.chunk[self.token.end..]
    }

    /// In its place, something else.
    fn here(&self, help: impl Into<String>, right: &str) -> Hint {
        hint(help, Some((self.token.clone(), right.to_owned())))
    }

    /// `env NAME 1`, `env NAME = 1`
    fn variable(&self) -> Option<Hint> {
        let (rest, name) = self.own.rsplit_once([' ', '\t'])?;
        let is_env = rest.trim_end().split([' ', '\t', ':']).next_back() == Some("env");
        if !is_env || !upper(name) || self.word.is_empty() || self.word.starts_with(['}', ',']) {
            return None;
        }
        let value =
            if self.word == "=" { self.after().trim_start() } else { &self.chunk[self.token.start..] };
        let start = self.chunk.len() - value.len();
        let help =
            format!("no space stands at the `=`: write `env {name}={}`", &value[..spaced::value_len(value)]);
        Some(hint(help, Some((self.before.len()..start, "=".to_owned()))))
    }

    fn within(&self) -> Option<Hint> {
        match self.own.split_once(':') {
            None if self.own.is_empty() => self.name(),
            None => self.behind_name(),
            Some((name, "")) => self.first_change(name),
            Some(_) => self.behind_change(),
        }
    }

    /// `--tensor-split=3,1`: the comma belongs to the value that it stands in.
    fn listed(&self) -> Option<Hint> {
        let touches = self.before.ends_with(',') && self.before.len() == self.token.start;
        let start = self.before.rfind('=').filter(|_| touches)? + 1;
        let rest = &self.chunk[start..];
        let end = rest.find([' ', '\t', '\n', '}', '"', '[']).unwrap_or(rest.len());
        let value = rest[..end].trim_end_matches(',');
        // a point's name ends in a colon
        if value.contains(':') || start + end <= self.token.start {
            return None;
        }
        let right = format!("\"{value}\"");
        let edit = (start..start + value.len(), right.clone());
        Some(hint(format!("a value that holds a comma is quoted: write {right}"), Some(edit)))
    }

    /// Where a point's name should stand.
    fn name(&self) -> Option<Hint> {
        if let Some(quoted) = self.listed() {
            return Some(quoted);
        }
        if self.word == "-" {
            let gap = self.after().len() - self.after().trim_start_matches([' ', '\t']).len();
            let help = "points need no `-` in front: remove it";
            return Some(hint(help, Some((self.token.start..self.token.end + gap, String::new()))));
        }
        if self.word.starts_with(|c: char| c.is_ascii_digit()) {
            let help = format!(
                "a point's name begins with a lower-case letter: `p{0} \"{0}\": …`; values of one flag need no names: `--flag=[64, 128]`",
                self.word
            );
            return Some(hint(help, None));
        }
        // `a: --x=1, --y=2, b: …`
        let comma = self.before.ends_with(',')
            && self.before[..self.before.len() - 1]
                .rsplit([',', '{'])
                .next()
                .is_some_and(|p| p.contains(':'));
        if comma && self.word.starts_with("--") {
            let at = self.before.len() - 1;
            let help = "a comma ends a point: what one point changes is separated by spaces";
            return Some(hint(help, Some((at..self.before.len(), String::new()))));
        }
        if let Some(all) =
            nameless_points::named(self.chunk, self.start).filter(|_| self.word.starts_with('-'))
        {
            return Some(all);
        }
        let flag = self.word.trim_start_matches('-');
        let end = flag.find(['=', ' ']).unwrap_or(flag.len());
        let name = flag[..end].to_ascii_lowercase().replace(['-', '.'], "_");
        let help = format!("each point has a name: `{{ {name}: {}, … }}`", self.word);
        (self.word.starts_with('-') && is_name(&name)).then(|| hint(help, None))
    }

    /// A name, or a name and a title, and no colon.
    fn behind_name(&self) -> Option<Hint> {
        let (name, title) = self.own.split_once([' ', '\t', '"']).unwrap_or((self.own, ""));
        if !is_name(name) {
            return None;
        }
        let colon = "a colon stands between a point's name and what it changes";
        let goes_on = self.word.len() > 1 && self.word.starts_with(['-', '.']);
        if title.is_empty() && self.before.len() == self.token.start && goes_on {
            let right = format!("{name}{}", self.word).replace(['-', '.'], "_");
            let edit = (self.before.len() - name.len()..self.token.end, right.clone());
            return Some(hint(format!("names are snake_case: write `{right}`"), Some(edit)));
        }
        if self.word == "=" && stands_before_title(self.after()) {
            let gap = self.before.len()..self.token.end;
            return Some(hint(
                "a title stands directly behind the name: remove the `=`",
                Some((gap, String::new())),
            ));
        }
        if self.word == "=" {
            return Some(hint(colon, Some(self.replaced(self.equals(), ":"))));
        }
        if let Some(apart) = self.name_apart(name, title) {
            return Some(apart);
        }
        let change = matches!(self.word, "model" | "env" | "unset" | "raw") || self.word.starts_with('-');
        let at = self.before.len();
        if change {
            return Some(hint(colon, Some((at..at, ":".to_owned()))));
        }
        let help = "a point says what it changes behind a colon; one that changes nothing is the base, which is measured beside \
                    the points anyway";
        matches!(self.word, "," | "}").then(|| hint(help, None))
    }

    /// `pp 2 "PP2": …`: a space in a point's name.
    fn name_apart(&self, name: &str, title: &str) -> Option<Hint> {
        let inner = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let after = self.after().trim_start_matches([' ', '\t']);
        let plain = !self.word.is_empty() && self.word.chars().all(inner) && !self.word.starts_with('-');
        let ends = after.starts_with([':', '"']) && !matches!(self.word, "model" | "env" | "unset" | "raw");
        (title.is_empty() && plain && ends).then(|| {
            let word = self.word.to_ascii_lowercase().replace('-', "_");
            hint(format!("a name holds no space: write `{name}{word}` or `{name}_{word}`"), None)
        })
    }

    /// Where the first change of a point should stand.
    fn first_change(&self, name: &str) -> Option<Hint> {
        let (word, next) = (self.word, self.after().trim_start());
        let ends = next.is_empty() || next.starts_with([',', '}']);
        let sets = self.after().starts_with('=');
        if upper(word) && sets {
            return Some(self.here(format!("a variable is set by `env {word}=…`"), &format!("env {word}")));
        }
        if plain(word) && sets {
            let right = format!("--{}", word.replace('_', "-"));
            return Some(self.here(format!("a flag is typed as in a shell: `{right}=…`"), &right));
        }
        if word.starts_with('"') && ends {
            let right = format!("model {word}");
            return Some(self.here(format!("say what it is: a model is `{right}`"), &right));
        }
        if word == "{" {
            let close = self.after().find('}').filter(|n| !self.after()[..*n].contains(['{', '\n']));
            let help = "what a point changes stands behind its colon without braces";
            let Some(close) = close.filter(|n| !self.after()[..*n].trim().is_empty()) else {
                return Some(hint(help, None));
            };
            let inner = self.after()[..close].trim().to_owned();
            return Some(hint(help, Some((self.token.start..self.token.end + close + 1, inner))));
        }
        if word == "[" && self.after().trim_start().starts_with('-') {
            let close = self.after().find(']').filter(|n| !self.after()[..*n].contains(['[', '\n']));
            let help = "what a point changes stands behind its colon without brackets";
            let edit = close.map(|n| {
                (self.token.start..self.token.end + n + 1, self.after()[..n].trim().replace(", ", " "))
            });
            return Some(hint(help, edit));
        }
        if matches!(word, "," | "}" | "[" | "none" | "base" | "null" | "off" | "default" | "-" | "_") {
            let help = format!(
                "a point that changes nothing is the base, which is measured beside the points anyway: remove `{name}`, or \
                 `unset` what the base sets"
            );
            return Some(hint(help, None));
        }
        // a name alone is an axis or a point
        let argued = next.starts_with(['"', '-']) || next.starts_with(|c: char| c.is_ascii_uppercase());
        if let Some(right) = did_you_mean(word, ["model", "env", "unset", "raw"]).filter(|_| argued) {
            return Some(self.here(format!("write `{right}`"), right));
        }
        let help = "a point holds changes, such as flags; axes combine in `vary`: `a * b`, `a + b`";
        is_name(word).then(|| hint(help, None))
    }

    /// Behind a change of a point.
    fn behind_change(&self) -> Option<Hint> {
        if self.word == ";" {
            let places = self.signs().filter(|(_, b)| *b == b';').map(|(at, _)| at);
            return Some(hint("points are separated by commas", Some(self.replaced(places, ","))));
        }
        let rest = self.after().trim_start();
        let titled =
            rest.strip_prefix('"').and_then(|r| r.split_once('"')).map_or(rest, |(_, r)| r.trim_start());
        let begins = is_name(self.word) && titled.starts_with(':');
        let text = || {
            let (start, end) = (self.start + 1, self.chunk.trim_end().len());
            (start..end, with_commas(&self.chunk[start..end]))
        };
        begins.then(|| {
            let (place, right) = text();
            // where only this one is missing, nothing else is to be written anew
            let edit = if right.len() == place.len() + 1 {
                (self.before.len()..self.before.len(), ",".to_owned())
            } else {
                (place, right)
            };
            hint("a comma stands between two points", Some(edit))
        })
    }

    /// The bytes from the token on that stand in no string, comment or inner bracket, and where.
    fn signs(&self) -> impl Iterator<Item = (usize, u8)> {
        let (mut depth, bytes, start) = (0_usize, self.chunk.as_bytes(), self.token.start);
        Scanner::new(&self.chunk[start..]).filter_map(move |(at, piece)| {
            match piece {
                Piece::Open(_) => depth += 1,
                Piece::Close(_) => depth = depth.saturating_sub(1),
                Piece::Other if depth == 0 => return Some((start + at, bytes[start + at])),
                _ => {}
            }
            None
        })
    }

    /// The chunk from before the token on with signs replaced, those before them glued to what they follow.
    fn replaced(&self, places: impl IntoIterator<Item = usize>, sign: &str) -> (Range<usize>, String) {
        let end = self.chunk.trim_end().len();
        let (mut out, mut at) = (String::new(), self.before.len());
        for place in places {
            out.push_str(self.chunk[at..place].trim_end());
            out.push_str(sign);
            at = place + 1;
        }
        out.push_str(&self.chunk[at..end]);
        (self.before.len()..end, out)
    }

    /// The `=` that stand where the colons of points should.
    fn equals(&self) -> Vec<usize> {
        let mut colon = false;
        let of_point = |&(_, byte): &(usize, u8)| {
            let found = byte == b'=' && !colon;
            colon = (colon || matches!(byte, b'=' | b':')) && byte != b',';
            found
        };
        self.signs().filter(of_point).map(|(at, _)| at).collect()
    }

    /// A body that begins with no brace.
    fn outside(&self) -> Option<Hint> {
        let end = self.chunk.trim_end().len();
        let body = self.chunk.get(self.start..end)?;
        let braced = |inner: &str| Some((self.start..end, format!("{{ {} }}", inner.trim())));
        let named = "named points stand in braces: `{ a: …, b: … }`";
        if let Some(open) = body.chars().next().filter(|c| matches!(c, '[' | '(')) {
            let inner = body[1..].trim_end_matches([']', ')']);
            let points =
                inner.trim_start().split_once([':', '"']).is_some_and(|(name, _)| is_name(name.trim()));
            return match inner.trim_start().chars().next() {
                _ if points => Some(hint(named, braced(inner))),
                Some('-') => Some(hint("each point has a name: `{ a: --flag, b: --other=1 }`", None)),
                _ if open == '[' && inner.split(',').all(|name| is_name(name.trim())) => {
                    let right = format!("engine[{}]", inner.trim());
                    Some(hint(
                        format!(
                            "engines are offered by `{right}`, values behind their flag: `--flag=[1, 2]`"
                        ),
                        None,
                    ))
                }
                _ if open == '[' => Some(hint("values stand behind their flag: `--flag=[1, 2]`", None)),
                _ => None,
            };
        }
        if self.word == ":" && is_name(self.own) {
            return Some(hint(named, braced(body)));
        }
        let last = self.own.rsplit([' ', '\t']).next().unwrap_or_default();
        if self.word == ":" && last.starts_with('-') && is_key(self.after()) {
            let help = format!("a key of a JSON value stands behind a point: write `{last}.KEY=…`");
            return Some(hint(help, Some((self.before.len()..self.token.end, ".".to_owned()))));
        }
        if self.word == ":" && last.starts_with('-') {
            let gap = self.after().len() - self.after().trim_start().len();
            let edit = (self.before.len()..self.token.end + gap, "=".to_owned());
            return Some(hint(
                format!("a flag and its value are joined by `=`: write `{last}=…`"),
                Some(edit),
            ));
        }
        if matches!(self.word, "|" | "||" | "or") && body.starts_with('-') {
            return Some(hint("one or the other are two points: `{ a: --flag, b: --other=1 }`", None));
        }
        self.models(body)
    }

    /// `model "a", "b"`
    fn models(&self, body: &str) -> Option<Hint> {
        if self.word != "," || !body.starts_with("model ") {
            return None;
        }
        let models: Vec<&str> = body.split('"').skip(1).step_by(2).collect();
        let right = of_models(&models);
        let end = self.chunk.trim_end().len();
        Some(hint(format!("each model is a point: write `{right}`"), Some((self.start..end, right))))
    }
}

/// Whether a title and the colon behind it follow: `a = "A": …`.
pub(super) fn stands_before_title(behind: &str) -> bool {
    let title = behind.trim_start_matches([' ', '\t']).strip_prefix('"').and_then(|t| t.split_once('"'));
    title.is_some_and(|(_, rest)| rest.trim_start().starts_with(':'))
}

/// Points with a comma before each name that lacks one.
fn with_commas(text: &str) -> String {
    let mut commas = Vec::new();
    // where the last thing ends that is no space and no comment, and whether its point has its colon
    let (mut end, mut colon, mut depth, mut word) = (0, false, 0_usize, None);
    for (at, piece) in Scanner::new(text) {
        let byte = text.as_bytes()[at];
        match piece {
            Piece::Open(_) => depth += 1,
            Piece::Close(_) => depth = depth.saturating_sub(1),
            Piece::Comment(_) => continue,
            Piece::Text(next) => {
                end = next;
                continue;
            }
            _ if depth > 0 => {}
            _ if byte == b',' => (colon, word) = (false, None),
            _ if byte == b':' && text[at + 1..].starts_with([' ', '\t', '\n', '\r']) => {
                if colon && let Some(before) = word {
                    commas.push(before);
                }
                (colon, word) = (true, None);
            }
            _ if byte.is_ascii_lowercase() && text[..at].ends_with([' ', '\t', '\n']) => {
                let len = text[at..].find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                let name = &text[at..len.map_or(text.len(), |n| at + n)];
                if !matches!(name, "model" | "env" | "unset" | "raw") {
                    word = Some(end);
                }
            }
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            end = at + 1;
        }
    }
    let mut out = text.to_owned();
    for at in commas.into_iter().rev() {
        out.insert(at, ',');
    }
    out
}

fn is_name(word: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(inner)
}

fn plain(word: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(inner)
}

fn upper(word: &str) -> bool {
    let inner = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    word.len() > 1
        && word.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && word.chars().all(inner)
}

/// `num_speculative_tokens=2`: a key and its value, glued to what stands before them.
fn is_key(text: &str) -> bool {
    let behind = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && behind.starts_with('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(chunk: &str, word: &str) -> Option<String> {
        let at = chunk.find(word).expect("in the chunk");
        let word = word.split([' ', ':']).next().unwrap_or_default();
        let (range, text) = point(chunk, &(at..at + word.len()), word)?.edit?;
        Some(format!("{}{text}{}", &chunk[..range.start], &chunk[range.end..]))
    }

    #[test]
    fn points_are_mended_all_at_once() {
        let right = Some("axis q = { a: model \"x=;\", b: --c={\"d\": 1} }".to_owned());
        assert_eq!(mended("axis q = { a = model \"x=;\", b = --c={\"d\": 1} }", "= m"), right);
        assert_eq!(mended("axis q = { a: model \"x=;\"; b: --c={\"d\": 1} }", "; "), right);
        assert_eq!(mended("axis q = { a: model \"x=;\" b: --c={\"d\": 1} }", "b: "), right);
        let lines = "axis q = {\n  a \"A\": --x=1   # one\n  b: env Y=2\n  c: model \"z\"\n}\n";
        let right = "axis q = {\n  a \"A\": --x=1,   # one\n  b: env Y=2,\n  c: model \"z\"\n}\n";
        assert_eq!(mended(lines, "b:").as_deref(), Some(right));
    }

    #[test]
    fn models_are_points() {
        let right = "{ qwen3_8b: model \"Qwen/Qwen3-8B\", m8b: model \"8b\" }";
        assert_eq!(of_models(&["Qwen/Qwen3-8B", "8b"]), right);
    }
}
