//! What of this machine explains that an engine did not start, whatever that engine says: nothing of it is a finding about the configuration.

use super::execution::Execution;
use super::launch::Crew;
use super::serve_id::serve_id;
use crate::engine::failure::{CLIENT_LIMIT, NETWORK, STORAGE};
use crate::engine::{self, Failure, StartError};
use crate::judge::RunOutcome;
use crate::plan::Config;

/// Whether an engine was measured before that is started in the same way: what starts it was here.
pub fn served_before(x: &Execution<'_>, config: &Config) -> bool {
    let own = serve_id(&config.engine, &x.images);
    x.journal
        .history()
        .runs()
        .iter()
        .any(|r| *r.serve_id == *own && matches!(r.run.outcome, RunOutcome::Done))
}

/// The failure of this machine, if there is one that explains the engine's.
pub fn of_machine(crew: &Crew<'_>, error: &StartError) -> Option<Failure> {
    match error {
        StartError::NeverReady { answered: None, .. } => unreachable_here().or_else(|| model_away(crew)),
        StartError::Exited { .. } | StartError::NeverReady { .. } => model_away(crew),
        StartError::NotFound { .. } | StartError::NotRunnable { .. } if crew.place.served_before => {
            Some(Failure::new(STORAGE, format!("its program was here and is away: {error}")))
        }
        _ => None,
    }
}

/// Nobody can ask an engine here whether it is ready.
fn unreachable_here() -> Option<Failure> {
    let error = engine::reach_self().err()?;
    // all ports that clients may have are taken, and not the way to them
    let class = if error.kind() == std::io::ErrorKind::AddrNotAvailable { CLIENT_LIMIT } else { NETWORK };
    Some(Failure::new(class, format!("this machine does not reach itself at 127.0.0.1: {error}")))
}

/// The model was here when the study began, or the site says that it is.
fn model_away(crew: &Crew<'_>) -> Option<Failure> {
    let (place, name) = (&crew.place, &crew.config.model);
    let resolved = place.models.get(name).map(|m| m.dir.clone());
    let dir = resolved.or_else(|| Some(place.study_dir.join(place.site.models.get(name)?)))?;
    let error = std::fs::metadata(&dir).err()?;
    let line = format!("the model's files at {} are away: {error}", dir.display());
    Some(Failure::new(STORAGE, line))
}
