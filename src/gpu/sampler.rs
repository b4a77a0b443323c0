//! Samples GPUs once a second while something runs on them, on a thread of its own: a driver may take its time to answer, and the
//! load generator's thread must not wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::facts::{GpuProcess, Sample};
use super::source::{GpuError, Gpus};

const EVERY: Duration = Duration::from_secs(1);

/// One look at one GPU.
#[derive(Debug, Clone)]
pub struct Taken {
    pub at: Instant,
    /// which of the sampled GPUs, counting from 0
    pub gpu: usize,
    pub sample: Sample,
    /// whether a process of ours computed on it
    pub ours: bool,
    /// the processes of others
    pub others: Vec<GpuProcess>,
}

/// Whether a process belongs to what is measured; asked while it lives.
pub type Ours = dyn Fn(u32) -> bool + Send;

/// Takes samples until it is ended. Dropping it ends it too.
#[derive(Debug)]
pub struct Sampler {
    ask: Option<Sender<()>>,
    thread: Option<JoinHandle<Vec<Taken>>>,
    held: Arc<AtomicU64>,
}

impl Sampler {
    /// Samples at once, once a second, when told, and at the end. `on_lost` is called each time that a GPU does not answer any more;
    /// the sampling of the others goes on.
    pub fn start(
        source: Arc<dyn Gpus>,
        uuids: Vec<String>,
        ours: Box<Ours>,
        on_lost: impl Fn(GpuError) + Send + 'static,
    ) -> Self {
        let (ask, asked) = mpsc::channel::<()>();
        let held = Arc::new(AtomicU64::new(0));
        let tells = held.clone();
        let thread = std::thread::spawn(move || {
            let mut taken = Vec::new();
            let mut goes_on = true;
            while goes_on {
                let told = asked.recv_timeout(if taken.is_empty() { Duration::ZERO } else { EVERY });
                goes_on = !matches!(told, Err(RecvTimeoutError::Disconnected));
                if let Some(error) = look(&*source, &uuids, &ours, &mut taken, &tells) {
                    on_lost(error);
                }
            }
            taken
        });
        Self { ask: Some(ask), thread: Some(thread), held }
    }

    /// Bytes that processes of ours held at the last look on all GPUs together, where the driver says whose they are; else all that
    /// was held there.
    pub fn held(&self) -> Arc<AtomicU64> {
        self.held.clone()
    }

    /// Takes a sample now, as where a phase begins.
    pub fn now(&self) {
        if let Some(ask) = &self.ask {
            let _ = ask.send(());
        }
    }

    /// A last sample, then everything that was taken. Waits for the driver.
    pub fn end(mut self) -> Vec<Taken> {
        self.ask = None;
        self.thread.take().and_then(|t| t.join().ok()).unwrap_or_default()
    }
}

/// One sample of each; the error of a GPU that is lost.
fn look(
    source: &dyn Gpus,
    uuids: &[String],
    ours: &Ours,
    taken: &mut Vec<Taken>,
    held: &AtomicU64,
) -> Option<GpuError> {
    let (mut lost, mut sum) = (None, 0);
    for (gpu, uuid) in uuids.iter().enumerate() {
        let at = Instant::now();
        match source.sample(uuid) {
            Ok(sample) => {
                let processes = source.processes(uuid).unwrap_or_default();
                let (own, others): (Vec<_>, Vec<_>) = processes.into_iter().partition(|p| ours(p.pid));
                let known = own.iter().map(|p| p.memory).sum::<Option<u64>>().filter(|_| !own.is_empty());
                sum += known.or(sample.memory_used).unwrap_or(0);
                taken.push(Taken { at, gpu, sample, ours: !own.is_empty(), others });
            }
            Err(error @ GpuError::Lost(_)) => lost = Some(error),
            // one question that was not answered is one sample less
            Err(_) => {}
        }
    }
    held.store(sum, Ordering::Relaxed);
    lost
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::gpu::Scripted;

    fn scripted(text: &str) -> (tempfile::TempDir, Arc<dyn Gpus>) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("gpus.json");
        std::fs::write(&path, text).expect("written");
        (dir, Arc::new(Scripted::open(path).expect("a script")))
    }

    #[test]
    fn samples_at_the_beginning_and_at_the_end_and_parts_processes() {
        let (_dir, source) = scripted(
            r#"{"gpus": [{"name": "A"}],
                "foreign": [{"gpu": 0, "memory_mib": 9, "pid": 5}, {"gpu": 0, "memory_mib": 9, "pid": 6}]}"#,
        );
        let sampler = Sampler::start(source, vec!["GPU-script-0".into()], Box::new(|pid| pid == 5), |_| {});
        let held = sampler.held();
        let taken = sampler.end();
        assert!(!taken.is_empty());
        assert_eq!(held.load(Ordering::Relaxed), 9 << 20, "what process 5 has");
        for t in taken {
            assert!(t.ours && t.sample.power_w.is_some());
            assert_eq!(t.others.iter().map(|p| p.pid).collect::<Vec<_>>(), [6]);
        }
    }

    #[test]
    fn a_gpu_that_falls_off_the_bus_is_told_and_the_others_go_on() {
        let (_dir, source) =
            scripted(r#"{"gpus": [{"name": "A"}, {"name": "A"}], "lost": [{"gpu": 0, "when": {}}]}"#);
        let told = Arc::new(Mutex::new(Vec::new()));
        let hears = told.clone();
        let uuids = vec!["GPU-script-0".into(), "GPU-script-1".into()];
        let sampler = Sampler::start(source, uuids, Box::new(|_| false), move |e| {
            hears.lock().expect("no panic").push(e.to_string());
        });
        let taken = sampler.end();
        assert!(taken.iter().all(|t| t.gpu == 1) && !taken.is_empty());
        assert!(told.lock().expect("no panic").iter().all(|e| e.contains("GPU-script-0")));
    }
}
