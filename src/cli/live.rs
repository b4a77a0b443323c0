//! What a study is doing at this moment: a small file in its state directory, `live.json`, for whoever looks from elsewhere. It is no
//! truth: the journal is. Writing it may fail, and nothing follows from that.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::disk;
use crate::engine::lifecycle::Stage;
use crate::report::duration;
use crate::run::event::Phase;
use crate::run::{Event, LIVE_FILE};
use crate::secrets;

const SCHEMA: &str = "perflab.live/1";
/// Loads report several times a second; nobody looks as often.
const PAUSE: Duration = Duration::from_millis(500);

/// The state of a study that runs, or how it ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Live {
    pub schema: String,
    pub pid: u32,
    pub study: String,
    pub simulated: bool,
    /// wall-clock time, for people
    pub updated: String,
    /// steps of the study
    pub steps: usize,
    /// the step that is measured, in words
    pub step: String,
    /// the launch that runs, or those that do, in words
    pub launch: String,
    /// what it is at, or each of them
    pub doing: String,
    /// each of those that run
    #[serde(default)]
    pub running: Vec<Under>,
    /// launches that are over, those of earlier invocations included
    pub launches: usize,
    /// launches still to come, at most, the running one included
    pub remaining: usize,
    /// seconds until the study ends, as predicted when it was last updated; null while nothing is known
    pub left_s: Option<f64>,
    pub ended: Option<End>,
}

/// A launch under way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Under {
    pub launch: String,
    pub label: String,
    pub doing: String,
}

/// How a study's invocation ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// the exit status of `exec`
    pub status: u8,
    pub outcome: String,
}

impl Live {
    /// The state that a directory holds; `None` where nothing has run, or by a version that writes another form.
    pub fn read(dir: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(dir.join(LIVE_FILE)).ok()?;
        serde_json::from_str::<Self>(&text).ok().filter(|l| l.schema == SCHEMA)
    }

    /// Takes an event in.
    pub fn hear(&mut self, event: &Event) {
        match event {
            Event::Study { study, simulated, measured, remaining, steps, checks: _ } => {
                self.study.clone_from(study);
                (self.simulated, self.launches) = (*simulated, *measured);
                (self.remaining, self.steps) = (*remaining, *steps);
            }
            Event::Step { index, title } => {
                self.step = match index {
                    0 => title.clone(),
                    i if *i > self.steps => title.clone(),
                    i => format!("step {i}/{} {title}", self.steps),
                };
            }
            Event::LaunchBegins { launch, label, remaining, left_s, .. } => {
                (self.remaining, self.left_s) = (*remaining, *left_s);
                self.running.push(Under {
                    launch: launch.clone(),
                    label: label.clone(),
                    doing: "starting".to_owned(),
                });
                self.put_together();
            }
            Event::Starting { launch, milestone, percent } => {
                let percent = percent.map(|p| format!(" {p} %")).unwrap_or_default();
                self.does(launch, format!("starting: {}{percent}", milestone.text()));
            }
            Event::Stage { launch, to: Stage::Leaving, .. } => self.does(launch, "stopping"),
            Event::Stage { launch, to: Stage::Killing, .. } => self.does(launch, "killing what is left"),
            Event::GpuWait { .. } => "waiting for clean GPUs".clone_into(&mut self.doing),
            Event::LaunchReady { launch, after_s } => {
                self.does(launch, format!("ready after {}", duration(*after_s)));
            }
            Event::Phase { launch, phase, profile } => match phase {
                Phase::Preparing => self.does(launch, "preparing prompts"),
                Phase::Warmup => self.does(launch, "warming up"),
                Phase::Load => self.does(launch, profile.as_str()),
            },
            Event::Load { launch, done, failed, planned, elapsed_s, profile } => {
                let of = planned.map(|p| format!("/{p}")).unwrap_or_default();
                let failed = if *failed > 0 { format!(", {failed} failed") } else { String::new() };
                let warms = self.running.iter().any(|u| u.launch == *launch && u.doing.starts_with("warm"));
                let what = if warms { "warm-up" } else { profile };
                self.does(launch, format!("{what} {done}{of} requests{failed}, {}", duration(*elapsed_s)));
            }
            Event::LaunchEnds { launch, .. } => {
                self.launches += 1;
                self.remaining = self.remaining.saturating_sub(1);
                self.is_over(launch);
            }
            Event::Setback { launch, .. } => self.is_over(launch),
            Event::LoadEnds { .. }
            | Event::Spawned { .. }
            | Event::Stage { .. }
            | Event::PrefixCacheEmptied { .. }
            | Event::LaunchFails { .. }
            | Event::Changed { .. }
            | Event::Neighbours { .. }
            | Event::Warning { .. }
            | Event::Ends { .. } => {}
        }
    }

    fn does(&mut self, launch: &str, what: impl Into<String>) {
        if let Some(under) = self.running.iter_mut().find(|u| u.launch == launch) {
            under.doing = what.into();
        }
        self.put_together();
    }

    fn is_over(&mut self, launch: &str) {
        self.running.retain(|u| u.launch != launch);
        self.doing.clear();
        if !self.running.is_empty() {
            self.put_together();
        }
    }

    fn put_together(&mut self) {
        let all = |each: fn(&Under) -> String, between| {
            self.running.iter().map(each).collect::<Vec<_>>().join(between)
        };
        self.launch = all(|u| format!("{} {}", u.launch, u.label), " + ");
        self.doing = match self.running.as_slice() {
            [one] => one.doing.clone(),
            _ => all(|u| format!("{} {}", u.launch, u.doing), "; "),
        };
    }

    /// "ready after 3 s · left at most: 4 launches, about 12 min"; `since` is how old the prediction is.
    pub fn words(&self, since: Duration) -> String {
        let left = self.left_s.map(|s| (s - since.as_secs_f64()).max(0.0).round());
        let time = left.map(|s| format!(", about {}", duration(s))).unwrap_or_default();
        let launches = if self.remaining == 1 { "launch" } else { "launches" };
        format!("{} · left at most: {} {launches}{time}", self.doing, self.remaining)
    }
}

/// Writes the state of a study while it runs.
pub struct LiveFile {
    path: PathBuf,
    live: Live,
    written: Option<Instant>,
    predicted: Instant,
}

impl LiveFile {
    pub fn new(dir: &Path) -> Self {
        let live = Live { schema: SCHEMA.to_owned(), pid: std::process::id(), ..Live::default() };
        Self { path: dir.join(LIVE_FILE), live, written: None, predicted: Instant::now() }
    }

    pub fn hear(&mut self, event: &Event) {
        self.live.hear(event);
        if matches!(event, Event::LaunchBegins { .. }) {
            self.predicted = Instant::now();
        }
        let soon = self.written.is_some_and(|at| at.elapsed() < PAUSE);
        if !(soon && matches!(event, Event::Load { .. })) {
            self.write();
        }
    }

    /// Says how it ended.
    pub fn end(&mut self, status: u8, outcome: &str) {
        self.live.ended = Some(End { status, outcome: outcome.to_owned() });
        (self.live.left_s, self.live.remaining) = (None, 0);
        self.write();
    }

    /// A full disk loses a picture of the moment and nothing else.
    fn write(&mut self) {
        self.written = Some(Instant::now());
        let mut live = self.live.clone();
        live.updated = jiff::Timestamp::now().to_string();
        live.left_s = live.left_s.map(|s| (s - self.predicted.elapsed().as_secs_f64()).max(0.0));
        let text = secrets::mask_json(serde_json::to_vec(&live).unwrap_or_default());
        let _ = disk::place_in_passing(&self.path, &text);
    }
}
