//! Which results of a journal count where nothing but the journal is there to compare with: not what this machine is now, but what it was
//! when the last run was made.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::followed::other_opened;
use super::spelled::others_are_spelled;
use crate::journal::{Conditions, History, Moved, RunRecord, Running};
use crate::judge::{Checks, Results, RunOutcome};

/// The results of a journal as it was last measured, wherever it is read: those that still counted when its last run was made.
pub fn as_measured(history: &History, serve_ids: &[String], checks: Checks) -> Results {
    let Some(last) = history.runs().last() else { return Results::default() };
    let mut builds: HashMap<(&str, &str), &Conditions> = HashMap::new();
    let mut models: HashMap<&str, &Conditions> = HashMap::new();
    let mut data: HashMap<(&str, &str), &Option<String>> = HashMap::new();
    let mut servers: HashMap<&str, &Option<Running>> = HashMap::new();
    let mut named: BTreeMap<&str, Option<&String>> = BTreeMap::new();
    let mut last_runs: HashMap<(&str, &str), &RunRecord> = HashMap::new();
    let mut opened: HashMap<&str, &String> = HashMap::new();
    let mut looked: HashMap<&str, bool> = HashMap::new();
    let mut spelled: HashMap<&BTreeSet<String>, &RunRecord> = HashMap::new();
    let moved = Moved::of(history);
    for run in history.runs() {
        last_runs.insert((&run.config_id, &run.profile_id), run);
        let Some(made) = &run.made else { continue };
        named.extend(made.files.iter().map(|(word, id)| (word.as_str(), Some(id))));
        named.extend(made.absent.iter().map(|word| (word.as_str(), None)));
        opened.extend(history.opened(made).into_iter().flatten().map(|(name, is)| (name.as_str(), is)));
        if let Some(seen) = history.looked(made) {
            looked.extend(seen.absent.iter().map(|name| (name.as_str(), false)));
            looked.extend(seen.there.iter().chain(seen.files.keys()).map(|name| (name.as_str(), true)));
            spelled.extend(seen.spelled.iter().map(|spelled| (&spelled.texts, run)));
        }
        builds.insert((&run.serve_id, &made.engine), made);
        servers.insert(&run.config_id, &made.running);
        models.insert(&made.model, made);
        data.insert((&run.profile_id, &made.model), &made.data);
    }
    let counts = |run: &RunRecord| {
        let (Some(made), Some(now)) = (&run.made, &last.made) else { return run.host_id == last.host_id };
        let build = builds.get(&(&*run.serve_id, made.engine.as_str()));
        // what failed is launched again only where that counts no more
        let is_replaced =
            matches!(run.run.outcome, RunOutcome::FailedStart { .. } | RunOutcome::FailedLoad { .. })
                && last_runs
                    .get(&(&*run.config_id, &*run.profile_id))
                    .is_some_and(|last| run.is_of_earlier(last));
        if is_replaced || moved.doubt(&run.run.launch).is_some() {
            return false;
        }
        let is_own = |name: &str| moved.is_own_between(&run.run.launch, &last.run.launch, name);
        let absent = made.absent.iter().filter(|word| !moved.is_made_itself(word));
        let words = || made.files.keys().chain(absent.clone()).filter(|word| !is_own(word));
        let lasts = |word: &String| named.get(word.as_str()).copied().flatten().cloned();
        let now = Conditions {
            build: build.and_then(|b| b.build.clone()),
            libraries: build.and_then(|b| b.libraries.clone()),
            files: words().filter_map(|w| Some((w.clone(), lasts(w)?))).collect(),
            absent: words().filter(|w| lasts(w).is_none()).cloned().collect(),
            running: servers.get(&*run.config_id).and_then(|s| (*s).clone()),
            model_files: models.get(made.model.as_str()).and_then(|m| m.model_files.clone()),
            model_placed: models.get(made.model.as_str()).and_then(|m| m.model_placed),
            blamed: made.blamed.clone(),
            data: data.get(&(&*run.profile_id, made.model.as_str())).and_then(|d| (*d).clone()),
            ..(**now).clone()
        };
        let opens = |name: &str| opened.get(name).map(|is| (*is).clone());
        let is_there = |name: &str| looked.get(name).copied();
        let of_texts = history.looked(made).and_then(|seen| spelled.get(&seen.spelled.as_ref()?.texts));
        made.differs(&now).is_none()
            && other_opened(run, history, &moved, opens, is_there, is_own).is_none()
            && of_texts.is_none_or(|last| !others_are_spelled(history, &moved, run, last))
    };
    history.results(checks, |run| serve_ids.iter().any(|id| **id == *run.serve_id) && counts(run))
}
