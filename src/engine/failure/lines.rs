//! A log as a sequence of lines that know who said them, how loudly, and whether they are part of a traceback.
//!
//! A pattern that matches says only that words occur. Whether they tell of the end, or are advice, a warning, a line of
//! code or something that the engine got over, follows from the lines around them.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::super::progress;
use super::text;

/// How loudly a logger says a line; a line without a level has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Info,
    Warning,
    Error,
}

/// What a line is in the prose of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// Source text inside a traceback, and whatever Python says that it ignores.
    Code,
    /// `ValueError: …`, and what its message goes on with on the next lines.
    Exception,
    Message,
}

#[derive(Debug)]
struct Line<'a> {
    start: usize,
    /// What a terminal would show of it, without what loggers put before.
    said: &'a str,
    level: Option<Level>,
    kind: Kind,
    /// The process or the rank that says it; empty where the log does not tell.
    who: &'a str,
}

/// How much a line that a pattern matches says about the end. The order is that of their weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Advice, or words about what may happen.
    Advice,
    /// Said quietly, quoted from source text, or got over.
    Mention,
    /// Said without a level, and without a word of failure.
    Plain,
    /// An exception, an error of a command line, a line of a logger's ERROR or above.
    Told,
}

/// Lines before one that points elsewhere.
const LOOKED_BACK: usize = 20;

/// Lines of a message after the exception's own.
const LONGEST_MESSAGE: usize = 12;

/// A log, read once.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    lines: Vec<Line<'a>>,
    /// By line: whoever said it came further in its start afterwards, or worked on before it met another error.
    got_over: Vec<bool>,
}

impl<'a> Lines<'a> {
    pub fn new(log: &'a str) -> Self {
        let mut reader = Reader::default();
        let mut start = 0;
        let lines = log.split_inclusive('\n').map(|raw| {
            let line = reader.read(start, raw);
            start += raw.len();
            line
        });
        let lines: Vec<Line<'_>> = lines.collect();
        Self { got_over: got_over(&lines), lines }
    }

    /// The number of the line that holds this byte.
    pub fn at(&self, byte: usize) -> usize {
        self.lines.partition_point(|l| l.start <= byte).saturating_sub(1)
    }

    /// What the line says about the end of whoever said it.
    pub fn weight(&self, at: usize) -> Weight {
        let weight = self.loudness(at);
        if self.got_over.get(at) == Some(&true) { weight.min(Weight::Mention) } else { weight }
    }

    /// The same without regard to what came of it: a process that is lost stays lost, however others go on.
    pub fn loudness(&self, at: usize) -> Weight {
        let Some(line) = self.lines.get(at) else { return Weight::Mention };
        let is_error =
            line.level == Some(Level::Error) || line.kind == Kind::Exception || is_of_validator(line.said);
        match line {
            _ if !is_error && is_advice(line.said) => Weight::Advice,
            _ if line.kind == Kind::Code || line.is_quiet() => Weight::Mention,
            _ if is_error || line.kind == Kind::Message || speaks_of_error(line.said) => Weight::Told,
            _ => Weight::Plain,
        }
    }

    /// The last exception that is neither about another one nor got over.
    pub fn exception(&self) -> Option<(usize, &'a str)> {
        let numbers = (0..self.lines.len()).rev().filter(|at| self.lines[*at].is_cause());
        numbers.filter(|at| !self.got_over[*at]).map(|at| (at, self.lines[at].said)).next()
    }

    /// The last line that tells of an error before one that only says that there was one.
    pub fn told_before(&self, line: &str) -> Option<usize> {
        let end = self.lines.iter().rposition(|l| l.said == line).filter(|_| points_elsewhere(line))?;
        let tells = |at: &usize| {
            let said = self.lines[*at].said;
            self.weight(*at) == Weight::Told && speaks_of_error(said) && !points_elsewhere(said)
        };
        (0..end).rev().take(LOOKED_BACK).find(tells)
    }

    /// Somebody says an error aloud, whatever it is.
    pub fn tells_of_error(&self) -> bool {
        (0..self.lines.len()).any(|at| {
            let line = &self.lines[at];
            (line.level == Some(Level::Error) || line.kind == Kind::Exception)
                && !points_elsewhere(line.said)
                && !self.got_over[at]
        })
    }

    /// What a line says, by its number.
    pub fn text(&self, at: usize) -> &'a str {
        self.lines.get(at).map_or("", |line| line.said)
    }

    /// The last lines that say anything, from the end: number and text.
    pub fn last(&self, count: usize) -> impl Iterator<Item = (usize, &'a str)> {
        let said = self.lines.iter().enumerate().rev().filter(|(_, l)| !l.said.is_empty());
        said.take(count).map(|(at, l)| (at, l.said))
    }
}

