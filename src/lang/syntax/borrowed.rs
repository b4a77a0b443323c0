//! What is carried over from YAML, docker and the shell, where the remedy that fits most tokens would mislead.

use std::ops::Range;

use super::conditions;
use super::hints::Hint;
use super::quoted_parents::is_quoted_parent;

/// The remedy for a token (of the chunk, a place in it) that is another format's.
pub fn borrowed(chunk: &str, token: &Range<usize>, word: &str, expected: &[String]) -> Option<Hint> {
    let at = Place { chunk, range: token, word, before: chunk[..token.start].trim_end(), expected };
    at.flag_with_colon()
        .or_else(|| at.block_of_variables())
        .or_else(|| at.points_in_quotes())
        .or_else(|| at.arithmetic())
        .or_else(|| at.device())
        .or_else(|| at.second_condition())
        .or_else(|| at.condition_without_when())
        .or_else(|| at.share_of())
        .or_else(|| at.factor())
        .or_else(|| at.reason())
        .or_else(|| at.sign_in_head())
        .or_else(|| at.note())
        .or_else(|| at.times())
}

struct Place<'a> {
    chunk: &'a str,
    range: &'a Range<usize>,
    word: &'a str,
    /// what stands before it, without spaces at its end
    before: &'a str,
    expected: &'a [String],
}

fn hint(help: impl Into<String>, edit: Option<(Range<usize>, String)>) -> Hint {
    Hint { help: help.into(), edit }
}

