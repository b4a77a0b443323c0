//! Declarations whose head is wrong: a name that is missing, a brace that is, a keyword of another language.

use super::blocks::first_word;
use super::examples;
use super::headless::is_point;
use super::imports;
use super::lexical;
use super::opened;
use super::words;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{About, Diagnostic, Expected};
use crate::lang::near::did_you_mean;
use crate::lang::source::{FileId, Span};

/// `engine "vLLM" = vllm { … }`: a title and no name. `at` is where the text begins in its file.
pub fn missing(id: FileId, at: usize, text: &str) -> Option<Diagnostic> {
    let keyword = first_word(text);
    let rest = &text[keyword.len()..];
    // `study:` as in YAML, and nothing else
    let first = rest.lines().next().unwrap_or_default();
    let yaml = first[..start_of_comment(first).unwrap_or(first.len())].trim() == ":";
    if (rest.starts_with('{') || yaml) && keyword != "use" {
        let span = Span::new(id, at..at + keyword.len());
        let d = Diagnostic::new(Code::Unexpected, span, format!("a name is missing behind `{keyword}`"));
        let example = examples::example(keyword).map_or_else(String::new, |e| format!(": `{e}`"));
        return Some(
            d.about(About::Expected(Expected::NAME))
                .label("expected a name")
                .help(format!("what is declared has a name{example}")),
        );
    }
    let title = rest.trim_start_matches([' ', '\t']);
    if matches!(keyword, "engine" | "profile") && title.starts_with('=') {
        // what the block derives from is not its name
        let start = at + text.len() - title.len();
        let d =
            Diagnostic::new(Code::Unexpected, Span::new(id, start..start + 1), "`=` was not expected here");
        let help = format!("what is declared has a name: `{keyword} NAME = …`");
        return Some(d.about(About::Expected(Expected::NAME)).label("expected a name").help(help));
    }
    if keyword == "use" || !title.starts_with('"') {
        return None;
    }
    let start = keyword.len() + rest.len() - title.len();
    let end = title[1..].find(['"', '\n']).map_or(title.len(), |n| n + 2);
    let span = Span::new(id, at + start..at + start + end);
    let quoted = title[1..].split(['"', '\n']).next().unwrap_or_default();
    let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if title[end..].trim_start_matches([' ', '\t']).starts_with('"')
        && quoted.starts_with(|c: char| c.is_ascii_lowercase())
        && quoted.chars().all(snake)
    {
        // `engine "v" "vLLM" = vllm {`
        let d = Diagnostic::new(Code::Unexpected, span, "a name stands without quotes");
        return Some(
            d.about(About::Expected(Expected::NAME))
                .label("a name")
                .help(format!("write `{quoted}`"))
                .edit(span, quoted),
        );
    }
    if let Some(name) = name_behind(keyword, &title[end..]) {
        let behind = title[end..].find(name).map_or(end, |n| end + n) + name.len();
        let d = Diagnostic::new(Code::Unexpected, span, "the title stands before the name");
        let right = format!("{name} {}", &title[..end]);
        let whole = Span::new(id, at + start..at + start + behind);
        return Some(d.label("a title").help(format!("write `{keyword} {right}`")).edit(whole, right));
    }
    if keyword == "site" {
        let d = Diagnostic::new(Code::Unexpected, span, "a site has a name, and no title");
        let named = quoted.starts_with(|c: char| c.is_ascii_lowercase()) && quoted.chars().all(snake);
        return Some(if named {
            let d = d.about(About::Expected(Expected::NAME));
            d.label("a name stands without quotes").help(format!("write `site {quoted}`")).edit(span, quoted)
        } else {
            d.label("a title").help("write `site NAME { … }`")
        });
    }
    let d = Diagnostic::new(Code::Unexpected, span, "a name is missing before the title");
    Some(
        d.label("a title")
            .help(format!("write `{keyword} NAME {} …`: other lines call it by its name", &title[..end])),
    )
}

