//! Sends requests as a closed or an open loop prescribes. Tasks send and measure; records come out of a
//! channel that closes when the last task has ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::error::LoadError;
use super::feed::Feed;
use super::kitchen::Rendered;
use super::metronome::Metronome;
use super::record::RequestRecord;
use super::request::{Job, Lab, perform};
use super::talking;
use super::talks::Talks;
use super::worker::Worker;

/// How long a client of a closed loop rests after a failure: a server that refuses must not be asked ten
/// thousand times a second.
pub(super) const REST: Duration = Duration::from_millis(100);

/// What is sent, and when.
#[derive(Debug)]
pub(super) enum Source {
    /// So many clients take one request after the other.
    Closed { slots: usize, feed: Arc<Feed> },
    /// So many people talk, each beginning another conversation when one has ended.
    Talking { slots: usize, talks: Arc<Talks> },
    /// Each conversation has its time.
    Arriving { times: Vec<Duration>, talks: Arc<Talks>, cap: Option<usize> },
    /// Each request has its time, ascending; a cap holds back what would be too many at once.
    Open { requests: Vec<(Duration, Rendered)>, cap: Option<usize> },
}

/// A load under way.
#[derive(Debug)]
pub(super) struct Drive {
    /// One record for each request that ended.
    pub records: UnboundedReceiver<RequestRecord>,
    tasks: JoinSet<()>,
}

impl Drive {
    /// Starts to send, on a worker's thread. Dropping it ends all requests.
    pub(super) fn start(lab: &Arc<Lab>, source: Source, worker: &Worker) -> Result<Self, LoadError> {
        let on = worker.handle();
        let (out, records) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        match source {
            Source::Closed { slots, feed } => {
                for _ in 0..slots {
                    tasks.spawn_on(closed_client(Arc::clone(lab), Arc::clone(&feed), out.clone()), on);
                }
            }
            Source::Talking { slots, talks } => {
                for _ in 0..slots {
                    tasks.spawn_on(talking::closed(Arc::clone(lab), Arc::clone(&talks), out.clone()), on);
                }
            }
            Source::Arriving { times, talks, cap } => {
                let metronome = Metronome::start(lab.began, times.clone(), on, worker.due().clone());
                let metronome = metronome.map_err(LoadError::Thread)?;
                let cap = cap.map(|cap| Arc::new(Semaphore::new(cap)));
                tasks.spawn_on(talking::open(Arc::clone(lab), talks, (times, metronome), cap, out), on);
            }
            Source::Open { requests, cap } => {
                let (times, bodies): (Vec<_>, Vec<_>) = requests.into_iter().unzip();
                let metronome = Metronome::start(lab.began, times.clone(), on, worker.due().clone());
                let metronome = metronome.map_err(LoadError::Thread)?;
                let arrivals = Arrivals { times, bodies, cap: cap.map(|cap| Arc::new(Semaphore::new(cap))) };
                tasks.spawn_on(arrivals.send(Arc::clone(lab), metronome, out), on);
            }
        }
        Ok(Self { records, tasks })
    }

    /// Waits until all tasks have ended, which they do soon after the channel of records is closed.
    pub(super) async fn join(mut self) -> Result<(), LoadError> {
        while let Some(ended) = self.tasks.join_next().await {
            match ended {
                Err(e) if !e.is_cancelled() => return Err(LoadError::Task(e.to_string())),
                _ => {}
            }
        }
        Ok(())
    }

    /// Drops all requests at once, with their connections.
    pub(super) fn abort(&mut self) {
        self.tasks.abort_all();
    }
}

async fn closed_client(lab: Arc<Lab>, feed: Arc<Feed>, out: UnboundedSender<RequestRecord>) {
    loop {
        let free_ns = lab.ns(Instant::now());
        let Some((index, rendered)) = unless_ending(&lab, feed.next()).await.flatten() else { return };
        let job = Job { index, scheduled_ns: free_ns, released_ns: free_ns, rendered, turn: None };
        let record = perform(Arc::clone(&lab), job).await;
        let failed = !record.is_completed();
        if out.send(record).is_err() {
            return;
        }
        if failed && unless_ending(&lab, tokio::time::sleep(REST)).await.is_none() {
            return;
        }
    }
}

struct Arrivals {
    times: Vec<Duration>,
    bodies: Vec<Rendered>,
    cap: Option<Arc<Semaphore>>,
}

impl Arrivals {
    async fn send(self, lab: Arc<Lab>, mut metronome: Metronome, out: UnboundedSender<RequestRecord>) {
        let mut requests = JoinSet::new();
        // until when the cap held requests back: those that came behind one that waited were held back as long, and find a place at
        // once where several became free
        let mut held_ns = 0;
        for (time, rendered) in self.times.iter().zip(self.bodies) {
            let Some(Some(number)) = unless_ending(&lab, metronome.tick()).await else { break };
            let Some(permit) = unless_ending(&lab, permit(self.cap.as_ref())).await else { break };
            let scheduled_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            held_ns = permit.since.map_or(held_ns, |at| lab.ns(at));
            let released_ns = held_ns.max(scheduled_ns);
            let job = Job { index: number as u64, scheduled_ns, released_ns, rendered, turn: None };
            requests.spawn(send_one(Arc::clone(&lab), job, permit, out.clone()));
            while requests.try_join_next().is_some() {}
        }
        drop(out);
        while requests.join_next().await.is_some() {}
    }
}

async fn send_one(lab: Arc<Lab>, job: Job, permit: Permit, out: UnboundedSender<RequestRecord>) {
    let record = perform(lab, job).await;
    drop(permit);
    // nobody listens any more only when everything is being dropped
    let _ = out.send(record);
}

/// A place among the requests in flight.
pub(super) struct Permit {
    _place: Option<OwnedSemaphorePermit>,
    /// When the place became free, if it had to be waited for.
    pub since: Option<Instant>,
}

pub(super) async fn permit(cap: Option<&Arc<Semaphore>>) -> Permit {
    let Some(cap) = cap else { return Permit { _place: None, since: None } };
    if let Ok(place) = Arc::clone(cap).try_acquire_owned() {
        return Permit { _place: Some(place), since: None };
    }
    let place = Arc::clone(cap).acquire_owned().await.ok();
    Permit { _place: place, since: Some(Instant::now()) }
}

/// Waits for `future` unless nothing more is to be sent.
pub(super) async fn unless_ending<F: Future>(lab: &Lab, future: F) -> Option<F::Output> {
    tokio::select! {
        biased;
        () = lab.halt.cancelled() => None,
        () = lab.enough.cancelled() => None,
        () = lab.dead.cancelled() => None,
        output = future => Some(output),
    }
}
