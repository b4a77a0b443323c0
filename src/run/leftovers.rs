//! What an invocation left that was killed: its processes, its containers, and launches whose end nobody saw.

use std::collections::BTreeSet;

use super::container;
use super::event::{Event, Listener};
use super::execution::{Execution, RunError};
use super::{lost, options, records};
use crate::engine::container::Runtime;
use crate::engine::{self, Kept};
use crate::journal::History;
use crate::lang::sema::program::Via;

/// Leftovers of an invocation that was killed together with its guards, and launches whose end nobody saw.
pub fn clean_up(x: &Execution<'_>, listener: &mut dyn Listener) -> Result<(), RunError> {
    let lived_on_s = lost::lived_on_s(&x.dir, x.journal.last_word());
    // its lock went with its directory
    if let Some(pid) = engine::tended_by(&x.mark()) {
        let text = format!(
            "perflab {pid} carries this study out, whose state directory was removed; wait until it has ended"
        );
        return Err(RunError::Machine(text));
    }
    let elsewhere = begun_elsewhere(x);
    let mut left = engine::sweep(&x.mark());
    left.extend(elsewhere.iter().flat_map(|nonce| engine::kill_marked(nonce)));
    if !left.is_empty() {
        let names: Vec<String> = left.iter().map(|m| format!("{} ({})", m.pid, m.name)).collect();
        let text =
            format!("processes of an earlier run were still there and were killed: {}", names.join(", "));
        listener.hear(&Event::Warning { text });
    }
    // of whichever study: nobody else would ever remove them
    engine::sweep_scratch();
    name_kept(false, listener);
    sweep_containers(x, &elsewhere, listener)?;
    options::sweep(&x.dir, &x.journal.history());
    records::sweep(&x.dir, &x.journal.history());
    let ends = lost::ends(&x.journal.history(), lived_on_s, |needed| x.host.held(needed));
    for end in ends {
        x.journal.append(end)?;
    }
    Ok(())
}

/// Launches of the journal whose end nobody saw and that were begun when its directory was called otherwise: nobody else knows the marks of
/// what they left. One that somebody still watches over is of a study that this directory is a copy of.
fn begun_elsewhere(x: &Execution<'_>) -> Vec<String> {
    let open = x.journal.history().unfinished().into_iter().map(|(_, nonce)| nonce);
    let other = open.filter(|nonce| !nonce.is_empty() && container::study_mark(nonce) != x.mark());
    other.filter(|nonce| engine::tended_by(nonce).is_none()).collect()
}

/// Names the temporary directories that could not be removed: an engine has mounted something in them, which is not ours to empty, or made
/// files in them that the kernel keeps.
pub fn name_kept(own: bool, listener: &mut dyn Listener) {
    for (directory, why) in engine::kept_scratch(own) {
        let why = match why {
            Kept::Mounted(at) => {
                format!("something is mounted at {}; unmount it, then remove the directory", at.display())
            }
            Kept::Refused(why) => format!("it cannot be removed ({why}); `lsattr -R` may tell more"),
        };
        let text = format!("{} was left by an engine and stays: {why}", directory.display());
        listener.hear(&Event::Warning { text });
    }
}

/// Containers outlive guards and this machine's crashes: those of earlier runs, under whatever started them.
fn sweep_containers(
    x: &Execution<'_>,
    elsewhere: &[String],
    listener: &mut dyn Listener,
) -> Result<(), RunError> {
    // those that this study uses, and those that a launch stood in whose end nobody saw: no other service needs to answer
    let used = x.program.engines.values().filter_map(|engine| match &engine.via {
        Via::Container(b) => container::image(engine, b).ok().filter(|i| x.images.contains_key(i)).map(|_| b),
        _ => None,
    });
    let mut names: BTreeSet<String> = used.map(|b| b.runtime.name().to_owned()).collect();
    names.extend(of_unfinished(&x.journal.history()));
    for runtime in names.iter().filter_map(|name| Runtime::find(name)) {
        let mut left = runtime.sweep(&x.mark()).map_err(|e| RunError::Machine(e.to_string()))?;
        for nonce in elsewhere {
            left.extend(runtime.sweep_launch(nonce).map_err(|e| RunError::Machine(e.to_string()))?);
        }
        if !left.is_empty() {
            let ids: Vec<&str> = left.iter().map(|id| &id[..id.len().min(12)]).collect();
            let text =
                format!("containers of an earlier run were still there and were removed: {}", ids.join(", "));
            listener.hear(&Event::Warning { text });
        }
    }
    Ok(())
}

/// The programs that started containers of launches whose end nobody saw.
fn of_unfinished(history: &History) -> BTreeSet<String> {
    let open: BTreeSet<String> = history.unfinished().into_iter().map(|(launch, _)| launch).collect();
    let launches = history.launches().iter().filter(|l| open.contains(&*l.id));
    launches.filter_map(|l| Some(l.container.as_ref()?.runtime.clone())).collect()
}
