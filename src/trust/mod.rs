//! Whom perflab trusts at `https://` addresses: the authorities of the system, or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`. The
//! certificates are read once, and only where somebody needs them.

mod client;
#[cfg(feature = "tls")]
mod config;
mod refusal;
#[cfg(feature = "tls")]
mod verifier;

pub use client::{Unended, client, client_for, client_of, whole};
#[cfg(feature = "tls")]
pub use config::{config, unchecked};
pub use refusal::{Refusal, caused, cut, is_broken_off, refusal, tells_broken_off};
#[cfg(feature = "tls")]
pub use refusal::{broken_off, of};
