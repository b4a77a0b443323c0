//! What a server says of itself while it is loaded: its page of metrics, read before the load, once a second, and afterwards.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::anew::Counting;
use super::iterations;
use super::series::{highest, sum};
use super::spec::LoadSpec;
use crate::trust;

const EVERY: Duration = Duration::from_secs(1);
/// The first look at a running load, so that a short one has one.
const FIRST: Duration = Duration::from_millis(500);
/// Pages after a load under which a counter fell, on connections of their own: of several servers behind one address another one answers.
const LOOKS: u32 = 16;
/// A page that does not come by then is left out.
const WITHIN: Duration = Duration::from_secs(2);

/// A quantity that goes up and down, over the pages that were read while the load ran.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Its mean.
    pub mean: f64,
    /// The highest.
    pub max: f64,
}

/// What a server said of itself during a load. What its page does not show is none.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// How many pages were read while the load ran.
    pub pages: u64,
    /// Requests in the server's batch.
    pub running: Option<Level>,
    /// Requests that wait for a place in it.
    pub waiting: Option<Level>,
    /// Share of the KV cache that is in use, of the fullest replica.
    pub kv_usage: Option<Level>,
    /// Requests that lost their place again.
    pub preemptions: Option<f64>,
    /// Prompt tokens that were looked for in the prefix cache,
    pub prefix_asked_tokens: Option<f64>,
    /// and those that were found.
    pub prefix_hit_tokens: Option<f64>,
    /// Tokens that a draft proposed,
    pub draft_tokens: Option<f64>,
    /// and those that were accepted.
    pub accepted_tokens: Option<f64>,
}

impl ServerFacts {
    /// Share of the prompt tokens that were found in the prefix cache.
    pub fn prefix_hit_share(&self) -> Option<f64> {
        share(self.prefix_hit_tokens, self.prefix_asked_tokens)
    }

    /// Share of the drafted tokens that were accepted.
    pub fn accepted_share(&self) -> Option<f64> {
        share(self.accepted_tokens, self.draft_tokens)
    }

    /// What the pages say: `before` and `after` the load, and those in between.
    fn of(before: &str, during: &[String], after: Option<&str>) -> Self {
        let level = |names: &[&str], fold: fn(&str, &str) -> Option<f64>| {
            let values = during.iter().filter_map(|page| names.iter().find_map(|name| fold(page, name)));
            Level::of(&values.collect::<Vec<_>>())
        };
        let grown = |names: &[&str]| {
            let after = after?;
            names.iter().find_map(|name| {
                // some servers show a counter only once it has counted
                let grown = sum(after, name)? - sum(before, name).unwrap_or(0.0);
                (grown >= 0.0).then_some(grown)
            })
        };
        Self {
            pages: during.len() as u64,
            running: level(&RUNNING, sum),
            waiting: level(&WAITING, sum),
            kv_usage: level(&KV_USAGE, highest),
            preemptions: grown(&PREEMPTIONS),
            prefix_asked_tokens: after.and_then(|page| {
                let counted = grown(prefix_asked(page))?;
                // llama.cpp counts those alone that it did not find
                let found = sum(page, LLAMA_CPP).and_then(|_| grown(&PREFIX_HITS)).unwrap_or(0.0);
                Some(counted + found)
            }),
            prefix_hit_tokens: grown(&PREFIX_HITS),
            draft_tokens: grown(&DRAFTED),
            accepted_tokens: grown(&ACCEPTED),
        }
    }
}

impl Level {
    fn of(values: &[f64]) -> Option<Self> {
        let max = values.iter().copied().reduce(f64::max)?;
        Some(Self { mean: values.iter().sum::<f64>() / values.len() as f64, max })
    }
}

fn share(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    Some(part? / whole.filter(|whole| *whole > 0.0)?)
}

// vLLM (and the simulated engine), SGLang, llama.cpp, TensorRT-LLM

const RUNNING: [&str; 4] = [
    "vllm:num_requests_running",
    "sglang:num_running_reqs",
    "llamacpp:requests_processing",
    "trtllm_num_requests_running",
];
const WAITING: [&str; 4] = [
    "vllm:num_requests_waiting",
    "sglang:num_queue_reqs",
    "llamacpp:requests_deferred",
    "trtllm_num_requests_waiting",
];
const KV_USAGE: [&str; 3] = ["vllm:kv_cache_usage_perc", "sglang:token_usage", "trtllm_kv_cache_utilization"];
/// SGLang's releases count what they took back under three names; what it shows without `_total` is of the last moment.
const PREEMPTIONS: [&str; 4] = [
    "vllm:num_preemptions_total",
    "sglang:num_retracted_requests_total",
    "sglang:num_retracted_reqs_total",
    "sglang:num_retractions_sum",
];
const PREFIX_HITS: [&str; 4] = [
    "vllm:prefix_cache_hits_total",
    "sglang:cached_tokens_total",
    "llamacpp:prompt_tokens_cached_total",
    "trtllm_prompt_cached_tokens_total",
];
const DRAFTED: [&str; 3] = [
    "vllm:spec_decode_num_draft_tokens_total",
    "llamacpp:spec_decode_num_draft_tokens_total",
    "trtllm_spec_decode_num_draft_tokens_total",
];
const ACCEPTED: [&str; 3] = [
    "vllm:spec_decode_num_accepted_tokens_total",
    "llamacpp:spec_decode_num_accepted_tokens_total",
    "trtllm_spec_decode_num_accepted_tokens_total",
];

/// Prompt tokens that llama.cpp had to compute.
const LLAMA_CPP: &str = "llamacpp:prompt_tokens_total";

