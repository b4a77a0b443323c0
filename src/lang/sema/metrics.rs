//! The built-in metrics: names, dimensions, and which of them this version can measure.

use crate::lang::units::Dim;

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// one number a run
    Number(Dim),
    /// one number a request or token: needs a statistic
    Distribution(Dim),
}

/// A statistic over a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stat {
    Mean,
    Stddev,
    Min,
    Max,
    P50,
    P90,
    P95,
    P99,
    P999,
}

impl Stat {
    pub const ALL: [Stat; 9] = [
        Self::Mean,
        Self::Stddev,
        Self::Min,
        Self::Max,
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P999,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Stddev => "stddev",
            Self::Min => "min",
            Self::Max => "max",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p999",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }
}

/// Where a live run's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// the client's own records, and the launch
    Run,
    /// samples of the launch's GPUs
    Gpus,
    /// nowhere yet: only recordings hold it
    Recordings,
}

const METRICS: &[(&str, MetricKind, Source)] = &[
    ("request_rate", MetricKind::Number(Dim::RATE), Source::Run),
    ("input_tps", MetricKind::Number(Dim::TOKEN_RATE), Source::Run),
    ("output_tps", MetricKind::Number(Dim::TOKEN_RATE), Source::Run),
    ("total_tps", MetricKind::Number(Dim::TOKEN_RATE), Source::Run),
    ("success_rate", MetricKind::Number(Dim::PLAIN), Source::Run),
    ("failed", MetricKind::Number(Dim::PLAIN), Source::Run),
    ("startup", MetricKind::Number(Dim::TIME), Source::Run),
    ("gpu_memory", MetricKind::Number(Dim::BYTES), Source::Gpus),
    ("gpu_power", MetricKind::Number(Dim::POWER), Source::Gpus),
    ("energy", MetricKind::Number(Dim::ENERGY), Source::Gpus),
    ("tokens_per_joule", MetricKind::Number(Dim::TOKENS_PER_JOULE), Source::Gpus),
    ("cost_per_mtok", MetricKind::Number(Dim::MONEY), Source::Recordings),
    ("kv_cache_usage", MetricKind::Number(Dim::PLAIN), Source::Recordings),
    ("prefix_hit_rate", MetricKind::Number(Dim::PLAIN), Source::Recordings),
    ("preemptions", MetricKind::Number(Dim::PLAIN), Source::Recordings),
    ("accept_length", MetricKind::Number(Dim::PLAIN), Source::Recordings),
    ("draft_acceptance", MetricKind::Number(Dim::PLAIN), Source::Recordings),
    ("exact_match", MetricKind::Number(Dim::PLAIN), Source::Recordings),
    ("identical", MetricKind::Number(Dim::PLAIN), Source::Recordings),
    ("ttft", MetricKind::Distribution(Dim::TIME), Source::Run),
    ("tpot", MetricKind::Distribution(Dim::TIME), Source::Run),
    ("itl", MetricKind::Distribution(Dim::TIME), Source::Run),
    ("latency", MetricKind::Distribution(Dim::TIME), Source::Run),
];

/// Names in expressions that are no metrics of a run.
const OTHERS: &[&str] = &["gain", "gpus", "engine", "model", "rate", "concurrency", "goodput"];

pub fn kind_of(name: &str) -> Option<MetricKind> {
    METRICS.iter().find(|(n, _, _)| *n == name).map(|(_, k, _)| *k)
}

/// Whether a live run of this version yields the metric.
pub fn is_measured(name: &str) -> bool {
    METRICS.iter().any(|(n, _, source)| *n == name && *source != Source::Recordings)
}

/// Whether the metric is read from GPUs, so that a study without them has none.
pub fn is_of_gpus(name: &str) -> bool {
    METRICS.iter().any(|(n, _, source)| *n == name && *source == Source::Gpus)
}

/// Numbers that no client can tell, which recordings hold under these names.
pub fn beside_the_client() -> impl Iterator<Item = &'static str> {
    METRICS.iter().filter(|(_, _, source)| *source != Source::Run).map(|(name, _, _)| *name)
}

pub fn is_built_in(name: &str) -> bool {
    kind_of(name).is_some() || OTHERS.contains(&name) || Stat::parse(name).is_some()
}

/// What a word may stand for that other tools use for several metrics: which of them is wanted, only its writer knows.
pub fn one_of_several(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "throughput" => &["total_tps", "output_tps", "request_rate"],
        "tps" | "tokens_per_second" | "token_throughput" => &["total_tps", "output_tps"],
        _ => return None,
    })
}

/// Whether a name of other tools is that of a distribution, without a statistic of it.
pub fn lacks_statistic(name: &str) -> bool {
    distribution_elsewhere(name).is_some()
}

/// What other tools call a metric, in the terms of this language: `throughput`, `p99_ttft`.
pub fn elsewhere(name: &str) -> Option<String> {
    let plain = match name {
        "total_throughput" => "total_tps",
        "output_throughput" => "output_tps",
        "input_throughput" => "input_tps",
        "rps" | "qps" | "request_throughput" => "request_rate",
        "num_gpus" | "n_gpus" | "gpu_count" => "gpus",
        _ => return distribution_elsewhere(name).map(|d| format!("p99({d})")).or_else(|| statistic_of(name)),
    };
    Some(plain.to_owned())
}

/// What other tools call a distribution.
pub fn distribution_elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "e2el" | "e2e" | "e2e_latency" | "end_to_end_latency" | "latencies" => "latency",
        "time_to_first_token" => "ttft",
        "time_per_output_token" => "tpot",
        "inter_token_latency" => "itl",
        _ => return None,
    })
}

/// What other tools call a statistic.
pub fn statistic_elsewhere(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "median" | "med" => "p50",
        "avg" | "average" => "mean",
        "std" | "stdev" | "sd" | "sigma" => "stddev",
        "minimum" => "min",
        "maximum" => "max",
        _ => return None,
    })
}

/// `p75`: spelled as a percentile, whether or not it is one of the statistics.
pub fn is_percentile(name: &str) -> bool {
    name.strip_prefix(['p', 'P']).is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
}

/// `p99_ttft`, `median_e2el_ms`, `ttft_p99`
fn statistic_of(name: &str) -> Option<String> {
    let name = name.trim_end_matches("_ms");
    let halves = [name.split_once('_'), name.rsplit_once('_').map(|(metric, stat)| (stat, metric))];
    halves.into_iter().flatten().find_map(|(stat, metric)| {
        let stat = Stat::parse(stat).map(Stat::name).or_else(|| statistic_elsewhere(stat))?;
        let known = matches!(kind_of(metric), Some(MetricKind::Distribution(_))).then_some(metric);
        known.or_else(|| distribution_elsewhere(metric)).map(|metric| format!("{stat}({metric})"))
    })
}

/// All names that may stand in an expression, for did-you-mean.
pub fn names() -> impl Iterator<Item = &'static str> {
    METRICS.iter().map(|(n, _, _)| *n).chain(OTHERS.iter().copied())
}