impl Line<'_> {
    fn is_quiet(&self) -> bool {
        matches!(self.level, Some(Level::Info | Level::Warning))
    }

    fn is_cause(&self) -> bool {
        self.kind == Kind::Exception && !self.is_quiet() && !points_elsewhere(self.said)
    }

    fn is_ordinary(&self) -> bool {
        self.is_quiet() && !is_of_the_end(self.said) && !is_advice(self.said)
    }

    fn is_milestone(&self) -> bool {
        self.kind == Kind::Plain && self.level != Some(Level::Error) && progress::is_milestone(self.said)
    }
}

/// What is known of a process from the lines behind the one that is looked at.
#[derive(Debug, Clone, Copy, Default)]
struct Later {
    error: bool,
    work_then_error: bool,
    milestone: bool,
}

fn got_over(lines: &[Line<'_>]) -> Vec<bool> {
    let mut later: HashMap<&str, Later> = HashMap::new();
    let from_the_end = lines.iter().rev().map(|line| {
        let later = later.entry(line.who).or_default();
        let got_over = later.milestone || later.work_then_error;
        later.work_then_error |= later.error && line.is_ordinary();
        later.error |= line.is_cause();
        later.milestone |= line.is_milestone();
        got_over
    });
    let mut got_over: Vec<bool> = from_the_end.collect();
    got_over.reverse();
    got_over
}

/// What a line says, without what loggers put before.
pub(super) fn said(raw: &str) -> &str {
    text::clean(visible(raw))
}

/// Bars overwrite themselves, and what counts is what stood there last.
fn visible(raw: &str) -> &str {
    raw.trim_end().rsplit('\r').next().unwrap_or_default()
}

/// What each process is in the middle of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Nothing,
    Traceback,
    /// Of a destructor and the like: Python goes on.
    Ignored,
    Message {
        lines: usize,
    },
}

#[derive(Debug, Default)]
struct Reader<'a> {
    inside: HashMap<&'a str, Inside>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, start: usize, raw: &'a str) -> Line<'a> {
        let shown = visible(raw);
        let (said, prefix) = (text::clean(shown), &shown[..text::prefix_len(shown)]);
        let who = speaker(prefix);
        let level = level(prefix).or_else(|| level_of_text(said));
        let inside = self.inside.entry(who).or_default();
        let indented = prefix.len() - prefix.trim_end().len() > 1;
        let (kind, next) = step(*inside, said, indented, level, has_stamp(prefix));
        *inside = next;
        Line { start, said, level, kind, who }
    }
}

fn step(inside: Inside, said: &str, indented: bool, level: Option<Level>, stamped: bool) -> (Kind, Inside) {
    if said.contains("Traceback (most recent call last)") {
        let ignored = inside == Inside::Ignored;
        return (Kind::Code, if ignored { Inside::Ignored } else { Inside::Traceback });
    }
    if said.starts_with("Exception ignored in") {
        return (Kind::Code, Inside::Ignored);
    }
    let quiet = matches!(level, Some(Level::Info | Level::Warning));
    let ends = !indented && is_class(said);
    match inside {
        Inside::Traceback if is_exception(said) || ends => (Kind::Exception, Inside::Message { lines: 0 }),
        Inside::Ignored if is_exception(said) || ends => (Kind::Code, Inside::Nothing),
        Inside::Traceback | Inside::Ignored if !quiet => (Kind::Code, inside),
        _ if is_exception(said) && !quiet => (Kind::Exception, Inside::Message { lines: 0 }),
        Inside::Message { lines } if lines < LONGEST_MESSAGE && level.is_none() && !stamped => {
            (Kind::Message, Inside::Message { lines: lines + 1 })
        }
        _ => (Kind::Plain, Inside::Nothing),
    }
}

/// `ValueError: …`, `torch.cuda.OutOfMemoryError: …`, `some.module.Exception: …`.
fn is_exception(line: &str) -> bool {
    let Some((name, message)) = line.split_once(": ") else { return false };
    let last = name.rsplit('.').next().unwrap_or_default();
    // not all libraries call theirs so: `triton.runtime.errors.OutOfResources`
    let of_errors = || name.split('.').any(|module| ["errors", "exceptions", "exc"].contains(&module));
    let is_error = last.ends_with("Error") || last.ends_with("Exception") || of_errors();
    is_class(name) && is_error && last != "Error" && !message.trim().is_empty()
}

/// A name of a class with its modules, alone or before a message: what ends a traceback.
fn is_class(line: &str) -> bool {
    let name = line.split(": ").next().unwrap_or_default().trim_end_matches(':');
    let last = name.rsplit('.').next().unwrap_or_default();
    name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
        && last.starts_with(|c: char| c.is_uppercase())
}

/// What a check of values says below its exception, which has a number only.
fn is_of_validator(line: &str) -> bool {
    line.starts_with("Value error, ") || line.starts_with("Assertion failed, ")
}

fn points_elsewhere(line: &str) -> bool {
    let words = [
        "EngineDeadError",
        "root cause",
        "initialization failed",
        "Failed to init server",
        "Executor worker returned error",
        "exiting due to model loading error",
        "SIGQUIT received",
        "CancelledError",
        "BrokenPipeError",
        "ConnectionResetError",
        "KeyboardInterrupt",
        "SystemExit",
    ];
    words.iter().any(|w| line.contains(w))
}

