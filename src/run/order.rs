//! A launch's order: everything that carrying it out needs, and nothing of study, judge or journal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::container::{self, BoxError};
use super::key;
use super::options;
use super::questions::{self, Asking};
use super::reset;
use super::surroundings::surroundings;
use crate::data::{Random, Source};
use crate::engine::lookups::{Lookups, Scope};
use crate::engine::{self, FailurePattern};
use crate::hub::Resolved;
use crate::lang::sema::program::{Api, Arrivals, Data, Load, Profile, Site, Via, Warmup};
use crate::load::{self, LoadSpec};
use crate::plan::config::short_hash;
use crate::plan::{Config, command, profile};

const HOST: &str = "127.0.0.1";
/// A range of rates is gone through in at least this time and by so many requests, unless the profile says otherwise.
const THROUGH_TIME: Duration = Duration::from_mins(1);
const THROUGH_REQUESTS: u64 = 300;
/// A start may take this long in all, however much progress it makes.
const OVERALL: Duration = Duration::from_hours(2);

/// Why an order cannot be written.
#[derive(Debug, Error)]
pub enum OrderError {
    #[error("no free port on {HOST}: {0}")]
    Port(std::io::Error),
    #[error("the running program cannot be found: {0}")]
    Program(std::io::Error),
    #[error("{} cannot be written: {error}", .path.display())]
    File { path: PathBuf, error: std::io::Error },
    #[error("profile `{0}` cannot be measured by this version")]
    Profile(String),
    #[error(
        "the prompts of profile `{0}` are made of tokens and need a tokenizer: name one by `tokenizer`, or the model's directory by \
         a site"
    )]
    Tokenizer(String),
    #[error(
        "the conversations of profile `{0}` are messages, and this engine takes bare texts: it needs `api openai`"
    )]
    Conversations(String),
    #[error(transparent)]
    Container(#[from] BoxError),
    #[error("the lock cannot be shared: {0}")]
    Lock(std::io::Error),
}

/// One load of a launch.
pub struct LoadOrder {
    pub profile: String,
    /// the how manieth run of its configuration under the profile
    pub n: u32,
    pub profile_id: String,
    pub spec: LoadSpec,
    /// no two of its prompts are meant to begin alike
    pub alone: bool,
}

/// Where a load's files lie, and what it must not ask.
pub struct Around<'a> {
    pub study_dir: &'a Path,
    pub site: &'a Site,
    /// where the model's files lie
    pub at: Option<&'a Path>,
    /// the study's loads before it whose prompts are drawn by recipes
    pub before: Vec<Random>,
}

/// The engine's side of an order: where, and with which variables.
pub struct Place<'a> {
    pub study_dir: &'a Path,
    pub launch_dir: PathBuf,
    pub env: Vec<(String, String)>,
    /// processors of its own; none where they are not shared out
    pub cpus: &'a [usize],
    /// its part of the machine's memory, from 0 to 1
    pub part: f64,
    pub nonce: String,
    pub site: &'a Site,
    /// the GPUs' name, if it has any
    pub device: Option<String>,
    /// models that were resolved before, by name
    pub models: &'a BTreeMap<String, Resolved>,
    /// the ids of the images that this study's engines stand in, by their names
    pub images: &'a BTreeMap<String, String>,
    /// it confirms a result, and may not lean on what earlier launches have measured
    pub confirming: bool,
    /// where it is seen what its engine looks for, if that is of interest
    pub lookups: Option<(Scope, Lookups)>,
    /// what starts its engine was here: one that is started in the same way was measured
    pub served_before: bool,
}

impl Place<'_> {
    /// Where the model lies, if the site says so.
    pub fn model(&self, config: &Config) -> Option<&str> {
        self.site.models.get(&config.model).map(String::as_str)
    }

    /// Where it lies, also in the hub's cache: an engine without a network may call it so.
    pub fn lies_at(&self, config: &Config) -> Option<String> {
        let of_hub = self.models.get(&config.model).filter(|m| m.of_hub);
        let found = || of_hub.map(|m| m.dir.to_string_lossy().into_owned());
        self.model(config).map(str::to_owned).or_else(found)
    }
}

