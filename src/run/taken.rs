//! Whether somebody else took the memory of a launch's GPUs while its engine needed it: an engine that then runs out of memory failed for no
//! reason of its own, and one that became ready all the same may have settled for what was left.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::devices::LaunchGpus;
use crate::engine::Failure;
use crate::engine::failure::{GPU_MEMORY, GPU_MEMORY_TAKEN};
use crate::gpu::{self, GpuProcess, Sampler, Taken};

/// Less than this does not keep an engine from its memory: displays and monitors hold as much.
const LITTLE: u64 = 500 << 20;
/// A driver that takes longer to answer is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// A look at who else is on a launch's GPUs while its engine starts.
pub struct Watch {
    sampler: Sampler,
    of: LaunchGpus,
}

impl Watch {
    pub fn begin(gpus: &LaunchGpus) -> Self {
        Self { sampler: gpus.sampler(|_| {}), of: gpus.clone() }
    }

    /// Bytes on the launch's GPUs, as the start goes on.
    pub fn held(&self) -> Arc<AtomicU64> {
        self.sampler.held()
    }

    /// Ends it: who took memory, if anybody did. The launch's loads are told.
    pub async fn end(self) -> Option<String> {
        let Self { sampler, of } = self;
        let before = of.before().clone();
        let ended = tokio::task::spawn_blocking(move || intruders(&sampler.end(), &before));
        let found = tokio::time::timeout(PATIENCE, ended).await.ok()?.ok()?;
        let first = found.values().next().map(GpuProcess::to_string);
        of.met_at_start(found);
        first
    }
}

/// The first among samples who holds much of a GPU and is none of the launch's processes.
pub fn intruder(taken: &[Taken], before: &BTreeSet<u32>) -> Option<String> {
    intruders(taken, before).into_values().next().map(|p| p.to_string())
}

/// The same for each GPU where there is one, by its place among the launch's.
fn intruders(taken: &[Taken], before: &BTreeSet<u32>) -> BTreeMap<usize, GpuProcess> {
    let hidden = gpu::hidden_here() && !taken.iter().any(|t| t.ours);
    let holds_much = |p: &&GpuProcess| {
        let there = before.contains(&p.pid);
        // what has no name any more may be the engine itself, which the driver lists for a moment after its end
        let is_somebody = there || (p.name.is_some() && !hidden);
        is_somebody && p.memory.map_or(!there, |bytes| bytes >= LITTLE)
    };
    let mut found = BTreeMap::new();
    for t in taken {
        if let Some(holder) = t.others.iter().find(holds_much) {
            found.entry(t.gpu).or_insert_with(|| holder.clone());
        }
    }
    found
}

/// A failure, and whose it is: too little memory on a GPU where somebody else took some is the machine's.
pub fn blamed(failure: Failure, intruder: Option<&String>) -> Failure {
    match intruder {
        Some(intruder) if failure.class.starts_with(GPU_MEMORY) => {
            Failure::new(GPU_MEMORY_TAKEN, format!("process {intruder}; {}", failure.line))
        }
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::gpu::Sample;

    fn seen(pid: u32, name: Option<&str>, mib: Option<u64>) -> Option<String> {
        let (name, memory) = (name.map(str::to_owned), mib.map(|m| m << 20));
        let other = GpuProcess { pid, memory, name, user: None };
        let (at, sample) = (Instant::now(), Sample::default());
        intruder(&[Taken { at, gpu: 0, sample, ours: true, others: vec![other] }], &BTreeSet::from([1]))
    }

    #[test]
    fn who_takes_memory_lives_holds_much_or_came_with_an_unknown_amount() {
        assert_eq!(seen(7, Some("train"), Some(2048)).as_deref(), Some("7 (train) 2.0 GiB"));
        assert!(seen(7, Some("train"), None).is_some());
        assert!(seen(1, Some("train"), Some(2048)).is_some(), "it may have grown");
        assert!(seen(7, Some("Xorg"), Some(300)).is_none());
        assert!(seen(1, Some("daemon"), None).is_none());
        assert!(seen(7, None, Some(70_000)).is_none(), "a process that is gone");
    }

    #[test]
    fn only_memory_is_blamed_on_others() {
        let intruder = "7 (train)".to_owned();
        let of = |class: &str| blamed(Failure::new(class, "x"), Some(&intruder)).class;
        assert_eq!(of("out of GPU memory (KV cache)"), GPU_MEMORY_TAKEN);
        assert_eq!(of("GPU error"), "GPU error");
        assert_eq!(blamed(Failure::new(GPU_MEMORY, "x"), None).class, GPU_MEMORY);
    }
}
