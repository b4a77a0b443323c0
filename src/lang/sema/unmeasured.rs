//! Loads that are checked and replayed, and that this version cannot measure.

use super::program::{Arrivals, Data, Load, NotYet, Profile};

/// What of a profile this version can only replay, or only check.
pub(super) fn of(p: &Profile) -> Vec<NotYet> {
    let mut out = Vec::new();
    let mut add = |what: &str, live_only: bool| {
        out.push(NotYet { what: format!("{what} (profile `{}`)", p.name), span: p.span, live_only });
    };
    match &p.data {
        Some(Data::Trace(_)) if p.recipe.is_some() => add("`recipe` of a `trace`, which has none", true),
        Some(Data::Conversations(_)) if p.recipe.is_some() => {
            add("`recipe` of `conversations`, which have none", true);
        }
        Some(_) | None => {}
    }
    match &p.load {
        Some(Load::RateRange { to: Some(_), arrivals: Arrivals::Ramp | Arrivals::Steps, .. }) => {}
        Some(Load::RateRange { .. } | Load::ConcurrencyRange { .. }) => {
            add("a range that is searched", false);
        }
        Some(Load::Rates(..) | Load::Concurrencies(_)) => add("a curve", false),
        _ => {}
    }
    if let Some(what) = beyond_the_recipe(p) {
        add(what, true);
    }
    out
}

/// What a tool whose prompts are asked for does not draw itself.
fn beyond_the_recipe(p: &Profile) -> Option<&'static str> {
    let recipe = p.recipe.as_deref()?;
    let ranged = [p.input, p.output].into_iter().flatten().any(|(from, to)| from != to);
    match p.data {
        Some(Data::Random | Data::PrefixRepetition) if p.requests.is_none() => {
            Some("`recipe` without `requests`, which its numbers are drawn for")
        }
        Some(Data::Random | Data::PrefixRepetition) if ranged => Some("`recipe` with a range of lengths"),
        Some(Data::Random) if p.prefixes.is_some_and(|n| n > 1) => {
            Some("`recipe` with several `prefixes` of `data random`")
        }
        Some(Data::Random) if recipe == "sglang" && p.prefix.is_some() => {
            Some("`recipe sglang` with a `prefix`")
        }
        Some(Data::PrefixRepetition) if recipe != "vllm" => Some("another `recipe` of it than vLLM's"),
        Some(Data::Jsonl(_)) if recipe == "sglang" => Some("`recipe sglang` of `data jsonl`"),
        _ => None,
    }
}
