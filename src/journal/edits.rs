//! Files that engines write themselves, between their launches. What a launch leaves in one the next launch finds, unless somebody
//! changed it meanwhile: a start script sets a port in its settings each time, and a person edits another line of them. Where only such
//! lines differ as launches change too, somebody ran the script by hand.

use std::collections::{BTreeSet, HashMap};

use super::records::LaunchRecord;

/// What every launch found and left.
#[derive(Debug, Default)]
pub struct Edits<'h>(HashMap<&'h str, Lineage<'h>>);

/// A file's states, counted up with each that no launch led to.
#[derive(Debug, Default)]
struct Lineage<'h> {
    /// the one that a launch ran in
    at: HashMap<&'h str, usize>,
    /// what the file held in each while nothing ran
    held: HashMap<&'h str, usize>,
    /// what the last launch left, where that is known
    rest: Option<&'h str>,
    /// the lines that launches change, counting from 0; `None` where they also add some or take some away
    own: Option<BTreeSet<usize>>,
    now: usize,
}

impl<'h> Edits<'h> {
    pub fn of(launches: &'h [LaunchRecord]) -> Self {
        let names: BTreeSet<&str> =
            launches.iter().flat_map(|l| l.traces().left.iter()).map(|(name, _)| name.as_str()).collect();
        Self(names.into_iter().map(|name| (name, Lineage::of(name, launches))).collect())
    }

    /// Whether something is known of what launches found and left in a file.
    pub fn knows(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Whether nobody but launches changed a file since one of them ran, if its lines are these now.
    pub fn is_kept(&self, name: &str, launch: &str, now: impl FnOnce() -> Option<String>) -> bool {
        self.0.get(name).is_none_or(|lineage| lineage.is_kept(launch, now().as_deref()))
    }

    /// Whether nobody but launches changed a file between two of them.
    pub fn are_alike(&self, name: &str, one: &str, other: &str) -> bool {
        self.0.get(name).is_none_or(|lineage| lineage.at.get(one) == lineage.at.get(other))
    }
}

impl<'h> Lineage<'h> {
    fn of(name: &str, launches: &'h [LaunchRecord]) -> Self {
        let begins = launches.iter().map(|l| (l.span.0, l, true));
        // of one that nobody saw the end of nobody knows what it left
        let ends = launches.iter().filter(|l| l.times.is_some()).map(|l| (l.span.1, l, false));
        let mut moments: Vec<_> = begins.chain(ends).collect();
        moments.sort_by_key(|(seq, ..)| *seq);
        let mut lineage = Self { own: own(name, launches), ..Self::default() };
        let mut open = 0_usize;
        for (_, launch, begins) in moments {
            if !begins {
                open -= 1;
                lineage.rests(holds(&launch.traces().left, name).or(lineage.rest));
                continue;
            }
            // beside another one it may find anything
            if open == 0 {
                lineage.find(holds(&launch.traces().found, name));
            }
            lineage.at.insert(&launch.id, lineage.now);
            match launch.times {
                Some(_) => open += 1,
                None => lineage.rest = None,
            }
        }
        lineage
    }

    fn find(&mut self, found: Option<&'h str>) {
        let Some(found) = found else { return };
        if self.rest.is_some_and(|rest| !self.is_same(rest, found)) {
            let fresh = self.held.values().max().map_or(0, |most| most + 1);
            self.now = self.find_state(found).unwrap_or(fresh);
        }
        self.rests(Some(found));
    }

    fn rests(&mut self, held: Option<&'h str>) {
        self.rest = held;
        self.held.extend(held.map(|held| (held, self.now)));
    }

    fn find_state(&self, held: &str) -> Option<usize> {
        self.held.iter().find(|(known, _)| self.is_same(known, held)).map(|(_, state)| *state)
    }

    /// Whether two differ, if at all, in what launches change themselves.
    fn is_same(&self, one: &str, other: &str) -> bool {
        let Some(own) = &self.own else { return true };
        one == other || changed(one, other).is_some_and(|lines| lines.is_subset(own))
    }

