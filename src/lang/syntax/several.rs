//! Several things where one stands, or the other way round: flags with a sign between them, a second profile of a requirement, versions
//! without a comma.

use std::ops::Range;

use super::hints::Hint;

/// `require … on q, p`, `versions "1.0" "1.1"`, `… via venv ~/venvs/v`
pub(super) fn one_each(chunk: &str, token: &Range<usize>, word: &str) -> Option<Hint> {
    let (before, setting) = (chunk[..token.start].trim_end(), chunk.split([' ', '\t']).next()?);
    let rest = chunk[token.start..].split(['\n', '#']).next()?.trim_end();
    match (setting, word) {
        ("require", "," | "and") if before.contains(" on ") => {
            let limit = before.rsplit_once(" on ")?.0.split_whitespace().collect::<Vec<_>>().join(" ");
            let more = rest[word.len()..].trim().split([',', ' ']).next()?;
            let help =
                format!("a requirement is about one profile: write `{limit} on {more}` on a line of its own");
            Some(Hint { help, edit: None })
        }
        ("baseline", "," | "and") => {
            let one = before["baseline".len()..].trim();
            let more = rest[word.len()..].trim();
            let help = format!(
                "a study has one baseline; engines are held against each other in a step: `vary engine[{one}, {more}]`"
            );
            Some(Hint { help, edit: None })
        }
        ("versions", _) if word.starts_with('"') && before.ends_with('"') => {
            let at = before.len();
            let texts: Vec<&str> = rest.split_whitespace().collect();
            let quoted = |t: &&str| t.len() > 2 && t.starts_with('"') && t.ends_with('"');
            if texts.len() > 1 && texts.iter().all(quoted) {
                let edit = Some((at..token.start + rest.len(), format!(", {}", texts.join(", "))));
                return Some(Hint { help: "write a comma between each two of them".to_owned(), edit });
            }
            Some(Hint { help: "write a comma between them".to_owned(), edit: Some((at..at, ",".to_owned())) })
        }
        ("engine", path)
            if (matches!(path, "~" | ".") || path.contains('/'))
                && before.contains(" via ")
                && !rest.contains(['"', '\\', '{', '}', ' ']) =>
        {
            let right = format!("\"{rest}\"");
            let at = token.start..token.start + rest.len();
            Some(Hint { help: format!("a path is a text: write {right}"), edit: Some((at, right)) })
        }
        _ => None,
    }
}

/// `axis b = --eager + --async`: each is a point of its own, or all are one.
pub(super) fn alternatives(chunk: &str, token: &Range<usize>, word: &str) -> Option<Hint> {
    let (line, after) = (chunk.lines().next()?, &chunk[token.end..]);
    let (head, body) = line.split(" #").next()?.split_once(" = ").filter(|_| line.starts_with("axis "))?;
    let next = after.trim_start();
    // a comma without a space is one of a value
    let spaced = word != "," || after.starts_with(' ');
    if !spaced || !matches!(word, "+" | "," | "*") || !next.starts_with('-') || head.contains('"') {
        return None;
    }
    let flags: Vec<&str> = body
        .split(|c: char| c.is_whitespace() || matches!(c, '+' | ',' | '*'))
        .filter(|w| !w.is_empty())
        .collect();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.".contains(c);
    let each = flags.len() > 1 && flags.iter().all(|f| f.starts_with('-') && f.chars().all(plain));
    let name = |flag: &str| {
        let name = flag.trim_start_matches('-').to_ascii_lowercase();
        name.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
    };
    let points: Vec<String> = flags.iter().map(|f| format!("{}: {f}", name(f))).collect();
    let set = "what one point sets stands side by side, without a sign";
    Some(told(if each {
        format!("one or the other are points: `{{ {} }}`; {set}", points.join(", "))
    } else {
        format!("one or the other are points: `{{ a: --flag, b: --other=1 }}`; {set}")
    }))
}

fn told(help: impl Into<String>) -> Hint {
    Hint { help: help.into(), edit: None }
}
