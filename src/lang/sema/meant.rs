//! What a flag's value was probably meant to be, where a machine can know it.

use super::kinds;
use super::program::{Engine, WrittenValue};
use super::schema::{self, FlagSpec, Found, Kind};
use crate::lang::diag::{About, Diagnostic, one_of};
use crate::lang::source::Span;
use crate::lang::unit_slips;

/// `--enable-x=true` is the switch, `--enable-x=false` its negated spelling.
pub fn switch(name: &str, value: Option<&WrittenValue>, engine: &Engine) -> Option<String> {
    let Found::Known(spec, negated) = engine.schema.find(name, engine.version.as_deref()) else {
        return None;
    };
    match truth(&value?.text)? {
        true => Some(name.to_owned()),
        false if negated => spec.names.first().cloned(),
        false => spec.negated.first().cloned(),
    }
}

/// What people write for true and false.
pub(super) fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "on" | "yes" => Some(true),
        "false" | "0" | "off" | "no" => Some(false),
        _ => None,
    }
}

/// Whether a choice is a value and another word, glued: `lifofair` of `lifo`.
fn is_half_of(value: &str, choice: &str) -> bool {
    let rest = choice.strip_prefix(value).or_else(|| choice.strip_suffix(value)).unwrap_or_default();
    let word = |w: &str| w.len() > 2 && w.bytes().all(|b| b.is_ascii_lowercase());
    word(value) && word(rest)
}

/// The nearest choice, or the unit that is usual for counts.
/// `at_name` is where the flag is named.
pub fn value(
    d: Diagnostic,
    (name, at_name): (&str, Span),
    value: Option<&WrittenValue>,
    engine: &Engine,
) -> Diagnostic {
    let (Some(value), Found::Known(spec, _)) = (value, engine.schema.find(name, engine.version.as_deref()))
    else {
        return d.label("does not fit");
    };
    let about =
        About::NotTaken { flag: name.to_owned(), value: value.text.clone(), takes: spec.kind.clone() };
    let d = d.about(about);
    match &spec.kind {
        Kind::OneOf(choices) => {
            let all = choices.iter().map(String::as_str);
            if let Some(full) = short_type(&value.text).filter(|full| all.clone().any(|c| c == *full)) {
                let span = d.span;
                return d.suggest(full).edit(span, full);
            }
            // what another release takes is no slip
            let elsewhere =
                |other: &FlagSpec| matches!(&other.kind, Kind::OneOf(all) if all.contains(&value.text));
            if engine.schema.named(name).any(elsewhere) {
                return d.label("a choice of other releases");
            }
            let words: Vec<&str> = value.text.split('|').map(str::trim).collect();
            if words.len() > 1 && words.iter().all(|w| choices.iter().any(|c| c == w)) {
                let help =
                    format!("it takes one of them; points are listed in an axis: `[{}]`", words.join(", "));
                return d.label("several choices").help(help);
            }
            // `true` for a flag that takes `on`
            let word = truth(&value.text).map(|is| if is { "on" } else { "off" });
            if let Some(word) = word.filter(|word| choices.iter().any(|c| c == word)) {
                let span = d.span;
                return d.suggest(word).edit(span, word);
            }
            let torn = all.clone().any(|c| is_half_of(&value.text, c));
            let mut d = d.meant(&value.text, all, "none of the choices", str::to_owned);
            if torn {
                // the comma behind it may be missing where the choices are declared
                d.edits.clear();
            }
            d
        }
        Kind::Int { .. } | Kind::Float { .. } if value.text.contains("..") => d.label("a range"),
        kind @ Kind::Float { max: Some(1.0), .. } if percent(kind, &value.text).is_some() => {
            let right = percent(kind, &value.text).unwrap_or_default();
            let span = d.span;
            d.suggest(&right).edit(span, right)
        }
        kind @ (Kind::Int { .. } | Kind::Float { .. }) => {
            let fixed = unit_slips::mended(&value.text).filter(|t| schema::value(kind, t).is_ok());
            let span = d.span;
            let takes = |t: &str| schema::value(kind, t).is_ok();
            if let Some(right) = unit_of_name(name, &value.text).filter(|n| takes(n)) {
                let d = d.label("has the unit that the flag counts in");
                return d.help(format!("the flag's name says the unit: write `{right}`")).edit(span, right);
            }
            if let Some((right, label, help)) = number_as_elsewhere(&value.text).filter(|n| takes(&n.0)) {
                return d.label(label).help(format!("{help}: write `{right}`")).edit(span, right);
            }
            let bytes = value.text.trim_end_matches(['b', 'B']);
            if bytes.len() + 1 == value.text.len() && bytes.ends_with(['k', 'K', 'M', 'm']) {
                let (digits, factor) = bytes.split_at(bytes.len() - 1);
                let factor = factor.replace('K', "k").replace('m', "M");
                let both = [format!("{digits}{}i", factor.to_uppercase()), format!("{digits}{factor}")];
                if both.iter().all(|t| takes(t)) {
                    let help = format!("the flag counts no bytes: write {}", one_of(&both));
                    return d.label("a unit of bytes").help(help);
                }
            }
            if let Some(product) = product(&value.text).filter(|p| schema::value(kind, p).is_ok()) {
                return d.suggest(&product).edit(span, product);
            }
            match fixed {
                Some(fixed) if value.text.ends_with("tok") => d.label("has a unit").edit(span, fixed),
                Some(fixed) => d.label("unknown unit").edit(span, fixed),
                None => match kinds::unknown_unit(&value.text) {
                    near if near.is_empty() => d.label("does not fit"),
                    near => Diagnostic { suggested: near, ..d.label("unknown unit") },
                },
            }
        }
        // `--limit-mm-per-prompt=image=4`, as some engines read it
        Kind::Json if key_and_value(&value.text) && value.span.start == at_name.end + 1 => {
            let right = format!("{name}.{}", value.text);
            let key = value.text.split('=').next().unwrap_or_default();
            let whole = at_name.to(d.span);
            let d = d.suggest(&right);
            d.help(format!("a key of a JSON flag is written {right}, or all of it {name}={{\"{key}\": …}}"))
                .edit(whole, right)
        }
        _ => d.label("does not fit"),
    }
}

