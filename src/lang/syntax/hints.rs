//! How to mend a line that no rule took: what newcomers write out of the habit of other languages, else an example of the line.

use std::ops::Range;

use super::at::number_at_end;
use super::blocks::first_word;
use super::{
    bare_paths, beyond, borrowed, completed, conditions, engine_slips, examples, head_slips, lacking, lapses,
    meant_words, names, notations, number_slips, phrases, points, reasons, redirections, remedies, reordered,
    several, signs, slips, spaced, study_slips, types, usages, versioned, words,
};
use crate::lang::diag::{one_of, short};
use crate::lang::units;

/// How to mend a line: in words, and as an edit of the chunk where there is no doubt.
pub struct Hint {
    pub help: String,
    pub edit: Option<(Range<usize>, String)>,
}

/// An example of the line or declaration that begins with a word.
pub type Examples = fn(&str) -> Option<&'static str>;

/// The hint for a token (of the chunk, a place in it) that stands where `expected` should; whether it is no more than an example.
pub fn hint(
    chunk: &str,
    token: &Range<usize>,
    word: &str,
    expected: &[String],
    examples: Examples,
) -> (Hint, bool) {
    if let Some(hint) = reasoned(chunk, token, word, expected) {
        return (hint, false);
    }
    let lacks = if word.is_empty() { lacking::at_end(chunk, token.end, expected) } else { None };
    let (help, by_example) = match lacks {
        Some(line) => (format!("write for example `{line}`"), true),
        None => help(chunk, expected, examples),
    };
    (Hint { help, edit: None }, by_example)
}

/// The same where what was meant is known.
fn reasoned(chunk: &str, token: &Range<usize>, word: &str, expected: &[String]) -> Option<Hint> {
    if let Some(hint) =
        engine_slips::reason_last(chunk, token, word).or_else(|| redirections::behind(chunk, token, word))
    {
        return Some(hint);
    }
    if GLUE.contains(&word) && matches!(expected, [only] if only == TEXT) {
        let help = format!("a text in double quotes is missing: write `\"…\" {word}`");
        return Some(Hint { help, edit: None });
    }
    if let Some(hint) =
        next_line(chunk, token, word, expected).or_else(|| before_a_flag(chunk, token, word, expected))
    {
        return Some(hint);
    }
    // `:=` sets what `=` sets
    let word = if word == ":=" { "=" } else { word };
    let known = completed::slip(chunk, token, word, expected)
        .or_else(|| beyond::beyond(chunk, token, word))
        .or_else(|| bare_paths::quoted(chunk, token, word, expected))
        .or_else(|| reordered::slip(chunk, token))
        .or_else(|| engine_slips::slip(chunk, token, word))
        .or_else(|| notations::notation(chunk, token, word, expected))
        .or_else(|| versioned::baseline(chunk, token))
        .or_else(|| study_slips::slip(chunk, token, word))
        .or_else(|| number_slips::slip(chunk, token, word, expected))
        .or_else(|| usages::usage(chunk, token, word, expected))
        .or_else(|| head_slips::slip(chunk, token, word))
        .or_else(|| reasons::unquoted(chunk, token, expected))
        .or_else(|| lapses::lapse(chunk, token, word, expected))
        .or_else(|| meant_words::meant(chunk, token, word, expected))
        .or_else(|| remedies::remedy(chunk, token, word))
        .or_else(|| borrowed::borrowed(chunk, token, word, expected))
        .or_else(|| points::point(chunk, token, word))
        .or_else(|| phrases::phrase(chunk, token, word, expected))
        .or_else(|| conditions::slip(chunk, token, word))
        .or_else(|| signs::sign(chunk, token, word, expected))
        .or_else(|| slips::slip(chunk, token, word, expected))
        .or_else(|| conditions::condition(chunk, token, word));
    if known.is_some() {
        return known;
    }
    if let Some(help) = habit(chunk, token, word) {
        return Some(Hint { edit: habit_edit(chunk, token, word), help });
    }
    if let Some((help, edit)) = missing_sign(chunk, token, word, expected) {
        return Some(Hint { help, edit: Some(edit) });
    }
    if let Some(hint) = several::one_each(chunk, token, word) {
        return Some(hint);
    }
    reordered::behind_its_braces(chunk, token).or_else(|| {
        matches!(expected, [only] if only == "the end of the line").then(|| rest_of_line(chunk, token))
    })
}

