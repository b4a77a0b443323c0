//! What `perflab bench` writes: its own JSON, and that of `vllm bench serve`.

use serde_json::{Map, Value, json};

use super::args::BenchArgs;
use super::notes::Note;
use super::{goodput, notes, stated};
use crate::load::{self, Api, Dist, LoadOutcome, LoadSpec, Outcome, RequestRecord, Vllm};

/// The numbers by perflab's definitions.
pub(super) fn own(args: &BenchArgs, spec: &LoadSpec, outcome: &LoadOutcome) -> Value {
    let (s, sending) = (&outcome.summary, outcome.sending);
    let ended = outcome.records.len() as u64;
    json!({
        "schema": "perflab.bench/1",
        "url": spec.base_url,
        "endpoint": args.endpoint.path(),
        "model": args.model,
        "arrivals": stated::arrivals(spec),
        "load": stated::load(args, spec),
        "streamed": spec.stream,
        "ended": outcome.ended,
        "interrupted": outcome.cancelled(),
        "requests": {
            "planned": planned(outcome),
            "completed": s.completed,
            "failed": s.failed,
            "short": s.short,
            "errors": s.errors,
            "in_flight": sending.dropped(ended),
            "unsent": sending.unsent(),
        },
        "duration_s": s.duration_s,
        "input_tokens": s.input_tokens,
        "template_tokens": outcome.template_tokens,
        "prompts": outcome.prompts,
        "output_tokens": s.output_tokens,
        "cached_tokens": s.cached_tokens,
        "request_rate": s.request_rate,
        "goodput": goodput::own(&args.goodput, outcome, goodput::From::Sent),
        "goodput_from_schedule": goodput::own(&args.goodput, outcome, goodput::From::Schedule),
        "send_rate": s.send_rate,
        "input_tps": s.input_tps,
        "output_tps": s.output_tps,
        "total_tps": s.total_tps,
        "peak_in_flight": s.peak_in_flight,
        "steady": s.steady,
        "ttft_ms": s.ttft_ms,
        "ttft_from_schedule_ms": s.ttft_from_schedule_ms,
        "tpot_ms": s.tpot_ms,
        "itl_ms": s.itl_ms,
        "icl_ms": s.icl_ms,
        "latency_ms": s.latency_ms,
        "latency_from_schedule_ms": s.latency_from_schedule_ms,
        "queue_ms": s.queue_ms,
        "schedule_lag_ms": s.schedule_lag_ms,
        "compatible": Some(&outcome.columns).filter(|columns| !columns.is_empty()),
        "turns": load::turns(&outcome.records),
        "client": s.client,
        "client_stalled": outcome.stalled,
        "client_held_up": notes::held_up(outcome),
        "findings": notes::of(args, spec, outcome).iter().map(Note::json).collect::<Vec<_>>(),
        "server": outcome.server,
    })
}

/// Requests that were to be sent, as far as that is known: of a load that ends by time, those that were.
fn planned(outcome: &LoadOutcome) -> u64 {
    outcome.sending.planned.unwrap_or(outcome.sending.begun)
}

/// What `vllm bench serve --backend`, or SGLang's tool, calls this endpoint.
pub(super) fn backend(api: Api) -> &'static str {
    match api {
        Api::Chat => "openai-chat",
        Api::Completions => "openai",
        Api::Generate => "sglang",
    }
}

/// A number as Python prints it.
pub(super) fn python_float(number: f64) -> String {
    if number.is_infinite() { "inf".to_owned() } else { format!("{number:?}") }
}

