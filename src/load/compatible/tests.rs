//! Each formula on requests whose numbers were worked out by hand, and on recorded streams.

use super::vllm::Vllm;
use super::{Column, columns, guidellm};
use crate::load::dist::Dist;
use crate::load::meter::StreamMeter;
use crate::load::record::{Failure, FailureKind, Form, Outcome, RequestRecord, Textless};
use crate::load::spec::{Api, LoadSpec};

const MS: u64 = 1_000_000;

/// Sent at 10 ms. A role at 60, text at 110 (1 token), 140 (4) and 160 (5), the end alone at 170 (an empty text), usage at 180; over at 200.
fn record() -> RequestRecord {
    let json = serde_json::json!({
        "version": 1, "index": 0, "scheduled_ns": 0, "released_ns": 0, "sent_ns": 10 * MS, "headers_ns": 50 * MS,
        "first_token_ns": 110 * MS, "last_token_ns": 160 * MS, "end_ns": 200 * MS,
        "chunks": [[110 * MS, 1], [140 * MS, 4], [160 * MS, 5]],
        "silent": [[60 * MS, false], [170 * MS, true]], "last_event_ns": 180 * MS, "content_ns": [110 * MS, 160 * MS],
        "prompt_tokens": 30, "prompt_tokens_own": 20, "output_tokens_asked": 5, "output_tokens": 5, "counted_by": "usage",
        "cached_tokens": null, "finish_reason": "length", "http_status": 200, "outcome": {"is": "ok"},
    });
    serde_json::from_value(json).expect("a record")
}

/// Sent at 10 ms, its only token at 50; usage at 60, over at 110.
fn short() -> RequestRecord {
    RequestRecord {
        first_token_ns: Some(50 * MS),
        last_token_ns: Some(50 * MS),
        end_ns: 110 * MS,
        chunks: [crate::load::Chunk(50 * MS, 1)].into_iter().collect(),
        silent: Box::default(),
        last_event_ns: Some(60 * MS),
        content_ns: Some((50 * MS, 50 * MS)),
        output_tokens: 1,
        ..record()
    }
}

#[test]
fn what_their_clients_fail_at_is_failed_in_their_columns() {
    let with = |cut, fields, lines| RequestRecord { form: Form { cut, fields, lines }, ..record() };
    let of = |record: RequestRecord| {
        let columns = columns(&[record], &spec(Api::Chat));
        ["vllm-0.11", "vllm-0.33", "guidellm-0.5"].map(|name| columns[name].completed)
    };
    assert_eq!(of(record()), [1, 1, 1]);
    assert_eq!(of(with(true, false, false)), [0, 0, 0], "a body that was cut off");
    assert_eq!(of(with(false, true, false)), [0, 0, 1], "an `event:`");
    assert_eq!(of(with(false, false, true)), [0, 0, 0], "data on several lines");
}

fn failed(kind: FailureKind, status: Option<u16>) -> RequestRecord {
    let failure = Failure { kind, message: "made up".to_owned() };
    RequestRecord { outcome: Outcome::Failed(failure), http_status: status, ..record() }
}

fn spec(api: Api) -> LoadSpec {
    LoadSpec { api, ..LoadSpec::new("http://h", "m") }
}

fn vllm(version: Vllm, records: &[RequestRecord], api: Api) -> Column {
    version.column(records, &spec(api))
}

fn mean(of: Option<Dist>) -> f64 {
    of.expect("samples").mean
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9, "{a} is not {b}");
}

