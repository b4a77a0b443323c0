//! What `perflab bench` asks: files, traces, conversations, and prompts that a server had seen.

use serde_json::{Value, json};

use super::{Server, line};
use crate::support::Lab;

#[test]
fn prompts_of_a_file_are_asked() {
    let (lab, server) = (Lab::new(), Server::start());
    lab.write(
        "prompts.jsonl",
        "{\"prompt\": \"a b\", \"output_tokens\": 3}\n{\"prompt\": \"c d\", \"output_tokens\": 5}\n",
    );
    let custom = ["--dataset-name", "custom", "--dataset-path", "prompts.jsonl", "--num-prompts", "2"];
    let more = ["--request-rate", "500", "--ignore-eos", "--endpoint", "/v1/completions"];
    let args = [&["bench", &server.url, "--model", "Qwen/Qwen3-0.6B"], &custom[..], &more[..]].concat();
    let output = lab.run(&args).expect_code(0);
    assert_eq!(line(&output.stdout, "Total generated tokens:"), "8");
    assert_eq!(line(&output.stdout, "Request rate configured (RPS):"), "500.00");
}

/// Five requests within 0.6 s: the first block of three of them is the same.
const TRACE: &str = r#"{"timestamp": 0, "input_length": 700, "output_length": 3, "hash_ids": [0, 1]}
{"timestamp": 100, "input_length": 640, "output_length": 4, "hash_ids": [0, 2]}
{"timestamp": 100, "input_length": 20, "output_length": 5, "hash_ids": [3]}
{"timestamp": 500, "input_length": 1030, "output_length": 2, "hash_ids": [0, 1, 4]}
{"timestamp": 600, "input_length": 9, "output_length": 1}
"#;

/// Two conversations of three turns and one of one.
pub const TALKS: &str = r#"[
{"conversations": [{"from": "human", "value": "a b c"}, {"from": "gpt", "value": "d e f g"}, {"from": "human", "value": "h"},
 {"from": "gpt", "value": "i j"}, {"from": "human", "value": "k l"}, {"from": "gpt", "value": "m n o"}]},
{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b c"},
 {"role": "user", "content": "d"}, {"role": "assistant", "content": "e f"}, {"role": "user", "content": "g"}, {"role": "assistant", "content": "h i"}]},
{"conversation": [{"role": "user", "content": "a b"}, {"role": "assistant", "content": "c"}]}]"#;

#[test]
fn each_turn_comes_after_the_answer_before_it_was_thought_about() {
    let (lab, server) = (Lab::new(), Server::start());
    lab.write("talks.json", TALKS);
    let bench = |requests: &str, more: &[&str]| {
        let data = ["--dataset-name", "conversations", "--dataset-path", "talks.json", "--ignore-eos"];
        let saved = ["--save-requests", "each.jsonl", "--json", "own.json", "--num-prompts", requests];
        let named = ["bench", &server.url, "--model", "Qwen/Qwen3-0.6B"];
        let output = lab.run(&[&named[..], &data, &saved, more].concat()).expect_code(0);
        let mut records: Vec<Value> =
            lab.read("each.jsonl").lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
        let place = |r: &Value| (r["turn"]["conversation"].as_u64(), r["turn"]["turn"].as_u64());
        records.sort_by_key(place);
        (output, records)
    };
    let ns = |r: &Value, name: &str| r[name].as_u64().expect("a time");
    for load in [["--max-concurrency", "2"], ["--request-rate", "50"]] {
        let (output, records) = bench("7", &[&load[..], &["--think-time", "0.05..0.1"]].concat());
        let turns: Vec<u64> = records.iter().filter_map(|r| r["turn"]["turn"].as_u64()).collect();
        let mut sorted = turns.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [1, 1, 1, 2, 2, 3, 3], "{load:?}");
        for pair in
            records.windows(2).filter(|p| p[0]["turn"]["conversation"] == p[1]["turn"]["conversation"])
        {
            let thought = ns(&pair[1], "scheduled_ns") - ns(&pair[0], "end_ns");
            assert!((50_000_000..=100_000_000).contains(&thought), "{thought} ns of thought");
            assert!(ns(&pair[1], "sent_ns") >= ns(&pair[1], "scheduled_ns"));
            // what was answered is a part of what is asked
            let grown = pair[1]["prompt_tokens_own"].as_u64() > pair[0]["prompt_tokens_own"].as_u64();
            let more = pair[1]["prompt_tokens"].as_u64() > pair[0]["prompt_tokens"].as_u64();
            assert!(grown && more, "{pair:?}");
        }
        assert!(output.stdout.contains("Turn 3 (2), mean, median (ms):"), "{}", output.stdout);
        let own: Value = serde_json::from_str(&lab.read("own.json")).expect("JSON");
        assert_eq!((&own["turns"][1]["turn"], &own["turns"][1]["completed"]), (&2.into(), &2.into()));
        assert_eq!(own["output_tokens"], 16, "4 + 2 + 3, 2 + 2 + 2, 1");
    }
    let theirs = ["--recorded-answers", "--max-concurrency", "1", "--conversation-output-len", "9"];
    let (_, records) = bench("7", &theirs);
    let own: Vec<u64> = records.iter().filter_map(|r| r["prompt_tokens_own"].as_u64()).collect();
    // a b c | d e f g | h | i j | k l, and so on: the order of conversations is the seed's
    let wanted: [&[u64]; 3] = [&[3, 8, 12], &[2, 5, 8], &[2]];
    assert!(wanted.iter().all(|w| own.windows(w.len()).any(|o| o == *w)), "{own:?}");
    let (output, _) = bench("9", &["--max-concurrency", "1"]);
    assert!(output.stderr.contains("2 requests asked what an earlier one"), "{output:?}");
}

