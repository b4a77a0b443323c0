//! The wait for clean GPUs: a launch begins on GPUs whose memory is where it was before the study, and is over when it is there again.
//! What somebody else holds is waited for and named, never ended.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::gpu::{Gpu, GpuError, GpuProcess, Gpus, gib};

/// Memory may differ by so much from the level before the study: contexts come and go.
const TOLERANCE: u64 = 256 << 20;
/// A GPU that was seen clean so shortly ago is looked at once.
const FRESH: Duration = Duration::from_secs(10);

/// What each GPU holds when nothing runs on it, in bytes by UUID.
pub type Levels = BTreeMap<String, u64>;

/// A GPU that is not clean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub gpu: Gpu,
    /// more than before the study, in bytes
    pub above: u64,
    pub holders: Vec<GpuProcess>,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { gpu, above, holders } = self;
        write!(f, "GPU {} ({}) holds {} more than before the study", gpu.index, gpu.name, gib(*above))?;
        match holders.as_slice() {
            [] => write!(f, ", by no process that can be seen from here"),
            some => {
                let names: Vec<String> = some.iter().map(ToString::to_string).collect();
                write!(f, ", by {}", names.join(" and "))
            }
        }
    }
}

/// How a wait ended.
#[derive(Debug)]
pub enum Waited {
    Clean,
    /// a signal ended it
    Interrupted,
    /// patience ended it
    Held(Vec<Held>),
}

/// The wait, with what it remembers between launches.
#[derive(Debug)]
pub struct Cleanness {
    source: Arc<dyn Gpus>,
    levels: Levels,
    /// when each GPU was last seen clean
    clean_at: Mutex<BTreeMap<String, Instant>>,
}

impl Cleanness {
    pub fn new(source: Arc<dyn Gpus>, levels: Levels) -> Self {
        Self { source, levels, clean_at: Mutex::default() }
    }

    pub fn levels(&self) -> &Levels {
        &self.levels
    }

    /// Waits until every one of `gpus` was clean for as many looks in a row as the pace says. `hear` is told once, when the first look
    /// finds one that is not.
    pub async fn wait(
        &self,
        gpus: &[Gpu],
        cancel: &CancellationToken,
        mut hear: impl FnMut(&[Held]),
    ) -> Result<Waited, GpuError> {
        let pace = self.source.pace();
        let began = Instant::now();
        let fresh = self.was_clean(gpus);
        let (mut wanted, mut clean, mut told) = (if fresh { 1 } else { pace.samples }, 0, false);
        loop {
            let looked = tokio::time::timeout(pace.patience, self.look(gpus));
            let held = tokio::select! {
                () = cancel.cancelled() => return Ok(Waited::Interrupted),
                held = looked => held.unwrap_or(Err(GpuError::Late(pace.patience)))?,
            };
            if held.is_empty() {
                clean += 1;
            } else {
                (clean, wanted) = (0, pace.samples);
                if !std::mem::replace(&mut told, true) {
                    hear(&held);
                }
                if began.elapsed() >= pace.patience {
                    return Ok(Waited::Held(held));
                }
            }
            if clean >= wanted {
                self.note_clean(gpus);
                return Ok(Waited::Clean);
            }
            tokio::select! {
                () = cancel.cancelled() => return Ok(Waited::Interrupted),
                () = tokio::time::sleep(pace.every) => {}
            }
        }
    }

    /// Whether all of them were seen clean shortly ago; that holds once.
    fn was_clean(&self, gpus: &[Gpu]) -> bool {
        let mut seen = self.clean_at.lock().unwrap_or_else(PoisonError::into_inner);
        let at: Vec<Option<Instant>> = gpus.iter().map(|g| seen.remove(&g.uuid)).collect();
        at.iter().all(|at| at.is_some_and(|at| at.elapsed() < FRESH))
    }

    fn note_clean(&self, gpus: &[Gpu]) {
        let mut seen = self.clean_at.lock().unwrap_or_else(PoisonError::into_inner);
        seen.extend(gpus.iter().map(|g| (g.uuid.clone(), Instant::now())));
    }

    /// The GPUs that are not clean now. A sick driver may take seconds to answer: not on the thread that listens to signals.
    async fn look(&self, gpus: &[Gpu]) -> Result<Vec<Held>, GpuError> {
        let (source, gpus, levels) = (self.source.clone(), gpus.to_vec(), self.levels.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let all = gpus.iter().map(|gpu| held(&*source, gpu, levels.get(&gpu.uuid).copied()));
            all.collect::<Result<Vec<_>, _>>()
        });
        // what could not be looked at is not clean
        let held = looked.await.unwrap_or(Err(GpuError::Late(Duration::ZERO)))?;
        Ok(held.into_iter().flatten().collect())
    }
}

fn held(source: &dyn Gpus, gpu: &Gpu, level: Option<u64>) -> Result<Option<Held>, GpuError> {
    let sample = source.sample(&gpu.uuid)?;
    let holders = || source.processes(&gpu.uuid);
    // a card that does not tell its memory is clean when nobody computes on it
    let (Some(used), Some(level)) = (sample.memory_used, level) else {
        let holders = holders()?;
        let above = holders.iter().filter_map(|h| h.memory).sum();
        return Ok((!holders.is_empty()).then(|| Held { gpu: gpu.clone(), above, holders }));
    };
    let above = used.saturating_sub(level);
    if above <= TOLERANCE {
        return Ok(None);
    }
    Ok(Some(Held { gpu: gpu.clone(), above, holders: holders()? }))
}

