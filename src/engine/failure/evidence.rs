//! From what is left of an engine to the reason why it is gone: kernel messages, its log, how its leader ended.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::super::originals::Originals;
use super::super::protocol::Exit;
use super::class::{self, Nature};
use super::kernel::{self, Uptime};
use super::lines::{Lines, Weight, speaks_of_error};
use super::pattern::{FailurePattern, Place};
use super::said::Said;
use super::{general, part, shell, text};

/// SIGKILL, and how a shell passes it on.
const KILLED: i32 = 9;
const KILLED_CODE: i32 = 128 + KILLED;

/// Lines kept of a log's end.
const TAIL_LINES: usize = 20;

/// What a failure is called and how it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The name of the pattern that matched, else what is known of the end.
    pub class: String,
    /// The one line that matters, without what loggers put before it; empty if nothing was printed.
    pub line: String,
    pub nature: Nature,
}

impl Failure {
    pub fn new(class: impl Into<String>, line: impl Into<String>) -> Self {
        let class = class.into();
        Self { nature: Nature::of(&class), class, line: line.into() }
    }

    /// Part of the engine, or of what it runs on, is lost: single requests may still be answered.
    pub fn is_of_engine(&self) -> bool {
        class::is_consequence(&self.class) || self.class == class::GPU_LOST || self.class == class::GPU_ERROR
    }

    /// This machine had no more of something that an engine asks for while it serves: requests that broke meanwhile broke for want of it.
    pub fn is_of_means(&self) -> bool {
        [class::THREADS, class::DISK_FULL, class::SHARED_MEMORY, class::STORAGE]
            .contains(&self.class.as_str())
    }
}

/// When it happened: the same death is called by what it interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Start,
    Load,
}

/// Everything that can be asked about an engine that failed.
#[derive(Debug)]
pub struct Witness<'a> {
    pub log: &'a Path,
    /// Where in the log to begin, in bytes.
    pub from: u64,
    /// What the engine said where the log is masked.
    pub originals: &'a Originals,
    /// The engine's own patterns, in their order.
    pub patterns: &'a [FailurePattern],
    /// How its leader ended by itself; `None` if it did not.
    pub exit: Option<Exit>,
    pub moment: Moment,
    pub started: Uptime,
    /// Processes of its tree that were seen: pid → name.
    pub family: &'a BTreeMap<i32, String>,
}

/// The reason, and the end of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    pub failure: Failure,
    /// A pattern or the kernel named it; else it is called by how it ended.
    pub known: bool,
    /// The last lines, without empty ones.
    pub tail: Vec<String>,
}

/// Nothing could be found out.
impl Default for Evidence {
    fn default() -> Self {
        Self { failure: Failure::new(class::UNKNOWN, ""), known: false, tail: Vec::new() }
    }
}

