//! The yard: how many launches may run side by side here, on which GPUs and processors each of them.
//!
//! As soon as several may, every launch has its slot's processors, also one that runs alone: all arms on equal terms.

use super::cores::{self, Shares};
use super::host::Host;
use super::slots::slots;
use crate::gpu::Gpu;

/// The GPUs and processors of a study.
#[derive(Debug, Clone, Default)]
pub struct Yard {
    gpus: Vec<Gpu>,
    links: Vec<(u32, u32)>,
    /// launches side by side, at most
    limit: usize,
    /// somebody said how many
    asked: bool,
    /// `None` where launches run one after another, or processors are too few
    shares: Option<Shares>,
}

/// What one launch has for itself.
#[derive(Debug, Clone, Default)]
pub struct Berth {
    pub gpus: Vec<Gpu>,
    /// processors; none where they are not shared out
    pub cpus: Vec<usize>,
    /// its number among the slots of its size, counting from 1, and how many there are; `None` where one launch runs at a time
    pub number: Option<(usize, usize)>,
    /// its part of the machine's memory, from 0 to 1
    pub part: f64,
}

impl Yard {
    /// `parallel`: so many launches at most; without it, as many as there are slots.
    pub fn new(host: &Host, parallel: Option<usize>) -> Self {
        let Some((source, gpus)) = host.gpus(u32::MAX) else { return Self::default() };
        // without an answer every GPU is an island of its own
        let links = source.links().unwrap_or_default();
        let limit = parallel.unwrap_or(usize::MAX).min(gpus.len());
        let shares = (limit > 1).then(|| cores::share(&cores::here(), gpus.len())).flatten();
        Self { gpus, links, limit, asked: parallel.is_some(), shares }
    }

    /// A machine that is not here, with so many GPUs and nothing known of how they are joined.
    pub fn imagined(gpus: u32, parallel: Option<usize>) -> Self {
        let gpu = |index: u32| Gpu {
            index,
            uuid: index.to_string(),
            name: String::new(),
            memory_total: None,
            memory_used: None,
        };
        let limit = parallel.unwrap_or(usize::MAX).min(gpus as usize);
        let gpus = (0..gpus).map(gpu).collect();
        Self { gpus, links: Vec::new(), limit, asked: parallel.is_some(), shares: None }
    }

    /// Whether two launches can ever run at a time.
    pub fn is_shared(&self) -> bool {
        self.limit > 1
    }

    /// Whether `--parallel` said how many: then the check is made, whatever it takes here. Its verdict is for other studies too.
    pub fn was_asked(&self) -> bool {
        self.asked
    }

    /// Whether launches would have to share processors.
    pub fn lacks_cores(&self) -> bool {
        self.is_shared() && self.shares.is_none()
    }

    /// Launches of so many GPUs each that fit side by side.
    pub fn room(&self, size: u32) -> usize {
        if self.is_shared() { self.slots(size).len().min(self.limit).max(1) } else { 1 }
    }

    /// Launches at a time, whatever their size.
    pub fn limit(&self) -> usize {
        self.limit.max(1)
    }

    /// Threads for the load generators of as many launches as there can be.
    pub fn workers(&self) -> usize {
        let cores = self.shares.as_ref().map_or(1, |s| s.client.len());
        self.limit().min(cores.max(1))
    }

    /// The processors that are perflab's own; none where it shares all of them with the engines.
    pub fn client_cores(&self) -> Vec<usize> {
        self.shares.as_ref().map_or_else(Vec::new, |shares| shares.client.clone())
    }

    /// Keeps perflab's own threads, those still to be started, off the engines' processors.
    pub fn keep_client_apart(&self) {
        if let Some(shares) = &self.shares {
            cores::stay_on(&shares.client);
        }
    }

    fn slots(&self, size: u32) -> Vec<Vec<Gpu>> {
        slots(&self.gpus, &self.links, size as usize)
    }

