//! Signs and words that other languages put into lists, JSON, conditions and heads, with what stands there instead.

mod comparisons;
mod kinds;

use std::ops::Range;

use super::at::{At, mend, number_at_end, only};
use super::hints::Hint;
use super::json_slips::number_elsewhere;
use super::lexical::{Piece, Scanner};
use super::server_variables;
use crate::lang::{unit_slips, units};
use kinds::{
    derives, function_before, path, plain_value, plain_word, point_name, quoted_name, unclosed_json,
    value_before,
};
pub(super) use kinds::{digits, grouped, is_distribution, is_function, is_round, json_word, upper};

/// The remedy for a token (of the chunk, a place in it) that is another language's.
pub fn sign(chunk: &str, token: &Range<usize>, word: &str, expected: &[String]) -> Option<Hint> {
    let at = At::new(chunk, token, word, expected);
    at.json()
        .or_else(|| at.variable_of_a_shell())
        .or_else(|| at.value())
        .or_else(|| at.condition())
        .or_else(|| at.axes())
        .or_else(|| server_variables::asked(&at))
        .or_else(|| at.expression())
        .or_else(|| at.variable())
        .or_else(|| at.name())
        .or_else(|| unit_behind(chunk, token, word, at.before))
}

impl At<'_> {
    /// Something else for it and so many bytes before it.
    fn from(&self, start: usize, help: impl Into<String>, right: &str) -> Hint {
        Hint { help: help.into(), edit: Some((start..self.token.end, right.to_owned())) }
    }

    /// Whether values of flags and variables stand here.
    fn in_changes(&self) -> bool {
        ["-", "axis", "env "].iter().any(|w| self.chunk.starts_with(w))
    }

    fn json(&self) -> Option<Hint> {
        let (word, before) = (self.word, self.before);
        // `--sizes=[[1, 2], [3]]`
        if word == "[" && before.ends_with("=[") {
            return Some(only(
                "each value of an axis is one word or text: put a list into quotes as the engine takes it, `[\"[1, 2]\", \"[3]\"]`",
            ));
        }
        if word == "[" && before.ends_with(',') && in_a_list_of_values(before) {
            return Some(self.list_as_a_value());
        }
        let inside = unclosed_json(before);
        Some(match word {
            "True" | "TRUE" | "Yes" | "yes" | "on" if inside || self.is("true or false") => {
                self.here("write `true`", "true")
            }
            "False" | "FALSE" | "No" | "no" | "off" if inside || self.is("true or false") => {
                self.here("write `false`", "false")
            }
            "None" | "nil" if inside => self.here("write `null`", "null"),
            "}" | "]" if inside && before.ends_with(',') => Hint {
                help: "JSON takes no comma before its end".to_owned(),
                edit: Some((before.len() - 1..before.len(), String::new())),
            },
            _ if inside && before.trim_end().ends_with([':', '[']) && json_word(word).is_some() => {
                let right = json_word(word)?;
                self.here(format!("write `{right}`"), right)
            }
            // behind a comma a key may stand
            _ if inside
                && (before.ends_with([':', '[']) || word.starts_with(|c: char| c.is_ascii_digit()))
                && before.ends_with([':', '[', ','])
                && number_elsewhere(word).is_some() =>
            {
                let (right, why) = number_elsewhere(word)?;
                self.here(format!("{why}: write `{right}`"), &right)
            }
            _ if inside && before.ends_with([':', '[']) && plain_word(word) => {
                let right = format!("\"{word}\"");
                self.here(format!("texts in JSON are quoted: write {right}"), &right)
            }
            _ if inside && before.ends_with([':', '[', ',']) && counted(word).is_some() => {
                let right = counted(word)?;
                self.here(format!("numbers in JSON have no units: write `{right}`"), &right)
            }
            _ if inside && word.starts_with(|c: char| c.is_ascii_digit()) && before.ends_with("={") => {
                let rest = &self.chunk[self.token.start..];
                let list = rest.split(['}', '\n', '"', ':']).next().unwrap_or_default();
                let whole = rest[list.len()..].starts_with('}') && self.chunk.starts_with("axis");
                let right = format!("[{}]", list.trim());
                let help = format!("a list of values stands in square brackets: write `{right}`");
                let place = before.len() - 1..self.token.start + list.len() + 1;
                if whole { Hint { help, edit: Some((place, right)) } } else { only(help) }
            }
            _ => return None,
        })
    }

    /// `--sizes=["[1, 2]", [1, 2, 4]]`: a list that is one value, between others of an axis.
    fn list_as_a_value(&self) -> Hint {
        let rest = &self.chunk[self.token.start..];
        let list =
            rest.find(']').map(|end| &rest[..=end]).filter(|l| !l[1..].contains(['[', '"', '\n', '\\']));
        let Some(list) = list else {
            return only(
                "each value of an axis is one word or text: put a list into quotes as the engine takes it",
            );
        };
        let right = format!("\"{list}\"");
        let help = format!("each value of an axis is one word or text: quote a list, `{right}`");
        // where others are texts that hold a list, so is this one
        if self.before.contains("\"[") {
            mend(help, self.token.start..self.token.start + list.len(), right)
        } else {
            only(help)
        }
    }

    fn value(&self) -> Option<Hint> {
        let (word, before) = (self.word, self.before);
        let glued = before.len() == self.token.start;
        Some(match word {
            "{" if before.ends_with('$') => only(
                "the shell's variables are not known here: declare `param ctx = …` and write `\"{ctx}\"`",
            ),
            "[" if before.ends_with("model") && !self.chunk.starts_with("axis") => only(
                "one model stands here; an axis varies models: `axis size = { a: model \"org/A\", b: model \"org/B\" }`",
            ),
            "\\" => self.from(before.len(), "lines need no `\\` at their end: remove it", ""),
            "*" | "/" | "+" if self.is("`]`") => {
                only("what is listed is not computed: write each value out, `[16, 32]`")
            }
            _ if !self.in_changes() => return None,
            _ if word.starts_with(['(', ')', '"']) && value_before(before) && glued => {
                only("a value that holds a quote, comma or bracket is quoted: `--flag=\"a(b)\"`")
            }
            "(" if before.ends_with('=') => only("a list stands in square brackets: `[256, 512]`"),
            "]" if before.ends_with('[') => only("a list holds one value at least"),
            "," if value_before(before) => return comma(self.chunk, self.token, before),
            _ => return None,
        })
    }

    /// `vary $axis`, `repeat $n`: a number before or behind the `$` would be money.
    fn variable_of_a_shell(&self) -> Option<Hint> {
        let rest = self.after.strip_prefix('{').unwrap_or(self.after);
        let len = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let name = &rest[..len];
        if self.word != "$" || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return None;
        }
        let braced = rest.len() < self.after.len() && rest[len..].starts_with('}');
        let end = self.token.end + len + 2 * usize::from(braced);
        let is_name =
            self.is("a name") && !name.starts_with('_') && !name.contains(|c: char| c.is_uppercase());
        Some(if is_name {
            mend(format!("a name stands without `$`: write `{name}`"), self.token.start..end, name)
        } else {
            only("the shell's variables are not known here: write the value itself")
        })
    }

    fn axes(&self) -> Option<Hint> {
        let (chunk, word, before) = (self.chunk, self.word, self.before);
        let last = before.rsplit(' ').next().unwrap_or_default();
        Some(match word {
            "," if before.contains("vary ") && self.chunk[self.token.end..].trim().is_empty() => {
                self.from(before.len(), "a setting ends with its line: remove the comma", "")
            }
            "," if before.contains("vary ") && before.ends_with('[') => {
                only("a name stands before a comma: add it, or remove the comma")
            }
            "x" | "×" if before.contains("vary ") => self.here("every pair is a product: write `*`", "*"),
            "," | "&" | "and" if before.contains("vary ") => {
                only("every pair is `seqs * batched`, one or the other `seqs + batched`")
            }
            "because" if before.contains("vary ") => self.from(
                before.len(),
                "a `pick` has a reason; what is to be said of axes that are varied is a line of its own, `note \"…\"`",
                "\n    note",
            ),
            "times" | "x" | "runs" if chunk.starts_with("repeat ") => {
                self.from(before.len(), "write the number alone: `repeat 3`", "")
            }
            ":" | "=" | "extends" | "from" | "is" | "inherits" | "<" if derives(before) && self.is("`=`") => {
                self.from(before.len(), "what it derives from stands behind `=`", " =")
            }
            _ if !chunk.starts_with("axis") => return None,
            "|" => only("one or the other is `a + b`"),
            "=" if point_name(before) && !unclosed_json(before) => {
                self.from(before.len(), "a colon stands between a point's name and what it changes", ":")
            }
            // `axis v_seqs := --x`: what stands before it is the axis's own name
            "=" if last.contains('_') && before.contains('=') => {
                let right = format!("--{}", last.replace('_', "-"));
                Hint {
                    help: format!("a flag is written with its dashes: `{right}=…`"),
                    edit: Some((before.len() - last.len()..before.len(), right)),
                }
            }
            _ if before.ends_with('=') && upper(word) && self.names_axes() => return self.name(),
            _ if before.ends_with('=') && upper(word) => {
                let right = format!("env {word}");
                self.here(format!("a variable is set by `{right}=…`"), &right)
            }
            _ if before.ends_with('=') && word.starts_with("\"-") && word.len() > 2 => {
                let right = word.trim_matches('"');
                self.here(format!("a flag stands without quotes: write `{right}`"), right)
            }
            _ => return None,
        })
    }

    fn expression(&self) -> Option<Hint> {
        let (word, before) = (self.word, self.before);
        if is_distribution(word) && function_before(before) {
            let name = before.rsplit([' ', '(']).next().unwrap_or_default();
            let right = format!("{name}({word})");
            return Some(self.from(before.len() - name.len(), format!("write `{right}`"), &right));
        }
        if before.ends_with("==") || before.ends_with("!=") {
            let right = format!("\"{word}\"");
            let asked = before.trim_end_matches(['=', '!']).trim_end();
            // variables compare byte by byte
            let of_env = asked.rsplit(' ').nth(1) == Some("env");
            if (of_env || asked.ends_with("model")) && plain_word(word) && self.is("an expression") {
                return Some(self.here(format!("a text is quoted: write `{right}`"), &right));
            }
        }
        let lower = word.to_ascii_lowercase();
        let name = lower != word && quoted_name(&format!("\"{lower}\""));
        let shouted = self.is("an expression") && name;
        shouted.then(|| self.here(format!("write `{lower}`"), &lower))
    }

    fn variable(&self) -> Option<Hint> {
        let (word, before) = (self.word, self.before);
        if before.starts_with("env ") && self.is("`=`") && self.chunk[self.token.start..].starts_with(":=") {
            return Some(self.from(before.len(), "a variable is set by `=`", "="));
        }
        if before.starts_with("env ") && self.is("`=`") && word != "=" {
            // at the end of a line the token is what stands last, and nothing is missing of it
            let before = if word.is_empty() { self.chunk.trim_end() } else { before };
            let edit = plain_value(word).then(|| (before.len()..self.token.start, "=".to_owned()));
            return Some(Hint { help: format!("write `{before}=…`, without spaces"), edit });
        }
        if before.ends_with("unset") && self.is("`env`") && upper(word) {
            let right = format!("env {word}");
            return Some(self.here(format!("a variable is unset by `unset {right}`"), &right));
        }
        if before.ends_with("model") && self.is("a string in double quotes") && path(word) {
            let right = format!("\"{word}\"");
            return Some(self.here(format!("write `model {right}`"), &right));
        }
        None
    }

    /// `axis both = SEQS * batched`, `axis few = SEQS[1]`
    fn names_axes(&self) -> bool {
        let rest = self.chunk[self.token.end..].split('\n').next().unwrap_or_default().trim();
        rest.starts_with(['*', '+', '['])
            || rest.starts_with("by ")
            || rest.is_empty()
            || rest.starts_with('#')
    }

    fn name(&self) -> Option<Hint> {
        let word = self.word;
        if !self.is("a name") {
            return None;
        }
        if quoted_name(word) && !self.before.is_empty() {
            let name = word.trim_matches('"');
            return Some(self.here(format!("a name stands without quotes: write `{name}`"), name));
        }
        let right = word.to_ascii_lowercase().replace(['-', '.'], "_");
        let shouted = plain_word(word) && !word.contains('/') && right != word.replace(['-', '.'], "_");
        shouted.then(|| self.here(format!("names are snake_case: write `{right}`"), &right))
    }
}

