//! What the GPUs of a launch do: samples during a load, their summary for the journal, and the energy of the whole launch.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::clean::Levels;
use super::taken::intruder;
use crate::engine::MARK;
use crate::gpu::{self, Gpu, GpuError, GpuProcess, Gpus, Sample, Sampler, Settings, Taken, Throttle};
use crate::judge::{Device, Devices, Metrics, Quarters};

/// A driver that takes longer to answer is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Quarters of fewer samples say nothing.
const SAMPLES_OF_QUARTERS: usize = 8;

/// The GPUs of one launch.
#[derive(Debug, Clone)]
pub struct LaunchGpus {
    source: Arc<dyn Gpus>,
    gpus: Vec<Gpu>,
    levels: Levels,
    /// marks the launch's processes
    nonce: String,
    /// its processes run in a container, and descend from nobody here
    contained: bool,
    /// processes that were there before the launch
    before: BTreeSet<u32>,
    /// others who held memory while its engine started, by the GPU's place: it may have settled for what was left
    met: Arc<OnceLock<BTreeMap<usize, GpuProcess>>>,
}

impl LaunchGpus {
    pub async fn new(
        source: Arc<dyn Gpus>,
        gpus: Vec<Gpu>,
        levels: Levels,
        nonce: String,
        contained: bool,
    ) -> Self {
        let (before, met) = (BTreeSet::new(), Arc::default());
        let mut this = Self { source, gpus, levels, nonce, contained, before, met };
        let before = this.ask(|source, gpus| {
            let there = |g: &Gpu| source.processes(&g.uuid).unwrap_or_default();
            gpus.iter().flat_map(there).map(|p| p.pid).collect()
        });
        this.before = before.await.unwrap_or_default();
        this
    }

    /// Asks the driver on another thread: one that hangs must not keep signals from being heard. `None`: it took too long.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Gpus, &[Gpu]) -> T + Send + 'static,
    ) -> Option<T> {
        let (source, gpus) = (self.source.clone(), self.gpus.clone());
        let asked = tokio::task::spawn_blocking(move || question(&*source, &gpus));
        tokio::time::timeout(PATIENCE, asked).await.ok()?.ok()
    }

    /// The error of a GPU that does not answer any more, if there is one: then nothing that an engine did says anything about it.
    pub async fn lost(&self) -> Option<GpuError> {
        let lost = self.ask(|source, gpus| {
            let mut answers = gpus.iter().map(|g| source.sample(&g.uuid));
            answers.find_map(|a| a.err().filter(|e| matches!(e, GpuError::Lost(_))))
        });
        lost.await.unwrap_or(Some(GpuError::Late(PATIENCE)))
    }

    /// What all of them have drawn since their driver was loaded, in joules; `None` unless all tell.
    pub async fn energy_j(&self) -> Option<f64> {
        let sum = self.ask(|source, gpus| {
            let all = gpus.iter().map(|g| source.sample(&g.uuid).ok()?.energy_j);
            all.sum::<Option<f64>>().filter(|_| !gpus.is_empty())
        });
        sum.await.flatten()
    }

    /// Begins to sample. `dead` is cancelled when a GPU is lost: no load goes on without it.
    pub fn sample(&self, dead: CancellationToken) -> Sampling {
        let lost = Arc::new(Mutex::new(None));
        let tell = lost.clone();
        let sampler = self.sampler(move |error| {
            *tell.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            dead.cancel();
        });
        Sampling { of: self.clone(), sampler, lost, load: OnceLock::new() }
    }

    /// Samples of its GPUs that know its processes.
    pub fn sampler(&self, on_lost: impl Fn(GpuError) + Send + 'static) -> Sampler {
        let uuids = self.gpus.iter().map(|g| g.uuid.clone()).collect();
        Sampler::start(self.source.clone(), uuids, self.ours(), on_lost)
    }

    /// The processes that were on its GPUs before it.
    pub fn before(&self) -> &BTreeSet<u32> {
        &self.before
    }

    /// Takes down who was there while the engine started: each of the launch's loads is told.
    pub fn met_at_start(&self, others: BTreeMap<usize, GpuProcess>) {
        let _ = self.met.set(others);
    }

    fn ours(&self) -> Box<gpu::sampler::Ours> {
        let (me, nonce, before, contained) =
            (std::process::id(), self.nonce.clone(), self.before.clone(), self.contained);
        Box::new(move |pid| {
            gpu::belongs(pid, me, (MARK, &nonce))
                || (contained && !before.contains(&pid) && gpu::in_container(pid))
        })
    }
}

