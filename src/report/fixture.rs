//! A hand-made report in which everything happens that can happen: every outcome, a pick, a skipped step, a tie, an
//! adoption, a loss on another profile.

use indexmap::IndexMap;
use serde_json::json;

use super::document::*;
use super::evidence::*;
use super::metrics::{Distribution, Metrics};

const MODEL: &str = "Qwen/Qwen3.5-9B";

/// The whole story, on the simulated engine.
pub fn full() -> Report {
    Report {
        schema: SCHEMA.to_owned(),
        perflab: "0.1.0".to_owned(),
        study: "qwen3_5_9b".to_owned(),
        title: "Optimizing Qwen3.5-9B Throughput".to_owned(),
        file: "qwen3.plab".to_owned(),
        set: IndexMap::new(),
        simulated: true,
        replay: None,
        complete: true,
        goes_on: None,
        checks: Checks::Refuse,
        model: MODEL.to_owned(),
        gpus: Some(Gpus { count: 1, of: Some("H100 80GB HBM3".to_owned()) }),
        engines: vec![
            engine("vllm_base", "vLLM", "vllm", "0.17.1"),
            engine("sglang_base", "SGLang", "sglang", "0.5.9"),
        ],
        profiles: vec![
            profile("sharegpt", "ShareGPT", "1000 requests at once, ShareGPT"),
            profile(
                "long_context",
                "Long Context",
                "100 requests at 1/s, random, 32,000 input and 100 output tokens",
            ),
        ],
        objective: Some(Objective {
            expr: "total_tps".to_owned(),
            means: None,
            direction: Direction::Maximize,
            profiles: vec!["sharegpt".to_owned()],
            unit: Some("tok/s".to_owned()),
        }),
        require: Vec::new(),
        adopt: 0.005,
        repeat: Some(1),
        noise: None,
        baseline: "t-vllm".to_owned(),
        tracks: vec![],
        steps: steps(),
        trials: trials(),
        confirm: vec![
            confirm("sharegpt", "t-vllm", "t-b32", 0.071_26, Verdict::Better),
            confirm("long_context", "t-vllm-long", "t-b32-long", -0.0312, Verdict::Worse),
        ],
        recommended: Some(recommended()),
        no_recommendation: None,
        notes: vec!["FP8 costs accuracy: run `quiz` | `mmlu` before serving *anything*".to_owned()],
        warnings: vec!["vLLM 0.17.2 is installed, the study says 0.17.1".to_owned()],
        not_checked: vec!["throttling: no GPU".to_owned(), "foreign processes: no GPU".to_owned()],
        launches: vec![Launch {
            check: false,
            id: "l-1".into(),
            config: (&config("vllm_base", &[])).into(),
            start_s: 41.5,
            warmup_s: 12.0,
            load_s: 54.74,
            stop_s: 2.5,
            own_s: 0.4,
            drain_s: 0.0,
        }],
        cost: Cost {
            checks: 0,
            launches: 8,
            trials: 11,
            runs: 11,
            wall_s: 2531.0,
            gpu_s: 2490.0,
            energy_j: None,
            usd: None,
            own_s: 21.4,
            drain_s: 0.0,
        },
    }
}

/// The same numbers as a replay of a recording.
pub fn replayed() -> Report {
    let replay = Replay {
        recording: "qwen3.5-9b-h100".to_owned(),
        title: "Optimizing Qwen3.5-9B Throughput".to_owned(),
        hardware: "NVIDIA H100 80GB HBM3".to_owned(),
        measured_with: Some("guidellm".to_owned()),
        differences: vec!["profile sharegpt: the recording sends 1000/s, the study all at once".to_owned()],
    };
    Report { simulated: false, replay: Some(replay), checks: Checks::Warn, ..full() }
}

/// A study that ends at its baseline.
pub fn nothing_recommended() -> Report {
    let report = full();
    let mut trials = vec![report.trials[0].clone()];
    trials[0].outcome = Outcome::Failed;
    trials[0].reason =
        Some("exited with status 1 before it was ready: unknown flag (--max-modle-len)".into());
    trials[0].metrics = Metrics::default();
    trials[0].objective = None;
    Report {
        simulated: false,
        steps: vec![],
        trials,
        confirm: vec![],
        recommended: None,
        warnings: vec![],
        ..report
    }
}

