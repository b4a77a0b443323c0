//! The HTTP surface: which path does what.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::super::args::ApiKey;
use super::super::tokens::mix;
use super::answer;
use super::asked::{Asked, ChatBody, CompletionBody, Terms};
use super::driver::Driver;
use super::errors::ApiError;
use super::events::{Answer, Endpoint, EventWriter};
use super::exposition;
use super::generate::GenerateBody;

/// Prompts of a million words and more are refused by the context, not by the transport.
const LARGEST_BODY: usize = 64 << 20;

/// What the handlers share.
#[derive(Debug, Clone)]
pub struct App {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    driver: Driver,
    ready: AtomicBool,
    model: String,
    context: u32,
    seed: u64,
    key: Option<ApiKey>,
}

impl App {
    /// A server that is not ready yet.
    pub fn new(driver: Driver, model: &str, context: u32, seed: u64) -> Self {
        let ready = AtomicBool::new(false);
        let shared = Shared { driver, ready, model: model.to_owned(), context, seed, key: None };
        Self { shared: Arc::new(shared) }
    }

    /// It answers only clients that send this key; before it is shared.
    pub fn asking_for(mut self, key: Option<ApiKey>) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.key = key;
        }
        self
    }

    /// From now on requests are served.
    pub fn set_ready(&self) {
        self.shared.ready.store(true, Ordering::Release);
    }

    /// The routes.
    pub fn router(self) -> Router {
        Router::new()
            .route("/health", get(async || StatusCode::OK))
            .route("/ping", get(async || StatusCode::OK))
            .route("/v1/models", get(models))
            .route("/v1/chat/completions", post(chat))
            .route("/v1/completions", post(completions))
            .route("/generate", post(generate))
            .route("/metrics", get(metrics))
            .route("/reset_prefix_cache", post(reset_prefix_cache))
            .layer(middleware::from_fn_with_state(self.clone(), refuse_until_ready))
            .route("/version", get(version))
            .layer(middleware::from_fn_with_state(self.clone(), refuse_without_key))
            .layer(DefaultBodyLimit::max(LARGEST_BODY))
            .layer(middleware::map_response(mark_simulated))
            .with_state(self)
    }

    fn terms(&self) -> Terms<'_> {
        Terms { model: &self.shared.model, context: self.shared.context, seed: self.shared.seed }
    }

    async fn answer(&self, arrived: Instant, endpoint: Endpoint, asked: Asked) -> Result<Response, ApiError> {
        let prompt_tokens = asked.prompt.tokens;
        let ticket = self.shared.driver.submit(arrived, asked.prompt, asked.output_tokens, asked.ending);
        let created = unix_seconds();
        let answer = Answer {
            endpoint,
            id: mix(mix(created) ^ ticket.id()),
            created,
            model: self.shared.model.clone(),
            stream_name: asked.stream_name,
            prompt_tokens,
        };
        if asked.stream {
            let writer = EventWriter::new(answer, asked.include_usage, asked.continuous_usage);
            Ok(answer::stream(ticket, writer))
        } else {
            answer::whole(ticket, &answer).await
        }
    }
}

async fn refuse_until_ready(State(app): State<App>, request: Request, next: Next) -> Response {
    if app.shared.ready.load(Ordering::Acquire) {
        next.run(request).await
    } else {
        ApiError::Starting.into_response()
    }
}

/// As vLLM does: what is below `/v1` is guarded, and health, metrics and version are everybody's. SGLang's endpoint is guarded too.
async fn refuse_without_key(State(app): State<App>, request: Request, next: Next) -> Response {
    let sent = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
    let admitted = app.shared.key.as_ref().is_none_or(|key| key.admits(sent));
    let path = request.uri().path();
    if admitted || !(path.starts_with("/v1") || path == "/generate") {
        next.run(request).await
    } else {
        (StatusCode::UNAUTHORIZED, Json(json!({"error": "Unauthorized"}))).into_response()
    }
}

async fn mark_simulated(mut response: Response) -> Response {
    response.headers_mut().insert("x-perflab-simulated", HeaderValue::from_static("true"));
    response
}

async fn chat(State(app): State<App>, body: Bytes) -> Result<Response, ApiError> {
    let arrived = Instant::now();
    let asked = serde_json::from_slice::<ChatBody>(&body)?.ask(app.terms())?;
    app.answer(arrived, Endpoint::Chat, asked).await
}

async fn completions(State(app): State<App>, body: Bytes) -> Result<Response, ApiError> {
    let arrived = Instant::now();
    let asked = serde_json::from_slice::<CompletionBody>(&body)?.ask(app.terms())?;
    app.answer(arrived, Endpoint::Completions, asked).await
}

async fn generate(State(app): State<App>, body: Bytes) -> Result<Response, ApiError> {
    let arrived = Instant::now();
    let asked = serde_json::from_slice::<GenerateBody>(&body)?.ask(app.terms())?;
    app.answer(arrived, Endpoint::Generate, asked).await
}

async fn models(State(app): State<App>) -> Json<Value> {
    let Shared { model, context, .. } = &*app.shared;
    Json(json!({"object": "list", "data": [{
        "id": model, "object": "model", "created": unix_seconds(), "owned_by": "perflab-sim", "root": model,
        "parent": null, "max_model_len": context, "simulated": true,
    }]}))
}

async fn metrics(State(app): State<App>) -> impl IntoResponse {
    let page = exposition::render(&app.shared.driver.status(), &app.shared.model);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page)
}

async fn reset_prefix_cache(State(app): State<App>) -> StatusCode {
    if app.shared.driver.reset_prefix_cache().await { StatusCode::OK } else { StatusCode::CONFLICT }
}

async fn version() -> Json<Value> {
    Json(json!({"version": env!("CARGO_PKG_VERSION"), "simulated": true}))
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}
