//! What an installed engine says of itself: where its program leads, and the question put to it.

mod ask;
mod output;
mod place;

pub use ask::{Answer, AskError, ask};
pub use place::{From, is_here};
