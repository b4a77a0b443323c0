//! Why a server at an `https://` address was not spoken with. An HTTP client calls all of it a failed connection; who has to mend it
//! differs.

use std::error::Error;
use std::{fmt, io};

/// What kept TLS from being spoken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// a stable name of the kind
    pub class: &'static str,
    /// what the server did or showed, and what helps
    pub why: String,
}

/// The server speaks no TLS.
const NO_TLS: &str = "no TLS";
/// The connection ended while hands were shaken.
const BROKEN_OFF: &str = "TLS handshake broken off";
/// The connection ended after it.
const CUT: &str = "TLS connection broken off";

impl Refusal {
    /// Whether asking again may help: a server that starts, or one behind a proxy, breaks handshakes off and takes them later.
    pub fn may_pass(&self) -> bool {
        [BROKEN_OFF, CUT].contains(&self.class)
    }

    /// Whether hands could not even be shaken.
    pub fn is_of_handshake(&self) -> bool {
        self.class != CUT
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class, self.why)
    }
}

/// Why a client met no TLS at an address that it was sent to, if that was the reason.
pub fn refusal(url: &str, error: &(dyn Error + 'static), connecting: bool) -> Option<Refusal> {
    if !url.starts_with("https:") {
        return None;
    }
    if !cfg!(feature = "tls") {
        let why = "this perflab was built without TLS; build it with `--features tls`, or name an address with http://";
        return Some(Refusal { class: NO_TLS, why: why.to_owned() });
    }
    caused(error, connecting).or_else(|| cut_by(error).filter(|_| !connecting))
}

/// The end of a connection on which TLS was spoken, if that is what an error tells.
fn cut_by(error: &(dyn Error + 'static)) -> Option<Refusal> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(ended) = error.downcast_ref::<io::Error>().filter(|e| is_broken_off(e)) {
            return Some(cut(ended.kind()));
        }
        next = error.source();
    }
    None
}

/// The same of an error of a client that speaks TLS however perflab was built.
pub fn caused(error: &(dyn Error + 'static), connecting: bool) -> Option<Refusal> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(refusal) = with::told(error) {
            return Some(refusal);
        }
        let inner = error.downcast_ref::<io::Error>();
        if let Some(e) = inner.filter(|e| connecting && is_broken_off(e)) {
            return Some(broken_off(e.kind()));
        }
        // what an error of input and output holds is not its source
        next = match inner.and_then(io::Error::get_ref) {
            Some(held) => Some(held),
            None => error.source(),
        };
    }
    None
}

/// Whether an error that ended a handshake says that the connection ended. Who takes no connections at all refuses them.
pub fn is_broken_off(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe)
}

/// A server that ended the handshake by ending the connection: in order, or not.
pub fn broken_off(by: io::ErrorKind) -> Refusal {
    let ended = if by == io::ErrorKind::UnexpectedEof { "closed" } else { "reset" };
    let why = format!(
        "the connection was {ended} during the TLS handshake, by the server or a proxy before it; an address of a server without TLS \
         begins with http://"
    );
    Refusal { class: BROKEN_OFF, why }
}

/// A server that ended a connection on which TLS was spoken, and not in order.
pub fn cut(by: io::ErrorKind) -> Refusal {
    let ended = if by == io::ErrorKind::UnexpectedEof { "closed without a word" } else { "reset" };
    let why =
        format!("the connection was {ended} after the TLS handshake, by the server or a proxy before it");
    Refusal { class: CUT, why }
}

/// Whether what a request met was a handshake that was broken off.
pub fn tells_broken_off(message: &str) -> bool {
    message.contains(BROKEN_OFF)
}

#[cfg(not(feature = "tls"))]
mod with {
    use super::{Error, Refusal};

    /// Its errors are not known here.
    pub fn told(_: &(dyn Error + 'static)) -> Option<Refusal> {
        None
    }
}

#[cfg(feature = "tls")]
pub use with::of;

#[cfg(feature = "tls")]
mod with {
    use std::path::PathBuf;

    use jiff::Timestamp;
    use rustls::pki_types::UnixTime;
    use rustls::{AlertDescription, CertificateError};

    use super::{Error, NO_TLS, Refusal};
    use crate::trust::verifier;

    const UNTRUSTED: &str = "certificate not trusted";
    const NAMED_OTHERWISE: &str = "certificate of another name";
    const OUT_OF_TIME: &str = "certificate not valid now";
    const FAILED: &str = "TLS failed";

    /// What one error of a chain tells.
    pub fn told(error: &(dyn Error + 'static)) -> Option<Refusal> {
        error.downcast_ref().map(of)
    }

    /// What TLS itself says.
    pub fn of(error: &rustls::Error) -> Refusal {
        let (class, why) = match error {
            rustls::Error::InvalidCertificate(error) => certificate(error),
            rustls::Error::InvalidMessage(_) => (
                NO_TLS,
                "what it answers is no TLS; an address of a server without TLS begins with http://"
                    .to_owned(),
            ),
            rustls::Error::General(_) if crate::trust::config().is_err() => (UNTRUSTED, issuer()),
            rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
                (FAILED, "it asks its clients for a certificate, and perflab has none to show".to_owned())
            }
            other => (FAILED, in_words(&other.to_string())),
        };
        Refusal { class, why }
    }