/// What `vllm bench serve --save-result` of 0.17 writes, with its names and its definitions ([`Vllm::V0_11`], which are those of 0.17
/// too).
pub(super) fn vllm(args: &BenchArgs, spec: &LoadSpec, outcome: &LoadOutcome, date: &str) -> Value {
    let theirs = Vllm::V0_11.column(&outcome.records, spec);
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| {
        all.insert(name.to_owned(), value);
    };
    put("date", date.into());
    put("endpoint_type", backend(args.endpoint).into());
    put("backend", backend(args.endpoint).into());
    put("label", args.label.clone().into());
    put("model_id", args.model.clone().into());
    let tokenizer = spec.tokenizer().map(|path| path.display().to_string());
    put("tokenizer_id", tokenizer.unwrap_or_else(|| args.model.clone()).into());
    put("num_prompts", planned(outcome).into());
    for (key, value) in &args.metadata {
        put(key, value.clone().into());
    }
    let offered = stated::offered(spec);
    put("request_rate", if offered.rate.is_finite() { offered.rate.into() } else { "inf".into() });
    put("burstiness", offered.burstiness.into());
    put("max_concurrency", offered.cap.into());
    put("duration", theirs.duration_s.into());
    put("completed", theirs.completed.into());
    put("failed", theirs.failed.into());
    put("total_input_tokens", theirs.input_tokens.into());
    put("total_output_tokens", theirs.output_tokens.into());
    put("request_throughput", theirs.request_rate.into());
    put("request_goodput", goodput::vllm(&args.goodput, (outcome, spec.api), theirs.duration_s).into());
    put("output_throughput", theirs.output_tps.into());
    put("total_token_throughput", theirs.total_tps.into());
    if args.save_detailed {
        details(spec, &outcome.records, &mut put);
    }
    let (tokens, requests) = Vllm::V0_11.busiest_second(&outcome.records, spec.api);
    if spec.stream {
        put("max_output_tokens_per_s", (tokens as f64).into());
    }
    put("max_concurrent_requests", requests.into());
    put("rtfx", 0.0.into());
    let distributions = [
        ("ttft", theirs.ttft_ms),
        ("tpot", theirs.tpot_ms),
        ("itl", theirs.itl_ms),
        ("e2el", theirs.latency_ms),
    ];
    for (name, dist) in distributions {
        // an answer that came as a whole has none of what is measured between tokens; a zero would be a number
        if !spec.stream && name != "e2el" {
            continue;
        }
        let number = |of: &dyn Fn(&Dist) -> f64| dist.as_ref().map_or(0.0, of).into();
        put(&format!("mean_{name}_ms"), number(&|d| d.mean));
        put(&format!("median_{name}_ms"), number(&|d| d.p50));
        put(&format!("std_{name}_ms"), number(&|d| d.stddev));
        for percentile in &args.metric_percentiles {
            put(&format!("p{}_{name}_ms", percentile.name()), number(&|d| percentile.of(d)));
        }
    }
    Value::Object(all)
}

/// Per request, in sending order. Texts are not kept, and stand empty.
fn details(spec: &LoadSpec, records: &[RequestRecord], put: &mut impl FnMut(&str, Value)) {
    let mut records: Vec<&RequestRecord> = records.iter().collect();
    records.sort_by_key(|r| r.index);
    let list =
        |of: &dyn Fn(&RequestRecord) -> Value| records.iter().map(|r| of(r)).collect::<Vec<_>>().into();
    let answered = |r: &RequestRecord| Vllm::V0_11.is_answered(r, spec.api);
    put("input_lens", list(&|r| Vllm::V0_11.input_tokens(r, spec).into()));
    put("output_lens", list(&|r| if answered(r) { r.output_tokens.into() } else { 0.into() }));
    if spec.stream {
        put("ttfts", list(&|r| (Vllm::V0_11.times(r, spec.api).ttft_ms / 1e3).into()));
        let gaps = |r: &RequestRecord| -> Vec<f64> {
            Vllm::V0_11.gaps_ms(r, spec.api).map(|gap| gap / 1e3).collect()
        };
        put("itls", list(&|r| gaps(r).into()));
    }
    put("start_times", list(&|r| (r.sent_ns as f64 / 1e9).into()));
    put("generated_texts", list(&|_| "".into()));
    let error = |r: &RequestRecord| match &r.outcome {
        Outcome::Failed(failure) => failure.to_string(),
        _ if answered(r) => String::new(),
        Outcome::Ok | Outcome::Short if r.form.cut => "the body was cut off behind its last word".to_owned(),
        Outcome::Ok | Outcome::Short => "the stream has events of another form".to_owned(),
    };
    put("errors", list(&|r| error(r).into()));
}