/// The description of a start; a new one for each attempt, as each has a port of its own.
pub fn launch_spec(config: &Config, place: &Place<'_>) -> Result<engine::LaunchSpec, OrderError> {
    let port = engine::free_port(HOST).map_err(OrderError::Port)?;
    let this = this_program().map_err(OrderError::Program)?;
    let model = place.model(config).unwrap_or(&config.model);
    let private = options::directory(&place.launch_dir);
    let address = command::Address { host: HOST, port, model, files: &private };
    let mut command = command::to_launch(config, address);
    let files = command::files(config, address);
    for file in &files {
        let failed = |error| OrderError::File { path: file.path.clone(), error };
        options::write(file).map_err(failed)?;
    }
    let via = &config.engine.via;
    // `perflab` in a serve line is the running binary itself, wherever it lies; in a container it is the image's
    if !matches!(via, Via::Container(_)) && command.argv.first().is_some_and(|w| w == "perflab") {
        command.argv[0] = this.to_string_lossy().into_owned();
    }
    let around = surroundings(config, command.env, place);
    // for people: a launch does not fail because it cannot be written
    let _ = around.record(&place.launch_dir);
    let engine = &config.engine;
    let (argv, env, container) = match via {
        Via::Container(boxed) => {
            let start = container::start(config, boxed, &command.argv, &files, &around, place)?;
            (start.argv, start.env, Some(start.container))
        }
        _ => (command.argv, around.variables, None),
    };
    // a container has its own
    let memory = memory(place.part).filter(|_| container.is_none());
    Ok(engine::LaunchSpec {
        argv,
        env,
        container,
        cwd: place.study_dir.to_owned(),
        cpus: place.cpus.to_vec(),
        memory,
        dir: place.launch_dir.clone(),
        private: (!files.is_empty()).then_some(private),
        host: HOST.to_owned(),
        port,
        ready: engine::Ready {
            path: engine.ready.path.clone(),
            within: Duration::from_secs_f64(engine.ready.within_s),
            overall: OVERALL,
        },
        key: key::of(config, place.site, place.study_dir),
        stop: engine::Stop {
            signal: signal(&engine.stop.signal),
            within: Duration::from_secs_f64(engine.stop.within_s),
        },
        failures: failure_patterns(config),
        guard: vec![this.into(), "guard".into()],
        keep_fd: None,
        grows: None,
        lookups: place.lookups.clone(),
        nonce: place.nonce.clone(),
    })
}

/// A launch's part of the machine's memory, in bytes, where others may run beside it.
fn memory(part: f64) -> Option<u64> {
    let mib = container::memory_mib().filter(|_| part < 1.0)?;
    Some(((mib as f64 * part) as u64) << 20)
}

/// The running program. Its file may have been replaced or removed since it began, by an upgrade in the middle of a study: then it
/// is reached through the process, so that all launches of an invocation are of one program.
fn this_program() -> std::io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(if path.exists() { path } else { PathBuf::from(format!("/proc/{}/exe", std::process::id())) })
}

/// The engine's failure patterns; the checker has seen that each is a regular expression.
fn failure_patterns(config: &Config) -> Vec<FailurePattern> {
    let declared = config.engine.failures.iter();
    declared.filter_map(|f| FailurePattern::new(f.name.clone(), &f.pattern).ok()).collect()
}

fn signal(name: &str) -> Signal {
    match name {
        "sigint" => Signal::SIGINT,
        "sigkill" => Signal::SIGKILL,
        _ => Signal::SIGTERM,
    }
}

/// The load of a profile's n-th run of a configuration, the `place`-th of the study's. The n-th launch of every configuration sends
/// the same requests; loads of one launch share none.
pub fn load_order(
    p: &Profile,
    config: &Config,
    n: u32,
    place: usize,
    around: Around<'_>,
) -> Result<LoadOrder, OrderError> {
    let profile_id = profile::id(p);
    let api = match config.engine.api {
        Api::OpenAi => load::Api::Chat,
        Api::OpenAiCompletions => load::Api::Completions,
        Api::SglangGenerate => load::Api::Generate,
    };
    let seed = seed(p.seed, &profile_id, n, place);
    let mut spec = load_spec(p, &config.model, api, seed, around)?;
    let own = std::mem::replace(&mut spec.extra_body, reset::body_fields(&config.engine));
    spec.extra_body.extend(own);
    // prompts that are to begin alike, and those of people, which may, find each other in the cache
    let alone = p.prefix.is_none() && matches!(p.data, Some(Data::Random));
    Ok(LoadOrder { profile: p.name.clone(), n, profile_id, spec, alone })
}

