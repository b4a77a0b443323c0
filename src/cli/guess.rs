//! What launches of a study may take, before any was made: the simulator's prediction of its baseline. It is a guess for planning, on
//! the card that the study names or else an H100; what is measured takes its place launch by launch.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::judge::forecast::{Foresee, Guess};
use crate::lang::Program;
use crate::lang::sema::program::{Arrivals, Data, Load, Profile, Study, Warmup};
use crate::plan::{Config, profile};
use crate::sim::{self, EngineConfig, Gpu, SimArgs};

/// Engines whose serving the simulator is a model of.
const MODELLED: [&str; 4] = ["sim", "vllm", "sglang", "trtllm"];
/// More requests of a load are not simulated: what they take follows from the first ones.
const MOST_REQUESTS: u64 = 512;
/// Weights from disk to a real card in bytes a second, and everything else of a real start.
const LOADING: f64 = 2e9;
const REST_OF_START_S: f64 = 60.0;
/// A warm-up that ends by itself.
const WARMUP_S: f64 = 15.0;
/// A load that ends by itself takes at least so long, and at most.
const LOAD_S: std::ops::RangeInclusive<f64> = 60.0..=600.0;
/// A warm-up that does not end by itself.
const MOST_WARMUP_S: f64 = 120.0;
/// Tokens a second for each client of a server of which nothing is known.
pub const SLOW_TPS: f64 = 10.0;
/// A conversation's turn, where no lengths are stated.
const CHAT: (u32, u32) = (220, 200);

/// Configurations that are looked at, at most: a plan of thousands is not held up.
const MOST_CONFIGS: usize = 200;

/// A study with more loads is not guessed at, as each is simulated.
const MOST_LOADS: usize = 64;

/// The guess for a study; an empty one where the simulator is no model of its baseline.
pub fn of(program: &Program, study: &Study) -> Guess {
    let baseline = program.engines.get(&study.baseline).map(|e| Config::declared(e, study));
    let simulated = Some(super::site::simulated(program, study));
    let Some(config) = baseline else { return Guess { simulated, ..Guess::default() } };
    let nothing = |why| Guess { note: Some(why), ..Guess::default() };
    Guess { simulated, ..guess(program, study, &config).unwrap_or_else(nothing) }
}

/// How configurations compare, as the simulator says: whether they start, and their loads in virtual time, each simulated once.
#[derive(Debug)]
struct Simulated {
    gpu: Option<Gpu>,
    /// by their settings
    profiles: HashMap<String, Profile>,
    loads: Mutex<HashMap<(String, String), Option<f64>>>,
    /// whether an engine does not start, by the configuration's id
    fails: Mutex<HashMap<String, bool>>,
}

impl Simulated {
    /// `None` where the simulator is no model of the engine.
    fn engine(&self, config: &Config) -> Option<Result<EngineConfig, sim::StartError>> {
        let is_modelled = MODELLED.contains(&config.engine.root());
        is_modelled.then(|| EngineConfig::resolve(&arguments(config, self.gpu)))
    }

    fn look(&self, config: &Config, profile: &str) -> Option<f64> {
        let p = self.profiles.get(profile)?;
        load_s(&self.engine(config)?.ok()?, p)
    }
}

impl Foresee for Simulated {
    fn fails(&self, config: &Config) -> bool {
        let look = || self.engine(config).is_some_and(|engine| engine.is_err());
        once(&self.fails, config.id().to_owned(), look).unwrap_or(false)
    }

    fn load_s(&self, config: &Config, profile: &str) -> Option<f64> {
        let key = (config.id().to_owned(), profile.to_owned());
        once(&self.loads, key, || self.look(config, profile)).flatten()
    }
}

/// What was found for a key, looked for once; `None` where too much was looked for already.
fn once<K: Eq + Hash, V: Copy>(seen: &Mutex<HashMap<K, V>>, key: K, look: impl FnOnce() -> V) -> Option<V> {
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.len() >= MOST_CONFIGS {
        return seen.get(&key).copied();
    }
    Some(*seen.entry(key).or_insert_with(look))
}

fn arguments(config: &Config, gpu: Option<Gpu>) -> SimArgs {
    let flags: Vec<(String, Option<String>)> =
        config.flags().map(|s| (s.canonical.clone(), s.shown.clone())).collect();
    let (mut args, _) = SimArgs::parse_known(&config.model, &flags);
    args.gpu = gpu.unwrap_or(args.gpu);
    args
}

/// A guess, or why there is none.
fn guess(program: &Program, study: &Study, config: &Config) -> Result<Guess, String> {
    let root = config.engine.root();
    if !MODELLED.contains(&root) {
        return Err(format!("and the simulator is no model of `{root}`"));
    }
    if profiles(program, study).count() > MOST_LOADS {
        return Err(format!("and of more than {MOST_LOADS} loads the simulator tries none"));
    }
    let gpu = study.gpus.as_ref().and_then(|g| card(g.of.as_deref()?));
    let args = arguments(config, gpu);
    let engine = EngineConfig::resolve(&args)
        .map_err(|why| format!("and in the simulator the baseline does not start: {}", last_line(&why)))?;
    let start_s = if config.engine.simulated() {
        engine.startup().as_secs_f64()
    } else {
        engine.memory.weights * f64::from(args.tensor_parallel_size) / LOADING + REST_OF_START_S
    };
    let loads: HashMap<String, f64> =
        profiles(program, study).filter_map(|p| Some((profile::id(p), load_s(&engine, p)?))).collect();
    let profiles = profiles(program, study).map(|p| (profile::id(p), p.clone())).collect();
    let each = Simulated { gpu, profiles, loads: Mutex::default(), fails: Mutex::default() };
    let note = (!sim::tells_size(&config.model)).then(|| {
        format!("as for a model of 8 billion parameters, as the name {} tells no size", config.model)
    });
    Ok(Guess { start_s, load_s: loads, note, simulated: None, each: Some(Arc::new(each)) })
}

