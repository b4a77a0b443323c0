//! `exec --again`: what was measured of a trial is put aside, and it is measured anew. For findings whose cause lies where perflab does
//! not look, once it is mended.

use std::collections::BTreeSet;

use crate::journal::{History, JournalError, Kind};
use crate::judge::{Grid, Results, RunOutcome, Setup, Strategy as _, Walk};
use crate::plan::Config;
use crate::run::Execution;

/// The word for all trials that failed.
const FAILED: &str = "failed";
/// So many are listed of what could be meant.
const LISTED: usize = 12;

/// Why nothing can be put aside: a message and its help.
pub type Trouble = (String, String);

/// Puts aside what was measured of the trials that are named so; how many they are.
pub fn put_aside(asked: &[String], x: &Execution<'_>) -> Result<usize, Trouble> {
    if asked.is_empty() {
        return Ok(0);
    }
    let results = x.results();
    let setup = Setup::new(x.program, x.study, &results, x.checks, false);
    let (walk, _) = Grid.next(&setup);
    let mut configs = BTreeSet::new();
    for name in asked {
        match meant(name, &setup, &walk, &x.journal.history(), &results) {
            Some(found) => configs.extend(found),
            None => return Err(unknown(name, &walk)),
        }
    }
    let measured: BTreeSet<String> =
        x.journal.history().runs().iter().map(|r| r.config_id.to_string()).collect();
    let configs: Vec<String> = configs.intersection(&measured).cloned().collect();
    if configs.is_empty() {
        return Ok(0);
    }
    let count = configs.len();
    let written = x.journal.append(Kind::Again { configs, asked: asked.to_vec() });
    written.map(|()| count).map_err(|e: JournalError| {
        (e.to_string(), "the journal is as it was; mend it, and say it again".to_owned())
    })
}

/// What came of it, for people.
pub fn said(count: usize) -> String {
    match count {
        0 => "nothing to measure again: no result of what `--again` names stands".to_owned(),
        1 => "1 configuration is measured again".to_owned(),
        n => format!("{n} configurations are measured again"),
    }
}

/// The configurations that a name means; `None` if it means nothing.
fn meant(
    name: &str,
    setup: &Setup<'_>,
    walk: &Walk,
    history: &History,
    results: &Results,
) -> Option<BTreeSet<String>> {
    if name == FAILED {
        return Some(failed(history, results));
    }
    if let Some(launch) = history.launch_of(name) {
        return Some(BTreeSet::from([launch.config_id.to_string()]));
    }
    let loads: Vec<&str> = setup.program.profiles.keys().map(|p| setup.load(p)).collect();
    let is = |label: &str, config: &Config| {
        label == name || config.id() == name || loads.iter().any(|load| config.trial(load).as_str() == name)
    };
    let baseline = walk.baseline.iter().filter(|(c, _)| name == "baseline" || is(&c.engine.title, c));
    let rows = walk.steps.iter().flat_map(|step| &step.rows);
    let rows = rows.filter_map(|row| row.config.as_ref().filter(|c| is(&row.label, c)));
    let found: BTreeSet<String> = baseline.map(|(c, _)| c).chain(rows).map(|c| c.id().to_owned()).collect();
    (!found.is_empty()).then_some(found)
}

/// Configurations of which a failure stands.
fn failed(history: &History, results: &Results) -> BTreeSet<String> {
    let failed = |outcome: &RunOutcome| {
        matches!(outcome, RunOutcome::FailedStart { .. } | RunOutcome::FailedLoad { .. })
    };
    let stands = |config: &str, profile: &str| results.of(config, profile).iter().any(|r| failed(&r.outcome));
    let keys: BTreeSet<(&str, &str)> =
        history.runs().iter().map(|r| (&*r.config_id, &*r.profile_id)).collect();
    keys.into_iter().filter(|(c, p)| stands(c, p)).map(|(config, _)| config.to_owned()).collect()
}

fn unknown(name: &str, walk: &Walk) -> Trouble {
    let rows = walk.steps.iter().flat_map(|step| &step.rows).filter(|row| row.config.is_some());
    let labels: BTreeSet<String> = rows.map(|row| format!("`{}`", row.label)).collect();
    let listed: Vec<String> = labels.iter().take(LISTED).cloned().collect();
    let more = if labels.len() > LISTED { " and others" } else { "" };
    let help = format!(
        "name `failed`, `baseline`, a candidate ({}{more}), a launch as `L003`, or a trial's id of report.json",
        listed.join(", ")
    );
    (format!("--again: no trial is called `{name}`"), help)
}
