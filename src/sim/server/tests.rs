//! The server over a real socket: shapes, limits, errors, the prefix cache, and a client that leaves.

use std::time::{Duration, Instant};

use axum::http::HeaderValue;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::super::{Arrivals, Ending, EngineConfig, Load, Prompt, SimArgs, predict};
use super::driver::Driver;
use super::routes::App;

type TestResult<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Until something that must happen has happened, on however busy a machine.
const DEADLINE: Duration = Duration::from_secs(30);

struct Server {
    base: String,
    app: App,
    client: reqwest::Client,
}

fn config(line: &str) -> TestResult<EngineConfig> {
    let args = SimArgs::parse_words(line.split_whitespace())?;
    Ok(EngineConfig::resolve(&args)?)
}

impl Server {
    async fn start() -> TestResult<Self> {
        let server = Self::start_unready().await?;
        server.app.set_ready();
        Ok(server)
    }

    async fn start_unready() -> TestResult<Self> {
        let config = config("--model Qwen3-0.6B --max-model-len 4096")?;
        let app = App::new(Driver::start(config.simulation())?, "tiny", config.limits.max_model_len, 0);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let base = format!("http://{}", listener.local_addr()?);
        tokio::spawn(axum::serve(listener, app.clone().router()).into_future());
        #[cfg(feature = "tls")]
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self { base, app, client: reqwest::Client::builder().no_proxy().build()? })
    }

    async fn post(&self, path: &str, body: &Value) -> TestResult<reqwest::Response> {
        self.post_raw(path, body.to_string()).await
    }

    async fn post_raw(&self, path: &str, body: String) -> TestResult<reqwest::Response> {
        let response = self.client.post(format!("{}{path}", self.base)).body(body).send().await?;
        assert_eq!(
            response.headers().get("x-perflab-simulated").map(HeaderValue::as_bytes),
            Some(&b"true"[..])
        );
        Ok(response)
    }

    async fn get(&self, path: &str) -> TestResult<(u16, String)> {
        let response = self.client.get(format!("{}{path}", self.base)).send().await?;
        Ok((response.status().as_u16(), response.text().await?))
    }

    /// Status and error object of a request that is refused.
    async fn refusal(&self, path: &str, body: String) -> TestResult<(u16, Value)> {
        let response = self.post_raw(path, body).await?;
        let status = response.status().as_u16();
        let body: Value = response.json().await?;
        Ok((status, body["error"].clone()))
    }

    async fn metric(&self, name: &str) -> TestResult<f64> {
        let (_, page) = self.get("/metrics").await?;
        let line = page.lines().find(|line| line.starts_with(name)).ok_or("no such metric")?;
        Ok(line.rsplit(' ').next().ok_or("no value")?.parse()?)
    }

    async fn wait_for(&self, metric: &str, wanted: f64) -> TestResult {
        let start = Instant::now();
        while (self.metric(metric).await? - wanted).abs() > 0.1 {
            assert!(start.elapsed() < DEADLINE, "{metric} never became {wanted}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}

fn events(text: &str) -> TestResult<Vec<Value>> {
    let events: Vec<&str> = text.split("\n\n").filter(|event| !event.is_empty()).collect();
    assert_eq!(events.last(), Some(&"data: [DONE]"));
    let data =
        events[..events.len() - 1].iter().map(|event| event.strip_prefix("data: ").unwrap_or_default());
    data.map(|json| Ok(serde_json::from_str(json)?)).collect()
}

fn words(count: usize) -> String {
    vec!["word"; count].join(" ")
}

#[tokio::test]
async fn a_chat_stream_has_one_event_per_token_and_the_usage() -> TestResult {
    let server = Server::start().await?;
    let body = json!({
        "model": "tiny", "messages": [{"role": "user", "content": "how are you"}], "max_tokens": 5,
        "ignore_eos": true, "stream": true, "stream_options": {"include_usage": true}, "temperature": 0,
    });
    let response = server.post("/v1/chat/completions", &body).await?;
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    let events = events(&response.text().await?)?;
    assert_eq!(events.len(), 1 + 5 + 1);
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    let text: Vec<&str> =
        events[1..6].iter().filter_map(|e| e["choices"][0]["delta"]["content"].as_str()).collect();
    assert!(text.iter().all(|word| word.starts_with(' ') && word.len() > 1), "{text:?}");
    let reasons: Vec<_> = events.iter().filter_map(|e| e["choices"][0]["finish_reason"].as_str()).collect();
    assert_eq!(reasons, ["length"]);
    assert_eq!(events[5]["choices"][0]["finish_reason"], "length");
    let usage = json!({
        "prompt_tokens": 11, "total_tokens": 16, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 0},
    });
    assert_eq!(events[6]["usage"], usage);
    Ok(())
}

#[tokio::test]
async fn streamed_and_whole_answers_say_the_same() -> TestResult {
    let server = Server::start().await?;
    let mut body = json!({"model": "tiny", "prompt": "a b c d", "max_tokens": 6, "ignore_eos": true});
    let whole: Value = server.post("/v1/completions", &body).await?.json().await?;
    assert_eq!(whole["object"], "text_completion");
    assert_eq!(whole["usage"]["prompt_tokens"], 4);
    assert_eq!(whole["system_fingerprint"], "perflab-sim");
    body["stream"] = json!(true);
    let events = events(&server.post("/v1/completions", &body).await?.text().await?)?;
    let text: String = events.iter().filter_map(|event| event["choices"][0]["text"].as_str()).collect();
    assert_eq!(whole["choices"][0]["text"], text);
    assert_eq!(events.len(), 6, "no usage event unless asked for");
    Ok(())
}

#[tokio::test]
async fn sglang_s_endpoint_says_the_whole_text_so_far() -> TestResult {
    let server = Server::start().await?;
    let sampling = json!({"max_new_tokens": 4, "ignore_eos": true, "temperature": 0});
    let mut body = json!({"text": words(40), "sampling_params": sampling});
    let whole: Value = server.post("/generate", &body).await?.json().await?;
    assert_eq!(whole["meta_info"]["finish_reason"], json!({"type": "length", "length": 4}));
    let counts =
        ["prompt_tokens", "completion_tokens", "cached_tokens"].map(|name| whole["meta_info"][name].as_u64());
    assert_eq!(counts, [Some(40), Some(4), Some(0)]);
    body["stream"] = json!(true);
    let events = events(&server.post("/generate", &body).await?.text().await?)?;
    let texts: Vec<&str> = events.iter().filter_map(|event| event["text"].as_str()).collect();
    assert_eq!((texts.len(), texts.last().copied()), (4, whole["text"].as_str()));
    assert!(
        texts.windows(2).all(|pair| pair[1].starts_with(pair[0]) && pair[1].len() > pair[0].len()),
        "{texts:?}"
    );
    for (sent, event) in (1..).zip(&events) {
        let meta = &event["meta_info"];
        assert_eq!(
            (&meta["completion_tokens"], &meta["cached_tokens"]),
            (&json!(sent), &json!(32)),
            "{event}"
        );
        assert_eq!(meta["finish_reason"].is_null(), sent < 4, "{event}");
    }
    let ids = json!({"input_ids": [5, 6, 7], "sampling_params": {"max_new_tokens": 1}});
    let answer: Value = server.post("/generate", &ids).await?.json().await?;
    assert_eq!(answer["meta_info"]["prompt_tokens"], 3);
    let (status, _) = server.refusal("/generate", json!({"sampling_params": {}}).to_string()).await?;
    assert_eq!(status, 400);
    Ok(())
}

#[tokio::test]
async fn prompts_may_be_token_ids() -> TestResult {
    let server = Server::start().await?;
    for prompt in [json!([5, 6, 7]), json!([[5, 6, 7]])] {
        let answer: Value =
            server.post("/v1/completions", &json!({"prompt": prompt, "max_tokens": 1})).await?.json().await?;
        assert_eq!(answer["usage"]["prompt_tokens"], 3);
        assert_eq!(answer["usage"]["completion_tokens"], 1);
    }
    Ok(())
}

#[tokio::test]
async fn refusals_are_in_vllms_words() -> TestResult {
    let server = Server::start().await?;
    let path = "/v1/completions";
    let (status, error) = server.refusal(path, json!({"model": "nope", "prompt": "a"}).to_string()).await?;
    assert_eq!((status, &error["message"]), (404, &json!("The model `nope` does not exist.")));
    let (status, error) = server.refusal(path, "{\"prompt\": \"a\",".to_owned()).await?;
    assert_eq!(status, 400);
    assert!(error["message"].as_str().is_some_and(|text| text.contains("json_invalid")), "{error}");
    let (status, error) = server.refusal(path, json!({"prompt": "a", "max_tokens": -3}).to_string()).await?;
    let message = "max_tokens must be at least 1, got -3. (parameter=max_tokens, value=-3)";
    assert_eq!((status, &error["message"]), (400, &json!(message)));
    let long =
        json!({"messages": [{"role": "user", "content": words(4080)}], "max_tokens": 9, "stream": true});
    let (status, error) = server.refusal("/v1/chat/completions", long.to_string()).await?;
    assert_eq!(status, 400);
    let message = "You passed 4088 input tokens and requested 9 output tokens. However, the model's context length is \
                   only 4096 tokens, resulting in a maximum input length of 4087 tokens.";
    assert!(error["message"].as_str().is_some_and(|text| text.starts_with(message)), "{error}");
    let (status, _) = server.refusal(path, json!({"prompt": 3}).to_string()).await?;
    assert_eq!(status, 400);
    Ok(())
}

#[tokio::test]
async fn nothing_is_served_before_the_start_is_over() -> TestResult {
    let server = Server::start_unready().await?;
    assert_eq!(server.get("/health").await?.0, 503);
    assert_eq!(server.post("/v1/completions", &json!({"prompt": "a"})).await?.status().as_u16(), 503);
    server.app.set_ready();
    assert_eq!(server.get("/health").await?.0, 200);
    let (_, version) = server.get("/version").await?;
    assert!(version.contains("\"simulated\":true"), "{version}");
    let (_, models) = server.get("/v1/models").await?;
    let models: Value = serde_json::from_str(&models)?;
    assert_eq!(
        (&models["data"][0]["id"], &models["data"][0]["max_model_len"]),
        (&json!("tiny"), &json!(4096))
    );
    Ok(())
}

#[tokio::test]
async fn the_prefix_cache_is_seen_counted_and_reset() -> TestResult {
    let server = Server::start().await?;
    let body = json!({"prompt": words(100), "max_tokens": 2, "ignore_eos": true});
    let cached = async || -> TestResult<u64> {
        let answer: Value = server.post("/v1/completions", &body).await?.json().await?;
        answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().ok_or_else(|| "no count".into())
    };
    assert_eq!(cached().await?, 0);
    assert_eq!(cached().await?, 96);
    server.wait_for("vllm:prefix_cache_hits_total", 96.0).await?;
    assert!((server.metric("vllm:prefix_cache_queries_total").await? - 200.0).abs() < 0.1);
    assert_eq!(server.post("/reset_prefix_cache", &Value::Null).await?.status().as_u16(), 200);
    assert_eq!(cached().await?, 0);
    Ok(())
}

#[tokio::test]
async fn a_client_that_hangs_up_frees_its_request() -> TestResult {
    let server = Server::start().await?;
    for (path, stream) in [("/v1/completions", true), ("/v1/completions", false)] {
        let body = json!({"prompt": "go on", "max_tokens": 4000, "ignore_eos": true, "stream": stream});
        let request = server.client.post(format!("{}{path}", server.base)).body(body.to_string());
        let pending = tokio::spawn(async move {
            let mut response = request.send().await?;
            while response.chunk().await?.is_some() {}
            Ok::<_, reqwest::Error>(())
        });
        server.wait_for("vllm:num_requests_running", 1.0).await?;
        pending.abort();
        server.wait_for("vllm:num_requests_running", 0.0).await?;
        assert_eq!(server.metric("vllm:kv_cache_usage_perc").await?.to_bits(), 0.0f64.to_bits());
    }
    let (_, page) = server.get("/metrics").await?;
    assert!(page.contains("finished_reason=\"abort\"} 2.0"), "{page}");
    Ok(())
}

#[tokio::test]
async fn real_time_is_never_ahead_of_the_model() -> TestResult {
    let config = config("--model Qwen3-0.6B")?;
    let driver = Driver::start(config.simulation())?;
    let predicted = predict(&config, &Load::uniform(8, 100, 40, Arrivals::Open(vec![Duration::ZERO])))?;
    let start = Instant::now();
    let mut tickets: Vec<_> = (0..8)
        .map(|number: u64| {
            let mut prompt = Prompt::default();
            prompt.extend((0..100).map(|place| number * 1000 + place));
            driver.submit(start, prompt, 40, Ending::Length)
        })
        .collect();
    for ticket in &mut tickets {
        let mut tokens = 0;
        while let Some(emission) = ticket.next().await {
            tokens += emission.tokens;
            if emission.ending.is_some() {
                break;
            }
        }
        assert_eq!(tokens, 40);
    }
    let elapsed = start.elapsed();
    assert!(elapsed > predicted.duration.mul_f64(0.95), "{elapsed:?} against {:?}", predicted.duration);
    assert!(elapsed < predicted.duration + DEADLINE);
    Ok(())
}
