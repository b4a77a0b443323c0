//! `exec --again` and `exec --fresh`: what was measured of a trial, or of all, is put aside, and it is measured anew. For findings whose
//! cause lies where perflab does not look, once it is mended, and for whoever trusts nothing that was measured before.

use std::collections::BTreeSet;

use super::args::ExecArgs;
use crate::journal::{FRESH, History, JournalError, Kind};
use crate::judge::walk::Role;
use crate::judge::{Grid, Results, RunOutcome, Setup, Strategy as _, Walk};
use crate::lang::diag::did_you_mean;
use crate::plan::Config;
use crate::run::Execution;

/// The word for all trials that failed.
const FAILED: &str = "failed";
/// So many are listed of what could be meant.
const LISTED: usize = 12;

/// Why nothing can be put aside: a message and its help.
pub type Trouble = (String, String);

/// What is put aside before anything is launched, and not before it is sure that something may be.
#[derive(Debug, Default)]
pub struct Aside {
    configs: Vec<String>,
    asked: Vec<String>,
}

impl Aside {
    /// What the command line asks for: trials by name, or all of them.
    pub fn of(args: &ExecArgs, x: &Execution<'_>) -> Result<Self, Trouble> {
        if args.fresh {
            let step = args.only.as_deref();
            return Ok(Self { configs: everything(x, step), asked: vec![FRESH.to_owned()] });
        }
        let configs = named(&args.again, x)?;
        Ok(Self { configs, asked: args.again.clone() })
    }

    /// The results that then are left.
    pub fn leaves(&self, x: &Execution<'_>) -> Results {
        if self.configs.is_empty() { x.results() } else { x.results_without(&self.configs, &self.asked) }
    }

    /// Whether there is anything to put aside.
    pub fn is_any(&self) -> bool {
        !self.configs.is_empty()
    }

    /// Writes it down. The results stay in the journal, and are none any more.
    pub fn put(&self, x: &Execution<'_>) -> Result<(), JournalError> {
        if self.configs.is_empty() {
            return Ok(());
        }
        x.journal.append(Kind::Again { configs: self.configs.clone(), asked: self.asked.clone() })
    }

    /// What comes of it, for people; `None` where nothing was asked for.
    pub fn said(&self) -> Option<String> {
        let fresh = self.asked.iter().any(|name| name == FRESH);
        (!self.asked.is_empty()).then(|| match (self.configs.len(), fresh) {
            (0, true) => "nothing was measured yet: everything is measured for the first time".to_owned(),
            (0, false) => "nothing to measure again: no result of what `--again` names stands".to_owned(),
            (1, _) => "1 configuration is measured again".to_owned(),
            (n, _) => format!("{n} configurations are measured again"),
        })
    }
}

/// Configurations of which something was measured that was not put aside before.
fn measured(x: &Execution<'_>) -> BTreeSet<String> {
    let history = x.journal.history();
    let standing = history.runs().iter().filter(|r| r.put_aside.is_none());
    standing.map(|r| r.config_id.to_string()).collect()
}

/// Everything that was measured; of a step that alone is carried out, its own candidates.
fn everything(x: &Execution<'_>, step: Option<&str>) -> Vec<String> {
    let all = measured(x);
    if step.is_none() {
        return all.into_iter().collect();
    }
    let results = x.results();
    let setup = Setup::new(x.program, x.study, &results, x.checks, false);
    let (walk, _) = Grid.next(&setup);
    // without steps it is the baseline
    let Some(last) = walk.steps.last() else {
        return walk.baseline.iter().map(|(c, _)| c.id().to_owned()).filter(|c| all.contains(c)).collect();
    };
    // what an earlier step measured is what this one stands on
    let own = last.rows.iter().filter(|r| r.role == Role::Candidate && r.same_as.is_none());
    let own = own.filter_map(|r| r.config.as_ref()).map(|c| c.id().to_owned());
    own.filter(|c| all.contains(c)).collect()
}

/// The configurations of trials by the names that they have for people.
fn named(asked: &[String], x: &Execution<'_>) -> Result<Vec<String>, Trouble> {
    if asked.is_empty() {
        return Ok(Vec::new());
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
    Ok(configs.intersection(&measured(x)).cloned().collect())
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
    let stands = |config: &str, profile: &str| {
        let runs = results.of(config, profile).iter().chain(results.confirming(config, profile));
        runs.into_iter().any(|r| failed(&r.outcome))
    };
    let keys: BTreeSet<(&str, &str)> =
        history.runs().iter().map(|r| (&*r.config_id, &*r.profile_id)).collect();
    keys.into_iter().filter(|(c, p)| stands(c, p)).map(|(config, _)| config.to_owned()).collect()
}

fn rows_named(walk: &Walk) -> impl Iterator<Item = &str> {
    walk.steps.iter().flat_map(|step| &step.rows).filter(|row| row.config.is_some()).map(|row| &*row.label)
}

fn unknown(name: &str, walk: &Walk) -> Trouble {
    let labels: BTreeSet<String> = rows_named(walk).map(|label| format!("`{label}`")).collect();
    let listed: Vec<String> = labels.iter().take(LISTED).cloned().collect();
    let more = if labels.len() > LISTED { " and others" } else { "" };
    let known = rows_named(walk).chain(["failed", "baseline"]);
    let near = did_you_mean(name, known).map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    let help = format!(
        "{near}name `failed`, `baseline`, a candidate ({}{more}), a launch as `L003`, or a trial's id of report.json",
        listed.join(", ")
    );
    (format!("--again: no trial is called `{name}`"), help)
}
