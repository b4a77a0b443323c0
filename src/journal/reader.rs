//! Reads a journal back: the runs that still count, the launches and what they cost.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use thiserror::Error;

use super::event::{Event, Kind, LaunchTimes, VERSION};
use crate::judge::Results;

/// Why a journal cannot be read.
#[derive(Debug, Error)]
pub enum JournalError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path}, line {line}: {why}")]
    Corrupt { path: PathBuf, line: usize, why: String },
    #[error(
        "{path}, line {line}: written by a newer perflab (journal version {found}, this one reads {VERSION})"
    )]
    Newer { path: PathBuf, line: usize, found: u64 },
}

/// One launch, as far as the journal knows it.
#[derive(Debug, Clone)]
pub struct LaunchRecord {
    pub id: String,
    pub config: Json,
    /// `None` for a launch whose end nobody saw
    pub times: Option<LaunchTimes>,
    pub gpus: u32,
    /// US dollars a second of one GPU, as the site of its invocation said
    pub price_per_s: Option<f64>,
}

/// Everything that a journal tells.
#[derive(Debug, Clone, Default)]
pub struct History {
    events: Vec<Event>,
    /// the invocation that reads; `None` for the last one
    reader: Option<u32>,
}

impl History {
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    pub fn last_seq(&self) -> u64 {
        self.events.last().map_or(0, |e| e.seq)
    }

    pub fn last_session(&self) -> u32 {
        self.events.last().map_or(0, |e| e.session)
    }

    /// Reads on as the invocation that would come next: failures of the machine in earlier ones are no results for it.
    pub fn for_next_session(&mut self) {
        self.reader = Some(self.last_session() + 1);
    }

    pub fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// The runs that still count: of the same serve lines on the same host. Keyed as the judge reads them.
    pub fn results(&self, serve_ids: &[String], host_id: &str) -> Results {
        let mut results = Results::default();
        let reader = self.reader.unwrap_or(self.last_session());
        for event in &self.events {
            if let Kind::Run { config_id, profile_id, serve_id, host_id: host, infrastructure, run, .. } =
                &event.kind
                && serve_ids.contains(serve_id)
                && (!infrastructure || event.session == reader)
                && host == host_id
            {
                results.add(config_id, profile_id, run.clone());
            }
        }
        results
    }

    /// Whether a failure of the machine stands where a result should be.
    pub fn machine_failed(&self) -> bool {
        let reader = self.reader.unwrap_or(self.last_session());
        self.events
            .iter()
            .any(|e| e.session == reader && matches!(e.kind, Kind::Run { infrastructure: true, .. }))
    }

    /// All launches in order.
    pub fn launches(&self) -> Vec<LaunchRecord> {
        let mut launches: Vec<LaunchRecord> = Vec::new();
        let mut price = None;
        for event in &self.events {
            match &event.kind {
                Kind::Session { price_per_s, .. } => price = *price_per_s,
                Kind::Launch { launch, config, .. } => {
                    launches.push(LaunchRecord {
                        id: launch.clone(),
                        config: config.clone(),
                        times: None,
                        gpus: 0,
                        price_per_s: price,
                    });
                }
                Kind::Gone { launch, times, gpus } => {
                    if let Some(l) = launches.iter_mut().find(|l| l.id == *launch) {
                        l.times = Some(*times);
                        l.gpus = *gpus;
                    }
                }
                _ => {}
            }
        }
        launches
    }

    /// Launches that no one saw end: their servers may be left over.
    pub fn unfinished(&self) -> Vec<(String, String)> {
        let mut open: Vec<(String, String)> = Vec::new();
        for event in &self.events {
            match &event.kind {
                Kind::Launch { launch, nonce, .. } => open.push((launch.clone(), nonce.clone())),
                Kind::Gone { launch, .. } | Kind::Lost { launch } => open.retain(|(l, _)| l != launch),
                _ => {}
            }
        }
        open
    }

