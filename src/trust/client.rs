//! Clients for few requests, that trust whom the load generator trusts.

use reqwest::ClientBuilder;

/// The beginning of a client for any address.
pub fn client() -> ClientBuilder {
    client_for("https://")
}

/// The beginning of a client for one address: without `https://` no certificate is read for it.
pub fn client_for(url: &str) -> ClientBuilder {
    with_tls(reqwest::Client::builder(), url.starts_with("https:"))
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
