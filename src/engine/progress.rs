//! How far a start has come, read from the log while it grows.
//!
//! Patterns are those of vLLM, SGLang and llama.cpp, asked of every line whatever the engine: they do not overlap, and a
//! study's own engine is mostly one of them under another name. At most what the log file may hold is ever read.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use serde::Serialize;

pub(super) use super::novelty::News;
use super::novelty::Novelty;

/// A part of a start that is done, or begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Milestone {
    LoadingWeights,
    WeightsLoaded,
    Compiling,
    CacheAllocated,
    CapturingGraphs,
    GraphsCaptured,
    Listening,
}

impl Milestone {
    /// As a display says it.
    pub fn text(self) -> &'static str {
        match self {
            Self::LoadingWeights => "loading weights",
            Self::WeightsLoaded => "weights loaded",
            Self::Compiling => "compiling",
            Self::CacheAllocated => "KV cache allocated",
            Self::CapturingGraphs => "capturing graphs",
            Self::GraphsCaptured => "graphs captured",
            Self::Listening => "listening",
        }
    }
}

/// A milestone, and how much of it is done where the log says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Progress {
    pub milestone: Milestone,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
}

/// A group is a percentage.
const TABLE: [(Milestone, &str); 12] = [
    (Milestone::LoadingWeights, r"Loading (?:safetensors|pt|model|checkpoint).*?shards: +(\d+)%"),
    (Milestone::LoadingWeights, r"Multi-thread loading shards: +(\d+)%|Loading weights: +(\d+)%"),
    (
        Milestone::LoadingWeights,
        r"Starting to load model|Load weight begin|load_model: loading model '|load_tensors: loading model tensors",
    ),
    (
        Milestone::WeightsLoaded,
        r"Model loading took|Loading weights took|Load weight end|load_tensors: offloaded|llama_context: constructing",
    ),
    (Milestone::Compiling, r"Compiling a graph|Dynamo bytecode transform|torch\.compile (?:takes|took)"),
    (
        Milestone::CacheAllocated,
        r"KV cache size: |KV Cache is allocated|llama_kv_cache(?:_unified)?: size =|llama_kv_cache_init: ",
    ),
    (
        Milestone::CapturingGraphs,
        r"Capturing (?:batches|CUDA ?[Gg]raphs?).*?: +(\d+)%|Capturing CUDA graph shapes: +(\d+)%",
    ),
    (Milestone::CapturingGraphs, r"Capture cuda graph begin|Capturing the model for CUDA ?graphs"),
    (Milestone::GraphsCaptured, r"Graph capturing finished|Capture cuda graph end"),
    (Milestone::Listening, r"Application startup complete|fired up and ready to roll"),
    (Milestone::Listening, r"server is listening on|HTTP server is listening|Uvicorn running on"),
    (Milestone::Listening, r"main: server is listening"),
];

static PATTERNS: LazyLock<Vec<(Milestone, Regex)>> =
    LazyLock::new(|| TABLE.iter().filter_map(|(m, p)| Some((*m, Regex::new(p).ok()?))).collect());

/// The line says that a part of a start is done, or goes on.
pub(super) fn is_milestone(line: &str) -> bool {
    static ANY: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(TABLE.map(|(_, p)| p)).ok());
    ANY.as_ref().is_some_and(|any| any.is_match(line))
}

/// What a line says. A bar that is full says that the part is done.
fn read_line(line: &str) -> Option<Progress> {
    PATTERNS.iter().find_map(|(milestone, regex)| {
        let found = regex.captures(line)?;
        let percent = found.iter().skip(1).flatten().last().and_then(|g| g.as_str().parse::<u8>().ok());
        Some(match (milestone, percent) {
            (Milestone::LoadingWeights, Some(100)) => {
                Progress { milestone: Milestone::WeightsLoaded, percent: None }
            }
            (Milestone::CapturingGraphs, Some(100)) => {
                Progress { milestone: Milestone::GraphsCaptured, percent: None }
            }
            (milestone, percent) => Progress { milestone: *milestone, percent },
        })
    })
}

/// Read at once: news come four times a second, so a log that grows faster is followed from behind.
const AT_ONCE: usize = 256 << 10;
/// What is longer is no line that says anything.
const LONGEST_LINE: usize = 4 << 10;

/// Follows a log.
#[derive(Debug)]
pub(super) struct Follower {
    path: PathBuf,
    file: Option<File>,
    line: Vec<u8>,
    furthest: Option<Progress>,
    novelty: Novelty,
    news: Option<News>,
}

