//! What was noted of runs when they were made, for the reader of their numbers: flags that a server changed, a model that it calls
//! otherwise, tokens in fields that nobody knows.

use std::collections::HashSet;

use indexmap::{IndexMap, IndexSet};

use super::build::Material;
use crate::journal::Moved;
use crate::plan::Config;

/// So many are named; a note about more of them says how many more.
const NAMED: usize = 4;

/// Each note once, with the configurations that it is about.
pub fn of_runs(m: &Material<'_>) -> Vec<String> {
    let mut about: IndexMap<&str, Vec<&str>> = IndexMap::new();
    let baseline = m.walk.baseline.iter().map(|(config, _)| (config.engine.title.as_str(), config));
    let rows = m.walk.steps.iter().flat_map(|s| &s.rows);
    let rows = rows.filter_map(|r| Some((&*r.label, r.config.as_ref()?)));
    let mut seen = HashSet::new();
    for (label, config) in baseline.chain(rows) {
        // a later row of the same configuration has nothing of its own
        if seen.insert(config.id()) {
            let notes: IndexSet<&str> = notes(m, config).collect();
            notes.into_iter().for_each(|note| about.entry(note).or_default().push(label));
        }
    }
    about.into_iter().map(|(note, labels)| format!("{}: {note}", listed(&labels))).collect()
}

/// What this machine kept from a result, with the launch that it befell: it is measured again.
pub fn of_the_machine(m: &Material<'_>) -> Vec<String> {
    // a recording is judged as it is
    if m.setup.replay {
        return Vec::new();
    }
    let failures = m.history.machine_failures(m.setup.checks);
    let told: IndexSet<String> = failures
        .map(|r| {
            format!(
                "no result of launch {}: {}; the same command measures it again",
                r.run.launch,
                r.machine_s(m.setup.checks).unwrap_or_default()
            )
        })
        .collect();
    told.into_iter().collect()
}

/// How the load generator fared before the study, where it was tried and whether it was enough as asked for.
pub fn of_the_client(m: &Material<'_>, enough: bool) -> Option<String> {
    let trial = m.history.sessions().iter().rev().find_map(|session| session.client.as_ref())?;
    (trial.enough == enough && !m.setup.replay).then(|| trial.text.clone())
}

/// Results that do not count because something was changed under them, as by a person who edits a file.
pub fn of_what_changed(m: &Material<'_>) -> Vec<String> {
    if m.setup.replay {
        return Vec::new();
    }
    let launches = m.history.launches();
    let moved = Moved::of(m.history);
    let mut said: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for launch in launches {
        if let Some(what) = moved.doubt(&launch.id) {
            said.entry(what).or_default().push(&launch.id);
        }
    }
    let text = |(what, ids): (&str, Vec<&str>)| {
        format!("no result of launch {}: {what} changed while it was measured", listed(&ids))
    };
    said.into_iter().map(text).chain(moved.not_compared()).collect()
}

fn listed(labels: &[&str]) -> String {
    let named = labels.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match labels.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn notes<'a>(m: &'a Material<'_>, config: &Config) -> impl Iterator<Item = &'a str> {
    let profiles = m.setup.profiles();
    let runs: Vec<_> = profiles.iter().flat_map(|p| m.setup.counted(config, p)).collect();
    runs.into_iter().flat_map(|r| &r.notes).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_a_few_of_those_that_it_is_about() {
        assert_eq!(listed(&["a", "b"]), "a, b");
        assert_eq!(listed(&["a", "b", "c", "d", "e", "f"]), "a, b, c, d and 2 more");
    }
}