    /// The lowest level of each GPU that an invocation saw before it began.
    pub fn gpu_levels(&self) -> BTreeMap<String, u64> {
        let mut lowest: BTreeMap<String, u64> = BTreeMap::new();
        for event in &self.events {
            let Kind::Session { gpu_levels, .. } = &event.kind else { continue };
            for (uuid, level) in gpu_levels {
                let known = lowest.entry(uuid.clone()).or_insert(*level);
                *known = (*known).min(*level);
            }
        }
        lowest
    }

    /// Seconds that all invocations took, as far as they lived to write.
    pub fn wall_s(&self) -> f64 {
        let mut total = 0.0;
        let mut current: Option<(u32, f64)> = None;
        for e in &self.events {
            match current {
                Some((session, _)) if session == e.session => current = Some((session, e.session_s)),
                Some((_, last)) => {
                    total += last;
                    current = Some((e.session, e.session_s));
                }
                None => current = Some((e.session, e.session_s)),
            }
        }
        total + current.map_or(0.0, |c| c.1)
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.events.iter().filter(|e| matches!(e.kind, Kind::Run { .. })).count()
    }
}

/// Reads a journal; a file that is not there is an empty one, and a torn last line is ignored.
pub fn read(path: &Path) -> Result<History, JournalError> {
    let text = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(History::default()),
        Err(source) => return Err(JournalError::Io { path: path.to_owned(), source }),
    };
    let mut history = History::default();
    // what follows the last line end was being written when the writer died
    let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    for (i, line) in text[..whole].split(|b| *b == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let event = parse(line, path, i + 1)?;
        if event.seq != history.last_seq() + 1 {
            let why = format!(
                "event {} follows event {}: lines are missing or out of order",
                event.seq,
                history.last_seq()
            );
            return Err(JournalError::Corrupt { path: path.to_owned(), line: i + 1, why });
        }
        history.events.push(event);
    }
    Ok(history)
}

fn parse(bytes: &[u8], path: &Path, line: usize) -> Result<Event, JournalError> {
    let corrupt = |why: String| JournalError::Corrupt { path: path.to_owned(), line, why };
    let json: Json =
        serde_json::from_slice(bytes).map_err(|e| corrupt(format!("this is not a journal line ({e})")))?;
    let found = json
        .get("v")
        .and_then(Json::as_u64)
        .ok_or_else(|| corrupt("this is not a journal line".to_owned()))?;
    if found > u64::from(VERSION) {
        return Err(JournalError::Newer { path: path.to_owned(), line, found });
    }
    serde_json::from_value(json).map_err(|e| corrupt(format!("this is not a journal line ({e})")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{Metrics, Run, RunOutcome};

    fn run(seq: u64, session: u32, infrastructure: bool) -> Event {
        let outcome = RunOutcome::FailedStart { class: "disk full".to_owned(), line: String::new() };
        let run = Run {
            n: 1,
            launch: format!("L00{seq}"),
            outcome,
            metrics: Metrics::default(),
            notes: Vec::new(),
            devices: None,
            confirming: false,
            log_tail: Vec::new(),
        };
        let text = || "x".to_owned();
        let kind = Kind::Run {
            launch: run.launch.clone(),
            config_id: text(),
            profile: text(),
            profile_id: text(),
            serve_id: text(),
            host_id: text(),
            infrastructure,
            run,
        };
        Event { v: VERSION, seq, at: String::new(), session, session_s: 0.0, kind }
    }

    #[test]
    fn a_failure_of_the_machine_counts_in_its_own_invocation_only() {
        let mut history = History::default();
        history.push(run(1, 1, true));
        history.push(run(2, 1, false));
        let count = |h: &History| h.results(&["x".to_owned()], "x").of("x", "x").len();
        assert_eq!((count(&history), history.machine_failed()), (2, true), "a report shows it");
        history.for_next_session();
        assert_eq!((count(&history), history.machine_failed()), (1, false), "the next one tries anew");
        history.push(run(3, 2, true));
        assert_eq!(count(&history), 2);
    }
}