/// Prompt tokens that were looked for in the prefix cache.
fn prefix_asked(page: &str) -> &'static [&'static str] {
    const ASKED: [&str; 3] = ["vllm:prefix_cache_queries_total", "sglang:prompt_tokens_total", LLAMA_CPP];
    // its older releases count prompts and not what was found of them
    let knows_hits = sum(page, "trtllm_prompt_cached_tokens_total").is_some();
    if knows_hits { &["trtllm_prompt_tokens_total"] } else { &ASKED }
}

/// TensorRT-LLM shows a series only once it has a value, but always what it is about.
const TENSORRT_LLM: &str = "trtllm_";
/// Where it shows them as text: its `/metrics` is a list of iterations, which is empty after each reading.
const TENSORRT_LLM_PATH: &str = "/prometheus/metrics";

/// Reads the page of a server while a load runs.
#[derive(Debug)]
pub(super) struct Scraper {
    page: Page,
    before: String,
    stop: DropGuard,
    during: JoinHandle<(Vec<String>, Counting)>,
}

/// What was read of a server's page while a load ran.
#[derive(Debug)]
pub(super) struct Read {
    pub facts: ServerFacts,
    pub counting: Counting,
}

impl Scraper {
    /// Begins, if the server has a page that says anything.
    pub(super) async fn start(spec: &LoadSpec) -> Option<Self> {
        let (page, before) = Page::of(spec)?.found().await?;
        let stop = CancellationToken::new();
        let during = tokio::spawn(read_on(page.clone(), stop.clone(), Counting::from(&before)));
        Some(Self { page, before, stop: stop.drop_guard(), during })
    }

    /// Ends, and says what was read.
    pub(super) async fn stop(self) -> Read {
        drop(self.stop);
        let (during, mut counting) =
            self.during.await.unwrap_or_else(|_| (Vec::new(), Counting::from(&self.before)));
        let after = self.page.read().await;
        if let Some(page) = &after {
            counting.see(page);
            look_again(&self.page, &mut counting).await;
        }
        Read { facts: ServerFacts::of(&self.before, &during, after.as_deref()), counting }
    }
}

/// Reads on where that tells a server that began anew from several servers.
async fn look_again(page: &Page, counting: &mut Counting) {
    for _ in 0..LOOKS {
        let page = if counting.is_open() { page.read().await } else { None };
        let Some(page) = page else { return };
        counting.see(&page);
    }
    counting.has_looked();
}

async fn read_on(page: Page, stop: CancellationToken, mut counting: Counting) -> (Vec<String>, Counting) {
    let mut ticks = interval_at(Instant::now() + FIRST, EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut pages = Vec::new();
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        // a page that comes when the load is over tells of an idle server
        if let Some(page) = stop.run_until_cancelled(page.read()).await.flatten() {
            counting.see(&page);
            pages.push(kept(&page));
        }
    }
    (pages, counting)
}

/// The lines of a page that are looked at: an engine's page is long, and a load has hundreds.
fn kept(page: &str) -> String {
    let names = [&RUNNING[..], &WAITING, &KV_USAGE].concat();
    let mut lines = page.lines().filter(|line| names.iter().any(|name| line.starts_with(name)));
    lines.by_ref().fold(String::new(), |all, line| all + line + "\n")
}

/// Where a server shows its metrics.
#[derive(Debug, Clone)]
struct Page {
    client: reqwest::Client,
    url: String,
    authorization: Option<String>,
    /// It is a list of iterations.
    lists_iterations: bool,
}

impl Page {
    fn of(spec: &LoadSpec) -> Option<Self> {
        let url = format!("{}{}", spec.base_url.trim_end_matches('/'), spec.metrics.as_deref()?);
        // a key is for this server alone
        let redirects = reqwest::redirect::Policy::none();
        // between two pages no connection of ours takes a server's thread from the load
        let client = trust::client_of(&url, !spec.insecure).no_proxy().timeout(WITHIN);
        let client = client.redirect(redirects).pool_max_idle_per_host(0);
        let key = spec.headers.iter().find(|h| h.name.eq_ignore_ascii_case("authorization"));
        let authorization = key.map(|h| h.value.clone());
        Some(Self { client: client.build().ok()?, url, authorization, lists_iterations: false })
    }

    /// The page that says something, and what it says now.
    async fn found(mut self) -> Option<(Self, String)> {
        let says = |text: &String| {
            text.contains(TENSORRT_LLM) || RUNNING.iter().any(|name| sum(text, name).is_some())
        };
        let first = self.fetch().await;
        let iterations = first.as_deref().map(iterations::as_text);
        if let (Some(None), Some(text)) = (&iterations, first) {
            return Some((self, text)).filter(|(_, text)| says(text));
        }
        // the text form knows more, where the server has it
        let better = self.url.strip_suffix("/metrics").map(|base| format!("{base}{TENSORRT_LLM_PATH}"));
        if let Some(url) = better {
            let other = Self { url, ..self.clone() };
            if let Some(page) = other.fetch().await.filter(says) {
                return Some((other, page));
            }
        }
        let text = iterations??;
        self.lists_iterations = true;
        Some((self, text))
    }

    /// What it says now, as text.
    async fn read(&self) -> Option<String> {
        let page = self.fetch().await?;
        if self.lists_iterations { iterations::as_text(&page) } else { Some(page) }
    }

    async fn fetch(&self) -> Option<String> {
        let mut request = self.client.get(&self.url);
        if let Some(key) = &self.authorization {
            request = request.header("authorization", key);
        }
        trust::whole(request.send().await.ok()?.error_for_status().ok()?).await.ok()
    }
}

#[cfg(test)]
mod tests;
