//! The trait over a script. A thread of its own watches for engines, so that one that lived between two questions still leaves
//! what the script says it leaves.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::engines;
use super::script::{Card, Script};
use super::world::{World, bytes, inventory, uuid};
use crate::gpu::source::{GpuError, Gpus, Pace};
use crate::gpu::{Driver, Gpu, GpuProcess, Sample, Settings, Throttle};

const LOOK: Duration = Duration::from_millis(40);
const CLOCKS_MHZ: (u32, u32) = (1980, 1200);

/// GPUs that a script plays.
#[derive(Debug)]
pub struct Scripted {
    path: PathBuf,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    opened: Instant,
    script: Script,
    /// what the script was read from, to see that it changed
    text: String,
    world: World,
}

impl Scripted {
    pub fn open(path: PathBuf) -> Result<Self, GpuError> {
        let unusable = |why: String| GpuError::Script { path: path.clone(), why };
        let text = fs::read_to_string(&path).map_err(|e| unusable(e.to_string()))?;
        let script = serde_json::from_str(&text).map_err(|e| unusable(e.to_string()))?;
        let state = State { opened: Instant::now(), script, text, world: World::default() };
        let state = Arc::new(Mutex::new(state));
        let watched = Arc::downgrade(&state);
        let read_from = path.clone();
        std::thread::spawn(move || watch(&read_from, &watched));
        Ok(Self { path, state })
    }

    /// The state as it is now.
    fn now(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.advance(&self.path);
        state
    }
}

fn watch(path: &Path, state: &Weak<Mutex<State>>) {
    while let Some(state) = state.upgrade() {
        state.lock().unwrap_or_else(PoisonError::into_inner).advance(path);
        drop(state);
        std::thread::sleep(LOOK);
    }
}

impl State {
    fn advance(&mut self, path: &Path) {
        // a script that is just being written is read at the next look
        if let Ok(text) = fs::read_to_string(path)
            && text != self.text
            && let Ok(script) = serde_json::from_str(&text)
        {
            self.text = text;
            self.script = script;
        }
        let commands: Vec<&str> = self.script.engines.iter().map(|e| e.command.as_str()).collect();
        let living = engines::living(&commands);
        self.world.advance(self.opened.elapsed().as_secs_f64(), living, &self.script);
    }

    fn is_lost(&self, index: u32) -> bool {
        let (now_s, engine_s) = (self.world.now_s(), self.world.engine_s());
        self.script.lost.iter().any(|l| l.gpu == index && l.when.holds(now_s, engine_s))
    }

    /// The GPU of that UUID, as long as it is there.
    fn card(&self, wanted: &str) -> Result<(u32, &Card), GpuError> {
        let found = (0..).zip(&self.script.gpus).find(|(i, c)| uuid(*i, c) == wanted);
        found.filter(|(i, _)| !self.is_lost(*i)).ok_or_else(|| GpuError::Lost(wanted.to_owned()))
    }

    fn throttle(&self, index: u32) -> BTreeSet<Throttle> {
        let (now_s, engine_s) = (self.world.now_s(), self.world.engine_s());
        let here = self.script.throttle.iter().filter(|t| t.gpu == index && t.when.holds(now_s, engine_s));
        let idle = (!self.world.is_busy(index)).then_some(Throttle::Idle);
        here.map(|t| t.reason).chain(idle).collect()
    }

    fn used(&self, index: u32, card: &Card) -> f64 {
        self.world.used_mib(index, card, &self.script)
    }
}

impl Gpus for Scripted {
    fn list(&self) -> Result<Vec<Gpu>, GpuError> {
        let state = self.now();
        let mut all = inventory(&state.script, |i, c| state.used(i, c));
        all.retain(|g| !state.is_lost(g.index));
        Ok(all)
    }

    fn broken(&self) -> Vec<(u32, String)> {
        let state = self.now();
        let all = 0..state.script.gpus.len() as u32;
        all.filter(|i| state.is_lost(*i)).map(|i| (i, "it has fallen off the bus".to_owned())).collect()
    }