impl Witness<'_> {
    /// Reads log and kernel messages; a log that is missing is an empty one.
    pub fn examine(&self) -> Evidence {
        let bytes = read_from(self.log, self.from).unwrap_or_default();
        let log = Said::new(&bytes, self.originals.restore(&bytes, self.from).as_deref());
        let mut tail: Vec<String> =
            text::lines_from_the_end(log.shown()).take(TAIL_LINES).map(text::shortened).collect();
        tail.reverse();
        let lines = Lines::new(log.words());
        let named = self.guard_lost().or_else(|| self.named(&log, &lines));
        let known = named.is_some();
        let failure =
            named.unwrap_or_else(|| Failure::new(self.unknown(&lines), self.last_words(&log, &lines)));
        Evidence { failure, known, tail }
    }

    /// What the log says of an engine that was killed with its guard says nothing about the engine.
    fn guard_lost(&self) -> Option<Failure> {
        let lost = self.exit == Some(Exit::Unknown);
        lost.then(|| {
            Failure::new(
                class::GUARD_LOST,
                "perflab's guard of the launch was killed, and the engine with it",
            )
        })
    }

    fn named(&self, log: &Said, lines: &Lines<'_>) -> Option<Failure> {
        if let Some((class, line)) = kernel::finding(self.started, self.family) {
            return Some(Failure::new(class, text::shortened(&line)));
        }
        let told = match_first(log, lines, self.patterns);
        let told = self.refused(log, lines, told.as_ref()).or(told);
        let of_cause = told.as_ref().is_some_and(|f| !class::is_consequence(&f.class));
        if of_cause {
            return told;
        }
        let by_kernel = self.hungry(lines).or_else(|| self.trapped(told.as_ref()));
        by_kernel.or(told).or_else(|| self.missing(log, lines))
    }

    /// A tool's last word about a file, where nothing before it speaks of an error.
    fn missing(&self, log: &Said, lines: &Lines<'_>) -> Option<Failure> {
        let (at, last) = lines.last(1).next().filter(|_| self.moment == Moment::Start)?;
        let is_cause = shell::misses_file(self.exit?, last) && line_that_matters(lines) == Some(at);
        is_cause.then(|| Failure::new(class::MISSING_FILE, log.line(at)))
    }

    /// What the log says before counts, unless that is no cause, or a program that its script did without.
    fn refused(&self, log: &Said, lines: &Lines<'_>, told: Option<&Failure>) -> Option<Failure> {
        let (at, last) = lines.last(1).next().filter(|_| self.moment == Moment::Start)?;
        let class = shell::refused(self.exit?, last)?;
        let stands = |f: &Failure| !class::is_consequence(&f.class) && !shell::refuses(&f.line);
        (!told.is_some_and(stands)).then(|| Failure::new(class, log.line(at)))
    }

    /// Ended by its own instructions, of which its log knows nothing or only what followed.
    fn trapped(&self, told: Option<&Failure>) -> Option<Failure> {
        let (signal, line) = kernel::trap(self.started, self.family)?;
        let class = match (self.moment, told) {
            (Moment::Start, _) => format!("crash ({signal})"),
            (Moment::Load, Some(told)) => told.class.clone(),
            (Moment::Load, None) => format!("{} ({signal})", class::CRASH_UNDER_LOAD),
        };
        Some(Failure::new(class, text::shortened(&line)))
    }

    /// Killed while the OOM killer was at work, whose messages may not be read here.
    fn hungry(&self, lines: &Lines<'_>) -> Option<Failure> {
        let counted = self.started.oom_killed_since();
        let ended = self.was_killed(lines) || self.exit.is_some() && self.moment == Moment::Load;
        (counted && ended).then(|| {
            let line = "the kernel's OOM killer took a process of this machine meanwhile (its messages may not be read here)";
            Failure::new(class::HOST_MEMORY, line)
        })
    }

    /// By SIGKILL, as its shell tells it or as the kernel does.
    fn was_killed(&self, lines: &Lines<'_>) -> bool {
        let by_code = matches!(self.exit, Some(Exit::Signal(KILLED) | Exit::Code(KILLED_CODE)));
        by_code || self.exit.is_some() && lines.last(1).next().is_some_and(|(_, said)| said == "Killed")
    }

    /// The line that is shown where no pattern matches.
    fn last_words(&self, log: &Said, lines: &Lines<'_>) -> String {
        let Some(at) = line_that_matters(lines) else {
            return if self.exit == Some(Exit::Code(0)) { left("") } else { String::new() };
        };
        let line = log.line(at);
        let by_signal = || self.was_killed(lines) || matches!(self.ended(), Some(Exit::Signal(_)));
        match self.exit {
            Some(Exit::Code(0)) => left(&line),
            // what it happened to say last would read like the cause
            _ if !tells(lines, at) && by_signal() => {
                format!("its log does not say why; its last line: {line}")
            }
            _ => line,
        }
    }

    fn ended(&self) -> Option<Exit> {
        self.exit.map(shell::passed_on)
    }

    /// What is known where no pattern matches.
    fn unknown(&self, lines: &Lines<'_>) -> String {
        if let Some(exit @ Exit::Code(_)) = self.exit.filter(|_| self.was_killed(lines)) {
            return format!("{} ({exit})", class::KILLED);
        }
        let of_load = self.moment == Moment::Load;
        match self.ended() {
            Some(exit @ Exit::Code(0)) => format!("{} ({exit})", class::LEFT),
            Some(exit @ Exit::Signal(_)) if !of_load => format!("crash ({exit})"),
            Some(exit) if of_load => format!("{} ({exit})", class::CRASH_UNDER_LOAD),
            Some(exit) => format!("{} ({exit})", class::UNKNOWN),
            None if of_load => class::NO_ANSWER.to_owned(),
            None => class::NEVER_READY.to_owned(),
        }
    }
}

