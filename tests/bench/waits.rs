//! What `perflab bench` says where requests wait for a place before they are sent, and where other tools would have failed.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::ends::{answer, count, finding, options, send, server};
use crate::support::Lab;

fn own(lab: &Lab) -> Value {
    serde_json::from_str(&lab.read("own.json")).expect("JSON")
}

/// One at a time is answered in 0.2 s, and a hundred a second are to be sent.
#[test]
fn a_rate_that_a_cap_holds_back_is_told_and_so_is_the_time_in_the_queue() {
    let lab = Lab::new();
    let slow = |_, to: &mut TcpStream| {
        std::thread::sleep(Duration::from_millis(200));
        answer(to)
    };
    let (url, _) = server(Arc::new(slow));
    let load =
        ["--num-prompts", "8", "--request-rate", "100", "--arrivals", "constant", "--json", "own.json"];
    let bench = |more: &[&str]| lab.run(&options(&url, &[&load[..], more].concat())).expect_code(0);
    let output = bench(&["--max-concurrency", "1", "--goodput", "ttft:900"]);
    let own = own(&lab);
    let mean = |name: &str| own[name]["mean"].as_f64().unwrap_or_else(|| panic!("{name} in {own:#}"));
    assert!(mean("queue_ms") > 500.0, "{own:#}");
    let missed = finding(&own, "rate_missed");
    assert_eq!((&missed["offered"], &missed["level"]), (&100.0.into(), &"note".into()), "{missed}");
    assert!(missed["sent"].as_f64() < Some(5.0) && missed["queue_ms"].as_f64() > Some(500.0), "{missed}");
    // of eight that should have been sent at once, the fifth has waited 0.8 s, and is answered 0.2 s later
    let (from_schedule, all) = (own["goodput_from_schedule"].as_f64(), own["request_rate"].as_f64());
    assert!(from_schedule <= all.map(|rate| rate / 2.0 + 1e-9) && from_schedule <= own["goodput"].as_f64());
    let line = |name: &str| super::line(&output.stdout, name).parse::<f64>().expect("a number");
    let near = |shown: f64, number: f64| (shown - number).abs() < 0.01;
    assert!(near(line("Mean queued (ms):"), mean("queue_ms")), "{}", output.stdout);
    assert!(near(line("Mean TTFT from schedule (ms):"), mean("ttft_from_schedule_ms")), "{}", output.stdout);
    assert!(line("P99 queued (ms):") > 1000.0 && line("Goodput from schedule (req/s):") < 5.0);
    assert!(output.stderr.contains("requests/s were sent of 100 offered"), "{}", output.stderr);
    let room = bench(&["--max-concurrency", "8"]);
    assert!(!room.stdout.contains("queued"), "nobody waited: {}", room.stdout);
}

/// Every answer is there with its last word, and the end that HTTP announced is not.
#[test]
fn a_body_that_is_cut_off_behind_its_last_word_is_told() {
    let lab = Lab::new();
    let cut = |_, to: &mut TcpStream| {
        answer(to)?;
        Err(std::io::ErrorKind::Other.into())
    };
    let (url, _) = server(Arc::new(cut));
    let files = ["--json", "own.json", "--save-result", "--save-detailed", "--result-filename", "vllm.json"];
    let load = ["--num-prompts", "4", "--max-concurrency", "2"];
    lab.run(&options(&url, &[&load[..], &files].concat())).expect_code(0);
    let own = own(&lab);
    assert_eq!(own["requests"]["completed"], 4, "{own:#}");
    assert_eq!(finding(&own, "cut_behind_end")["requests"], 4, "{own:#}");
    for tool in ["vllm-0.11", "vllm-0.33", "guidellm-0.5"] {
        assert_eq!(
            (&own["compatible"][tool]["completed"], &own["compatible"][tool]["failed"]),
            (&0.into(), &4.into())
        );
    }
    let vllm: Value = serde_json::from_str(&lab.read("vllm.json")).expect("JSON");
    assert_eq!((&vllm["completed"], &vllm["failed"]), (&0.into(), &4.into()), "{vllm:#}");
    assert_eq!(vllm["errors"][0], "the body was cut off behind its last word");
}

#[test]
fn events_that_vllm_s_client_cannot_read_are_told() {
    let lab = Lab::new();
    let token = r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]}"#;
    let event = format!("event: message\nid: 5\ndata: {token}\n\n");
    let lines = format!("data: {}\n\n", token.replacen(',', ",\ndata: ", 1));
    for (event, guidellm) in [(event, 3), (lines, 0)] {
        let (url, _) = server(Arc::new(move |_, to: &mut TcpStream| {
            to.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())?;
            count(to, 1)?;
            send(to, "[DONE]")
        }));
        let load = ["--num-prompts", "3", "--max-concurrency", "1", "--json", "own.json"];
        lab.run(&options(&url, &load)).expect_code(0);
        let own = own(&lab);
        assert_eq!(own["requests"]["completed"], 3, "{own:#}");
        assert_eq!(finding(&own, "other_form")["requests"], 3, "{own:#}");
        let completed = |tool: &str| own["compatible"][tool]["completed"].as_u64();
        assert_eq!(["vllm-0.11", "vllm-0.33"].map(completed), [Some(0); 2], "{own:#}");
        assert_eq!(completed("guidellm-0.5"), Some(guidellm), "{own:#}");
    }
}