/// `fp8: model --quantization=fp8`: a flag is none of the words that a text was to hold.
fn before_a_flag(chunk: &str, token: &Range<usize>, word: &str, expected: &[String]) -> Option<Hint> {
    let flag = word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()));
    let setting = chunk[..token.start].split_whitespace().next_back().unwrap_or_default();
    (flag && matches!(expected, [only] if only == TEXT)).then(|| Hint {
        help: format!("a text in double quotes is missing: write `{setting} \"…\" {word}`"),
        edit: None,
    })
}

/// `version "0.5.9" --context-length=8Ki`: two settings in one line.
fn rest_of_line(chunk: &str, token: &Range<usize>) -> Hint {
    let before = chunk[..token.start].trim_end();
    let own = before.rsplit('\n').next().unwrap_or(before).split_whitespace().collect::<Vec<_>>().join(" ");
    let after = if own.is_empty() { String::new() } else { format!(", after `{}`", short(&own)) };
    let ends = if own.ends_with('}') { "a block ends with its `}`" } else { "a setting ends with its line" };
    let rest = chunk[token.start..].split(['\n', '#']).next().unwrap_or_default().trim_end();
    // `99%%`, `gain >= 1%,`: whatever was typed twice or by habit
    let doubled = rest == "%" && before.len() == token.start && own.ends_with('%');
    if !own.is_empty() && (doubled || matches!(rest, "," | ";")) {
        let edit = Some((before.len()..token.start + rest.len(), String::new()));
        return Hint { help: format!("{ends}: remove the `{rest}`"), edit };
    }
    // a number or a sign begins no line, nor does a word of no block
    let first = first_word(rest);
    let begins = rest.starts_with(['-', '"']) || !first.is_empty() && names::may_begin_a_line(first);
    if !rest.is_empty() && !begins {
        let help = format!("{ends}: nothing more stands in it{}", after.replacen(", after", " behind", 1));
        return Hint { help, edit: None };
    }
    let help = format!("{ends}: write the rest on a line of its own{after}");
    Hint { help, edit: (!own.is_empty()).then(|| (before.len()..token.start, "\n    ".to_owned())) }
}

/// `prune a "b"` whose `when` stands on the line after: what goes on there must be asked for at the end of this one.
fn next_line(chunk: &str, token: &Range<usize>, word: &str, expected: &[String]) -> Option<Hint> {
    let rest = &chunk[token.end..];
    let next = rest.trim_start();
    let first = next.split_whitespace().next()?;
    // a flag, its `=` and its list are one word
    let of_flag = first.starts_with('[') && chunk[..token.end].trim_end().ends_with('=');
    let first = if of_flag { "[" } else { first };
    if !word.is_empty() || !expected.iter().any(|e| e.trim_matches('`') == first) {
        return None;
    }
    let gap = if of_flag { "" } else { " " };
    let start = if of_flag { chunk[..token.end].trim_end().len() } else { token.end };
    let edit = (start..chunk.len() - next.len(), gap.to_owned());
    Some(Hint { help: format!("`{first}` stands on the same line: join the two"), edit: Some(edit) })
}

/// A habit's edit, if it changes nothing but this.
fn habit_edit(chunk: &str, token: &Range<usize>, word: &str) -> Option<(Range<usize>, String)> {
    let before = chunk[..token.start].trim_end();
    let here = |text: &str| Some((token.clone(), text.to_owned()));
    match word {
        "&&" | "&" if lacks_comparison(chunk, token) => None,
        "&&" | "&" => here("and"),
        "||" | "|" if in_vary(before) => here(if before.len() == token.start { " +" } else { "+" }),
        "||" | "|" if !in_expression(before) => None,
        "||" | "|" if before.len() == token.start => here(" or"),
        "||" | "|" => here("or"),
        "!" => here("not "),
        // `20$`, `0.79$/h`
        "$" if before.ends_with(|c: char| c.is_ascii_digit()) => {
            Some((before.len()..token.end, "usd".to_owned()))
        }
        ";" if is_list(chunk, before) => here(","),
        ";" => here(""),
        // `engine a == vllm {`
        "=" if before.ends_with('=') && token.start == before.len() && !chunk.starts_with('-') => here(""),
        "=" if before.contains('=') || chunk.starts_with('-') => None,
        "=" if compares(chunk, before) => here("=="),
        "=" => Some((
            before.len()..token.end,
            if chunk[token.end..].starts_with(' ') { "" } else { " " }.to_owned(),
        )),
        "" if before.ends_with(',') => Some((before.len() - 1..before.len(), String::new())),
        _ if chunk.starts_with('-') && COUNTED.contains(&word) => {
            Some((before.len()..token.end, String::new()))
        }
        _ if chunk.starts_with('-') && words_of_a_flag(chunk, token).is_some() => {
            words_of_a_flag(chunk, token)
        }
        _ if !word.is_empty()
            && units::unit(word).is_some()
            && before.ends_with(|c: char| c.is_ascii_digit()) =>
        {
            Some((before.len()..token.start, String::new()))
        }
        _ if before.ends_with('-') && starts_number(word) => Some((before.len()..token.start, String::new())),
        _ => spelled_number(chunk, token)
            .or_else(|| types::known(chunk, word).and_then(types::sure).map(str::to_owned))
            .and_then(|n| here(&n)),
    }
}