/// Whether the bracket that is open at the end of a text holds values of a flag or variable.
fn in_a_list_of_values(before: &str) -> bool {
    let mut open = Vec::new();
    for (at, piece) in Scanner::new(before) {
        match piece {
            Piece::Open(_) => open.push(at),
            Piece::Close(_) => drop(open.pop()),
            _ => {}
        }
    }
    open.last().is_some_and(|at| before[*at..].starts_with('[') && before[..*at].ends_with('='))
}

/// `32Ki`, `90%`: a number with a factor, as it is without.
fn counted(word: &str) -> Option<String> {
    let digits = word.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let (number, unit) = word.split_at(digits);
    let (scale, dim) = units::unit(unit).filter(|_| !unit.is_empty())?;
    let value = scale.apply(number.parse().ok()?);
    (dim == units::Dim::PLAIN).then(|| value.to_string())
}

/// `rate 8 rps`: a unit behind a space, spelled otherwise.
fn unit_behind(chunk: &str, token: &Range<usize>, word: &str, before: &str) -> Option<Hint> {
    let number = before.rsplit(|c: char| !(c.is_ascii_digit() || c == '.')).next()?;
    let known = [
        "rps", "qps", "req/s", "USD", "seconds", "minutes", "hours", "secs", "mins", "hrs", "tokens", "ms",
        "%",
    ];
    let digits = number.trim_end_matches('.');
    if digits.is_empty() || !known.contains(&word) || chunk.contains('"') {
        return None;
    }
    let unit = match unit_slips::names(word).as_slice() {
        [only] => *only,
        _ => return None,
    };
    if digits.len() < number.len() {
        // what stood behind the point may be what is missing
        let help = format!("digits stand behind a point: write `{digits}.0{unit}`, or what is meant");
        return Some(Hint { help, edit: None });
    }
    let number = number_at_end(before);
    // flags take a plain number of tokens, and most params are inserted into one
    if chunk.starts_with("param ") && unit == "tok" {
        let help = format!(
            "write `{number}` for what flags take, or `{number}tok` for what tokens are compared with"
        );
        return Some(Hint { help, edit: None });
    }
    let help = format!("a unit is glued to its number: write `{number}{unit}`");
    Some(Hint { help, edit: Some((before.len()..token.end, unit.to_owned())) })
}

