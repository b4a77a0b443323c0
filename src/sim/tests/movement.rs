//! One thing is changed at a time; the metrics must move as batching says.

use std::time::Duration;

use super::super::{Arrivals, EngineConfig, Load, Prediction, RequestShape, SimArgs, predict};

fn run(line: &str, load: &Load) -> Prediction {
    let outcome = SimArgs::parse_words(line.split_whitespace())
        .map_err(|error| error.to_string())
        .and_then(|args| EngineConfig::resolve(&args).map_err(|error| error.to_string()))
        .and_then(|config| predict(&config, load).map_err(|error| error.to_string()));
    outcome.unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn closed(concurrency: usize) -> Arrivals {
    Arrivals::Closed { concurrency }
}

fn at_rate(count: usize, per_second: f64) -> Arrivals {
    Arrivals::Open((0..count).map(|index| Duration::from_secs_f64(index as f64 / per_second)).collect())
}

fn shares_of_ttft(prediction: &Prediction, from: usize, to: usize) -> f64 {
    let requests = &prediction.requests[from..to];
    requests.iter().map(|times| times.ttft().as_secs_f64()).sum::<f64>() / requests.len() as f64
}

#[test]
fn more_sequences_bring_throughput_for_tpot_until_saturation() {
    let load = Load::uniform(600, 200, 200, closed(600));
    let runs: Vec<Prediction> =
        [8, 32, 128, 512].iter().map(|n| run(&format!("--max-num-seqs {n}"), &load)).collect();
    for pair in runs.windows(2) {
        assert!(
            pair[1].output_tps() > pair[0].output_tps(),
            "{} {}",
            pair[0].output_tps(),
            pair[1].output_tps()
        );
        assert!(pair[1].mean_tpot() > pair[0].mean_tpot());
        assert!(pair[1].mean_ttft() < pair[0].mean_ttft());
    }
    let gain = |index: usize| runs[index + 1].output_tps() / runs[index].output_tps();
    assert!(gain(0) > 2.5 && gain(2) < 1.5, "first {} last {}", gain(0), gain(2));
}

#[test]
fn a_limit_that_does_not_bind_changes_nothing() {
    let load = Load::uniform(100, 200, 50, closed(64));
    let (one, other) = (run("--max-num-seqs 128", &load), run("--max-num-seqs 256", &load));
    assert_eq!(one.requests, other.requests);
}

#[test]
fn longer_prompts_wait_longer_for_the_first_token() {
    let ttft = |tokens| run("", &Load::uniform(20, tokens, 20, closed(1))).mean_ttft();
    let (short, middle, long) = (ttft(500), ttft(4000), ttft(16_000));
    assert!(short < middle && middle < long, "{short} {middle} {long}");
    assert!(long > 3.9 * middle - 3.0 * 0.0121 - 0.05, "{middle} {long}");
}

#[test]
fn higher_concurrency_trades_tpot_for_throughput() {
    let at = |clients| run("", &Load::uniform(256, 500, 100, closed(clients)));
    let (few, many) = (at(4), at(64));
    assert!(many.output_tps() > 4.0 * few.output_tps());
    assert!(many.mean_tpot() > few.mean_tpot());
}

#[test]
fn a_rate_above_capacity_lets_ttft_grow_and_one_below_does_not() {
    let count = 600;
    let capacity =
        count as f64 / run("", &Load::uniform(count, 1000, 50, closed(256))).duration.as_secs_f64();
    let over = run("", &Load::uniform(count, 1000, 50, at_rate(count, 2.0 * capacity)));
    assert!(shares_of_ttft(&over, 500, 600) > 3.0 * shares_of_ttft(&over, 0, 100));
    let under = run("", &Load::uniform(count, 1000, 50, at_rate(count, 0.5 * capacity)));
    assert!(shares_of_ttft(&under, 500, 600) < 1.2 * shares_of_ttft(&under, 100, 200));
    assert!(under.mean_ttft() < over.mean_ttft());
}

#[test]
fn smaller_steps_chunk_prompts_and_so_smooth_the_stream() {
    let load = Load::uniform(60, 8000, 200, at_rate(60, 1.0));
    let (small, large) =
        (run("--max-num-batched-tokens 512", &load), run("--max-num-batched-tokens 8192", &load));
    let longest_gap = |run: &Prediction| run.requests.iter().map(|times| times.longest_gap).max();
    assert!(small.steps > large.steps);
    assert!(longest_gap(&small) < longest_gap(&large));
    assert!(small.mean_ttft() > large.mean_ttft());
}

#[test]
fn fp8_weights_are_faster() {
    let load = Load::uniform(100, 1000, 100, closed(32));
    let plain = run("--model Qwen3-14B", &load);
    for line in ["--model Qwen3-14B-FP8", "--model Qwen3-14B --quantization fp8"] {
        let fp8 = run(line, &load);
        assert!(fp8.duration < plain.duration.mul_f64(0.85), "{line}");
        assert!(fp8.mean_tpot() < plain.mean_tpot());
    }
}

#[test]
fn a_second_card_helps_less_than_twice() {
    let load = Load::uniform(100, 1000, 100, closed(32));
    let (one, two) = (run("--model Qwen3-14B", &load), run("--model Qwen3-14B -tp 2", &load));
    let ratio = one.duration.as_secs_f64() / two.duration.as_secs_f64();
    assert!(ratio > 1.2 && ratio < 2.0, "{ratio}");
}

#[test]
fn a_better_card_is_faster() {
    let load = Load::uniform(60, 1000, 100, closed(32));
    let seconds = |gpu: &str| run(&format!("--gpu {gpu}"), &load).duration;
    assert!(seconds("h200") < seconds("h100-sxm"));
    assert!(seconds("h100-sxm") < seconds("h100-pcie"));
    assert!(seconds("h100-pcie") < seconds("a100-sxm"));
}

#[test]
fn a_short_cache_preempts_and_costs_time() {
    let load = Load::uniform(128, 500, 1500, closed(128));
    let tight = "--model Qwen3-32B --max-model-len 4096";
    let (tight, roomy) = (run(tight, &load), run(&format!("{tight} --gpu h200"), &load));
    assert!(tight.counters.preemptions > 0);
    assert_eq!(roomy.counters.preemptions, 0);
    let fp8 = run("--model Qwen3-32B --max-model-len 4096 --kv-cache-dtype fp8", &load);
    assert!(fp8.counters.preemptions < tight.counters.preemptions);
    assert!(fp8.duration < tight.duration);
}

#[test]
fn preempted_requests_recover_their_cached_blocks() {
    let load = Load::uniform(128, 500, 1500, closed(128));
    let line = "--model Qwen3-32B --max-model-len 4096";
    let (cached, recomputed) = (run(line, &load), run(&format!("{line} --no-enable-prefix-caching"), &load));
    assert!(cached.counters.preemptions > 0 && recomputed.counters.preemptions > 0);
    assert!(cached.duration < recomputed.duration);
}

#[test]
fn a_shared_prefix_is_computed_once() {
    let shape = RequestShape { input_tokens: 4000, output_tokens: 20, shared_prefix_tokens: 3600 };
    let load = Load { requests: vec![shape; 50], arrivals: closed(4) };
    let (cached, whole) = (run("", &load), run("--no-enable-prefix-caching", &load));
    assert!(cached.mean_ttft() < 0.4 * whole.mean_ttft(), "{} {}", cached.mean_ttft(), whole.mean_ttft());
    assert_eq!(whole.counters.prefix_queries, 0);
    assert_eq!(cached.counters.prefix_queries, 50 * 4000);
    assert_eq!(cached.counters.prefix_hits, 49 * 3600);
    let apart = run("", &Load::uniform(50, 4000, 20, closed(4)));
    assert_eq!(apart.counters.prefix_hits, 0);
}

#[test]
fn host_flags_move_a_decode_bound_load() {
    let load = Load::uniform(128, 50, 200, closed(128));
    let plain = run("", &load);
    assert!(run("--enforce-eager", &load).mean_tpot() > plain.mean_tpot());
    assert!(run("--async-scheduling", &load).mean_tpot() < plain.mean_tpot());
}

#[test]
fn speculation_pays_at_small_batches_and_not_at_large_ones() {
    let tps =
        |line: &str, clients: usize| run(line, &Load::uniform(256, 100, 200, closed(clients))).output_tps();
    assert!(tps("--num-speculative-tokens 3", 1) > 1.5 * tps("", 1));
    let gain = tps("--num-speculative-tokens 3", 256) / tps("", 256);
    assert!(gain < 1.5, "{gain}");
}

#[test]
fn a_prediction_is_a_function_of_its_arguments() {
    let load = Load::uniform(64, 300, 80, closed(16));
    let line = "--num-speculative-tokens 2";
    assert_eq!(run(line, &load), run(line, &load));
    assert_ne!(run(line, &load).requests, run(&format!("{line} --seed 1"), &load).requests);
}

#[test]
fn a_request_beyond_the_context_is_refused_by_number() {
    let config = EngineConfig::resolve(&SimArgs::default());
    let load = Load::uniform(1, 32_760, 9, closed(1));
    let error = config.ok().and_then(|config| predict(&config, &load).err()).map(|error| error.to_string());
    assert_eq!(
        error.as_deref(),
        Some("request 0 of the load cannot be served: 32769 tokens do not fit into a context of 32768")
    );
}
