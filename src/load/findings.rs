//! What a reader must know about a load's numbers before believing them. Whether it disqualifies a result is
//! judged elsewhere.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::named;
use super::outcome::{Ended, Sending, WarmupFacts};
use super::record::{RequestRecord, TokenSource};
use super::server::ServerFacts;
use super::spec::{Api, LoadSpec, SAMPLING_PARAMS};

/// Differences of token counts above this share are told.
const TOKENS_OFF: f64 = 0.01;

/// One observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum Finding {
    /// The warm-up gave up before the server's speed had settled.
    #[error("the warm-up ended after {seconds:.0} s without having seen the server settle")]
    WarmupNeverSettled {
        /// Its length.
        seconds: f64,
    },
    /// Requests of the warm-up failed.
    #[error("{failed} of {requests} requests of the warm-up failed")]
    WarmupFailures {
        /// Those that failed.
        failed: u64,
        /// All that ended.
        requests: u64,
    },
    /// Text came in a field that is not known; it was counted.
    #[error("{chunks} chunks carried text in the unknown field `{field}`, for example {example}")]
    UnknownTextField {
        /// The field's name.
        field: String,
        /// Chunks that had it.
        chunks: u64,
        /// One of them.
        example: String,
    },
    /// The server sent no token counts; chunks were counted instead.
    #[error("{requests} completed requests came without token counts: their chunks were counted")]
    UsageMissing {
        /// Requests without.
        requests: u64,
    },
    /// The server counts tokens of which nothing came.
    #[error(
        "{unseen} of {tokens} tokens that the server counts have no room in the text that came: at least a byte each, or an event of \
         their own"
    )]
    UnseenTokens {
        /// Those,
        unseen: u64,
        /// of all that it counts.
        tokens: u64,
    },
    /// The load was interrupted.
    #[error("{}", interrupted(*ended, *dropped, *unsent))]
    Interrupted {
        /// Requests that had ended,
        ended: u64,
        /// those in flight, which were dropped,
        dropped: u64,
        /// and those that were not sent; none where the load was to end by time.
        unsent: Option<u64>,
    },
    /// Nothing succeeded, and no more was sent.
    #[error("{}", gave_up(*failed, *after_s, *unsent))]
    GaveUp {
        /// Requests that had failed,
        failed: u64,
        /// until so many seconds after the start,
        after_s: f64,
        /// and those that were not sent.
        unsent: Option<u64>,
    },
    /// Conversations ended before their time.
    #[error(
        "{turns} further turns of {conversations} conversations were not sent, because a request of theirs had failed; they count as \
         not successful"
    )]
    TurnsDropped {
        /// Turns that were to follow,
        turns: u64,
        /// and conversations that failed requests ended.
        conversations: u64,
    },
    /// The server counts no token of answers that have text.
    #[error(
        "the server counts 0 tokens in {requests} answers that came with text: lengths, TPOT, ITL and output throughput lack them"
    )]
    CountedNone {
        /// Such answers.
        requests: u64,
    },
    /// Answers say that they are of another model.
    #[error("{}", named::text(*requests, *of, names, asked))]
    OtherModel {
        /// Completed requests whose answers do,
        requests: u64,
        /// of all that were completed.
        of: u64,
        /// The first of the names, in alphabetical order.
        names: Vec<String>,
        /// The one that was asked for.
        asked: String,
    },
    /// Answers have more tokens than they were to have.
    #[error(
        "{requests} completed requests brought more tokens than asked for, by the server's count: {tokens} where {asked} were, \
         the worst"
    )]
    LongerThanAsked {
        /// Requests that did.
        requests: u64,
        /// Tokens of the one that brought the most beyond what it was to bring,
        tokens: u32,
        /// and what that was.
        asked: u32,
    },
    /// The server counts other prompt tokens than we made.
    #[error("{}", input_differs((*server, *own), *template, *off_percent))]
    InputTokensDiffer {
        /// Mean tokens by the server's count.
        server: f64,
        /// Mean tokens by our own.
        own: f64,
        /// The part that is the same in most requests.
        template: f64,
        /// Mean difference beyond it, in percent of our own count.
        off_percent: f64,
    },
    /// Answers were cut off behind their last word.
    #[error(
        "{requests} answers were cut off behind their last word, [DONE], before the end that HTTP had announced: they are completed \
         here, and failed to clients that wait for that end, as `vllm bench serve` does"
    )]
    CutBehindEnd {
        /// Such answers.
        requests: u64,
    },
    /// Streams have a form that other tools fail at.
    #[error(
        "{requests} streams have events that `vllm bench serve` cannot read (fields beside `data: `, none or several lines of data): \
         its columns count these requests as failed"
    )]
    OtherForm {
        /// Such streams.
        requests: u64,
    },
    /// The server closed kept connections without announcing it.
    #[error("{requests} requests were sent twice: the server had closed their connections unannounced")]
    ConnectionsClosed {
        /// Requests that were sent twice.
        requests: u64,
    },
    /// Prompts begin as prompts of earlier loads of the launch.
    #[error(
        "{requests} of {of} prompts begin as one of an earlier load of this launch: a prefix cache that was not emptied \
         answers for them"
    )]
    BeginAlike {
        /// Those that do.
        requests: u64,
        /// All prompts of the data set.
        of: u64,
    },
    /// The data set has fewer questions than the load has requests.
    #[error(
        "{requests} requests asked what an earlier one of the load had asked: {different} of its questions differ"
    )]
    AskedAgain {
        /// Those that did.
        requests: u64,
        /// Questions that differ.
        different: u64,
    },
    /// The trace has fewer requests than the load was to send.
    #[error("the trace ended after {requests} requests, and {asked} were asked for")]
    TraceEnded {
        /// Those that it has.
        requests: u64,
        /// Those that were asked for.
        asked: u64,
    },
    /// The server had no room for what it had begun.
    #[error(
        "the server took back {times} begun requests for want of KV cache (preemptions), and did their work again"
    )]
    Preempted {
        /// How often.
        times: u64,
    },
    /// The server's page of metrics began anew.
    #[error("{}", begun_anew(series, (*from, *to), *again))]
    BegunAnew {
        /// What shows it.
        series: String,
        /// Its value before,
        from: f64,
        /// and after.
        to: f64,
        /// It was started again, and nothing else.
        again: bool,
    },
    /// Prompts had to be made while requests were timed.
    #[error("{requests} prompts were made while the load was running")]
    PromptsMadeLate {
        /// Their number.
        requests: u64,
    },
}

