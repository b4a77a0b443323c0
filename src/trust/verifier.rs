//! Which certificates a server may show.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// Whether a certificate was refused because it is an authority's own. The error is of the checker's own and not told by its type.
pub(super) fn is_of_authority(error: &CertificateError) -> bool {
    format!("{error:?}").contains("CaUsedAsEndEntity")
}

/// Trusts whom the system trusts, and a server that shows one of the very certificates of `SSL_CERT_FILE`: `openssl req -x509` makes
/// an authority's own (`CA:TRUE`), and people let a server show it.
#[derive(Debug)]
pub(super) struct Shown {
    system: Verifier,
    own: Vec<CertificateDer<'static>>,
}

impl Shown {
    /// Reads the certificates that are trusted.
    pub fn new() -> Result<Self, Error> {
        let system = Verifier::new(Arc::new(ring::default_provider()))?;
        let file =
            std::env::var_os("SSL_CERT_FILE").and_then(|file| CertificateDer::pem_file_iter(file).ok());
        let own = file.into_iter().flatten().filter_map(Result::ok).collect();
        Ok(Self { system, own })
    }
}

impl ServerCertVerifier for Shown {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.system.verify_server_cert(shown, between, name, ocsp, now) {
            // its time has been looked at before its kind, its name has not
            Err(Error::InvalidCertificate(e)) if is_of_authority(&e) && self.own.contains(shown) => {
                verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.system.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.system.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.system.supported_verify_schemes()
    }
}

/// Takes any certificate; whoever shows it still has to hold its key.
#[derive(Debug)]
pub(super) struct Unchecked(CryptoProvider);

impl Default for Unchecked {
    fn default() -> Self {
        Self(ring::default_provider())
    }
}

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