impl Follower {
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            file: None,
            line: Vec::new(),
            furthest: None,
            novelty: Novelty::default(),
            news: None,
        }
    }

    /// Reads what is new; returns how far the start has come if that is further than before.
    pub fn look(&mut self) -> Option<Progress> {
        let file = match &mut self.file {
            Some(file) => file,
            empty => empty.insert(File::open(&self.path).ok()?),
        };
        let mut new = Vec::new();
        file.take(AT_ONCE as u64).read_to_end(&mut new).ok()?;
        let before = self.furthest;
        for byte in new {
            self.push(byte);
        }
        self.furthest.filter(|_| self.furthest != before)
    }

    /// What new was said since this was last asked, if anything.
    pub fn take_news(&mut self) -> Option<News> {
        std::mem::take(&mut self.news)
    }

    /// Bars end their states with a carriage return.
    fn push(&mut self, byte: u8) {
        if !matches!(byte, b'\n' | b'\r') {
            if self.line.len() < LONGEST_LINE {
                self.line.push(byte);
            }
            return;
        }
        let line = String::from_utf8_lossy(&self.line);
        let found = read_line(&line);
        self.news = self.news.max(self.novelty.take(&line));
        self.line.clear();
        if let Some(found) = found
            && self.furthest.is_none_or(|f| (f.milestone, f.percent) < (found.milestone, found.percent))
        {
            self.furthest = Some(found);
            self.news = Some(News::Progress);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn of(line: &str) -> Option<(Milestone, Option<u8>)> {
        read_line(line).map(|p| (p.milestone, p.percent))
    }

    #[test]
    fn lines_of_real_engines_are_understood() {
        use Milestone as M;
        assert_eq!(PATTERNS.len(), TABLE.len());
        let cases = [
            (
                "(EngineCore pid=1) INFO 11-21 [cpu_model_runner.py:1] Starting to load model /models/M...",
                M::LoadingWeights,
                None,
            ),
            (
                "(Worker pid=1) Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:03<00:00, 1.32it/s]",
                M::LoadingWeights,
                Some(50),
            ),
            (
                "Loading safetensors checkpoint shards: 100% Completed | 1/1 [00:00<00:00, 83.45it/s]",
                M::WeightsLoaded,
                None,
            ),
            ("INFO 07-23 [default_loader.py:272] Loading weights took 3.22 seconds", M::WeightsLoaded, None),
            (
                "INFO 07-23 [gpu_model_runner.py:1801] Model loading took 14.2488 GiB and 5.173644 seconds",
                M::WeightsLoaded,
                None,
            ),
            ("[kv_cache_utils.py:1] GPU KV cache size: 83,024 tokens", M::CacheAllocated, None),
            (
                "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  40%|####      | 2/5",
                M::CapturingGraphs,
                Some(40),
            ),
            (
                "[gpu_model_runner.py:1] Graph capturing finished in 3 secs, took 0.21 GiB",
                M::GraphsCaptured,
                None,
            ),
            ("[2026-11-21 07:23:11] Load weight begin. avail mem=21.60 GB", M::LoadingWeights, None),
            (
                "[2026-11-21 07:23:11] Load weight end. elapsed=0.05 s, type=Qwen3ForCausalLM",
                M::WeightsLoaded,
                None,
            ),
            (
                "[2026-11-21 07:23:11] KV Cache is allocated. #tokens: 16384, K size: 0.01 GB",
                M::CacheAllocated,
                None,
            ),
            (
                "[2026-11-21 07:23:11] Capture cuda graph begin. This can take up to several minutes.",
                M::CapturingGraphs,
                None,
            ),
            ("Capturing batches (bs=1 avail_mem=3.1 GB): 100%|##########| 8/8", M::GraphsCaptured, None),
            ("[2026-11-21 07:23:18] The server is fired up and ready to roll!", M::Listening, None),
            ("0.00.005.885 I srv    load_model: loading model '/models/M.gguf'", M::LoadingWeights, None),
            (
                "main: server is listening on http://127.0.0.1:8080 - starting the main loop",
                M::Listening,
                None,
            ),
            ("INFO:     Application startup complete.", M::Listening, None),
        ];
        for (line, milestone, percent) in cases {
            assert_eq!(of(line), Some((milestone, percent)), "{line}");
        }
        assert_eq!(of("Avg prompt throughput: 0.6 tokens/s, GPU KV cache usage: 0.0%"), None);
    }

    #[test]
    fn a_log_is_followed_as_it_grows_and_progress_never_goes_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.log");
        let mut follower = Follower::new(&path);
        assert_eq!(follower.look(), None);
        let mut log = File::create(&path).unwrap();
        let mut say = |text: &str| log.write_all(text.as_bytes()).unwrap();
        say("Loading safetensors checkpoint shards:  25% Comp");
        assert_eq!(follower.look(), None, "the line is not whole");
        say("leted\r");
        let quarter = Progress { milestone: Milestone::LoadingWeights, percent: Some(25) };
        assert_eq!(follower.look(), Some(quarter));
        say("Capture cuda graph end.\nLoading weights took 1 seconds\n");
        let captured = Progress { milestone: Milestone::GraphsCaptured, percent: None };
        assert_eq!(follower.look(), Some(captured));
        assert_eq!(follower.look(), None);
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.log");
        std::fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
        let mut follower = Follower::new(&path);
        for _ in 0..5 {
            assert_eq!(follower.look(), None);
        }
        assert!(follower.line.capacity() <= 2 * LONGEST_LINE);
    }
}
