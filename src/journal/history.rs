//! What a journal tells, kept small: ten thousand trials are read in a moment and held in a few megabytes. Events are folded in one
//! after another, whether they are read or just written, so that nothing is ever looked for in all of them.

mod fold;

pub(super) use fold::Recent;

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use super::event::{Neighbourhood, Opened};
use super::made::Conditions;
use super::moved::Moved;
use super::records::{LaunchRecord, RunRecord, SessionRecord};
use crate::judge::neighbours::{Sample, Verdict};
use crate::judge::{Checks, Results};

/// Everything that a journal tells.
#[derive(Debug, Clone, Default)]
pub struct History {
    seq: u64,
    session: u32,
    sessions: Vec<SessionRecord>,
    launches: Vec<LaunchRecord>,
    by_id: HashMap<Arc<str>, usize>,
    /// launches whose end has not been seen, by index
    open: Vec<usize>,
    runs: Vec<RunRecord>,
    /// which of them were told: the launch by its index, the run's number and its profile
    told: HashSet<(usize, u32, Arc<str>)>,
    /// most runs were made under the same conditions
    conditions: Vec<Arc<Conditions>>,
    /// few texts say most of what runs and launches are of
    texts: HashSet<Arc<str>>,
    installed: HashMap<String, BTreeMap<String, String>>,
    opened: HashMap<String, Opened>,
    /// the lowest level of each GPU that an invocation saw before it began
    gpu_levels: BTreeMap<String, u64>,
    checked: Vec<(Neighbourhood, Sample)>,
    neighbours: Vec<(Neighbourhood, Verdict)>,
    earlier_s: f64,
    session_s: f64,
    /// the invocation before this one, and how old it was at its last word
    before: (u32, f64),
    /// seconds that killed invocations lived after their last word
    lived_on: BTreeMap<u32, f64>,
    /// the invocation that reads; `None` for the last one
    reader: Option<u32>,
}

impl History {
    pub fn last_seq(&self) -> u64 {
        self.seq
    }

    pub fn last_session(&self) -> u32 {
        self.session
    }

    /// Reads on as the invocation that would come next: failures of the machine in earlier ones are no results for it.
    pub fn for_next_session(&mut self) {
        self.reader = Some(self.session + 1);
    }

    /// What the machine did to a run of an earlier invocation, which is no result for the one that reads.
    pub fn spoiled(&self, run: &RunRecord, checks: Checks) -> Option<String> {
        run.machine_s(checks).filter(|_| run.session != self.reader())
    }

    fn reader(&self) -> u32 {
        self.reader.unwrap_or(self.session)
    }

    /// The runs of the invocation that reads where a failure of the machine stands and a result should be.
    pub fn machine_failures(&self, checks: Checks) -> impl Iterator<Item = &RunRecord> {
        let (reader, moved) = (self.reader(), Moved::of(self));
        // what counts for nothing anyway has been measured again
        let stands = move |r: &&RunRecord| r.put_aside.is_none() && moved.doubt(&r.run.launch).is_none();
        let own = self.runs.iter().filter(move |r| r.session == reader && r.is_the_machine_s(checks));
        own.filter(stands)
    }

    /// Whether there are any: they are to be measured again.
    pub fn machine_failed(&self, checks: Checks) -> bool {
        self.machine_failures(checks).next().is_some()
    }

    /// The runs that still count, keyed as the judge reads them. What the machine spoiled counts in its own invocation only.
    pub fn results(&self, checks: Checks, counts: impl Fn(&RunRecord) -> bool) -> Results {
        let mut results = Results::default();
        let reader = self.reader();
        let own =
            |r: &&RunRecord| r.put_aside.is_none() && (r.session == reader || !r.is_the_machine_s(checks));
        for r in self.runs.iter().filter(own).filter(|r| counts(r)) {
            results.add(&r.config_id, &r.profile_id, r.run.clone());
        }
        results
    }

    /// All launches in order.
    pub fn launches(&self) -> &[LaunchRecord] {
        &self.launches
    }

    /// The runs of the last invocation that measured something.
    pub fn of_last_session(&self) -> impl Iterator<Item = &RunRecord> {
        self.runs.iter().filter(|run| run.session == self.session)
    }

    /// All runs in order.
    pub fn runs(&self) -> &[RunRecord] {
        &self.runs
    }

    /// The invocations that measured, in order.
    pub fn sessions(&self) -> &[SessionRecord] {
        &self.sessions
    }

    /// Launches that no one saw end, with the marks of their processes: their servers may be left over.
    pub fn unfinished(&self) -> Vec<(String, String)> {
        let open = self.open.iter().filter_map(|i| self.launches.get(*i));
        open.map(|l| (l.id.to_string(), l.nonce.to_string())).collect()
    }

    /// A launch by its name.
    pub fn launch_of(&self, id: &str) -> Option<&LaunchRecord> {
        self.by_id.get(id).and_then(|i| self.launches.get(*i))
    }

    /// The libraries under a hash.
    pub fn libraries(&self, id: &str) -> Option<&BTreeMap<String, String>> {
        self.installed.get(id)
    }

    /// The files that a result's launch opened.
    pub fn opened(&self, made: &Conditions) -> Option<&BTreeMap<String, String>> {
        self.looked(made).map(|opened| &opened.files)
    }

