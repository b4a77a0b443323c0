//! What `perflab report` repeats of results that count no more: as `exec` does, only what is still so. It can be looked at where the study
//! was measured; elsewhere the journal's own words are all there is.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::{measure, site};
use crate::journal::{History, SessionRecord};
use crate::lang::Program;
use crate::lang::sema::program::Study;
use crate::run::elsewhere::{Elsewhere, Servers};
use crate::run::{Host, Standing, machine, measured_again_still, told_last};

/// The sentences of the last invocation that measured something.
pub fn measured_again(file: &Path, program: &Program, study: &Study, history: &History) -> Vec<String> {
    let told = told_last(history);
    let (false, Some(last)) = (told.is_empty(), history.sessions().last()) else { return Vec::new() };
    still(file, program, study, history, last).unwrap_or_else(|| told.to_vec())
}

/// Those that are still true; `None` where that cannot be known.
fn still(
    file: &Path,
    program: &Program,
    study: &Study,
    history: &History,
    last: &SessionRecord,
) -> Option<Vec<String>> {
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
    let silent = runtime.block_on(servers.ask(&elsewhere, history, &CancellationToken::new(), &mut |_| {}));
    // what they are now is not to be known
    if !silent.is_empty() {
        return None;
    }
    let standing = Standing::new(&program, &host, &facts, &study_dir, &images);
    Some(measured_again_still(history, &standing.with_servers(&elsewhere, servers.known())))
}
