//! Questions to a hub: which files a commit of a model has, and their bytes.

use std::time::Duration;

use serde::Deserialize;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body, config::RedirectAuthHeaders, http::Response, http::Uri};

use super::error::HubError;
use crate::trust;

/// The public hub, unless `HF_ENDPOINT` names another.
const PUBLIC: &str = "https://huggingface.co";
const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(30);
/// A file that takes longer is asked for again, from where it is; one that stalls was given up long before ([`super::fetch`]).
const BODY: Duration = Duration::from_mins(5);
/// A list is there at once, or the hub stalls.
const LIST_BODY: Duration = Duration::from_secs(20);
/// A hub that is overloaded is asked for its list again after these.
const AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// A list of files is not longer.
const LONGEST_LIST: u64 = 64 << 20;

/// A hub and what we are to it.
#[derive(Debug, Clone)]
pub(super) struct Api {
    agent: Agent,
    pub endpoint: String,
    token: Option<String>,
}

/// A commit of a model.
#[derive(Debug, Deserialize)]
pub(super) struct Listing {
    pub sha: String,
    #[serde(default)]
    pub siblings: Vec<File>,
}

/// A file of a commit.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct File {
    #[serde(rename = "rfilename")]
    pub name: String,
    pub size: Option<u64>,
    /// git's own hash of it
    #[serde(rename = "blobId")]
    pub blob_id: Option<String>,
    pub lfs: Option<Lfs>,
}

/// A large file is stored under its SHA-256.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Lfs {
    #[serde(alias = "oid")]
    pub sha256: String,
    pub size: Option<u64>,
}

impl File {
    pub fn bytes(&self) -> Option<u64> {
        self.lfs.as_ref().and_then(|l| l.size).or(self.size)
    }

    /// What its blob is called.
    pub fn etag(&self) -> Option<&str> {
        let etag = self.lfs.as_ref().map(|l| l.sha256.as_str()).or(self.blob_id.as_deref())?;
        // it becomes the name of a file
        (!etag.is_empty() && etag.chars().all(|c| c.is_ascii_hexdigit())).then_some(etag)
    }

    /// A name that stays within its directory.
    pub fn is_safe(&self) -> bool {
        !self.name.is_empty()
            && self.name.split('/').all(|p| !matches!(p, "" | "." | ".."))
            && !self.name.contains('\0')
    }
}

impl Api {
    pub fn from_environment() -> Result<Self, HubError> {
        let variable =
            |name: &str| std::env::var(name).ok().map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
        let endpoint = variable("HF_ENDPOINT").unwrap_or_else(|| PUBLIC.to_owned());
        let no = |why: &str| HubError::NoAddress { endpoint: endpoint.clone(), why: why.to_owned() };
        let address: Uri = endpoint.parse().map_err(|_| no("it cannot be read"))?;
        if !matches!(address.scheme_str(), Some("http" | "https")) {
            return Err(no("it begins with neither http:// nor https://"));
        }
        if address.host().is_none_or(str::is_empty) {
            return Err(no("it names no host"));
        }
        let tokens = ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN", "HF_HUB_TOKEN"];
        let token = tokens.iter().find_map(|name| variable(name)).or_else(crate::secrets::hub_token);
        Ok(Self { agent: agent(), endpoint: endpoint.trim_end_matches('/').to_owned(), token })
    }

