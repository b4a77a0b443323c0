//! Whole loads against a scripted server in the same process.

mod few_threads;
mod forms;
mod server;

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

use self::server::{Reply, Server, Step};
use super::run::run_with;
use super::warmup::SettleRule;
use super::*;

const MS: Duration = Duration::from_millis(1);
/// Far beyond anything that a busy machine needs.
const PATIENCE: Duration = Duration::from_mins(1);

fn event(json: &str) -> Step {
    Step::Send(format!("data: {json}\n\n"))
}

fn role() -> Step {
    event(r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#)
}

fn token() -> Step {
    event(r#"{"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}"#)
}

fn finish() -> Step {
    event(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#)
}

fn usage(prompt: u64, completion: u64) -> Step {
    let counts = format!(r#""prompt_tokens":{prompt},"completion_tokens":{completion}"#);
    event(&format!(r#"{{"choices":[],"usage":{{{counts},"prompt_tokens_details":{{"cached_tokens":2}}}}}}"#))
}

fn done() -> Step {
    Step::Send("data: [DONE]\n\n".to_owned())
}

fn words(body: &Value) -> u64 {
    let text = body["messages"][0]["content"].as_str().expect("a chat body");
    text.split_ascii_whitespace().count() as u64
}

/// What a sound server does: the role, all tokens asked for, each preceded by `before`, and the counts (with
/// a template of 5 tokens).
fn sound(body: &Value, before: &Step) -> Reply {
    let asked = body["max_tokens"].as_u64().expect("a length");
    let mut steps = vec![role()];
    for _ in 0..asked {
        steps.extend([before.clone(), token()]);
    }
    steps.extend([finish(), usage(words(body) + 5, asked), done()]);
    Reply::stream(steps)
}

async fn sound_server(before: Step) -> Server {
    Server::start(move |_, body| sound(body, &before)).await
}

fn spec(server: &Server, requests: u64) -> LoadSpec {
    let prompts =
        Prompts { input: 8..=8, output: 4..=4, tokenizer: None, counts_template: false, shared: None };
    LoadSpec {
        stop: Stop::Requests(requests),
        warmup: Warmup::None,
        prompts,
        ..LoadSpec::new(&server.url, "m")
    }
}

async fn load(spec: &LoadSpec) -> LoadOutcome {
    load_seen(spec, &mut Silent).await
}

async fn load_seen(spec: &LoadSpec, observer: &mut dyn Observer) -> LoadOutcome {
    let (cancel, dead) = (CancellationToken::new(), CancellationToken::new());
    let load = tokio::time::timeout(PATIENCE, run(spec, observer, &cancel, &dead)).await;
    load.expect("the load ends").expect("the load is sound")
}

/// The failure of the only request of a load.
async fn failure(spec: &LoadSpec) -> Failure {
    let outcome = load(spec).await;
    assert_eq!((outcome.summary.failed, outcome.summary.planned), (1, 1));
    match outcome.records[0].outcome.clone() {
        Outcome::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

async fn failure_of(reply: Reply) -> Failure {
    let server = Server::start(move |_, _| reply.clone()).await;
    failure(&spec(&server, 1)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_stream_gives_a_whole_record() {
    let server = sound_server(Step::Wait(10 * MS)).await;
    let outcome = load(&spec(&server, 3)).await;
    assert_eq!((outcome.ended, outcome.findings.as_slice()), (Ended::Whole, [].as_slice()));
    for (index, record) in outcome.records.iter().enumerate() {
        assert_eq!(
            (record.index, record.http_status, &record.outcome),
            (index as u64, Some(200), &Outcome::Ok)
        );
        assert_eq!((record.prompt_tokens, record.prompt_tokens_own), (Some(13), 8));
        assert_eq!((record.output_tokens, record.output_tokens_asked, record.cached_tokens), (4, 4, Some(2)));
        assert_eq!(record.finish_reason.as_deref(), Some("length"));
        assert_eq!(record.chunks.iter().map(super::Chunk::tokens).collect::<Vec<_>>(), [1, 2, 3, 4]);
        let times =
            [Some(record.scheduled_ns), Some(record.released_ns), Some(record.sent_ns), record.headers_ns];
        let ends = [record.first_token_ns, record.last_token_ns, Some(record.end_ns)];
        let times: Vec<u64> = times.into_iter().chain(ends).map(|at| at.expect("a time")).collect();
        assert!(times.is_sorted(), "{times:?}");
        // the server waits before each of the four tokens; the role it sends at once is none of them
        assert!(record.first_token_ns >= Some(record.sent_ns + 10_000_000));
        assert!(record.last_token_ns >= Some(record.sent_ns + 40_000_000));
    }
    let summary = outcome.summary;
    assert_eq!((summary.completed, summary.input_tokens, summary.output_tokens), (3, 39, 12));
    assert_eq!(
        (summary.success_rate, summary.cached_tokens, summary.peak_in_flight),
        (Some(1.0), Some(6), 1)
    );
    assert!(summary.duration_s >= 0.12 && summary.client.cpu_s.is_some());
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 1, "the connection is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_is_what_was_asked_for() {
    let server = sound_server(Step::Wait(Duration::ZERO)).await;
    load(&spec(&server, 2)).await;
    let head = server.seen.heads.lock().expect("no panic")[0].clone();
    assert!(head.starts_with("post /v1/chat/completions http/1.1"), "{head}");
    assert!(
        head.contains("accept-encoding: identity") && head.contains("content-type: application/json"),
        "{head}"
    );
    let bodies = server.seen.bodies.lock().expect("no panic").clone();
    assert_eq!((&bodies[0]["temperature"], &bodies[0]["ignore_eos"]), (&0.0.into(), &true.into()));
    assert_eq!(words(&bodies[0]), 8);
    assert_ne!(bodies[0]["messages"], bodies[1]["messages"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_loop_keeps_its_clients_busy_and_never_exceeds_them() {
    // every answer waits until four are there: with fewer in flight the load would never end
    let server = sound_server(Step::Together(Arc::new(Barrier::new(4)))).await;
    let mut spec = spec(&server, 40);
    spec.arrivals = Arrivals::Closed { concurrency: 4 };
    let outcome = load(&spec).await;
    assert_eq!((outcome.summary.completed, outcome.summary.peak_in_flight), (40, 4));
    assert_eq!(server.seen.peak.load(Ordering::SeqCst), 4);
    let indices: HashSet<u64> = outcome.records.iter().map(|r| r.index).collect();
    assert_eq!(indices, (0..40).collect());
    assert!(outcome.summary.steady.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_the_cap_is_charged_from_the_schedule() {
    let server = sound_server(Step::Wait(10 * MS)).await;
    let mut spec = spec(&server, 6);
    spec.arrivals = Arrivals::AllAtOnce;
    spec.in_flight = Some(2);
    let outcome = load(&spec).await;
    assert_eq!((outcome.summary.completed, server.seen.peak.load(Ordering::SeqCst)), (6, 2));
    assert!(outcome.records.iter().all(|r| r.scheduled_ns == 0));
    // the last pair waits for two answers of at least 40 ms each
    let max = |dist: Option<Dist>| dist.expect("samples").max;
    assert!(max(outcome.summary.queue_ms) >= 80.0);
    assert!(max(outcome.summary.ttft_from_schedule_ms) >= 90.0);
    assert!(max(outcome.summary.latency_from_schedule_ms) >= 120.0);
    for r in &outcome.records {
        assert!(r.scheduled_ns <= r.released_ns && r.released_ns <= r.sent_ns);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_loop_keeps_its_schedule() {
    let server = sound_server(Step::Wait(Duration::ZERO)).await;
    let mut spec = spec(&server, 50);
    spec.arrivals = Arrivals::Poisson { rate: 400.0 };
    let outcome = load(&spec).await;
    let mut records = outcome.records;
    records.sort_by_key(|r| r.index);
    let expected = schedule(spec.arrivals, spec.seed, |count, _| count < 50).expect("sound");
    let sent: Vec<u128> = records.iter().map(|r| u128::from(r.scheduled_ns)).collect();
    assert_eq!(sent, expected.iter().map(Duration::as_nanos).collect::<Vec<_>>());
    assert!(records.iter().all(|r| r.sent_ns >= r.scheduled_ns && r.is_completed()));
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_told_by_kind_and_reason() {
    let refused = Reply {
        status: Some("429 Too Many Requests"),
        headers: "Retry-After: 7\r\n",
        steps: vec![Step::Send(r#"{"error":{"message":"slow down"}}"#.into())],
    };
    let failure = failure_of(refused).await;
    let said = (failure.kind, failure.message.as_str());
    assert_eq!(said, (FailureKind::HttpStatus, "429 (Retry-After: 7): slow down"));
    let moved =
        Reply { status: Some("307 Temporary Redirect"), headers: "Location: /elsewhere\r\n", steps: vec![] };
    assert!(failure_of(moved).await.message.starts_with("307"));
    let cases = [
        (vec![role(), token(), Step::Cut], FailureKind::StreamBroken),
        (vec![role(), token(), event(r#"{"error":{"message":"x"}}"#), done()], FailureKind::StreamError),
        (vec![role(), token(), done()], FailureKind::NoFinishReason),
        (vec![role(), token()], FailureKind::NoFinishReason),
        (vec![role(), finish(), done()], FailureKind::NoTokens),
        (vec![Step::Send("{\"choices\":[]}".into())], FailureKind::BadStream),
        (vec![event("nonsense")], FailureKind::BadStream),
    ];
    for (steps, kind) in cases {
        let failure = failure_of(Reply::stream(steps.clone())).await;
        assert_eq!(failure.kind, kind, "{steps:?}: {failure}");
    }
    let cut_at_once = Reply { status: None, headers: "", steps: vec![Step::Cut] };
    let silent = failure_of(cut_at_once).await;
    assert!(silent.kind == FailureKind::StreamBroken && silent.message.contains("https://"), "{silent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_connection_is_a_failure_of_its_own() {
    let unused = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = unused.local_addr().expect("an address");
    drop(unused);
    let server = sound_server(Step::Hang).await;
    let spec = LoadSpec { base_url: format!("http://{address}/"), ..spec(&server, 1) };
    let failure = failure(&spec).await;
    assert_eq!(failure.kind, FailureKind::Connect);
    assert!(failure.message.to_lowercase().contains("refused"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_closed_unannounced_costs_one_marked_repetition() {
    let server = sound_server(Step::Wait(Duration::ZERO)).await;
    server.seen.per_connection.store(1, Ordering::SeqCst);
    let outcome = load(&spec(&server, 6)).await;
    assert_eq!((outcome.summary.completed, outcome.summary.failed), (6, 0));
    assert_eq!(
        outcome.records.iter().map(|r| r.resent).collect::<Vec<_>>(),
        [false, true, false, false, false, false]
    );
    assert_eq!(server.seen.bodies.lock().expect("no panic").len(), 6, "the server answered each once");
    assert!(matches!(outcome.findings[..], [Finding::ConnectionsClosed { requests: 1 }]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_a_request_and_closes_without_an_answer_fails_it() {
    let sound = || vec![token(), finish(), usage(1, 1), done()];
    let silent = vec![Step::Wait(1000 * MS), Step::Cut];
    let server = Server::start(move |number, _| match number {
        1 => Reply { status: None, headers: "", steps: silent.clone() },
        _ => Reply::stream(sound()),
    })
    .await;
    let outcome = load(&spec(&server, 3)).await;
    assert_eq!((outcome.summary.completed, outcome.summary.failed), (2, 1), "{:?}", outcome.records);
    let failures: Vec<String> =
        outcome.records.iter().filter_map(|r| r.outcome.failure()).map(ToString::to_string).collect();
    assert!(failures[0].ends_with("closed before an answer came"), "{failures:?}");
    assert_eq!(server.seen.bodies.lock().expect("no panic").len(), 3, "nothing was sent twice");
    assert!(!outcome.findings.iter().any(|f| matches!(f, Finding::ConnectionsClosed { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_limit_ends_a_request() {
    let limits = |first_byte, idle, total| Timeouts { first_byte, idle, total };
    let cases = [
        (
            Reply { status: None, headers: "", steps: vec![Step::Hang] },
            limits(200 * MS, PATIENCE, None),
            "no text",
        ),
        // a role alone is no sign that the queue is through
        (Reply::stream(vec![role(), Step::Hang]), limits(200 * MS, PATIENCE, None), "no text"),
        (Reply::stream(vec![token(), Step::Hang]), limits(PATIENCE, 200 * MS, None), "no byte"),
        (Reply::stream(vec![token(), Step::Hang]), limits(PATIENCE, PATIENCE, Some(200 * MS)), "not done"),
    ];
    for (reply, timeouts, what) in cases {
        let server = Server::start(move |_, _| reply.clone()).await;
        let failure = failure(&LoadSpec { timeouts, ..spec(&server, 1) }).await;
        assert_eq!(failure.kind, FailureKind::Timeout);
        assert!(failure.message.starts_with(what), "{failure}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_byte_puts_the_limit_of_silence_off() {
    let pause = Step::Wait(150 * MS);
    let steps = (0..8).flat_map(|_| [token(), pause.clone()]).chain([finish(), usage(8, 8), done()]);
    let reply = Reply::stream(steps.collect());
    let server = Server::start(move |_, _| reply.clone()).await;
    let timeouts = Timeouts { first_byte: PATIENCE, idle: 1000 * MS, total: None };
    let outcome = load(&LoadSpec { timeouts, ..spec(&server, 1) }).await;
    assert_eq!(outcome.records[0].outcome, Outcome::Ok, "1.2 s in all, and never silent for 1 s");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_before_the_request_was_read_is_heard_and_its_connection_not_used_again() {
    const LARGE: usize = 24 << 20;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = tokio::spawn(async move {
        let mut open = Vec::new();
        for _ in 0..2 {
            let (mut socket, _) = listener.accept().await.expect("a connection");
            let answer = b"HTTP/1.1 413 Too Large\r\nContent-Length: 8\r\n\r\ntoo much";
            tokio::io::AsyncReadExt::read(&mut socket, &mut [0; 16]).await.expect("a request");
            tokio::io::AsyncWriteExt::write_all(&mut socket, answer).await.expect("written");
            open.push(socket);
        }
        open
    });
    let mut large = LoadSpec::new(url, "m");
    large.extra_body.insert("pad".to_owned(), "x".repeat(LARGE).into());
    let prompts =
        Prompts { input: 8..=8, output: 4..=4, tokenizer: None, counts_template: false, shared: None };
    let outcome = load(&LoadSpec { stop: Stop::Requests(2), warmup: Warmup::None, prompts, ..large }).await;
    for record in &outcome.records {
        let Outcome::Failed(failure) = &record.outcome else { panic!("{record:?}") };
        assert_eq!((failure.kind, record.http_status), (FailureKind::HttpStatus, Some(413)), "{failure}");
        assert!(failure.message.contains("too much"), "{failure}");
    }
    assert_eq!(server.await.expect("two connections").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_stays_open_after_the_last_word_is_no_failure() {
    let server =
        Server::start(|_, _| Reply::stream(vec![token(), finish(), usage(8, 4), done(), Step::Hang])).await;
    let outcome = load(&spec(&server, 1)).await;
    assert_eq!(outcome.records[0].outcome, Outcome::Ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn fewer_tokens_than_asked_are_short_and_count() {
    let server =
        Server::start(|_, _| Reply::stream(vec![token(), token(), finish(), usage(8, 2), done()])).await;
    let outcome = load(&spec(&server, 1)).await;
    assert_eq!((outcome.summary.completed, outcome.summary.short, outcome.summary.output_tokens), (1, 1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_name_what_is_odd() {
    let thought = event(r#"{"choices":[{"delta":{"musing":"hm"},"finish_reason":null}]}"#);
    let odd = thought.clone();
    let server =
        Server::start(move |_, _| Reply::stream(vec![odd.clone(), odd.clone(), finish(), done()])).await;
    let findings = load(&spec(&server, 3)).await.findings;
    assert!(matches!(&findings[0], Finding::UnknownTextField { field, chunks: 6, .. } if field == "musing"));
    assert!(matches!(findings[1], Finding::UsageMissing { requests: 3 }));
    assert_eq!(findings.len(), 2, "{findings:?}");
    let server = Server::start(|number, body| {
        let more = if number % 2 == 0 { 1 } else { 3 };
        Reply::stream(vec![token(), finish(), usage(words(body) * more, 4), done()])
    })
    .await;
    let findings = load(&spec(&server, 10)).await.findings;
    assert!(matches!(findings[..], [Finding::InputTokensDiffer { .. }]), "{findings:?}");
}

/// Notes everything, and stops a load at its checkpoint.
#[derive(Debug, Default)]
struct Notes {
    phases: Vec<Phase>,
    last: Option<Progress>,
    checkpoints: Vec<(u64, u64)>,
    stop: bool,
}

impl Observer for Notes {
    fn phase(&mut self, phase: Phase) {
        self.phases.push(phase);
    }

    fn progress(&mut self, progress: Progress) {
        self.last = Some(progress);
    }

    fn checkpoint(&mut self, done: u64, so_far: &Summary, records: &[RequestRecord]) -> Verdict {
        assert_eq!(records.len() as u64, done);
        self.checkpoints.push((done, so_far.completed));
        if self.stop { Verdict::Stop } else { Verdict::Continue }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_observer_sees_phases_progress_and_checkpoints() {
    let server = sound_server(Step::Wait(MS)).await;
    let mut spec = spec(&server, 12);
    spec.checkpoints = vec![5, 10];
    spec.warmup = Warmup::Requests(2);
    let mut notes = Notes::default();
    let outcome = load_seen(&spec, &mut notes).await;
    assert_eq!((outcome.ended, outcome.warmup.requests, outcome.warmup.settled), (Ended::Whole, 2, None));
    assert_eq!(notes.checkpoints, [(5, 5), (10, 10)]);
    assert_eq!(notes.last.map(|p| (p.done, p.failed, p.planned)), Some((12, 0, Some(12))));
    let expected = [Phase::Preparing, Phase::WarmupBegun, Phase::LoadBegun { planned: Some(12) }];
    let seen: Vec<Phase> =
        notes.phases.into_iter().filter(|p| !matches!(p, Phase::WarmupDone { .. })).collect();
    assert_eq!(seen, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_can_end_the_load() {
    // the first ten answers come, the others never do
    let server = Server::start(|number, body| {
        if number < 10 { sound(body, &Step::Wait(MS)) } else { Reply::stream(vec![token(), Step::Hang]) }
    })
    .await;
    let mut spec = spec(&server, 100);
    spec.arrivals = Arrivals::Closed { concurrency: 3 };
    spec.checkpoints = vec![10];
    let mut notes = Notes { stop: true, ..Notes::default() };
    let outcome = load_seen(&spec, &mut notes).await;
    assert!(outcome.stopped_early());
    assert_eq!(
        (outcome.records.len(), outcome.summary.planned, outcome.summary.success_rate),
        (10, 10, Some(1.0))
    );
    all_closed(&server).await;
}

/// Waits until the server has seen every connection close.
async fn all_closed(server: &Server) {
    let patience = Instant::now() + PATIENCE;
    while server.seen.open.load(Ordering::SeqCst) > 0 {
        assert!(Instant::now() < patience, "connections stay open");
        tokio::time::sleep(MS).await;
    }
}

/// Runs a load whose every answer hangs after its first token, and calls `end` when all six are under way.
async fn interrupted(
    arrivals: Arrivals,
    end: impl Fn(&CancellationToken, &CancellationToken),
) -> LoadOutcome {
    let server = Server::start(|_, _| Reply::stream(vec![token(), Step::Hang])).await;
    let spec = LoadSpec { arrivals, ..spec(&server, 6) };
    let (cancel, dead) = (CancellationToken::new(), CancellationToken::new());
    let seen = Arc::clone(&server.seen);
    let ending = async {
        while seen.in_flight.load(Ordering::SeqCst) < 6 {
            tokio::time::sleep(MS).await;
        }
        end(&cancel, &dead);
    };
    let mut silent = Silent;
    let both = async { tokio::join!(run(&spec, &mut silent, &cancel, &dead), ending).0 };
    let outcome = tokio::time::timeout(PATIENCE, both).await.expect("it ends").expect("a sound load");
    all_closed(&server).await;
    outcome
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_drops_all_connections() {
    for arrivals in [Arrivals::AllAtOnce, Arrivals::Closed { concurrency: 6 }] {
        let outcome = interrupted(arrivals, |cancel, _| cancel.cancel()).await;
        assert!(outcome.cancelled() && outcome.records.is_empty());
        assert_eq!(outcome.sending, Sending { planned: Some(6), begun: 6 });
        let told = [Finding::Interrupted { ended: 0, dropped: 6, unsent: Some(0) }];
        assert_eq!((outcome.findings.as_slice(), outcome.summary.success_rate), (&told[..], None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_server_fails_open_requests() {
    for arrivals in [Arrivals::AllAtOnce, Arrivals::Closed { concurrency: 6 }] {
        let outcome = interrupted(arrivals, |_, dead| dead.cancel()).await;
        assert_eq!(
            (outcome.ended, outcome.summary.failed, outcome.summary.planned),
            (Ended::ServerDied, 6, 6)
        );
        assert_eq!(outcome.summary.errors[&FailureKind::StreamBroken], 6);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_cancelled_before_it_began_says_so() {
    let server = sound_server(Step::Hang).await;
    let (cancel, dead) = (CancellationToken::new(), CancellationToken::new());
    cancel.cancel();
    let outcome = run(&spec(&server, 5), &mut Silent, &cancel, &dead).await.expect("no error");
    assert!(outcome.cancelled());
    assert_eq!((outcome.summary.planned, outcome.summary.success_rate), (0, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_warm_up_has_prompts_of_its_own() {
    let server = sound_server(Step::Wait(Duration::ZERO)).await;
    let mut spec = spec(&server, 30);
    spec.warmup = Warmup::Requests(30);
    load(&spec).await;
    let bodies = server.seen.bodies.lock().expect("no panic").clone();
    let first = |bodies: &[Value]| -> HashSet<String> {
        let texts = bodies.iter().filter_map(|body| body["messages"][0]["content"].as_str());
        texts.filter_map(|text| text.split(' ').next().map(str::to_owned)).collect()
    };
    assert_eq!(bodies.len(), 60);
    assert!(first(&bodies[..30]).is_disjoint(&first(&bodies[30..])));
}

async fn warmed(tolerance: f64) -> LoadOutcome {
    let server = sound_server(Step::Wait(MS)).await;
    let mut spec = spec(&server, 5);
    spec.warmup = Warmup::Auto;
    let settle = SettleRule { window: 200 * MS, windows: 3, tolerance, limit: 2000 * MS };
    let (cancel, dead) = (CancellationToken::new(), CancellationToken::new());
    let mut silent = Silent;
    let load = run_with(&spec, settle, &mut silent, &cancel, &dead);
    tokio::time::timeout(PATIENCE, load).await.expect("it ends").expect("a sound load")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_warm_up_ends_when_the_server_has_settled_or_says_that_it_has_not() {
    let outcome = warmed(1000.0).await;
    assert_eq!((outcome.warmup.settled, outcome.summary.completed), (Some(true), 5));
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    let outcome = warmed(-1.0).await;
    assert_eq!((outcome.warmup.settled, outcome.summary.completed), (Some(false), 5));
    assert!(matches!(outcome.findings[..], [Finding::WarmupNeverSettled { .. }]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timed_load_sends_for_its_time_and_waits_for_the_last() {
    let server = sound_server(Step::Wait(5 * MS)).await;
    let mut spec = spec(&server, 1);
    spec.stop = Stop::Duration(300 * MS);
    spec.arrivals = Arrivals::Closed { concurrency: 3 };
    let outcome = load(&spec).await;
    assert_eq!((outcome.ended, outcome.summary.failed), (Ended::Whole, 0));
    assert_eq!(outcome.summary.planned, outcome.records.len() as u64);
    assert!(outcome.records.iter().all(|r| r.scheduled_ns < 400_000_000 || r.index < 3));
    assert!(outcome.load_s >= 0.3);
}

#[tokio::test]
async fn a_runtime_with_one_thread_is_enough() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&order);
    let server = Server::start(move |number, body| {
        noted.lock().expect("no panic").push(number);
        sound(body, &Step::Wait(MS))
    })
    .await;
    let mut spec = spec(&server, 20);
    spec.arrivals = Arrivals::Constant { rate: 1000.0 };
    assert_eq!(load(&spec).await.summary.completed, 20);
    assert_eq!(order.lock().expect("no panic").len(), 20);
}
