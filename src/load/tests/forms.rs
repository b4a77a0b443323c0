//! Other answers than OpenAI's streams: whole ones, and those of SGLang's own endpoint.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_answer_has_the_time_of_its_end_alone() {
    let server = Server::start(|number, _| match number {
        0 => Reply::stream(vec![
            Step::Wait(10 * MS),
            Step::Send(r#"{"choices":[{"message":{"role":"assistant","content":"#.to_owned()),
            Step::Wait(10 * MS),
            Step::Send(
                r#""a b"},"finish_reason":"length"}],"usage":{"prompt_tokens":13,"completion_tokens":4}}"#
                    .to_owned(),
            ),
        ]),
        1 => Reply::stream(vec![Step::Send(r#"{"error":{"message":"out of blocks"}}"#.to_owned())]),
        2 => Reply::stream(vec![Step::Send(r#"{"choices":"#.to_owned()), Step::Cut]),
        _ => Reply::stream(vec![role(), token(), finish(), done()]),
    })
    .await;
    let outcome = load(&LoadSpec { stream: false, ..spec(&server, 4) }).await;
    let record = &outcome.records[0];
    assert_eq!((&record.outcome, record.output_tokens, record.prompt_tokens), (&Outcome::Ok, 4, Some(13)));
    assert_eq!((record.first_token_ns, record.chunks.len()), (None, 1));
    assert!(record.last_token_ns >= Some(record.sent_ns + 20_000_000) && record.tpot_ns().is_none());
    let kinds: Vec<_> = outcome.records[1..].iter().map(|r| r.outcome.failure().map(|f| f.kind)).collect();
    let expected = [FailureKind::StreamError, FailureKind::StreamBroken, FailureKind::BadStream];
    assert_eq!(kinds, expected.map(Some));
    let summary = outcome.summary;
    assert!(summary.ttft_ms.is_none() && summary.tpot_ms.is_none() && summary.itl_ms.is_none());
    assert!(summary.latency_ms.is_some_and(|d| d.n == 1 && d.mean >= 20.0));
    assert_eq!(server.seen.bodies.lock().expect("no panic")[0]["stream"], false);
    assert!(server.seen.heads.lock().expect("no panic")[0].contains("accept: application/json"));
}

fn generated(text: &str, tokens: u64, finish: &str) -> String {
    format!(
        r#"{{"text":"{text}","meta_info":{{"finish_reason":{finish},"prompt_tokens":8,"completion_tokens":{tokens},"cached_tokens":0}}}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn sglang_s_own_endpoint_is_asked_in_its_own_form() {
    const END: &str = r#"{"type":"length","length":4}"#;
    let server = Server::start(|_, body| match body["stream"].as_bool() {
        Some(true) => Reply::stream(vec![
            event(&generated(" a", 1, "null")),
            Step::Wait(10 * MS),
            event(&generated(" a b c", 3, "null")),
            event(&generated(" a b c d", 4, END)),
            done(),
        ]),
        _ => Reply::stream(vec![Step::Send(generated(" a b c d", 4, END))]),
    })
    .await;
    for stream in [true, false] {
        let spec = LoadSpec { api: Api::Generate, stream, ..spec(&server, 1) };
        let outcome = load(&spec).await;
        let record = &outcome.records[0];
        assert_eq!((&record.outcome, record.output_tokens, record.prompt_tokens), (&Outcome::Ok, 4, Some(8)));
        assert_eq!(record.counted_by == TokenSource::RunningUsage, stream);
        assert_eq!((record.first_token_ns.is_some(), outcome.summary.tpot_ms.is_some()), (stream, stream));
        assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    }
    let heads = server.seen.heads.lock().expect("no panic").clone();
    assert!(heads.iter().all(|head| head.starts_with("post /generate http/1.1")), "{heads:?}");
    let bodies = server.seen.bodies.lock().expect("no panic").clone();
    assert_eq!(bodies[0]["text"].as_str().map(|text| text.split(' ').count()), Some(8));
    let sampling =
        serde_json::json!({"max_new_tokens": 4, "temperature": 0.0, "top_p": 1.0, "ignore_eos": true});
    assert_eq!((&bodies[0]["sampling_params"], &bodies[1]["stream"]), (&sampling, &false.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn more_tokens_than_asked_are_told_unless_a_field_of_the_body_asks_for_them() {
    let server = Server::start(|number, _| {
        Reply::stream(vec![token(), token(), finish(), usage(8, 9 + number as u64), done()])
    })
    .await;
    let longer = spec(&server, 2);
    let asked = *longer.prompts.output.end();
    let findings = load(&longer).await.findings;
    let told = Finding::LongerThanAsked { requests: 2, tokens: 10, asked };
    assert!(findings.contains(&told), "{findings:?}");
    let mut stated = spec(&server, 1);
    stated.extra_body.insert("max_tokens".to_owned(), 99.into());
    let findings = load(&stated).await.findings;
    assert!(!findings.iter().any(|f| matches!(f, Finding::LongerThanAsked { .. })), "{findings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_name_another_model_are_told() {
    let server = Server::start(|number, body| {
        let asked = body["model"].as_str().expect("a model").to_owned();
        let name = if number < 2 { format!("org/{asked}@main") } else { "fallback".to_owned() };
        let named = |text: &str| text.replacen('{', &format!(r#"{{"model":"{name}","#), 1);
        let Step::Send(first) = token() else { panic!("a token is sent") };
        Reply::stream(vec![Step::Send(named(&first)), finish(), usage(8, 1), done()])
    })
    .await;
    let of_names =
        |findings: &[Finding]| findings.iter().filter(|f| matches!(f, Finding::OtherModel { .. })).count();
    let same = load(&spec(&server, 2)).await;
    assert_eq!(of_names(&same.findings), 0, "{:?}", same.findings);
    let other = load(&spec(&server, 3)).await;
    let found = other.findings.iter().find(|f| matches!(f, Finding::OtherModel { .. })).expect("told");
    assert!(found.to_string().starts_with("3 of 3 answers name another model than `"), "{found}");
    assert!(found.to_string().ends_with(": `fallback`"), "{found}");
    assert!(!is_mixed(found));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_length_that_the_body_states_is_the_one_that_was_asked_for() {
    let server = sound_server(Step::Wait(Duration::ZERO)).await;
    let mut stated = spec(&server, 2);
    stated.extra_body.insert("max_tokens".to_owned(), 3.into());
    let outcome = load(&stated).await;
    assert_eq!((outcome.summary.short, outcome.summary.output_tokens), (0, 6));
    assert!(outcome.records.iter().all(|r| r.output_tokens_asked == 3 && r.outcome == Outcome::Ok));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cap_holds_back_whoever_is_behind_one_that_waits() {
    // four answers end at the same moment, so that four places become free together
    let pace = Arc::new(Barrier::new(4));
    let server = Server::start(move |_, body| {
        let mut reply = sound(body, &Step::Wait(10 * MS));
        reply.steps.insert(0, Step::Together(Arc::clone(&pace)));
        reply
    })
    .await;
    let mut spec = spec(&server, 16);
    (spec.arrivals, spec.in_flight) = (Arrivals::AllAtOnce, Some(4));
    let outcome = load(&spec).await;
    let mut records = outcome.records;
    records.sort_by_key(|r| r.index);
    let first_end = records.iter().map(|r| r.end_ns).min();
    for pair in records.windows(2) {
        assert!(pair[0].released_ns <= pair[1].released_ns, "{pair:?}");
    }
    assert!(records[4..].iter().all(|r| Some(r.released_ns) >= first_end), "{records:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_cannot_be_read_has_its_status_all_the_same() {
    for status in ["200 OK", "503 Busy"] {
        let reply = Reply { status: Some(status), headers: "Content-Encoding: gzip\r\n", steps: vec![] };
        let server = Server::start(move |_, _| reply.clone()).await;
        let records = load(&spec(&server, 1)).await.records;
        assert_eq!(records[0].http_status, status[..3].parse().ok());
        let failure = records[0].outcome.failure().expect("it failed");
        // what is missing of a refusal does not change that it is one
        let told = if status.starts_with('2') { "`gzip`" } else { "503" };
        assert!(failure.message.contains(told), "{failure}");
    }
}
