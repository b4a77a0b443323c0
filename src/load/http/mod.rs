//! HTTP/1.1 as the load generator speaks it: a decoder without input or output, and connections that are opened
//! ahead, kept, and read with the clock at hand. Written for one thing only: many streams at once whose times
//! are to be true.

mod client;
mod connection;
mod decoder;
mod flow;
mod head;
mod sockets;
mod stamp;
mod tls;

pub(super) use client::{HttpClient, HttpStream, Pulse};
pub use decoder::{Decoder, HttpError};
pub use head::Head;
