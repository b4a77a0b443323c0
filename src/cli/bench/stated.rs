//! What was asked for, as a document's reader has to know it: a number without its load says nothing.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::args::BenchArgs;
use super::data_args::{DataArgs, DataSet};
use crate::data::Source;
use crate::load::{Arrivals, LoadSpec, Pace, Prompts, RequestRecord, Stop, Warmup};

/// When requests were sent.
pub(super) fn arrivals(spec: &LoadSpec) -> Value {
    let over = |from: f64, to: f64, kind: &str, seconds: f64| json!({"kind": kind, "rate": from, "rate_to": to, "over_s": seconds});
    let mut how = match spec.arrivals {
        Arrivals::AllAtOnce => json!({"kind": "all_at_once"}),
        Arrivals::Closed { concurrency } => json!({"kind": "closed", "concurrency": concurrency}),
        Arrivals::Constant { rate } | Arrivals::Through(Pace::Even { rate }) => {
            json!({"kind": "constant", "rate": rate})
        }
        Arrivals::Poisson { rate } => json!({"kind": "gamma", "rate": rate, "burstiness": 1.0}),
        Arrivals::Gamma { rate, burstiness } => {
            json!({"kind": "gamma", "rate": rate, "burstiness": burstiness})
        }
        Arrivals::Through(Pace::Ramp { from, to, over: long }) => over(from, to, "ramp", long.as_secs_f64()),
        Arrivals::Through(Pace::Steps { from, to, over: long }) => {
            over(from, to, "steps", long.as_secs_f64())
        }
        Arrivals::Trace { slowdown } => json!({"kind": "trace", "slowdown": slowdown}),
    };
    if let Some(cap) = spec.in_flight {
        how["max_in_flight"] = cap.into();
    }
    how
}

/// What was offered, in the words of `vllm bench serve`.
pub(super) struct Offered {
    /// Requests per second; infinite where they come all at once, when a client is free, or at the times of a trace.
    pub rate: f64,
    pub burstiness: f64,
    /// Requests in flight at most.
    pub cap: Option<usize>,
}

pub(super) fn offered(spec: &LoadSpec) -> Offered {
    let (rate, burstiness) = match spec.arrivals {
        Arrivals::Gamma { rate, burstiness } => (rate, burstiness),
        Arrivals::Through(Pace::Ramp { from, .. } | Pace::Steps { from, .. }) => (from, 1.0),
        Arrivals::Through(Pace::Even { rate }) | Arrivals::Constant { rate } | Arrivals::Poisson { rate } => {
            (rate, 1.0)
        }
        Arrivals::AllAtOnce | Arrivals::Closed { .. } | Arrivals::Trace { .. } => (f64::INFINITY, 1.0),
    };
    let clients = match spec.arrivals {
        Arrivals::Closed { concurrency } => Some(concurrency),
        _ => None,
    };
    Offered { rate, burstiness, cap: clients.or(spec.in_flight) }
}

/// Requests per second by the times at which those that ended should have been sent. None of a load whose answers decide when requests
/// are sent, and of one that sends all at once.
pub(super) fn schedule_rate(spec: &LoadSpec, records: &[RequestRecord]) -> Option<f64> {
    if matches!(spec.arrivals, Arrivals::AllAtOnce | Arrivals::Closed { .. }) {
        return None;
    }
    let first = records.iter().map(|r| r.scheduled_ns).min()?;
    let last = records.iter().map(|r| r.scheduled_ns).max()?;
    let rate = (records.len() - 1) as f64 / (last.checked_sub(first).filter(|ns| *ns > 0)? as f64 / 1e9);
    // times are whole nanoseconds, and what was asked for is a round number
    Some((rate * 1e3).round() / 1e3).filter(|rate| *rate > 0.0)
}

