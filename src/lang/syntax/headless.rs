//! Blocks of which the first line is gone, or its keyword is missing or is none: what stands in them says what they are, and they are read
//! as that.

use super::ast::Item;
use super::blocks::{Block, first_word};
use super::brackets::{closing, unbalanced};
use super::heads;
use super::lexical::Piece;
use super::misplaced::wrong_way_round;
use super::reread::reread_within;
use super::twice::lines;
use super::within::axis;
use super::words;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{Diagnostic, Sink, short};
use crate::lang::source::{FileId, Span};

/// Settings that more than one kind of block has say nothing of what a block is.
const SHARED: [&str; 6] = ["model", "env", "data", "prune", "note", "budget"];

/// The keyword of the block whose lines a text begins with.
pub(super) fn kind_of(body: &str) -> Option<&'static str> {
    let all = [
        ("study", words::STUDY_SETTINGS),
        ("profile", words::PROFILE_SETTINGS),
        ("engine", words::ENGINE_SETTINGS),
        ("step", words::STEP_SETTINGS),
    ];
    let mut shared = None;
    // a word of no kind may be misspelt, where two lines behind it agree
    let (mut unknown, mut votes) = (0, Vec::new());
    let lines = body.lines().map(str::trim_start).filter(|l| !l.is_empty() && !l.starts_with('#'));
    for line in lines.take(8) {
        let word = first_word(line);
        let mut kinds = all.iter().filter(|(_, settings)| settings.contains(&word)).map(|(kind, _)| *kind);
        let kind = match (kinds.next(), SHARED.contains(&word)) {
            _ if is_of_site(line) => "site",
            _ if line.starts_with('-') => "engine",
            _ if is_point(line) => "axis",
            (Some(kind), false) => kind,
            (Some(kind), true) => {
                shared = shared.or(Some(kind).filter(|_| word == "data"));
                continue;
            }
            (None, _) if line.starts_with('}') => break,
            (None, _) => {
                unknown += 1;
                continue;
            }
        };
        if unknown == 0 {
            return Some(kind);
        }
        votes.push(kind);
    }
    if let Some(kind) = votes.first().filter(|kind| votes.len() > unknown && votes.iter().all(|v| v == *kind))
    {
        return Some(kind);
    }
    // `data sharegpt` and nothing else is a line of a profile
    shared.map(|_| "profile")
}

/// `engine vllm via docker`, `model "org/M" at "~/models/m"`, `price 3usd/h`
fn is_of_site(line: &str) -> bool {
    match first_word(line) {
        "price" | "runner" => true,
        "engine" => line.contains(" via "),
        "model" | "data" => line.contains(" at \""),
        _ => false,
    }
}

/// What the lines below a first line that opens a block are of.
pub(super) fn holds(text: &str) -> Option<&'static str> {
    let (first, body) = text.split_once('\n')?;
    first.contains('{').then(|| kind_of(body))?
}

/// `fp8 "FP8": model "org/M"`
pub(super) fn is_point(line: &str) -> bool {
    let name = first_word(line);
    let rest = line[name.len()..].trim_start();
    let rest = rest.strip_prefix('"').and_then(|t| t.split_once('"')).map_or(rest, |(_, r)| r).trim_start();
    let change = |r: &str| ["-", "env ", "model ", "unset ", "raw "].iter().any(|w| r.starts_with(w));
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && rest.strip_prefix(':').is_some_and(|r| change(r.trim_start()))
}

/// What a headless chunk was read as.
pub(super) struct Read {
    pub item: Option<Item>,
    pub broken: Vec<String>,
    /// of what a name is lost with the head
    pub unnamed: Option<&'static str>,
}