    fn certificate(error: &CertificateError) -> (&'static str, String) {
        match error {
            // an authority of the name that is trusted, and with another key
            CertificateError::UnknownIssuer
            | CertificateError::BadSignature
            | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => (UNTRUSTED, issuer()),
            CertificateError::NotValidForNameContext { expected, presented } => {
                let names: Vec<String> = presented.iter().map(|name| plain(name)).collect();
                let names = if names.is_empty() { "no name".to_owned() } else { names.join(", ") };
                let host = expected.to_str();
                (NAMED_OTHERWISE, format!("its certificate is for {names} and not for {host}; name the server as its certificate does"))
            }
            CertificateError::ExpiredContext { time, not_after } => (OUT_OF_TIME, ended(*time, ("ended", *not_after))),
            CertificateError::NotValidYetContext { time, not_before } => {
                (OUT_OF_TIME, ended(*time, ("begins", *not_before)))
            }
            other if verifier::is_of_authority(other) => (
                UNTRUSTED,
                "its certificate is an authority's own, which is trusted at a server only where it stands in the file that SSL_CERT_FILE \
                 names; add it there, or make it one with basicConstraints=CA:FALSE"
                    .to_owned(),
            ),
            other => (UNTRUSTED, format!("its certificate is not taken: {}", in_words(&other.to_string()))),
        }
    }

    /// What a checker says, without the names of its own types: `invalid peer certificate: Other(OtherError(BadEncoding))`.
    pub(super) fn in_words(said: &str) -> String {
        // the fields of a type are bytes, as a rule
        let said = said.split(" {").next().unwrap_or(said);
        let words = said.split(' ').map(|word| {
            let inner = match word.find('(') {
                Some(1..) => word.trim_end_matches(')').rsplit('(').next().unwrap_or(word),
                _ => word,
            };
            let humps = inner
                .as_bytes()
                .windows(2)
                .any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
            if !humps {
                return inner.to_owned();
            }
            let mut apart = String::new();
            for (at, letter) in inner.char_indices() {
                let begins =
                    letter.is_ascii_uppercase() && inner[..at].ends_with(|c: char| c.is_ascii_lowercase());
                apart.extend(begins.then_some(' '));
                apart.push(letter.to_ascii_lowercase());
            }
            apart
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Whom perflab trusts, and how that is changed.
    fn issuer() -> String {
        let set = |name: &str| std::env::var_os(name).map(|value| (name.to_owned(), PathBuf::from(value)));
        let places: Vec<String> = ["SSL_CERT_FILE", "SSL_CERT_DIR"]
            .into_iter()
            .filter_map(set)
            .map(|(name, value)| format!("{name} ({})", value.display()))
            .collect();
        let missing =
            ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(set).find(|(_, at)| !at.exists());
        if let Some((name, at)) = missing {
            let what = if name == "SSL_CERT_FILE" { "file" } else { "directory" };
            return format!(
                "{name} names {}, and there is no such {what}: nobody is trusted by it, and the system's authorities are not read \
                 beside it; unset it, or name what holds certificates",
                at.display()
            );
        }
        let whose = if places.is_empty() { "the system".to_owned() } else { places.join(" and ") };
        if crate::trust::config().is_err() {
            return format!(
                "nobody is trusted here: no certificate could be read from {whose}; SSL_CERT_FILE names a file of certificates to \
                 trust instead of the system's"
            );
        }
        if places.is_empty() {
            return "its certificate is by no authority that the system trusts; SSL_CERT_FILE names a file of certificates to trust \
                    instead of the system's"
                .to_owned();
        }
        format!(
            "its certificate is by no authority of {whose}, trusted in place of the system's; add its authority there"
        )
    }

    fn ended(now: UnixTime, (verb, then): (&str, UnixTime)) -> String {
        let time = |t: UnixTime| {
            let read = i64::try_from(t.as_secs()).ok().and_then(|s| Timestamp::from_second(s).ok());
            read.map_or_else(|| "a time that cannot be read".to_owned(), |t| t.to_string())
        };
        format!(
            "the time of its certificate {verb} at {}; this machine's clock says {}",
            time(then),
            time(now)
        )
    }

    /// `DnsName("a")` and `IpAddress(1.2.3.4)`, as a checker writes them, without what they are.
    fn plain(name: &str) -> String {
        let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
        inner.trim_matches('"').to_owned()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn what_a_checker_says_is_read_without_its_types() {
            let said = |error: &rustls::Error| of(error).to_string();
            let refused = said(&rustls::Error::AlertReceived(AlertDescription::HandshakeFailure));
            assert_eq!(refused, "TLS failed: received fatal alert: handshake failure");
            assert_eq!(
                in_words("peer is incompatible: Other(OtherError(NoCipherSuites))"),
                "peer is incompatible: no cipher suites"
            );
            assert_eq!(in_words("it speaks (TLS1.3)"), "it speaks (TLS1.3)");
            let fields = "invalid peer certificate: UnsupportedSignatureAlgorithmContext { signature_algorithm_id: [6, 8] }";
            assert_eq!(in_words(fields), "invalid peer certificate: unsupported signature algorithm context");
        }
    }
}
