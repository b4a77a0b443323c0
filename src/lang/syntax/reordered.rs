//! Words of a line that stand in another order than theirs: `require on chat p99(ttft) < 2s`, `step x { vary a } from best`.

use std::ops::Range;

use super::at::{Line, mend};
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

/// The remedy for a token (of the chunk, a place in it) that stands before what it belongs behind, or the other way round.
pub(super) fn slip(chunk: &str, token: &Range<usize>) -> Option<Hint> {
    let line = Line::of(chunk, token, &chunk[token.clone()]);
    line.requests_first().or_else(|| line.profile_before_on()).or_else(|| line.parent_first())
}

fn is_name(word: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(inner)
}

impl Line<'_> {
    /// `prune late "too late" after 100 requests when p90(ttft) > 2s`
    fn requests_first(&self) -> Option<Hint> {
        let (count, condition) = self.rest.strip_prefix("after ")?.split_once(" when ")?;
        let counts = count.trim_end().ends_with(" requests") && self.first() == "prune";
        let whole = condition.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '%' | ')' | '"'));
        (counts && whole && !self.before.contains(" when ")).then(|| {
            let count = format!("after {}", count.trim());
            let right = format!("when {} {count}", condition.trim_start());
            let help = format!("`{count}` stands behind the condition: write `{right}`");
            mend(help, self.token.start..self.token.start + self.rest.len(), right)
        })
    }

    /// `confirm summarize on chat`
    fn profile_before_on(&self) -> Option<Hint> {
        let (first, others) = self.rest.split_once(" on ")?;
        let setting = matches!(self.before, "confirm" | "curve");
        let named = is_name(first.trim()) && others.split(',').all(|name| is_name(name.trim()));
        (setting && named).then(|| {
            let right = format!("on {}, {}", first.trim(), others.trim());
            let help = format!("profiles stand behind `on`: write `{} {right}`", self.before);
            mend(help, self.token.start..self.token.start + self.rest.len(), right)
        })
    }

    /// `engine vllm here "vLLM" {`
    fn parent_first(&self) -> Option<Hint> {
        let (keyword, parent) = self.before.split_once(' ')?;
        let derives = matches!(keyword, "engine" | "profile") && is_name(parent.trim());
        let title = self.rest.strip_prefix(self.word)?.trim_start();
        let inner = title.strip_prefix('"')?.split('"').next()?;
        let len = inner.len() + 2;
        let opens = title.get(len..)?.trim_start().starts_with('{') && !inner.contains('\\');
        (derives && is_name(self.word) && opens).then(|| {
            let end = self.token.start + self.rest.len() - title.len() + len;
            let right = format!("{} \"{inner}\" = {}", self.word, parent.trim());
            let help = format!("what it derives from stands behind `=`: write `{keyword} {right}`");
            mend(help, self.end - parent.trim().len()..end, right)
        })
    }
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
    fn parts_of_a_line_change_places() {
        for (chunk, word, right) in [
            (
                "prune l \"late\" after 9 requests when gain < 1%",
                "after",
                "prune l \"late\" when gain < 1% after 9 requests",
            ),
            ("confirm code on chat", "code", "confirm on code, chat"),
            ("engine vllm here \"vLLM\" {", "here", "engine here \"vLLM\" = vllm {"),
        ] {
            let at = chunk.find(word).unwrap_or_default();
            let edit = slip(chunk, &(at..at + word.len())).and_then(|h| h.edit);
            let mended = edit.map(|(at, text)| format!("{}{text}{}", &chunk[..at.start], &chunk[at.end..]));
            assert_eq!(mended.as_deref(), Some(right), "{chunk}");
        }
        let text = "engine here vllm {";
        assert!(slip(text, &(12..16)).is_none());
    }

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
