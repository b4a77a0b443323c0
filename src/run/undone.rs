//! What kept a load, or some of its requests, from being done: the server, this machine, or a key.

use super::launch::Crew;
use super::target::Target;
use super::{key, unanswered, vanished};
use crate::engine::Failure;
use crate::engine::failure::Evidence;
use crate::load::{self, Ended, FailureKind, LoadOutcome, RequestRecord, Summary};

/// The class of a load without any success, of which nothing else is known.
pub const NO_SUCCESS: &str = "no request succeeded";

/// Why a server was given up, with how much of the load that left undone.
pub fn told_whole(lost: Failure, outcome: &LoadOutcome) -> Failure {
    let Summary { completed, planned, .. } = outcome.summary;
    Failure { line: format!("{}; {completed} of {planned} requests succeeded", lost.line), ..lost }
}

/// Why a server is lost that was gone when its load ended, or answered nothing any more; the latter of loads that did not end for
/// another reason. A signal leaves that open, and the load without a result.
pub async fn lost_at_last(
    outcome: &mut LoadOutcome,
    crew: &Crew<'_>,
    target: &Target<'_>,
) -> Option<Failure> {
    let ready_path = &crew.config.engine.ready.path;
    let asked = async {
        match vanished::gone(outcome, target, ready_path).await {
            Some(gone) => Some(told_whole(gone, outcome)),
            // that nothing succeeded is no reason of its own
            None if matches!(outcome.ended, Ended::Whole | Ended::NothingSucceeded) => {
                unanswered::fell_silent(outcome, target, ready_path).await
            }
            None => None,
        }
    };
    let asked = tokio::select! {
        lost = asked => Some(lost),
        () = crew.signals.first.cancelled() => None,
    };
    if asked.is_none() {
        outcome.ended = Ended::Cancelled;
    }
    asked.flatten()
}

pub fn not_alone((pid, name): (i32, String)) -> Failure {
    let line = format!("process {pid} ({name}) listens on the engine's port too, or did");
    Failure::new(crate::engine::failure::PORT, line)
}

/// What went wrong with the server, and the end of its log. Single requests that fail are for the checks to judge, unless
/// the log says that part of the engine was lost: its server may live on and answer for ever that it cannot.
pub async fn failure(
    outcome: &LoadOutcome,
    lost: Option<Failure>,
    (crew, target): (&Crew<'_>, &Target<'_>),
    log_before: u64,
) -> Option<(Failure, Vec<String>)> {
    if let Some(stranger) = target.stranger().await {
        return Some((not_alone(stranger), Vec::new()));
    }
    if let Some(refused) = client_refused(outcome) {
        return Some((refused, Vec::new()));
    }
    let died = outcome.ended == Ended::ServerDied;
    let hopeless = nothing_succeeded(outcome);
    let any_failed = outcome.records.iter().any(failed);
    let another = lost.as_ref().is_some_and(vanished::is_another);
    if !died && !hopeless && !any_failed && !another {
        return None;
    }
    if let Some(refused) = let_nobody_in(outcome, crew, target).filter(|_| hopeless) {
        return Some((refused, Vec::new()));
    }
    let mut found = target.examine(log_before).await;
    if (died || lost.is_some()) && found.as_ref().is_some_and(|e| !e.known) {
        // it may have said why before the load began, right behind its first answer
        found = target.examine(0).await.filter(|e| e.known).or(found);
    }
    if let Some(lost) = lost {
        let tail = found.as_ref().map(|e| e.tail.clone()).unwrap_or_default();
        return Some((found.filter(|e| e.known).map_or(lost, |e| e.failure), tail));
    }
    if died {
        return found.map(|e| (e.failure, e.tail));
    }
    let tells = |e: &Evidence| e.known && (hopeless || e.failure.is_of_engine() || e.failure.is_of_means());
    if let Some(e) = found.filter(tells) {
        return Some((e.failure, e.tail));
    }
    hopeless.then(|| (Failure::new(NO_SUCCESS, of_requests(outcome).unwrap_or_default()), Vec::new()))
}

/// A server that answered no request but with a status that asks for another key, or for one at all.
fn let_nobody_in(outcome: &LoadOutcome, crew: &Crew<'_>, target: &Target<'_>) -> Option<Failure> {
    let mut statuses = outcome.records.iter().map(|r| r.http_status);
    let first = statuses.next()??;
    let refused = key::refused(first, crew.config, target.key.as_ref())?;
    statuses.all(|status| matches!(status, Some(401 | 403))).then_some(refused)
}

/// A client that this machine gave no connection measured nothing but the machine.
fn client_refused(outcome: &LoadOutcome) -> Option<Failure> {
    let mut refused = failures(outcome).filter(|f| f.kind == FailureKind::Local);
    let first = refused.next()?.message.clone();
    let line = format!("{} requests got no connection from this machine: {first}", 1 + refused.count());
    Some(Failure::new(crate::engine::failure::CLIENT_LIMIT, line))
}

/// "8 of 8 requests failed, the first one so: no text within 3 s"; `None` where none did.
pub fn of_requests(outcome: &LoadOutcome) -> Option<String> {
    let mut failed = failures(outcome);
    let first = &failed.next()?.message;
    let (failed, planned) = (1 + failed.count(), outcome.summary.planned);
    Some(format!("{failed} of {planned} requests failed, the first one so: {first}"))
}

fn failures(outcome: &LoadOutcome) -> impl Iterator<Item = &load::Failure> {
    outcome.records.iter().filter_map(|r| r.outcome.failure())
}

fn failed(record: &RequestRecord) -> bool {
    matches!(record.outcome, load::Outcome::Failed(_))
}

/// A load that ends before it is known to be hopeless can be just that.
pub fn nothing_succeeded(outcome: &LoadOutcome) -> bool {
    outcome.ended == Ended::NothingSucceeded
        || (!outcome.records.is_empty() && outcome.records.iter().all(failed))
}
