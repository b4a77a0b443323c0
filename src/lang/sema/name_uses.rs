//! How often a text uses a name. A word that is the name of a rule, a step or a point, or that stands in a title, a note or a flag's value,
//! is no use of a param, a metric, an axis, an engine or a profile that is called so.

use crate::lang::comments::start_of_comment;
use crate::lang::syntax::Block;

/// What begins a line that gives a name, which stands right behind it.
const NAMING: [&str; 9] = ["axis", "engine", "metric", "param", "profile", "prune", "site", "step", "study"];

pub(super) fn count(text: &str, name: &str) -> usize {
    text.lines().map(|line| in_line(&line[..start_of_comment(line).unwrap_or(line.len())], name)).sum()
}

/// Whether some step is called so.
pub(super) fn names_a_step(text: &str, name: &str) -> bool {
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let steps = text.lines().filter_map(|line| line.split_once("step ")).map(|(_, rest)| rest.trim_start());
    steps.into_iter().any(|rest| rest.split(|c| !in_name(c)).next() == Some(name))
}

fn in_line(line: &str, name: &str) -> usize {
    let inserted = format!("{{{name}}}");
    let (mut plain, mut texts) = (String::new(), 0);
    for (n, part) in line.split('"').enumerate() {
        if n % 2 == 0 {
            plain.push_str(part);
        } else {
            texts += part.matches(&inserted).count();
            // what stands on both sides of a text is apart
            plain.push_str("\"\"");
        }
    }
    texts + in_plain(&plain, name)
}

/// In a line without the texts in it.
fn in_plain(line: &str, name: &str) -> usize {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let places = line.match_indices(name).map(|(at, _)| (&line[..at], &line[at + name.len()..]));
    let alone = places.filter(|(before, behind)| {
        !before.ends_with(|c| in_word(c) || matches!(c, '-' | '.'))
            && !behind.starts_with(|c| in_word(c) || c == '-')
    });
    let other = |before: &str, behind: &str| {
        is_given(before, behind) || is_value(before) || is_setting(before, name, behind)
    };
    alone.filter(|(before, behind)| !other(before, behind)).count()
}

/// Whether the word between the two is that of a setting, which begins a line or what stands in a brace: `note "idle at night"`.
fn is_setting(before: &str, word: &str, behind: &str) -> bool {
    let begins = before.trim().is_empty() || before.trim_end().ends_with('{');
    let value = behind.trim_start();
    let has_value = value.len() < behind.len()
        && value.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '"' | '-'));
    begins && has_value && Block::ALL.iter().any(|block| block.settings().1.contains(&word))
}

/// Whether the word between the two is the name of what the line, or a point in it, declares.
fn is_given(before: &str, behind: &str) -> bool {
    let head = before.trim();
    // a step may stand behind the brace of its track
    let word = head.rsplit(|c: char| c.is_whitespace() || c == '{').next().unwrap_or_default();
    let begins = |rest: &str| rest.is_empty() || rest.ends_with('{');
    let declares = NAMING.contains(&word) && begins(head[..head.len() - word.len()].trim_end());
    let behind = behind.trim_start().trim_start_matches("\"\"").trim_start();
    declares || behind.starts_with(':') && (head.is_empty() || head.ends_with(['{', ',']))
}

/// Whether a flag is set to what follows: `--load-format=slow`, `--load-format=[fast, slow`.
fn is_value(before: &str) -> bool {
    let flag = before.rsplit_once("--").map(|(_, flag)| flag);
    flag.and_then(|flag| flag.split_once('=')).is_some_and(|(name, value)| {
        let is_flag = !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        is_flag && (value.is_empty() || value.starts_with(['[', '{']) && !value.contains([']', '}']))
    })
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn names_titles_and_texts_are_no_uses() {
        for line in [
            "prune slow \"slow\" when startup > 20min",
            "note \"slow\"",
            "    step slow { vary a }",
            "track vllm { step slow { vary a } }",
            "axis a \"slow\" = --load-format=slow",
            "axis a = --load-format=[fast, slow]",
            "axis a = { slow: --x, other: --y }",
            "    slow \"Slow\": --x",
            "require p99(tpot) <= so_slow # slow",
        ] {
            assert_eq!(count(line, "slow"), 0, "{line}");
        }
        assert_eq!(count("    note \"at night\"\nstep a { note \"x\" }\nmaximize ttft on note", "note"), 1);
        assert_eq!(count("requests 900\nrequire failed < 0.1 *\n    requests / 2", "requests"), 1);
    }

    #[test]
    fn what_reads_or_inserts_a_name_uses_it() {
        for line in [
            "require p99(tpot) <= slow",
            "axis a = --load-format=\"{slow}\"",
            "prune late \"slow\" when p99(tpot) > 2 * slow",
            "step a { vary slow[1, 2] }",
            "axis both = slow * fast",
            "baseline slow",
        ] {
            assert_eq!(count(line, "slow"), 1, "{line}");
        }
    }
}