/// Words behind a flag's number that say what it counts.
const COUNTED: [&str; 7] = ["tokens", "token", "tok", "requests", "seqs", "sequences", "blocks"];

/// Whether names stand side by side behind a place: in a `use`, and behind the `on` of a study's line.
fn is_list(chunk: &str, before: &str) -> bool {
    let rest = chunk[before.len()..].trim_start_matches([' ', '\t', ';']);
    let profiles = ["confirm ", "curve ", "maximize ", "minimize "].iter().any(|w| chunk.starts_with(w));
    let named = rest.starts_with(|c: char| c.is_ascii_lowercase());
    chunk.starts_with("use") && !before.ends_with('}') || profiles && before.contains(" on ") && named
}

/// `--sizes=1 2 4` as `--sizes="1 2 4"`.
fn words_of_a_flag(chunk: &str, token: &Range<usize>) -> Option<(Range<usize>, String)> {
    let line = chunk[..token.start].rfind('\n').map_or(0, |n| n + 1);
    let start = line + chunk[line..token.start].rfind('=')? + 1;
    let first = chunk[start..token.start].trim_end();
    let words = spaced::words(&chunk[start..], first);
    let flag = chunk[line..start].trim_end_matches('=').rsplit([' ', '\t', ':']).next().unwrap_or_default();
    let whole = flag.starts_with("--") && words.len() > first.len() && !first.contains(' ');
    whole.then(|| (start..start + words.len(), format!("\"{words}\"")))
}

fn starts_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// A number as other languages spell it, in the way that this one does: `.5s`, `1_000`.
fn spelled_number(chunk: &str, token: &Range<usize>) -> Option<String> {
    let word = chunk.get(token.clone())?;
    if chunk[..token.start].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.') {
        return None;
    }
    if word.strip_prefix('.').is_some_and(starts_number) {
        return Some(format!("0{word}"));
    }
    let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    let grouped = starts_number(word) && word.split('_').rev().skip(1).all(digits);
    (grouped && word.contains('_')).then(|| word.replace('_', ""))
}

pub(super) const TEXT: &str = "a string in double quotes";
/// Words that come behind a string: where one stands instead of it, the string was forgotten.
const GLUE: [&str; 10] =
    ["when", "log", "matches", "because", "at", "within", "since", "until", "keys", "default"];

