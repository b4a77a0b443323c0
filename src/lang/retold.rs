//! What several readings of a text say of one mistake, told once.

use super::about::About;
use super::changes::is_here;
use super::codes::Code;
use super::diag::{Diagnostic, Edit};
use super::source::Span;

/// A word that cannot stand there and, written as it could, would be nobody's name (`baseline VLLM_BASE`) is one mistake, and no case of
/// letters mends it.
pub(super) fn tell_once(found: &mut Vec<Diagnostic>) {
    let is_of_nobody = |d: &Diagnostic| {
        matches!(d.code, Code::UnknownName | Code::UnknownMetric) && d.is_error() && is_here(d.span)
    };
    let names: Vec<(Span, Option<String>)> =
        found.iter().filter(|d| is_of_nobody(d)).map(|d| (d.span, d.help.clone())).collect();
    let mut told = Vec::new();
    for d in found.iter_mut().filter(|d| d.code == Code::Unexpected) {
        let Some((at, help)) = names.iter().find(|(at, _)| *at == d.span) else { continue };
        told.push(*at);
        // else it is told so already; what is one word too many is nobody's name
        if d.edits.iter().any(|edit| !edit.text.is_empty()) {
            d.edits.clear();
            d.help.clone_from(help);
        }
    }
    found.retain(|d| !(is_of_nobody(d) && told.contains(&d.span)));
}

/// A condition in which something is wrong is not doubted besides: what it comes to is open.
pub(super) fn forget_doubts_of_wrong_conditions(text: &str, found: &mut Vec<Diagnostic>) {
    // `--max-num-seqs is 512`, where `exceeds` may have been meant
    let is_word = |span: Span| {
        text.get(span.range()).is_some_and(|t| !t.is_empty() && t.chars().all(char::is_alphabetic))
    };
    let compares = |d: &Diagnostic| is_word(d.span) && d.edits.iter().any(|e| e.text == "==");
    let is_wrong = |d: &&Diagnostic| d.code == Code::BadFlagValue || is_here(d.span) && compares(d);
    let wrong: Vec<Span> = found.iter().filter(is_wrong).map(|d| d.span).collect();
    let holds = |s: Span| wrong.iter().any(|w| w.file == s.file && s.start <= w.start && w.end <= s.end);
    let of_conditions = |d: &Diagnostic| {
        matches!(d.code, Code::NeverFires | Code::AlwaysFires | Code::SettledGuard | Code::Impossible)
    };
    found.retain(|d| !of_conditions(d) || !holds(d.span));
}

/// `--enable-x True`: that a switch takes no value is told with the space between the two, which needs no mending by itself.
pub(super) fn goes_with_its_space(text: &str, found: &mut [Diagnostic], d: &Diagnostic) -> bool {
    let holds = |s: Span| s.file == d.span.file && s.start <= d.span.start && d.span.end <= s.end;
    let apart = found.iter_mut().find(|o| o.code == Code::SpacedFlag && holds(o.span));
    let Some(told) = apart.filter(|_| d.code == Code::FlagNeedsValue) else { return false };
    told.code = d.code;
    told.message.clone_from(&d.message);
    told.label.clone_from(&d.label);
    told.help.clone_from(&d.help);
    // of `--enforce-eager =16` the value may be that of a flag that is missing
    let truth = |word: &str| {
        matches!(
            word.to_ascii_lowercase().as_str(),
            "true" | "false" | "on" | "off" | "yes" | "no" | "1" | "0"
        )
    };
    let value = text.get(told.span.range()).unwrap_or_default();
    let says = value.rsplit([' ', '\t', '=']).next().unwrap_or_default();
    let right = if let About::TakesNone { right } = &d.about { right.clone() } else { None };
    let right = right.filter(|_| truth(says.trim_matches('"')));
    if right.is_none() {
        told.help =
            Some("the switch takes no value: leave it out, or name the flag that it is of".to_owned());
    }
    told.edits = right.map(|text| Edit { span: told.span, text }).into_iter().collect();
    true
}

/// `when --quantization=fp8`, as a launch has it: sign and quotes are one slip.
pub(super) fn goes_with_its_sign(text: &str, found: &mut [Diagnostic], d: &Diagnostic) -> bool {
    let [quoted] = d.edits.as_slice() else { return false };
    let is_sign = |o: &&mut Diagnostic| {
        let [sign] = o.edits.as_slice() else { return false };
        sign.text == "==" && o.span == sign.span && o.span.end == d.span.start && o.span.file == d.span.file
    };
    if d.code != Code::UnknownMetric || quoted.span != d.span || !quoted.text.starts_with('"') {
        return false;
    }
    let Some(sign) = found.iter_mut().find(is_sign) else { return false };
    let flag = sign.span.before_in(text).rsplit([' ', '\t', '(', '\n']).next().unwrap_or_default();
    if !flag.starts_with('-') {
        return false;
    }
    sign.help = Some(format!("a flag is compared as anything is: write `{flag} == {}`", quoted.text));
    let span = Span { end: d.span.end, ..sign.span };
    sign.edits = vec![Edit { span, text: format!(" == {}", quoted.text) }];
    true
}

/// Whether that something is declared in a line is a guess: `let x = 1`.
pub(super) fn was_guessed(found: &[Diagnostic], d: &Diagnostic, text: &str) -> bool {
    let line = d.span.line_in(text);
    found.iter().any(|o| o.declares_by_guess() && o.span.line_in(text) == line)
}
