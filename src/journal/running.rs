//! A server that somebody else runs, as a result remembers it: where it answers, and what it says of itself.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// What answered. What is `None` was not told; a server that tells more or less of itself than it did may be another one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// scheme, host and port, as the site names them
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// what it calls the model that it was loaded for
    pub model: String,
    /// a hash over the arguments that it tells
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// of one that does not tell its arguments: when its process was started, in seconds by its own clock
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
    /// of one on this machine that tells neither: the sockets that listen for it, which are others after each start
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub sockets: BTreeSet<String>,
}

impl Running {
    /// Why a result of this server is none of that one, as a sentence.
    pub fn differs(&self, now: &Self) -> Option<String> {
        let at = &now.url;
        if self.url != *at {
            return Some(format!("measured at {}, now {at}", self.url));
        }
        if self.model != now.model {
            return Some(format!(
                "measured when {at} called its model {}, now it is {}",
                self.model, now.model
            ));
        }
        if self.version != now.version {
            return Some(match (&self.version, &now.version) {
                (Some(then), Some(is)) => format!("measured when {at} was {then}, now it is {is}"),
                (Some(then), None) => format!("measured when {at} was {then}, of which it tells nothing now"),
                (None, is) => {
                    let is = is.as_deref().unwrap_or_default();
                    format!("measured before {at} told its version, which is {is} now")
                }
            });
        }
        if self.arguments != now.arguments {
            return Some(match (&self.arguments, &now.arguments) {
                (Some(_), Some(_)) => format!("measured when {at} ran with other arguments"),
                (Some(_), None) => format!("measured when {at} told its arguments, which it does not now"),
                (None, _) => format!("measured before {at} told its arguments"),
            });
        }
        (self.started != now.started || self.sockets != now.sockets).then(|| {
            format!("measured before {at} was started again, which does not tell what it was started with")
        })
    }

    /// Whether this server was exchanged for that one under a load, as far as both tell: one that is busy may tell less for a moment.
    pub fn exchanged(&self, now: &Self) -> bool {
        fn others<T: PartialEq>(then: Option<&T>, now: Option<&T>) -> bool {
            then.zip(now).is_some_and(|(then, now)| then != now)
        }
        let known = !self.sockets.is_empty() && !now.sockets.is_empty();
        self.url != now.url
            || self.model != now.model
            || others(self.version.as_ref(), now.version.as_ref())
            || others(self.arguments.as_ref(), now.arguments.as_ref())
            || others(self.started.as_ref(), now.started.as_ref())
            || known && self.sockets.is_disjoint(&now.sockets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_address_model_version_or_argument_is_another_server() {
        type Edit = fn(&mut Running);
        let some = |text: &str| Some(text.to_owned());
        let then = Running {
            url: "http://a:1".to_owned(),
            version: some("0.17.1"),
            model: "m".to_owned(),
            arguments: some("1a2b"),
            started: Some(17),
            sockets: BTreeSet::from(["b:1".to_owned(), "b:2".to_owned()]),
        };
        assert_eq!(then.differs(&then), None);
        let cases: [(Edit, &str); 11] = [
            (|r| r.url = "http://a:2".to_owned(), "measured at http://a:1, now http://a:2"),
            (|r| r.model = "n".to_owned(), "measured when http://a:1 called its model m, now it is n"),
            (
                |r| r.version = Some("0.17.2".to_owned()),
                "measured when http://a:1 was 0.17.1, now it is 0.17.2",
            ),
            (|r| r.version = None, "measured when http://a:1 was 0.17.1, of which it tells nothing now"),
            (|r| r.arguments = Some("3c4d".to_owned()), "measured when http://a:1 ran with other arguments"),
            (|r| r.arguments = None, "measured when http://a:1 told its arguments, which it does not now"),
            (
                |r| r.started = Some(18),
                "measured before http://a:1 was started again, which does not tell what it was started with",
            ),
            (
                |r| r.started = None,
                "measured before http://a:1 was started again, which does not tell what it was started with",
            ),
            (
                |r| r.sockets = BTreeSet::from(["b:3".to_owned()]),
                "measured before http://a:1 was started again, which does not tell what it was started with",
            ),
            (
                |r| drop(r.sockets.pop_first()),
                "measured before http://a:1 was started again, which does not tell what it was started with",
            ),
            (
                |r| r.sockets.clear(),
                "measured before http://a:1 was started again, which does not tell what it was started with",
            ),
        ];
        for (edit, expected) in cases {
            let mut now = then.clone();
            edit(&mut now);
            assert_eq!(then.differs(&now).unwrap_or_default(), expected);
        }
        let busy = Running { version: None, started: None, sockets: BTreeSet::new(), ..then.clone() };
        assert!(!then.exchanged(&busy) && !busy.exchanged(&then));
        let untold = Running { version: None, ..then.clone() };
        let why = untold.differs(&then).unwrap_or_default();
        assert_eq!(why, "measured before http://a:1 told its version, which is 0.17.1 now");
        let untold = Running { arguments: None, ..then.clone() };
        assert_eq!(untold.differs(&then).as_deref(), Some("measured before http://a:1 told its arguments"));
    }
}