/// What is missing where only one thing can be: a comma in a list, the quotes of a string.
fn missing_sign(
    chunk: &str,
    token: &Range<usize>,
    word: &str,
    expected: &[String],
) -> Option<(String, (Range<usize>, String))> {
    let before = chunk[..token.start].trim_end();
    if let ["`,`", "`]`" | "`}`"] = expected.iter().map(String::as_str).collect::<Vec<_>>().as_slice()
        && !word.is_empty()
        && !word.starts_with([']', '}', ')', '=', ':'])
        // `{ chat engine`, and a `}` that begins the next line
        && !(words::DECLARATIONS.contains(&word) && chunk[token.end..].trim_start_matches([' ', '\t']).starts_with('\n'))
    {
        // `[16; 32; 64]`: the semicolons were meant to be commas
        let start = before.trim_end_matches(';').len();
        let list = chunk[start..].split([']', '}', '\n', '"', '#']).next().unwrap_or_default();
        let end = if start < before.len() { start + list.rfind(';').map_or(0, |n| n + 1) } else { start };
        // `use std/engines { vllm sglang trtllm }`
        let inner = chunk[token.start..].split([']', '}']).next().unwrap_or_default();
        let names: Vec<&str> = inner.split_whitespace().collect();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        if names.len() > 1 && start == before.len() && inner.chars().all(|c| plain(c) || c == ' ') {
            let right = format!(", {}", names.join(", "));
            let end = token.start + inner.trim_end().len();
            return Some(("write a comma between each two of them".to_owned(), (start..end, right)));
        }
        let right = if start < end { chunk[start..end].replace(';', ",") } else { ",".to_owned() };
        return Some(("write a comma between them".to_owned(), (start..end, right)));
    }
    if matches!(expected, [only] if only == "`at`") && word.len() > 1 && word.starts_with('"') {
        let help = format!("a place stands behind `at`: write `at {word}`");
        return Some((help, (token.start..token.start, "at ".to_owned())));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
    let text_only = matches!(expected, [only] if only == TEXT);
    // `note vary`: what begins a line was to stand on the next one
    let begins = names::begins_a_setting(word);
    if text_only
        && !word.is_empty()
        && !begins
        && word.chars().all(plain)
        && word.contains(|c: char| c.is_ascii_alphanumeric())
        && !reasons::more_follows(chunk, token)
    {
        let quoted = format!("\"{word}\"");
        return Some((format!("write {quoted}"), (token.clone(), quoted)));
    }
    None
}

const POINTS: &str = "axis quant = { fp8 \"FP8\": model \"org/M-FP8\", awq: --quantization=awq }";

/// An example of the line, else what was expected.
fn help(chunk: &str, expected: &[String], examples: Examples) -> (String, bool) {
    let example = chunk
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .find(|w| !w.is_empty())
        .and_then(examples);
    let has_points = || chunk.split_once('=').is_some_and(|(_, body)| body.trim_start().starts_with('{'));
    let example = example.map(|e| if e == examples::AXIS && has_points() { POINTS } else { e });
    let choice = |e: &String| e.starts_with('`') && e.as_bytes().get(1).is_some_and(u8::is_ascii_lowercase);
    let help = match (expected, example) {
        ([only], Some(example)) if choice(only) && !example.contains(only.trim_matches('`')) => {
            format!("write {only} here")
        }
        ([_, _, ..], _) if expected.iter().all(choice) => format!("write {}", one_of(expected)),
        ([_], None) => format!("write {} here", expected[0]),
        (_, Some(example)) => return (format!("write for example `{example}`"), true),
        ([], None) => "a setting or declaration ends with its line".to_owned(),
        _ => format!("write {}", one_of(expected)),
    };
    (help, false)
}

/// Habits from elsewhere.
fn habit(chunk: &str, token: &Range<usize>, word: &str) -> Option<String> {
    let before = chunk[..token.start].trim_end();
    let number = before.rsplit(|c: char| !(c.is_ascii_digit() || c == '.')).next().unwrap_or_default();
    Some(match word {
        "&&" | "&" if lacks_comparison(chunk, token) => {
            let amount = chunk[token.end..].split_whitespace().next().unwrap_or_default();
            format!("how the two compare is not said: write `>= {amount}` or `<= {amount}`")
        }
        "&&" | "&" => "write `and`".to_owned(),
        "||" | "|" if in_vary(before) => "one or the other: write `+`".to_owned(),
        "||" | "|" if in_expression(before) => "write `or`".to_owned(),
        "!" => "write `not`".to_owned(),
        ";" if is_list(chunk, before) => "names are separated by commas: write `,`".to_owned(),
        ";" => "a setting ends with its line: remove the `;`".to_owned(),
        "=" if before.contains('=') => "write one `=`".to_owned(),
        "=" if compares(chunk, before) => "write `==` to compare".to_owned(),
        "=" if before.len() == token.start && !chunk[token.end..].starts_with(' ') => {
            "a setting and its value are separated by a space: put one in the place of the `=`".to_owned()
        }
        "=" => "a setting and its value are separated by a space: remove the `=`".to_owned(),
        "<" | "<=" | ">" | ">=" | "==" | "!=" if is_condition(chunk) => {
            "comparisons do not chain: write `a <= b and b <= c`".to_owned()
        }
        "$" if number.is_empty() => "write the unit behind the number: `20usd`".to_owned(),
        "$" => {
            let per = if chunk[token.end..].starts_with("/h") { "/h" } else { "" };
            format!("write the unit behind the number: `{number}usd{per}`")
        }
        "as" if chunk.starts_with("use") => {
            "what is imported keeps its name: remove `as` and what follows it".to_owned()
        }
        "" if before.ends_with(',') => "remove the comma, or go on behind it".to_owned(),
        _ if number.ends_with('.') && !number.contains("..") && number.len() > 1 => {
            format!("digits stand behind a point: write `{}{word}`", number.trim_end_matches('.'))
        }
        _ if !number.is_empty() && !word.is_empty() && units::unit(word).is_some() => {
            format!("a unit is glued to its number: write `{}{word}`", number_at_end(before))
        }
        _ if before.ends_with('-') && starts_number(word) => {
            format!("a sign is glued to its number: write `-{word}`")
        }
        _ if before.ends_with("vary") && word.starts_with('-') => {
            format!("declare `axis NAME = {word}=…`, and vary it by its name")
        }
        _ if chunk.starts_with('-') && word.starts_with('-') && before.ends_with('=') => {
            format!("write the flag's value behind its `=`; `{word}` stands on a line of its own")
        }
        _ if matches!(before, "-" | "--") && word.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            format!("the name of a flag follows its hyphens: write `{before}{word}`")
        }
        _ if chunk.starts_with('-') && !word.is_empty() => {
            let words =
                words_of_a_flag(chunk, token).map_or_else(|| "\"a b\"".to_owned(), |(_, words)| words);
            let flag = before.rsplit([' ', '\t']).next().and_then(|w| w.split_once('='));
            let (flag, value) = flag.unwrap_or(("--flag", ""));
            if COUNTED.contains(&word) && value.starts_with(|c: char| c.is_ascii_digit()) {
                format!("the flag says what is counted: write the number alone, `{flag}={value}`")
            } else {
                format!("a value that holds a space is quoted: `{flag}={words}`")
            }
        }
        _ if chunk.starts_with("axis") && words_of_a_flag(chunk, token).is_some() => {
            let words = words_of_a_flag(chunk, token).map_or_else(String::new, |(_, words)| words);
            let list = words.trim_matches('"').replace(' ', ", ");
            format!(
                "a value of several words is quoted: `--flag={words}`; points are listed: `--flag=[{list}]`"
            )
        }
        _ if types::known(chunk, word).is_some() => {
            types::to_write(types::known(chunk, word).unwrap_or_default())
        }
        _ if spelled_number(chunk, token).is_some() => {
            format!("write `{}`", spelled_number(chunk, token).unwrap_or_default())
        }
        _ if word.chars().next().is_some_and(|c| c.is_whitespace() || c.is_control()) => {
            "replace it by a plain space".to_owned()
        }
        _ => return None,
    })
}