/// `axis = seqs { … }`, `axis = seqs = …`: what is wrong with it, and the text with the name before its sign, all else in its place.
pub fn behind_its_sign(id: FileId, at: usize, text: &str) -> Option<(Diagnostic, String)> {
    let rest = text.strip_prefix("axis")?;
    let sign = text.len() - rest.trim_start_matches([' ', '\t']).len();
    let behind = text[sign..].strip_prefix('=')?;
    let name = first_word(behind.trim_start_matches([' ', '\t']));
    let start = text.len() - behind.trim_start_matches([' ', '\t']).len();
    let end = start + name.len();
    let next = text[end..].trim_start_matches([' ', '\t']);
    if name.is_empty() || !next.starts_with(['{', '=']) || !name.starts_with(|c: char| c.is_ascii_lowercase())
    {
        return None;
    }
    let span = Span::new(id, at + sign..at + sign + 1);
    let d = Diagnostic::new(Code::Unexpected, span, "`=` was not expected here");
    let d = d.about(About::Expected(Expected::NAME)).label("expected a name");
    if next.starts_with('=') {
        // `axis = seqs = …`
        let d = d.help(format!("one `=` stands behind the name: write `axis {name} = …`"));
        let mended = format!("{} {}", &text[..sign], &text[sign + 1..]);
        return Some((d.edit(Span::new(id, at + sign..at + start), ""), mended));
    }
    let right = format!("{name}{}=", &text[sign + 1..start]);
    let whole = Span::new(id, at + sign..at + end);
    let d = d.help(format!("the name stands before the `=`: write `axis {name} = {{ … }}`"));
    Some((d.edit(whole, right.clone()), format!("{}{right}{}", &text[..sign], &text[end..])))
}

/// `"vLLM" v = vllm {`: the name behind a title that it should stand before.
pub(super) fn name_behind<'t>(keyword: &str, rest: &'t str) -> Option<&'t str> {
    let rest = rest.trim_start_matches([' ', '\t']);
    let name = first_word(rest);
    let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let right = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(snake);
    let next = rest[name.len()..].trim_start_matches([' ', '\t']);
    let goes_on = match keyword {
        // an engine's alone may be what it derives from
        "engine" | "axis" | "metric" => next.starts_with('='),
        "profile" => next.starts_with(['=', '{']),
        "step" => next.starts_with('{') || matches!(first_word(next), "from" | "when"),
        _ => next.starts_with('{'),
    };
    let word = words::DECLARATIONS.contains(&name) || matches!(name, "from" | "when" | "vary" | "pick");
    (right && goes_on && !word && !words::RESERVED.contains(&name)).then_some(name)
}

/// `engine v = vllm` without the brace that its closing one belongs to.
pub fn without_brace(id: FileId, base: usize, text: &str, indent: usize) -> Option<Diagnostic> {
    let head = text[indent..].lines().next()?;
    let head = head[..head.find(" #").unwrap_or(head.len())].trim_end();
    let block = matches!(first_word(head), "engine" | "profile" | "study" | "site");
    if !block || lexical::opens_brace(head) {
        return None;
    }
    if let Some(quote) = lexical::unclosed_text(head) {
        return Some(opened::torn_title(id, base + indent, quote, head));
    }
    // `engine v = vllm version "0.17.1" }`: the lines of the block stand on its first one
    let (head, help) = match head.strip_suffix('}').and_then(|_| before_lines(head)) {
        Some(first) => (first, "write `{` before its first setting"),
        None => (head, "write `{` at the end of the line"),
    };
    let end = base + indent + head.len();
    let colon = usize::from(head.ends_with([':', '(']));
    let last = head.chars().next_back().map_or(0, char::len_utf8);
    let at = Span::new(id, end - last..end);
    let d = Diagnostic::new(Code::Unexpected, at, "the block that begins here lacks its `{`");
    let d = d.about(About::Expected(Expected::sign("{"))).label("expected `{`").help(help);
    Some(d.edit(Span::new(id, end - colon..end), " {"))
}

/// Whether the first line of an engine or a profile lacks what it derives from too, as no line of its block is one of those that derive from
/// none.
pub fn without_parent<'t>(head: &str, mut body: impl Iterator<Item = &'t str>) -> bool {
    const OF_ANY: [&str; 7] = ["version", "publish", "env", "model", "unset", "raw", ""];
    let of_any =
        |l: &str| l.trim_start().starts_with(['-', '#']) || OF_ANY.contains(&first_word(l.trim_start()));
    let sends = |l: &str| matches!(first_word(l.trim_start()), "data" | "trace");
    !head.contains('=')
        && match first_word(head) {
            "engine" => body.all(of_any),
            "profile" => !body.any(sends),
            _ => false,
        }
}

/// Which engine or profile of a file that is, where it is clear.
pub fn parent_in<'t>(file: &'t str, head: &str) -> Option<&'t str> {
    let (keyword, name) = head.split_once([' ', '\t'])?;
    let name = first_word(name.trim_start());
    let (library, begins) = (format!("use std/{keyword}s"), format!("{keyword} "));
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let imported = file.split(&library).skip(1).filter_map(|u| u.split_once('{')?.1.split('}').next());
    let imported = imported.flat_map(|list| list.split(move |c| !in_name(c)));
    let declared = file.lines().filter_map(|l| l.strip_prefix(&begins)).map(|l| first_word(l.trim_start()));
    let known: Vec<&str> = imported.chain(declared).filter(|n| !n.is_empty() && *n != name).collect();
    parent_of(name, head.split('"').nth(1), &known)
}