/// Classifies a log by an engine's own patterns and the general ones: broken machines, then causes before
/// consequences, the engine's own before the general. The first that matches where the log tells of its end wins.
pub fn classify(log: &str, patterns: &[FailurePattern]) -> Option<Failure> {
    let log = Said::new(log.as_bytes(), None);
    match_first(&log, &Lines::new(log.words()), patterns)
}

fn match_first(log: &Said, lines: &Lines<'_>, patterns: &[FailurePattern]) -> Option<Failure> {
    let all = general::of_machine().iter().chain(patterns).chain(general::patterns());
    let matches: Vec<(&FailurePattern, Vec<Place>)> = all
        .map(|p| (p, p.places(log.words()).collect()))
        .filter(|(_, places): &(_, Vec<_>)| !places.is_empty())
        .collect();
    let first = |consequence: bool, counts: &dyn Fn(usize) -> bool| {
        let of_kind = matches.iter().filter(|(p, _)| class::is_consequence(&p.name) == consequence);
        of_kind
            .flat_map(|(p, places)| places.iter().map(move |place| (p, place)))
            .find(|(_, place)| counts(lines.at(place.begin)) || counts(lines.at(place.told.start)))
            .map(|(pattern, place)| {
                let class = part::named(&pattern.name, log.words(), place.begin);
                Failure::new(class, log.lines_of(&place.told))
            })
    };
    let exception = lines.exception();
    // what is said in passing before an exception that has no pattern is not its reason
    let since = exception.map_or(0, |(at, _)| at);
    let cause = first(false, &|at| lines.weight(at) == Weight::Told)
        .or_else(|| first(false, &|at| lines.weight(at) == Weight::Plain && at >= since));
    if cause.is_some() {
        return cause;
    }
    if let Some(Failure { class, line, .. }) = first(true, &|at| lines.loudness(at) >= Weight::Plain) {
        let before = if class == class::DID_NOT_START { lines.told_before(&line) } else { None };
        let told = exception.map(|(at, _)| at).or(before);
        return Some(Failure::new(class, told.map_or(line, |at| log.line(at))));
    }
    // nobody told of an error: a quiet last word may
    let last = lines.last(1).next().map_or(0, |(at, _)| at);
    let hinted = |at: usize| at >= last && lines.weight(at) == Weight::Mention;
    if lines.tells_of_error() { None } else { first(false, &hinted).or_else(|| first(true, &hinted)) }
}

fn read_from(log: &Path, from: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What an engine that goes into the background has to be told, with the last that it said.
fn left(line: &str) -> String {
    let advice = "an engine that perflab starts stays in the foreground until it is stopped";
    if line.is_empty() { advice.to_owned() } else { format!("{advice}; its last line: {line}") }
}

/// The line that says something about the reason, where no pattern knows it: an exception, of C++ too, else the last line that speaks
/// of an error, else the last. By which signal a program ended, a shell says after it, and no more than its exit does.
fn line_that_matters(lines: &Lines<'_>) -> Option<usize> {
    let thrown = lines.last(TAIL_LINES).find(|(_, said)| is_thrown(said)).map(|(at, _)| at);
    let told = || {
        let mut last = lines.last(TAIL_LINES).filter(|(_, said)| !shell::is_obituary(said));
        last.find(|(at, _)| tells(lines, *at))
    };
    let mentioned = || {
        let mut last = lines.last(TAIL_LINES);
        last.find(|(at, said)| lines.weight(*at) > Weight::Advice && speaks_of_error(said))
    };
    let thrown = thrown.max(lines.exception().map(|(at, _)| at));
    let last = || told().or_else(mentioned).or_else(|| lines.last(1).next()).map(|(at, _)| at);
    thrown
        .or_else(last)
        .map(|at| at + usize::from(says_only_where(lines.text(at)) && !lines.text(at + 1).is_empty()))
}

/// The first line of a panic of Rust 1.73 and later, which has its message below.
fn says_only_where(line: &str) -> bool {
    line.contains(" panicked at ") && line.ends_with(':')
}

/// The message of an exception of C++ that nobody caught.
fn is_thrown(line: &str) -> bool {
    line.starts_with("what(): ")
}

/// Whether a line says aloud that something went wrong.
fn tells(lines: &Lines<'_>, at: usize) -> bool {
    let weight = lines.weight(at);
    weight == Weight::Told
        || is_thrown(lines.text(at))
        || (weight > Weight::Mention && speaks_of_error(lines.text(at)))
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;
