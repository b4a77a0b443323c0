//! Progress on stderr: a live display on a terminal, one line per event when piped, nothing with `--quiet`; and the events file.

use std::io;
use std::path::Path;
use std::time::Instant;

use super::console::Console;
use super::events::EventsFile;
use super::live::{Live, LiveFile};
use super::screen::Screen;
use crate::report::duration;
use crate::run::{Event, Listener};
use crate::secrets;

pub struct Progress {
    screen: Screen,
    events: Option<EventsFile>,
    live: Live,
    live_file: LiveFile,
    /// when the time that is left was predicted
    predicted: Instant,
}

impl Progress {
    /// Of a study with this state directory. The error is a sentence about the events file.
    pub fn new(console: Console, events: Option<&Path>, dir: &Path) -> Result<Self, String> {
        let events = events.map(EventsFile::create).transpose()?;
        let screen = Screen::new(console);
        let live_file = LiveFile::new(dir);
        Ok(Self { screen, events, live: Live::default(), live_file, predicted: Instant::now() })
    }

    /// Tells whoever watches how it ended.
    pub fn ended(&mut self, status: u8, outcome: &str) {
        self.live_file.end(status, outcome);
    }

    /// Says something from a signal's task.
    pub fn notice(&self) -> impl FnOnce(&str) + Send + 'static {
        self.screen.notice()
    }

    pub fn finish(&mut self) {
        self.screen.finish();
        if let Some(Err(e)) = self.events.take().map(EventsFile::end) {
            self.lost_events(&e);
        }
    }

    fn line(&self, text: &str) {
        self.screen.line(text);
    }

    fn show(&self) {
        let text = self.live.words(self.predicted.elapsed());
        let place = format!("{} · {}", self.live.step, self.live.launch);
        self.screen.show(place, secrets::mask(&text).into_owned());
    }

    fn record(&mut self, event: &Event) {
        let Some(file) = &mut self.events else { return };
        if let Err(e) = file.write(event) {
            self.events = None;
            self.lost_events(&e);
        }
    }

    fn lost_events(&self, e: &io::Error) {
        self.screen.warning(&if e.kind() == io::ErrorKind::BrokenPipe {
            "whoever read the events has left: no more of them are written".to_owned()
        } else {
            format!("the events file cannot be written any more ({e})")
        });
    }
}

impl Listener for Progress {
    fn hear(&mut self, event: &Event) {
        self.record(event);
        self.live.hear(event);
        self.live_file.hear(event);
        match event {
            Event::Study { study, simulated, measured, remaining, steps, checks } => {
                let simulated = if *simulated { " (simulated)" } else { "" };
                let before = match measured {
                    0 => String::new(),
                    1 => ", 1 launch is in the journal".to_owned(),
                    n => format!(", {n} launches are in the journal"),
                };
                let check = match checks {
                    0 => String::new(),
                    n => format!(", and {n} or more of an A/A check of neighbours"),
                };
                let (steps, launches) = (counted(*steps, "step"), counted(*remaining, "launch"));
                self.line(&format!("{study}{simulated}: {steps}{before}, at most {launches} to come{check}"));
            }
            Event::Step { .. } => self.line(&self.live.step),
            Event::LaunchBegins { launch, label, command, .. } => {
                self.predicted = Instant::now();
                self.line(&format!("  {launch} {label}: {command}"));
                self.show();
            }
            Event::GpuWait { held } => {
                for text in held {
                    self.line(&format!("  waiting: {text}"));
                }
                self.show();
            }
            Event::Setback { launch, reason, retry, of, pause_s } => {
                let again = format!("launched again in {} ({retry} of {of})", duration(*pause_s));
                self.line(&format!("  {launch} was set back by the machine, {reason}; {again}"));
            }
            Event::Changed { launch, what, doubtful } => {
                let follows = if *doubtful {
                    "its results are doubtful and do not count"
                } else {
                    "as under all launches before, so it is the engine that writes it"
                };
                self.line(&format!(
                    "  {launch}: {} changed while it was measured, {follows}",
                    what.join(", ")
                ));
            }
            Event::Starting { .. } | Event::Stage { .. } => {
                self.show();
            }
            Event::LaunchReady { .. } | Event::Phase { .. } | Event::Load { .. } => self.show(),
            Event::LoadEnds { launch, profile, outcome, objective } => {
                let rate = objective.map(|t| format!(", {t:.0} tok/s in all")).unwrap_or_default();
                self.line(&format!("  {launch} {profile}: {outcome}{rate}"));
            }
            Event::Neighbours { passed, launches, text, .. } => {
                let how = if *passed {
                    format!("launches run side by side, {launches} at a time")
                } else {
                    format!("launches run one after another, not {launches} side by side")
                };
                self.line(&format!("  A/A check of neighbours: {how}; {text}"));
            }
            Event::LaunchFails { launch, reason } => self.line(&format!("  {launch} failed: {reason}")),
            Event::Warning { text } => self.screen.warning(text),
            Event::PrefixCacheEmptied { .. }
            | Event::Spawned { .. }
            | Event::LaunchEnds { .. }
            | Event::Ends { .. } => {}
        }
    }
}

/// "1 step", "2 launches".
pub fn counted(n: usize, what: &str) -> String {
    let many = if what.ends_with("ch") { "es" } else { "s" };
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}{many}") }
}
