//! Blocks whose first line is wrong, which was told: read with that line as it was meant, or under a name that stands in, so that what
//! else is wrong with the block is told too. Everything behind the `{` keeps its place.

use super::ast::{EngineLineKind, File, Item, Name};
use super::blocks::first_word;
use super::imports::A_STEP;
use super::lexical::{Piece, Scanner};
use super::names;
use super::quoted_parents::{is_named_twice, is_quoted_name};
use super::quotes::closing;
use super::rename::is_declared;
use super::reread::reread_within;
use super::words;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// The first line of a block, as far as it can be told apart.
#[derive(Debug, Default)]
struct Head<'t> {
    name: Option<&'t str>,
    /// with its quotes, of which the last one may have been missing
    title: Option<String>,
    /// what follows `=`
    base: Option<&'t str>,
    /// what follows `from`
    from: Option<&'t str>,
    /// a step's `when` and all that follows
    when: Option<&'t str>,
    /// it derives, or starts, from something that cannot be made out
    unsure: bool,
}

/// Tells what is wrong with the first line of a declaration, and reads the rest; `text` begins with its keyword, at `at` of the file.
pub(super) fn told(
    id: FileId,
    file: &str,
    (at, text): (usize, &str),
    found: Diagnostic,
    sink: &mut Sink,
    broken: &mut Vec<String>,
) -> Option<Item> {
    let place = found.span;
    sink.push(found);
    let (name, parent) = head(text).map(|(head, _)| (head.name, head.base)).unwrap_or_default();
    let (right, base) = meant(file, at, text, place, broken)?;
    let mut item = reread_within(at..usize::MAX, id, &right, base, sink, broken)?;
    // only what is behind the `{` is in its place
    let put = |name: Option<&mut Name>, written: Option<&str>| {
        let Some((name, written)) = name.zip(written).filter(|(name, written)| name.value == *written) else {
            return;
        };
        let start = at + (written.as_ptr() as usize - text.as_ptr() as usize);
        name.span = Span::new(id, start..start + written.len());
    };
    put(name_of(&mut item), name);
    put(parent_of(&mut item), parent);
    Some(item)
}

fn parent_of(item: &mut Item) -> Option<&mut Name> {
    match item {
        Item::Engine(engine) => engine.parent.as_mut(),
        Item::Profile(profile) => profile.parent.as_mut(),
        _ => None,
    }
}

fn name_of(item: &mut Item) -> Option<&mut Name> {
    match item {
        Item::Engine(engine) => Some(&mut engine.name),
        Item::Profile(profile) => Some(&mut profile.name),
        Item::Study(study) => Some(&mut study.name),
        Item::Site(site) => Some(&mut site.name),
        _ => None,
    }
}

/// A block with its first line as it was meant, and where that text begins so that all behind the `{` is in its place. What it derives from
/// is a broken name where that cannot be made out.
pub(super) fn meant(
    file: &str,
    at: usize,
    text: &str,
    told: Span,
    broken: &mut Vec<String>,
) -> Option<(String, usize)> {
    let keyword = first_word(text);
    let (mut head, brace) = head(text)?;
    // a name in quotes that nothing has may be a title
    let quoted = |base: &str| text[..brace].contains(&format!("\"{base}\""));
    if head.base.is_some_and(|base| quoted(base) && !is_named_twice(file, base)) {
        (head.base, head.unsure) = (None, true);
    }
    if !(at..=at + brace).contains(&(told.start as usize)) {
        return None;
    }
    let spelled = head.name.and_then(spelled).filter(|name| {
        // of two that would be called the same, one is lost
        head.name == Some(name.as_str()) || !is_declared(file, keyword, name)
    });
    // `engine "v" = vllm {`
    let quoted = |t: &str| {
        let name = t.trim_matches('"');
        let named = matches!(keyword, "engine" | "profile" | "site") && head.name.is_none();
        (named && self::spelled(name).as_deref() == Some(name)).then(|| name.to_owned())
    };
    let name = spelled.or_else(|| quoted(head.title.as_deref()?)).unwrap_or_else(|| stand_in(file, at));
    if keyword == "track" && name.starts_with(UNNAMED) {
        // what it tunes is not known, which was said
        broken.push(name.clone());
    }
    let lost = || format!("{}_base", stand_in(file, at));
    let (mut base, mut from) = (head.base.map(str::to_owned), head.from.map(str::to_owned));
    if head.unsure && !states_own(keyword, &text[brace..]) {
        let unknown = if keyword == "step" { &mut from } else { &mut base };
        if unknown.is_none() && !matches!(keyword, "study" | "site" | "track") {
            broken.push(lost());
            *unknown = Some(lost());
        }
    }
    let base = base.map(|base| format!("= {base}"));
    let from = match from {
        Some(from) => Some(format!("from {}", self::spelled(&from)?)),
        None => None,
    };
    // a site has none
    let title = head.title.filter(|_| keyword != "site");
    let parts = [Some(name), title, base, from].into_iter().flatten();
    let parts: Vec<String> = parts.chain([head.when.unwrap_or_default().to_owned()]).collect();
    let right = format!("{keyword} {}", parts.join(" "));
    let right = head.from.map_or_else(|| right.clone(), |from| in_its_place(&right, text, from));
    // what is written where it should be stays in its place, where letters are bytes
    let right = if text[..brace].is_ascii() { format!("{:brace$}", right.trim_end()) } else { right };
    let base = (at + brace).checked_sub(right.len())?;
    Some((format!("{right}{}", &text[brace..]), base))
}

