//! The options of `perflab bench`, and what a load is made of by them.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use super::address::Address;
use super::data_args::{DataArgs, DataSet, share};
use super::goodput::{Limit, limit};
use super::profile::OF_A_PROFILE;
use crate::cli::cpus::{Cpus, cpus};
use crate::load::{Api, Arrivals, Header, LoadSpec, Pace, Prompts, Stop, Warmup};
use crate::plan::config::short_hash;

const EXAMPLES: &str = "\
Examples:
  perflab bench http://127.0.0.1:8000 --model Qwen/Qwen3-8B --max-concurrency 64 --num-prompts 640
  perflab bench http://127.0.0.1:8000 --model m --request-rate 20 --tokenizer ~/models/Qwen3-8B --save-result
  perflab bench http://127.0.0.1:8000 --model m --tokenizer DIR --dataset-name sharegpt --dataset-path FILE.json";

/// All are held in memory.
const MOST_PROMPTS: u64 = 10_000_000;

#[derive(Debug, Clone, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct BenchArgs {
    /// Where the server is: http://host:port, also with the endpoint's path and a query behind it
    pub url: String,
    /// The model's name in requests
    #[arg(long, value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub model: String,
    /// Send the load of this profile: of --file, else of the standard library (`perflab std profiles` lists them)
    #[arg(long, value_name = "NAME", conflicts_with_all = OF_A_PROFILE)]
    pub profile: Option<String>,
    /// The study file that has the profile
    #[arg(long, value_name = "FILE", requires = "profile")]
    pub file: Option<PathBuf>,
    /// `/v1/chat/completions`, `/v1/completions` or SGLang's `/generate`
    #[arg(long, default_value = "/v1/chat/completions", value_parser = api)]
    pub endpoint: Api,
    /// Ask for whole answers instead of streams: latencies are measured, and no time of a first token
    #[arg(long, alias = "disable-stream")]
    pub no_stream: bool,
    /// Requests to send
    #[arg(long, default_value = "1000", value_name = "N", value_parser = prompts)]
    pub num_prompts: u64,
    /// Requests in flight at most; without a rate, so many clients that each send one request after the other
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub max_concurrency: Option<usize>,
    /// Requests per second; `inf` sends all at once, or as many as may be in flight
    #[arg(long, default_value = "inf", value_parser = rate, value_name = "RATE")]
    pub request_rate: f64,
    /// Shape of the gaps between requests: 1 is a Poisson process, less comes in bursts, more is steadier
    #[arg(long, default_value = "1", value_parser = positive, value_name = "SHAPE")]
    pub burstiness: f64,
    /// How requests of a rate come, gamma unless stated; a trace without a rate keeps its own times
    #[arg(long, value_enum, value_name = "NAME")]
    pub arrivals: Option<ArrivalName>,
    /// The times of a trace are multiplied by this: 2 plays it half as fast
    #[arg(long, default_value = "1", value_parser = positive, value_name = "FACTOR", alias = "mooncake-slowdown-factor")]
    pub trace_slowdown: f64,
    /// The rate at the end of `ramp` and `steps`, which begin with --request-rate
    #[arg(long, value_parser = positive, value_name = "RATE", requires = "request_rate")]
    pub request_rate_to: Option<f64>,
    /// Send for so long instead of a number of requests
    #[arg(long, value_parser = positive, value_name = "SECONDS", conflicts_with = "num_prompts")]
    pub duration: Option<f64>,
    #[command(flatten)]
    pub data: DataArgs,
    /// Have answers as long as asked for, whatever the model says
    #[arg(long)]
    pub ignore_eos: bool,
    /// Requests before the clock starts, with prompts of their own
    #[arg(long, default_value = "0", value_name = "N", value_parser = whole)]
    pub num_warmups: u64,
    /// Decides prompts and arrivals
    #[arg(long, default_value = "0", value_parser = whole)]
    pub seed: u64,
    #[arg(long, default_value = "0", value_parser = from_zero, value_name = "T")]
    pub temperature: f64,
    #[arg(long, default_value = "1", value_parser = share, value_name = "P")]
    pub top_p: f64,
    /// Further fields of each request, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub extra_body: Option<serde_json::Map<String, serde_json::Value>>,
    /// A further header of each request; `OPENAI_API_KEY` of the environment is sent as a bearer key
    #[arg(long, value_name = "NAME=VALUE", value_parser = header, num_args = 1..)]
    pub header: Vec<Header>,
    /// Do not check the certificate of a server at https://, as one that it made for itself
    #[arg(long)]
    pub insecure: bool,
    /// The path of the server's page of metrics, which is read once a second; `none` leaves it alone
    #[arg(long, default_value = "/metrics", value_name = "PATH", value_parser = page)]
    pub server_metrics: Page,
    /// Processors that the client's thread is kept on, such as 0-3,8
    #[arg(long, value_name = "CPUS", value_parser = cpus)]
    pub pin_client: Option<Cpus>,
    /// Distributions to print: ttft, tpot, itl, e2el
    #[arg(long, value_enum, value_delimiter = ',', default_value = "ttft,tpot,itl", value_name = "NAMES")]
    pub percentile_metrics: Vec<Metric>,
    /// Percentiles to print: of 50, 90, 95, 99, 99.9
    #[arg(long, value_delimiter = ',', default_value = "99", value_parser = percentile, value_name = "NUMBERS")]
    pub metric_percentiles: Vec<Percentile>,
    /// Print what `vllm bench serve` and guidellm would have printed, by their own definitions, beside the table
    #[arg(long)]
    pub compat: bool,
    /// Count the requests that keep to these limits in milliseconds: ttft:MS, tpot:MS, e2el:MS
    #[arg(long, value_name = "NAME:MS", value_parser = limit, num_args = 1..)]
    pub goodput: Vec<Limit>,
    /// Write each request's times and tokens as JSON lines, compressed if the file is called .gz
    #[arg(long, value_name = "FILE", value_parser = named_file)]
    pub save_requests: Option<PathBuf>,
    /// Write the numbers as JSON, by perflab's own definitions
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the JSON that `vllm bench serve` writes
    #[arg(long)]
    pub save_result: bool,
    /// With it, times and lengths of each request
    #[arg(long, requires = "save_result")]
    pub save_detailed: bool,
    /// The folder for it
    #[arg(long, value_name = "DIR", requires = "save_result")]
    pub result_dir: Option<PathBuf>,
    /// Its name, else LABEL-RATEqps-concurrencyN-MODEL-DATE.json
    #[arg(long, value_name = "FILE", requires = "save_result")]
    pub result_filename: Option<PathBuf>,
    /// What stands in front of its name and in it
    #[arg(long, requires = "save_result")]
    pub label: Option<String>,
    /// What else stands in it
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair, num_args = 1.., requires = "save_result")]
    pub metadata: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArrivalName {
    /// with gaps of --burstiness
    Gamma,
    /// with equal gaps
    Constant,
    /// from --request-rate to --request-rate-to in a straight line
    Ramp,
    /// from one to the other in five steps
    Steps,
    /// at the times of the trace
    Trace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Metric {
    Ttft,
    Tpot,
    Itl,
    E2el,
}

/// Where the server shows its metrics, if it is to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page(pub Option<String>);

/// Percentiles that a distribution keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Percentile {
    P50,
    P90,
    P95,
    P99,
    P999,
}