/// `success_rate & 99%`: a number alone is no condition, which a comparison was to be.
fn lacks_comparison(chunk: &str, token: &Range<usize>) -> bool {
    let amount = chunk[token.end..].split_whitespace().next().unwrap_or_default();
    let line = chunk[..token.start].rsplit('\n').next().unwrap_or_default();
    is_condition(chunk) && starts_number(amount) && !line.contains(['<', '>'])
}

/// Whether a sign behind such a text may compare something: behind the setting's word nothing stands yet.
fn compares(chunk: &str, before: &str) -> bool {
    is_condition(chunk) && before.contains([' ', '\t'])
}

/// Whether what ends with `before` is an expression: a step has one behind `when` alone.
fn in_expression(before: &str) -> bool {
    !before.trim_start().starts_with("step") || before.contains(" when ")
}

/// Whether axes stand there that a step varies.
fn in_vary(before: &str) -> bool {
    before.rsplit(['{', '\n']).next().is_some_and(|line| line.trim_start().starts_with("vary "))
}

/// Lines that hold an expression, in which a flag is compared and not set.
pub fn is_condition(chunk: &str) -> bool {
    let word = chunk.trim_start().split([' ', '\t', ':', '=']).next().unwrap_or_default();
    matches!(word, "prune" | "require" | "step" | "metric" | "maximize" | "minimize" | "refuses")
}

#[cfg(test)]
mod tests {
    use super::super::examples::example;
    use super::*;

    fn help_at(chunk: &str, word: &str) -> String {
        let at = chunk.rfind(word).expect("in the chunk");
        hint(chunk, &(at..at + word.len()), word, &[], example).0.help
    }

    #[test]
    fn habits_of_other_languages_are_named() {
        assert_eq!(help_at("require a < 1 && b", "&&"), "write `and`");
        assert_eq!(
            help_at("require p99(ttft) <= 500 ms", "ms"),
            "a unit is glued to its number: write `500ms`"
        );
        assert_eq!(
            help_at("budget = 6h", "="),
            "a setting and its value are separated by a space: remove the `=`"
        );
        assert_eq!(help_at("prune a \"b\" when --x = 3", "="), "write `==` to compare");
    }
}
