//! The simulated engine without a clock: front end, scheduler and step times put together. Whoever drives it says
//! what time it is: the server the real one, the prediction a made-up one.

use std::time::Duration;

use super::cost::{Batch, CostModel};
use super::front_end::FrontEnd;
use super::scheduler::{Counters, Limits, Refusal, Scheduler};
use super::sequence::{Emission, Request, RequestId};

/// One step of the engine.
#[derive(Debug, Clone, PartialEq)]
pub struct StepPlan {
    /// How long it takes; its tokens are out at the end.
    pub duration: Duration,
    /// The tokens that come out.
    pub emissions: Vec<Emission>,
    /// The work done.
    pub batch: Batch,
}

/// What the engine is busy with, for its metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Snapshot {
    /// Requests in the batch.
    pub running: u64,
    /// Requests that wait for admission.
    pub waiting: u64,
    /// Share of the KV cache that requests hold, 0 to 1.
    pub kv_usage: f64,
    /// Totals.
    pub counters: Counters,
}

/// A simulated engine.
#[derive(Debug)]
pub struct Simulation {
    front_end: FrontEnd<Request>,
    scheduler: Scheduler,
    cost: CostModel,
}

impl Simulation {
    /// An idle engine at time zero.
    pub fn new(limits: Limits, cost: CostModel) -> Self {
        Self {
            front_end: FrontEnd::new(cost.knobs().front_end_seconds),
            scheduler: Scheduler::new(limits),
            cost,
        }
    }

    /// Takes a request that reaches the front end at `at`.
    pub fn submit(&mut self, at: Duration, request: Request) -> Result<(), Refusal> {
        self.scheduler.check(request.prompt.tokens, request.output_tokens)?;
        self.front_end.arrive(at, request);
        Ok(())
    }

    /// Drops a request wherever it is; unknown ones are none.
    pub fn cancel(&mut self, id: RequestId) {
        if !self.scheduler.cancel(id) {
            self.front_end.retain(|request| request.id != id);
        }
    }

    /// Starts a step at `now`, or tells that there is nothing to compute yet.
    pub fn step(&mut self, now: Duration) -> Option<StepPlan> {
        while let Some((_, request)) = self.front_end.next_parsed(now) {
            let submitted = self.scheduler.submit(request);
            debug_assert!(submitted.is_ok(), "checked when it arrived");
        }
        let (batch, emissions) = self.scheduler.step()?;
        Some(StepPlan { duration: self.cost.step(&batch), emissions, batch })
    }

    /// When an idle engine has something to do, if no other request arrives before.
    pub fn next_time(&self) -> Option<Duration> {
        self.front_end.next_time()
    }

    /// Forgets all cached prefixes; refused (false) while requests run.
    pub fn reset_prefix_cache(&mut self) -> bool {
        self.scheduler.reset_prefix_cache()
    }

    /// The scheduler, for a look.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// What it is busy with.
    pub fn snapshot(&self) -> Snapshot {
        let pool = self.scheduler.pool();
        Snapshot {
            running: self.scheduler.running() as u64,
            waiting: (self.scheduler.waiting() + self.front_end.waiting()) as u64,
            kv_usage: f64::from(pool.used()) / f64::from(pool.total().max(1)),
            counters: self.scheduler.counters(),
        }
    }
}