/// The engine whose name the title is, or the only one that begins like the name.
pub(in crate::lang) fn parent_of<'k>(name: &str, title: Option<&str>, known: &[&'k str]) -> Option<&'k str> {
    let titled = title.map(str::to_ascii_lowercase);
    if let Some(same) = known.iter().find(|k| titled.as_deref() == Some(**k)) {
        return Some(same);
    }
    let mut near = known.iter().filter(|k| k.starts_with(name) || name.starts_with(**k));
    match (near.next(), near.next(), known) {
        (Some(one), None, _) | (None, _, [one]) => Some(one),
        _ => None,
    }
}

/// The part of a first line before what stands in the block: keyword, name, title and what the block derives from.
fn before_lines(line: &str) -> Option<&str> {
    let word = |at: usize| {
        let rest = line[at..].trim_start();
        let start = line.len() - rest.len();
        (start, start + rest.find([' ', '\t']).unwrap_or(rest.len()))
    };
    let mut end = word(word(0).1).1;
    let title = word(end).0;
    if line[title..].starts_with('"') {
        end = title + 2 + line[title + 1..].find('"')?;
    }
    let (sign, behind) = word(end);
    if &line[sign..behind] == "=" {
        end = word(behind).1;
    }
    line.get(..end).filter(|head| head.len() < line.len())
}

/// `metrics good = …`: a keyword in the plural, before a name and what follows one.
fn plural(line: &str, word: &str) -> Option<(Option<String>, String)> {
    let keyword = word.strip_suffix('s').filter(|w| words::DECLARATIONS.contains(w))?;
    let rest = line[word.len()..].trim_start();
    let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'))?;
    let behind = rest[end..].trim_start();
    let named = end > 0 && behind.starts_with(['=', '"', '{']) && !rest.starts_with("get ");
    named.then(|| {
        let right = format!("{keyword}{}", &line[word.len()..]);
        (Some(right), format!("each is declared by itself: write `{keyword} {} …`", &rest[..end]))
    })
}

/// Whether a word begins a line of some block.
pub fn begins_a_setting(word: &str) -> bool {
    let settings =
        [words::STUDY_SETTINGS, words::STEP_SETTINGS, words::PROFILE_SETTINGS, words::ENGINE_SETTINGS];
    settings.iter().any(|s| s.contains(&word))
}

/// Whether a word begins a line somewhere, or is a slip of one that does.
pub fn may_begin_a_line(word: &str) -> bool {
    let lines = [
        words::DECLARATIONS,
        words::STUDY_SETTINGS,
        words::STEP_SETTINGS,
        words::PROFILE_SETTINGS,
        words::ENGINE_SETTINGS,
    ];
    let known = || lines.iter().flat_map(|l| l.iter().copied());
    known().any(|w| w == word) || did_you_mean(word, known()).is_some()
}

/// What may have stood at the head of the block that a line has lost, as a name that is broken. That of a study stands nowhere else.
pub fn lost_above(word: &str) -> Option<String> {
    let kinds = [("engine", words::ENGINE_SETTINGS), ("profile", words::PROFILE_SETTINGS)];
    let mut kinds = kinds.into_iter().filter(|(_, settings)| settings.contains(&word)).map(|(kind, _)| kind);
    match (kinds.next(), kinds.next()) {
        (Some(kind), None) if !words::STUDY_SETTINGS.contains(&word) => Some(imports::any_of(kind)),
        (None, _) => None,
        _ => Some(imports::ANY.to_owned()),
    }
}

/// Words that set a name in other languages.
const SETS: [&str; 6] = ["let", "const", "var", "set", "local", "export"];

/// The name that a line of another language sets: `let ctx = 32Ki`.
pub fn set_elsewhere(line: &str) -> Option<&str> {
    let (word, rest) = line.split_once(' ').filter(|(word, _)| SETS.contains(word))?;
    let name = first_word(rest.trim_start());
    let sign = rest.trim_start()[name.len()..].trim_start();
    (!word.is_empty() && !name.is_empty() && sign.starts_with(['=', ':'])).then_some(name)
}