impl BenchArgs {
    /// The server's address, without what the endpoint's path says: people also know it as `…/v1`, or with the whole path. What stands
    /// behind it otherwise, a query or a path without the version, is the request's target: gateways have such.
    fn address(&self) -> Result<(Address, Option<String>), String> {
        let whole = Address::read(&self.url)?;
        let (url, query) =
            whole.url.split_once('?').map_or((&*whole.url, None), |(url, query)| (url, Some(query)));
        let url = url.trim_end_matches('/');
        let ends = Api::ALL.into_iter().flat_map(|api| [(api, api.path()), (api, api.unversioned())]);
        let named = ends.clone().find(|(_, path)| url.ends_with(path));
        if let Some((other, _)) = named.filter(|(api, _)| *api != self.endpoint) {
            return Err(format!("the address names another endpoint: state --endpoint {}", other.path()));
        }
        let path = named.map_or(self.endpoint.path(), |(_, path)| path);
        let base = url.strip_suffix(path).or_else(|| url.strip_suffix("/v1"));
        let target = match query {
            Some(query) => Some(format!("{path}?{query}")),
            None => Some(path.to_owned()).filter(|path| path != self.endpoint.path()),
        };
        let url = base.map_or(url, |base| base.trim_end_matches('/')).to_owned();
        Ok((Address { url, ..whole }, target))
    }

    /// What prompts and arrivals are drawn from. Random prompts that are perflab's own begin apart from those of any load of other
    /// settings, as in a study: a server with a prefix cache has seen none of them.
    fn seed_of(&self, spec: &LoadSpec) -> u64 {
        if self.data.dataset_name != DataSet::Random || self.data.recipe.is_some() {
            return self.seed;
        }
        let Prompts { input, output, .. } = &spec.prompts;
        let (seed, api, arrivals, cap) = (self.seed, spec.api, spec.arrivals, spec.in_flight);
        let hash = short_hash(&format!("{seed} {input:?} {output:?} {api:?} {arrivals:?} {cap:?}"));
        u64::from_str_radix(&hash, 16).unwrap_or(seed)
    }

