//! What was asked for, as a document's reader has to know it: a number without its load says nothing.

use serde_json::{Value, json};

use super::args::BenchArgs;
use super::data_args::{DataArgs, DataSet};
use crate::load::{Arrivals, LoadSpec, Pace};

/// When requests were sent.
pub(super) fn arrivals(spec: &LoadSpec) -> Value {
    let over = |from: f64, to: f64, kind: &str, seconds: f64| json!({"kind": kind, "rate": from, "rate_to": to, "over_s": seconds});
    let mut how = match spec.arrivals {
        Arrivals::AllAtOnce => json!({"kind": "all_at_once"}),
        Arrivals::Closed { concurrency } => json!({"kind": "closed", "concurrency": concurrency}),
        Arrivals::Constant { rate } => json!({"kind": "constant", "rate": rate}),
        Arrivals::Poisson { rate } => json!({"kind": "gamma", "rate": rate, "burstiness": 1.0}),
        Arrivals::Gamma { rate, burstiness } => {
            json!({"kind": "gamma", "rate": rate, "burstiness": burstiness})
        }
        Arrivals::Through(Pace::Even { rate }) => json!({"kind": "constant", "rate": rate}),
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

/// What was asked, how much of it, and how answers were to be drawn.
pub(super) fn load(args: &BenchArgs, spec: &LoadSpec) -> Value {
    json!({
        "num_prompts": args.duration.is_none().then_some(args.num_prompts),
        "duration_s": args.duration,
        "num_warmups": args.num_warmups,
        "seed": args.seed,
        "temperature": spec.sampling.temperature,
        "top_p": spec.sampling.top_p,
        "ignore_eos": spec.ignores_eos(),
        "extra_body": args.extra_body,
        "data": data(&args.data),
    })
}

fn data(args: &DataArgs) -> Value {
    let path = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
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
