//! A profile as identity: the settings that make its results comparable, names and titles apart.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::config::short_hash;
use crate::lang::sema::program::{Answers, Arrivals, Data, Load, Profile, Warmup};

/// The settings, in a form that is equal for equal loads.
pub fn settings(p: &Profile) -> Json {
    let data = match &p.data {
        None => Json::Null,
        Some(Data::Random) => json!("random"),
        Some(Data::ShareGpt) => json!("sharegpt"),
        Some(Data::PrefixRepetition) => json!("prefix_repetition"),
        Some(Data::Jsonl(f)) => json!({"jsonl": f}),
        Some(Data::Trace(f)) => json!({"trace": f}),
        Some(Data::Conversations(f)) => json!({"conversations": f}),
    };
    let arrivals = |a: &Arrivals| match a {
        Arrivals::Poisson => json!("poisson"),
        Arrivals::Constant => json!("constant"),
        Arrivals::Gamma(b) => json!({"gamma": b}),
        Arrivals::Ramp => json!("ramp"),
        Arrivals::Steps => json!("steps"),
    };
    let load = match &p.load {
        None => Json::Null,
        Some(Load::Max) => json!({"rate": "max"}),
        Some(Load::Rate { per_s, arrivals: a }) => json!({"rate": per_s, "arrivals": arrivals(a)}),
        Some(Load::RateRange { from, to, arrivals: a }) => {
            json!({"rate": [from, to], "arrivals": arrivals(a)})
        }
        Some(Load::Rates(all, a)) => json!({"rates": all, "arrivals": arrivals(a)}),
        Some(Load::Concurrency(c)) => json!({"concurrency": c}),
        Some(Load::ConcurrencyRange { from, to }) => json!({"concurrency": [from, to]}),
        Some(Load::Concurrencies(all)) => json!({"concurrencies": all}),
    };
    let warmup = match p.warmup {
        None => json!("auto"),
        Some(Warmup::None) => json!(0),
        Some(Warmup::Requests(n)) => json!(n),
        Some(Warmup::Time(s)) => json!({"s": s}),
    };
    let mut all = json!({
        "data": data, "input": p.input, "output": p.output, "load": load, "in_flight": p.in_flight,
        "requests": p.requests, "duration_s": p.duration_s, "seed": p.seed, "warmup": warmup,
        "timeout_s": p.timeout_s, "recipe": p.recipe, "tokenizer": p.tokenizer,
        "temperature": p.temperature.filter(|t| *t != 0.0), "ignore_eos": ignore_eos(p),
    });
    // a recipe without a seed of its own draws other bytes than the tool
    if p.recipe.is_some() && !p.seed_stated {
        all["drawn"] = json!(true);
    }
    // what most loads do not have stands in those alone that have it: theirs stay the same loads
    for (word, value) in [("prefix", p.prefix), ("prefixes", p.prefixes)] {
        if let Some(n) = value {
            all[word] = json!(n);
        }
    }
    if let Some(slowdown) = p.slowdown {
        all["slowdown"] = json!(slowdown);
    }
    if let Some(think) = p.think_s {
        all["think_s"] = json!(think);
    }
    if p.answers == Some(Answers::Recorded) {
        all["answers"] = json!("recorded");
    }
    if !p.stream {
        all["stream"] = json!(false);
    }
    let sampling: BTreeMap<_, _> = p
        .sampling
        .iter()
        .filter(|(name, value)| **name != "top_p" || value.to_bits() != 1.0_f64.to_bits())
        .collect();
    if !sampling.is_empty() {
        all["sampling"] = json!(sampling);
    }
    if !p.body.is_empty() {
        all["body"] = Json::Object(p.body.clone());
        all["body"].sort_all_objects();
    }
    all
}

/// What is stated beside what a load sends anyway: a fixed length is asked for with `ignore_eos`, and no other.
fn ignore_eos(p: &Profile) -> Option<bool> {
    let usual = p.output.map(|(least, most)| least == most);
    p.ignore_eos.filter(|stated| usual != Some(*stated))
}

/// Twelve hex digits that are the same for the same load.
pub fn id(p: &Profile) -> String {
    short_hash(&settings(p).to_string())
}