/// Whether the block of an engine or a profile says itself what it would derive from another: how the server is started, what is asked.
pub(super) fn states_own(keyword: &str, block: &str) -> bool {
    let own = match keyword {
        "engine" => "serve",
        "profile" => "data",
        _ => return false,
    };
    block.lines().any(|line| first_word(line.trim_start_matches(['{', ' ', '\t'])) == own)
}

/// The line with what a step starts from where it stands in the text, if what was left out before it leaves room.
fn in_its_place(right: &str, text: &str, from: &str) -> String {
    let at = from.as_ptr() as usize - text.as_ptr() as usize;
    let Some((before, behind)) = right.rsplit_once(" from ") else { return right.to_owned() };
    match at.checked_sub("from ".len()).filter(|at| *at > before.len() && text[..*at].is_ascii()) {
        Some(at) => format!("{before:at$}from {behind}"),
        None => right.to_owned(),
    }
}

/// Engines and profiles whose title takes the rest of their first line along, as its last quote is missing: what they derive from is not
/// known. The names that stand for it.
pub(super) fn lose_torn_parents(text: &str, told: &Sink, file: &mut File) -> Vec<String> {
    let torn: Vec<Span> = told.found().filter(|d| d.code == Code::UnclosedString).map(|d| d.span).collect();
    let mut lost = Vec::new();
    for item in &mut file.items {
        let (name, parent, states_own) = match item {
            Item::Engine(e) => {
                let own = e.lines.iter().any(|l| matches!(l.kind, EngineLineKind::Serve(_)));
                (&e.name, &mut e.parent, own)
            }
            Item::Profile(p) => {
                let own = p.lines.iter().any(|l| l.word.value == "data");
                (&p.name, &mut p.parent, own)
            }
            _ => continue,
        };
        let line = name.span.line_in(text);
        let is_torn = torn.iter().any(|at| line.start <= at.start && at.start < line.end);
        if is_torn && parent.is_none() && !states_own {
            let value = format!("{}_base", stand_in(text, name.span.start as usize));
            lost.push(value.clone());
            *parent = Some(Name { value, span: name.span });
        }
    }
    lost
}

/// The first line of a block that has none.
pub(super) fn instead(file: &str, at: usize, kind: &str, broken: &mut Vec<String>) -> Option<String> {
    let name = stand_in(file, at);
    let lost = format!("{name}_base");
    Some(match kind {
        "engine" => {
            broken.push(lost.clone());
            format!("engine {name} = {lost} {{")
        }
        "axis" => format!("axis {name} = {{"),
        // what is sent is that of another one
        "profile" if !states_data(&file[at..]) => {
            broken.push(lost.clone());
            format!("profile {name} = {lost} {{")
        }
        "profile" | "study" | "step" => format!("{kind} {name} {{"),
        _ => return None,
    })
}

/// Whether the lines of a profile say what is sent.
fn states_data(body: &str) -> bool {
    body.lines().take_while(|l| !l.starts_with('}')).any(|l| first_word(l.trim_start()) == "data")
}

/// The names by which a step without one that can be read may be meant where another starts from it.
pub(super) fn names_of_step(text: &str) -> Vec<String> {
    let Some((Head { name, .. }, _)) = head(text) else { return Vec::new() };
    match name {
        Some(name) => spelled(name).into_iter().chain([name.to_owned()]).collect(),
        None => vec![A_STEP.to_owned()],
    }
}

