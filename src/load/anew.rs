//! Whether a server was started again under a load, as its pages of metrics show: what counts upwards fell, or the time of its start is a
//! later one. A fall alone proves it not: behind one address may stand several servers, whose pages come by turns. So after a load under which
//! something fell, more pages are read: where they tell of one server only, it was that one.

use std::collections::{HashMap, HashSet};
use std::time::{SystemTime, UNIX_EPOCH};

use super::findings::Finding;
use super::record::{FailureKind, RequestRecord};
use super::series::parsed;

/// Two clocks may differ by so much.
const SLACK_S: f64 = 2.0;

/// What pages that follow each other say of the same series.
#[derive(Debug)]
pub(super) struct Counting {
    /// When the load began, in seconds by the clock.
    began_s: f64,
    last: HashMap<String, f64>,
    fell: Option<Change>,
    /// Pages on which something had fallen.
    falls: u32,
    started: Option<Change>,
    /// Somebody answered who had been there before the load.
    several: bool,
    /// So many pages after the load were asked for as tell several servers from one.
    looked: bool,
}

#[derive(Debug, Clone)]
struct Change {
    series: String,
    from: f64,
    to: f64,
}

impl Counting {
    /// From the page before a load on.
    pub(super) fn from(page: &str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64());
        let mut counting = Self {
            began_s: now,
            last: HashMap::new(),
            fell: None,
            falls: 0,
            started: None,
            several: false,
            looked: false,
        };
        counting.see(page);
        counting
    }

    /// Takes the next page in.
    pub(super) fn see(&mut self, page: &str) {
        let gauges: HashSet<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.trim_end().strip_suffix(" gauge"))
            .collect();
        let mut fell = false;
        for (series, value) in page.lines().filter(|line| !line.starts_with('#')).filter_map(parsed) {
            let name = series.split('{').next().unwrap_or(series);
            let counts = is_counter(name) && !gauges.contains(name);
            if !value.is_finite() || (!counts && !is_start(name)) {
                continue;
            }
            let Some(from) = self.last.insert(series.to_owned(), value) else { continue };
            let change = || Change { series: series.to_owned(), from, to: value };
            if counts && value < from {
                fell = true;
                self.fell.get_or_insert_with(change);
            } else if !counts && value > from && value >= self.began_s - SLACK_S {
                self.started.get_or_insert_with(change);
            } else if !counts && (value - from).abs() > SLACK_S {
                self.several = true;
            }
        }
        self.falls += u32::from(fell);
    }

    /// Whether more pages would tell if it was one server: something fell, once.
    pub(super) fn is_open(&self) -> bool {
        self.fell.is_some() && self.falls == 1 && !self.several && self.started.is_none()
    }

    /// The pages that were asked for after the load have all come.
    pub(super) fn has_looked(&mut self) {
        self.looked = true;
    }

    /// What that gives reason to say. A server that is started again breaks requests off, or is the only one that answers afterwards.
    pub(super) fn finding(self, records: &[RequestRecord]) -> Option<Finding> {
        let said =
            |Change { series, from, to }: Change, again| Finding::BegunAnew { series, from, to, again };
        match (self.started, self.fell) {
            (Some(started), _) if !self.several => Some(said(started, true)),
            (_, Some(fell)) => {
                let once = !self.several && self.falls == 1;
                Some(said(fell, once && (self.looked || broken(records))))
            }
            _ => None,
        }
    }
}

fn is_counter(name: &str) -> bool {
    // what perflab reads is among them
    const COUNTED: [&str; 4] = ["token", "request", "prefix_cache", "preemption"];
    name.ends_with("_total") && COUNTED.iter().any(|what| name.contains(what))
}

/// Of a process, or of what it counts.
fn is_start(name: &str) -> bool {
    name == "process_start_time_seconds" || name.ends_with("_created")
}

/// Whether connections ended under their requests.
fn broken(records: &[RequestRecord]) -> bool {
    records.iter().any(|r| {
        let kind = r.outcome.failure().map(|f| f.kind);
        r.resent || matches!(kind, Some(FailureKind::Connect | FailureKind::StreamBroken))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pages: &[String]) -> Option<Finding> {
        let mut counting = Counting::from(&pages[0]);
        pages[1..].iter().for_each(|page| counting.see(page));
        counting.finding(&[])
    }

    fn tokens(n: u32) -> String {
        format!("# TYPE a_tokens_total counter\na_tokens_total{{m=\"x y\"}} {n}.0 17\nb_total {}\n", 100 - n)
    }

    #[test]
    fn counters_that_only_rise_say_nothing_and_gauges_are_none() {
        assert_eq!(of(&[tokens(1), tokens(1), tokens(9)]), None);
        let gauge = |n| tokens(n).replace("counter", "gauge");
        assert_eq!(of(&[gauge(9), gauge(1)]), None);
        assert_eq!(of(&["<html>".to_owned(), "x".to_owned()]), None);
    }

    #[test]
    fn what_fell_is_told_and_proves_nothing_alone() {
        let found = of(&[tokens(9), tokens(2), tokens(3)]).expect("a finding");
        let said = "a_tokens_total{m=\"x y\"} fell from 9 to 2 during the load: the server was started again, or several servers \
                    answer at one address";
        assert_eq!(found.to_string(), said);
    }

    #[test]
    fn every_counter_that_is_read_tells_by_its_fall() {
        for name in
            ["vllm:prefix_cache_queries_total", "vllm:num_preemptions_total", "llamacpp:prompt_tokens_total"]
        {
            let page = |n: &str| format!("{name}{{engine=\"0\"}} {n}\n");
            let found = of(&[page("1100"), page("1200"), page("30")]).expect("a finding");
            assert!(found.to_string().contains("fell from 1200 to 30"), "{found}");
            assert_eq!(of(&[page("1100"), page("NaN"), page("1200")]), None, "{name}");
        }
    }

    #[test]
    fn one_server_is_told_from_several_by_more_pages() {
        for (pages, again) in [
            (vec![tokens(9), tokens(2), tokens(2), tokens(3)], true),
            // the other one answers in between
            (vec![tokens(9), tokens(2), tokens(9), tokens(2)], false),
        ] {
            let mut counting = Counting::from(&pages[0]);
            counting.see(&pages[1]);
            assert!(counting.is_open());
            pages[2..].iter().for_each(|page| counting.see(page));
            counting.has_looked();
            let found = counting.finding(&[]).expect("a finding");
            assert!(matches!(found, Finding::BegunAnew { again: is, .. } if is == again), "{found}");
        }
    }

    #[test]
    fn a_later_start_proves_it_and_an_earlier_one_is_another_s() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        let started = |at: f64| format!("process_start_time_seconds {at}\n");
        let again = of(&[started(now - 600.0), started(now + 1.0)]).expect("a finding");
        assert!(again.to_string().starts_with("the server was started again under the load: process_start"));
        // it was there before the load
        assert_eq!(of(&[started(now - 600.0), started(now - 300.0)]), None);
        assert_eq!(of(&[started(now - 600.0), started(now + 1.0), started(now - 600.0)]), None);
    }
}