impl Place<'_> {
    fn after(&self) -> &str {
        &self.chunk[self.range.end..]
    }

    /// The word behind the token, to the end of its line at most.
    fn next(&self) -> (&str, Range<usize>) {
        let rest = self.after();
        let start = self.range.end + rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let len = self.chunk[start..].find([' ', '\t', '\n', '\r', '#', ',', '}']);
        let end = len.map_or(self.chunk.len(), |n| start + n);
        (&self.chunk[start..end], start..end)
    }

    /// `--enable-prefix-caching: true`, `--max-num-seqs: 64`
    fn flag_with_colon(&self) -> Option<Hint> {
        let flag = self.before.rsplit([' ', '\t', '\n']).next()?;
        let (value, place) = self.next();
        if self.word != ":" || !self.chunk.starts_with('-') || !flag.starts_with('-') || flag.contains('=') {
            return None;
        }
        if matches!(value, "true" | "True" | "on" | "yes") {
            let help = format!("a switch that is there is on: write `{flag}`");
            return Some(hint(help, Some((self.before.len()..place.end, String::new()))));
        }
        let right = format!("a flag and its value are joined by `=`: write `{flag}={value}`");
        let edit = (!value.is_empty()).then(|| (self.before.len()..place.start, "=".to_owned()));
        Some(hint(right, edit))
    }

    /// `env: { NAME: 1 }`, `env { NAME=1 }`
    fn block_of_variables(&self) -> Option<Hint> {
        let block = self.word == "{" || self.word == ":" && self.after().trim_start().starts_with('{');
        let is_env = self.before == "env" && block;
        is_env.then(|| hint("each variable stands for itself: `env NAME=value`, on a line of its own", None))
    }

    /// `axis q = {"FP8": --quantization=fp8}`, `axis q = {"max_num_seqs": 64}`
    fn points_in_quotes(&self) -> Option<Hint> {
        let text = self.word.strip_prefix('"')?.strip_suffix('"')?;
        let value = self.after().trim_start().strip_prefix(':')?.trim_start();
        let of_point = self.chunk.starts_with("axis ") && self.before.ends_with(['{', ',']);
        if !of_point || self.before.contains("={") {
            return None;
        }
        if ["-", "env ", "model ", "raw ", "unset "].iter().any(|w| value.starts_with(w)) {
            let name: String = text.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
            let named = name.starts_with(|c: char| c.is_ascii_lowercase());
            let right = if named { format!("{name} \"{text}\"") } else { format!("p{name} \"{text}\"") };
            let help =
                format!("a point has a name, and a title if it shall be printed so: write `{right}: …`");
            return Some(hint(help, Some((self.range.clone(), right))));
        }
        let flag = text.trim_start_matches('-').replace('_', "-");
        let end = value.find([',', '}', '\n']).unwrap_or(value.len());
        let values = value[..end].trim().trim_matches(['[', ']']);
        Some(hint(format!("an axis sets flags: `axis NAME = --{flag}=[{values}]`"), None))
    }

    /// `--max-num-batched-tokens=$((8*1024))`
    fn arithmetic(&self) -> Option<Hint> {
        let start = self.before.strip_suffix('$')?.len();
        let inner = self.chunk[self.range.start..].strip_prefix("((")?;
        let (inner, _) = inner.split_once("))")?;
        let end = self.range.start + "((".len() + inner.len() + "))".len();
        let factors = inner.split('*').map(|n| n.trim().parse::<u64>().ok());
        let product = factors.clone().try_fold(1_u64, |all, n| all.checked_mul(n?));
        Some(match product {
            Some(product) => {
                let help = format!("nothing is computed here as in a shell: write `{product}`");
                hint(help, Some((start..end, product.to_string())))
            }
            None => hint("nothing is computed here as in a shell: write the number", None),
        })
    }

    /// `gpus 8 of g`
    fn device(&self) -> Option<Hint> {
        let name = |c: char| c.is_ascii_lowercase() || c == '_';
        let is_param = !self.word.is_empty() && self.word.chars().all(name);
        let word = self.word;
        (self.chunk.starts_with("gpus ") && self.before.ends_with(" of") && is_param).then(|| {
            let help = format!(
                "a part of the device's name stands here, as `of \"H100\"`; a param is inserted into a text: `of \"{{{word}}}\"`"
            );
            hint(help, None)
        })
    }

    /// `prune a "b" when p90(ttft) > 2s if gpus == 8`
    fn second_condition(&self) -> Option<Hint> {
        let conditioned =
            ["prune ", "step "].iter().any(|w| self.chunk.starts_with(w)) && self.before.contains(" when ");
        let joins = matches!(self.word, "if" | "where" | "when" | "while");
        (conditioned && joins)
            .then(|| hint("conditions are joined by `and`", Some((self.range.clone(), "and".to_owned()))))
    }

    /// `prune a "b" p90(ttft) > 2s`
    fn condition_without_when(&self) -> Option<Hint> {
        let only_when = matches!(self.expected, [only] if only == "`when`");
        let begins = self.word.starts_with(|c: char| c.is_ascii_lowercase() || c == '-')
            && !matches!(self.word, "if" | "where" | "while" | "unless" | "only_if" | "because");
        if !only_when || !self.chunk.starts_with("prune ") {
            return None;
        }
        let help = "a condition stands behind `when`";
        if matches!(self.word, ":" | "=" | "," | "->" | "=>") {
            return Some(hint(help, Some((self.before.len()..self.range.end, " when".to_owned()))));
        }
        let at = self.range.start;
        let instead = conditions::words_before(&self.chunk[at..]);
        let edit = if instead > 0 { (at..at + instead, "when") } else { (at..at, "when ") };
        begins.then(|| hint(help, Some((edit.0, edit.1.to_owned()))))
    }

    /// `0.9 best.total_tps`
    fn factor(&self) -> Option<Hint> {
        let number = self.before.rsplit([' ', '(']).next()?;
        let plain = number.trim_end_matches('%').parse::<f64>().is_ok();
        let condition = ["prune ", "require ", "step ", "metric "].iter().any(|w| self.chunk.starts_with(w));
        let named = self.word.starts_with("best.") || self.word.starts_with("baseline.");
        (condition && plain && named).then(|| {
            let at = self.range.start;
            hint(
                format!("a product has its sign: write `{number} * {}`", self.word),
                Some((at..at, "* ".to_owned())),
            )
        })
    }

    /// `publish --flag "why"`, `pick quant[fp8] reason "why"`
    fn reason(&self) -> Option<Hint> {
        let wanted = ["publish ", "pick "].iter().any(|w| self.chunk.starts_with(w))
            && self.expected.iter().any(|e| e == "`because`");
        if !wanted {
            return None;
        }
        let help = "the reason stands behind `because`";
        if self.word.starts_with('"') {
            return Some(hint(help, Some((self.range.start..self.range.start, "because ".to_owned()))));
        }
        if self.word.is_empty() && self.chunk.starts_with("pick ") {
            let picked =
                self.chunk.lines().next().and_then(|l| l.split(" #").next()).unwrap_or_default().trim_end();
            return Some(hint(format!("a pick says why: `{picked} because \"…\"`"), None));
        }
        let other = matches!(self.word, "reason" | "why" | "since" | "as" | "for" | "note");
        (other && self.after().trim_start().starts_with('"'))
            .then(|| hint(help, Some((self.range.clone(), "because".to_owned()))))
    }

    /// `study one: "Title" {`, `engine s = sglang "Title" {`
    fn sign_in_head(&self) -> Option<Hint> {
        let keyword = self.chunk.split(' ').next()?;
        if !matches!(keyword, "engine" | "profile" | "study" | "step" | "track" | "site") {
            return None;
        }
        if self.word == ":" && self.after().trim_start().starts_with('"') {
            let help = "a title stands behind the name, without a sign: remove the `:`";
            return Some(hint(help, Some((self.before.len()..self.range.end, String::new()))));
        }
        let (head, parent) = self.before.split_once('=')?;
        let titled = self.word.len() > 1 && self.word.starts_with('"') && !head.contains('"');
        // `engine v = "vllm" {` names what it derives from
        let is_parent = parent.trim().is_empty() && is_quoted_parent(keyword, self.word, self.after());
        (titled && !is_parent).then(|| {
            let right = format!("{} {} = {}", head.trim_end(), self.word, parent.trim());
            let right = right.trim_end().to_owned();
            // what it derives from may stand behind the title
            let next = self.after().trim_start().split([' ', '\t', '{']).next().unwrap_or_default();
            let shown = if parent.trim().is_empty() && next.starts_with(|c: char| c.is_ascii_lowercase()) {
                format!("{right} {next}")
            } else {
                right.clone()
            };
            hint(
                format!("a title stands behind the name: write `{shown} {{ … }}`"),
                Some((0..self.range.end, right)),
            )
        })
    }

    /// `note by hand`
    fn note(&self) -> Option<Hint> {
        let text = self.chunk[self.range.start..].lines().next()?.split(" #").next()?.trim_end();
        let plain = self.before == "note" && !self.word.is_empty() && !text.contains(['"', '{', '}', '\\']);
        plain.then(|| {
            let right = format!("\"{text}\"");
            hint(
                format!("write `note {right}`"),
                Some((self.range.start..self.range.start + text.len(), right)),
            )
        })
    }

    /// `axis sched = seqs x batched`, `gpus 2 x "H100"`, `maximize total_tps` without its profile
    fn times(&self) -> Option<Hint> {
        let here = |help: &str, right: &str| Some(hint(help, Some((self.range.clone(), right.to_owned()))));
        let keyword = self.chunk.split(' ').next()?;
        match (keyword, self.word) {
            ("axis", "x" | "×") if !in_list(self.before) => here("every pair is a product: write `*`", "*"),
            ("gpus", "x" | "×" | "*") if self.after().trim_start().starts_with('"') => {
                here("write `of`", "of")
            }
            ("maximize" | "minimize", "") if self.expected.iter().any(|e| e == "`on`") => Some(hint(
                format!("name the load that it is about: `{} on PROFILE`", self.chunk.trim_end()),
                None,
            )),
            _ => None,
        }
    }

    /// `total_tps < 90% of baseline.total_tps`
    fn share_of(&self) -> Option<Hint> {
        let number = self.before.rsplit([' ', '(']).next()?;
        let (of, _) = self.next();
        if self.word != "of" || !number.ends_with('%') || of.is_empty() {
            return None;
        }
        // of what a share is its metric says
        if matches!(of, "requests" | "request" | "all" | "them" | "tokens") {
            let rest = self.after().split(['\n', '#']).next().unwrap_or_default();
            let gone = (self.before.len()..self.range.end + rest.trim_end().len(), String::new());
            return Some(hint(format!("a share stands alone: write `{number}`"), Some(gone)));
        }
        let asked = self.before[..self.before.len() - number.len()].trim_end_matches(['<', '>', '=', ' ']);
        let metric = asked.rsplit([' ', '(']).next().filter(|m| !m.is_empty() && !m.ends_with(')'));
        if let (Some(metric), "baseline" | "best") = (metric, of) {
            // the metric itself is left out of what is compared
            let right = format!("{number} * {of}.{metric}");
            let start = self.range.end + self.after().find(of)?;
            let edit = (self.before.len() - number.len()..start + of.len(), right.clone());
            return Some(hint(
                format!("a share of another result is a product: write `{right}`"),
                Some(edit),
            ));
        }
        Some(hint(
            format!("a share of something is a product: write `{number} * {of}`"),
            Some((self.range.clone(), "*".to_owned())),
        ))
    }
}