/// `--cpu-offload-gb=4GB` as the number of what the flag's name says that it counts.
fn unit_of_name<'t>(name: &str, text: &'t str) -> Option<&'t str> {
    let counts = name.rsplit(['-', '_']).next()?.to_ascii_lowercase().replace('i', "");
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[number.len()..].to_ascii_lowercase().replace('i', "");
    (unit == counts && matches!(unit.as_str(), "kb" | "mb" | "gb" | "tb")).then_some(number)
}

/// A number as it is written elsewhere, `32_768`, `0.92;`, `32k tokens`: as it is written here, what is wrong with it and why.
fn number_as_elsewhere(text: &str) -> Option<(String, &'static str, &'static str)> {
    let digit = |t: &str| t.starts_with(|c: char| c.is_ascii_digit());
    if let Some(right) = text.strip_suffix([';', ':']).filter(|t| digit(t)) {
        return Some((right.to_owned(), "ends with a sign", "a line ends without one"));
    }
    if let Some((number, unit)) = text.split_once([' ', '_']).filter(|(n, _)| digit(n)) {
        const COUNTED: [&str; 7] = ["token", "tokens", "tok", "seqs", "sequences", "requests", "blocks"];
        if COUNTED.contains(&unit.trim()) {
            return Some((number.to_owned(), "says what is counted", "the flag says that itself"));
        }
    }
    let grouped = |c: char| c.is_ascii_digit() || c == '_' || c == '.';
    let underscores = text.contains('_') && digit(text) && !text.ends_with('_') && !text.contains("__");
    (underscores && text.chars().all(grouped))
        .then(|| (text.replace('_', ""), "with `_` in it", "digits stand side by side"))
}

fn key_and_value(text: &str) -> bool {
    let plain = |t: &str| {
        !t.is_empty() && t.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    };
    text.split_once('=').is_some_and(|(key, value)| {
        key.starts_with(|c: char| c.is_ascii_alphabetic()) && plain(key) && !key.contains('.') && plain(value)
    })
}

/// `8*1024`, `$((8*1024))` as the number that it comes to: nothing computes here.
pub fn product(text: &str) -> Option<String> {
    let inner = text.strip_prefix("$((").and_then(|t| t.strip_suffix("))")).unwrap_or(text);
    let factors = inner.split('*').map(|n| n.trim().parse::<u64>().ok());
    let product = factors.clone().try_fold(1_u64, |all, n| all.checked_mul(n?))?;
    (factors.count() > 1).then(|| product.to_string())
}

/// `90` for a share, as `90%`.
fn percent(kind: &Kind, text: &str) -> Option<String> {
    let whole = text.parse::<f64>().is_ok_and(|n| (10.0..=100.0).contains(&n));
    let right = format!("{text}%");
    (whole && schema::value(kind, &right).is_ok()).then_some(right)
}

/// What engines that spell types out call the short ones.
fn short_type(text: &str) -> Option<&'static str> {
    Some(match text.to_ascii_lowercase().as_str() {
        "bf16" => "bfloat16",
        "fp16" | "f16" => "float16",
        "fp32" | "f32" => "float32",
        _ => return None,
    })
}