/// The simulator speaks as engines do: the reason stands in the last line.
fn last_line(why: &sim::StartError) -> String {
    why.to_string().lines().last().unwrap_or_default().trim().to_owned()
}

fn profiles<'a>(program: &'a Program, study: &'a Study) -> impl Iterator<Item = &'a Profile> {
    let elsewhere = study.require.iter().filter_map(|r| r.on.as_ref());
    let named = study.objective.iter().flat_map(|o| &o.profiles).chain(&study.confirm).chain(elsewhere);
    named.filter_map(|name| program.profiles.get(name).map(AsRef::as_ref))
}

/// What launches of an engine take at most, of which nothing is known: the whole patience of each start, and loads of a slow server.
pub fn at_most(program: &Program, study: &Study, config: &Config) -> Guess {
    let loads = profiles(program, study).map(|p| (profile::id(p), slow_s(p)));
    Guess { start_s: config.engine.ready.within_s, load_s: loads.collect(), ..Guess::default() }
}

/// A load and its warm-up on a server that gives each client so few tokens a second.
fn slow_s(p: &Profile) -> f64 {
    let request = p.output.map_or(CHAT.1, |(_, most)| most).max(SLOW_TPS as u32);
    let request = f64::from(request) / SLOW_TPS;
    let clients = match &p.load {
        Some(Load::Concurrency(c)) => f64::from(*c),
        _ => p.in_flight.map_or(64.0, f64::from),
    };
    let of = |requests: u64| {
        let arrive = if let Some(Load::Rate { per_s, .. }) = &p.load {
            requests as f64 / per_s.max(1e-6)
        } else {
            0.0
        };
        ((requests as f64 / clients.max(1.0)).ceil() * request).max(arrive)
    };
    let load = p.requests.map(of).or(p.duration_s).unwrap_or(*LOAD_S.end());
    let warmup = match p.warmup {
        None => MOST_WARMUP_S,
        Some(Warmup::None) => 0.0,
        Some(Warmup::Time(s)) => s,
        Some(Warmup::Requests(n)) => of(n),
    };
    load + warmup
}

fn card(name: &str) -> Option<Gpu> {
    let name = name.to_ascii_uppercase();
    let is = |part: &str| name.contains(part);
    Some(match () {
        () if is("H200") => Gpu::H200,
        () if is("A100") => Gpu::A100Sxm,
        () if is("H100") && is("PCIE") => Gpu::H100Pcie,
        () if is("H100") => Gpu::H100Sxm,
        () => return None,
    })
}

/// Warm-up and load of a profile, seconds.
fn load_s(engine: &EngineConfig, p: &Profile) -> Option<f64> {
    let stated = p.duration_s.filter(|_| p.requests.is_none());
    let clients = match &p.load {
        Some(Load::Concurrency(c)) => u64::from(*c),
        _ => p.in_flight.map_or(64, u64::from),
    };
    let requests = p.requests.unwrap_or((10 * clients).max(300));
    let seconds = match (stated, simulated_s(engine, p, requests, clients)) {
        (Some(stated), _) => stated,
        (None, Some(s)) if p.requests.is_some() => s,
        (None, Some(s)) => s.clamp(*LOAD_S.start(), *LOAD_S.end()),
        (None, None) => return None,
    };
    let warmup = match p.warmup {
        None => WARMUP_S,
        Some(Warmup::None) => 0.0,
        Some(Warmup::Time(s)) => s,
        Some(Warmup::Requests(n)) => simulated_s(engine, p, n, clients).unwrap_or(0.0),
    };
    Some(seconds + warmup)
}

fn simulated_s(engine: &EngineConfig, p: &Profile, requests: u64, clients: u64) -> Option<f64> {
    if requests == 0 {
        return Some(0.0);
    }
    let middle = |t: (u32, u32)| t.0.midpoint(t.1);
    let chat = matches!(p.data, Some(Data::ShareGpt | Data::Conversations(_)));
    let input = p.prompt_tokens().map(middle).or(chat.then_some(CHAT.0))?;
    let output = p.output.map(middle).or(chat.then_some(CHAT.1))?;
    let some = requests.min(MOST_REQUESTS.max(2 * clients).min(4 * MOST_REQUESTS));
    let arrivals = arrivals(p, some, clients)?;
    let load = sim::Load::uniform(some as usize, input + sim::TEMPLATE_TOKENS, output, arrivals);
    let predicted = sim::predict(engine, &load).ok()?;
    Some(predicted.duration.as_secs_f64() * requests as f64 / some as f64)
}

fn arrivals(p: &Profile, requests: u64, clients: u64) -> Option<sim::Arrivals> {
    Some(match p.load.as_ref()? {
        Load::Concurrency(_) => sim::Arrivals::Closed { concurrency: clients as usize },
        // all at once under a cap is a closed loop of so many
        Load::Max if p.in_flight.is_some() => sim::Arrivals::Closed { concurrency: clients as usize },
        Load::Max => sim::Arrivals::Closed { concurrency: requests as usize },
        Load::Rate { per_s, arrivals: Arrivals::Poisson | Arrivals::Constant | Arrivals::Gamma(_) } => {
            let at = |i: u64| Duration::from_secs_f64(i as f64 / per_s.max(1e-6));
            sim::Arrivals::Open((0..requests).map(at).collect())
        }
        _ => return None,
    })
}
