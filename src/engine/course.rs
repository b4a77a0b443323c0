//! One launch's way through its life: takes what happened, tells of every step, and hands back what to do.

use super::lifecycle::{Duty, Happening, Stage, Step};
use super::progress::Progress;

/// What is told of a launch while it lives. Listeners must not block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchEvent {
    /// Its first process runs.
    Spawned { pid: i32 },
    /// It has come from one stage to another.
    Step(Step),
    /// It has printed so many bytes in all.
    Log { bytes: u64 },
    /// Its log says how far the start has come.
    Progress(Progress),
}

/// A stage, and somebody who hears of the next one.
pub(super) struct Course<'t> {
    stage: Stage,
    tell: &'t mut dyn FnMut(LaunchEvent),
}

impl<'t> Course<'t> {
    pub fn new(tell: &'t mut dyn FnMut(LaunchEvent)) -> Self {
        Self::from(Stage::Planned, tell)
    }

    pub fn from(stage: Stage, tell: &'t mut dyn FnMut(LaunchEvent)) -> Self {
        Self { stage, tell }
    }

    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Takes a happening; what it asks for is for the caller to do.
    pub fn take(&mut self, happening: Happening) -> Option<Duty> {
        let step = self.stage.after(happening);
        if step.to != step.from {
            self.stage = step.to;
            self.tell(LaunchEvent::Step(step));
        }
        step.duty
    }

    pub fn tell(&mut self, event: LaunchEvent) {
        (self.tell)(event);
    }
}
