//! What the client takes from a server on its own machine: the server's throughput under perflab's client over that under the least
//! client that there can be ([`super::floor`]), in turns, with an interval.

use std::net::SocketAddr;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, StudentsT};
use tokio_util::sync::CancellationToken;

use super::error::LoadError;
use super::floor::Floor;
use super::observer::Silent;
use super::run::run;
use super::self_test::short_prompts;

/// Loads of each client.
const PAIRS: usize = 8;
/// Tokens of an answer. Each stream has one.
const TOKENS: u32 = 64;
/// What the interval holds.
const CONFIDENCE: f64 = 0.95;

/// The server and the load that both clients put on it.
#[derive(Debug)]
pub struct EffectTest<'a> {
    pub address: SocketAddr,
    pub model: &'a str,
    /// Streams at one time.
    pub streams: u32,
    /// Processors that perflab's client is kept on; any, where there are none.
    pub cpus: Vec<usize>,
}

/// Throughput of the server under perflab's client over that under the floor client.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effect {
    pub streams: u32,
    pub pairs: usize,
    /// Geometric mean of the pairs' ratios,
    pub ratio: f64,
    /// and its interval of 95 %, by Student's t over their logarithms.
    pub low: f64,
    pub high: f64,
}

/// Loads the server with both clients in turns: one load of each that does not count, then pairs whose order alternates.
pub async fn effect(test: &EffectTest<'_>) -> Result<Effect, LoadError> {
    floor(test).await?;
    ours(test, 0).await?;
    let mut ratios = Vec::new();
    for pair in 0..PAIRS {
        let seed = 1 + pair as u64;
        let (mine, least) = if pair % 2 == 0 {
            let mine = ours(test, seed).await?;
            (mine, floor(test).await?)
        } else {
            let least = floor(test).await?;
            (ours(test, seed).await?, least)
        };
        // both brought the same tokens
        ratios.push(least / mine);
    }
    let (ratio, low, high) = interval(&ratios);
    Ok(Effect { streams: test.streams, pairs: ratios.len(), ratio, low, high })
}

/// Seconds that perflab's client takes.
async fn ours(test: &EffectTest<'_>, seed: u64) -> Result<f64, LoadError> {
    let url = format!("http://{}", test.address);
    let mut spec =
        short_prompts(&url, test.model, (u64::from(test.streams), u64::from(test.streams)), TOKENS);
    spec.seed = seed;
    spec.cpus.clone_from(&test.cpus);
    let (cancel, dead) = (CancellationToken::new(), CancellationToken::new());
    let summary = run(&spec, &mut Silent, &cancel, &dead).await?.summary;
    let wanted = u64::from(test.streams) * u64::from(TOKENS);
    if summary.failed > 0 || summary.output_tokens != wanted {
        return Err(LoadError::Task(format!(
            "{} requests failed, and {} of {wanted} tokens came",
            summary.failed, summary.output_tokens
        )));
    }
    Ok(summary.duration_s)
}

/// Seconds that the floor client takes, on a thread of its own.
async fn floor(test: &EffectTest<'_>) -> Result<f64, LoadError> {
    let body = serde_json::json!({
        "model": test.model,
        "messages": [{"role": "user", "content": "one two three four five six seven eight"}],
        "max_tokens": TOKENS,
        "ignore_eos": true,
        "temperature": 0,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    let floor = Floor {
        address: test.address,
        path: "/v1/chat/completions",
        body: body.to_string(),
        streams: u64::from(test.streams),
        requests: u64::from(test.streams),
    };
    let done = tokio::task::spawn_blocking(move || floor.run()).await;
    let failed = |why: String| LoadError::Task(format!("the floor client: {why}"));
    done.map_err(|e| failed(e.to_string()))?.map_err(|e| failed(e.to_string()))
}

/// The geometric mean of ratios and its interval.
fn interval(ratios: &[f64]) -> (f64, f64, f64) {
    let n = ratios.len() as f64;
    let logs: Vec<f64> = ratios.iter().map(|r| r.ln()).collect();
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = StudentsT::new(0.0, 1.0, n - 1.0).map_or(f64::NAN, |t| t.inverse_cdf(0.5 + CONFIDENCE / 2.0));
    let half = t * (variance / n).sqrt();
    (mean.exp(), (mean - half).exp(), (mean + half).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_students() {
        // ln: mean 0, standard deviation 0.02 over the root of two thirds; t of three degrees is 3.182
        let ratios = [0.02_f64, -0.02, 0.02, -0.02].map(f64::exp);
        let (ratio, low, high) = interval(&ratios);
        let half = 3.182_446_305_284_263 * (4.0 * 0.0004 / 3.0 / 4.0_f64).sqrt();
        assert!((ratio - 1.0).abs() < 1e-12, "{ratio}");
        assert!((low - (-half).exp()).abs() < 1e-6 && (high - half.exp()).abs() < 1e-6, "{low} {high}");
    }
}