/// `a: --x=64;` before another point: the semicolons that separate points.
pub fn semicolons(chunk: &str) -> Vec<usize> {
    use super::lexical::{Piece, Scanner};
    let Some(open) = chunk.find('{').filter(|_| chunk.starts_with("axis ")) else { return Vec::new() };
    let (mut depth, mut found) = (0_usize, Vec::new());
    for (at, piece) in Scanner::new(chunk) {
        match piece {
            Piece::Open(_) => depth += 1,
            Piece::Close(_) => depth = depth.saturating_sub(1),
            Piece::Other if depth == 1 && at > open && chunk.as_bytes()[at] == b';' => {
                let rest = chunk[at + 1..].trim_start();
                let ends = chunk[at + 1..].starts_with([' ', '\t', '\n', '\r']) || rest.starts_with('}');
                if ends {
                    found.push(at);
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether a `[` is open at the end of a text.
fn in_list(before: &str) -> bool {
    before.rfind('[').is_some_and(|open| !before[open..].contains(']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(chunk: &str, word: &str, expected: &str) -> Option<String> {
        let at = chunk.rfind(word).expect("in the chunk");
        let (range, text) = borrowed(chunk, &(at..at + word.len()), word, &[expected.to_owned()])?.edit?;
        Some(format!("{}{text}{}", &chunk[..range.start], &chunk[range.end..]))
    }

    #[test]
    fn what_is_of_another_format_is_mended() {
        for (chunk, word, expected, right) in [
            ("--enable-x: true", ":", "", "--enable-x"),
            ("--seqs: 64 # few", ":", "", "--seqs=64 # few"),
            ("axis q = {\"FP8\": --q=fp8}", "\"FP8\"", "", "axis q = {fp8 \"FP8\": --q=fp8}"),
            ("--seqs=$((8*1024)) --x", "((", "", "--seqs=8192 --x"),
            ("prune a \"b\" when x > 2 if y > 1", "if", "", "prune a \"b\" when x > 2 and y > 1"),
            ("prune a \"b\" x > 2", "x", "`when`", "prune a \"b\" when x > 2"),
            ("require x > 90% of y", "of", "", "require x > 90% * y"),
            ("require x > 0.9 best.y", "best.y", "", "require x > 0.9 * best.y"),
            ("publish --x=1 \"why\"", "\"why\"", "`because`", "publish --x=1 because \"why\""),
            ("study one: \"One\" {", ":", "`{`", "study one \"One\" {"),
            ("engine s = vllm \"S\" {", "\"S\"", "`{`", "engine s \"S\" = vllm {"),
            ("note by hand", "by", "", "note \"by hand\""),
            ("axis a = b x c", "x", "", "axis a = b * c"),
        ] {
            assert_eq!(mended(chunk, word, expected).as_deref(), Some(right), "{chunk}");
        }
    }

    #[test]
    fn semicolons_between_points_are_found_and_those_of_values_are_not() {
        let chunk = "axis q = { a: --x=1;, b: --y=\"a; b\"; c: --z={\"d\": 1}; }";
        let found: Vec<&str> = semicolons(chunk).into_iter().map(|at| &chunk[at - 1..=at]).collect();
        assert_eq!(found, ["\";", "};"]);
        assert!(semicolons("prune a \"b; \" when x").is_empty());
    }
}
