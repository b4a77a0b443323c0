//! Pages of metrics as real engines print them.

use std::io::{Read as _, Write as _};

use super::*;

fn fixture(of: &str) -> String {
    let path = format!("{}/tests/fixtures/metrics/{of}.txt", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn every_engine_s_page_is_understood() {
    for engine in ["vllm-0.11.0", "vllm-0.17.1", "vllm-0.32.0", "sglang-0.5.9", "llama-server"] {
        let page = fixture(engine);
        let facts = ServerFacts::of(&page, &[kept(&page)], Some(&page));
        assert_eq!(facts.pages, 1);
        assert!(facts.running.is_some() && facts.waiting.is_some(), "{engine}: {facts:?}");
        assert_eq!(facts.kv_usage.is_some(), engine != "llama-server", "{engine}");
        assert_eq!((facts.prefix_asked_tokens, facts.prefix_hit_share()), (Some(0.0), None), "{engine}");
    }
    let busy = fixture("sglang-0.5.9");
    let facts = ServerFacts::of("", std::slice::from_ref(&busy), Some(&busy));
    assert_eq!(facts.running, Some(Level { mean: 64.0, max: 64.0 }));
    assert_eq!((facts.prefix_hit_tokens, facts.preemptions), (Some(979.0), Some(0.0)));
}

#[test]
fn what_sglang_took_back_is_counted_by_whichever_counter_it_has() {
    let page = |name: &str, count: u32| {
        format!(
            "sglang:num_running_reqs{{model_name=\"m\"}} 1\nsglang:num_retracted_reqs{{model_name=\"m\"}} 7\n\
             sglang:{name}{{model_name=\"m\"}} {count}\n"
        )
    };
    let preempted =
        |name: &str| ServerFacts::of(&page(name, 5), &[page(name, 6)], Some(&page(name, 17))).preemptions;
    for counter in ["num_retracted_reqs_total", "num_retracted_requests_total", "num_retractions_sum"] {
        assert_eq!(preempted(counter), Some(12.0), "{counter}");
    }
    assert_eq!(preempted("num_queue_reqs"), None, "a gauge that begins anew counts nothing");
}

/// As its `MetricsCollector` names and labels them.
const TENSORRT: &str = "# HELP trtllm_num_requests_running Number of active requests
# TYPE trtllm_num_requests_running gauge
trtllm_num_requests_running{engine_type=\"trtllm\",model_name=\"m\"} 5.0
trtllm_num_requests_waiting{engine_type=\"trtllm\",model_name=\"m\"} 3.0
trtllm_kv_cache_utilization{engine_type=\"trtllm\",model_name=\"m\"} 0.6
trtllm_kv_cache_host_utilization{engine_type=\"trtllm\",model_name=\"m\"} 0.9
trtllm_prompt_tokens_total{engine_type=\"trtllm\",model_name=\"m\"} 4000.0
trtllm_prompt_cached_tokens_total{engine_type=\"trtllm\",model_name=\"m\"} 1000.0
trtllm_spec_decode_num_draft_tokens_total{engine_type=\"trtllm\",model_name=\"m\"} 80.0
trtllm_spec_decode_num_accepted_tokens_total{engine_type=\"trtllm\",model_name=\"m\"} 60.0
";

#[test]
fn the_text_of_tensorrt_llm_is_understood() {
    let facts = ServerFacts::of("", &[kept(TENSORRT)], Some(TENSORRT));
    let level = |value| Some(Level { mean: value, max: value });
    assert_eq!((facts.running, facts.waiting, facts.kv_usage), (level(5.0), level(3.0), level(0.6)));
    assert_eq!((facts.prefix_hit_share(), facts.accepted_share()), (Some(0.25), Some(0.75)));
    assert_eq!(facts.preemptions, None, "it does not count them");
    let old = TENSORRT.replace("trtllm_prompt_cached_tokens_total", "trtllm_other");
    let facts = ServerFacts::of("", &[], Some(&old));
    assert_eq!((facts.prefix_asked_tokens, facts.prefix_hit_share()), (None, None));
}

/// Answers requests for these paths, and no others.
fn pages(of: Vec<(&'static str, &'static str)>) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut socket in listener.incoming().map_while(Result::ok) {
            let mut head = [0; 1024];
            let read = socket.read(&mut head).unwrap_or(0);
            let asked = String::from_utf8_lossy(&head[..read]).into_owned();
            let found = of.iter().find(|(path, _)| asked.starts_with(&format!("GET {path} ")));
            let (status, body) = found.map_or(("404 Not Found", ""), |(_, body)| ("200 OK", body));
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
            let _ = socket.write_all((head + body).as_bytes());
        }
    });
    url
}

#[tokio::test]
async fn the_page_that_says_most_is_read() {
    let json = r#"[{"numActiveRequests":5}]"#;
    let found = async |of: Vec<(&'static str, &'static str)>| {
        let mut spec = LoadSpec::new(pages(of), "m");
        spec.metrics = Some("/metrics".to_owned());
        Page::of(&spec).expect("a page").found().await
    };
    let (page, text) = found(vec![("/metrics", json)]).await.expect("iterations");
    assert_eq!(text, "trtllm_num_requests_running 5\n");
    assert_eq!(page.read().await.as_ref(), Some(&text));
    for first in [json, "[]"] {
        let both = vec![("/metrics", first), ("/prometheus/metrics", TENSORRT)];
        let (page, text) = found(both).await.expect("text");
        assert!(page.url.ends_with("/prometheus/metrics") && text == TENSORRT);
        assert_eq!(page.read().await.as_ref(), Some(&text));
    }
    assert!(found(vec![("/prometheus/metrics", TENSORRT)]).await.is_some());
    assert!(found(vec![("/metrics", "vllm:num_requests_running 1\n")]).await.is_some());
    assert!(found(vec![("/metrics", "python_info 1\n")]).await.is_none());
    assert!(found(Vec::new()).await.is_none());
}

#[test]
fn levels_are_of_the_load_and_counters_from_before_it_to_its_end() {
    let page = |running: u32, hits: u32| {
        format!(
            "vllm:num_requests_running{{engine=\"0\"}} {running}\nvllm:num_requests_running{{engine=\"1\"}} 1\n\
             vllm:kv_cache_usage_perc{{engine=\"0\"}} 0.25\nvllm:kv_cache_usage_perc{{engine=\"1\"}} 0.5\n\
             vllm:prefix_cache_queries_total {}\nvllm:prefix_cache_hits_total {hits}\n",
            hits * 4
        )
    };
    let facts = ServerFacts::of(&page(0, 100), &[page(3, 120), page(7, 150)], Some(&page(0, 200)));
    assert_eq!(facts.running, Some(Level { mean: 6.0, max: 8.0 }));
    assert_eq!(facts.kv_usage, Some(Level { mean: 0.5, max: 0.5 }), "the fullest replica");
    assert_eq!((facts.prefix_hit_tokens, facts.prefix_hit_share()), (Some(100.0), Some(0.25)));
    assert_eq!((facts.waiting, facts.draft_tokens, facts.accepted_share()), (None, None, None));
    let restarted = ServerFacts::of(&page(0, 100), &[], Some(&page(0, 20)));
    assert_eq!(restarted.prefix_hit_tokens, None, "what counts anew has lost the load's beginning");
    assert_eq!(ServerFacts::of(&page(0, 100), &[], None).prefix_hit_tokens, None);
    // as its page explains them: tokens processed, excluding cached ones, and tokens reused
    let llama = |computed: u32, found: u32| {
        format!("llamacpp:prompt_tokens_total {computed}\nllamacpp:prompt_tokens_cached_total {found}\n")
    };
    let facts = ServerFacts::of(&llama(3, 2), &[], Some(&llama(33, 72)));
    assert_eq!((facts.prefix_asked_tokens, facts.prefix_hit_share()), (Some(100.0), Some(0.7)));
}