/// Settings of a load that another has not, beside what its description says: `seed 2`.
pub fn differences(p: &Profile, other: &Profile) -> Vec<String> {
    if describe(p) != describe(other) {
        return Vec::new();
    }
    let (own, theirs) = (settings(p), settings(other));
    let (Some(own), Some(theirs)) = (own.as_object(), theirs.as_object()) else { return Vec::new() };
    let keys = own.keys().chain(theirs.keys().filter(|k| !own.contains_key(*k)));
    let differing =
        keys.filter(|k| own.get(*k).unwrap_or(&Json::Null) != theirs.get(*k).unwrap_or(&Json::Null));
    let said = differing.map(|key| {
        let value = match own.get(key).unwrap_or(&Json::Null) {
            Json::Null => "not stated".to_owned(),
            Json::String(text) => text.clone(),
            // `10.0` is 10
            Json::Number(n) if n.is_f64() => n.as_f64().unwrap_or_default().to_string(),
            value => value.to_string(),
        };
        match key.strip_suffix("_s") {
            Some(what) if value != "not stated" => format!("{what} {value} s"),
            Some(what) => format!("{what} {value}"),
            None => format!("{key} {value}"),
        }
    });
    said.collect()
}

/// One line about the load, for reports.
pub fn describe(p: &Profile) -> String {
    let mut parts = vec![match &p.data {
        Some(Data::Random) => "random prompts".to_owned(),
        Some(Data::ShareGpt) => "ShareGPT conversations".to_owned(),
        Some(Data::PrefixRepetition) => "prompts with shared prefixes".to_owned(),
        Some(Data::Jsonl(f) | Data::Trace(f) | Data::Conversations(f)) => f.clone(),
        None => "no data".to_owned(),
    }];
    let tokens = |t: (u32, u32)| if t.0 == t.1 { t.0.to_string() } else { format!("{} to {}", t.0, t.1) };
    parts.extend(p.prefix.map(|n| match p.prefixes {
        None | Some(1) => format!("a prefix of {n} tokens"),
        Some(many) => format!("{many} prefixes of {n} tokens"),
    }));
    parts.extend(p.input.map(|t| format!("{} tokens in", tokens(t))));
    parts.extend(p.output.map(|t| format!("{} tokens out", tokens(t))));
    parts.extend(p.requests.map(|n| format!("{n} {}", if n == 1 { "request" } else { "requests" })));
    parts.extend(p.duration_s.map(|s| format!("{s} s")));
    parts.push(load_words(p));
    parts.extend(p.think_s.map(|(from, to)| {
        let range = if from < to { format!("{from} to {to}") } else { from.to_string() };
        format!("{range} s of thought between turns")
    }));
    parts.extend(
        p.answers.filter(|a| *a == Answers::Recorded).map(|_| "with the recorded answers".to_owned()),
    );
    parts.extend((!p.stream).then(|| "whole answers, not streamed".to_owned()));
    parts.extend(p.in_flight.map(|n| format!("at most {n} in flight")));
    parts.extend(p.temperature.filter(|t| *t > 0.0).map(|t| format!("temperature {t}")));
    parts.extend(p.sampling.iter().map(|(name, value)| format!("{name} {value}")));
    if !p.body.is_empty() {
        parts.push(format!("with {}", Json::Object(p.body.clone())));
    }
    parts.join(", ")
}

/// The load alone, in words.
pub fn load_words(p: &Profile) -> String {
    match &p.load {
        None if matches!(p.data, Some(Data::Trace(_))) => match p.slowdown {
            Some(slowdown) => format!("at the trace's times, {slowdown} times as slow"),
            None => "at the trace's own times".to_owned(),
        },
        None => "no load".to_owned(),
        Some(Load::Max) => "all at once".to_owned(),
        Some(Load::Rate { per_s, arrivals }) => format!("{per_s} requests/s ({})", arrival_words(arrivals)),
        Some(Load::RateRange {
            from,
            to: Some(to),
            arrivals: arrivals @ (Arrivals::Ramp | Arrivals::Steps),
        }) => {
            format!("{from} to {to} requests/s ({})", arrival_words(arrivals))
        }
        Some(Load::RateRange { .. }) => "a searched rate".to_owned(),
        Some(Load::Rates(..) | Load::Concurrencies(_)) => "a curve".to_owned(),
        Some(Load::Concurrency(c)) => format!("concurrency {c}"),
        Some(Load::ConcurrencyRange { .. }) => "a searched concurrency".to_owned(),
    }
}

fn arrival_words(arrivals: &Arrivals) -> Cow<'static, str> {
    match arrivals {
        Arrivals::Poisson => "Poisson".into(),
        Arrivals::Constant => "constant".into(),
        Arrivals::Gamma(burstiness) => format!("gamma {burstiness}").into(),
        Arrivals::Ramp => "a ramp".into(),
        Arrivals::Steps => "steps".into(),
    }
}
