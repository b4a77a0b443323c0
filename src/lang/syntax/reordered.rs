//! Words of a line that stand in another order than theirs: `require on chat p99(ttft) < 2s`, `step x { vary a } from best`.

use std::ops::Range;

use super::blocks::first_word;
use super::hints::Hint;
use crate::lang::comments::start_of_comment;

/// The place and the words in their order, where a profile stands before what is asked of it. `at` is where its `on` begins.
pub(super) fn profile_first(text: &str, at: usize) -> Option<(Range<usize>, String)> {
    let word = text[..at].rsplit('\n').next()?.trim();
    let rest = code_of_line(&text[at..]);
    let asked = rest.strip_prefix("on ")?.trim_start();
    let profile = first_word(asked);
    let expression = asked[profile.len()..].trim();
    let sure = matches!(word, "maximize" | "minimize" | "require")
        && !profile.is_empty()
        && expression.starts_with(|c: char| c.is_ascii_alphabetic())
        && !expression.contains(['{', '}']);
    sure.then(|| (at..at + rest.len(), format!("{expression} on {profile}")))
}

/// `step x { vary a } from best`, `} when …`: what stands before the braces of a step, for a token behind them.
pub(super) fn behind_its_braces(chunk: &str, token: &Range<usize>) -> Option<Hint> {
    let word = &chunk[token.clone()];
    let line = chunk[..token.start].rfind('\n').map_or(0, |n| n + 1);
    let before = chunk[line..token.start].trim();
    let rest = code_of_line(&chunk[token.start..]);
    if word == "by" {
        return behind_its_axes(chunk, token, rest);
    }
    if !matches!(word, "from" | "when") || first_word(before) != "step" || !before.ends_with('}') {
        return None;
    }
    let (head, block) = before.split_at(before.find('{')?);
    let help = format!("`{word}` stands before the braces: write `{} {rest} {block}`", head.trim_end());
    Some(Hint { help, edit: None })
}

/// `{ vary a } by grid`: in which order a step tries things stands within its braces.
fn behind_its_axes(chunk: &str, token: &Range<usize>, rest: &str) -> Option<Hint> {
    let block = chunk[..token.start].trim_end().strip_suffix('}')?;
    let varied = block.trim_end();
    let line = varied.rsplit(['\n', '{']).next()?.trim();
    let known = matches!(rest, "by grid" | "by staged" | "by guided");
    let help = format!("`by` stands within the braces, behind what is varied: write `{line} {rest}`");
    let alone = line.starts_with("vary ") && !line.contains(" by ") && !line.contains('#');
    (chunk.starts_with("step ") && alone && known).then(|| Hint {
        help,
        edit: Some((
            varied.len()..token.start + rest.len(),
            format!(" {rest}{}", &chunk[varied.len()..=block.len()]),
        )),
    })
}

/// A line up to its comment.
fn code_of_line(text: &str) -> &str {
    let line = text.split('\n').next().unwrap_or_default();
    line[..start_of_comment(line).unwrap_or(line.len())].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_put_in_their_order() {
        let first = |text: &str| Some(profile_first(text, text.find("on ")?)?.1);
        assert_eq!(first("minimize on chat p50(tpot) # so").as_deref(), Some("p50(tpot) on chat"));
        assert_eq!(first("require on chat p99(ttft) < 2s").as_deref(), Some("p99(ttft) < 2s on chat"));
        assert_eq!(first("confirm on chat other"), None);
        assert_eq!(first("maximize on chat"), None);
        let text = "step x { vary a } from e # so";
        let hint = behind_its_braces(text, &(18..22)).map(|h| h.help).unwrap_or_default();
        assert!(hint.ends_with("write `step x from e { vary a }`"), "{hint}");
        let text = "step x { vary a } by grid # so";
        let edit = behind_its_braces(text, &(18..20)).and_then(|h| h.edit);
        assert_eq!(edit, Some((15..25, " by grid }".to_owned())));
    }
}
