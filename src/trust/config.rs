//! The settings of TLS.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

use super::verifier::{Shown, Unchecked};

/// Settings that trust whom the system trusts; made once.
pub fn config() -> Result<Arc<ClientConfig>, rustls::Error> {
    static MADE: OnceLock<Result<Arc<ClientConfig>, rustls::Error>> = OnceLock::new();
    MADE.get_or_init(|| checked_by(Arc::new(Shown::new()?))).clone()
}

/// Settings that look at no certificate: whoever answers is spoken with.
pub fn unchecked() -> Result<Arc<ClientConfig>, rustls::Error> {
    checked_by(Arc::new(Unchecked::default()))
}

fn checked_by(verifier: Arc<dyn ServerCertVerifier>) -> Result<Arc<ClientConfig>, rustls::Error> {
    let checked = begun()?.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = checked.with_no_client_auth();
    // what reads answers here knows no other
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Settings that trust nobody, for clients that need none.
pub(super) fn nobody() -> Option<Arc<ClientConfig>> {
    static MADE: OnceLock<Option<Arc<ClientConfig>>> = OnceLock::new();
    let make = || {
        let config = begun().ok()?.with_root_certificates(RootCertStore::empty());
        Some(Arc::new(config.with_no_client_auth()))
    };
    MADE.get_or_init(make).clone()
}

fn begun() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
}
