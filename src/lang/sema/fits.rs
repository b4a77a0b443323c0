//! What a study does with its profiles and metrics must be possible: a curve is not optimised on, a range is searched only where a
//! rate is the objective, no requirement asks for more than there can be.

use std::sync::Arc;

use super::bounds;
use super::check::{Checker, MOST_LEVELS};
use super::loads;
use super::program::{Arrivals, Data, Expr, Load, Profile, Study};
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::{FileId, Span};
use crate::lang::syntax::ast::{self, BinaryOp, ExprKind, Item, Name, StudyLineKind as Line};

/// What is done with a profile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use<'a> {
    Objective,
    /// the objective is the highest `rate` or `concurrency`
    Search(&'a str),
    /// beside an objective that may be such a search
    Confirm(Option<&'a str>),
    Require,
    Curve,
}

/// Declarations of what loads are not made of.
const OTHERS: [&str; 6] = ["param", "engine", "axis", "metric", "prune", "site"];

impl Checker<'_> {
    /// The loads of a study's profiles against what it does with them.
    pub fn loads_fit(&mut self, decl: &ast::Study, study: &Study) {
        self.streams_read(decl, study);
        self.same_loads(decl);
        let mut told = std::mem::take(&mut self.loads_told);
        let objectives = decl.lines.iter().filter(|l| matches!(l.kind, Line::Objective { .. })).count();
        for line in &decl.lines {
            // of two objectives one is to go: which the loads must fit is not known
            if objectives > 1 && matches!(line.kind, Line::Objective { .. } | Line::Confirm(_)) {
                continue;
            }
            let (names, used) = match &line.kind {
                Line::Objective { maximize, expr, on } => {
                    let searched = searched(study);
                    if let (Some(what), false) = (searched, *maximize) {
                        self.least_rate(what, expr.span);
                    }
                    (on.as_slice(), searched.map_or(Use::Objective, Use::Search))
                }
                Line::Confirm(names) => (names.as_slice(), Use::Confirm(searched(study))),
                Line::Curve(names) => (names.as_slice(), Use::Curve),
                Line::Require { expr, on } => {
                    self.answers_there(expr, on.as_ref(), study);
                    (on.as_slice(), Use::Require)
                }
                _ => continue,
            };
            self.named_twice(names);
            for name in names {
                let at = self.modules.root().find(Kind::Profile, &name.value);
                if let Some(profile) = at.and_then(|at| self.profile(at)) {
                    self.load_fits(name, &profile, used, &mut told);
                }
            }
        }
        self.loads_told = told;
    }

    /// Two names of one load: a result is one of its load, whatever that is called.
    fn same_loads(&mut self, decl: &ast::Study) {
        if self.lost_an_item() {
            return;
        }
        let mut seen: Vec<(Name, Profile)> = Vec::new();
        for line in &decl.lines {
            let names = match &line.kind {
                Line::Objective { on, .. } => on.as_slice(),
                Line::Confirm(names) => names.as_slice(),
                Line::Require { on, .. } => on.as_slice(),
                _ => continue,
            };
            for name in names {
                let at = self.modules.root().find(Kind::Profile, &name.value);
                let Some(profile) = at.and_then(|at| self.profile(at)) else { continue };
                if seen.iter().any(|(other, _)| other.value == name.value) {
                    continue;
                }
                let settings = nameless(&profile);
                // what a mistake has lost of a profile may be in what the two differ
                let same = seen.iter().find(|(_, other)| *other == settings);
                let unsure = |name: &Name| self.is_unsure_load(&name.value);
                let same = same.filter(|(first, _)| !unsure(first) && !unsure(name));
                if let Some((first, _)) = same {
                    let message =
                        format!("`{}` and `{}` are one load under two names", first.value, name.value);
                    let d = Diagnostic::new(Code::SettingTwice, name.span, message).label("the same load");
                    let help = "results are told apart by their load: name one of the two, or give one a `seed` of its own";
                    self.sink.push(d.related(first.span, "and this one").help(help));
                }
                seen.push((name.clone(), settings));
            }
        }
    }

    /// Whether a mistake in a profile, or in one that it derives from, may have lost a setting of it.
    fn is_unsure_load(&self, name: &str) -> bool {
        let root = self.modules.root();
        let mut at = root.find(Kind::Profile, name);
        // a circle of parents has been told, and ends here
        for _ in 0..MOST_LEVELS {
            let Some(Item::Profile(profile)) = at.map(|at| self.modules.item(at)) else { return false };
            if self.sink.in_span(profile.span).next().is_some() {
                return true;
            }
            at = profile
                .parent
                .as_ref()
                .and_then(|p| self.modules.home(profile.span).find(Kind::Profile, &p.value));
        }
        true
    }

    /// Whether a mistake stands in no item that could be made out: it may have lost something of any.
    fn lost_an_item(&self) -> bool {
        let items = &self.modules.root().file.items;
        let mut errors = self.sink.found().filter(|d| d.is_error() && d.span.file == FileId::default());
        // what begins as another declaration is no profile, and no part of one
        let of_others = |at: Span| OTHERS.contains(&self.line_begins(at.start));
        errors.any(|d| Item::at(items, d.span).is_none() && !of_others(d.span))
    }

    fn least_rate(&mut self, what: &str, span: Span) {
        let message = format!("the least `{what}` that holds is none: a search looks for the highest");
        let d = Diagnostic::new(Code::WrongLoad, span, message).label("minimised");
        self.sink
            .push(d.help(format!("write `maximize {what} on …` with a `require` that says what must hold")));
    }

    fn named_twice(&mut self, names: &[Name]) {
        for (i, name) in names.iter().enumerate() {
            if let Some(first) = names[..i].iter().find(|n| n.value == name.value) {
                let message = format!("the profile `{}` stands twice in one list", name.value);
                let d = Diagnostic::new(Code::SettingTwice, name.span, message).label("the second one");
                let d = d.about(About::Twice(Kind::Profile));
                // with the comma before it
                let before = Span { start: names[i - 1].span.end, ..name.span };
                self.sink.push(d.related(first.span, "the first one").help("name it once").edit(before, ""));
            }
        }
    }

    /// `told` are the lines of which it was said that what they state does not fit.
    fn load_fits(
        &mut self,
        name: &Name,
        profile: &Arc<Profile>,
        used: Use<'_>,
        told: &mut Vec<(Span, String)>,
    ) {
        let Some(load) = &profile.load else { return };
        let p = &name.value;
        let (message, label, help) = match (used, load) {
            (Use::Search("rate"), Load::RateRange { .. })
            | (Use::Search("concurrency"), Load::ConcurrencyRange { .. })
            | (Use::Confirm(Some("rate")), Load::RateRange { .. })
            | (Use::Confirm(Some("concurrency")), Load::ConcurrencyRange { .. })
            | (Use::Curve, Load::Rates(..) | Load::Concurrencies(_))
            // a ramp goes through its range in one run
            | (Use::Objective | Use::Require | Use::Confirm(_), Load::RateRange { arrivals: Arrivals::Ramp | Arrivals::Steps, .. }) => return,
            (Use::Search(what), _) => (
                format!("`{what}` is searched, and the profile `{p}` gives no range of it"),
                "no range",
                format!("derive one: `profile {p}_range = {p} {{ {} }}`", range_of(what)),
            ),
            (Use::Curve, _) => (
                format!("the profile `{p}` is no curve: it has one load"),
                "one load",
                format!("derive one: `profile {p}_curve = {p} {{ concurrency 1, 4, 16, 64 }}`"),
            ),
            (Use::Objective, Load::Rates(..) | Load::Concurrencies(_)) => (
                format!("the profile `{p}` is a curve, which is not optimised on"),
                "a curve",
                "name a profile with one load; `confirm on` and `curve on` take the curve".to_owned(),
            ),
            (Use::Require, Load::Rates(..) | Load::Concurrencies(_)) => (
                format!("the profile `{p}` is a curve, and a requirement is about one load"),
                "a curve",
                "derive a profile with the load that it is about: `profile NAME = … { concurrency 16 }`".to_owned(),
            ),
            (
                Use::Objective | Use::Require | Use::Confirm(_),
                Load::RateRange { .. } | Load::ConcurrencyRange { .. },
            ) => (
                format!("the profile `{p}` gives a range, and nothing here searches it"),
                "a range",
                format!(
                    "name a profile with one load, or make it the objective: `maximize {} on {p}`",
                    if loads::closed(load) { "concurrency" } else { "rate" }
                ),
            ),
            _ => return,
        };
        // what else its lines say of the load could not be read
        if self.is_torn_profile(p) {
            return;
        }
        // one line that many profiles inherit is one mistake
        let stated = (self.load_stated(p).unwrap_or(name.span), label.to_owned());
        if told.contains(&stated) {
            return;
        }
        told.push(stated);
        let range = matches!(load, Load::RateRange { .. } | Load::ConcurrencyRange { .. });
        let about = if range { About::Unsearched } else { About::Plain };
        let d = Diagnostic::new(Code::WrongLoad, name.span, message).about(about);
        self.sink.push(d.label(label).help(help));
    }

    /// The line that states the load of a profile, its own or one of those that it derives from.
    fn load_stated(&self, name: &str) -> Option<Span> {
        let mut at = self.modules.root().find(Kind::Profile, name);
        // a circle of parents has been told, and ends here
        for _ in 0..MOST_LEVELS {
            let here = at?;
            let Item::Profile(profile) = self.modules.item(here) else { return None };
            let line = profile.lines.iter().find(|l| matches!(l.word.value.as_str(), "rate" | "concurrency"));
            if let Some(line) = line {
                return Some(line.span);
            }
            at = self.module(here.module).find(Kind::Profile, &profile.parent.as_ref()?.value);
        }
        None
    }

    /// Whether lines of a profile, or of one that it derives from, could not be read.
    fn is_torn_profile(&self, name: &str) -> bool {
        let items = self.modules.root().file.items.iter();
        let mut own = items.filter_map(|i| if let Item::Profile(p) = i { Some(p) } else { None });
        own.find(|p| p.name.value == name)
            .is_some_and(|p| self.sink.in_span(p.span).any(|d| d.code.id().starts_with("E1")))
    }

    /// A requirement that no result can meet, at the part that none can.
    pub fn can_be_met(&mut self, written: &ast::Expr, checked: &Expr) {
        if let (
            ExprKind::Binary { op: BinaryOp::And, left, right },
            Expr::Binary { op: BinaryOp::And, left: l, right: r },
        ) = (&written.kind, checked)
            && [l, r].iter().any(|e| bounds::settled(e) == Some(false))
        {
            self.can_be_met(left, l);
            self.can_be_met(right, r);
            return;
        }
        if bounds::settled(checked) == Some(false) {
            let message = "no result can meet this requirement";
            let d = Diagnostic::new(Code::Impossible, written.span, message).label("never true");
            let joined = matches!(checked, Expr::Binary { op: BinaryOp::And, .. });
            self.sink.push(d.help(if joined {
                "its parts exclude each other, and all of them must hold: mend or remove one"
            } else {
                "shares go up to 100 %, and no time, rate or count is below zero"
            }));
        }
    }

    /// Answers can be compared only where there are some.
    fn answers_there(&mut self, written: &ast::Expr, on: Option<&Name>, study: &Study) {
        let Some(span) = named_in(written, "exact_match") else { return };
        let objective = study.objective.iter().flat_map(|o| o.profiles.iter().map(String::as_str));
        let profiles: Vec<&str> = on.map_or_else(|| objective.collect(), |n| vec![n.value.as_str()]);
        for name in profiles {
            let at = self.modules.root().find(Kind::Profile, name);
            let Some(profile) = at.and_then(|at| self.profile(at)) else { continue };
            if profile.data.as_ref().is_some_and(|d| !matches!(d, Data::Jsonl(_))) {
                let message = format!("`exact_match` needs answers, and the data of `{name}` has none");
                let d = Diagnostic::new(Code::WrongLoad, span, message).label("without answers");
                self.sink
                    .push(d.help("require it `on` a profile with `data jsonl \"FILE\"` that holds answers"));
                return;
            }
        }
    }
}

