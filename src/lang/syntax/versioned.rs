//! A version behind what an engine derives from, as packages and images are named: `engine v = vllm@0.17.1 {`, `vllm==0.17.1`, `vllm:v0.17.1`; and
//! behind the engine that a study starts from.

use std::ops::Range;

use super::ast::{EngineLine, EngineLineKind, Item, Text};
use super::hints::Hint;
use super::reread::reread;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// The engine that was meant, and what is said of its first line. `text` begins at `at` of the file.
pub(super) fn engine(
    id: FileId,
    at: usize,
    text: &str,
    sink: &mut Sink,
    broken: &mut Vec<String>,
) -> Option<Item> {
    let (place, version) = find(text)?;
    let span = |range: Range<usize>| Span::new(id, at + range.start..at + range.end);
    let mut plain = text.to_owned();
    plain.replace_range(place.clone(), &" ".repeat(place.len()));
    let item = reread(id, &plain, at, sink, broken)?;
    let Item::Engine(mut engine) = item else { return None };
    let states = |line: &EngineLine| matches!(line.kind, EngineLineKind::Version(_));
    let written = text[place.clone()].trim();
    let message = format!("`{written}` was not expected here");
    let here = span(place.end - text[place.clone()].trim_start().len()..place.end);
    let mut d = Diagnostic::new(Code::Unexpected, here, message)
        .label("a version")
        .help(format!("a version is a setting of the engine: write `version \"{version}\"` in its block"));
    if !engine.lines.iter().any(states) {
        let brace = place.end + text[place.end..].find('{')? + 1;
        let rest = text[brace..].lines().next().unwrap_or_default();
        if rest[..start_of_comment(rest).unwrap_or(rest.len())].trim().is_empty() {
            let line = format!("\n    version \"{version}\"");
            d = d.edit(span(place.clone()), "").edit(span(brace..brace), line);
        }
        let kind = EngineLineKind::Version(Text { value: version.to_owned(), span: here });
        engine.lines.insert(0, EngineLine { kind, span: here });
    }
    sink.push(d);
    Some(Item::Engine(engine))
}

/// Where what stands between the parent of an engine and its block says a version, and which.
fn find(text: &str) -> Option<(Range<usize>, &str)> {
    let head = text.strip_prefix("engine ").and_then(|_| text.lines().next())?;
    let head = &head[..head.find('{')?];
    // a title, if there is one, stands before the first sign of equality, and may hold one
    let before = head.find('=')?;
    let titled = head[..before].find('"').map_or(Some(0), |open| {
        let close = open + 1 + head[open + 1..].find('"')?;
        Some(close + 1)
    })?;
    let behind = titled + head[titled..].find('=')? + 1;
    let parent = behind + head[behind..].len() - head[behind..].trim_start().len();
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let start = parent + head[parent..].find(|c| !name(c))?;
    let place = start..head.trim_end().len();
    let version = version(head.get(place.clone())?).filter(|_| start > parent)?;
    Some((place, version))
}

/// The version that is all a text says, in whatever signs.
fn version(said: &str) -> Option<&str> {
    let sign = |c: char| !c.is_ascii_alphanumeric();
    let said = said.trim_matches(sign);
    let said = said.strip_prefix("version").unwrap_or(said).trim_start_matches(sign);
    let version = said.strip_prefix('v').unwrap_or(said);
    let spelled = version.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_'));
    let sure = version.starts_with(|c: char| c.is_ascii_digit()) && version.contains('.');
    (sure && spelled).then_some(version)
}

/// `baseline vllm@0.17.1`: how to name the engine of a version, for what stands behind the name (of the chunk, a place in it).
pub(super) fn baseline(chunk: &str, token: &Range<usize>) -> Option<Hint> {
    let line = chunk[..token.start].rsplit('\n').next()?;
    let engine = line.trim_start().strip_prefix("baseline")?.trim();
    let name = !engine.is_empty() && engine.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let rest = chunk[token.start..].split('\n').next()?;
    let version = version(&rest[..start_of_comment(rest).unwrap_or(rest.len())]).filter(|_| name)?;
    let help = format!(
        "a version is a setting of an engine: declare `engine NAME = {engine} {{ version \"{version}\" }}` and write `baseline NAME`"
    );
    Some(Hint { help, edit: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_however_it_is_written() {
        for tail in [
            "@0.17.1",
            ":0.17.1",
            "==0.17.1",
            "-0.17.1",
            " 0.17.1",
            " \"0.17.1\"",
            ":v0.17.1",
            "(\"0.17.1\")",
            " version \"0.17.1\"",
        ] {
            for head in ["engine v = vllm", "engine v \"V = x\" = vllm", "engine v \"V\"=vllm"] {
                let text = format!("{head}{tail} {{\n}}");
                let found = find(&text).map(|(place, version)| (&text[place], version));
                assert_eq!(found, Some((tail, "0.17.1")), "{text}");
            }
        }
        for text in [
            "engine v = vllm {\n}",
            "engine v \"1.2\" {",
            "engine v \"A = b",
            "engine v \"A = b\" {",
            "engine v = vllm2 {",
            "engine v = vllm x {",
            "profile p = chat@1.2 {",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