/// What a step starts from that is no name, where its own name is one.
pub(super) fn starts_from(text: &str) -> Option<&str> {
    let (head, _) = head(text)?;
    let right = |name: &&str| spelled(name).is_some_and(|right| right == *name);
    head.name.filter(right)?;
    head.from.filter(|from| !right(from) && spelled(from).is_some())
}

/// Words between an engine or a profile and what it derives from, as elsewhere.
const DERIVES: [&str; 6] = ["extends", "from", "is", "of", "inherits", "on"];

/// The parts of a first line, and where its `{` stands; `None` where it is not clear what they are.
fn head(text: &str) -> Option<(Head<'_>, usize)> {
    let keyword = first_word(text);
    if !matches!(keyword, "engine" | "profile" | "study" | "site" | "step" | "track") {
        return None;
    }
    let derives = matches!(keyword, "engine" | "profile");
    let line = text.lines().next()?;
    let (mut head, mut brace) = (Head::default(), None);
    let (mut at, mut behind, mut more) = (keyword.len(), "", false);
    for (start, piece) in Scanner::new(line) {
        if start < at || line[start..].starts_with([' ', '\t']) {
            continue;
        }
        match piece {
            Piece::Open(b'{') => {
                // `study s {name} {`
                if let Some(len) = junk(&line[start..]) {
                    (at, more) = (start + len, true);
                    continue;
                }
                brace = Some(start);
                break;
            }
            // `engine v = "vllm" {`
            Piece::Text(end) if behind == "=" && head.base.is_none() && is_quoted_name(&line[start..end]) => {
                (head.base, behind, at) = (Some(&line[start + 1..end - 1]), "base", end);
            }
            Piece::Text(end) => {
                more |= head.title.is_some() || behind == "from";
                head.title.get_or_insert(line[start..end].to_owned());
                at = end;
            }
            Piece::UnclosedText => {
                let end = line.trim_end().strip_suffix('{')?.len();
                let mut title = line.get(start..end)?;
                // the title takes all that follows it along
                if let Some((shorter, base)) = title.rsplit_once(" = ").filter(|_| keyword != "step") {
                    (title, head.base) = (shorter, Some(base.trim()));
                }
                head.title.get_or_insert(format!("{}\"", title.trim_end()));
                brace = Some(end);
                break;
            }
            // `engine 'v' = vllm {`, `profile p 'A title' = chat {`
            Piece::Other if single_quoted(&line[start..]).is_some() => {
                let inner = single_quoted(&line[start..]).unwrap_or_default();
                at = start + inner.len() + "''".len();
                let is_name = spelled(inner).as_deref() == Some(inner);
                match behind {
                    "" if is_name && head.name.is_none() => (head.name, behind) = (Some(inner), "name"),
                    "=" if is_name && head.base.is_none() => (head.base, behind) = (Some(inner), "base"),
                    "" | "name" if head.title.is_none() => head.title = Some(format!("\"{inner}\"")),
                    _ => more = true,
                }
            }
            // `engine v(vllm) {`
            Piece::Open(_) if derives && behind == "name" && head.base.is_none() => behind = "=",
            Piece::Open(_) | Piece::Close(_) => more |= !derives,
            Piece::Other if line[start..].starts_with(SIGNS) => {
                let signs = line[start..].find(|c| !SIGNS.contains(&c)).unwrap_or(line.len() - start);
                at = start + signs;
                let ends = line[at..].trim_start().starts_with(['{', '"']);
                let equals = line[start..].starts_with('=');
                if derives && head.base.is_none() && (equals || head.name.is_some() && !ends) {
                    behind = "=";
                }
            }
            Piece::Other => {
                let ends =
                    |c: char| matches!(c, ' ' | '\t' | '"' | '{' | '(' | ')' | '[') || SIGNS.contains(&c);
                let end = line[start..].find(ends).map_or(line.len(), |n| start + n);
                let word = &line[start..end];
                at = end.max(start + 1);
                match (keyword, word, behind) {
                    ("step", "when", _) => {
                        brace = line[start..].find('{').map(|n| start + n);
                        head.when = brace.map(|end| &line[start..end]);
                        break;
                    }
                    ("step", "from", "" | "name") => behind = "from",
                    (_, _, "=") if head.base.is_none() => (head.base, behind) = (Some(word), "base"),
                    ("step", _, "from") if head.from.is_none() => (head.from, behind) = (Some(word), "base"),
                    ("engine" | "profile", w, "name")
                        if DERIVES.contains(&w) && head.base.is_none() && (!more || is_last(&line[at..])) =>
                    {
                        behind = "=";
                    }
                    (_, _, "") if head.title.is_none() => (head.name, behind) = (Some(word), "name"),
                    (_, w, "") if names::name_behind(keyword, &line[start..]) == Some(w) => {
                        (head.name, behind) = (Some(word), "name");
                    }
                    _ => more = true,
                }
            }
            Piece::Comment(_) => return None,
        }
    }
    // a study is nothing but its lines; what an engine or a step begins with, a word too many may change
    head.unsure = more || matches!(behind, "=" | "from") || keyword == "engine" && head.name.is_none();
    brace.map(|at| (head, at))
}