/// `--flag.method=ngram,tokens=3`
fn another_key(before: &str, other: &str) -> String {
    let flag = before.rsplit([' ', '\t']).next().and_then(|word| word.split('=').next()).unwrap_or_default();
    let other = if let (Some((flag, _)), false) = (flag.rsplit_once('.'), other.starts_with('-')) {
        format!("{flag}.{other}")
    } else {
        other.to_owned()
    };
    format!("a flag takes one value; what else it sets is written out, with a space between: `{other}`")
}

/// `--max-num-seqs=256,512`, `--max-model-len=32,768`
fn comma(chunk: &str, token: &Range<usize>, before: &str) -> Option<Hint> {
    let rest = &chunk[token.end..];
    let end = rest.find([' ', '\t', '\n', '#', '}', ']']).unwrap_or(rest.len());
    let start = before.rfind('=')? + 1;
    let value = &chunk[start..token.end + end];
    if value.contains(['"', '{', '[', '\'']) || end == 0 {
        return None;
    }
    if let Some((_, other)) = value.split_once(',').filter(|(_, other)| other.contains('=')) {
        return Some(Hint { help: another_key(before, other), edit: None });
    }
    if chunk.starts_with("axis") {
        let right = format!("[{}]", value.split(',').collect::<Vec<_>>().join(", "));
        // `32,768` is a number to some and two points to others
        if let Some(number) = grouped(value).filter(|n| is_round(n)) {
            return Some(only(format!(
                "a list stands in square brackets: `{right}`; a number holds no commas: `{number}`"
            )));
        }
        let help = format!("a list stands in square brackets: write `{right}`");
        return Some(Hint { help, edit: Some((start..token.end + end, right)) });
    }
    let quoted = format!("\"{value}\"");
    let variable = chunk.starts_with("env ");
    if variable || !value.chars().all(|c| c.is_ascii_digit() || c == ',') {
        let help = format!("a value that holds a comma is quoted: write `{quoted}`");
        return Some(Hint { help, edit: Some((start..token.end + end, quoted)) });
    }
    if let Some(decimals) = value.strip_prefix("0,").filter(|d| !d.contains(',')) {
        let right = format!("0.{decimals}");
        let help = format!("decimals stand behind a point: write `{right}`");
        return Some(Hint { help, edit: Some((start..token.end + end, right)) });
    }
    // of `1,2,4,8` nobody means 1248, and of `256,512` few mean 256512
    let Some(right) = grouped(value).filter(|n| is_round(n)) else {
        let words = value.replace(',', " ");
        return Some(only(format!(
            "a value that holds a comma is quoted: `{quoted}`; several values are `\"{words}\"`"
        )));
    };
    let help = format!("a number holds no commas: write `{right}`; a value that holds one is quoted");
    Some(Hint { help, edit: Some((start..token.end + end, right)) })
}