fn interrupted(ended: u64, dropped: u64, unsent: Option<u64>) -> String {
    let rest = match unsent {
        Some(unsent) => format!(", {unsent} were not sent"),
        None => ", and the load's time was not over".to_owned(),
    };
    format!(
        "interrupted: the numbers are of the {ended} requests that had ended; {dropped} in flight were dropped{rest}"
    )
}

fn gave_up(failed: u64, after_s: f64, unsent: Option<u64>) -> String {
    let rest =
        unsent.map_or_else(|| "no more were sent".to_owned(), |unsent| format!("{unsent} were not sent"));
    format!(
        "given up after {after_s:.0} s: all {failed} requests so far had failed, and no text had come; {rest}"
    )
}

fn input_differs((server, own): (f64, f64), template: f64, off_percent: f64) -> String {
    let counts = format!("the server counts {server:.1} prompt tokens on average where {own:.1} were made");
    if template < 0.0 {
        let share = (own - server) / own.max(1.0) * 100.0;
        return format!(
            "{counts}, {share:.1} % fewer than were sent: it cut prompts off, or counts otherwise"
        );
    }
    format!("{counts}; beyond a constant template of {template:.0}, counts differ by {off_percent:.1} %")
}

fn begun_anew(series: &str, (from, to): (f64, f64), again: bool) -> String {
    let went = if to < from { "fell" } else { "rose" };
    let seen = format!("{series} {went} from {from} to {to}");
    if again {
        return format!("the server was started again under the load: {seen}");
    }
    format!("{seen} during the load: the server was started again, or several servers answer at one address")
}

