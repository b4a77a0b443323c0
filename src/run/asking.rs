//! Questions to a server beside its load: straight to it, with its key, and to nobody whom it names.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::redirect::{Action, Attempt, Policy};

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
    // a key is for this server alone, and without one an answer is still to be its own
    let policy = if key.is_some() { Policy::none() } else { Policy::custom(within_one_server) };
    builder.redirect(policy).build().ok()
}

/// Follows to another path, as of a slash at the end, and to no other server.
fn within_one_server(attempt: Attempt<'_>) -> Action {
    const MOST: usize = 5;
    let last = attempt.previous().last().map(Url::origin);
    if last == Some(attempt.url().origin()) && attempt.previous().len() <= MOST {
        attempt.follow()
    } else {
        attempt.stop()
    }
}
