//! Recorded streams of real servers, whole and in pieces, and streams that no server should send.

use std::path::{Path, PathBuf};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::*;

struct Fixture {
    name: String,
    status: u16,
    body: Vec<u8>,
}

fn fixtures() -> Vec<Fixture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sse");
    let entries = |dir: &Path| -> Vec<PathBuf> {
        let read = std::fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
        let mut paths: Vec<PathBuf> = read.map(|entry| entry.expect("a readable folder").path()).collect();
        paths.sort();
        paths
    };
    let files = entries(&root).into_iter().filter(|path| path.is_dir()).flat_map(|dir| entries(&dir));
    let found: Vec<Fixture> = files.map(|path| fixture(&root, &path)).collect();
    assert!(found.len() > 80, "only {} fixtures", found.len());
    found
}

fn fixture(root: &Path, path: &Path) -> Fixture {
    let raw = std::fs::read(path).expect("a readable fixture");
    let head_end = raw.windows(4).position(|w| w == b"\r\n\r\n").expect("headers") + 4;
    let status = std::str::from_utf8(&raw[9..12]).ok().and_then(|s| s.parse().ok()).expect("a status");
    let name = path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
    Fixture { name, status, body: raw[head_end..].to_vec() }
}

/// Feeds pieces at times 1, 2, 3, …, and ends as the recording did: a killed llama.cpp cuts the connection,
/// silent servers run into the idle limit.
fn measure<'a>(name: &str, pieces: impl IntoIterator<Item = &'a [u8]>) -> StreamReport {
    let mut meter = StreamMeter::default();
    for (at, piece) in (1..).zip(pieces) {
        meter.bytes(at, piece);
    }
    meter.finish(u64::MAX, ending(name), None)
}

fn ending(name: &str) -> Result<(), Failure> {
    match name {
        "xllamacpp/engine-killed-midstream.sse" => Err(Failure::new(FailureKind::StreamBroken, "cut")),
        "sglang-0.5.9/engine-killed-midstream.sse" => Err(Failure::new(FailureKind::Timeout, "idle")),
        _ if name.contains("server-terminated") && name.contains("llm-0") => {
            Err(Failure::new(FailureKind::Timeout, "idle"))
        }
        _ => Ok(()),
    }
}

/// The same report with all times set to zero: pieces decide when, never what.
fn timeless(mut report: StreamReport) -> StreamReport {
    for chunk in &mut report.chunks {
        chunk.0 = 0;
    }
    report.silent.iter_mut().for_each(|silent| silent.0 = 0);
    report.last_event_ns = report.last_event_ns.map(|_| 0);
    report.content_ns = report.content_ns.map(|_| (0, 0));
    report
}

fn kind(report: &StreamReport) -> Option<FailureKind> {
    match &report.outcome {
        Outcome::Failed(failure) => Some(failure.kind),
        _ => None,
    }
}

#[test]
fn pieces_do_not_matter() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for Fixture { name, body, .. } in fixtures() {
        let whole = timeless(measure(&name, [&body[..]]));
        assert_eq!(whole, timeless(measure(&name, body.chunks(1))), "{name} byte by byte");
        for _ in 0..20 {
            let mut cuts: Vec<usize> =
                (0..12).map(|_| rng.random_range(0..=body.len())).chain([0, body.len()]).collect();
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|w| &body[w[0]..w[1]]);
            assert_eq!(whole, timeless(measure(&name, pieces)), "{name} cut at {cuts:?}");
        }
        let crlf = String::from_utf8_lossy(&body).replace('\n', "\r\n");
        if String::from_utf8(body).is_ok() {
            assert_eq!(whole, timeless(measure(&name, crlf.as_bytes().chunks(7))), "{name} with CRLF");
        }
    }
}

