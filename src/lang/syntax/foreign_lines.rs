//! Lines of other formats and languages: the fences of markdown around a study that was pasted, variables as a list of YAML, the `end` of a block.

use std::ops::Range;

use super::brace_words::END;
use super::lexical::depth;
use super::nesting::indent;
use super::twice::{blank, lines};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Sink, short};
use crate::lang::source::{FileId, Span};

/// Nobody pastes more of them; each makes a fix longer.
const MOST: usize = 64;

/// The text without such lines, all else in its place; they are told of.
pub fn without(id: FileId, text: &mut String, sink: &mut Sink) {
    fences(id, text, sink);
    folded(id, text, sink);
    ends(id, text, sink);
    behind_ends(id, text, sink);
    variables(id, text, sink);
}

/// `}s`, `{;`, `,;`: a letter or two that slipped behind the end of a block, a sign behind the beginning of one or behind a point's comma,
/// and `};`, `} // later` at the end of a declaration.
fn behind_ends(id: FileId, text: &mut String, sink: &mut Sink) {
    let mut found = 0;
    for line in lines(text) {
        let code = text[line.clone()].trim_end();
        if code.strip_prefix('}').is_some_and(|rest| rest.trim_start().starts_with("//")) && found < MOST {
            found += 1;
            let sign = line.start + code.find("//").unwrap_or_default();
            let span = Span::new(id, sign..sign + 2);
            let d = Diagnostic::new(Code::Unexpected, span, "`//` was not expected here");
            sink.push(d.label("a comment?").help("comments begin with `#`").edit(span, "#"));
            blank(text, sign..line.start + code.len());
            continue;
        }
        let letters = |s: &&str| (1..=2).contains(&s.len()) && s.bytes().all(|b| b.is_ascii_lowercase());
        let behind_end = code.trim_start().strip_prefix('}').filter(letters);
        let too_many = matches!(code, "};" | "},") || ["{;", "{,", ",;"].iter().any(|s| code.ends_with(s));
        let sign = too_many.then(|| &code[code.len() - 1..]);
        let Some(slip) = behind_end.or(sign).filter(|_| found < MOST && !code.contains('#')) else {
            continue;
        };
        found += 1;
        let end = line.start + code.len();
        let place = end - slip.len()..end;
        let span = Span::new(id, place.clone());
        let d = Diagnostic::new(Code::Unexpected, span, format!("`{slip}` was not expected here"));
        let label = if slip.starts_with(|c: char| c.is_ascii_lowercase()) {
            "behind the end of a block"
        } else {
            "one too many"
        };
        sink.push(d.label(label).help("remove it").edit(span, ""));
        blank(text, place);
    }
}