/// What the warm-up gives reason to say.
pub(super) fn of_warmup(facts: &WarmupFacts) -> Vec<Finding> {
    let mut findings = Vec::new();
    if facts.settled == Some(false) {
        findings.push(Finding::WarmupNeverSettled { seconds: facts.seconds });
    }
    if facts.failed > 0 {
        findings.push(Finding::WarmupFailures { failed: facts.failed, requests: facts.requests });
    }
    findings
}

/// What a load that ended before its time gives reason to say.
pub(super) fn of_end(ended: Ended, sending: &Sending, records: &[RequestRecord]) -> Option<Finding> {
    let done = records.len() as u64;
    let unsent = sending.unsent();
    match ended {
        Ended::Cancelled => {
            Some(Finding::Interrupted { ended: done, dropped: sending.dropped(done), unsent })
        }
        Ended::NothingSucceeded => {
            let after_s = records.iter().map(|r| r.end_ns).max().unwrap_or(0) as f64 / 1e9;
            Some(Finding::GaveUp { failed: done, after_s, unsent })
        }
        Ended::Whole => {
            let ended = records.iter().filter(|r| r.turn.is_some() && !r.is_completed()).count() as u64;
            let turns = unsent.filter(|turns| *turns > 0 && ended > 0)?;
            Some(Finding::TurnsDropped { turns, conversations: ended })
        }
        Ended::StoppedEarly | Ended::ServerDied => None,
    }
}

/// What the records give reason to say.
pub(super) fn of_records(records: &[RequestRecord], spec: &LoadSpec) -> Vec<Finding> {
    let mut findings = unknown_text(records);
    let uncounted =
        records.iter().filter(|r| r.is_completed() && r.counted_by == TokenSource::Chunks).count();
    if uncounted > 0 {
        findings.push(Finding::UsageMissing { requests: uncounted as u64 });
    }
    let none = |r: &&RequestRecord| r.is_completed() && r.output_tokens == 0 && !r.chunks.is_empty();
    let countless = records.iter().filter(none).count();
    if countless > 0 {
        findings.push(Finding::CountedNone { requests: countless as u64 });
    }
    findings.extend(unseen(records).map(|(unseen, tokens)| Finding::UnseenTokens { unseen, tokens }));
    findings.extend(named::finding(records, &spec.model));
    findings.extend(longer(records, spec));
    findings.extend(input_tokens(records, spec.api));
    findings.extend(forms(records, spec));
    let resent = records.iter().filter(|r| r.resent).count();
    if resent > 0 {
        findings.push(Finding::ConnectionsClosed { requests: resent as u64 });
    }
    findings
}

/// Tokens for which the text has no room, and all, where they are more than a few.
pub fn unseen(records: &[RequestRecord]) -> Option<(u64, u64)> {
    let completed = records.iter().filter(|r| r.is_completed());
    let counts = completed.map(|r| (u64::from(r.unseen_tokens), u64::from(r.output_tokens)));
    let (unseen, all) = counts.fold((0, 0), |(a, b), (x, y)| (a + x, b + y));
    (unseen as f64 > all as f64 * TOKENS_OFF).then_some((unseen, all))
}

/// What other tools would fail at, where there are columns of theirs.
fn forms(records: &[RequestRecord], spec: &LoadSpec) -> Vec<Finding> {
    let count =
        |of: fn(&RequestRecord) -> bool| records.iter().filter(|r| r.is_completed() && of(r)).count() as u64;
    let cut = count(|r| r.form.cut);
    let other = if spec.api == Api::Generate { 0 } else { count(|r| r.form.fields || r.form.lines) };
    let cut = (cut > 0).then_some(Finding::CutBehindEnd { requests: cut });
    cut.into_iter().chain((other > 0).then_some(Finding::OtherForm { requests: other })).collect()
}

/// What the server's own metrics give reason to say.
pub(super) fn of_server(facts: Option<&ServerFacts>) -> Option<Finding> {
    let times = facts?.preemptions.filter(|n| *n >= 1.0)?;
    Some(Finding::Preempted { times: times as u64 })
}

