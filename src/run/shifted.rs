//! What results are made of may change between two launches of one invocation: somebody edits the load's data, or a file that a flag
//! names. Those before and those after are not of one study.

use crate::journal::{Conditions, History, RunRecord};

/// So often an invocation measures anew what counts no more; what goes on changing then is not waited for.
pub const MOST: usize = 3;

/// Whether a launch was made of something else than the last one before it of the same engine under the same load.
pub fn since_the_last(history: &History, launch: &str) -> bool {
    let runs = || history.runs().iter().rev().filter_map(|r| Some((r, r.made.as_deref()?)));
    let Some((own, now)) = runs().find(|(r, _)| &*r.run.launch == launch) else { return false };
    let alike = |(r, made): &(&RunRecord, &Conditions)| {
        &*r.run.launch != launch && r.profile_id == own.profile_id && made.engine == now.engine
    };
    let edited = |before: &Conditions| {
        let (then, now) = (history.opened(before), history.opened(now));
        then.zip(now).is_some_and(|(then, now)| {
            then.iter().any(|(name, hash)| now.get(name).is_some_and(|h| h != hash))
        })
    };
    runs().find(alike).is_some_and(|(_, before)| differ(before, now) || edited(before))
}

/// A file that only one of them has is a flag's own.
fn differ(before: &Conditions, now: &Conditions) -> bool {
    let edited = |(name, hash): (&String, &String)| now.files.get(name).is_some_and(|h| h != hash);
    before.data != now.data
        || before.files.iter().any(edited)
        || (&before.build, &before.libraries) != (&now.build, &now.libraries)
        || before.model == now.model && before.model_files != now.model_files
}
