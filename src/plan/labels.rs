//! What is printed for candidates. A label that says nothing without its axis, or that another axis of the step has too, is printed behind
//! the axis' name: `tp 2 + dp 4`, `async on + mode`. Points of one axis that are called alike, as versions of one engine are, go by
//! their names.

use foldhash::{HashMap, HashMapExt};

use crate::lang::sema::program::{Point, Space};

/// The labels of a step's points, each held against all others once.
#[derive(Debug, Default)]
pub struct Labels<'a> {
    all: Axes<'a>,
    /// of points whose label says nothing alone
    bare: Axes<'a>,
    by_label: HashMap<&'a str, Axes<'a>>,
    /// the first name of what an axis calls so, and whether there are others
    names: HashMap<(&'a str, &'a str), (&'a str, bool)>,
}

/// Some axis, and whether there are others.
#[derive(Debug, Default)]
struct Axes<'a> {
    first: Option<&'a str>,
    more: bool,
}

impl<'a> Axes<'a> {
    fn add(&mut self, axis: &'a str) {
        self.more |= *self.first.get_or_insert(axis) != axis;
    }

    fn other_than(&self, axis: &str) -> bool {
        self.more || self.first.is_some_and(|first| first != axis)
    }
}

impl<'a> Labels<'a> {
    pub fn of(space: &'a Space) -> Self {
        let mut labels = Self { by_label: HashMap::new(), names: HashMap::new(), ..Self::default() };
        for point in space.points() {
            labels.all.add(&point.axis);
            if is_switch(&point.label) || is_number(&point.label) {
                labels.bare.add(&point.axis);
            }
            labels.by_label.entry(&point.label).or_default().add(&point.axis);
            let names = labels.names.entry((&point.axis, &point.label)).or_insert((&point.name, false));
            names.1 |= names.0 != point.name;
        }
        labels
    }

    /// What is printed for points that stand together.
    pub fn label(&self, points: &[&Point]) -> String {
        points.iter().map(|p| self.part(p)).collect::<Vec<_>>().join(" + ")
    }

    fn part(&self, p: &Point) -> String {
        if self.names.get(&(&*p.axis, &*p.label)).is_some_and(|(first, more)| *more || *first != p.name) {
            return p.name.clone();
        }
        let confusing = p.axis != p.label
            && (self.by_label.get(&*p.label).is_some_and(|axes| axes.other_than(&p.axis))
                || is_switch(&p.label) && self.all.other_than(&p.axis)
                || is_number(&p.label) && self.bare.other_than(&p.axis));
        if confusing { format!("{} {}", p.axis, p.label) } else { p.label.clone() }
    }
}

/// A value of one axis, as another may have it: `512`, `24Ki`, `0.9`. One number says which axis it is of, two do not.
fn is_number(label: &str) -> bool {
    label.starts_with(|c: char| c.is_ascii_digit()) && !label.contains(' ')
}

/// Words that any axis may have for what it sets.
fn is_switch(label: &str) -> bool {
    let words = ["on", "off", "true", "false", "yes", "no", "none", "auto", "default", "with", "without"];
    words.iter().any(|w| label.eq_ignore_ascii_case(w))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::lang::source::Span;

    fn axis(name: &str, labels: &[&str]) -> Space {
        let point = |label: &&str| Point {
            axis: name.to_owned(),
            name: (*label).to_owned(),
            label: (*label).to_owned(),
            changes: Vec::new(),
            span: Span::default(),
        };
        Space::Points(Arc::new(labels.iter().map(point).collect()))
    }

    fn labels(space: &Space) -> Vec<String> {
        let labels = Labels::of(space);
        (0..space.len()).map(|i| labels.label(&space.candidate(i))).collect()
    }

    #[test]
    fn a_label_names_its_axis_where_it_says_nothing_alone() {
        let seqs = || axis("seqs", &["256", "512"]);
        assert_eq!(labels(&seqs()), ["256", "512"]);
        let product = Space::Product(vec![axis("mode", &["mode"]), seqs()]);
        assert_eq!(labels(&product), ["mode + 256", "mode + 512"]);
        let sizes = Space::Product(vec![axis("tp", &["1", "2"]), axis("dp", &["4"])]);
        assert_eq!(labels(&sizes), ["tp 1 + dp 4", "tp 2 + dp 4"]);
        let switches = Space::Product(vec![axis("async", &["on"]), axis("chunk", &["on", "off"])]);
        assert_eq!(labels(&switches), ["async on + chunk on", "async on + chunk off"]);
        let sum = Space::Sum(vec![seqs(), axis("quant", &["FP8"])]);
        assert_eq!(labels(&sum), ["256", "512", "FP8"]);
        let switch = Space::Product(vec![axis("async", &["on", "off"]), axis("mode", &["mode"])]);
        assert_eq!(labels(&switch), ["async on + mode", "async off + mode"]);
        let mut same = vec![];
        for name in ["a", "b", "c"] {
            let label = if name == "c" { "C" } else { "vLLM" }.to_owned();
            let (axis, name) = ("engine".to_owned(), name.to_owned());
            same.push(Point { axis, name, label, changes: Vec::new(), span: Span::default() });
        }
        assert_eq!(labels(&Space::Points(Arc::new(same))), ["a", "b", "C"]);
        let alike = Space::Product(vec![axis("prefill", &["fa3"]), axis("decode", &["fa3", "flashinfer"])]);
        assert_eq!(labels(&alike), ["prefill fa3 + decode fa3", "prefill fa3 + flashinfer"]);
    }
}
