//! Which way a switch's name turns it: `--disable-prefix-caching` is another spelling of `--no-enable-prefix-caching`, and the opposite
//! of `--enable-prefix-caching`, however alike their letters are.

use super::schema::key;

/// A name taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sense {
    /// what it switches
    what: String,
    /// the name switches it on
    pub on: bool,
    /// the name says which way
    pub said: bool,
}

impl Sense {
    pub(super) fn of(name: &str) -> Self {
        let key = key(name);
        let mut what = key.trim_start_matches('-');
        let (mut on, mut said) = (true, false);
        loop {
            let (rest, turns) = match what.split_once('-') {
                Some(("no" | "disable", rest)) => (rest, true),
                Some(("enable", rest)) => (rest, false),
                _ => return Self { what: what.to_owned(), on, said },
            };
            (what, on, said) = (rest, on != turns, true);
        }
    }

    /// The names that engines use for it.
    pub(super) fn spellings(&self, on: bool) -> Vec<String> {
        let before: &[&str] =
            if on { &["enable-", "", "no-disable-"] } else { &["no-enable-", "disable-", "no-"] };
        before.iter().map(|b| format!("--{b}{}", self.what)).collect()
    }
}

/// Whether a name that is no flag may be a slip of one that is: both turn the same way, and what they switch looks alike, beside the
/// word that all switches begin with.
pub(super) fn alike(wanted: &str, known: &str) -> bool {
    let (ours, theirs) = (Sense::of(wanted), Sense::of(known));
    if ours.said != theirs.said {
        return ours.on == theirs.on;
    }
    let limit = (ours.what.chars().count() / 3).max(1);
    ours.on == theirs.on && (!ours.said || strsim::damerau_levenshtein(&ours.what, &theirs.what) <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let sense = |name| {
            let s = Sense::of(name);
            (s.what, s.on, s.said)
        };
        assert_eq!(sense("--disable-prefix-caching"), ("prefix-caching".into(), false, true));
        assert_eq!(sense("--no_enable_prefix_caching"), ("prefix-caching".into(), false, true));
        assert_eq!(sense("--no-disable-x"), ("x".into(), true, true));
        assert_eq!(sense("--enable-ep-moe"), ("ep-moe".into(), true, true));
        assert_eq!(sense("--max-num-seqs"), ("max-num-seqs".into(), true, false));
    }

    #[test]
    fn opposites_and_other_things_are_no_slips() {
        assert!(alike("--enable-prefx-caching", "enable-prefix-caching"));
        assert!(!alike("--enable-log-stats", "disable-log-stats"));
        assert!(!alike("--enable-ep-moe", "enable-eplb"));
        assert!(!alike("--enable-prefix-caching", "enable-prefix-mm-cache"));
    }
}
