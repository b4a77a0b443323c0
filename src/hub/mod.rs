//! The model hub: which commit of a model is meant, what of it lies on this machine, and fetching what does not.
//!
//! Models are resolved before a GPU is taken, and engines run offline: no launch waits for a network, and all launches of
//! a study load the same bytes.

mod api;
mod cache;
mod error;
mod fetch;
mod local;
mod resolve;

pub use cache::cache_dir;
pub use error::HubError;
pub use local::{identity, known};
pub use resolve::{Hub, Phase, Resolved, is_name, size};