#[test]
fn a_trace_is_played_at_its_times_with_its_blocks() {
    let (lab, server) = (Lab::new(), Server::start());
    lab.write("trace.jsonl", TRACE);
    let bench = |more: &[&str]| {
        let data = ["--dataset-name", "mooncake", "--dataset-path", "trace.jsonl", "--ignore-eos"];
        let named = ["bench", &server.url, "--model", "Qwen/Qwen3-0.6B", "--save-requests", "each.jsonl"];
        let output = lab.run(&[&named[..], &data, more].concat()).expect_code(0);
        let records: Vec<Value> =
            lab.read("each.jsonl").lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
        (output, records)
    };
    let scheduled = |records: &[Value]| -> Vec<u64> {
        records.iter().map(|r| r["scheduled_ns"].as_u64().expect("a time") / 1_000_000).collect()
    };
    let (output, records) = bench(&["--trace-slowdown", "2"]);
    assert_eq!(scheduled(&records), [0, 200, 200, 1000, 1200]);
    let lengths = |name: &str| -> Vec<u64> { records.iter().filter_map(|r| r[name].as_u64()).collect() };
    assert_eq!(lengths("prompt_tokens_own"), [700, 640, 20, 1030, 9]);
    assert_eq!(lengths("output_tokens"), [3, 4, 5, 2, 1]);
    assert_eq!(line(&output.stdout, "Successful requests:"), "5");
    assert!(
        output.stderr.contains("the trace ended after 5 requests, and 1000 were asked for"),
        "{output:?}"
    );
    let (_, records) = bench(&["--num-prompts", "3", "--seed", "1"]);
    assert_eq!(scheduled(&records), [0, 100, 100]);
    let (_, records) = bench(&["--duration", "0.3", "--seed", "2"]);
    assert_eq!(scheduled(&records), [0, 100, 100]);
    // other arrivals have the trace's lengths alone, and begin it again
    let (output, records) =
        bench(&["--num-prompts", "7", "--request-rate", "50", "--arrivals", "constant", "--seed", "3"]);
    assert_eq!(scheduled(&records), [0, 20, 40, 60, 80, 100, 120]);
    assert!(output.stderr.contains("2 requests asked what an earlier one"), "{output:?}");
}

#[test]
fn a_trace_of_azure_s_is_played_and_another_refused() {
    let (lab, server) = (Lab::new(), Server::start());
    let lines = ["2023-11-16 18:15:46.6805900,37,4", "2023-11-16 18:15:46.7805900,39,10"];
    lab.write("trace.csv", format!("TIMESTAMP,ContextTokens,GeneratedTokens\r\n{}\r\n", lines.join("\r\n")));
    let named =
        ["bench", &server.url, "--model", "Qwen/Qwen3-0.6B", "--dataset-path", "trace.csv", "--ignore-eos"];
    let output = lab.run(&[&named[..], &["--dataset-name", "azure"]].concat()).expect_code(0);
    assert_eq!(line(&output.stdout, "Total generated tokens:"), "14");
    lab.run(&[&named[..], &["--dataset-name", "mooncake"]].concat())
        .expect_error(1, &["line 1", "a trace of Azure's, not of Mooncake's"]);
}

