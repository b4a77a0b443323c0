//! A server that somebody else runs, as a result remembers it: where it answers, and what it says of itself.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// What answered. What is `None` was not told, and is then not compared.
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
        let told =
            |then: &Option<String>, now: &Option<String>| then.is_some() && now.is_some() && then != now;
        if told(&self.version, &now.version) {
            let of = |v: &Option<String>| v.clone().unwrap_or_default();
            return Some(format!(
                "measured when {at} was {}, now it is {}",
                of(&self.version),
                of(&now.version)
            ));
        }
        if told(&self.arguments, &now.arguments) {
            return Some(format!("measured when {at} ran with other arguments"));
        }
        let again = self.started.zip(now.started).is_some_and(|(then, now)| then != now);
        let told = !self.sockets.is_empty() && !now.sockets.is_empty();
        (again || told && self.sockets.is_disjoint(&now.sockets)).then(|| {
            format!("measured before {at} was started again, which does not tell what it was started with")
        })
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
            (|r| r.version = None, ""),
            (|r| r.arguments = Some("3c4d".to_owned()), "measured when http://a:1 ran with other arguments"),
            (|r| r.arguments = None, ""),
            (
                |r| r.started = Some(18),
                "measured before http://a:1 was started again, which does not tell what it was started with",
            ),
            (|r| r.started = None, ""),
            (
                |r| r.sockets = BTreeSet::from(["b:3".to_owned()]),
                "measured before http://a:1 was started again, which does not tell what it was started with",
            ),
            (|r| drop(r.sockets.pop_first()), ""),
            (|r| r.sockets.clear(), ""),
        ];
        for (edit, expected) in cases {
            let mut now = then.clone();
            edit(&mut now);
            assert_eq!(then.differs(&now).unwrap_or_default(), expected);
        }
    }
}