/// Lines of a block that end with its `}` and have no head above them. `text` is what is left of the file's chunk, at `at`.
pub(super) fn without_head(id: FileId, file: &str, at: usize, text: &str, sink: &mut Sink) -> Option<Read> {
    let (close, _) = unbalanced(text).filter(|(_, piece)| *piece == Piece::Close(b'}'))?;
    let behind = text[close + 1..].lines().next().unwrap_or_default();
    let alone = text[..close].rsplit('\n').next().is_some_and(|l| l.trim().is_empty());
    let indented = file[..at].ends_with([' ', '\t']);
    if !indented || !alone || !behind[..start_of_comment(behind).unwrap_or(behind.len())].trim().is_empty() {
        return None;
    }
    let kind = kind_of(text).filter(|k| *k != "step")?;
    let word = text.split(|c: char| c.is_whitespace() || matches!(c, '=' | ':')).next().unwrap_or_default();
    let span = Span::new(id, at..at + word.len());
    let head = match kind {
        "engine" => "engine NAME = PARENT {",
        "axis" => "axis NAME = {",
        "profile" => "profile NAME {",
        "site" => "site NAME {",
        _ => "study NAME {",
    };
    let d = Diagnostic::new(Code::NotADeclaration, span, format!("`{}` begins no declaration", short(word)));
    let article = if matches!(kind, "engine" | "axis") { "an" } else { "a" };
    sink.push(d.label("of a block without its first line").help(format!(
        "these lines are of {article} {kind}: write `{head}` above them, or is a `}}` too many above?"
    )));
    let mut broken = Vec::new();
    let item = heads::instead(file, at, kind, &mut broken).and_then(|head| {
        let base = at.checked_sub(head.len())?;
        let right = format!("{head}{}", &text[..=close]);
        reread_within(at..at + close + 1, id, &right, base, sink, &mut broken)
            .or_else(|| axis(id, &right, base, sink, &mut broken))
    });
    Some(Read { item, broken, unnamed: Some(kind).filter(|k| *k != "study") })
}

/// `lab "Title" {`, `experiment lab {`, `def study lab {`: what is wrong with the first word, and the edit that mends it.
pub(super) fn keyword(id: FileId, at: usize, text: &str, block: Option<Block>) -> Option<Diagnostic> {
    let first = text.lines().next()?;
    let code = first[..start_of_comment(first).unwrap_or(first.len())].trim_end();
    let brace = code.find('{')?;
    let word = first_word(code);
    let named = |w: &str| w.starts_with(|c: char| c.is_ascii_alphabetic());
    if !named(word) || brace < word.len() || unbalanced(text).is_some() {
        return None;
    }
    let body = &text[brace + 1..];
    let kind = match (kind_of(body)?, block) {
        ("step", Some(Block::Study | Block::Track)) => "step",
        ("study", Some(Block::Study)) if first_word(body.trim_start()) == "step" => "track",
        ("step", _) | (_, Some(_)) => return None,
        // right, but for its place
        ("study", None) if word == "track" => return None,
        // a value in braces, not a block
        (kind, None) if lines(text).len() > 1 && code.ends_with('{') => kind,
        _ => return None,
    };
    if kind == "axis" && !code[..brace].trim_end().ends_with('=') {
        return None;
    }
    let rest = code[word.len()..brace].trim_start();
    let next = first_word(rest);
    let glue = matches!(next, "from" | "when" | "extends" | "is");
    let bare = !code[word.len()..].starts_with([' ', '\t', '{', '"', '=']);
    let span = Span::new(id, at..at + word.len());
    let (code_of, message) = match block {
        Some(block) => {
            (Code::UnknownSetting, format!("{} has no setting `{}`", block.settings().0, short(word)))
        }
        None => (Code::NotADeclaration, format!("`{}` begins no declaration", short(word))),
    };
    let d = Diagnostic::new(code_of, span, message).label(format!("expected `{kind}`"));
    if bare {
        return None;
    }
    let help = |right: &str| format!("what stands in it is of {} {kind}: write `{right}`", article(kind));
    let behind = rest.strip_prefix(next).unwrap_or_default().trim_start();
    if block.is_none() && kind == "axis" && next == kind && behind.starts_with('=') {
        // `spec axis = {` above points that cannot be read as they stand
        let len = code.len() - code[word.len()..].trim_start().len() + next.len();
        let right = format!("{next} {word}");
        let span = Span::new(id, at..at + len);
        let d = wrong_way_round(span, &format!("{word} {next}"));
        return Some(d.help(format!("write `{right}`")).edit(span, right));
    }
    if next == kind {
        // `def study lab {`
        let right = &code[code.len() - code[word.len()..].trim_start().len()..];
        let gap = at..at + code.len() - right.len();
        return Some(d.help(help(right)).edit(Span::new(id, gap), ""));
    }
    if named(next) && !glue {
        return Some(d.help(help(&format!("{kind} {rest}{{"))).edit(span, kind));
    }
    if kind == "track" && rest.is_empty() {
        return Some(around_steps(d, id, at, (text, brace)));
    }
    let right = format!("{kind} ");
    Some(d.help(help(&format!("{kind} {code}"))).edit(Span::new(id, at..at), right))
}

