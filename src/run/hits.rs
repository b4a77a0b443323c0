//! What servers count of their prefix caches: `/metrics` of vLLM, SGLang, llama.cpp, and of the simulated engine, which uses
//! vLLM's names.

use std::time::Duration;

use super::target::Target;
use crate::load::sum_of_series as sum;
use crate::plan::Config;
use crate::trust;

const WITHIN: Duration = Duration::from_secs(5);

/// Counters of prompt tokens that were found in the cache, and of those that were asked for.
const NAMES: [(&str, &str); 3] = [
    ("vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total"),
    ("sglang:cached_tokens_total", "sglang:prompt_tokens_total"),
    ("llamacpp:prompt_tokens_cached_total", "llamacpp:prompt_tokens_total"),
];

/// Prompt tokens since a server's start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hits {
    pub asked: f64,
    pub hits: f64,
}

/// Where a server shows its counters.
#[derive(Debug, Clone)]
pub struct Counters {
    client: reqwest::Client,
    url: String,
}

impl Counters {
    /// `None` where the engine's declaration names no page of metrics.
    pub fn of(config: &Config, target: &Target<'_>) -> Option<Self> {
        let path = config.engine.metrics.as_ref()?;
        let client = target.client(WITHIN)?;
        Some(Self { client, url: format!("{}{path}", target.base_url) })
    }

    /// What they say now; `None` where the server has no such page, or no such counter on it.
    pub async fn read(&self) -> Option<Hits> {
        let answer = self.client.get(&self.url).send().await.ok()?.error_for_status().ok()?;
        hits(&trust::whole(answer).await.ok()?)
    }
}

/// Some servers show a counter only once it has counted: of a pair, one is enough.
fn hits(page: &str) -> Option<Hits> {
    NAMES.iter().find_map(|(hits, asked)| {
        // llama.cpp counts those alone that it did not find
        let without_found = asked.starts_with("llamacpp:");
        let (hits, asked) = (sum(page, hits), sum(page, asked));
        let shown = hits.is_some() || asked.is_some();
        let (hits, asked) = (hits.unwrap_or(0.0), asked.unwrap_or(0.0));
        shown.then_some(Hits { asked: if without_found { asked + hits } else { asked }, hits })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_of_each_engine_are_found() {
        let vllm = "# HELP vllm:prefix_cache_hits_total Hits.\n\
            vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"/m {1}\"} 93.0\n\
            vllm:prefix_cache_queries_total{engine=\"1\",model_name=\"/m\"} 7.0\n\
            vllm:prefix_cache_queries_created{engine=\"0\"} 1.79e+09\n\
            vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"/m\"} 1.6e1\n";
        assert_eq!(hits(vllm), Some(Hits { asked: 100.0, hits: 16.0 }));
        let sglang = "sglang:cached_tokens_total{cache_source=\"total\",model_name=\"m\"} 979.0\n\
            sglang:cached_tokens_total{cache_source=\"device\",model_name=\"m\"} 979.0\n\
            sglang:prompt_tokens_total{model_name=\"m\"} 2000.0\n";
        assert_eq!(hits(sglang), Some(Hits { asked: 2000.0, hits: 979.0 }));
        assert_eq!(hits("llamacpp:prompt_tokens_total 12\n"), Some(Hits { asked: 12.0, hits: 0.0 }));
        let both = "llamacpp:prompt_tokens_total 33\nllamacpp:prompt_tokens_cached_total 72\n";
        assert_eq!(hits(both), Some(Hits { asked: 105.0, hits: 72.0 }));
    }

    #[test]
    fn other_pages_have_none() {
        for page in [
            "",
            "<html>404</html>",
            "up 1",
            "vllm:prefix_cache_hits_total",
            "vllm:prefix_cache_hits_total{ 1",
        ] {
            assert_eq!(hits(page), None, "{page}");
        }
    }
}