#[test]
fn sound_streams_are_counted_by_their_usage() {
    let mut seen = 0;
    for Fixture { name, status, body } in fixtures() {
        let broken = ["killed", "terminated", "prompt-too-long", "bad-param"];
        if status != 200 || broken.iter().any(|part| name.contains(part)) {
            continue;
        }
        let report = measure(&name, [&body[..]]);
        assert_eq!(report.outcome, Outcome::Ok, "{name}");
        assert_eq!(report.finish_reason.as_deref(), Some("length"), "{name}");
        assert_eq!(report.chunks.last().map(|chunk| chunk.tokens()), Some(report.output_tokens), "{name}");
        assert!(
            report.chunks.windows(2).all(|w| w[0].tokens() < w[1].tokens()),
            "{name}: {:?}",
            report.chunks
        );
        assert!(report.unknown_text.is_empty(), "{name}: {:?}", report.unknown_text);
        let asked = asked(&name);
        assert_eq!(report.output_tokens, asked, "{name}");
        match report.usage.completion_tokens {
            Some(total) => assert_eq!(total, asked, "{name}"),
            None => assert_eq!(report.counted_by, TokenSource::Chunks, "{name}"),
        }
        seen += 1;
    }
    assert!(seen > 60, "only {seen} sound streams");
}

/// The lengths that the recordings were asked for.
fn asked(name: &str) -> u32 {
    let file = name.rsplit('/').next().unwrap_or(name);
    match file.trim_end_matches(".sse") {
        "chat-continuous" | "completions-continuous" => 5,
        "chat-logprobs" => 3,
        "chat-sampled40" => 40,
        "chat-reasoning" | "completions-prefix-hit" | "completions-stream-interval4" => 13,
        "completions-n2" | "completions-tokenids-prompt" | "err-unknown-model.txt" => 6,
        _ => 8,
    }
}

#[test]
fn running_totals_are_recognised_and_prefix_hits_read() {
    for Fixture { name, body, .. } in fixtures() {
        let report = measure(&name, [&body[..]]);
        let sends_totals =
            name.ends_with("-continuous.sse") && (name.starts_with("vllm") || name.starts_with("sglang"));
        assert_eq!(report.counted_by == TokenSource::RunningUsage, sends_totals, "{name}");
        if name.ends_with("prefix-hit.sse") {
            let cached = if name.starts_with("vllm") { 384 } else { 390 };
            assert_eq!(
                (report.usage.cached_tokens, report.usage.prompt_tokens),
                (Some(cached), Some(391)),
                "{name}"
            );
        }
    }
}

#[test]
fn broken_streams_fail_by_their_kind() {
    let expected = |name: &str| match name {
        "sglang-0.5.9/engine-killed-midstream.sse"
        | "vllm-0.17.1/server-terminated-midstream.sse"
        | "vllm-0.32.0/server-terminated-midstream.sse" => Some(FailureKind::Timeout),
        "xllamacpp/engine-killed-midstream.sse" => Some(FailureKind::StreamBroken),
        "xllamacpp/server-terminated-midstream.sse" | "sglang-0.5.9/server-terminated-midstream.sse" => {
            Some(FailureKind::NoFinishReason)
        }
        "vllm-0.11.0/engine-killed-midstream.sse"
        | "vllm-0.17.1/engine-killed-midstream.sse"
        | "vllm-0.32.0/engine-killed-midstream.sse"
        | "sglang-0.5.9/err-prompt-too-long-stream.txt" => Some(FailureKind::StreamError),
        // JSON where a stream was asked for
        "transformers-serve/err-bad-param.txt" => Some(FailureKind::BadStream),
        _ => None,
    };
    for Fixture { name, status, body } in fixtures() {
        let report = measure(&name, [&body[..]]);
        if status == 200 {
            assert_eq!(kind(&report), expected(&name), "{name}: {:?}", report.outcome);
        } else {
            // an error is one in any answer; what only its status tells is none here
            let told = !name.starts_with("transformers-serve/");
            let kinds = if told { FailureKind::StreamError } else { FailureKind::BadStream };
            assert_eq!(kind(&report), Some(kinds), "{name} read as a stream");
        }
    }
    let killed = fixtures()
        .into_iter()
        .find(|f| f.name == "vllm-0.17.1/engine-killed-midstream.sse")
        .expect("fixture");
    let Outcome::Failed(failure) = measure(&killed.name, [&killed.body[..]]).outcome else {
        panic!("must fail")
    };
    assert!(failure.message.starts_with("EngineCore encountered an issue"), "{failure}");
}

