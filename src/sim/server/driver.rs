//! Runs the model in real time. Steps follow each other on an absolute schedule: a step starts when the one before it
//! ended by the model's clock, however late this thread woke up, so lateness never adds up and a machine that was
//! busy for a moment catches up. A thread of its own, because the timers of an async runtime tick in milliseconds
//! and a step may take two.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::super::sequence::{Emission, Ending, Request, RequestId};
use super::super::simulation::{Simulation, Snapshot};
use super::super::tokens::Prompt;

/// What the engine shows to the outside.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Status {
    /// What it is busy with.
    pub snapshot: Snapshot,
    /// How late the last step's tokens went out.
    pub lag: Duration,
    /// The latest that a step's tokens went out.
    pub worst_lag: Duration,
}

/// A running engine; it stops when the last handle is gone.
#[derive(Debug, Clone)]
pub struct Driver {
    commands: mpsc::Sender<Command>,
    status: Arc<Mutex<Status>>,
    next_id: Arc<AtomicU64>,
}

/// A request in the engine. Dropped before its last token, it leaves the engine.
#[derive(Debug)]
pub struct Ticket {
    id: RequestId,
    emissions: UnboundedReceiver<Emission>,
    commands: mpsc::Sender<Command>,
    finished: bool,
}

#[derive(Debug)]
enum Command {
    Submit { at: Instant, request: Request, emissions: UnboundedSender<Emission> },
    Cancel(RequestId),
    ResetPrefixCache(oneshot::Sender<bool>),
}

impl Driver {
    /// Starts the engine's thread.
    pub fn start(simulation: Simulation) -> std::io::Result<Self> {
        let (commands, inbox) = mpsc::channel();
        let status = Arc::new(Mutex::new(Status::default()));
        let worker = Worker {
            simulation,
            inbox,
            status: Arc::clone(&status),
            listeners: HashMap::new(),
            origin: Instant::now(),
        };
        std::thread::Builder::new().name("perflab-sim-engine".to_owned()).spawn(move || worker.run())?;
        Ok(Self { commands, status, next_id: Arc::default() })
    }

    /// Hands a request, which arrived at `at`, to the engine.
    pub fn submit(&self, at: Instant, prompt: Prompt, output_tokens: u32, ending: Ending) -> Ticket {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, emissions) = unbounded_channel();
        let request = Request { id, prompt, output_tokens, ending };
        // an engine that is gone drops the sender, and the ticket's holder sees the end of the stream
        let _ = self.commands.send(Command::Submit { at, request, emissions: sender });
        Ticket { id, emissions, commands: self.commands.clone(), finished: false }
    }

    /// Forgets all cached prefixes after the current step; false when requests hold them.
    pub async fn reset_prefix_cache(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        let _ = self.commands.send(Command::ResetPrefixCache(reply));
        answer.await.unwrap_or(false)
    }

    /// What the engine shows.
    pub fn status(&self) -> Status {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// Number of the request.
    pub const fn id(&self) -> RequestId {
        self.id
    }

    /// The next tokens; `None` when the engine is gone.
    pub async fn next(&mut self) -> Option<Emission> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    /// As `next`, for a stream.
    pub fn poll_next(&mut self, context: &mut std::task::Context<'_>) -> std::task::Poll<Option<Emission>> {
        self.emissions.poll_recv(context).map(|emission| self.note(emission))
    }

    /// Tokens that are there already.
    pub fn try_next(&mut self) -> Option<Emission> {
        let emission = self.emissions.try_recv().ok();
        self.note(emission)
    }

    fn note(&mut self, emission: Option<Emission>) -> Option<Emission> {
        self.finished |= emission.is_some_and(|emission| emission.ending.is_some());
        emission
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.finished {
            let _ = self.commands.send(Command::Cancel(self.id));
        }
    }
}

/// What ends the wait of an idle engine.
enum Wake {
    Command(Command),
    /// A request is through the front end.
    Work,
    /// Every handle is dropped.
    Deserted,
}

struct Worker {
    simulation: Simulation,
    inbox: mpsc::Receiver<Command>,
    status: Arc<Mutex<Status>>,
    listeners: HashMap<RequestId, UnboundedSender<Emission>>,
    origin: Instant,
}

impl Worker {
    /// Until every handle is dropped.
    fn run(mut self) {
        let mut clock = Duration::ZERO;
        loop {
            while let Ok(command) = self.inbox.try_recv() {
                self.obey(command);
            }
            if let Some(plan) = self.simulation.step(clock) {
                self.show(|status, _| status.snapshot.running = plan.batch.sequences);
                clock += plan.duration;
                self.sleep_until(clock);
                self.deliver(&plan.emissions);
                let lag = self.origin.elapsed().saturating_sub(clock);
                self.show(|status, snapshot| {
                    *status = Status { snapshot, lag, worst_lag: status.worst_lag.max(lag) };
                });
            } else {
                self.show(|status, snapshot| status.snapshot = snapshot);
                match self.wait_idle() {
                    Wake::Command(command) => self.obey(command),
                    Wake::Work => {}
                    Wake::Deserted => return,
                }
                clock = clock.max(self.idle_until());
            }
        }
    }

    /// Waits for a command, or for the front end to hand over a request.
    fn wait_idle(&self) -> Wake {
        let Some(next) = self.simulation.next_time() else {
            return self.inbox.recv().map_or(Wake::Deserted, Wake::Command);
        };
        match self.inbox.recv_timeout(next.saturating_sub(self.origin.elapsed())) {
            Ok(command) => Wake::Command(command),
            Err(RecvTimeoutError::Timeout) => Wake::Work,
            Err(RecvTimeoutError::Disconnected) => Wake::Deserted,
        }
    }

    /// The model's time for an idle engine: now, but not past the moment at which it has work.
    fn idle_until(&self) -> Duration {
        let now = self.origin.elapsed();
        self.simulation.next_time().map_or(now, |next| next.min(now))
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Submit { at, request, emissions } => {
                let id = request.id;
                // a refused request loses its sender, which ends its stream
                if self.simulation.submit(at.saturating_duration_since(self.origin), request).is_ok() {
                    self.listeners.insert(id, emissions);
                }
            }
            Command::Cancel(id) => {
                self.listeners.remove(&id);
                self.simulation.cancel(id);
            }
            Command::ResetPrefixCache(reply) => {
                let _ = reply.send(self.simulation.reset_prefix_cache());
            }
        }
    }

    fn deliver(&mut self, emissions: &[Emission]) {
        for emission in emissions {
            if let Some(listener) = self.listeners.get(&emission.id) {
                // a listener that is gone has sent its cancellation
                let _ = listener.send(*emission);
            }
            if emission.ending.is_some() {
                self.listeners.remove(&emission.id);
            }
        }
    }

    fn sleep_until(&self, clock: Duration) {
        let wait = clock.saturating_sub(self.origin.elapsed());
        if !wait.is_zero() {
            std::thread::sleep(wait);
        }
    }

    fn show(&self, change: impl FnOnce(&mut Status, Snapshot)) {
        let snapshot = self.simulation.snapshot();
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner), snapshot);
    }
}
