//! How far a load has come, on stderr: a live line on a terminal, a line now and then where stderr is piped, nothing with `--quiet`. It is
//! told by the thread that gathers records, and drawn by one of its own: the one that reads streams has no part in it.

use std::time::Duration;

use crate::cli::console::Console;
use crate::cli::screen::{Pace, Screen};
use crate::load::{Observer, Phase, Progress as Seen};
use crate::report::duration;

/// On a terminal, what takes no longer is not shown, and then no more often than
const LIVE: Pace = Pace { after: Duration::from_secs(2), every: Duration::from_millis(500) };
/// Elsewhere a line comes as often as this.
const LINES: Duration = Duration::from_secs(10);

pub(super) struct Progress {
    screen: Option<Screen>,
    place: String,
    every: Duration,
    /// When the next words are due, in the time of the phase,
    due: Duration,
    /// and what had come when the last ones were said.
    last: (Duration, u64),
    phase: &'static str,
    live: bool,
    /// Columns that the words may take.
    room: usize,
}

impl Progress {
    /// Of a load against this server.
    pub(super) fn new(console: Console, url: &str) -> Self {
        let live = console.live();
        let screen = (!console.quiet).then(|| Screen::paced(console, LIVE));
        let every = if live { LIVE.every } else { LINES };
        let (due, last) = (every, (Duration::ZERO, 0));
        // they stand two columns from the edge
        let room =
            console.stderr_width().filter(|_| live).map_or(usize::MAX, |width| width.saturating_sub(2));
        Self { screen, place: url.to_owned(), every, due, last, phase: "", live, room }
    }

    /// Takes the display away.
    pub(super) fn finish(self) {
        if let Some(screen) = self.screen {
            screen.finish();
        }
    }

    fn say(&self, words: String) {
        match &self.screen {
            Some(screen) if self.live => screen.show(self.place.clone(), words),
            Some(screen) => screen.line(&words),
            None => {}
        }
    }

    /// What there is to say, if it is time.
    fn words(&mut self, seen: Seen) -> Option<String> {
        if seen.elapsed < self.due {
            return None;
        }
        self.due = seen.elapsed + self.every;
        let (since, before) = std::mem::replace(&mut self.last, (seen.elapsed, seen.chunks));
        let over = seen.elapsed.saturating_sub(since).as_secs_f64();
        let chunks = seen.chunks.saturating_sub(before) as f64 / over.max(f64::MIN_POSITIVE);
        let of = seen.planned.map(|planned| format!(" of {planned}")).unwrap_or_default();
        let failed = (seen.failed > 0).then(|| format!("{} failed", seen.failed));
        let left = left(seen).map(|left| format!("about {} left", duration(left)));
        let (phase, took, done) = (self.phase, seen.elapsed.as_secs(), seen.done);
        let far = format!("{phase}, {took} s: {done}{of} requests");
        Some(fitting([Some(far), failed, left, Some(format!("{chunks:.0} chunks/s"))], self.room))
    }
}

/// As many of the parts as there is room for, the later ones being left out first: part of a word says nothing.
fn fitting(parts: [Option<String>; 4], room: usize) -> String {
    let mut parts: Vec<String> = parts.into_iter().flatten().collect();
    while parts.len() > 1 && parts.join(", ").len() > room {
        parts.pop();
    }
    parts.join(", ")
}

/// Seconds that are left if it goes on as it went.
fn left(seen: Seen) -> Option<f64> {
    let to_come = seen.planned?.saturating_sub(seen.done);
    let each = seen.elapsed.as_secs_f64() / seen.done as f64;
    Some((each * to_come as f64).ceil()).filter(|left| left.is_finite() && *left > 0.0)
}

impl Observer for Progress {
    fn phase(&mut self, phase: Phase) {
        self.phase = match phase {
            Phase::Preparing => "making prompts",
            Phase::WarmupBegun => "warm-up",
            Phase::WarmupDone { .. } | Phase::LoadBegun { .. } => "load",
        };
        (self.due, self.last) = (self.every, (Duration::ZERO, 0));
        if self.live {
            self.say(self.phase.to_owned());
        }
    }

    fn progress(&mut self, seen: Seen) {
        if self.screen.is_some()
            && let Some(words) = self.words(seen)
        {
            self.say(words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::Color;

    fn seen(ms: u64, done: u64, chunks: u64) -> Seen {
        let elapsed = Duration::from_millis(ms);
        Seen { done, failed: done / 100, timed_out: 0, chunks, planned: Some(400), elapsed }
    }

    #[test]
    fn words_come_now_and_then_and_say_how_far_it_is() {
        let mut progress = Progress::new(Console::new(Color::Never, true), "http://h");
        progress.phase(Phase::LoadBegun { planned: Some(400) });
        (progress.every, progress.due) = (LINES, LINES);
        assert_eq!(progress.words(seen(9_900, 90, 720)), None);
        assert_eq!(
            progress.words(seen(10_000, 99, 800)).as_deref(),
            Some("load, 10 s: 99 of 400 requests, about 31.0 s left, 80 chunks/s")
        );
        assert_eq!(progress.words(seen(19_900, 150, 1500)), None);
        assert_eq!(
            progress.words(seen(20_100, 200, 2820)).as_deref(),
            Some("load, 20 s: 200 of 400 requests, 2 failed, about 21.0 s left, 200 chunks/s")
        );
        progress.room = 60;
        let narrow = progress.words(seen(40_000, 250, 2820));
        assert_eq!(narrow.as_deref(), Some("load, 40 s: 250 of 400 requests, 2 failed, about 24.0 s left"));
        progress.room = 30;
        assert_eq!(
            progress.words(seen(60_000, 300, 2820)).as_deref(),
            Some("load, 60 s: 300 of 400 requests")
        );
        (progress.room, progress.due) = (usize::MAX, Duration::ZERO);
        let mut timed = Seen { planned: None, ..seen(40_000, 0, 2820) };
        assert_eq!(progress.words(timed).as_deref(), Some("load, 40 s: 0 requests, 0 chunks/s"));
        (timed.planned, timed.elapsed) = (Some(3), Duration::from_mins(1));
        assert_eq!(progress.words(timed).as_deref(), Some("load, 60 s: 0 of 3 requests, 0 chunks/s"));
    }
}