/// What a line without a declaration's keyword was meant to declare.
pub fn meant_to_declare(file: &str, line: &str) -> Option<(Option<String>, String)> {
    let line = line.trim_end();
    let word = first_word(line);
    if let Some(found) = plural(line, word) {
        return Some(found);
    }
    if begins_a_setting(word) {
        let help = match examples::example(word) {
            Some(example) => {
                format!("`{example}` stands in a block: is a `}}` too many above, or is its `{{` missing?")
            }
            None => "it stands in a block: is a `}` too many above, or is its `{` missing?".to_owned(),
        };
        return Some((None, help));
    }
    if line.starts_with("std/") && line.contains('{') {
        let right = format!("use {line}");
        return Some((Some(right.clone()), format!("an import begins with `use`: write `{right}`")));
    }
    let bare = ["let ", "const ", "var ", "set ", "local "]
        .iter()
        .find_map(|w| line.strip_prefix(w))
        .unwrap_or(line);
    let (name, value) = bare.split_once('=')?;
    let (name, value) = (name.trim_end_matches(':').trim(), value.trim());
    let (name, title) = titled(name);
    if let Some(variable) = bare.strip_prefix("export ").map(str::trim) {
        let name = variable.split('=').next().unwrap_or_default();
        let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let help = format!("a variable stands in the engine that reads it: `env {variable}`");
        return name.chars().all(upper).then_some((None, help));
    }
    let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(snake) {
        return None;
    }
    let keyword = kind_of_value(file, value)?;
    let named = if title.is_empty() { name.to_owned() } else { format!("{name} {title}") };
    let right = format!("{keyword} {named} = {value}");
    Some((Some(right.clone()), format!("write `{right}`")))
}

/// A name and the title behind it, with its quotes.
fn titled(text: &str) -> (&str, &str) {
    match text.split_once([' ', '\t']) {
        Some((name, title)) if is_a_text(title.trim()) => (name, title.trim()),
        _ => (text, ""),
    }
}

fn is_a_text(text: &str) -> bool {
    text.len() > 1 && text.starts_with('"') && text[1..].find('"') == Some(text.len() - 2)
}

/// `prefill "Prefill" = --enforce-eager`: whether what stands behind the `=` of a name and its title says that the keyword is missing before
/// them, not misspelt in the name's place.
pub(super) fn lacks_keyword(line: &str) -> bool {
    let code = &line[..start_of_comment(line).unwrap_or(line.len())];
    let Some((name, value)) = code.split_once('=') else { return false };
    let (name, _) = titled(name.trim());
    let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(snake)
        && (value.trim_start().starts_with("--") || is_of_points(value.trim_start()))
}

/// `{ fp8 "FP8": --quantization=fp8 }`
fn is_of_points(value: &str) -> bool {
    value.strip_prefix('{').is_some_and(|points| is_point(points.trim_start()))
}

/// What the value behind a `=` is of.
fn kind_of_value(file: &str, value: &str) -> Option<&'static str> {
    match value.as_bytes().first()? {
        b'-' if value.starts_with("--") => Some("axis"),
        b'{' if is_of_points(value) => Some("axis"),
        b'"' => Some("param"),
        b'0'..=b'9' => expression(file, value).or(Some("param")),
        _ if !value.starts_with(|c: char| c.is_ascii_lowercase() || c == '(') => None,
        _ => expression(file, value),
    }
}

/// What a value of other values is: `total_tps / gpus` is a metric; `a * (b + c)` is an axis where all of them are axes.
fn expression(file: &str, value: &str) -> Option<&'static str> {
    let value = &value[..start_of_comment(value).unwrap_or(value.len())];
    let plain = |c: char| c.is_ascii_alphanumeric() || "_+*/()., ".contains(c);
    if !value.chars().all(plain) {
        return None;
    }
    let words = || value.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|w| !w.is_empty());
    let is_axis = |w: &str| {
        file.lines().filter_map(|l| l.strip_prefix("axis ")).any(|l| first_word(l.trim_start()) == w)
    };
    if value.contains(['*', '+']) && !value.contains('/') && words().all(is_axis) {
        return Some("axis");
    }
    let number = value.starts_with(|c: char| c.is_ascii_digit());
    let combined = if number { value.contains([' ', '(']) } else { true };
    (combined && value.contains(['/', '('])).then_some("metric")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_ends_before_the_settings_on_it() {
        for (line, head) in [
            ("engine v = vllm  version \"1\" }", Some("engine v = vllm")),
            ("profile p \"a b\" = chat rate 8/s }", Some("profile p \"a b\" = chat")),
            ("study s model \"a/b\" }", Some("study s")),
            ("engine v \"open = vllm }", None),
            ("engine v", None),
        ] {
            assert_eq!(before_lines(line), head, "{line}");
        }
    }
}