    /// The files of a model's branch `main`.
    pub fn list(&self, name: &str) -> Result<Listing, HubError> {
        let url = format!("{}/api/models/{name}/revision/main?blobs=true", self.endpoint);
        let ask = || self.get(&url, None, LIST_BODY).map_err(|why| self.unreachable(name, &why));
        let mut answer = ask()?;
        for pause in AGAIN {
            if !is_overload(answer.status().as_u16()) {
                break;
            }
            std::thread::sleep(pause);
            answer = ask()?;
        }
        self.check(name, &answer)?;
        let text = answer.body_mut().with_config().limit(LONGEST_LIST).read_to_string();
        let text = text.map_err(|e| self.unreachable(name, &broken_off(&e)))?;
        let listing: Listing =
            serde_json::from_str(&text).map_err(|_| self.strange(name, "no list of files"))?;
        let commit = &listing.sha;
        if commit.is_empty() || !commit.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(self.strange(name, "no commit"));
        }
        Ok(listing)
    }

    /// A file of a commit, from a byte on. The second value is where the answer begins.
    pub fn open(
        &self,
        name: &str,
        commit: &str,
        file: &str,
        from: u64,
    ) -> Result<(Response<Body>, u64), HubError> {
        let path: Vec<String> = file.split('/').map(encoded).collect();
        let url = format!("{}/{name}/resolve/{commit}/{}", self.endpoint, path.join("/"));
        let answer =
            self.get(&url, (from > 0).then_some(from), BODY).map_err(|why| self.unreachable(name, &why))?;
        self.check(name, &answer)?;
        let begins = if answer.status().as_u16() == 206 { from } else { 0 };
        Ok((answer, begins))
    }

    fn get(&self, url: &str, from: Option<u64>, body: Duration) -> Result<Response<Body>, String> {
        let request = self.agent.get(url).config().timeout_recv_body(Some(body)).build();
        let mut request = request.header("User-Agent", concat!("perflab/", env!("CARGO_PKG_VERSION")));
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        if let Some(from) = from {
            request = request.header("Range", format!("bytes={from}-"));
        }
        request.call().map_err(|e| unmet(&e))
    }

    fn check(&self, name: &str, answer: &Response<Body>) -> Result<(), HubError> {
        let (name, endpoint) = (name.to_owned(), self.endpoint.clone());
        let said = answer.headers().get("x-error-code").and_then(|v| v.to_str().ok()).unwrap_or_default();
        match (answer.status().as_u16(), said) {
            (200..=299, _) => Ok(()),
            (_, "GatedRepo") => Err(HubError::Gated { name, endpoint }),
            (404, _) | (_, "RepoNotFound" | "RevisionNotFound" | "EntryNotFound") => {
                Err(HubError::Missing { name, endpoint })
            }
            (403, _) => Err(HubError::Gated { name, endpoint }),
            (401, _) => Err(if self.token.is_some() {
                HubError::Refused { name, endpoint }
            } else {
                HubError::Gated { name, endpoint }
            }),
            (status, _) => {
                let what = format!("HTTP {status}");
                Err(if is_overload(status) {
                    HubError::Overloaded { name, endpoint, what }
                } else {
                    HubError::Strange { name, endpoint, what }
                })
            }
        }
    }

    fn unreachable(&self, name: &str, why: &str) -> HubError {
        HubError::Unreachable { name: name.to_owned(), endpoint: self.endpoint.clone(), why: why.to_owned() }
    }

    fn strange(&self, name: &str, what: &str) -> HubError {
        HubError::Strange { name: name.to_owned(), endpoint: self.endpoint.clone(), what: what.to_owned() }
    }
}

/// What passes by itself.
fn is_overload(status: u16) -> bool {
    matches!(status, 429 | 500..=599)
}

/// Certificates are the machine's own, as behind a company's proxy; a token goes to no other host.
fn agent() -> Agent {
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    Agent::config_builder()
        .timeout_connect(Some(CONNECT))
        .timeout_recv_response(Some(ANSWER))
        .http_status_as_error(false)
        .redirect_auth_headers(RedirectAuthHeaders::SameHost)
        .tls_config(tls)
        .build()
        .into()
}

/// Why a hub gave no answer.
fn unmet(error: &ureq::Error) -> String {
    let refusal = match error {
        ureq::Error::Io(e) => trust::caused(e, false),
        ureq::Error::Rustls(e) => trust::caused(e, false),
        _ => None,
    };
    refusal.map_or_else(|| error.to_string(), |refusal| refusal.to_string())
}

/// Why a list did not come to its end.
fn broken_off(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => {
            format!("it began to answer, and the list of files did not end within {} s", LIST_BODY.as_secs())
        }
        other => other.to_string(),
    }
}

fn encoded(part: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~+=@".contains(&b);
    part.bytes().map(|b| if plain(b) { (b as char).to_string() } else { format!("%{b:02X}") }).collect()
}