/// A sampling that goes on.
#[derive(Debug)]
pub struct Sampling {
    of: LaunchGpus,
    sampler: Sampler,
    lost: Arc<Mutex<Option<String>>>,
    /// when the load itself began, after its warm-up
    load: OnceLock<Instant>,
}

/// What a sampling found.
#[derive(Debug, Default)]
pub struct Sampled {
    pub devices: Option<Devices>,
    /// a GPU is lost, and why that is known
    pub lost: Option<String>,
    /// somebody else who took memory
    pub intruder: Option<String>,
    lines: Vec<serde_json::Value>,
}

impl Sampling {
    /// Here the load begins: its figures count from now.
    pub fn load_begins(&self) {
        if self.load.set(Instant::now()).is_ok() {
            self.sampler.now();
        }
    }

    pub async fn end(self) -> Sampled {
        let lost = self.lost.clone();
        let found = tokio::task::spawn_blocking(move || self.summarise());
        let found = tokio::time::timeout(PATIENCE, found).await;
        let found = found.ok().and_then(Result::ok).unwrap_or_default();
        let lost = lost.lock().unwrap_or_else(PoisonError::into_inner).take();
        Sampled { lost, ..found }
    }

    /// The summary and the samples as they are written; neither if the load itself never began. Waits for the driver.
    fn summarise(self) -> Sampled {
        let Self { of, sampler, load, .. } = self;
        let taken = sampler.end();
        let intruder = intruder(&taken, &of.before);
        let Some(from) = load.into_inner() else { return Sampled { intruder, ..Sampled::default() } };
        let lines = taken.iter().map(|t| line(&of, t, from)).collect();
        Sampled { devices: Some(summary(&of, &taken, from)), lost: None, intruder, lines }
    }
}

impl Sampled {
    /// The metrics of the language that are about GPUs: sums over the launch's GPUs, for the load itself.
    pub fn measure(&self, metrics: &mut Metrics) {
        let Some(devices) = &self.devices else { return };
        let memory = devices.sum(|d| d.memory_max.map(|b| b as f64));
        let energy = devices.sum(|d| d.energy_j);
        for (name, value) in
            [("gpu_memory", memory), ("gpu_power", devices.sum(|d| d.power_w)), ("energy", energy)]
        {
            if let Some(value) = value {
                metrics.set(name, value);
            }
        }
        let tokens = metrics.number("input_tokens").zip(metrics.number("output_tokens"));
        if let (Some(joules), Some((input, output))) = (energy.filter(|j| *j > 0.0), tokens) {
            metrics.set("tokens_per_joule", (input + output) / joules);
        }
    }

    /// Writes the samples beside the trial's other files: for people, no decision reads them.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let mut file = std::io::BufWriter::new(fs::File::create(path)?);
        for line in &self.lines {
            writeln!(file, "{line}")?;
        }
        file.flush()
    }
}

/// One sample as it is written, `t_s` from the load's beginning.
fn line(of: &LaunchGpus, t: &Taken, from: Instant) -> serde_json::Value {
    let t_s = seconds(from, t.at);
    let others: Vec<String> = t.others.iter().map(ToString::to_string).collect();
    let mut line = json!({"t_s": t_s, "gpu": of.gpus.get(t.gpu).map(|g| g.index)});
    if let Ok(serde_json::Value::Object(sample)) = serde_json::to_value(&t.sample) {
        for (key, value) in sample {
            line[key] = value;
        }
    }
    if !others.is_empty() {
        line["others"] = json!(others);
    }
    if of.source.script().is_some() {
        line["scripted"] = json!(true);
    }
    line
}

