//! Progress on stderr: a live display on a terminal, one line per event when piped, nothing with `--quiet`; and the events file.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::console::Console;
use crate::engine::lifecycle::Stage;
use crate::report::duration;
use crate::run::event::Phase;
use crate::run::{Event, Listener};
use crate::secrets;

pub struct Progress {
    console: Console,
    bar: ProgressBar,
    events: Option<File>,
    steps: usize,
    step: String,
    launch: String,
    warming_up: bool,
    /// launches that are over in this invocation, and how long they took
    over: u32,
    spent: Duration,
    began: Instant,
    /// launches still to come, at most, the running one included
    remaining: usize,
}

impl Progress {
    /// The error is a sentence about the events file.
    pub fn new(console: Console, events: Option<&Path>) -> Result<Self, String> {
        let events = match events {
            Some(path) => Some(File::create(path).map_err(|e| format!("{}: {e}", path.display()))?),
            None => None,
        };
        let bar = ProgressBar::with_draw_target(None, target(console));
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}\n  {wide_msg}") {
            bar.set_style(style);
        }
        if console.live() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Ok(Self {
            console,
            bar,
            events,
            steps: 0,
            step: String::new(),
            launch: String::new(),
            warming_up: false,
            over: 0,
            spent: Duration::ZERO,
            began: Instant::now(),
            remaining: 0,
        })
    }

    /// Says something from a signal's task.
    pub fn notice(&self) -> impl FnOnce(&str) + Send + 'static {
        let (bar, console) = (self.bar.clone(), self.console);
        move |text: &str| {
            bar.suspend(|| console.say(text));
        }
    }

    pub fn finish(&mut self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, text: &str) {
        self.bar.suspend(|| self.console.say(text));
    }

    fn show(&self, doing: &str) {
        self.bar.set_prefix(format!("{} · {}", self.step, self.launch));
        let time =
            self.left().map(|l| format!(", {}", duration(l.as_secs_f64().round()))).unwrap_or_default();
        let text = format!("{doing} · left at most: {} launches{time}", self.remaining);
        self.bar.set_message(secrets::mask(&text).into_owned());
    }

    /// Time left at most, from the mean of the launches so far.
    fn left(&self) -> Option<Duration> {
        if self.over == 0 {
            return None;
        }
        let mean = self.spent / self.over;
        let all = mean * self.remaining as u32;
        Some(all.saturating_sub(self.began.elapsed().min(mean)))
    }

    fn record(&mut self, event: &Event) {
        let Some(file) = &mut self.events else { return };
        let written = serde_json::to_vec(event).map_err(std::io::Error::from).and_then(|line| {
            let mut line = secrets::mask_json(line);
            line.push(b'\n');
            file.write_all(&line)
        });
        if let Err(e) = written {
            self.events = None;
            self.line(&format!("warning: the events file cannot be written any more ({e})"));
        }
    }
}

fn target(console: Console) -> ProgressDrawTarget {
    if console.live() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}

impl Listener for Progress {
    fn hear(&mut self, event: &Event) {
        self.record(event);
        match event {
            Event::Study { study, simulated, measured, remaining, steps } => {
                self.steps = *steps;
                self.remaining = *remaining;
                let simulated = if *simulated { " (simulated)" } else { "" };
                let before = if *measured > 0 {
                    format!(", {measured} launches are in the journal")
                } else {
                    String::new()
                };
                self.line(&format!(
                    "{study}{simulated}: {steps} steps{before}, at most {remaining} launches to come"
                ));
            }
            Event::Step { index, title } => {
                self.step = match index {
                    0 => title.clone(),
                    i if *i > self.steps => title.clone(),
                    i => format!("step {i}/{} {title}", self.steps),
                };
                self.line(&self.step);
            }
            Event::LaunchBegins { launch, label, command, remaining } => {
                self.launch = format!("{launch} {label}");
                self.remaining = *remaining;
                self.began = Instant::now();
                self.line(&format!("  {launch} {label}: {command}"));
                self.show("starting");
            }
            Event::GpuWait { held } => {
                for text in held {
                    self.line(&format!("  waiting: {text}"));
                }
                self.show("waiting for clean GPUs");
            }
            Event::Starting { milestone, percent, .. } => {
                let percent = percent.map(|p| format!(" {p} %")).unwrap_or_default();
                self.show(&format!("starting: {}{percent}", milestone.text()));
            }
            Event::Stage { to, .. } => match to {
                Stage::Leaving => self.show("stopping"),
                Stage::Killing => self.show("killing what is left"),
                _ => {}
            },
            Event::Setback { launch, reason, retry, of, pause_s } => {
                let again = format!("launched again in {} ({retry} of {of})", duration(*pause_s));
                self.line(&format!("  {launch} was set back by the machine, {reason}; {again}"));
            }
            Event::LaunchReady { after_s, .. } => self.show(&format!("ready after {}", duration(*after_s))),
            Event::Phase { phase, profile, .. } => {
                self.warming_up = *phase == Phase::Warmup;
                self.show(match phase {
                    Phase::Preparing => "preparing prompts",
                    Phase::Warmup => "warming up",
                    Phase::Load => profile,
                });
            }
            Event::Load { done, failed, planned, elapsed_s, profile, .. } => {
                let of = planned.map(|p| format!("/{p}")).unwrap_or_default();
                let failed = if *failed > 0 { format!(", {failed} failed") } else { String::new() };
                let what = if self.warming_up { "warm-up" } else { profile };
                self.show(&format!("{what} {done}{of} requests{failed}, {}", duration(*elapsed_s)));
            }
            Event::LoadEnds { launch, profile, outcome, objective } => {
                let rate = objective.map(|t| format!(", {t:.0} tok/s in all")).unwrap_or_default();
                self.line(&format!("  {launch} {profile}: {outcome}{rate}"));
            }
            Event::LaunchFails { launch, reason } => self.line(&format!("  {launch} failed: {reason}")),
            Event::LaunchEnds { took_s, .. } => {
                self.over += 1;
                self.spent += Duration::from_secs_f64(*took_s);
                self.remaining = self.remaining.saturating_sub(1);
            }
            Event::Warning { text } => self.line(&format!("warning: {text}")),
            Event::Spawned { .. } | Event::Ends { .. } => {}
        }
    }
}
