//! Whom perflab trusts at `https://` addresses: the authorities of the system, or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`. The
//! certificates are read once, and only where somebody needs them.

mod client;
#[cfg(feature = "tls")]
mod config;
mod refusal;

pub use client::{Unended, client, client_for, whole};
#[cfg(feature = "tls")]
pub use config::config;
pub use refusal::{Refusal, caused, cut, is_broken_off, refusal, tells_broken_off};
#[cfg(feature = "tls")]
pub use refusal::{broken_off, of};
