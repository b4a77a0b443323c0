//! The published runs to which the default knobs were fitted: vLLM 0.11 on one H100, a thousand requests or fewer sent
//! at once, no flags. If the model, the scheduler or a knob drifts, it shows here.

use std::time::Duration;

use super::super::{Arrivals, EngineConfig, Load, SimArgs, predict};

/// Tokens that the chat template added to the published prompts.
const TEMPLATE: u32 = 10;

struct Run {
    model: &'static str,
    requests: usize,
    /// Mean tokens of a prompt and of an answer.
    shape: (u32, u32),
    /// Seconds of the whole run.
    duration: f64,
    /// Mean milliseconds.
    ttft: f64,
    /// Mean milliseconds.
    tpot: f64,
}

const RUNS: [Run; 8] = [
    Run {
        model: "Qwen3-14B",
        requests: 100,
        shape: (32_000, 99),
        duration: 386.80,
        ttft: 191_024.0,
        tpot: 277.44,
    },
    Run {
        model: "Qwen3-14B",
        requests: 500,
        shape: (3996, 200),
        duration: 227.57,
        ttft: 112_717.0,
        tpot: 132.45,
    },
    Run {
        model: "Qwen3-14B",
        requests: 500,
        shape: (1996, 100),
        duration: 98.91,
        ttft: 50_716.0,
        tpot: 206.51,
    },
    Run {
        model: "Qwen3-14B",
        requests: 1000,
        shape: (128, 4),
        duration: 22.72,
        ttft: 18_283.0,
        tpot: 525.31,
    },
    Run {
        model: "Qwen3-32B",
        requests: 100,
        shape: (32_000, 77),
        duration: 1157.25,
        ttft: 585_981.0,
        tpot: 43.42,
    },
    Run {
        model: "Qwen3-32B",
        requests: 500,
        shape: (3996, 200),
        duration: 976.29,
        ttft: 482_284.0,
        tpot: 66.61,
    },
    Run {
        model: "Qwen3-32B",
        requests: 500,
        shape: (1996, 100),
        duration: 328.04,
        ttft: 163_909.0,
        tpot: 86.62,
    },
    Run {
        model: "Qwen3-32B",
        requests: 1000,
        shape: (128, 4),
        duration: 32.88,
        ttft: 21_649.0,
        tpot: 1169.72,
    },
];

fn assert_near(run: &Run, metric: &str, predicted: f64, published: f64, tolerance: f64) {
    let error = predicted / published - 1.0;
    let (model, shape) = (run.model, run.shape);
    assert!(error.abs() < tolerance, "{model} {shape:?} {metric}: {predicted} is {:+.1} %", error * 100.0);
}

#[test]
fn published_runs_are_reproduced() -> Result<(), Box<dyn std::error::Error>> {
    for run in &RUNS {
        let args = SimArgs::parse_words(["--model", run.model, "--max-num-seqs", "1024"])?;
        let (input, output) = run.shape;
        let load =
            Load::uniform(run.requests, input + TEMPLATE, output, Arrivals::Open(vec![Duration::ZERO]));
        let prediction = predict(&EngineConfig::resolve(&args)?, &load)?;
        assert_near(run, "duration", prediction.duration.as_secs_f64(), run.duration, 0.09);
        assert_near(run, "TTFT", prediction.mean_ttft() * 1e3, run.ttft, 0.14);
        assert_near(run, "TPOT", prediction.mean_tpot() * 1e3, run.tpot, 0.04);
    }
    Ok(())
}
