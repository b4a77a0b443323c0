//! Questions to a server beside its load: straight to it, with its key, and to nobody whom it names.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;

use crate::secrets::Key;
use crate::trust;

/// A client that waits so long for an answer.
pub fn client(within: Duration, key: Option<&Key>) -> Option<reqwest::Client> {
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        let mut value = HeaderValue::from_bytes(key.authorization().as_bytes()).ok()?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let builder = trust::client().no_proxy().timeout(within).default_headers(headers);
    // a key is for this server alone
    let builder = if key.is_some() { builder.redirect(Policy::none()) } else { builder };
    builder.build().ok()
}