/// Seconds from one moment to another, which may be the earlier one.
fn seconds(from: Instant, to: Instant) -> f64 {
    let s = match to.checked_duration_since(from) {
        Some(after) => after.as_secs_f64(),
        None => -from.duration_since(to).as_secs_f64(),
    };
    (s * 1e3).round() / 1e3
}

fn summary(of: &LaunchGpus, taken: &[Taken], from: Instant) -> Devices {
    let hidden = gpu::hidden_here() && !taken.iter().any(|t| t.ours);
    let device = |(i, gpu): (usize, &Gpu)| {
        let all: Vec<&Taken> = taken.iter().filter(|t| t.gpu == i && t.at >= from).collect();
        let settings = of.source.settings(&gpu.uuid).unwrap_or_default();
        let mut device = one(gpu, &settings, &all);
        device.memory_idle = of.levels.get(&gpu.uuid).copied();
        // what cannot be told from our own is somebody else's only if it was there before
        let counts = |pid: u32| !hidden || of.before.contains(&pid);
        let others = all.iter().flat_map(|t| &t.others).filter(|p| counts(p.pid));
        let by_pid: BTreeMap<u32, String> = others.map(|p| (p.pid, p.to_string())).collect();
        let met = of.met.get().and_then(|met| met.get(&i)).filter(|holder| !by_pid.contains_key(&holder.pid));
        device.foreign = by_pid.into_values().collect();
        device.foreign.extend(met.map(|holder| format!("{holder} while the engine started")));
        device
    };
    Devices { scripted: of.source.script().is_some(), gpus: of.gpus.iter().enumerate().map(device).collect() }
}

fn one(gpu: &Gpu, settings: &Settings, all: &[&Taken]) -> Device {
    let over = |of: &dyn Fn(&Sample) -> Option<f64>| -> Vec<f64> {
        all.iter().filter_map(|t| of(&t.sample)).collect()
    };
    let power = over(&|s| s.power_w);
    let clock = |s: &Sample| s.sm_clock_mhz.filter(|_| !is_idle(s)).map(f64::from);
    let temperature = over(&|s| s.temperature_c.map(f64::from));
    Device {
        index: gpu.index,
        uuid: gpu.uuid.clone(),
        name: gpu.name.clone(),
        samples: all.len() as u32,
        power_w: mean(&power),
        power_max_w: power.iter().copied().reduce(f64::max),
        power_limit_w: settings.power_limit_w,
        energy_j: energy(all, &power),
        sm_clock_mhz: mean(&over(&clock)),
        sm_clock_max_mhz: settings.sm_clock_max_mhz.map(f64::from),
        temperature_max_c: temperature.iter().copied().reduce(f64::max),
        quarters: quarters(all),
        throttle: throttle(all),
        memory_max: all.iter().filter_map(|t| t.sample.memory_used).max(),
        memory_idle: None,
        utilisation: mean(&over(&|s| s.utilisation)),
        foreign: Vec::new(),
    }
}

