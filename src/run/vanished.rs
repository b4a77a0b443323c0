//! Servers that are gone although their first process lives: one that a script started and outlives, the client of a container's
//! engine, which ends later than its container. Their deaths show in their sockets, and in how their connections end.

use std::collections::HashSet;
use std::time::Duration;

use super::pulse;
use super::target::Target;
use crate::engine::Failure;
use crate::engine::failure::{CRASH_UNDER_LOAD, NO_ANSWER};
use crate::load::{Ended, FailureKind, Finding, LoadOutcome};

/// Said of a server that was started anew, by whatever started it first.
const ANOTHER: &str = "the server that was loaded listens no more, and another does in its place";

/// Whether a load was answered by another server than the one that was ready: whatever it measured is none of the candidate's.
pub fn is_another(lost: &Failure) -> bool {
    lost.line.starts_with(ANOTHER)
}

/// A first process that ends because its server did has ended by then.
const LEADER: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_secs(1);

/// Why the server that a load was sent to is not there any more, or not the one that it was. A first process that ends as well is
/// waited for: how it ended tells more, and the load ends with it.
pub async fn gone(outcome: &mut LoadOutcome, target: &Target<'_>, ready_path: &str) -> Option<Failure> {
    if !target.is_ours() {
        return None;
    }
    let now = target.listeners().await.unwrap_or_else(|| target.listening.clone());
    // whoever opens another socket has its processes; one that was started anew has not
    let broken_off = broken(outcome) || target.missing().is_some();
    let failure = match of_sockets(&target.listening, &now, broken_off) {
        Some(line) => Failure::new(CRASH_UNDER_LOAD, line),
        None => match begun_anew(outcome) {
            Some(line) => Failure::new(CRASH_UNDER_LOAD, line),
            None => unready(outcome, target, ready_path).await?,
        },
    };
    if tokio::time::timeout(LEADER, target.died()).await.is_ok() {
        outcome.ended = Ended::ServerDied;
        return None;
    }
    Some(failure)
}

/// Resolves when nobody listens any more where a server of ours did, at two looks.
pub async fn deserted(target: &Target<'_>) {
    let mut looks = 0;
    while looks < 2 {
        tokio::time::sleep(LOOK).await;
        let away = !target.listening.is_empty() && target.listeners().await.is_some_and(|now| now.is_empty());
        looks = if away { looks + 1 } else { 0 };
    }
}

/// What has become of the sockets that listened before a load. Where the kernel told of none it tells nothing afterwards. One that
/// opens another socket in an idle moment has lost nothing; under requests that break it has.
fn of_sockets(before: &HashSet<u64>, now: &HashSet<u64>, broken: bool) -> Option<&'static str> {
    if before.is_subset(now) {
        return None;
    }
    match (now.is_empty(), before.is_disjoint(now)) {
        (true, _) => Some("nobody listens on its port any more, although its first process lives"),
        (false, true) if broken => Some(ANOTHER),
        (false, false) if broken => Some("a part of the server listens no more"),
        _ => None,
    }
}

/// A part of a server, behind a socket that stayed, that tells of a start of its own within the load. Counters that fell prove less: of
/// several processes each may show its own.
fn begun_anew(outcome: &LoadOutcome) -> Option<String> {
    let told =
        |finding: &&Finding| matches!(finding, Finding::BegunAnew { again: true, from, to, .. } if to > from);
    outcome.findings.iter().find(told).map(ToString::to_string)
}

/// A socket may outlive its server: whoever inherited it holds it, and nobody answers there.
async fn unready(outcome: &LoadOutcome, target: &Target<'_>, ready_path: &str) -> Option<Failure> {
    let some_succeeded = outcome.records.iter().any(|r| r.outcome.failure().is_none());
    let asked = outcome.ended == Ended::Whole && some_succeeded && broken(outcome);
    if !asked || pulse::is_still_ready(target, ready_path).await {
        return None;
    }
    let line = "connections broke, and it is not ready any more, although its first process lives";
    Some(Failure::new(NO_ANSWER, line))
}

/// Whether connections could not be made, or did not last.
fn broken(outcome: &LoadOutcome) -> bool {
    let mut failures = outcome.records.iter().filter_map(|r| r.outcome.failure());
    failures.any(|f| matches!(f.kind, FailureKind::Connect | FailureKind::StreamBroken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_tell_who_listens_no_more() {
        let of = |before: &[u64], now: &[u64], broken| {
            of_sockets(&before.iter().copied().collect(), &now.iter().copied().collect(), broken)
        };
        assert_eq!(of(&[], &[], true), None, "the kernel does not tell");
        assert_eq!(of(&[1], &[1, 2], true), None);
        assert!(of(&[1], &[], false).unwrap().starts_with("nobody listens"));
        let another = of(&[1, 2], &[3], true).expect("lost");
        assert!(another.contains("another does"));
        assert!(is_another(&Failure::new(
            CRASH_UNDER_LOAD,
            format!("{another}; 40 of 40 requests succeeded")
        )));
        assert!(!is_another(&Failure::new(CRASH_UNDER_LOAD, "nobody listens".to_owned())));
        assert!(of(&[1, 2], &[2, 3], true).unwrap().starts_with("a part"));
        assert_eq!((of(&[1], &[2], false), of(&[1, 2], &[2], false)), (None, None));
    }
}