/// `steps { step a { … } }`: what stands around the steps of a study is a track, which has the name of its engine, or nothing.
fn around_steps(d: Diagnostic, id: FileId, at: usize, (text, brace): (&str, usize)) -> Diagnostic {
    let d = Diagnostic { label: "not needed".to_owned(), ..d };
    let d = d.help(format!(
        "steps stand in the study itself: remove `{}` and the `}}` that closes it",
        text[..=brace].trim()
    ));
    match closing(text, brace) {
        Some(close) => {
            let span = |from: usize, to: usize| Span::new(id, at + from..at + to);
            d.edit(span(0, brace + 1), "").edit(span(close, close + 1), "")
        }
        None => d,
    }
}

/// What a block is whose keyword makes something else of it, so that it cannot be read: `metric lab "Lab" {` above lines of a study.
pub(super) fn miscalled(text: &str) -> Option<&'static str> {
    let word = first_word(text);
    let code = text.lines().next().map(|l| l[..start_of_comment(l).unwrap_or(l.len())].trim_end())?;
    let body = &text[code.len()..];
    if !code.ends_with('{') || code.find('{') != Some(code.len() - 1) || unbalanced(text).is_some() {
        return None;
    }
    // `axis a = {` above `--x=1`: points, which lack their names
    if code[..code.len() - 1].trim_end().ends_with('=') {
        return None;
    }
    let kind = kind_of(body).filter(|kind| *kind != word)?;
    let settings = match kind {
        "study" if !code.contains('=') => words::STUDY_SETTINGS,
        "engine" => words::ENGINE_SETTINGS,
        "profile" => words::PROFILE_SETTINGS,
        _ => return None,
    };
    let is_of =
        |line: &&str| settings.contains(&first_word(line)) || kind == "engine" && line.starts_with('-');
    let own = body.lines().map(str::trim_start).filter(is_of).count();
    (own > 1).then_some(kind)
}

/// What is said of a block under another's keyword. `text` begins with that, at `at` of the file.
pub(super) fn of_another_kind(id: FileId, at: usize, text: &str, kind: &str) -> Option<Diagnostic> {
    let keyword = first_word(text);
    let head = &text[keyword.len()..=text.find('{')?];
    let span = Span::new(id, at..at + keyword.len());
    let message = format!("what stands in this {keyword} is of {} {kind}", article(kind));
    let d = Diagnostic::new(Code::NotADeclaration, span, message).label(format!("expected `{kind}`"));
    Some(d.help(format!("write `{kind}{head}`")).edit(span, kind))
}

/// `a` or `an`, before a keyword.
fn article(kind: &str) -> &'static str {
    if matches!(kind, "engine" | "axis") { "an" } else { "a" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_block_says_what_it_is() {
        for (body, kind) in [
            ("\n  model \"a/b\"\n  gpus 1\n", Some("study")),
            ("  model \"a\"\n  --flag\n", Some("engine")),
            ("data random\n", Some("profile")),
            (" vary x }", Some("step")),
            ("fp8 \"FP8\": model \"a\",\n", Some("axis")),
            (" engine vllm \"0.17.1\" via docker\n", Some("site")),
            (" env HF_HOME=\"~/hf\"\n price 3usd/h\n", Some("site")),
            ("what is this\n", None),
        ] {
            assert_eq!(kind_of(body), kind, "{body}");
        }
    }

    #[test]
    fn a_keyword_is_put_where_it_is_missing() {
        let right = |text: &str, block| {
            let [edit] = keyword(FileId(0), 0, text, block)?.edits.try_into().ok()?;
            let mut out = text.to_owned();
            out.replace_range(edit.span.range(), &edit.text);
            Some(out.lines().next()?.to_owned())
        };
        for (text, block, wanted) in [
            ("lab \"A b\" {\n gpus 1\n}", None, "study lab \"A b\" {"),
            ("v \"V\" = vllm {\n --a\n}", None, "engine v \"V\" = vllm {"),
            ("experiment lab {\n gpus 1\n}", None, "study lab {"),
            ("def study lab {\n gpus 1\n}", None, "study lab {"),
            ("mode a \"A\" from v { vary x }", Some(Block::Track), "step a \"A\" from v { vary x }"),
            ("v \"V\" {\n step a { vary x }\n}", Some(Block::Study), "track v \"V\" {"),
        ] {
            assert_eq!(right(text, block).as_deref(), Some(wanted), "{text}");
        }
        assert_eq!(right("body { \"a\": 1 }", Some(Block::Study)), None);
    }
}