    /// How requests of this rate come.
    fn open(&self, rate: f64) -> Result<Arrivals, String> {
        let arrivals = self.arrivals.unwrap_or(ArrivalName::Gamma);
        let through = matches!(arrivals, ArrivalName::Ramp | ArrivalName::Steps);
        match self.request_rate_to {
            None if through => {
                return Err("`--arrivals ramp` and `steps` need --request-rate-to RATE".to_owned());
            }
            Some(_) if !through => {
                return Err("--request-rate-to needs `--arrivals ramp` or `steps`".to_owned());
            }
            _ => {}
        }
        let (from, to) = (rate, self.request_rate_to.unwrap_or(rate));
        let over = match self.duration {
            Some(seconds) => seconds_long(seconds)?,
            None => Pace::length(from, to, self.num_prompts),
        };
        Ok(match arrivals {
            ArrivalName::Trace => {
                return Err("`--arrivals trace` has a rate of its own: leave --request-rate out".to_owned());
            }
            ArrivalName::Gamma => Arrivals::Gamma { rate, burstiness: self.burstiness },
            ArrivalName::Constant => Arrivals::Constant { rate },
            ArrivalName::Ramp => Arrivals::Through(Pace::Ramp { from, to, over }),
            ArrivalName::Steps => Arrivals::Through(Pace::Steps { from, to, over }),
        })
    }

    /// What was stated and would decide nothing.
    fn without_use(&self) -> Option<String> {
        let paced = self.request_rate.is_finite() || self.keeps_times();
        let idle = [
            (
                !paced && self.arrivals.is_some(),
                "--arrivals needs --request-rate RATE: without one requests come all at once, or when a client is free",
            ),
            (
                self.file.is_some() && self.profile.is_none(),
                "--file names the study of a --profile: state one",
            ),
            (
                is_stated(self.trace_slowdown) && !self.keeps_times(),
                "--trace-slowdown is about the times of a trace: `--dataset-name mooncake` or `azure`, and no --request-rate",
            ),
            (
                is_stated(self.burstiness) && !self.draws_gaps(),
                "--burstiness is about the gaps of a --request-rate with `--arrivals gamma`",
            ),
            (
                !paced && self.request_rate_to.is_some(),
                "--request-rate-to needs a --request-rate to begin with",
            ),
        ];
        let found = idle.into_iter().find(|(is, _)| *is).map(|(_, why)| why);
        self.data.without_use().or(found).map(str::to_owned)
    }

    /// Whether requests come at the times of a trace: without a rate they do, unless other arrivals are stated.
    pub(super) fn keeps_times(&self) -> bool {
        let traced = matches!(self.data.dataset_name, DataSet::Mooncake | DataSet::Azure);
        let stated = self.arrivals == Some(ArrivalName::Trace);
        self.request_rate.is_infinite() && (stated || traced && self.arrivals.is_none())
    }

    /// Whether the gaps between requests are drawn, at a rate that does not change.
    fn draws_gaps(&self) -> bool {
        self.request_rate.is_finite() && matches!(self.arrivals, None | Some(ArrivalName::Gamma))
    }

    /// The highest percentile that is printed.
    pub(super) fn highest_percentile(&self) -> f64 {
        let names = self.metric_percentiles.iter().filter_map(|p| p.name().parse().ok());
        names.fold(50.0, f64::max)
    }