/// The load of a profile, without a server.
pub fn load_spec(
    p: &Profile,
    model: &str,
    api: load::Api,
    seed: u64,
    around: Around<'_>,
) -> Result<LoadSpec, OrderError> {
    let unfit = || OrderError::Profile(p.name.clone());
    let mut spec = LoadSpec::new("", model);
    spec.api = api;
    spec.arrivals = arrivals(p).ok_or_else(unfit)?;
    spec.in_flight = p.in_flight.map(|n| n as usize);
    spec.stop = match (p.requests, p.duration_s) {
        (Some(n), _) => load::Stop::Requests(n),
        (None, Some(s)) => load::Stop::Duration(Duration::from_secs_f64(s)),
        (None, None) => load::Stop::Auto,
    };
    spec.warmup = match p.warmup {
        None => load::Warmup::Auto,
        Some(Warmup::None) => load::Warmup::None,
        Some(Warmup::Requests(n)) => load::Warmup::Requests(n),
        Some(Warmup::Time(s)) => load::Warmup::Time(Duration::from_secs_f64(s)),
    };
    spec.seed = seed;
    spec.prompts.tokenizer = tokenizer(p, around.at.unwrap_or(Path::new(model)), around.study_dir);
    if let Some(t) = p.temperature {
        spec.sampling.temperature = t;
    }
    spec.sampling.ignore_eos = p.ignore_eos;
    spec.stream = p.stream;
    spec.prompt_cache = questions::prompt_cache();
    ask(p, &mut spec, around)?;
    drawn(p, &mut spec);
    spec.timeouts.total = p.timeout_s.map(Duration::from_secs_f64);
    Ok(spec)
}

/// What is asked: a data set, or prompts of perflab's own.
fn ask(p: &Profile, spec: &mut LoadSpec, around: Around<'_>) -> Result<(), OrderError> {
    let tokenizer = spec.prompts.tokenizer.clone();
    let asking = Asking {
        profile: p,
        tokenizer: tokenizer.clone(),
        study_dir: around.study_dir,
        site: around.site,
        seed: spec.seed,
        before: around.before,
    };
    if let Some((from, to)) = p.output {
        spec.prompts.output = from..=to;
    }
    if let Some(data) = asking.data() {
        if matches!(data.source, Source::Conversations(_)) && spec.api != load::Api::Chat {
            return Err(OrderError::Conversations(p.name.clone()));
        }
        if tokenizer.is_none() && data.source.needs_tokenizer() {
            return Err(OrderError::Tokenizer(p.name.clone()));
        }
        // answers of the lengths that people's had end where they end; of a trace nothing but the lengths is known
        let drawn = matches!(data.source, Source::Random(_) | Source::PrefixRepetition(_) | Source::Trace(_));
        spec.sampling.ignore_eos = p.ignore_eos.or((!drawn && p.output.is_none()).then_some(false));
        spec.data = Some(Arc::new(data));
        return Ok(());
    }
    let grouped = match p.data {
        Some(Data::Random) => false,
        Some(Data::PrefixRepetition) => true,
        _ => return Err(OrderError::Profile(p.name.clone())),
    };
    let (input, output) =
        (p.input.or(grouped.then_some(questions::SUFFIX)), p.output.or(grouped.then_some(questions::ANSWER)));
    let (Some(input), Some(output)) = (input, output) else {
        return Err(OrderError::Profile(p.name.clone()));
    };
    spec.prompts.input = input.0..=input.1;
    spec.prompts.output = output.0..=output.1;
    let prefix = p.prefix.or(grouped.then_some(questions::PREFIX));
    let groups = p.prefixes.unwrap_or(if grouped { questions::PREFIXES } else { 1 });
    spec.prompts.shared = prefix.map(|tokens| load::Shared { tokens, groups });
    Ok(())
}