/// What a profile asks for, whatever it is called and wherever it stands.
fn nameless(profile: &Profile) -> Profile {
    Profile {
        name: String::new(),
        title: String::new(),
        span: Span { start: 0, end: 0, ..profile.span },
        seed_stated: false,
        input_at: None,
        output_at: None,
        ..profile.clone()
    }
}

/// What the objective searches, if it does.
fn searched(study: &Study) -> Option<&'static str> {
    let mut found = None;
    study.objective.as_ref()?.expr.walk(&mut |e| {
        if let Expr::Metric { name, .. } = e {
            found = found.or(["rate", "concurrency"].into_iter().find(|w| w == name));
        }
    });
    found
}

/// Where an expression names a metric of the configuration itself.
fn named_in(e: &ast::Expr, metric: &str) -> Option<Span> {
    match &e.kind {
        ExprKind::Call { owner: None, name, .. } if name.value == metric => Some(name.span),
        ExprKind::Call { args: Some(args), .. } => args.iter().find_map(|a| named_in(a, metric)),
        ExprKind::Not(inner) => named_in(inner, metric),
        ExprKind::Binary { left, right, .. } => named_in(left, metric).or_else(|| named_in(right, metric)),
        _ => None,
    }
}

fn range_of(what: &str) -> &'static str {
    if what == "rate" { "rate 1/s .. 50/s" } else { "concurrency 1 .. 256" }
}