    /// What a result's launch opened and looked for.
    pub fn looked(&self, made: &Conditions) -> Option<&Opened> {
        self.opened.get(made.opened.as_ref()?)
    }

    /// Seconds from a launch's beginning to the last event, if its own invocation was the last to write.
    pub fn seen_for_s(&self, id: &str) -> Option<f64> {
        let (session, begun_s) = self.launch_of(id)?.begun;
        (session == self.session).then(|| (self.session_s - begun_s).max(0.0))
    }

    /// The lowest level of each GPU that an invocation saw before it began.
    pub fn gpu_levels(&self) -> &BTreeMap<String, u64> {
        &self.gpu_levels
    }

    /// What the launches of an A/A check of neighbours measured so far.
    pub fn checked(&self, of: &Neighbourhood) -> Vec<Sample> {
        self.checked.iter().filter(|(n, _)| n == of).map(|(_, sample)| *sample).collect()
    }

    /// What came of an A/A check of neighbours, the last time.
    pub fn neighbours(&self, of: &Neighbourhood) -> Option<&Verdict> {
        self.neighbours.iter().rev().find(|(n, _)| n == of).map(|(_, verdict)| verdict)
    }

    /// Seconds that all invocations took, as far as they lived to write.
    pub fn wall_s(&self) -> f64 {
        self.earlier_s + self.session_s + self.lived_on.values().fold(0.0, |sum, s| sum + s)
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{Event, Kind, LaunchTimes, VERSION};
    use super::*;
    use crate::judge::{Metrics, Run, RunOutcome};

    fn run(seq: u64, session: u32, infrastructure: bool) -> Event {
        let outcome = RunOutcome::FailedStart { class: "disk full".to_owned(), line: String::new() };
        let run = Run {
            n: 1,
            launch: format!("L00{seq}").into(),
            outcome,
            metrics: Metrics::default(),
            notes: Vec::new(),
            devices: None,
            confirming: false,
            simulated: false,
            log_tail: Vec::new(),
        };
        let text = || "x".to_owned();
        let kind = Kind::Run {
            launch: run.launch.to_string(),
            config_id: text(),
            profile: text(),
            profile_id: text(),
            serve_id: text(),
            host_id: text(),
            infrastructure,
            run,
            made: None,
            seed: None,
            opened: None,
        };
        Event { v: VERSION, seq, at: String::new(), session, session_s: 0.0, kind }
    }

    #[test]
    fn a_failure_under_which_something_changed_is_measured_again_already() {
        let mut history = History::default();
        let event =
            |seq, kind| Event { v: VERSION, seq, at: String::new(), session: 1, session_s: 0.0, kind };
        history.push(launched("L002"));
        history.push(run(2, 1, true));
        assert!(history.machine_failed(Checks::Refuse));
        let (launch, times) = ("L002".to_owned(), LaunchTimes::default());
        let changed = vec!["t.jinja".to_owned()];
        history.push(event(
            3,
            Kind::Gone {
                launch,
                times,
                gpus: 0,
                changed,
                appeared: Vec::new(),
                came: Vec::new(),
                made: Vec::new(),
                left: BTreeMap::new(),
                stuck: Vec::new(),
            },
        ));
        assert!(!history.machine_failed(Checks::Refuse));
    }

    /// A launch of the configuration of the runs here.
    fn launched(launch: &str) -> Event {
        let kind = Kind::Launch {
            launch: launch.to_owned(),
            config_id: "x".to_owned(),
            config: serde_json::Value::Null,
            profiles: Vec::new(),
            label: String::new(),
            nonce: String::new(),
            container: None,
            model_files: None,
            command: Vec::new(),
            env: indexmap::IndexMap::new(),
            slot: None,
            installed: None,
            found: BTreeMap::new(),
            check: false,
        };
        Event { v: VERSION, seq: 1, at: String::new(), session: 1, session_s: 0.0, kind }
    }

    #[test]
    fn a_run_is_of_the_configuration_of_its_launch() {
        let mut history = History::default();
        let (mut launch, run) = (launched("L002"), run(2, 1, false));
        history.push(launch.clone());
        assert_eq!(history.contradiction(&run), None);
        if let Kind::Launch { config_id, .. } = &mut launch.kind {
            *config_id = "y".to_owned();
        }
        history.push(run.clone());
        let why = history.contradiction(&run).expect("refused");
        assert_eq!(why, "run 1 of launch L002 stands here a second time");
        let mut history = History::default();
        history.push(launch);
        let why = history.contradiction(&run).expect("refused");
        assert_eq!(why, "it is a run of configuration x, and its launch L002 started y");
    }

    #[test]
    fn a_failure_of_the_machine_counts_in_its_own_invocation_only() {
        let mut history = History::default();
        history.push(run(1, 1, true));
        history.push(run(2, 1, false));
        let count = |h: &History| h.results(Checks::Refuse, |_| true).of("x", "x").len();
        assert_eq!((count(&history), history.machine_failed(Checks::Refuse)), (2, true), "a report shows it");
        history.for_next_session();
        assert_eq!(
            (count(&history), history.machine_failed(Checks::Refuse)),
            (1, false),
            "the next one tries anew"
        );
        history.push(run(3, 2, true));
        assert_eq!(count(&history), 2);
    }
}