    /// A free slot of so many GPUs, of those that `used` says were used least. `None`: there is none, and the launch waits for one, so
    /// that no configuration is twice where others are once.
    pub fn berth(&self, size: u32, busy: &[&Gpu], used: impl Fn(usize) -> usize) -> Option<Berth> {
        if !self.is_shared() {
            let gpus: Vec<Gpu> = self.gpus.iter().take(size as usize).cloned().collect();
            return busy.is_empty().then(|| Berth { gpus, part: 1.0, ..Berth::default() });
        }
        let all = self.slots(size);
        let is_free = |slot: &[Gpu]| slot.iter().all(|g| busy.iter().all(|b| b.uuid != g.uuid));
        let least = (1..=all.len()).map(&used).min()?;
        let mut free = (1..).zip(&all).filter(|(_, slot)| is_free(slot));
        let (number, slot) = free.find(|(number, _)| used(*number) == least)?;
        Some(self.moored(slot.clone(), number, all.len()))
    }

    /// The slot of this number, whoever is in it.
    pub fn slot(&self, size: u32, number: usize) -> Option<Berth> {
        let all = self.slots(size);
        Some(self.moored(all.get(number.checked_sub(1)?)?.clone(), number, all.len()))
    }

    fn moored(&self, gpus: Vec<Gpu>, number: usize, of: usize) -> Berth {
        let share = |g: &Gpu| self.gpus.iter().position(|o| o.uuid == g.uuid);
        let cpus = |shares: &Shares| {
            let own = gpus.iter().filter_map(share).filter_map(|at| shares.gpus.get(at));
            own.flatten().copied().collect()
        };
        let cpus = self.shares.as_ref().map(cpus).unwrap_or_default();
        let part = gpus.len() as f64 / self.gpus.len() as f64;
        Berth { gpus, cpus, number: Some((number, of)), part }
    }
}

impl Berth {
    /// The variables that give an engine its GPUs.
    pub fn variables(&self) -> Vec<(String, String)> {
        if self.gpus.is_empty() {
            return Vec::new();
        }
        let uuids: Vec<&str> = self.gpus.iter().map(|g| g.uuid.as_str()).collect();
        vec![(super::surroundings::VISIBLE.to_owned(), uuids.join(","))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yard(count: u32, limit: usize) -> Yard {
        let gpu = |index: u32| Gpu {
            index,
            uuid: format!("GPU-{index}"),
            name: "A".to_owned(),
            memory_total: None,
            memory_used: None,
        };
        let gpus: Vec<Gpu> = (0..count).map(gpu).collect();
        let shares = Shares { client: vec![99], gpus: (0..count as usize).map(|g| vec![g]).collect() };
        Yard { gpus, links: Vec::new(), limit, asked: false, shares: (limit > 1).then_some(shares) }
    }

    fn indices(berth: Option<Berth>) -> Vec<u32> {
        berth.map(|b| b.gpus.iter().map(|g| g.index).collect()).unwrap_or_default()
    }

    #[test]
    fn one_after_another_takes_the_first_gpus_and_all_processors() {
        let yard = yard(4, 1);
        let berth = yard.berth(2, &[], |_| 0).expect("free");
        assert_eq!((berth.cpus.len(), berth.number), (0, None));
        assert_eq!(indices(Some(berth.clone())), [0, 1]);
        assert_eq!(berth.variables(), [("CUDA_VISIBLE_DEVICES".to_owned(), "GPU-0,GPU-1".to_owned())]);
        assert!(yard.berth(1, &[&berth.gpus[0]], |_| 0).is_none(), "one at a time");
        assert_eq!((yard.room(1), yard.workers()), (1, 1));
        assert!(Yard::default().berth(1, &[], |_| 0).is_some_and(|b| b.variables().is_empty()));
    }

    #[test]
    fn side_by_side_takes_free_slots_and_the_one_that_was_used_least() {
        let yard = yard(4, 4);
        assert_eq!((yard.room(1), yard.room(2), yard.room(3)), (4, 2, 1));
        let first = yard.berth(2, &[], |_| 0).expect("free");
        let busy: Vec<&Gpu> = first.gpus.iter().collect();
        let second = yard.berth(1, &busy, |_| 0).expect("free");
        assert_eq!((indices(Some(second.clone())), second.number), (vec![2], Some((3, 4))));
        assert_eq!(second.cpus, [2]);
        let used = [0, 1, 0];
        assert_eq!(indices(yard.berth(2, &[], |number| used[number])), [2, 3]);
        // its own turn is on the other one
        assert!(yard.berth(2, &[&second.gpus[0]], |number| used[number]).is_none());
        assert!(yard.berth(4, &busy, |_| 0).is_none());
        assert_eq!(indices(yard.slot(2, 2)), [2, 3]);
        assert!(yard.slot(2, 3).is_none());
    }
}
