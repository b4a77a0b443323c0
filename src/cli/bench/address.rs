//! A server's address as people write it: with who asks in front of the host, which is sent as a header and stands nowhere else.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;

use crate::load::Header;
use crate::secrets;

/// An address, and who asks.
pub(super) struct Address {
    /// Without a name or a password.
    pub url: String,
    pub login: Option<Header>,
}

impl Address {
    /// Takes `http://user:password@host` apart.
    ///
    /// # Errors
    /// What would be left out of a request without a word.
    pub(super) fn read(url: &str) -> Result<Self, String> {
        if url.contains('#') {
            return Err(
                "a part behind `#` is for readers of pages, and sent to no server: leave it out".to_owned()
            );
        }
        let Some((scheme, rest)) = url.split_once("://") else {
            return Ok(Self { url: url.to_owned(), login: None });
        };
        let scheme = scheme.to_ascii_lowercase();
        let host_ends = rest.find(['/', '?']).unwrap_or(rest.len());
        let (user, host) = match rest[..host_ends].rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, &rest[..host_ends]),
        };
        let url = format!("{scheme}://{host}{}", &rest[host_ends..]);
        Ok(Self { url, login: user.filter(|user| !user.is_empty()).map(login) })
    }
}

/// The header of a name and a password, which are known as secrets from now on.
fn login(user: &str) -> Header {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let decoded = |text| Cow::from(percent_decode_str(text)).into_owned();
    let (name, password) = (decoded(name), decoded(password));
    let said = STANDARD.encode([&name[..], b":", &password].concat());
    let secret = if password.is_empty() { &name } else { &password };
    secrets::learn([String::from_utf8_lossy(secret).into_owned(), said.clone()]);
    Header::authorization(format!("Basic {said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> (String, Option<String>) {
        let address = Address::read(url).expect("an address");
        (address.url, address.login.map(|header| header.value))
    }

    #[test]
    fn who_asks_is_a_header_and_no_part_of_the_address() {
        let basic = |said: &str| Some(format!("Basic {said}"));
        let host = || "http://host:8000/v1".to_owned();
        // python -c "import base64; print(base64.b64encode(b'user:pass word@1'))"
        assert_eq!(
            read("http://user:pass%20word@1@host:8000/v1"),
            (host(), basic("dXNlcjpwYXNzIHdvcmRAMQ=="))
        );
        assert_eq!(read("HTTP://user@host:8000/v1"), (host(), basic("dXNlcjo=")));
        assert_eq!(read("http://@host:8000/v1"), (host(), None));
        assert_eq!(read("http://host:8000/v1"), (host(), None));
        assert_eq!(read("https://h?key=a@b"), ("https://h?key=a@b".to_owned(), None));
        assert_eq!(read("host:80"), ("host:80".to_owned(), None));
        assert!(Address::read("http://h/#part").is_err());
        let masked = secrets::mask("it said pass word@1 and dXNlcjpwYXNzIHdvcmRAMQ==");
        assert_eq!(masked, "it said *** and ***");
    }
}
