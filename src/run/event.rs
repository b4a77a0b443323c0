//! What goes on, in one linear stream: progress displays and the events file listen; nothing flows back.

use serde::Serialize;

use crate::engine::Milestone;
use crate::engine::lifecycle::{Happening, Stage};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// a study begins or continues: launches that the journal holds, and at most so many still to come
    Study {
        study: String,
        simulated: bool,
        measured: usize,
        remaining: usize,
        /// launches that an A/A check of neighbours takes beside them, at least
        checks: usize,
        steps: usize,
    },
    /// the step (counting from 1, 0 before the first) that the next launch belongs to
    Step {
        index: usize,
        title: String,
    },
    LaunchBegins {
        launch: String,
        label: String,
        command: String,
        remaining: usize,
        /// predicted from now until the study ends, the launch included
        left_s: Option<f64>,
    },
    /// GPUs of the next launch, or of the last, hold more than before the study
    GpuWait {
        /// each with what it holds and who does, as sentences
        held: Vec<String>,
    },
    /// the engine's first process runs
    Spawned {
        launch: String,
        pid: i32,
    },
    /// a launch has come from one stage of its life to another
    Stage {
        launch: String,
        from: Stage,
        to: Stage,
        because: Happening,
    },
    /// the engine's log says how far its start has come
    Starting {
        launch: String,
        milestone: Milestone,
        #[serde(skip_serializing_if = "Option::is_none")]
        percent: Option<u8>,
    },
    LaunchReady {
        launch: String,
        after_s: f64,
    },
    Phase {
        launch: String,
        profile: String,
        phase: Phase,
    },
    Load {
        launch: String,
        profile: String,
        done: u64,
        failed: u64,
        planned: Option<u64>,
        elapsed_s: f64,
    },
    LoadEnds {
        launch: String,
        profile: String,
        outcome: String,
        objective: Option<f64>,
    },
    /// between two loads: tokens of one question that came from the prefix cache before its reset, and after it
    PrefixCacheEmptied {
        launch: String,
        hit_before: u64,
        hit_after: u64,
    },
    LaunchFails {
        launch: String,
        reason: String,
    },
    /// the machine failed, not the configuration: the launch is made again after a pause
    Setback {
        launch: String,
        reason: String,
        /// the how manieth of how many
        retry: usize,
        of: usize,
        pause_s: f64,
    },
    /// while a launch lived, something changed of what its results are made of
    Changed {
        launch: String,
        what: Vec<String>,
        /// its results are doubtful and count no more; otherwise engines write it, as it changed under all launches before
        doubtful: bool,
    },
    LaunchEnds {
        launch: String,
        took_s: f64,
    },
    /// whether launches run side by side here, by an A/A check of neighbours, made now or earlier
    Neighbours {
        passed: bool,
        /// GPUs of a launch
        size: u32,
        /// launches at a time
        launches: usize,
        text: String,
    },
    Warning {
        text: String,
    },
    Ends {
        complete: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Preparing,
    Warmup,
    Load,
}

/// Hears of every event.
pub trait Listener: Send {
    fn hear(&mut self, event: &Event);
}
