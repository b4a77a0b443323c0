//! A line that no rule of its block took: a setting that the block does not have, or what is wrong with the one that it begins with.

use super::blocks::{Block, elsewhere, first_word};
use super::brackets::{self, Doubled};
use super::expected::by_rule;
use super::habits::Axes;
use super::lexical;
use super::{
    flag_lines, glued, habits, headless, json_slips, loops, names, redirections, synonyms, wordless, words,
};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Sink, begun, did_you_mean, short};
use crate::lang::source::{FileId, Span};

/// Explains one bad line of a block. `base` is where the line begins in its file. Returns the settings that were probably meant.
pub fn line(
    id: FileId,
    block: Block,
    (text, as_axes): (&str, Axes),
    base: usize,
    sink: &mut Sink,
) -> Vec<&'static str> {
    let word = first_word(text);
    let (_, known) = block.settings();
    if let Some(found) = lexical::invisible(id, base, text) {
        sink.push(found);
        return known.to_vec();
    }
    if let Some(found) = brackets::doubled_block(id, base, text) {
        sink.push(found);
        return settings_named(block, &text[1..]);
    }
    if let Some(found) = names::missing(id, base, text).filter(|d| {
        let mended = !d.edits.is_empty();
        matches!(word, "step" | "track") && (mended || text[word.len()..].starts_with('{'))
    }) {
        sink.push(found);
        return settings_named(block, text);
    }
    if let Some(found) = unknown_setting(id, block, (text, as_axes), base) {
        sink.push(found);
        return match (block, word) {
            (Block::Step, "by") => vec!["vary"],
            // what `vllm bench serve` calls a load's settings: which of them are meant, the help says
            (Block::Profile, _) if habits::line(block, text, as_axes).is_some() => {
                words::PROFILE_SETTINGS.to_vec()
            }
            // a text alone
            (Block::Study, _) if text.starts_with('"') => vec!["model", "gpus"],
            (Block::Engine, _) if text.starts_with('"') => vec!["version", "serve"],
            // `get "/health" within 20min`
            (Block::Engine, "get" | "post") => vec!["ready", "metrics", "reset", "stop"],
            // `--model "org/M"`
            _ if text.starts_with('-') => {
                let flag = text[..shown_len(text)].trim_start_matches('-');
                known.iter().copied().filter(|k| *k == flag).collect()
            }
            // a setting without its word
            (Block::Study, word) if word.starts_with(|c: char| c.is_ascii_digit()) => {
                if text.contains(" of ") { vec!["gpus"] } else { vec!["gpus", "repeat", "adopt", "budget"] }
            }
            // `256 .. 1Ki`: the value of whatever is missing
            (Block::Profile, word) if word.starts_with(|c: char| c.is_ascii_digit()) => {
                words::PROFILE_SETTINGS.to_vec()
            }
            // `total_tps on chat`
            (Block::Study, _) if text.contains(" on ") => vec!["maximize", "minimize"],
            // `on chat maximize total_tps`
            (Block::Study, "on") if !settings_named(block, text).is_empty() => settings_named(block, text),
            // `first { vary seqs }`
            (Block::Study, _) if text.contains("vary ") => vec!["step"],
            (Block::Step, _)
                if as_axes == Axes::Stray && did_you_mean(word, known.iter().copied()).is_none() =>
            {
                Vec::new()
            }
            // axes without their word, as in `step a { seqs * batched }`
            (Block::Step, _) if did_you_mean(word, known.iter().copied()).is_none() => vec!["vary"],
            // nobody knows which of a load's settings this was to be
            (Block::Profile, _) if did_you_mean(word, known.iter().copied()).is_none() => known.to_vec(),
            _ => {
                let near = did_you_mean(word, known.iter().copied());
                let near = near.or_else(|| begun(word, known.iter().copied()));
                near.into_iter().chain(synonyms::settings(block, word)).collect()
            }
        };
    }
    let found = flag_lines::without_word(id, block, text, base)
        .or_else(|| lexical::mistake(id, base, text))
        .or_else(|| Some(Doubled::find(text)?.diagnostic(id, base)))
        .or_else(|| brackets::lone(id, base, text))
        .unwrap_or_else(|| by_rule(id, block.rule(), text, base, known));
    // what is told last is what the line is read again by
    json_slips::others(id, block.rule(), text, base, &found, sink);
    sink.push(found);
    settings_named(block, text)
}

/// The settings whose words stand in a text: they were meant, whatever else is wrong.
pub fn settings_named(block: Block, text: &str) -> Vec<&'static str> {
    let written: Vec<&str> = words_of(text).collect();
    // `gpus 1 baselinev`
    let glued =
        |word: &str, k: &str| word.strip_prefix(k).is_some_and(|rest| !rest.is_empty() && rest != "s");
    let named = |k: &&str| written.contains(k) || written.iter().skip(1).any(|word| glued(word, k));
    block.settings().1.iter().copied().filter(named).collect()
}

/// The words of a line that are no text, up to the block that it opens: several settings may stand on it.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let plain = text.split('"').step_by(2);
    let open = plain.scan(true, |open, part| {
        let shown = open.then(|| part.split('{').next().unwrap_or_default());
        *open &= !part.contains('{');
        shown
    });
    open.flat_map(|part| part.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')))
}

