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
use super::{general, part, text};

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
        let failure = named.unwrap_or_else(|| {
            let line = line_that_matters(&lines).map(|at| log.line(at)).unwrap_or_default();
            Failure::new(
                self.unknown(&lines),
                if self.exit == Some(Exit::Code(0)) { left(&line) } else { line },
            )
        });
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
        let of_cause = told.as_ref().is_some_and(|f| !class::is_consequence(&f.class));
        if of_cause { told } else { self.hungry(lines).or_else(|| self.trapped(told.as_ref())).or(told) }
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

    /// What is known where no pattern matches.
    fn unknown(&self, lines: &Lines<'_>) -> String {
        if let Some(exit @ Exit::Code(_)) = self.exit.filter(|_| self.was_killed(lines)) {
            return format!("{} ({exit})", class::KILLED);
        }
        let of_load = self.moment == Moment::Load;
        match self.exit {
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

/// The line that says something about the reason, where no pattern knows it: an exception, else the last line that speaks of an
/// error, else the last.
fn line_that_matters(lines: &Lines<'_>) -> Option<usize> {
    let telling = || {
        lines.last(TAIL_LINES).find(|(at, said)| {
            lines.weight(*at) == Weight::Told || (lines.weight(*at) > Weight::Advice && speaks_of_error(said))
        })
    };
    lines.exception().or_else(telling).or_else(|| lines.last(1).next()).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn pattern(name: &str, regex: &str) -> FailurePattern {
        FailurePattern::new(name, regex).unwrap()
    }

    fn examine(log: &str, exit: Option<Exit>, moment: Moment) -> Evidence {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.log");
        fs::write(&path, log).unwrap();
        let (family, originals) = (BTreeMap::new(), Originals::default());
        let (started, log) = (Uptime::now(), &path);
        Witness { log, from: 0, originals: &originals, patterns: &[], exit, moment, started, family: &family }
            .examine()
    }

    #[test]
    fn the_first_pattern_wins_wherever_it_stands() {
        let patterns = [pattern("cause", "no such card"), pattern("consequence", "^engine left")];
        let found = classify("engine left\n(Worker pid=3) ERROR: no such card\n", &patterns).unwrap();
        assert_eq!(found, Failure::new("cause", "no such card"));
        assert_eq!(classify("engine left", &patterns).unwrap().class, "consequence");
        assert_eq!(classify("the engine left", &patterns), None);
    }

    #[test]
    fn general_causes_come_before_an_engine_s_consequences() {
        let patterns = [pattern("did not start", "Engine core initialization failed")];
        let log = "torch.OutOfMemoryError: CUDA out of memory. Tried\nRuntimeError: Engine core initialization failed. See root cause above.";
        assert_eq!(classify(log, &patterns).unwrap().class, "out of GPU memory");
    }

    #[test]
    fn a_consequence_is_told_by_the_exception_before_it() {
        let log = "(EngineCore pid=1) ERROR 11-21 04:49:05 [core.py:1] ValueError: heads are odd\nRuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}";
        let found = classify(log, &[]).unwrap();
        assert_eq!(
            (found.class.as_str(), found.line.as_str()),
            ("did not start", "ValueError: heads are odd")
        );
    }

    #[test]
    fn a_kill_is_told_by_the_shell_that_saw_it() {
        let class = |log: &str, exit| examine(log, Some(exit), Moment::Start).failure.class;
        assert_eq!(
            class("engine.sh: line 3:  12 Killed  vllm\nKilled\n", Exit::Code(1)),
            "killed (exit code 1)"
        );
        assert_eq!(class("loading\n", Exit::Code(137)), "killed (exit code 137)");
        assert_eq!(class("loading\n", Exit::Signal(9)), "crash (SIGKILL)");
        assert_eq!(class("loading\n", Exit::Code(1)), "unknown (exit code 1)");
    }

    #[test]
    fn what_no_pattern_knows_is_called_by_its_end() {
        let class = |exit, moment| examine("bye", exit, moment).failure.class;
        assert_eq!(class(Some(Exit::Code(7)), Moment::Start), "unknown (exit code 7)");
        assert_eq!(class(Some(Exit::Signal(11)), Moment::Start), "crash (SIGSEGV)");
        assert_eq!(class(Some(Exit::Signal(9)), Moment::Load), "crash under load (SIGKILL)");
        assert_eq!(class(None, Moment::Start), "never ready");
        assert_eq!(class(Some(Exit::Code(0)), Moment::Start), "ended without an error (exit code 0)");
        let gone = examine("in the background\n", Some(Exit::Code(0)), Moment::Load).failure;
        assert!(gone.line.starts_with("an engine that perflab starts stays in the foreground"), "{gone:?}");
        assert!(gone.line.ends_with("its last line: in the background"), "{gone:?}");
        assert_eq!(class(None, Moment::Load), "no answer under load");
    }

    #[test]
    fn the_line_that_matters_speaks_of_an_error_else_it_is_the_last() {
        let line = |log: &str| examine(log, None, Moment::Start).failure.line;
        assert_eq!(line("start\nRuntimeError: no\n\nbye\nfailed\n"), "RuntimeError: no");
        assert_eq!(line("start\nit failed\nbye\n"), "it failed");
        assert_eq!(line(" 10%|\r 50%|\r 99%|\r\n"), "99%|");
        assert_eq!(line(""), "");
        let tail = examine("start\n\nbye\n\n", None, Moment::Start).tail;
        assert_eq!(tail, ["start", "bye"]);
    }

    #[test]
    fn long_lines_and_logs_are_shortened() {
        let long = "é".repeat(5000);
        assert_eq!(
            examine(&(long.clone() + &"\nline".repeat(50)), None, Moment::Start).tail.len(),
            TAIL_LINES
        );
        let line = examine(&long, None, Moment::Start).failure.line;
        assert_eq!(line.chars().count(), text::LONGEST_LINE + 1);
    }
}
