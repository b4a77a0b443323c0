//! What the scripted GPUs hold at a moment: idle memory, engines, what ended engines left, and processes of others.

use std::collections::BTreeMap;

use super::engines::Living;
use super::script::{Card, EngineMemory, Script};
use crate::gpu::{Gpu, GpuProcess, usable};

const MIB: f64 = (1 << 20) as f64;
/// What a card draws with and without an engine, as a share of its limit.
const DRAW: (f64, f64) = (0.7, 0.1);

/// A launch that holds memory.
#[derive(Debug, Clone)]
struct Held {
    living: Living,
    gpus: Vec<u32>,
    memory: EngineMemory,
    since_s: f64,
}

/// What an ended launch left on its GPUs.
#[derive(Debug, Clone)]
struct Left {
    gpus: Vec<u32>,
    memory: EngineMemory,
    since_s: f64,
}

impl Left {
    fn mib(&self, now_s: f64) -> f64 {
        let drained = self.memory.drain_mib_per_s.map_or(f64::INFINITY, |rate| rate * (now_s - self.since_s));
        (self.memory.memory_mib - self.memory.leak_mib - drained).max(0.0) + self.memory.leak_mib
    }
}

/// The state between two looks.
#[derive(Debug, Default)]
pub struct World {
    held: BTreeMap<(String, String), Held>,
    left: Vec<Left>,
    energy_j: BTreeMap<u32, f64>,
    now_s: f64,
}

impl World {
    /// Moves on to `now_s` with the launches that live there.
    pub fn advance(&mut self, now_s: f64, living: BTreeMap<(String, String), Living>, script: &Script) {
        for (index, card) in (0..).zip(&script.gpus) {
            *self.energy_j.entry(index).or_default() +=
                self.power_w(index, card) * (now_s - self.now_s).max(0.0);
        }
        self.now_s = now_s;
        let ended: Vec<_> = self.held.keys().filter(|k| !living.contains_key(*k)).cloned().collect();
        for held in ended.iter().filter_map(|key| self.held.remove(key)) {
            self.left.push(Left { gpus: held.gpus, memory: held.memory, since_s: now_s });
        }
        for (key, living) in living {
            let is_its = |e: &&EngineMemory| e.command == key.0 && key.1.starts_with(&e.mark);
            let Some(memory) = script.engines.iter().find(is_its) else { continue };
            self.held.entry(key).or_insert_with(|| Held {
                gpus: given(script, living.visible.as_deref()),
                living,
                memory: memory.clone(),
                since_s: now_s,
            });
        }
    }

    pub fn used_mib(&self, index: u32, card: &Card, script: &Script) -> f64 {
        let engines: f64 =
            self.held.values().filter(|h| h.gpus.contains(&index)).map(|h| h.memory.memory_mib).sum();
        let left: f64 = self.left.iter().filter(|l| l.gpus.contains(&index)).map(|l| l.mib(self.now_s)).sum();
        let foreign: f64 = self.foreign(index, script).map(|f| f.memory_mib).sum();
        (card.idle_mib + engines + left + foreign).min(card.memory_gib * 1024.0)
    }

    pub fn processes(&self, index: u32, script: &Script) -> Vec<GpuProcess> {
        let engines = self.held.values().filter(|h| h.gpus.contains(&index)).map(|h| {
            let pid = h.memory.pid.unwrap_or(h.living.pid);
            let (name, user) = crate::gpu::who(pid);
            GpuProcess { pid, memory: Some(bytes(h.memory.memory_mib)), name, user }
        });
        let foreign = self.foreign(index, script).map(|f| GpuProcess {
            pid: f.pid,
            memory: Some(bytes(f.memory_mib)),
            name: f.name.clone(),
            user: f.user.clone(),
        });
        engines.chain(foreign).filter(GpuProcess::uses_it).collect()
    }

    /// Seconds since the newest of the living engines was first seen.
    pub fn engine_s(&self) -> Option<f64> {
        let newest = self.held.values().map(|h| h.since_s).reduce(f64::max)?;
        Some(self.now_s - newest)
    }

    pub fn is_busy(&self, index: u32) -> bool {
        self.held.values().any(|h| h.gpus.contains(&index))
    }