/// How tokens are drawn, and what else the profile puts into a request's body.
fn drawn(p: &Profile, spec: &mut LoadSpec) {
    let mut fields = Map::new();
    for (&name, &value) in &p.sampling {
        let sent = match name {
            "top_p" => {
                spec.sampling.top_p = value;
                continue;
            }
            // a count, which servers refuse with a decimal point
            "top_k" => json!(value as u32),
            _ => json!(value),
        };
        fields.insert(name.to_owned(), sent);
    }
    let mut body = p.body.clone();
    if spec.api == load::Api::Generate {
        // they stand in an object of their own there, and what the profile itself puts into it counts
        if let Some(Value::Object(more)) = body.shift_remove(load::SAMPLING_PARAMS) {
            fields.extend(more);
        }
        let object = (!fields.is_empty()).then(|| (load::SAMPLING_PARAMS.to_owned(), Value::Object(fields)));
        fields = object.into_iter().collect();
    }
    spec.extra_body.extend(fields);
    spec.extra_body.extend(body);
}

/// The tokenizer that the profile names, else the model's own where the model is a directory that has one.
fn tokenizer(p: &Profile, model: &Path, study_dir: &Path) -> Option<PathBuf> {
    let own = || Some(study_dir.join(model)).filter(|d| d.join("tokenizer.json").is_file());
    p.tokenizer.as_ref().map(|t| study_dir.join(t)).or_else(own)
}

/// The file whose bytes the prompts of a profile are made from, if there is one.
pub fn tokenizer_file(p: &Profile, model: &str, study_dir: &Path, site: &Site) -> Option<PathBuf> {
    let at = tokenizer(p, Path::new(model_at(model, site)), study_dir)?;
    Some(if at.is_dir() { at.join("tokenizer.json") } else { at }).filter(|f| f.is_file())
}

/// Where a model lies, or else its name.
fn model_at<'a>(model: &'a str, site: &'a Site) -> &'a str {
    site.models.get(model).map_or(model, String::as_str)
}

/// A tokenizer that a profile names and that is not there: better said before anything starts.
pub fn missing_tokenizer(p: &Profile, study_dir: &Path) -> Option<PathBuf> {
    let named = study_dir.join(p.tokenizer.as_ref()?);
    let there = named.is_file() || named.join("tokenizer.json").is_file();
    (!there).then_some(named)
}

fn arrivals(p: &Profile) -> Option<load::Arrivals> {
    if let (None, Some(Data::Trace(_))) = (&p.load, &p.data) {
        return Some(load::Arrivals::Trace { slowdown: p.slowdown.unwrap_or(1.0) });
    }
    Some(match p.load.as_ref()? {
        Load::Max => load::Arrivals::AllAtOnce,
        Load::Concurrency(c) => load::Arrivals::Closed { concurrency: *c as usize },
        Load::Rate { per_s, arrivals: Arrivals::Poisson } => load::Arrivals::Poisson { rate: *per_s },
        Load::Rate { per_s, arrivals: Arrivals::Constant } => load::Arrivals::Constant { rate: *per_s },
        Load::Rate { per_s, arrivals: Arrivals::Gamma(b) } => {
            load::Arrivals::Gamma { rate: *per_s, burstiness: *b }
        }
        Load::RateRange { from, to: Some(to), arrivals: how @ (Arrivals::Ramp | Arrivals::Steps) } => {
            let (from, to) = (*from, *to);
            let over = match (p.requests, p.duration_s) {
                (Some(n), _) => load::Pace::length(from, to, n),
                (None, Some(s)) => Duration::from_secs_f64(s),
                (None, None) => load::Pace::length(from, to, THROUGH_REQUESTS).max(THROUGH_TIME),
            };
            load::Arrivals::Through(match how {
                Arrivals::Ramp => load::Pace::Ramp { from, to, over },
                _ => load::Pace::Steps { from, to, over },
            })
        }
        _ => return None,
    })
}

/// The seed of one load: no other load of its launch has it.
pub fn seed(seed: u64, profile_id: &str, n: u32, place: usize) -> u64 {
    let hash = short_hash(&format!("{seed}/{profile_id}/{n}/{place}"));
    u64::from_str_radix(&hash, 16).unwrap_or(seed)
}