fn unknown_setting(
    id: FileId,
    block: Block,
    (text, as_axes): (&str, Axes),
    base: usize,
) -> Option<Diagnostic> {
    let word = first_word(text);
    let (what, known) = block.settings();
    // docker's way to set a variable
    let variable = text.starts_with("-e ");
    let takes_flags = block == Block::Engine && text.starts_with('-') && !variable;
    // `- repeat 2`, as in a list of YAML
    let listed = text.strip_prefix("- ").is_some_and(|rest| known.contains(&first_word(rest.trim_start())));
    let open = block == Block::Runner && !text.starts_with('-');
    if takes_flags || open || listed || known.contains(&word) {
        return None;
    }
    let redirection = || redirections::line(id, block, text, base);
    if let Some(found) = wordless::text(id, block, text, base).or_else(redirection) {
        return Some(found);
    }
    let len = habits::quoted_setting(block, text).map_or_else(|| shown_len(text), |key| key.len() + 2);
    let span = Span::new(id, base..base + len);
    let shown = &text[..len];
    let mut d =
        Diagnostic::new(Code::UnknownSetting, span, format!("{what} has no setting `{}`", short(shown)));
    if text.starts_with("-- ") {
        let sign = Span::new(id, base..base + 2);
        return Some(d.label("a comment?").help("comments begin with `#`").edit(sign, "#"));
    }
    let load = block == Block::Profile && habits::line(block, text, as_axes).is_some();
    if text.starts_with('-') && !load && !variable {
        let setting = shown.trim_start_matches('-');
        if known.contains(&setting) {
            let value = text[len..].trim_start_matches(['=', ' ']).lines().next().unwrap_or_default();
            let d = d
                .label("a flag")
                .help(format!("it is a setting here: write `{setting} {}`", value.trim_end()));
            let end = len + usize::from(text[len..].starts_with('='));
            return Some(d.edit(
                Span::new(id, base..base + end),
                format!("{setting}{}", if end > len { " " } else { "" }),
            ));
        }
        return Some(
            d.label("a flag").help("flags stand in an engine or in an axis; vary the axis in a step"),
        );
    }
    let snake = shown.replace('-', "_");
    if snake != shown && known.contains(&snake.as_str()) {
        return Some(d.suggest(&snake).help(format!("write `{snake}`")).edit(span, snake));
    }
    if block == Block::Engine
        && let Some(right) = taken_back(word)
    {
        return Some(d.suggest(right).help(format!("write `{right}`")).edit(span, right));
    }
    if loops::is_one(text) {
        return Some(loops::told(id, Code::UnknownSetting, base, text));
    }
    if let Some(found) = glued::line(id, block, text, base) {
        return Some(found);
    }
    // a declaration in a block is one, however much its word looks like a setting: `metric`, for `metrics`
    let near = did_you_mean(word, known.iter().copied()).filter(|_| !words::DECLARATIONS.contains(&word));
    // what stands in its braces says more than a word that looks alike
    if let Some(found) = headless::keyword(id, base, text, Some(block))
        && near.is_none_or(|n| found.edits.iter().all(|e| e.text.trim() != n))
    {
        return Some(found);
    }
    let near = near.is_some() && !(block == Block::Engine && habits::LISTS_OF_FLAGS.contains(&word));
    if block == Block::Engine && !near && is_flag_without_dashes(text, shown) {
        let right = format!("--{}", shown.replace('_', "-"));
        let d = d.label("a flag lacks its dashes");
        return Some(d.help(format!("a flag is typed as in a shell: write `{right}=…`")).edit(span, right));
    }
    if let Some((right, help)) = habits::line(block, text, as_axes).filter(|_| !near) {
        let d = d.label("unknown").help(help);
        let first_line = text.lines().next().unwrap_or_default();
        let end = first_line.find(" #").unwrap_or(first_line.len());
        let whole = Span::new(id, base..base + first_line[..end].trim_end().len());
        return Some(match right {
            Some(right) => d.edit(whole, right),
            None if as_axes == Axes::NoAxis => d.about(About::NoSetting(block)),
            None => d,
        });
    }
    if let Some(help) = elsewhere(block, word) {
        return Some(d.label("not here").about(About::NotHere).help(help));
    }
    if let Some(found) = wordless::any_text(id, block, text, base) {
        return Some(found);
    }
    if block == Block::Step && matches!(word, "varies" | "varied" | "varying") {
        return Some(d.suggest("vary").help("write `vary`").edit(span, "vary"));
    }
    d = d.meant(word, known.iter().copied(), "unknown", str::to_owned);
    if let Some(whole) = begun(word, known.iter().copied()).filter(|_| d.suggested.is_empty()) {
        d = d.suggest(whole).edit(span, whole);
    }
    // of a step that says what it varies, nothing is missing
    let varies = block == Block::Step && matches!(as_axes, Axes::More | Axes::Stray);
    if d.suggested.is_empty() && !varies {
        d = d.about(About::NoSetting(block));
    }
    Some(d.help(format!("{what} has the settings {}", known.join(", "))))
}

/// `unpublish --seed`: what takes back what an engine inherits of that kind.
fn taken_back(word: &str) -> Option<&'static str> {
    match word {
        "unpublish" => Some("publish unset"),
        "unenv" => Some("unset env"),
        _ => None,
    }
}

/// `max-model-len=8Ki`: of settings none has a `=`.
fn is_flag_without_dashes(text: &str, shown: &str) -> bool {
    let plain = shown.starts_with(|c: char| c.is_ascii_lowercase()) && !shown.contains('.');
    plain && shown.contains(['-', '_']) && text[shown.len()..].starts_with('=')
}

/// How much of a text to name: its first word, flag or sign.
pub(super) fn shown_len(text: &str) -> usize {
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let end = text.find(|c: char| !in_word(c)).unwrap_or(text.len());
    if end == 0 { text.chars().next().map_or(0, char::len_utf8) } else { end }
}