    pub fn power_w(&self, index: u32, card: &Card) -> f64 {
        card.power_limit_w * if self.is_busy(index) { DRAW.0 } else { DRAW.1 }
    }

    pub fn energy_j(&self, index: u32) -> f64 {
        self.energy_j.get(&index).copied().unwrap_or(0.0)
    }

    pub fn now_s(&self) -> f64 {
        self.now_s
    }

    fn foreign<'a>(
        &self,
        index: u32,
        script: &'a Script,
    ) -> impl Iterator<Item = &'a super::script::Foreign> {
        let (now_s, engine_s) = (self.now_s, self.engine_s());
        script.foreign.iter().filter(move |f| f.gpu == index && f.when.holds(now_s, engine_s))
    }
}

/// The indices of the GPUs that a launch was given; what CUDA would not find is not there.
fn given(script: &Script, visible: Option<&str>) -> Vec<u32> {
    let found = usable(&inventory(script, |_, _| 0.0), visible);
    found.unwrap_or_default().iter().map(|g| g.index).collect()
}

/// The script's GPUs with what they hold.
pub fn inventory(script: &Script, used_mib: impl Fn(u32, &Card) -> f64) -> Vec<Gpu> {
    let gpu = |(index, card): (u32, &Card)| Gpu {
        index,
        uuid: uuid(index, card),
        name: card.name.clone(),
        memory_total: Some(bytes(card.memory_gib * 1024.0)),
        memory_used: Some(bytes(used_mib(index, card))),
    };
    (0..).zip(&script.gpus).map(gpu).collect()
}

pub fn uuid(index: u32, card: &Card) -> String {
    card.uuid.clone().unwrap_or_else(|| format!("GPU-script-{index}"))
}

pub fn bytes(mib: f64) -> u64 {
    (mib * MIB).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script() -> Script {
        let text = r#"{"gpus": [{"name": "A", "idle_mib": 10}, {"name": "A"}],
            "engines": [{"command": "serve", "memory_mib": 1000, "drain_mib_per_s": 100, "leak_mib": 50}],
            "foreign": [{"gpu": 1, "memory_mib": 7, "when": {"of_engine": true, "from_s": 1}}]}"#;
        serde_json::from_str(text).expect("a script")
    }

    fn launch(visible: &str) -> BTreeMap<(String, String), Living> {
        let living = Living { pid: u32::MAX, visible: Some(visible.to_owned()) };
        BTreeMap::from([(("serve".to_owned(), "L1".to_owned()), living)])
    }

    fn used(world: &World, script: &Script) -> Vec<f64> {
        (0..).zip(&script.gpus).map(|(i, c)| world.used_mib(i, c, script)).collect()
    }

    #[test]
    fn memory_follows_an_engine_on_its_gpus_and_drains_behind_it() {
        let (script, mut world) = (script(), World::default());
        world.advance(1.0, BTreeMap::new(), &script);
        assert_eq!(used(&world, &script), [10.0, 0.0]);
        world.advance(2.0, launch("GPU-script-0"), &script);
        assert_eq!(used(&world, &script), [1010.0, 0.0]);
        assert_eq!(world.processes(0, &script).len(), 1);
        world.advance(3.5, launch("GPU-script-0"), &script);
        // the other process comes with the engine
        assert_eq!(used(&world, &script), [1010.0, 7.0]);
        world.advance(4.0, BTreeMap::new(), &script);
        assert_eq!(used(&world, &script), [1010.0, 0.0]);
        world.advance(9.0, BTreeMap::new(), &script);
        assert_eq!(used(&world, &script), [510.0, 0.0]);
        world.advance(99.0, BTreeMap::new(), &script);
        assert_eq!(used(&world, &script), [60.0, 0.0]);
        assert!(world.processes(0, &script).is_empty());
    }

    #[test]
    fn energy_is_power_times_time() {
        let (script, mut world) = (script(), World::default());
        world.advance(10.0, launch("1"), &script);
        assert!((world.energy_j(1) - 700.0).abs() < 1e-6);
        world.advance(20.0, launch("1"), &script);
        assert!((world.energy_j(1) - 700.0 - 4900.0).abs() < 1e-6);
        assert!((world.energy_j(0) - 1400.0).abs() < 1e-6);
    }
}
