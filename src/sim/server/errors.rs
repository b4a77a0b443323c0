//! Refusals in the words of vLLM, which clients and classifiers know.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// A request that is not served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The body is no JSON.
    #[error(
        "1 validation error:\n  {{'type': 'json_invalid', 'loc': ('body', {column}), 'msg': 'JSON decode error', 'input': \
         {{}}, 'ctx': {{'error': \"{problem}\"}}}}"
    )]
    BadJson {
        /// Where, in bytes of its line.
        column: usize,
        /// What the parser says.
        problem: String,
    },
    /// The body is JSON of another shape.
    #[error("1 validation error:\n  {{'type': 'value_error', 'loc': ('body',), 'msg': '{problem}'}}")]
    BadShape {
        /// What the parser says.
        problem: String,
    },
    /// Another model's name.
    #[error("The model `{model}` does not exist.")]
    UnknownModel {
        /// The name.
        model: String,
    },
    /// A limit below one token.
    #[error("max_tokens must be at least 1, got {value}. (parameter=max_tokens, value={value})")]
    BadMaxTokens {
        /// The limit.
        value: i64,
    },
    /// Something that the simulator does not do.
    #[error("{parameter} {problem}. (parameter={parameter}, value={value})")]
    Unsupported {
        /// The field.
        parameter: &'static str,
        /// What about it.
        problem: &'static str,
        /// Its value.
        value: u64,
    },
    /// Nothing to compute.
    #[error("The prompt is empty. (parameter=prompt)")]
    EmptyPrompt,
    /// More tokens than the context has.
    #[error(
        "You passed {input} input tokens and requested {output} output tokens. However, the model's context length is \
         only {context} tokens, resulting in a maximum input length of {longest} tokens. Please reduce the length of the \
         input prompt. (parameter=input_tokens, value={input})"
    )]
    ContextOverflow {
        /// Tokens of the prompt.
        input: u32,
        /// Tokens asked for.
        output: u32,
        /// Tokens of the context.
        context: u32,
        /// Tokens that the prompt could have had.
        longest: u32,
    },
    /// The engine is loading.
    #[error("The engine is starting.")]
    Starting,
    /// The engine's thread is gone.
    #[error("EngineCore encountered an issue. See stack trace (above) for the root cause.")]
    EngineGone,
}

impl ApiError {
    /// HTTP status.
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::UnknownModel { .. } => StatusCode::NOT_FOUND,
            Self::Starting => StatusCode::SERVICE_UNAVAILABLE,
            Self::EngineGone => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// The error object, as a body or as an event of a stream.
    pub fn body(&self) -> serde_json::Value {
        let (kind, parameter) = match self {
            Self::BadJson { .. } | Self::BadShape { .. } => ("Bad Request", None),
            Self::UnknownModel { .. } => ("NotFoundError", Some("model")),
            Self::BadMaxTokens { .. } => ("BadRequestError", Some("max_tokens")),
            Self::Unsupported { parameter, .. } => ("BadRequestError", Some(*parameter)),
            Self::EmptyPrompt => ("BadRequestError", Some("prompt")),
            Self::ContextOverflow { .. } => ("BadRequestError", Some("input_tokens")),
            Self::Starting => ("ServiceUnavailableError", None),
            Self::EngineGone => ("InternalServerError", None),
        };
        let code = self.status().as_u16();
        json!({"error": {"message": self.to_string(), "type": kind, "param": parameter, "code": code}})
    }
}

impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> Self {
        let problem = error.to_string();
        if error.is_data() {
            Self::BadShape { problem }
        } else {
            Self::BadJson { column: error.column(), problem }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status(), Json(self.body())).into_response()
    }
}