    fn driver(&self) -> Result<Driver, GpuError> {
        let state = self.now();
        Ok(Driver { version: state.script.driver.clone(), cuda: state.script.cuda.clone() })
    }

    fn settings(&self, uuid: &str) -> Result<Settings, GpuError> {
        let state = self.now();
        let (_, card) = state.card(uuid)?;
        if card.silent {
            return Ok(Settings::default());
        }
        Ok(Settings {
            sm_clock_max_mhz: Some(CLOCKS_MHZ.0),
            power_limit_w: Some(card.power_limit_w),
            power_limit_default_w: Some(700.0),
            ecc: Some(true),
            ecc_errors: Some(0),
            mig: Some(card.mig),
            persistence: Some(card.persistence),
            exclusive: Some(false),
            ..Settings::default()
        })
    }

    fn links(&self) -> Result<Vec<(u32, u32)>, GpuError> {
        Ok(self.now().script.links.clone())
    }

    fn processes(&self, uuid: &str) -> Result<Vec<GpuProcess>, GpuError> {
        let state = self.now();
        let (index, _) = state.card(uuid)?;
        Ok(state.world.processes(index, &state.script))
    }

    fn reachable(&self, uuid: &str) -> bool {
        self.now().card(uuid).is_ok_and(|(_, card)| !card.masked)
    }

    fn sample(&self, uuid: &str) -> Result<Sample, GpuError> {
        let state = self.now();
        let (index, card) = state.card(uuid)?;
        let memory_used = Some(bytes(state.used(index, card)));
        if card.silent {
            return Ok(Sample { memory_used, ..Sample::default() });
        }
        let (throttle, busy) = (state.throttle(index), state.world.is_busy(index));
        let slowed = throttle.iter().any(|t| *t != Throttle::Idle);
        Ok(Sample {
            power_w: Some(state.world.power_w(index, card)),
            energy_j: Some(state.world.energy_j(index)),
            sm_clock_mhz: Some(if slowed { CLOCKS_MHZ.1 } else { CLOCKS_MHZ.0 }),
            memory_clock_mhz: Some(2619),
            temperature_c: Some(if busy { 60 } else { 35 }),
            throttle: Some(throttle),
            memory_used,
            utilisation: Some(if busy { 1.0 } else { 0.0 }),
        })
    }

    fn pace(&self) -> Pace {
        let (short, earnest) = (self.now().script.pace, Pace::default());
        Pace {
            every: short.every_ms.map_or(earnest.every, Duration::from_millis),
            patience: short.patience_ms.map_or(earnest.patience, Duration::from_millis),
            ..earnest
        }
    }

    fn tolerated(&self, usual: f64) -> f64 {
        self.now().script.tolerated.unwrap_or(usual)
    }

    fn script(&self) -> Option<&Path> {
        Some(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_changes_is_read_again_and_a_torn_one_is_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("gpus.json");
        fs::write(&path, r#"{"gpus": [{"name": "A"}]}"#).expect("written");
        let gpus = Scripted::open(path.clone()).expect("opens");
        assert_eq!(gpus.list().expect("a list").len(), 1);
        fs::write(&path, r#"{"gpus": [{"name": "A"}, {"#).expect("written");
        assert_eq!(gpus.list().expect("a list").len(), 1);
        fs::write(&path, r#"{"gpus": [{"name": "A"}, {"name": "B"}], "lost": [{"gpu": 0}]}"#)
            .expect("written");
        let names: Vec<String> = gpus.list().expect("a list").into_iter().map(|g| g.name).collect();
        assert_eq!(names, ["B"]);
        assert!(matches!(gpus.sample("GPU-script-0"), Err(GpuError::Lost(_))));
        assert_eq!(gpus.broken().len(), 1);
        assert!(gpus.sample("GPU-script-1").is_ok());
    }

    #[test]
    fn a_script_that_is_none_is_refused_by_name() {
        let missing = Scripted::open("/no/such/script.json".into()).expect_err("there is none");
        assert!(missing.to_string().contains("/no/such/script.json"));
    }
}
