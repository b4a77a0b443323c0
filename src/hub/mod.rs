//! The model hub: where its files lie on this machine.

mod cache;

pub use cache::cache_dir;