/// What GPUs hold that no process holds: the level that they must come back to. Memory of processes that compute there now is not
/// in it: it is somebody's, and nothing is measured beside it.
pub fn levels(source: &dyn Gpus, gpus: &[Gpu]) -> Levels {
    let level = |gpu: &Gpu| {
        let used = source.sample(&gpu.uuid).ok()?.memory_used?;
        let processes = source.processes(&gpu.uuid).unwrap_or_default();
        let held: u64 = processes.iter().filter_map(|p| p.memory).sum();
        Some((gpu.uuid.clone(), used.saturating_sub(held)))
    };
    gpus.iter().filter_map(level).collect()
}

/// The lower of two levels of each GPU: what an earlier invocation of the study saw holds, as memory that leaked since is no level.
pub fn lower(mut now: Levels, before: &Levels) -> Levels {
    for (uuid, level) in &mut now {
        if let Some(earlier) = before.get(uuid) {
            *level = (*level).min(*earlier);
        }
    }
    now
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::gpu::Scripted;

    const PACE: &str = r#""pace": {"every_ms": 5, "patience_ms": 400}"#;

    fn scripted(more: &str) -> (tempfile::TempDir, Arc<dyn Gpus>) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("gpus.json");
        let text = format!(r#"{{"gpus": [{{"name": "A", "idle_mib": 600}}], {PACE}{more}}}"#);
        std::fs::write(&path, text).expect("written");
        (dir, Arc::new(Scripted::open(path).expect("a script")))
    }

    fn wait(source: &Arc<dyn Gpus>, levels: Levels) -> (Result<Waited, GpuError>, usize) {
        let told = AtomicUsize::new(0);
        let gpus = source.list().expect("a list");
        let clean = Cleanness::new(source.clone(), levels);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let cancel = CancellationToken::new();
        let waited = runtime.block_on(clean.wait(&gpus, &cancel, |held| {
            told.fetch_add(held.len(), Ordering::SeqCst);
        }));
        (waited, told.into_inner())
    }

    #[test]
    fn idle_memory_is_no_dirt() {
        let (_dir, source) = scripted("");
        let levels = levels(&*source, &source.list().expect("a list"));
        assert_eq!(levels.get("GPU-script-0"), Some(&(600 << 20)));
        let (waited, told) = wait(&source, levels);
        assert!(matches!(waited, Ok(Waited::Clean)) && told == 0);
    }

    #[test]
    fn somebody_who_leaves_is_waited_for() {
        let (_dir, source) =
            scripted(r#", "foreign": [{"gpu": 0, "memory_mib": 300, "when": {"to_s": 0.1}}]"#);
        let (waited, told) = wait(&source, Levels::from([("GPU-script-0".into(), 600 << 20)]));
        assert!(matches!(waited, Ok(Waited::Clean)));
        assert_eq!(told, 1, "it was said once");
    }

    #[test]
    fn somebody_who_stays_is_named_with_the_amount() {
        let (_dir, source) = scripted(
            r#", "foreign": [{"gpu": 0, "memory_mib": 3072, "pid": 4711, "name": "python3", "user": "alice"}]"#,
        );
        let levels = levels(&*source, &source.list().expect("a list"));
        assert_eq!(levels.get("GPU-script-0"), Some(&(600 << 20)), "a process' memory is no level");
        let (waited, _) = wait(&source, levels);
        let Ok(Waited::Held(held)) = waited else { panic!("{waited:?}") };
        let text =
            "GPU 0 (A) holds 3.0 GiB more than before the study, by 4711 (python3, user alice) 3.0 GiB";
        assert_eq!(held[0].to_string(), text);
    }

    #[test]
    fn a_tolerable_difference_is_none() {
        let (_dir, source) = scripted(r#", "foreign": [{"gpu": 0, "memory_mib": 256}]"#);
        let (waited, _) = wait(&source, Levels::from([("GPU-script-0".into(), 600 << 20)]));
        assert!(matches!(waited, Ok(Waited::Clean)));
    }

    #[test]
    fn a_lost_gpu_ends_the_wait() {
        let (_dir, source) = scripted("");
        let gpus = source.list().expect("a list");
        let (_dir, lost) = scripted(r#", "lost": [{"gpu": 0}]"#);
        let clean = Cleanness::new(lost, Levels::new());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let waited = runtime.block_on(clean.wait(&gpus, &CancellationToken::new(), |_| {}));
        assert!(matches!(waited, Err(GpuError::Lost(_))));
    }

    #[test]
    fn the_level_of_before_holds_where_it_was_lower() {
        let now = Levels::from([("a".into(), 9), ("b".into(), 2)]);
        let before = Levels::from([("a".into(), 1), ("b".into(), 5), ("c".into(), 0)]);
        assert_eq!(lower(now, &before), Levels::from([("a".into(), 1), ("b".into(), 2)]));
    }
}