    fn is_kept(&self, launch: &str, now: Option<&str>) -> bool {
        let is_left = |now: &str| self.rest.is_none_or(|rest| self.is_same(rest, now));
        let now = match now {
            // what is gone is made again
            Some(now) if !is_left(now) => self.find_state(now),
            _ => Some(self.now),
        };
        self.at.get(launch).is_none_or(|at| Some(*at) == now)
    }
}

/// The lines that launches change in a file.
fn own(name: &str, launches: &[LaunchRecord]) -> Option<BTreeSet<usize>> {
    let mut all = BTreeSet::new();
    for launch in launches {
        if let Some((found, left)) =
            holds(&launch.traces().found, name).zip(holds(&launch.traces().left, name))
        {
            all.extend(changed(found, left)?);
        }
    }
    Some(all)
}

/// The lines that are not the same, by their hashes; `None` where there are more of them on one side.
fn changed(one: &str, other: &str) -> Option<BTreeSet<usize>> {
    let (one, other): (Vec<&str>, Vec<&str>) = (one.split(' ').collect(), other.split(' ').collect());
    (one.len() == other.len()).then(|| (0..one.len()).filter(|at| one[*at] != other[*at]).collect())
}

fn holds<'h>(held: &'h [(String, String)], name: &str) -> Option<&'h str> {
    held.iter().find(|(known, _)| known == name).map(|(_, held)| held.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::event::{Event, LaunchTimes, VERSION};
    use super::super::history::History;
    use super::*;

    /// Begins (what it found) and ends (what it left) of launches, in order. Which of the launches ran with what the file holds now?
    fn kept(told: &[(&str, &str, &str)], now: &str) -> String {
        let mut history = History::default();
        for (launch, what, held) in told {
            let held = if held.is_empty() { json!({}) } else { json!({ "f": held }) };
            let kind = match *what {
                "found" => json!({ "launch": {
                    "launch": launch, "config_id": "c", "config": {}, "profiles": [], "label": "", "nonce": launch, "found": held
                } }),
                _ => {
                    json!({ "gone": { "launch": launch, "times": LaunchTimes::default(), "gpus": 0, "left": held } })
                }
            };
            push(&mut history, kind);
        }
        let edits = Edits::of(history.launches());
        let now = || Some(now.to_owned()).filter(|now| !now.is_empty());
        let is_kept = |l: &&LaunchRecord| edits.is_kept("f", &l.id, now);
        history.launches().iter().filter(is_kept).map(|l| &*l.id).collect()
    }

    fn push(history: &mut History, kind: Value) {
        let (seq, kind) = (history.last_seq() + 1, serde_json::from_value(kind).expect("an event"));
        history.push(Event { v: VERSION, seq, at: String::new(), session: 1, session_s: 0.0, kind });
    }

    #[test]
    fn what_a_launch_leaves_is_as_it_was_and_what_somebody_makes_of_it_is_not() {
        let two = [("A", "found", ""), ("A", "left", "s 1"), ("B", "found", "s 1"), ("B", "left", "s 2")];
        assert_eq!(kept(&two, "s 2"), "AB");
        assert_eq!(kept(&two, "s 9"), "AB", "run by hand");
        assert_eq!(kept(&two, "t 2"), "");
        assert_eq!(kept(&two, "s 2 u"), "");
        assert_eq!(kept(&two, ""), "AB", "what is gone is made again");
        assert_eq!(kept(&two[..2], "s 9"), "", "whose that is nobody knows yet");
        let edited = [&two[..], &[("C", "found", "t 2"), ("C", "left", "t 3")]].concat();
        assert_eq!(kept(&edited, "t 3"), "C");
        assert_eq!(kept(&edited, "s 2"), "AB", "put back");
        assert_eq!(kept(&edited, "u 3"), "");
        // one that changes nothing
        let quiet = [&edited[..], &[("D", "found", "t 3"), ("D", "left", "")]].concat();
        assert_eq!(kept(&quiet, "t 3"), "CD");
        let put_back = [&edited[..], &[("D", "found", "s 1"), ("D", "left", "s 3")]].concat();
        assert_eq!(kept(&put_back, "s 3"), "ABD");
        // a log
        let grows = [("A", "found", ""), ("A", "left", "1"), ("B", "found", "1"), ("B", "left", "1 2")];
        assert_eq!(kept(&grows, "7"), "AB");
    }

    #[test]
    fn what_nobody_saw_the_end_of_and_what_runs_beside_may_have_left_anything() {
        let lost = [
            ("A", "found", ""),
            ("A", "left", "1"),
            ("B", "found", "1"),
            ("C", "found", "5"),
            ("C", "left", "5"),
        ];
        assert_eq!(kept(&lost, "5"), "ABC");
        assert_eq!(kept(&lost[..3], "5"), "AB");
        assert_eq!(kept(&lost, "6"), "");
        let beside = [
            ("A", "found", ""),
            ("A", "left", "1"),
            ("B", "found", "1"),
            ("C", "found", "4"),
            ("B", "left", "1"),
            ("C", "left", "4"),
        ];
        assert_eq!(kept(&beside, "4"), "ABC");
    }
}
