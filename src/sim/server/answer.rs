//! From an engine's emissions to an HTTP body: token by token, or all at once.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use http_body::Frame;

use super::driver::Ticket;
use super::errors::ApiError;
use super::events::{Answer, EventWriter};

/// Sends tokens as they come.
pub fn stream(ticket: Ticket, writer: EventWriter) -> Response {
    let body = Body::new(EventBody { ticket, writer, ended: false });
    ([(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")], body).into_response()
}

/// Waits for the last token and sends the whole answer.
pub async fn whole(mut ticket: Ticket, answer: &Answer) -> Result<Response, ApiError> {
    loop {
        let emission = ticket.next().await.ok_or(ApiError::EngineGone)?;
        if let Some(ending) = emission.ending {
            let tokens = emission.position + emission.tokens;
            return Ok(Json(answer.whole(tokens, ending, emission.cached_tokens)).into_response());
        }
    }
}

/// A body that renders emissions when the connection asks for them. The connection drops it when the client hangs
/// up, and the ticket inside takes the request out of the engine.
struct EventBody {
    ticket: Ticket,
    writer: EventWriter,
    ended: bool,
}

impl http_body::Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let first = std::task::ready!(self.ticket.poll_next(context));
        let mut text = String::with_capacity(512);
        let mut next = first;
        while let Some(emission) = next {
            self.writer.write(&emission, &mut text);
            self.ended |= emission.ending.is_some();
            // what piled up behind a slow connection goes out in one write
            next = self.ticket.try_next();
        }
        if first.is_none() {
            EventWriter::write_error(&ApiError::EngineGone.body(), &mut text);
            self.ended = true;
        }
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(text)))))
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }
}
