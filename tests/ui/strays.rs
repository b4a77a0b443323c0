//! One token of a right file is taken away, written twice, or a sign is put before it: that is one mistake, and a fix that leaves none
//! gives the file back as it was.

use std::sync::LazyLock;

use perflab::lang::fix::{complete, mend};
use perflab::lang::fmt::format;
use regex::Regex;

use super::analysis;

const RIGHT: &str = r#"param ctx = 8Ki
engine own "Our own" {
    serve "own serve {model} --host {host} --port {port}"
    ready get "/health" within 20min
    api openai
    stop sigterm within 10s
    version "1.0"
    flag --seqs int 1..
    flag --len int 1..
    flag --quant one_of [fp8, awq]
    --len="{ctx}"
}
profile chat "Chat" {
    data random
    input 128 .. 1Ki
    output 64
    concurrency 64
}
axis seqs "Sequences" = --seqs=[16, 48]
axis quant = { a "FP8": --quant=fp8, b: --quant=awq }
prune wait "too long" when p90(ttft) > 1800ms
study lab "Which?" {
    model "Qwen/Qwen3-8B"
    baseline own
    maximize total_tps on chat
    require success_rate >= 99%
    repeat 1
    step seqs "Sequences" { vary seqs }
    step quant { vary quant * seqs[16] }
}
"#;

/// Where words, texts and signs stand.
fn tokens(text: &str) -> Vec<std::ops::Range<usize>> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '%');
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let len = match c {
            '"' => rest[1..].find('"').expect("a string ends") + 2,
            _ if in_word(c) => rest.find(|c| !in_word(c)).unwrap_or(rest.len()),
            '.' | '<' | '>' => rest.find(|c| !matches!(c, '.' | '<' | '>' | '=')).unwrap_or(1),
            _ => 1,
        };
        if !c.is_whitespace() {
            found.push(at..at + len);
        }
        at += len;
    }
    found
}

/// What was done to a text, and the text.
fn mutants() -> Vec<(String, String)> {
    let mut out = Vec::new();
    for place in tokens(RIGHT) {
        let word = &RIGHT[place.clone()];
        let line = RIGHT[..place.start].matches('\n').count() + 1;
        let with = |right: &str| [&RIGHT[..place.start], right, &RIGHT[place.end..]].concat();
        let mut add = |what: &str, right: String| out.push((format!("{line}: {what} {word}"), with(&right)));
        add("without", String::new());
        let apart = if word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-') { " " } else { "" };
        add("twice", format!("{word}{apart}{word}"));
        for sign in ["}", "{", ")", "(", "[", "]", "'", "\"", ",", ";", "=", ":"] {
            add(&format!("{sign} before"), format!("{sign}{word}"));
        }
    }
    out
}

/// What is told of a text, and what fixes make of it where they leave no error.
fn tried(text: &str) -> (Vec<String>, Option<String>) {
    let mut found = analysis(text);
    if !found.has_errors() {
        return (Vec::new(), None);
    }
    complete(text, &mut found, &|t| analysis(t));
    let told = found.diagnostics.iter().filter(|d| d.is_error());
    let told = told.map(|d| format!("{} {:?} {}", d.code.id(), d.span.range(), d.message)).collect();
    let mended = mend(text, &|t| analysis(t)).text;
    let is_right = mended != text && !analysis(&mended).has_errors();
    (told, is_right.then_some(mended))
}

/// The same for what may be written in two ways: a comma at an end, brackets around one operand.
fn plain(text: &str) -> String {
    static ONE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"([^\w])\(([\w.%-]+)\)").expect("a pattern"));
    let formatted = format(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let bare: String = formatted.chars().filter(|c| !c.is_whitespace()).collect();
    let bare = bare.replace(",}", "}").replace(",]", "]");
    ONE.replace_all(&bare, "$1$2").into_owned()
}

/// Whether the text may be told twice, or mended to another one, and why.
fn is_excused(what: &str) -> bool {
    let excused = [
        // a choice may begin with a sign: the flag's value is the one that is mended
        "10: ; before",
        // the comparison as others write it
        "21: = before >",
        "26: = before >",
    ];
    excused.iter().any(|e| what.starts_with(e))
}