/// What was asked, how much of it, and how answers were to be drawn.
pub(super) fn load(args: &BenchArgs, spec: &LoadSpec) -> Value {
    let (requests, seconds) = match spec.stop {
        Stop::Requests(n) => (Some(n), None),
        Stop::Duration(time) => (None, Some(time.as_secs_f64())),
        Stop::Auto => (None, None),
    };
    let warmups = match spec.warmup {
        Warmup::None => Some(0),
        Warmup::Requests(n) => Some(n),
        Warmup::Time(_) | Warmup::Auto => None,
    };
    json!({
        "profile": args.profile,
        "file": args.file.as_ref().map(|file| file.display().to_string()),
        "num_prompts": requests,
        "duration_s": seconds,
        "num_warmups": warmups,
        // what a profile draws from is derived from the seed that it states
        "seed": if args.profile.is_some() { spec.seed } else { args.seed },
        "temperature": spec.sampling.temperature,
        "top_p": spec.sampling.top_p,
        "ignore_eos": spec.ignores_eos(),
        "extra_body": spec.extra_body,
        "data": if args.profile.is_some() { of_profile(spec) } else { data(&args.data) },
    })
}

fn of_profile(spec: &LoadSpec) -> Value {
    let Prompts { input, output, shared, .. } = &spec.prompts;
    let lengths = |range: &RangeInclusive<u32>| [*range.start(), *range.end()];
    let tokenizer = spec.tokenizer().map(|path| path.display().to_string());
    let file = |name: &str, path: &PathBuf| json!({"name": name, "path": path.display().to_string()});
    let mut set = match spec.data.as_ref().map(|data| &data.source) {
        None => json!({
            "name": if shared.is_some() { "prefix_repetition" } else { "random" },
            "input_len": lengths(input),
            "output_len": lengths(output),
            "prefix_len": shared.map_or(0, |shared| shared.tokens),
        }),
        Some(Source::Random(random)) => json!({
            "name": "random",
            "input_len": random.lengths.input,
            "output_len": random.lengths.output,
            "prefix_len": random.lengths.prefix,
        }),
        Some(Source::PrefixRepetition(groups)) => json!({
            "name": "prefix_repetition",
            "prefix_len": groups.prefix,
            "suffix_len": groups.suffix,
            "prefixes": groups.prefixes,
            "output_len": groups.output,
        }),
        Some(Source::ShareGpt(talks)) => file("sharegpt", &talks.file),
        Some(Source::Custom(lines)) => file("custom", &lines.file),
        Some(Source::Trace(trace)) => file("trace", &trace.file),
        Some(Source::Conversations(talks)) => file("conversations", &talks.file),
    };
    set["tokenizer"] = tokenizer.into();
    set
}

fn data(args: &DataArgs) -> Value {
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let name = |value: Option<clap::builder::PossibleValue>| value.map(|value| value.get_name().to_owned());
    let mut set = json!({
        "name": name(clap::ValueEnum::to_possible_value(&args.dataset_name)),
        "path": path(&args.dataset_path),
        "recipe": args.recipe.and_then(|recipe| name(clap::ValueEnum::to_possible_value(&recipe))),
        "tokenizer": path(&args.tokenizer),
        "counts_chat_template": args.count_chat_template,
    });
    let lengths = match args.dataset_name {
        DataSet::Random => json!({
            "input_len": args.random_input_len,
            "output_len": args.random_output_len,
            "range_ratio": args.random_range_ratio,
            "prefix_len": args.random_prefix_len,
        }),
        DataSet::PrefixRepetition => json!({
            "prefix_len": args.prefix_repetition_prefix_len,
            "suffix_len": args.prefix_repetition_suffix_len,
            "prefixes": args.prefix_repetition_num_prefixes,
            "output_len": args.prefix_repetition_output_len,
        }),
        DataSet::Sharegpt => json!({"output_len": args.sharegpt_output_len}),
        DataSet::Custom => json!({"output_len": args.custom_output_len}),
        DataSet::Conversations => json!({
            "output_len": args.conversation_output_len,
            "think_time_s": [args.think_time.0.start().as_secs_f64(), args.think_time.0.end().as_secs_f64()],
            "recorded_answers": args.recorded_answers,
        }),
        DataSet::Mooncake | DataSet::Azure => json!({}),
    };
    if let (Some(all), Some(lengths)) = (set.as_object_mut(), lengths.as_object()) {
        all.extend(lengths.clone());
    }
    set
}