/// One mistake for all of them: they come in pairs.
fn fences(id: FileId, text: &mut String, sink: &mut Sink) {
    let fence = |line: &Range<usize>| {
        let language = text[line.clone()].trim().strip_prefix("```");
        language.is_some_and(|l| l.bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    let found: Vec<Range<usize>> = lines(text).into_iter().filter(fence).collect();
    let Some(first) = found.first().filter(|_| found.len() <= MOST) else { return };
    let here = Span::new(id, first.clone());
    let d = Diagnostic::new(Code::NotADeclaration, here, "a fence of markdown begins no declaration");
    let d = d.label("around a study in a text").help("remove the lines with ```");
    let removed = found.iter().fold(d, |d, line| {
        let end = line.end + usize::from(text[line.end..].starts_with('\n'));
        d.edit(Span::new(id, line.start..end), "")
    });
    sink.push(removed);
    for line in found {
        blank(text, line);
    }
}

/// `end`, as blocks end in other languages: below a block that its `}` ends it is one too many, else it stands for that.
fn ends(id: FileId, text: &mut String, sink: &mut Sink) {
    for line in lines(text) {
        let word = text[line.clone()].trim();
        if !END.contains(&word.to_ascii_lowercase().as_str()) {
            continue;
        }
        let start = line.start + text[line.clone()].find(word).unwrap_or_default();
        let place = start..start + word.len();
        let span = Span::new(id, place.clone());
        let d = Diagnostic::new(Code::NotADeclaration, span, format!("`{word}` ends no block"));
        let d = d.label("of another language?");
        let open = depth(&text[..line.start]) > 0 && depth(text) > 0;
        blank(text, place.clone());
        if open {
            sink.push(d.help("a block ends with `}`: write that").edit(span, "}"));
            text.replace_range(place.start..=place.start, "}");
        } else {
            let whole = line.start..line.end + usize::from(text[line.end..].starts_with('\n'));
            sink.push(d.help("a block ends with its `}`: remove it").edit(Span::new(id, whole), ""));
        }
    }
}

/// `note >` or `note: |` above lines that are further in: a text of YAML, read as one in quotes.
fn folded(id: FileId, text: &mut String, sink: &mut Sink) {
    const TEXTS: [&str; 6] = ["note", "model", "version", "serve", "image", "probe"];
    let all = lines(text);
    let mut found = Vec::new();
    for (n, head) in all.iter().enumerate() {
        let line = &text[head.clone()];
        let sign = line.trim_end().rsplit([' ', '\t', ':']).next().unwrap_or_default();
        let word = line.trim().trim_end_matches(sign).trim_end().trim_end_matches(':').trim_end();
        if !matches!(sign, ">" | "|" | ">-" | "|-" | ">+" | "|+") || !TEXTS.contains(&word) {
            continue;
        }
        let within = |l: &&Range<usize>| {
            let line = &text[(*l).clone()];
            indent(line) > indent(&text[head.clone()]) && !line.trim().is_empty()
        };
        let block: Vec<&Range<usize>> = all[n + 1..].iter().take_while(within).collect();
        let Some(last) = block.last() else { continue };
        let parts: Vec<&str> = block.iter().map(|l| text[(*l).clone()].trim()).collect();
        let at = head.start + indent(line) + word.len();
        let sign_at = head.start + line.trim_end().len() - sign.len();
        let gap = if sign.starts_with('|') { "\\n" } else { " " };
        let right = parts.join(gap).replace('"', "\\\"");
        let plain = parts.join(" ").replace('"', "'");
        let here = Span::new(id, sign_at..sign_at + sign.len());
        let d = Diagnostic::new(Code::Unexpected, here, format!("`{sign}` was not expected here"));
        let d = d.label("a text of YAML?");
        let help = format!("a text stands in double quotes: write `{word} \"{}\"`", short(&right));
        sink.push(d.help(help).edit(Span::new(id, at..last.end), format!(" \"{right}\"")));
        found.push((at..last.end, plain));
    }
    for (place, plain) in found {
        let width = place.len();
        text.replace_range(place, &format!("{:width$}", format!(" \"{plain}\""), width = width));
    }
}

/// `env:` above `- NAME=value` or `NAME: value`.
fn variables(id: FileId, text: &mut String, sink: &mut Sink) {
    let all = lines(text);
    let mut lost = Vec::new();
    for (n, head) in all.iter().enumerate() {
        let code = &text[head.clone()];
        if !matches!(code.trim(), "env:" | "environment:") {
            continue;
        }
        let below = all[n + 1..].iter().map_while(|line| Some((line, variable(&text[line.clone()])?)));
        let set: Vec<(&Range<usize>, String)> = below.take(MOST).collect();
        let Some((end, first)) = set.last().zip(set.first()).map(|((at, _), (_, first))| (at.end, first))
        else {
            continue;
        };
        let start = head.start + code.len() - code.trim_start().len();
        let indent = format!("\n{}", &text[head.start..start]);
        let right = set.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join(&indent);
        let word = Span::new(id, start..start + code.trim().len());
        let message = format!("`{}` begins no list here", code.trim());
        let d = Diagnostic::new(Code::Unexpected, word, message).label("a list of YAML?");
        let help = format!("each variable has a line of its own: write `{first}`");
        sink.push(d.help(help).edit(Span::new(id, start..end), right));
        lost.push(head.start..end);
    }
    for place in lost {
        blank(text, place);
    }
}

/// The line that sets a variable, of one that does so in YAML.
fn variable(line: &str) -> Option<String> {
    let code = line.trim();
    let code = code.strip_prefix("- ").unwrap_or(code);
    let end = code.find(['=', ':'])?;
    let (name, value) = (code[..end].trim_end(), code[end + 1..].trim());
    let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let named = name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(upper);
    (named && !value.is_empty() && !value.contains(['"', '\'', '{', '#', ' ', ',']))
        .then(|| format!("env {name}={value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_yaml_are_told_from_settings() {
        let of = |line: &str| variable(line);
        assert_eq!(of("  - VLLM_LOGGING=1").as_deref(), Some("env VLLM_LOGGING=1"));
        assert_eq!(of("  VLLM_LOGGING: info").as_deref(), Some("env VLLM_LOGGING=info"));
        for other in ["  --max-num-seqs=64", "  version \"1\"", "  - name: x", "}", "  A: {\"b\": 1}"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