fn completion(text: &str, finish: Option<&str>) -> String {
    let finish = finish.map_or("null".to_owned(), |f| format!("\"{f}\""));
    format!("data: {{\"choices\":[{{\"index\":0,\"text\":\"{text}\",\"finish_reason\":{finish}}}]}}\n\n")
}

fn usage(tokens: u32) -> String {
    format!("data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":4,\"completion_tokens\":{tokens}}}}}\n\n")
}

fn of(parts: &[String]) -> StreamReport {
    measure("made", parts.iter().map(String::as_bytes))
}

fn cumulated(report: &StreamReport) -> Vec<u32> {
    report.chunks.iter().map(|chunk| chunk.tokens()).collect()
}

#[test]
fn merged_tokens_are_spread_by_length_and_the_first_chunk_has_one() {
    let parts = [
        completion("ab", None),
        completion("abcdefgh", None),
        completion("abcdefgh", Some("length")),
        usage(9),
    ];
    assert_eq!(cumulated(&of(&parts)), [1, 5, 9]);
    let parts = [completion(&"x".repeat(40), None), completion(&"x".repeat(40), Some("length")), usage(20)];
    assert_eq!(cumulated(&of(&parts)), [10, 20], "a long first text is not one token");
    let parts = [completion("all of it", Some("stop")), usage(7)];
    assert_eq!(cumulated(&of(&parts)), [7]);
    let parts = [
        completion("a", None),
        completion("b", None),
        completion("c", None),
        completion("d", Some("stop")),
        usage(2),
    ];
    let report = of(&parts);
    assert_eq!((cumulated(&report), report.output_tokens), (vec![1, 1, 2, 2], 2), "more chunks than tokens");
}

