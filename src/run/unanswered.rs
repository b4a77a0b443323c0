//! Loads that end in silence: the server answered some requests and then none, until each had waited for as long as it may. Limits
//! of requests that are shorter than the patience with a silent server would hide from that that it is frozen.

use std::time::Duration;

use super::pulse;
use super::target::Target;
use crate::engine::Failure;
use crate::engine::failure::NO_ANSWER;
use crate::load::{FailureKind, LoadOutcome, Outcome, RequestRecord};

/// So many requests in a row that bring not a word are no accident of one of them.
const PROVEN: usize = 3;

/// What a load's last requests met, where nothing came for any of them.
#[derive(Debug, PartialEq)]
struct Silence {
    /// requests that ended by their own limits after the last word of the server
    unanswered: usize,
    /// those of them that were sent after it
    sent_since: usize,
    /// the server was heard in this load
    heard: bool,
    lasted: Duration,
}

impl Silence {
    /// `None`: the last that a load saw was an answer, of whatever kind, or a part of one.
    fn at_the_end_of(records: &[RequestRecord]) -> Option<Self> {
        let last_word = records.iter().map(last_word_ns).max()?;
        let in_vain = records.iter().filter(|r| r.end_ns > last_word);
        let end = in_vain.clone().map(|r| r.end_ns).max()?;
        let sent_since = in_vain.clone().filter(|r| r.sent_ns >= last_word).count();
        Some(Self {
            unanswered: in_vain.count(),
            sent_since,
            heard: last_word > 0,
            lasted: Duration::from_nanos(end - last_word),
        })
    }

    fn failure(&self, planned: u64, more: &str) -> Failure {
        let line = format!(
            "{} of {planned} requests were not answered: nothing came in the last {:.0} s of the load{more}",
            self.unanswered,
            self.lasted.as_secs_f64()
        );
        Failure::new(NO_ANSWER, line)
    }
}

/// When a request last heard from its server. One that ran into its limit heard what text came, and its end was the client's own.
fn last_word_ns(record: &RequestRecord) -> u64 {
    match &record.outcome {
        Outcome::Failed(failure) if failure.kind == FailureKind::Timeout => record.last_token_ns.unwrap_or(0),
        _ => record.end_ns,
    }
}

/// Why the server of a load that is over is lost, if it fell silent before its end. Where too few requests met that to prove it, the
/// server is asked whether it is ready, and so is one of which the load heard nothing at all: it may be slower than its requests' limits
/// and no more than that. One that somebody else runs has been asked already.
pub async fn fell_silent(outcome: &LoadOutcome, target: &Target<'_>, ready_path: &str) -> Option<Failure> {
    let silence = Silence::at_the_end_of(&outcome.records)?;
    // it is not the server's if the client itself stood still
    let stall = Duration::from_secs_f64(outcome.summary.client.stall_ms.unwrap_or(0.0).max(0.0) / 1e3);
    if silence.lasted <= 2 * stall {
        return None;
    }
    if silence.heard && silence.sent_since >= PROVEN {
        return Some(silence.failure(outcome.summary.planned, ""));
    }
    if !target.is_ours() || pulse::is_still_ready(target, ready_path).await {
        return None;
    }
    Some(silence.failure(outcome.summary.planned, ", and it is not ready any more"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Failure as Unmet;

    const S: u64 = 1_000_000_000;

    fn record(sent_s: u64, text_s: Option<u64>, end_s: u64, outcome: &Outcome) -> RequestRecord {
        let record = serde_json::json!({
            "version": 1, "index": 0, "scheduled_ns": sent_s * S, "released_ns": sent_s * S, "sent_ns": sent_s * S,
            "headers_ns": null, "first_token_ns": text_s.map(|s| s * S), "last_token_ns": text_s.map(|s| s * S),
            "end_ns": end_s * S, "chunks": [], "prompt_tokens": null, "prompt_tokens_own": 1, "output_tokens_asked": 1,
            "output_tokens": 1, "counted_by": "chunks", "cached_tokens": null, "finish_reason": null, "http_status": null,
            "outcome": outcome,
        });
        serde_json::from_value(record).unwrap()
    }

    fn answered(sent_s: u64, end_s: u64) -> RequestRecord {
        record(sent_s, Some(end_s), end_s, &Outcome::Ok)
    }

    fn failed(kind: FailureKind) -> Outcome {
        Outcome::Failed(Unmet { kind, message: "no text within 3 s".to_owned() })
    }

    fn in_vain(sent_s: u64, end_s: u64) -> RequestRecord {
        record(sent_s, None, end_s, &failed(FailureKind::Timeout))
    }

    #[test]
    fn silence_lasts_from_the_last_word_to_the_end() {
        let all =
            [answered(0, 2), in_vain(1, 4), answered(1, 5), in_vain(4, 7), in_vain(5, 8), in_vain(7, 10)];
        let silence = Silence::at_the_end_of(&all).expect("silence");
        assert_eq!(
            silence,
            Silence { unanswered: 3, sent_since: 2, heard: true, lasted: Duration::from_secs(5) }
        );
        let line = silence.failure(6, "").line;
        assert_eq!(line, "3 of 6 requests were not answered: nothing came in the last 5 s of the load");
    }

    #[test]
    fn a_server_that_was_never_heard_has_not_fallen_silent() {
        let silence =
            Silence::at_the_end_of(&[in_vain(0, 3), in_vain(0, 3), in_vain(3, 6)]).expect("silence");
        assert_eq!(
            silence,
            Silence { unanswered: 3, sent_since: 3, heard: false, lasted: Duration::from_secs(6) }
        );
        // a text that broke off at its limit was heard
        let begun = record(0, Some(1), 3, &failed(FailureKind::Timeout));
        let silence = Silence::at_the_end_of(&[begun, in_vain(1, 4), in_vain(3, 6), in_vain(4, 7)]).unwrap();
        assert_eq!((silence.unanswered, silence.sent_since, silence.heard), (4, 3, true));
    }

    #[test]
    fn what_ends_with_an_answer_is_no_silence() {
        assert_eq!(Silence::at_the_end_of(&[]), None);
        assert_eq!(Silence::at_the_end_of(&[in_vain(0, 3), answered(0, 4)]), None);
        // a refusal is an answer, and so is a text that breaks off
        for kind in [FailureKind::HttpStatus, FailureKind::Connect, FailureKind::StreamBroken] {
            let refused = record(3, None, 6, &failed(kind));
            assert_eq!(Silence::at_the_end_of(&[in_vain(0, 3), refused]), None, "{kind}");
        }
    }

    #[test]
    fn text_that_came_before_a_limit_is_a_word() {
        let begun = record(0, Some(4), 5, &failed(FailureKind::Timeout));
        let silence = Silence::at_the_end_of(&[answered(0, 1), in_vain(1, 4), begun]).expect("silence");
        assert_eq!(
            silence,
            Silence { unanswered: 1, sent_since: 0, heard: true, lasted: Duration::from_secs(1) }
        );
    }
}