/// A GPU without work lowers its clock: that is no slowness.
fn is_idle(s: &Sample) -> bool {
    s.utilisation == Some(0.0) || s.throttle.as_ref().is_some_and(|t| t.contains(&Throttle::Idle))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// By the card's own counter from the first to the last sample, else mean power over that time.
fn energy(all: &[&Taken], power: &[f64]) -> Option<f64> {
    let (first, last) = (all.first()?, all.last()?);
    let counted = first.sample.energy_j.zip(last.sample.energy_j).map(|(a, b)| b - a);
    let took = last.at.saturating_duration_since(first.at).as_secs_f64();
    counted.filter(|j| *j >= 0.0).or_else(|| Some(mean(power)? * took))
}

fn throttle(all: &[&Taken]) -> Option<BTreeMap<String, f64>> {
    let told: Vec<&BTreeSet<Throttle>> = all.iter().filter_map(|t| t.sample.throttle.as_ref()).collect();
    if told.is_empty() {
        return None;
    }
    let mut counts: BTreeMap<String, f64> = BTreeMap::new();
    for reason in told.iter().copied().flatten() {
        *counts.entry(word(reason)).or_default() += 1.0 / told.len() as f64;
    }
    Some(counts)
}

/// A reason's name as it is stored.
fn word(reason: impl Serialize) -> String {
    serde_json::to_value(reason).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

fn quarters(all: &[&Taken]) -> Option<Quarters> {
    let told: Vec<(f64, f64)> = all
        .iter()
        .filter(|t| !is_idle(&t.sample))
        .filter_map(|t| Some((f64::from(t.sample.temperature_c?), f64::from(t.sample.sm_clock_mhz?))))
        .collect();
    if told.len() < SAMPLES_OF_QUARTERS {
        return None;
    }
    let quarter = told.len() / 4;
    let of = |part: &[(f64, f64)]| {
        let (t, c): (Vec<f64>, Vec<f64>) = part.iter().copied().unzip();
        mean(&t).zip(mean(&c))
    };
    let (first, last) = (of(&told[..quarter])?, of(&told[told.len() - quarter..])?);
    Some(Quarters { first_c: first.0, last_c: last.0, first_mhz: first.1, last_mhz: last.1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(at: Instant, s: f64, temperature: u32, clock: u32) -> Taken {
        let sample = Sample {
            power_w: Some(100.0 + s),
            energy_j: Some(1000.0 + 10.0 * s),
            sm_clock_mhz: Some(clock),
            temperature_c: Some(temperature),
            throttle: Some(if s < 1.0 { BTreeSet::from([Throttle::PowerCap]) } else { BTreeSet::new() }),
            memory_used: Some(s as u64),
            utilisation: Some(1.0),
            ..Sample::default()
        };
        Taken { at: at + Duration::from_secs_f64(s), gpu: 0, sample, ours: true, others: Vec::new() }
    }

    fn gpu() -> Gpu {
        Gpu { index: 3, uuid: "u".into(), name: "A".into(), memory_total: None, memory_used: None }
    }

    #[test]
    fn a_summary_of_samples_made_by_hand() {
        let at = Instant::now();
        let all: Vec<Taken> =
            (0..8).map(|s| taken(at, f64::from(s), 40 + s as u32 * 2, 2000 - s as u32 * 10)).collect();
        let d = one(&gpu(), &Settings::default(), &all.iter().collect::<Vec<_>>());
        assert_eq!((d.index, d.samples, d.memory_max), (3, 8, Some(7)));
        assert_eq!((d.power_w, d.power_max_w, d.energy_j), (Some(103.5), Some(107.0), Some(70.0)));
        assert_eq!(d.throttle, Some(BTreeMap::from([("power_cap".to_owned(), 0.125)])));
        let q = Quarters { first_c: 41.0, last_c: 53.0, first_mhz: 1995.0, last_mhz: 1935.0 };
        assert_eq!(d.quarters, Some(q));
        assert_eq!(d.temperature_max_c, Some(54.0));
    }

    #[test]
    fn what_is_not_told_is_not_there() {
        let at = Instant::now();
        let mut all: Vec<Taken> = (0..2).map(|s| taken(at, f64::from(s), 40, 2000)).collect();
        for t in &mut all {
            t.sample = Sample { power_w: Some(50.0), ..Sample::default() };
        }
        let d = one(&gpu(), &Settings::default(), &all.iter().collect::<Vec<_>>());
        // without a counter energy is power times time
        assert_eq!(d.energy_j, Some(50.0));
        assert!(d.throttle.is_none() && d.quarters.is_none() && d.sm_clock_mhz.is_none());
        assert!(one(&gpu(), &Settings::default(), &[]).energy_j.is_none());
    }
}