#[test]
fn an_old_vllm_takes_every_message_of_a_chat_for_a_token_and_the_usage_for_the_end() {
    let all = [record(), short()];
    let column = vllm(Vllm::V0_11, &all, Api::Chat);
    assert_eq!((column.completed, column.failed), (2, 0));
    // without a tokenizer nobody but the server knows how long a prompt is
    assert_eq!((column.input_tokens, column.output_tokens), (60, 6));
    close(column.duration_s, 0.19);
    close(column.request_rate, 2.0 / 0.19);
    close(column.output_tps.expect("a rate"), 6.0 / 0.19);
    close(column.total_tps.expect("a rate"), 66.0 / 0.19);
    // the role at 50 ms after sending, the only token of the other at 40
    close(mean(column.ttft_ms), 45.0);
    // the usage at 170 and 50
    close(mean(column.latency_ms), 110.0);
    // (170 - 50) / 4; one token has none
    let tpot = column.tpot_ms.expect("samples");
    assert_eq!(tpot.n, 1);
    close(tpot.mean, 30.0);
    // 60, 110, 140, 160, 170, whatever tokens they bring
    let itl = column.itl_ms.expect("gaps");
    assert_eq!((itl.n, itl.max, itl.min), (4, 50.0, 10.0));
    close(itl.mean, 27.5);
    close(itl.p50, 25.0);
    close(itl.p99, 20.0_f64.mul_add(0.97, 30.0));
    let mut known = spec(Api::Chat);
    known.prompts.tokenizer = Some("tokenizer.json".into());
    assert_eq!(Vllm::V0_11.column(&all, &known).input_tokens, 40, "as its client made them");
    assert_eq!(Vllm::V0_33.column(&all, &known).input_tokens, 60, "as the server counts them");
}

#[test]
fn completions_end_with_their_last_choice() {
    for version in Vllm::ALL {
        let column = vllm(version, &[record()], Api::Completions);
        close(mean(column.ttft_ms), 50.0);
        close(mean(column.latency_ms), 160.0);
        close(mean(column.tpot_ms), 110.0 / 4.0);
        assert_eq!(column.itl_ms.expect("gaps").n, 4);
    }
}

#[test]
fn a_new_vllm_counts_text_and_an_empty_text_without_a_role() {
    let column = vllm(Vllm::V0_33, &[record()], Api::Chat);
    close(mean(column.ttft_ms), 100.0);
    close(mean(column.latency_ms), 160.0);
    close(mean(column.tpot_ms), 15.0);
    // 110, 140, 160, 170
    let itl = column.itl_ms.expect("gaps");
    assert_eq!(itl.n, 3);
    close(itl.mean, 20.0);
    // as SGLang ends: no text at all
    let bare =
        RequestRecord { silent: [Textless(60 * MS, false), Textless(170 * MS, false)].into(), ..record() };
    close(mean(vllm(Vllm::V0_33, &[bare], Api::Chat).latency_ms), 150.0);
}

#[test]
fn who_looks_at_the_status_alone_counts_answers_that_failed() {
    use FailureKind::{Connect, HttpStatus, NoFinishReason, NoTokens, StreamBroken, StreamError, Timeout};
    let empty = RequestRecord { chunks: [].into_iter().collect(), ..failed(NoTokens, Some(200)) };
    let silent =
        RequestRecord { silent: Box::default(), content_ns: None, output_tokens: 0, ..empty.clone() };
    let read = [failed(NoFinishReason, Some(200)), failed(StreamError, Some(200)), empty, silent];
    let lost = [
        failed(StreamBroken, Some(200)),
        failed(Timeout, Some(200)),
        failed(HttpStatus, Some(503)),
        failed(Connect, None),
    ];
    let all = [&read[..], &lost].concat();
    let counted = |column: Column| (column.completed, column.failed);
    assert_eq!(counted(vllm(Vllm::V0_11, &all, Api::Chat)), (4, 4));
    // the last has no message that could be a token
    assert_eq!(counted(vllm(Vllm::V0_11, &all, Api::Completions)), (3, 5));
    assert_eq!(
        counted(vllm(Vllm::V0_33, &all, Api::Chat)),
        (3, 5),
        "the role alone is none, the empty end is"
    );
    assert_eq!(counted(guidellm::column(&all)), (4, 4));
    let nothing = vllm(Vllm::V0_11, &read[3..], Api::Chat);
    close(mean(nothing.ttft_ms), 0.0);
    close(mean(guidellm::column(&read[3..]).ttft_ms), 0.0);
}