#[test]
fn totals_that_stay_at_zero_until_the_end_are_no_running_totals() {
    let idle = |text: &str| {
        let choice = format!(r#"{{"index":0,"text":"{text}","finish_reason":null}}"#);
        format!("data: {{\"choices\":[{choice}],\"usage\":{{\"completion_tokens\":0}}}}\n\n")
    };
    let report = of(&[idle("ab"), idle("abcdefgh"), completion("", Some("length")), usage(5)]);
    assert_eq!((report.counted_by, cumulated(&report)), (TokenSource::Usage, vec![1, 5]));
}

#[test]
fn an_empty_event_is_a_keep_alive_wherever_it_stands() {
    let name = "vllm-0.17.1/chat-usage.sse";
    let found = fixtures().into_iter().find(|f| f.name == name).expect("a fixture");
    let text = String::from_utf8(found.body.clone()).expect("UTF-8");
    let kept_alive = text.replace("data: {", "data:\n\ndata: \n\ndata: {");
    assert_ne!(text, kept_alive);
    let mut report = timeless(measure(name, kept_alive.as_bytes().chunks(9)));
    // other clients read it as JSON
    assert_eq!(std::mem::take(&mut report.form), Form { cut: false, fields: true, lines: true });
    assert_eq!(timeless(measure(name, [&found.body[..]])), report);
    let only = of(&["data: \n\n".to_owned()]);
    assert_eq!(kind(&only), Some(FailureKind::BadStream), "{only:?}");
}

#[test]
fn an_event_of_16_mib_of_text_is_a_chunk_and_a_comment_of_as_many_nothing() {
    let text = "w".repeat(16 << 20);
    let all = of(&[format!(": {text}\n"), completion(&text, None), completion("", Some("stop"))]);
    assert_eq!((cumulated(&all), all.outcome), (vec![1], Outcome::Ok));
}

#[test]
fn an_end_of_sequence_at_once_is_one_token_without_text() {
    let report = of(&[completion("", Some("stop")), usage(1)]);
    assert_eq!((report.outcome, report.output_tokens, report.chunks), (Outcome::Ok, 1, vec![Chunk(1, 1)]));
    let report = of(&[completion("", Some("stop")), usage(0)]);
    assert_eq!(kind(&report), Some(FailureKind::NoTokens));
}

/// The answer of a server that streams one token a chunk and ends it by an end of sequence, which has no text.
#[test]
fn an_end_of_sequence_behind_text_has_its_own_time_however_it_is_counted() {
    let every = |text: &str, finish: Option<&str>, so_far: u32| {
        let usage = format!("}}],\"usage\":{{\"completion_tokens\":{so_far}}}}}\n");
        completion(text, finish).replace("}]}\n", &usage)
    };
    let told = of(&[every("a", None, 1), every("b", None, 2), every("", Some("stop"), 3), usage(3)]);
    let at_end = of(&[completion("a", None), completion("b", None), completion("", Some("stop")), usage(3)]);
    assert_eq!((told.counted_by, at_end.counted_by), (TokenSource::RunningUsage, TokenSource::Usage));
    assert_eq!((&told.chunks, told.output_tokens), (&at_end.chunks, at_end.output_tokens));
    assert_eq!(at_end.chunks, [Chunk(1, 1), Chunk(2, 2), Chunk(3, 3)]);
    let chat = |delta: &str, finish: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n")
    };
    let text = || chat(r#"{"content":"a"}"#, "null");
    let ended =
        |delta: &str, tokens| cumulated(&of(&[text(), text(), chat(delta, "\"stop\""), usage(tokens)]));
    assert_eq!(ended(r#"{"content":""}"#, 3), [1, 2, 3]);
    // whoever counts no token for the end, or has no text there at all
    assert_eq!(ended(r#"{"content":""}"#, 2), [1, 2]);
    assert_eq!(ended("{}", 3), [1, 3]);
    assert_eq!(ended(r#"{"role":"assistant","content":""}"#, 3), [1, 3]);
}

#[test]
fn where_tokens_are_merged_an_end_without_text_is_one_if_it_took_a_step() {
    let ended = |at: u64, reason: &str| {
        let mut meter = StreamMeter::default();
        meter.bytes(1000, completion("abcd", None).as_bytes());
        meter.bytes(2000, completion("abcdefgh", None).as_bytes());
        meter.bytes(3000, completion("abcdefgh", None).as_bytes());
        meter.bytes(at, completion("", Some(reason)).as_bytes());
        meter.bytes(4000, usage(10).as_bytes());
        meter.finish(4000, Ok(()), None).chunks
    };
    assert_eq!(ended(4000, "stop").last(), Some(&Chunk(4000, 10)));
    assert_eq!(ended(4000, "stop").get(2).map(|chunk| chunk.tokens()), Some(9));
    assert_eq!(ended(3010, "stop").last(), Some(&Chunk(3000, 10)), "it came with the text before it");
    assert_eq!(ended(4000, "length").last(), Some(&Chunk(3000, 10)));
}

#[test]
fn fewer_tokens_than_required_are_short_only_when_the_server_counted() {
    let parts = completion("a", None) + &completion("b", Some("length"));
    let finish = |text: String| {
        let mut meter = StreamMeter::default();
        meter.bytes(1, text.as_bytes());
        meter.finish(2, Ok(()), Some(3)).outcome
    };
    assert_eq!(finish(parts.clone() + &usage(2)), Outcome::Short);
    assert_eq!(finish(parts.clone() + &usage(3)), Outcome::Ok);
    assert_eq!(finish(parts), Outcome::Ok);
}

/// An event of SGLang's `/generate`: the text so far and the tokens so far.
fn generated(text: &str, tokens: u32, finish: &str) -> String {
    let ids: Vec<u32> = (0..tokens).collect();
    format!(
        "data: {{\"text\":\"{text}\",\"output_ids\":{ids:?},\"meta_info\":{{\"id\":\"8cb4\",\"finish_reason\":{finish},\"prompt_tokens\":12,\
         \"weight_version\":\"default\",\"total_retractions\":0,\"completion_tokens\":{tokens},\"cached_tokens\":3}}}}\n\n"
    )
}

#[test]
fn running_texts_of_sglang_are_counted_by_their_totals() {
    let length = r#"{"type":"length","length":9}"#;
    let done = || "data: [DONE]\n\n".to_owned();
    let parts = [
        generated("", 1, "null"),
        generated(" a b", 2, "null"),
        // a draft of several tokens was accepted
        generated(" a b \\\"c\\\" d", 6, "null"),
        generated(" a b \\\"c\\\" d", 6, "null"),
        generated(" a b \\\"c\\\" d e f g", 9, length),
        done(),
    ];
    let report = of(&parts);
    assert_eq!((&report.outcome, report.counted_by), (&Outcome::Ok, TokenSource::RunningUsage));
    assert_eq!((cumulated(&report), report.output_tokens), (vec![1, 2, 6, 9], 9));
    assert_eq!(report.chunks.iter().map(|chunk| chunk.at_ns()).collect::<Vec<_>>(), [1, 2, 3, 5]);
    assert_eq!((report.usage.prompt_tokens, report.usage.cached_tokens), (Some(12), Some(3)));
    assert_eq!(report.finish_reason.as_deref(), Some("length"));
    let all = parts.concat();
    assert_eq!(timeless(report), timeless(measure("bytes", all.as_bytes().chunks(1))));
    let one = of(&[generated(" a", 1, length), done()]);
    assert_eq!((cumulated(&one), one.outcome), (vec![1], Outcome::Ok), "begun and ended at once");
    let short = of(&[generated(" a", 1, "null"), done()]);
    assert_eq!(kind(&short), Some(FailureKind::NoFinishReason));
    let abort = r#"{"type":"abort","message":"Abort in waiting queue","status_code":503}"#;
    let Outcome::Failed(aborted) = of(&[generated("", 0, abort), done()]).outcome else { panic!("it fails") };
    assert_eq!(
        (aborted.kind, aborted.message.as_str()),
        (FailureKind::StreamError, "Abort in waiting queue")
    );
    let refused = "data: {\"error\": {\"message\": \"The input is too long\"}}\n\n".to_owned();
    assert_eq!(kind(&of(&[refused, done()])), Some(FailureKind::StreamError));
}

#[test]
fn what_is_wrong_is_told_by_its_most_telling_sign() {
    let error = "data: {\"error\":{\"message\":\"gone\"}}\n\n".to_owned();
    let done = "data: [DONE]\n\n".to_owned();
    assert_eq!(kind(&of(&[completion("a", None), error, done.clone()])), Some(FailureKind::StreamError));
    assert_eq!(kind(&of(&["event: error\ndata: overloaded\n\n".to_owned()])), Some(FailureKind::StreamError));
    assert_eq!(kind(&of(&["error: {\"message\":\"x\"}\n\n".to_owned()])), Some(FailureKind::StreamError));
    assert_eq!(kind(&of(&[completion("a", Some("abort"))])), Some(FailureKind::StreamError));
    assert_eq!(kind(&of(&["data: {\"choices\": nonsense}\n\n".to_owned()])), Some(FailureKind::BadStream));
    assert_eq!(kind(&of(&["<html>".to_owned()])), Some(FailureKind::BadStream));
    assert_eq!(kind(&of(&["{\"choices\":[]}".to_owned()])), Some(FailureKind::BadStream));
    assert_eq!(kind(&of(&[])), Some(FailureKind::NoTokens));
    assert_eq!(kind(&of(&[completion("a", None), done])), Some(FailureKind::NoFinishReason));
    let cut = completion("a", None) + "data: {\"choices\":[{\"te";
    assert_eq!(kind(&of(&[cut])), Some(FailureKind::StreamBroken));
}

#[test]
fn after_done_nothing_matters_before_it_a_cut_does() {
    let broken = || Err(Failure::new(FailureKind::StreamBroken, "cut"));
    let mut meter = StreamMeter::default();
    meter.bytes(1, completion("a", Some("stop")).as_bytes());
    assert!(!meter.is_done());
    let mut same = StreamMeter::default();
    same.bytes(1, (completion("a", Some("stop")) + "data: [DONE]\n\ndata: rubbish\n\n").as_bytes());
    assert!(same.is_done());
    assert_eq!(kind(&meter.finish(2, broken(), None)), Some(FailureKind::StreamBroken));
    assert_eq!(same.finish(2, broken(), None).outcome, Outcome::Ok);
}

#[test]
fn the_last_word_may_have_blanks_around_it() {
    for done in ["data: [DONE] \n\n", "data:   [DONE]\n\n", "data: [DONE]\t\r\n\r\n"] {
        let report = of(&[completion("a", Some("stop")), usage(1), done.to_owned()]);
        assert_eq!(report.outcome, Outcome::Ok, "{done:?}");
    }
}

#[test]
fn unknown_text_counts_and_is_reported_with_an_example() {
    let thought = |text: &str| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"thinking\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n"
        )
    };
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n".to_owned();
    let report = of(&[thought("a"), thought("b"), end]);
    assert_eq!((report.outcome, report.output_tokens), (Outcome::Ok, 2));
    assert_eq!((report.unknown_text[0].field.as_str(), report.unknown_text[0].chunks), ("thinking", 2));
    assert!(report.unknown_text[0].example.contains("\"thinking\":\"a\""));
}

#[test]
fn an_error_that_comes_as_a_document_is_the_server_s() {
    let told = |body: &str| of(&[body.to_owned()]).outcome.failure().cloned().expect("a failure");
    let long = "x".repeat(2000);
    for body in [
        format!(r#"{{"trace":"{long}","error":{{"message":"out of blocks","code":500}}}}"#),
        "\n{\n  \"object\": \"error\",\n  \"message\": \"out of blocks\"\n}\n".to_owned(),
    ] {
        let failure = told(&body);
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::StreamError, "out of blocks"));
    }
    let whole = told(r#"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}"#);
    assert!(whole.kind == FailureKind::BadStream && whole.message.contains("--no-stream"), "{whole}");
    let kept = told(&format!("<p>{long}"));
    assert!(kept.kind == FailureKind::BadStream && kept.message.len() < 500, "{kept}");
}

#[test]
fn an_empty_text_that_opens_an_answer_is_a_token_only_where_it_is_counted_as_one() {
    let opening = || completion("", None);
    let text = || completion("a", None);
    let report = |events: &[String], required: Option<u32>| {
        let mut meter = StreamMeter::default();
        for (at, event) in events.iter().enumerate() {
            meter.bytes(at as u64 + 1, event.as_bytes());
        }
        let report = meter.finish(99, Ok(()), required);
        let times: Vec<u64> = report.chunks.iter().map(|chunk| chunk.at_ns()).collect();
        (times, report.output_tokens, report.silent.first().map(|s| s.at_ns()), report.outcome)
    };
    let end = || completion("", Some("length"));
    // counted by the server, or told by what was asked for
    let counted = [opening(), text(), text(), end(), usage(2)];
    assert_eq!(report(&counted, None), (vec![2, 3], 2, Some(1), Outcome::Ok));
    assert_eq!(report(&counted[..4], Some(2)), (vec![2, 3], 2, Some(1), Outcome::Ok));
    // a first token inside a character
    let part = [opening(), text(), text(), end(), usage(3)];
    assert_eq!(report(&part, None), (vec![1, 2, 3], 3, Some(4), Outcome::Ok));
    assert_eq!(report(&part[..4], Some(3)), (vec![1, 2, 3], 3, Some(4), Outcome::Ok));
    // nobody counts, or tokens were merged: nothing tells
    assert_eq!(report(&part[..4], None).0, [1, 2, 3]);
    assert_eq!(report(&[opening(), text(), text(), end(), usage(9)], None).0, [1, 2, 3]);
}