/// `PERFLAB_MUTANTS=N` tries each Nth, 1 all of them.
#[test]
fn one_token_is_one_mistake_and_its_fix_the_text_as_it_was() {
    assert!(!analysis(RIGHT).has_errors(), "{:#?}", analysis(RIGHT).diagnostics);
    let step = std::env::var("PERFLAB_MUTANTS").ok().and_then(|n| n.parse().ok()).unwrap_or(23);
    let right = plain(RIGHT);
    let (mut many, mut wrong, mut count) = (Vec::new(), Vec::new(), 0);
    for (what, text) in mutants().into_iter().step_by(step) {
        count += 1;
        if is_excused(&what) {
            continue;
        }
        let (told, mended) = tried(&text);
        if told.len() > 1 {
            many.push(format!("{what}\n    {}", told.join("\n    ")));
        }
        if let Some(mended) = mended.filter(|m| plain(m) != right) {
            let line = mended.lines().zip(RIGHT.lines()).find(|(a, b)| a != b).map_or("", |(a, _)| a);
            wrong.push(format!("{what}\n    {}\n    → {line}", told.join("\n    ")));
        }
    }
    let all = |v: &[String]| v.join("\n");
    assert!(
        many.is_empty() && wrong.is_empty(),
        "of {count}\n{} told more than once:\n{}\n{} mended wrongly:\n{}",
        many.len(),
        all(&many),
        wrong.len(),
        all(&wrong)
    );
}

/// What is written for what, in the text that is right: told once, and mended to the text as it was, where that is asked.
const SLIPS: [(&str, &str, bool); 33] = [
    ("flag --seqs int 1..", "flag --seqs int = 1..", true),
    ("flag --seqs int", "flag int", false),
    ("flag --len int", "flag [--len int", true),
    ("flag --len int", "flag ,--len int", true),
    ("ready get", ")ready get", true),
    ("ready get", "=ready get", true),
    ("ready get", "'ready get", true),
    ("vary quant * seqs[16]", "vary quant * seqs16]", true),
    ("vary quant * seqs[16]", "vary quant * * seqs[16]", true),
    ("when p90(ttft)", "when when p90(ttft)", true),
    ("when p90(ttft) >", "when p90(ttft) <<", false),
    (">= 99%", "=> 99%", true),
    (">= 99%", "is >= 99%", true),
    (">= 99%", ">= 99%%", true),
    ("1800ms", "1800ms then", true),
    ("p90(ttft)", "p90[ttft]", true),
    ("= --seqs=[16, 48]", "- = --seqs=[16, 48]", true),
    ("[16, 48]", "[16,, 48]", true),
    ("[16, 48]", "[16, , 48]", false),
    ("[16, 48]", "[16, #48]", false),
    ("repeat 1", "repeat 1x", true),
    ("concurrency 64", "concurr 64", true),
    ("maximize total", "maxim total", true),
    ("[16, 48]", "[16, 48}", true),
    ("p90(ttft)", "p90(ttft]", true),
    ("on chat", "on on chat", true),
    ("study lab", "study study lab", true),
    ("repeat 1", "- repeat: 1", true),
    ("\"Qwen/Qwen3-8B\"", "Qwen/Qwen3-8B\"", true),
    ("\"Sequences\" {", "'Sequences\" {", true),
    ("when p90(ttft) >", "when --seqs --len and p90(ttft) >", false),
    ("{ vary seqs }", "{ vary seqs }}", true),
    ("when p90(ttft) >", "when p50(ttft) + p90(ttft)) * 2 >", false),
];

#[test]
fn a_sign_too_many_or_another_ones_is_told_once() {
    let right = plain(RIGHT);
    for (from, to, mends) in SLIPS {
        assert!(RIGHT.contains(from), "{from}");
        let (told, mended) = tried(&RIGHT.replacen(from, to, 1));
        assert_eq!(told.len(), 1, "{to}: {told:#?}");
        assert_eq!(mended.is_some_and(|m| plain(&m) == right), mends, "{to}");
    }
}