#[test]
fn guidellm_has_the_first_token_in_its_tpot_and_weighs_by_tokens() {
    let column = guidellm::column(&[record(), short()]);
    assert_eq!((column.completed, column.input_tokens, column.output_tokens), (2, 60, 6));
    assert_eq!((column.output_tps, column.total_tps), (None, None));
    close(mean(column.ttft_ms), 70.0);
    close(mean(column.latency_ms), 145.0);
    // 150 ms over 5 tokens, five times, and 40 over 1
    let tpot = column.tpot_ms.expect("samples");
    assert_eq!((tpot.n, tpot.p50, tpot.p95), (6, 30.0, 40.0));
    close(tpot.mean, (5.0 * 30.0 + 40.0) / 6.0);
    // 50 ms over 4, and nothing of a single token
    let itl = column.itl_ms.expect("samples");
    assert_eq!((itl.n, itl.min, itl.max), (4, 12.5, 12.5));
}

#[test]
fn guidellm_sees_no_thoughts() {
    let thinks = RequestRecord { content_ns: Some((140 * MS, 160 * MS)), ..record() };
    let column = guidellm::column(&[thinks]);
    close(mean(column.ttft_ms), 130.0);
    close(mean(column.itl_ms), 5.0);
    let only = RequestRecord { content_ns: None, ..record() };
    let column = guidellm::column(&[only]);
    // the time to the close of the stream over all tokens, which is how a broken number looks
    close(mean(column.ttft_ms), 0.0);
    close(mean(column.tpot_ms), 38.0);
    close(mean(column.itl_ms), 0.0);
}

#[test]
fn there_is_no_column_for_what_these_tools_do_not_ask() {
    let all = [record()];
    let names: Vec<String> = columns(&all, &spec(Api::Chat)).into_keys().collect();
    assert_eq!(names, ["guidellm-0.5", "vllm-0.11", "vllm-0.33"]);
    assert!(columns(&all, &spec(Api::Generate)).is_empty());
    assert!(columns(&all, &LoadSpec { stream: false, ..spec(Api::Chat) }).is_empty());
    let nothing = &columns(&[], &spec(Api::Chat))["vllm-0.11"];
    assert_eq!((nothing.completed, nothing.total_tps, nothing.ttft_ms), (0, Some(0.0), None));
}

/// Times of chunks, events without text, the last event, the first and the last text of the answer.
type Kept = (Vec<u64>, Vec<Textless>, Option<u64>, Option<(u64, u64)>);

/// What is kept of a stream whose events came at 1, 2, 3, … ns.
fn kept(fixture: &str) -> Kept {
    let path = format!("{}/tests/fixtures/sse/{fixture}.sse", env!("CARGO_MANIFEST_DIR"));
    let raw = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let body = memchr::memmem::find(&raw, b"\r\n\r\n").expect("headers") + 4;
    let text = String::from_utf8_lossy(&raw[body..]).into_owned();
    let mut meter = StreamMeter::default();
    for (at, event) in (1..).zip(text.split_inclusive("\n\n")) {
        meter.bytes(at, event.as_bytes());
    }
    let report = meter.finish(99, Ok(()), None);
    let at = report.chunks.iter().map(|chunk| chunk.at_ns()).collect();
    (at, report.silent, report.last_event_ns, report.content_ns)
}

#[test]
fn streams_of_real_servers_keep_what_the_columns_need() {
    let eight: Vec<u64> = (2..=9).collect();
    // a role first; the last text with the reason, then the usage
    let role = Textless(1, false);
    let vllm = kept("vllm-0.17.1/chat-usage");
    assert_eq!(vllm, (eight.clone(), vec![role], Some(10), Some((2, 9))));
    // its end is an event of its own
    let sglang = kept("sglang-0.5.9/chat-usage");
    assert_eq!(sglang, (eight, vec![role, Textless(10, false)], Some(11), Some((2, 9))));
    let (thoughts, _, _, content) = kept("vllm-0.17.1/chat-reasoning");
    assert!(content.is_none_or(|(first, _)| first > thoughts[0]), "{thoughts:?} {content:?}");
    let (at, silent, last, _) = kept("vllm-0.17.1/completions-usage");
    assert_eq!((at, silent, last), ((1..=8).collect(), Vec::new(), Some(9)));
}