#[test]
fn prompts_that_a_server_had_seen_are_told_and_those_of_other_settings_are_others() {
    let (lab, server) = (Lab::new(), Server::start());
    let bench = |more: &[&str]| -> Vec<String> {
        let load = ["--num-prompts", "8", "--random-output-len", "4", "--json", "own.json"];
        let named = ["-q", "bench", &server.url, "--model", "Qwen/Qwen3-0.6B"];
        let output = lab.run(&[&named[..], &load, more].concat()).expect_code(0);
        assert!(!output.stderr.contains("note:"), "{}", output.stderr);
        let own: Value = serde_json::from_str(&lab.read("own.json")).expect("JSON");
        let notes = own["findings"].as_array().expect("a list");
        assert!(notes.iter().all(|note| note["text"].is_string() && note["finding"].is_string()), "{own}");
        notes.iter().filter_map(|note| note["finding"].as_str().map(str::to_owned)).collect()
    };
    let seen = |notes: &[String]| notes.iter().any(|finding| finding == "seen_before");
    for others in [
        &["--random-input-len", "300", "--max-concurrency", "2"][..],
        &["--random-input-len", "400", "--max-concurrency", "2"],
        &["--random-input-len", "300", "--max-concurrency", "3"],
        &["--random-input-len", "300", "--request-rate", "100"],
        &["--random-input-len", "300", "--max-concurrency", "2", "--seed", "1"],
    ] {
        let notes = bench(others);
        assert!(!seen(&notes), "{others:?}: {notes:?}");
    }
    let notes = bench(&["--random-input-len", "300", "--max-concurrency", "2"]);
    assert!(seen(&notes), "{notes:?}");
}

const PROFILES: &str = "\
profile mine {
    data        random
    input       20
    output      5
    concurrency 3
    requests    12
    warmup      0
}
profile curve = mine { concurrency 1, 4 }
profile talks {
    data        sharegpt
    concurrency 2
    requests    4
    warmup      0
}
";

#[test]
fn a_profile_of_a_file_or_of_the_library_is_the_load() {
    let (lab, server) = (Lab::new(), Server::start());
    lab.write("loads.plab", PROFILES);
    let named = ["bench", &server.url, "--model", "Qwen/Qwen3-0.6B"];
    let bench = |more: &[&str]| lab.run(&[&named[..], more].concat());
    let own = bench(&["--profile", "mine", "--file", "loads.plab", "--json", "-"]).expect_code(0).json();
    assert_eq!(own["arrivals"], json!({"kind": "closed", "concurrency": 3}));
    let load = &own["load"];
    assert_eq!((&load["profile"], &load["file"]), (&"mine".into(), &"loads.plab".into()));
    assert_eq!((&load["data"]["input_len"], &load["data"]["output_len"]), (&json!([20, 20]), &json!([5, 5])));
    assert_eq!((&own["requests"]["completed"], &own["output_tokens"]), (&12.into(), &60.into()));
    let table = bench(&["--profile", "mine", "--file", "loads.plab"]).expect_code(0).stdout;
    assert_eq!(line(&table, "Maximum request concurrency:"), "3");
    for (more, code, words) in [
        (
            &["--profile", "curve", "--file", "loads.plab"][..],
            1,
            &["a curve", "cannot be carried out yet"][..],
        ),
        (&["--profile", "mino", "--file", "loads.plab"], 1, &["no profile `mino`", "did you mean `mine`?"]),
        (&["--profile", "mine", "--file", "none.plab"], 1, &["none.plab: there is no such file"]),
        (&["--profile", "talks", "--file", "loads.plab"], 1, &["ShareGPT", "--dataset-path FILE"]),
        (&["--profile", "mine", "--file", "loads.plab", "--dataset-path", "x"], 1, &["asks something else"]),
        (&["--profile", "sharegp"], 1, &["the standard library has no profile", "did you mean `sharegpt`?"]),
        (&["--profile", "short_prompt"], 1, &["--tokenizer PATH"]),
        (&["--profile", "chat", "--num-prompts", "3"], 2, &["--profile", "--num-prompts"]),
        (&["--file", "loads.plab"], 2, &["--profile"]),
    ] {
        bench(more).expect_error(code, words);
    }
}
