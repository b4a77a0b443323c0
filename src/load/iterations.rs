//! TensorRT-LLM's own page: `/metrics` is a JSON list of its latest iterations, not Prometheus' text. The last of them is read as the
//! text that the same server shows under `/prometheus/metrics`, so that whoever reads pages knows one form.

use std::fmt::Write as _;

use serde::Deserialize;

/// One iteration, as far as it is looked at.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Iteration {
    num_active_requests: Option<f64>,
    num_queued_requests: Option<f64>,
    kv_cache_stats: Option<KvCache>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct KvCache {
    used_num_blocks: Option<f64>,
    max_num_blocks: Option<f64>,
}

/// The text of a page of iterations; `None` if it is none. One without any is an idle server's.
pub(super) fn as_text(page: &str) -> Option<String> {
    let all: Vec<Iteration> = serde_json::from_str(page).ok()?;
    let mut text = String::new();
    let Some(last) = all.last() else { return Some(text) };
    let kv = last.kv_cache_stats.as_ref();
    let used = kv.and_then(|kv| Some(kv.used_num_blocks? / kv.max_num_blocks.filter(|most| *most > 0.0)?));
    let values = [
        ("trtllm_num_requests_running", last.num_active_requests),
        ("trtllm_num_requests_waiting", last.num_queued_requests),
        ("trtllm_kv_cache_utilization", used),
    ];
    for (name, value) in values {
        if let Some(value) = value {
            // writing to a string cannot fail
            let _ = writeln!(text, "{name} {value}");
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_iteration_is_read() {
        let page = r#"[{"iter":6,"numActiveRequests":9},
            {"iter":7,"gpuMemUsage":4096,"iterLatencyMS":15.5,"numActiveRequests":5,"numQueuedRequests":3,"numCompletedRequests":2,
             "kvCacheStats":{"maxNumBlocks":1000,"freeNumBlocks":400,"usedNumBlocks":600,"tokensPerBlock":64,"cacheHitRate":0.85},
             "inflightBatchingStats":{"numContextRequests":2,"numGenRequests":3,"numPausedRequests":1}}]"#;
        let expected =
            "trtllm_num_requests_running 5\ntrtllm_num_requests_waiting 3\ntrtllm_kv_cache_utilization 0.6\n";
        assert_eq!(as_text(page).as_deref(), Some(expected));
        assert_eq!(as_text("[]").as_deref(), Some(""));
        assert_eq!(
            as_text(r#"[{"kvCacheStats":{"usedNumBlocks":0,"maxNumBlocks":0}}]"#).as_deref(),
            Some("")
        );
        for other in ["# TYPE a gauge\na 1\n", r#"{"error":"no"}"#, "", "<html>"] {
            assert_eq!(as_text(other), None, "{other}");
        }
    }
}
