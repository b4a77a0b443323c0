//! What goes on, in one linear stream: progress displays and the events file listen; nothing flows back.

use serde::Serialize;

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
    },
    /// GPUs of the next launch, or of the last, hold more than before the study
    GpuWait {
        /// each with what it holds and who does, as sentences
        held: Vec<String>,
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
    LaunchFails {
        launch: String,
        reason: String,
    },
    LaunchEnds {
        launch: String,
        took_s: f64,
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
