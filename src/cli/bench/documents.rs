//! What `perflab bench` writes: its own JSON, and that of `vllm bench serve`.

use serde_json::{Map, Value, json};

use super::args::BenchArgs;
use super::notes::Note;
use super::{goodput, notes, stated};
use crate::load::{self, Api, Dist, LoadOutcome, LoadSpec, Outcome, RequestRecord};

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
        "goodput": goodput::own(&args.goodput, outcome),
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

/// What `vllm bench serve --save-result` of 0.17 writes, with its names and its definitions: time per token is what follows the
/// first chunk over all tokens but one, every chunk is one token between two others, and the load lasts until its last answer has ended. The time to the first token is
/// perflab's, which takes no role for a token.
pub(super) fn vllm(args: &BenchArgs, spec: &LoadSpec, outcome: &LoadOutcome, date: &str) -> Value {
    let s = &outcome.summary;
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| {
        all.insert(name.to_owned(), value);
    };
    put("date", date.into());
    put("endpoint_type", backend(args.endpoint).into());
    put("backend", backend(args.endpoint).into());
    put("label", args.label.clone().into());
    put("model_id", args.model.clone().into());
    let tokenizer = stated::tokenizer(spec).map(|path| path.display().to_string());
    put("tokenizer_id", tokenizer.unwrap_or_else(|| args.model.clone()).into());
    put("num_prompts", planned(outcome).into());
    for (key, value) in &args.metadata {
        put(key, value.clone().into());
    }
    let offered = stated::offered(spec);
    put("request_rate", if offered.rate.is_finite() { offered.rate.into() } else { "inf".into() });
    put("burstiness", offered.burstiness.into());
    put("max_concurrency", offered.cap.into());
    let duration_s = whole_s(&outcome.records);
    let rate = |count: u64| if duration_s > 0.0 { count as f64 / duration_s } else { 0.0 };
    put("duration", duration_s.into());
    put("completed", s.completed.into());
    put("failed", s.failed.into());
    put("total_input_tokens", s.input_tokens.into());
    put("total_output_tokens", s.output_tokens.into());
    put("request_throughput", rate(s.completed).into());
    put("request_goodput", goodput::vllm(&args.goodput, outcome, tpot_ms, duration_s).into());
    put("output_throughput", rate(s.output_tokens).into());
    put("total_token_throughput", rate(s.input_tokens + s.output_tokens).into());
    if args.save_detailed {
        details(spec, &outcome.records, &mut put);
    }
    let (tokens, requests) = busiest_seconds(&outcome.records);
    if spec.stream {
        put("max_output_tokens_per_s", (tokens as f64).into());
    }
    put("max_concurrent_requests", requests.into());
    put("rtfx", 0.0.into());
    let tpot = Dist::of(outcome.records.iter().filter(|r| r.is_completed()).filter_map(tpot_ms).collect());
    let distributions = [("ttft", s.ttft_ms), ("tpot", tpot), ("itl", s.icl_ms), ("e2el", s.latency_ms)];
    for (name, dist) in distributions {
        // an answer that came as a whole has none of what is measured between tokens; a zero would be a number
        if !spec.stream && dist.is_none() {
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
    put("input_lens", list(&|r| r.input_tokens().into()));
    put("output_lens", list(&|r| if r.is_completed() { r.output_tokens.into() } else { 0.into() }));
    if spec.stream {
        details_of_streams(&records, put);
    }
    put("start_times", list(&|r| seconds(0, r.sent_ns).into()));
    put("generated_texts", list(&|_| "".into()));
    let error = |r: &RequestRecord| match &r.outcome {
        Outcome::Failed(failure) => failure.to_string(),
        Outcome::Ok | Outcome::Short => String::new(),
    };
    put("errors", list(&|r| error(r).into()));
}

/// What only streams tell.
fn details_of_streams(records: &[&RequestRecord], put: &mut impl FnMut(&str, Value)) {
    let list =
        |of: &dyn Fn(&RequestRecord) -> Value| records.iter().map(|r| of(r)).collect::<Vec<_>>().into();
    put("ttfts", list(&|r| r.first_token_ns.map_or(0.0, |at| seconds(r.sent_ns, at)).into()));
    let gaps = |r: &RequestRecord| -> Vec<f64> {
        r.chunks.pairs().map(|(before, chunk)| seconds(before.at_ns(), chunk.at_ns())).collect()
    };
    put("itls", list(&|r| gaps(r).into()));
}

fn seconds(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64 / 1e9
}

/// How long all of it took as vLLM counts it: until the last answer had ended, which usage and `[DONE]` are a part of.
fn whole_s(records: &[RequestRecord]) -> f64 {
    let from = records.iter().map(|r| r.sent_ns).min().unwrap_or(0);
    seconds(from, records.iter().map(|r| r.end_ns).max().unwrap_or(0))
}

fn tpot_ms(record: &RequestRecord) -> Option<f64> {
    let after_first = record.output_tokens.checked_sub(1).filter(|n| *n > 0)?;
    let took = record.last_token_ns?.saturating_sub(record.first_token_ns?);
    Some(took as f64 / f64::from(after_first) / 1e6)
}

/// The most chunks that came and the most requests that were under way in one second since the first was sent.
fn busiest_seconds(records: &[RequestRecord]) -> (u64, u64) {
    let completed = || records.iter().filter(|r| r.is_completed());
    let began = completed().map(|r| r.sent_ns).min().unwrap_or(0);
    let second = |at: u64| usize::try_from(at.saturating_sub(began) / 1_000_000_000).unwrap_or(0);
    let ended = |r: &RequestRecord| r.last_token_ns.unwrap_or(r.end_ns);
    let seconds = completed().map(|r| second(ended(r)) + 1).max().unwrap_or(0);
    let (mut chunks, mut requests) = (vec![0_u64; seconds], vec![0_u64; seconds]);
    for record in completed() {
        for chunk in &record.chunks {
            if let Some(count) = chunks.get_mut(second(chunk.at_ns())) {
                *count += 1;
            }
        }
        let under_way = second(record.sent_ns)..=second(ended(record));
        requests.iter_mut().enumerate().filter(|(at, _)| under_way.contains(at)).for_each(|(_, n)| *n += 1);
    }
    (chunks.into_iter().max().unwrap_or(0), requests.into_iter().max().unwrap_or(0))
}