fn steps() -> Vec<Step> {
    let incumbent = || row(Role::Incumbent, "t-vllm", "vLLM", &[]);
    let fp8 = || row(Role::Incumbent, "t-fp8", "FP8", &[]);
    let fp8_flag = "--quantization=fp8";
    vec![
        Step {
            best: Some("t-vllm".to_owned()),
            gain: gain(0.0),
            chosen: Some("t-vllm".to_owned()),
            ..step("engines", "Choosing the Inference Engine", vec![
                incumbent(),
                Row { gain: Some(0.0), same_as: Some("the baseline".to_owned()), ..row(Role::Candidate, "t-vllm", "vLLM", &["engine vllm_base"]) },
                Row {
                    outcome: Outcome::Flagged,
                    reason: Some("THROUGHPUT_ID: tokens over duration are 6,493.90 tok/s, the tool printed 6,499.41".into()),
                    gain: Some(-0.436_16),
                    objective: Some(6499.41),
                    ..row(Role::Candidate, "t-sglang", "SGLang", &["engine sglang_base"])
                },
            ])
        },
        Step {
            notes: vec!["`--enable-prefix-caching` is the engine's default: an A/A pair".to_owned()],
            ..step("spec", "Prefix Cache | Speculative Decoding", vec![
                incumbent(),
                Row {
                    outcome: Outcome::Refused,
                    reason: Some("success_rate 51.4 % < 99.9 %".into()),
                    objective: Some(15_059.89),
                    gain: Some(0.306_47),
                    ..row(Role::Candidate, "t-mtp", "mtp", &[r#"--speculative-config={"method":"mtp","num_speculative_tokens":4}"#])
                },
                Row {
                    outcome: Outcome::Failed,
                    reason: Some("out of GPU memory: CUDA out of memory. Tried to allocate 2.50 GiB".into()),
                    objective: None,
                    ..row(Role::Candidate, "t-eagle", "eagle", &[r#"--speculative-config={"method":"eagle","num_speculative_tokens":8}"#])
                },
            ])
        },
        Step {
            by: By::Hand,
            adopted: true,
            chosen: Some("t-fp8".to_owned()),
            best: Some("t-fp8".to_owned()),
            gain: gain(0.004),
            reason: Some("the fleet serves FP8".to_owned()),
            incumbent_after: "t-fp8".to_owned(),
            ..step("quant", "Quantization", vec![
                incumbent(),
                Row { objective: Some(11_573.25), gain: Some(0.004), ..row(Role::Candidate, "t-fp8", "FP8", &[fp8_flag]) },
            ])
        },
        Step {
            guard: Some("p50(tpot) > 15ms".to_owned()),
            skipped: Some("the guard `p50(tpot) > 15ms` is not met, it is 3.42 ms".to_owned()),
            incumbent_before: "t-fp8".to_owned(),
            incumbent_after: "t-fp8".to_owned(),
            ..step("graph", "CUDA Graphs", vec![Row {
                outcome: Outcome::Missing,
                reason: Some("guard not met".into()),
                objective: None,
                ..row(Role::Candidate, "t-eager", "eager", &["--enforce-eager"])
            }])
        },
        Step {
            base: "engines".to_owned(),
            adopted: true,
            chosen: Some("t-b32".to_owned()),
            best: Some("t-b32".to_owned()),
            gain: gain(0.066_98),
            incumbent_before: "t-fp8".to_owned(),
            incumbent_after: "t-b32".to_owned(),
            ..step("batch", "Max Batched Tokens && Max Num Seqs", vec![
                Row { objective: Some(11_573.25), ..fp8() },
                Row { role: Role::Base, ..incumbent() },
                Row {
                    objective: Some(12_348.6),
                    gain: Some(0.066_98),
                    ..row(Role::Candidate, "t-b32", "mode × 32Ki × 512", &["--performance-mode=throughput", "--max-num-batched-tokens=32768", "--max-num-seqs=512"])
                },
                Row {
                    outcome: Outcome::Pruned,
                    reason: Some("cannot_fill: cannot fill the batch".into()),
                    objective: None,
                    ..row(Role::Candidate, "t-b1", "mode × 1Ki × 2048", &["--performance-mode=throughput", "--max-num-batched-tokens=1024", "--max-num-seqs=2048"])
                },
                Row {
                    outcome: Outcome::Missing,
                    reason: Some("budget spent".into()),
                    objective: None,
                    ..row(Role::Candidate, "t-b48", "mode × 48Ki × 768", &["--performance-mode=throughput", "--max-num-batched-tokens=49152", "--max-num-seqs=768"])
                },
            ])
        },
    ]
}

fn trials() -> Vec<Trial> {
    let finding = Finding {
        check: "SHORT".into(),
        level: Level::Flag,
        text: "54.7 s | less than 60 s of steady window".into(),
    };
    let long = |trial: Trial, id: &str| Trial { id: id.into(), profile: "long_context".into(), ..trial };
    let b32 = ["--performance-mode=throughput", "--max-num-batched-tokens=32768", "--max-num-seqs=512"];
    vec![
        Trial { findings: vec![finding], ..measured("t-vllm", "vLLM", &[], 11_527.14, 1604.23, 15.12) },
        Trial {
            outcome: Outcome::Flagged,
            ..measured("t-sglang", "SGLang", &[], 6499.41, 26_217.15, 138.86)
        },
        Trial {
            outcome: Outcome::Refused,
            ..measured(
                "t-mtp",
                "mtp",
                &[r#"--speculative-config={"method":"mtp","num_speculative_tokens":4}"#],
                15_059.89,
                268.95,
                42.5,
            )
        },
        unmeasured("t-eagle", "eagle", Outcome::Failed),
        measured("t-fp8", "FP8", &["--quantization=fp8"], 11_573.25, 1512.0, 14.8),
        unmeasured("t-eager", "eager", Outcome::Missing),
        measured("t-b32", "mode × 32Ki × 512", &b32, 12_348.6, 1344.9, 15.85),
        unmeasured("t-b1", "mode × 1Ki × 2048", Outcome::Pruned),
        unmeasured("t-b48", "mode × 48Ki × 768", Outcome::Missing),
        long(measured("t-vllm-long", "vLLM", &[], 32_416.84, 1021.12, 10.21), "t-vllm-long"),
        long(measured("t-b32-long", "mode × 32Ki × 512", &b32, 31_405.4, 1401.0, 10.4), "t-b32-long"),
    ]
}

fn recommended() -> Recommended {
    let argv = [
        "vllm",
        "serve",
        MODEL,
        "--max-model-len=32768",
        "--performance-mode=throughput",
        "--max-num-batched-tokens=32768",
        "--max-num-seqs=512",
        r#"--compilation-config={"cudagraph_mode": "FULL"}"#,
        "--reasoning-parser=qwen3",
    ];
    Recommended {
        trial: "t-b32".to_owned(),
        command: argv[..7].join(" ")
            + r#" --compilation-config='{"cudagraph_mode": "FULL"}' --reasoning-parser=qwen3"#,
        argv: argv.iter().map(ToString::to_string).collect(),
        env: IndexMap::from([("VLLM_USE_V1".to_owned(), "1".to_owned())]),
        published: Published {
            added: vec!["--reasoning-parser=qwen3".to_owned()],
            hidden: vec!["--enforce-eager".to_owned()],
        },
        gain: Gain { value: Some(0.071_26), low: None, high: None, by: Proof::SingleRun },
        partial: true,
    }
}

fn step(name: &str, title: &str, rows: Vec<Row>) -> Step {
    let candidates =
        rows.iter().filter(|row| row.role == Role::Candidate).map(|row| row.trial.clone()).collect();
    Step {
        name: name.to_owned(),
        title: title.to_owned(),
        track: None,
        base: "best".to_owned(),
        guard: None,
        skipped: None,
        chosen: None,
        adopted: false,
        by: By::Rule,
        reason: None,
        gain: None,
        candidates,
        best: None,
        incumbent_before: "t-vllm".to_owned(),
        incumbent_after: "t-vllm".to_owned(),
        rows,
        notes: vec![],
    }
}

fn row(role: Role, trial: &str, label: &str, changes: &[&str]) -> Row {
    Row {
        role,
        trial: trial.into(),
        label: label.into(),
        changes: changes.iter().map(|change| (*change).into()).collect(),
        same_as: None,
        outcome: Outcome::Ok,
        reason: None,
        objective: Some(11_527.14),
        spread: None,
        gain: None,
        gain_low: None,
        gain_high: None,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the field it fills is an option")]
fn gain(value: f64) -> Option<Gain> {
    Some(Gain { value: Some(value), low: None, high: None, by: Proof::SingleRun })
}

fn confirm(profile: &str, baseline: &str, recommended: &str, value: f64, verdict: Verdict) -> Confirm {
    Confirm {
        of_the_steps: false,
        profile: profile.to_owned(),
        baseline: baseline.to_owned(),
        recommended: recommended.to_owned(),
        baseline_failed: None,
        baseline_objective: None,
        recommended_objective: None,
        gain: gain(value),
        verdict,
    }
}

fn measured(id: &str, label: &str, flags: &[&str], tps: f64, ttft: f64, tpot: f64) -> Trial {
    let mut metrics = Metrics::default();
    metrics.number("completed", 1000.0);
    metrics.number("duration_s", 54.74);
    metrics.number("input_tokens", 342_058.0);
    metrics.number("output_tokens", 281_412.0);
    metrics.number("request_rate", 18.268_176_836_5);
    metrics.number("total_tps", tps);
    metrics.distribution(
        "ttft_ms",
        Distribution { mean: Some(ttft), p50: Some(ttft / 2.0), p99: Some(5737.27), ..Default::default() },
    );
    metrics.distribution("tpot_ms", Distribution { mean: Some(tpot), ..Default::default() });
    Trial {
        runs: vec![Run { n: 1, launch: Some("l-1".into()), metrics: metrics.clone(), log_tail: vec![] }],
        metrics,
        objective: Some(tps),
        config: (&config("vllm_base", flags)).into(),
        command: [&["vllm", "serve", MODEL, "--max-model-len=32768"], flags]
            .concat()
            .iter()
            .map(|w| super::quote(w))
            .collect::<Vec<_>>()
            .join(" "),
        ..unmeasured(id, label, Outcome::Ok)
    }
}

fn unmeasured(id: &str, label: &str, outcome: Outcome) -> Trial {
    Trial {
        id: id.into(),
        label: label.into(),
        config: (&config(label, &[])).into(),
        profile: "sharegpt".into(),
        load: None,
        command: format!("vllm serve {MODEL} --max-model-len=32768"),
        outcome,
        reason: None,
        findings: vec![],
        runs: vec![],
        metrics: Metrics::default(),
        objective: None,
    }
}

fn config(engine: &str, flags: &[&str]) -> Config {
    let flag = |text: &&str| {
        let (name, value) = text.split_once('=').unwrap_or((text, "true"));
        Flag { name: name.to_owned(), value: serde_json::from_str(value).unwrap_or_else(|_| json!(value)) }
    };
    Config {
        engine: engine.to_owned(),
        version: Some("0.17.1".to_owned()),
        model: MODEL.to_owned(),
        flags: flags.iter().map(flag).collect(),
        env: IndexMap::new(),
        gpus: 1,
    }
}

fn engine(name: &str, title: &str, root: &str, version: &str) -> Engine {
    Engine {
        name: name.to_owned(),
        title: title.to_owned(),
        root: root.to_owned(),
        version: Some(version.to_owned()),
    }
}

fn profile(name: &str, title: &str, load: &str) -> Profile {
    Profile { name: name.to_owned(), title: title.to_owned(), load: load.to_owned() }
}