/// Fields of a body that decide how many answers there are, or may.
const MANY: [&str; 3] = ["n", "best_of", SAMPLING_PARAMS];

/// Tokens beyond what was asked for. Whoever states such a field asks for something else.
fn longer(records: &[RequestRecord], spec: &LoadSpec) -> Option<Finding> {
    if MANY.iter().any(|field| spec.extra_body.contains_key(*field)) {
        return None;
    }
    // chunks are not tokens: only a server's own count proves it
    let counted = records.iter().filter(|r| r.is_completed() && r.counted_by != TokenSource::Chunks);
    let long: Vec<&RequestRecord> = counted.filter(|r| r.output_tokens > r.output_tokens_asked).collect();
    let worst = long.iter().max_by_key(|r| r.output_tokens - r.output_tokens_asked)?;
    let (tokens, asked) = (worst.output_tokens, worst.output_tokens_asked);
    Some(Finding::LongerThanAsked { requests: long.len() as u64, tokens, asked })
}

fn unknown_text(records: &[RequestRecord]) -> Vec<Finding> {
    let mut fields: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    for unknown in records.iter().flat_map(|r| &r.unknown_text) {
        fields.entry(&unknown.field).or_insert((0, &unknown.example)).0 += u64::from(unknown.chunks);
    }
    let finding = |(field, (chunks, example)): (&str, (u64, &str))| Finding::UnknownTextField {
        field: field.to_owned(),
        chunks,
        example: example.to_owned(),
    };
    fields.into_iter().map(finding).collect()
}

/// Compares the counts of prompt tokens. A chat template adds the same to every prompt and is no difference;
/// without one, nothing but a start token may be added.
fn input_tokens(records: &[RequestRecord], api: Api) -> Option<Finding> {
    let counts: Vec<(f64, f64)> = records
        .iter()
        // what a template adds grows with the turns of a conversation
        .filter(|r| r.is_completed() && r.turn.is_none_or(|place| place.turn == 1))
        .filter_map(|r| Some((f64::from(r.prompt_tokens?), f64::from(r.prompt_tokens_own))))
        .collect();
    let mut differences: Vec<f64> = counts.iter().map(|(server, own)| server - own).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let template = *differences.get(differences.len() / 2)?;
    let n = counts.len() as f64;
    let server = counts.iter().map(|(server, _)| server).sum::<f64>() / n;
    let own = counts.iter().map(|(_, own)| own).sum::<f64>() / n;
    let beyond = differences.iter().map(|difference| (difference - template).abs()).sum::<f64>() / n;
    let allowed = (own * TOKENS_OFF).max(2.0);
    let odd_template = template < 0.0 || (!api.has_template() && template > allowed);
    let off = beyond / own.max(1.0);
    (odd_template || off > TOKENS_OFF).then_some(Finding::InputTokensDiffer {
        server,
        own,
        template,
        off_percent: off * 100.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_sent_is_told() {
        let sending = Sending { planned: Some(5000), begun: 396 };
        let end = |ended| of_end(ended, &sending, &[]).map(|finding| finding.to_string());
        assert_eq!(
            end(Ended::NothingSucceeded).as_deref(),
            Some(
                "given up after 0 s: all 0 requests so far had failed, and no text had come; 4604 were not sent"
            )
        );
        assert_eq!(
            end(Ended::Cancelled).as_deref(),
            Some(
                "interrupted: the numbers are of the 0 requests that had ended; 396 in flight were dropped, 4604 were not sent"
            )
        );
        assert_eq!((end(Ended::Whole), end(Ended::StoppedEarly), end(Ended::ServerDied)), (None, None, None));
    }

    #[test]
    fn fewer_prompt_tokens_than_were_sent_are_no_template() {
        let differ =
            |server, template| Finding::InputTokensDiffer { server, own: 400.0, template, off_percent: 0.0 };
        let fewer = differ(20.0, -380.0).to_string();
        assert!(fewer.contains("95.0 % fewer than were sent") && !fewer.contains("template"), "{fewer}");
        assert!(differ(500.0, 100.0).to_string().contains("a constant template of 100"));
    }
}
