//! Which results of a journal `perflab report` shows, and what it says of those that count no more: as `exec` does, what is so now. It can be
//! looked at where the study was measured; elsewhere the journal's own words are all there is.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::{measure, site};
use crate::journal::{History, SessionRecord};
use crate::judge::{Checks, Results};
use crate::lang::Program;
use crate::lang::sema::program::Study;
use crate::run::elsewhere::{Elsewhere, Measured, Servers};
use crate::run::{
    Host, Outdated, Standing, as_measured, machine, measured_again_still, serve_ids_anywhere, told_last,
};

/// What a report shows.
pub struct Shown {
    pub results: Results,
    /// what the last invocation that measured something said of results that count no more, as far as it is still so
    pub again: Vec<String>,
    /// what of that counts no more here
    pub outdated: Vec<Outdated>,
}

/// The results of a journal: those that count here and now if there are any of each trial, else all as they were measured.
pub fn shown(file: &Path, program: &Program, study: &Study, history: &History, checks: Checks) -> Shown {
    let was = as_measured(history, &serve_ids_anywhere(program, history), checks);
    let told = told_last(history);
    let here = history.sessions().last().and_then(|last| {
        at_home(file, program, study, history, last, |standing| {
            let counting = standing.results(history, checks);
            let mut outdated = standing.outdated(history);
            outdated.retain(|o| {
                let (config, profile) = (&o.config_id, &o.profile_id);
                was.count(config, profile) > 0 && counting.count(config, profile) == 0
            });
            (counting, outdated, measured_again_still(history, &standing))
        })
    });
    match here {
        None => Shown { results: was, again: told.to_vec(), outdated: Vec::new() },
        Some((results, outdated, again)) if outdated.is_empty() => Shown { results, again, outdated },
        Some((_, outdated, again)) => Shown { results: was, again, outdated },
    }
}

/// What can be found where the study was measured; `None` elsewhere.
fn at_home<T>(
    file: &Path,
    program: &Program,
    study: &Study,
    history: &History,
    last: &SessionRecord,
    find: impl FnOnce(Standing<'_>) -> T,
) -> Option<T> {
    let then = last.machine.as_ref()?;
    if then.name.is_none() || then.name != machine().name {
        return None;
    }
    let mut program = program.clone();
    site::settle_quietly(&mut program, file)?;
    // which file another site came from is not written down
    if program.site.as_ref().map(|s| &s.name) != last.site.as_ref() {
        return None;
    }
    let simulated = site::simulated(&program, study);
    let host = Host::for_study(study.gpus.as_ref(), simulated).ok()?.at(program.site.as_deref());
    let images = site::images(&program, study, None).unwrap_or_default();
    let (facts, study_dir) = (site::launched(&program), measure::study_dir(file));
    let elsewhere = Elsewhere { program: &program, study, site: &facts, study_dir: &study_dir };
    let servers = Servers::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let silent = runtime.block_on(servers.ask(
        &elsewhere,
        &Measured::of(history),
        &CancellationToken::new(),
        &mut |_| {},
    ));
    // what they are now is not to be known
    if !silent.is_empty() {
        return None;
    }
    let standing = Standing::new(&program, &host, &facts, &study_dir, &images);
    Some(find(standing.with_servers(&elsewhere, servers.known())))
}