/// Signs that are written between the parts of a first line elsewhere.
const SIGNS: [char; 9] = ['=', ':', ',', ';', '<', '>', '~', '!', '$'];

/// Whether one word follows before the block: a title without its quotes may hold any of those words, before others.
fn is_last(rest: &str) -> bool {
    rest.split('{').next().is_some_and(|rest| rest.split_whitespace().count() == 1)
}

/// What stands in the single quotes that a text begins with.
fn single_quoted(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('\'')?;
    let inner = &rest[..closing(rest)?];
    (!inner.contains(['"', '\\'])).then_some(inner)
}

/// How long a pair of braces is behind which the block begins on the same line, and which holds no line of a block.
fn junk(line: &str) -> Option<usize> {
    let close = line.find('}')?;
    let inner = line[1..close].trim();
    let plain = inner.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'$'));
    (plain && line[close + 1..].contains('{')).then_some(close + 1)
}

/// A name as it should be written.
pub(super) fn spelled(word: &str) -> Option<String> {
    let snake = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = word.to_ascii_lowercase().replace(['-', '.'], "_");
    let right = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(snake);
    (right && !words::RESERVED.contains(&name.as_str())).then_some(name)
}

/// How the names begin that stand for those that blocks lack.
pub(in crate::lang) const UNNAMED: &str = "unnamed_";

/// A name that the file does not know and that no other place of it gets.
pub(super) fn stand_in(file: &str, at: usize) -> String {
    let name = format!("{UNNAMED}{at}");
    let behind = |(from, _): (usize, &str)| {
        file.as_bytes()[from + name.len()..].iter().take_while(|b| **b == b'_').count()
    };
    match file.match_indices(&name).map(behind).max() {
        Some(most) => format!("{name}{}", "_".repeat(most + 1)),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_put_right_and_what_follows_keeps_its_place() {
        let read = |text: &str| {
            let (right, base) = meant(text, 100, text, Span::new(FileId(0), 105..106), &mut Vec::new())?;
            assert_eq!(base + right.rfind('{')?, 100 + text.rfind('{')?, "{right}");
            Some(
                right
                    .replacen('{', " {", 1)
                    .split(' ')
                    .filter(|w| !w.is_empty())
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        };
        for (text, right) in [
            ("study \"A b\" {\n}", "study unnamed_100 \"A b\" {\n}"),
            ("study S { }", "study s { }"),
            ("study s T { }", "study s { }"),
            ("study my-study \"unclosed {\n}", "study my_study \"unclosed\" {\n}"),
            ("engine = vllm {", "engine unnamed_100 = vllm {"),
            ("engine here vllm {", "engine here = unnamed_100_base {"),
            ("engine here(vllm) {", "engine here = vllm {"),
            ("engine here My vLLM = vllm {", "engine here = vllm {"),
            ("engine here \"a\": vllm: {", "engine here \"a\" = vllm {"),
            ("profile p: {", "profile p {"),
            ("study s Title {n} {", "study s {"),
            ("track v: \"V\" {", "track v \"V\" {"),
            ("step a after b {", "step a from unnamed_100_base {"),
            ("step a from {", "step a from unnamed_100_base {"),
            ("engine \"vLLM\" here = vllm {", "engine here \"vLLM\" = vllm {"),
            ("step \"A b\" a from b {", "step a \"A b\" from b {"),
            ("engine here \"a vLLM = vllm {", "engine here \"a vLLM\" = vllm {"),
            ("engine here = vllm \"vLLM\" {", "engine here \"vLLM\" = vllm {"),
            ("step b-1 from a-1 when x > 1 { vary y }", "step b_1 from a_1 when x > 1 { vary y }"),
            ("step \"unnamed_100\" { vary y }", "step unnamed_100_ \"unnamed_100\" { vary y }"),
        ] {
            assert_eq!(read(text).as_deref(), Some(right), "{text}");
        }
        for text in ["axis A = {", "study S"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