    /// Questions that the load can ask; where clients decide how many it asks, some.
    pub(super) fn count(&self) -> usize {
        const SOME: u64 = 10_000;
        let count = match self.duration {
            None => self.num_prompts,
            Some(_) if self.request_rate.is_infinite() => SOME,
            Some(seconds) => {
                let most = self.request_rate.max(self.request_rate_to.unwrap_or(0.0));
                (most * seconds).ceil() as u64
            }
        };
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    /// What is said of the server and its client, whatever the load.
    pub(super) fn around(&self, spec: &mut LoadSpec) -> Result<(), String> {
        if !spec.stream && self.goodput.iter().any(|limit| limit.needs_stream()) {
            let why = "with whole answers (--no-stream) there is no time of a first token: --goodput can only limit e2el";
            return Err(why.to_owned());
        }
        let (Address { url, login }, target) = self.address()?;
        (spec.base_url, spec.target) = (url, target);
        spec.api = self.endpoint;
        spec.extra_body.extend(self.extra_body.clone().unwrap_or_default());
        spec.headers.clone_from(&self.header);
        spec.insecure = self.insecure;
        if self.insecure && !spec.base_url.starts_with("https:") {
            return Err("--insecure is about the certificate of an address with https://".to_owned());
        }
        match login {
            Some(_) if self.header.iter().any(Header::authorizes) => {
                return Err("the address and --header both say who asks: leave one out".to_owned());
            }
            login => spec.headers.extend(login),
        }
        spec.metrics.clone_from(&self.server_metrics.0);
        spec.cpus = self.pin_client.clone().map_or_else(Vec::new, |cpus| cpus.0);
        Ok(())
    }

    /// The load, without the questions of a data set.
    pub(super) fn spec(&self) -> Result<LoadSpec, String> {
        let (arrivals, in_flight) = match (self.request_rate, self.max_concurrency) {
            (_, cap) if self.keeps_times() => (Arrivals::Trace { slowdown: self.trace_slowdown }, cap),
            (rate, Some(clients)) if rate.is_infinite() => (Arrivals::Closed { concurrency: clients }, None),
            (rate, None) if rate.is_infinite() => (Arrivals::AllAtOnce, None),
            (rate, cap) => (self.open(rate)?, cap),
        };
        self.without_use().map_or(Ok(()), Err)?;
        let mut spec = LoadSpec::new("", &self.model);
        spec.api = self.endpoint;
        spec.stream = !self.no_stream;
        (spec.arrivals, spec.in_flight) = (arrivals, in_flight);
        spec.stop = match self.duration {
            Some(seconds) => Stop::Duration(seconds_long(seconds)?),
            None => Stop::Requests(self.num_prompts),
        };
        spec.warmup = if self.num_warmups == 0 { Warmup::None } else { Warmup::Requests(self.num_warmups) };
        spec.prompts = self.data.prompts();
        spec.seed = self.seed_of(&spec);
        spec.sampling.temperature = self.temperature;
        spec.sampling.top_p = self.top_p;
        spec.sampling.ignore_eos = Some(self.ignore_eos);
        Ok(spec)
    }
}

/// Whether a factor changes anything.
fn is_stated(factor: f64) -> bool {
    (factor - 1.0).abs() > f64::EPSILON
}

fn seconds_long(seconds: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("{seconds} s are longer than any load"))
}

fn api(text: &str) -> Result<Api, String> {
    let found = Api::ALL.into_iter().find(|api| api.path() == text);
    found.ok_or_else(|| format!("write {}", Api::ALL.map(Api::path).join(", ")))
}

fn page(text: &str) -> Result<Page, String> {
    match text {
        "none" => Ok(Page(None)),
        path if path.starts_with('/') => Ok(Page(Some(path.to_owned()))),
        _ => Err("write a path, such as /metrics, or none".to_owned()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| "write a number of requests per second, or inf".to_owned())?;
    if rate > 0.0 { Ok(rate) } else { Err("a rate is more than 0".to_owned()) }
}

fn prompts(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|n| (1..=MOST_PROMPTS).contains(n));
    number.ok_or_else(|| format!("write a whole number from 1 to {MOST_PROMPTS}"))
}

fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "write a whole number from 0 on".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|n: &f64| *n > 0.0 && n.is_finite());
    number.ok_or_else(|| "write a number above 0".to_owned())
}

fn from_zero(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0);
    number.ok_or_else(|| "write a number from 0 on".to_owned())
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "write a whole number from 1 on".to_owned())
}

fn object(text: &str) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    /// What other options decide, and answers are read by.
    const OURS: [&str; 4] = ["stream", "messages", "prompt", "text"];
    let fields: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(text).map_err(|e| format!("no JSON object: {e}"))?;
    match OURS.into_iter().find(|field| fields.contains_key(*field)) {
        Some("stream") => Err("`stream` is decided by --no-stream".to_owned()),
        Some(field) => Err(format!("`{field}` is what the data set fills in")),
        None => Ok(fields),
    }
}

fn named_file(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err("name a file; standard output is /dev/stdout".to_owned()),
        name => Ok(name.into()),
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

fn header(text: &str) -> Result<Header, String> {
    /// What belongs to the connection, and what the load generator says itself.
    const OURS: [&str; 8] =
        ["host", "content-length", "transfer-encoding", "connection", "expect", "upgrade", "te", "trailer"];
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    if let Some(ours) = OURS.into_iter().find(|ours| ours.eq_ignore_ascii_case(name.trim())) {
        return Err(format!("`{ours}` is said by perflab itself, and once"));
    }
    Ok(Header { name: name.trim().to_owned().into(), value: value.to_owned() })
}

fn percentile(text: &str) -> Result<Percentile, String> {
    Ok(match text.trim() {
        "50" => Percentile::P50,
        "90" => Percentile::P90,
        "95" => Percentile::P95,
        "99" => Percentile::P99,
        "99.9" => Percentile::P999,
        _ => return Err("perflab keeps the percentiles 50, 90, 95, 99 and 99.9".to_owned()),
    })
}
