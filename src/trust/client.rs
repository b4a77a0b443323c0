//! Clients for few requests, that trust whom the load generator trusts, and no answer to come to an end.

use reqwest::{ClientBuilder, Response};
use thiserror::Error;

/// Bytes of an answer that are kept: the longest page of metrics has a few millions.
const MOST: usize = 16 << 20;

/// The beginning of a client for any address.
pub fn client() -> ClientBuilder {
    client_for("https://")
}

/// The beginning of a client for one address: without `https://` no certificate is read for it.
pub fn client_for(url: &str) -> ClientBuilder {
    with_tls(reqwest::Client::builder(), url.starts_with("https:"))
}

/// Why there is no whole answer.
#[derive(Debug, Error)]
pub enum Unended {
    #[error("{0}")]
    Broken(reqwest::Error),
    /// no end that could be waited for
    #[error("its answer has more than {} MiB", MOST >> 20)]
    Long,
}

/// An answer whole.
pub async fn whole(mut answer: Response) -> Result<String, Unended> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|e| Unended::Broken(e.without_url()))? {
        body.extend_from_slice(&chunk);
        if body.len() > MOST {
            return Err(Unended::Long);
        }
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

#[cfg(feature = "tls")]
fn with_tls(builder: ClientBuilder, secure: bool) -> ClientBuilder {
    let trusting = if secure { super::config().ok() } else { None };
    match trusting.or_else(super::config::nobody) {
        Some(config) => builder.tls_backend_preconfigured(config.as_ref().clone()),
        None => builder,
    }
}

#[cfg(not(feature = "tls"))]
fn with_tls(builder: ClientBuilder, _: bool) -> ClientBuilder {
    builder
}