/// Words of a line that is more telling than those around it.
pub(super) fn speaks_of_error(line: &str) -> bool {
    let line = line.to_lowercase();
    let words = [
        "error",
        "exception",
        "fatal",
        "fail",
        "cannot",
        "can't",
        "couldn't",
        "could not",
        "unable",
        "not found",
        "died",
        "killed",
        "abort",
        "terminate called",
        "invalid",
        "is lost",
        "has fallen",
        "exceeded",
        "panicked at",
    ];
    words.iter().any(|word| line.contains(word))
}

static ADVICE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = [
        r"\b(?:is|are) (?:very |quite |more )?(?:common|likely|expected|normal|harmless)",
        r"\b(?:to|can|will|helps?) (?:help )?(?:avoid|prevent)|\b(?:avoid|prevent)s\b|\bavoiding\b|\bpreventing\b",
        r"\b(?:if|in case|when|whenever|should) (?:you|your|this|of|it|there|the)\b",
        r"\bmay\b|\bmight\b|\bcould (?:lead|cause|result|run|be)\b|\bcan (?:lead|cause|result|run|occur|happen)\b",
        r"\bconsider\b|\btry (?:to|setting|reducing|increasing|lowering)\b|\brecommend|\bnote that\b",
        r"\b(?:will|would) be (?:retried|ignored|skipped)|\bignor(?:e|ed|ing)\b|\bfall(?:ing|s)? ?back\b|\bskipp(?:ed|ing)\b",
        r"\b(?:against|risk of|chance of|case of|handling of|recover(?:y|s|ing)? from) (?:a |an |any )?(?:CUDA |GPU )?(?:out of memory|OOM)\b",
        r"(?:User|Future|Deprecation|Runtime|Resource)Warning\b",
    ];
    Regex::new(&format!("(?i){}", words.join("|"))).ok()
});

/// A line about what may happen, or what to do about it.
fn is_advice(line: &str) -> bool {
    ADVICE.as_ref().is_some_and(|advice| advice.is_match(line))
}

/// What servers say when they leave, and of each request.
fn is_of_the_end(line: &str) -> bool {
    let low = line.to_lowercase();
    let words = ["shut", "stop", "finish", "clos", "exit", "abort", "clean", "terminat", "kill", "http/1."];
    words.iter().any(|word| low.contains(word))
}

/// The level among what a logger puts before a message.
fn level(prefix: &str) -> Option<Level> {
    prefix.split(|c: char| !c.is_alphanumeric()).find_map(level_of)
}

fn level_of(word: &str) -> Option<Level> {
    Some(match word {
        "TRACE" | "DEBUG" | "INFO" | "NOTE" | "NOTICE" | "HINT" | "info" | "debug" | "note" | "hint"
        | "I" | "D" => Level::Info,
        "WARN" | "WARNING" | "warn" | "warning" | "Warning" | "W" => Level::Warning,
        "ERROR" | "CRITICAL" | "FATAL" | "SEVERE" | "critical" | "fatal" | "E" => Level::Error,
        // as glog begins a line: W1121
        _ => match word.split_at_checked(1)? {
            (letter @ ("I" | "W" | "E" | "F"), digits)
                if digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()) =>
            {
                if letter == "F" {
                    Level::Error
                } else {
                    return level_of(letter);
                }
            }
            _ => return None,
        },
    })
}

/// A level that stands in the message itself: `vllm: error: …`, `Note: …`, `file.py:3: UserWarning: …`, `level=warning`.
fn level_of_text(said: &str) -> Option<Level> {
    static SAID: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"^(?:(?P<quiet>(?i:note|hint|tip|info|warning|warn|debug|advice|reminder))\b ?[:\-–]|(?:\S+: )?(?P<loud>(?i:error|fatal error|fatal)): |\S+:\d+: \w+Warning: |.*?\blevel=(?P<named>\w+))",
        )
        .ok()
    });
    let found = SAID.as_ref()?.captures(said)?;
    if found.name("loud").is_some() {
        return Some(Level::Error);
    }
    match found.name("named").map(|n| n.as_str()) {
        Some("error" | "fatal" | "critical") => Some(Level::Error),
        Some("info" | "debug" | "trace") => Some(Level::Info),
        _ => Some(Level::Warning),
    }
}

/// `(EngineCore pid=12)`, and the rank in `[2026-01-01 10:00:00 TP0]`.
fn speaker(prefix: &str) -> &str {
    static WHO: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"\(([^()]*pid=\d+)\)|\b((?:[DTPE]P|ATTN_DP|MOE_DP)\d+(?: [DTPE]P\d+)*)\]").ok()
    });
    let found = WHO.as_ref().and_then(|who| who.captures(prefix));
    found.and_then(|f| f.get(1).or_else(|| f.get(2))).map_or("", |m| m.as_str())
}

fn has_stamp(prefix: &str) -> bool {
    prefix.bytes().filter(u8::is_ascii_digit).count() >= 6
}
