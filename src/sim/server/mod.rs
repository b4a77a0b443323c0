//! The simulated engine as a process: an OpenAI-compatible HTTP server, with SGLang's own endpoint, over the discrete-event model, which one thread
//! runs in real time.

mod answer;
mod asked;
mod driver;
mod errors;
mod events;
mod exposition;
mod generate;
mod log;
mod process;
mod routes;

#[cfg(test)]
mod tests;

pub use asked::TEMPLATE_TOKENS;
pub use process::{command, main, serve};
