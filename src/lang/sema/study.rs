//! Studies: what is required, once each; steps with bases, spaces and picks; rules.

use std::collections::{BTreeSet, HashSet};

use super::check::Checker;
use super::exprs::Place;
use super::program::{
    Change, Choice, From, Gpus, Guard, NotYet, Objective, Pick, Prune, Repeat, Require, Space, Step, Study,
};
use super::scope::Kind;
use super::steps::Reach;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, did_you_mean, one_of};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, BinaryOp, Item, Name, Search, StepLineKind, StudyLineKind as Line};
use crate::lang::units::Dim;

const DEFAULT_ADOPT: f64 = 0.01;
const DEFAULT_SUCCESS: f64 = 0.999;

impl Checker<'_> {
    /// The study, as far as it can be known; what is missing has been said.
    pub fn study(&mut self, decl: &ast::Study) -> Option<Study> {
        let before = self.not_yet.len();
        self.once(decl);
        let title = decl.title.as_ref().map_or_else(|| decl.name.value.clone(), |t| self.inserted(0, t, false));
        let mut study = Study {
            name: decl.name.value.clone(),
            title,
            model: String::new(),
            gpus: None,
            baseline: String::new(),
            objective: None,
            require: Vec::new(),
            adopt: DEFAULT_ADOPT,
            repeat: Repeat::Auto,
            prune: Vec::new(),
            confirm: Vec::new(),
            notes: Vec::new(),
            steps: Vec::new(),
            not_yet: Vec::new(),
            span: decl.name.span,
        };
        let mut baseline = None;
        for line in &decl.lines {
            self.study_line(line, &mut study, &mut baseline);
        }
        self.file_rules(&mut study);
        self.implied_success(&mut study);
        self.missing(decl, &study);
        let engine = baseline.and_then(|name| self.engine_named(0, &name));
        if let Some(engine) = &engine {
            self.needs_version(engine);
        }
        let known = engine.is_some();
        self.steps(decl, &mut study, Reach::new(engine));
        if study.repeat != Repeat::Times(1) {
            let what = if study.repeat == Repeat::Auto { "`repeat auto` (the default)" } else { "`repeat` above 1" };
            let span = repeat_span(decl);
            self.later(what.to_owned(), span, false);
        }
        study.not_yet = self.not_yet.split_off(before);
        self.profiles_not_yet(&mut study);
        (known && !study.model.is_empty()).then_some(study)
    }

    /// Settings that stand once at most.
    fn once(&mut self, decl: &ast::Study) {
        let mut seen: Vec<(&str, Span)> = Vec::new();
        for line in &decl.lines {
            let Some(word) = single_word(&line.kind) else { continue };
            if let Some((_, first)) = seen.iter().find(|(w, _)| *w == word) {
                let message = format!("the study states its {word} twice");
                let d = Diagnostic::new(Code::SettingTwice, line.span, message).label("the second one");
                self.sink.push(d.related(*first, "the first one").help("keep one of them"));
            } else {
                seen.push((word, line.span));
            }
        }
    }

    fn study_line(&mut self, line: &ast::StudyLine, study: &mut Study, baseline: &mut Option<Name>) {
        match &line.kind {
            Line::Model(t) => study.model = self.inserted(0, t, false),
            Line::Gpus { count, of } => {
                let of = of.as_ref().map(|t| self.inserted(0, t, false));
                if let Some(n) = self.whole(count, 1, 4096, "`gpus`") {
                    study.gpus = Some(Gpus { count: n as u32, of });
                }
            }
            Line::Baseline(name) => {
                study.baseline.clone_from(&name.value);
                *baseline = Some(name.clone());
            }
            Line::Objective { maximize, expr, on } => self.objective(*maximize, expr, on, study),
            Line::Require { expr, on } => self.require(expr, on.as_ref(), study),
            Line::Adopt(n) => {
                if let Some(v) = self.number_of(n, Dim::PLAIN, "the gain to adopt from") {
                    if (0.0..=10.0).contains(&v) {
                        study.adopt = v;
                    } else {
                        let message = "the gain to adopt from is a fraction from 0 to 10";
                        let d = Diagnostic::new(Code::OutOfRange, n.span, message).label("out of range");
                        self.sink.push(d.help(format!("did you mean `{}%`?", n.value)));
                    }
                }
            }
            Line::Repeat(None) => study.repeat = Repeat::Auto,
            Line::Repeat(Some(n)) => {
                if let Some(n) = self.whole(n, 1, 1000, "`repeat`") {
                    study.repeat = Repeat::Times(n as u32);
                }
            }
            Line::Confirm(names) => study.confirm = self.profile_names(names),
            Line::Curve(names) => {
                self.profile_names(names);
                self.later("`curve on`".to_owned(), line.span, false);
            }
            Line::Budget(b) => {
                self.budget(b);
                self.later("a budget".to_owned(), line.span, false);
            }
            Line::Note(t) => {
                let text = self.inserted(0, t, false);
                study.notes.push(text);
            }
            Line::Prune(p) => study.prune.extend(self.prune_rule(0, p)),
            Line::Step(_) => {}
            Line::Track(t) => self.later(format!("the track `{}`", t.engine.value), t.engine.span, false),
        }
    }

    fn objective(&mut self, maximize: bool, expr: &ast::Expr, on: &[Name], study: &mut Study) {
        let text = self.source_text(expr.span);
        let profiles = self.profile_names(on);
        if let Some((expr, _)) = self.numeric(0, expr, Place::Objective) {
            study.objective = Some(Objective { maximize, expr, text, profiles });
        }
    }

    fn require(&mut self, expr: &ast::Expr, on: Option<&Name>, study: &mut Study) {
        let text = self.source_text(expr.span);
        let checked = self.condition(0, expr, Place::Require);
        if let Some(name) = on {
            self.profile_named(0, name);
            self.later(format!("`require … on {}`", name.value), name.span, false);
        }
        if let Some(expr) = checked {
            study.require.push(Require { expr, text, implied: false });
        }
    }

    /// A rule, from the study or from the top of a file.
    pub fn prune_rule(&mut self, module: usize, p: &ast::Prune) -> Option<Prune> {
        let reason = self.inserted(module, &p.reason, false);
        let text = self.source_text(p.when.span);
        let when = self.condition(module, &p.when, Place::Prune)?;
        let after = match &p.after {
            Some(n) => Some(self.whole(n, 1, 1_000_000, "`after`")?),
            None => None,
        };
        if after.is_some() && when.is_static() {
            let message = "the rule names no metric, so it is settled before anything starts";
            let span = p.after.as_ref().map_or(p.span, |n| n.span);
            let d = Diagnostic::new(Code::WrongPlace, span, message).label("after requests of what?");
            self.sink.push(d.help("remove `after … requests`"));
        }
        Some(Prune { name: p.name.value.clone(), reason, when, text, after })
    }

    /// Rules at the top of this file, and imported ones.
    fn file_rules(&mut self, study: &mut Study) {
        let root = self.modules.root();
        let own: Vec<&ast::Prune> =
            root.file.items.iter().filter_map(|i| if let Item::Prune(p) = i { Some(p) } else { None }).collect();
        let mut rules: Vec<Prune> = own.into_iter().filter_map(|p| self.prune_rule(0, p)).collect();
        for (kind, at) in &root.imported {
            if *kind == Kind::Prune {
                if let Item::Prune(p) = self.modules.item(*at) {
                    rules.extend(self.prune_rule(at.module, p));
                }
            }
        }
        rules.append(&mut study.prune);
        study.prune = rules;
    }

    fn implied_success(&mut self, study: &mut Study) {
        use super::program::{Expr, Owner};
        let names_success = study.require.iter().any(|r| {
            let mut found = false;
            r.expr.walk(&mut |e| {
                found |= matches!(e, Expr::Metric { of: Owner::Own, name, .. } if name == "success_rate");
            });
            found
        });
        if !names_success {
            let metric = Expr::Metric { of: Owner::Own, name: "success_rate".to_owned(), stat: None };
            let bound = Expr::Number(DEFAULT_SUCCESS);
            let expr = Expr::Binary { op: BinaryOp::Ge, left: Box::new(metric), right: Box::new(bound) };
            study.require.push(Require { expr, text: "success_rate >= 99.9%".to_owned(), implied: true });
        }
    }

    fn missing(&mut self, decl: &ast::Study, study: &Study) {
        let has = |f: fn(&Line) -> bool| decl.lines.iter().any(|l| f(&l.kind));
        let unread = |words: &[&str]| decl.unread.iter().any(|u| words.contains(u));
        let mut lacks = Vec::new();
        if !has(|l| matches!(l, Line::Model(_))) && !unread(&["model"]) {
            lacks.push(("model", "`model \"org/name\"`"));
        }
        if !has(|l| matches!(l, Line::Baseline(_))) && !unread(&["baseline"]) {
            lacks.push(("baseline", "`baseline ENGINE`"));
        }
        if !has(|l| matches!(l, Line::Step(_) | Line::Track(_))) && !unread(&["step", "track"]) {
            lacks.push(("step", "`step NAME { vary AXIS }`"));
        }
        for (what, how) in lacks {
            let message = format!("the study `{}` has no {what}", study.name);
            let d = Diagnostic::new(Code::MissingInStudy, decl.name.span, message).label("this study");
            self.sink.push(d.help(format!("add {how}")));
        }
        if study.model.is_empty() && has(|l| matches!(l, Line::Model(_))) {
            let message = "the model is empty";
            let d = Diagnostic::new(Code::MissingInStudy, decl.name.span, message).label("this study");
            self.sink.push(d.help("name a model or a path"));
        }
    }

    fn profile_names(&mut self, names: &[Name]) -> Vec<String> {
        names.iter().filter(|n| self.profile_named(0, n).is_some()).map(|n| n.value.clone()).collect()
    }

    pub fn budget(&mut self, b: &ast::Budget) {
        let Some((value, dim)) = self.quantity(&b.amount) else { return };
        let fits = if b.unit.is_some() {
            dim == Dim::PLAIN && value > 0.0
        } else {
            (dim == Dim::TIME || dim == Dim::MONEY) && value > 0.0
        };
        if !fits {
            let message = "a budget is a number of trials, GPU hours, a time or an amount of money";
            let d = Diagnostic::new(Code::MissingUnit, b.span, message).label("this budget");
            self.sink.push(d.help("write `budget 48 trials`, `budget 6 gpu_hours`, `budget 6h` or `budget 20usd`"));
        }
    }

    /// The text of an expression as written, for reports.
    fn source_text(&self, span: Span) -> String {
        self.modules.text(span)
    }

    /// What the study's profiles cannot do yet belongs to the study.
    fn profiles_not_yet(&mut self, study: &mut Study) {
        let before = self.not_yet.len();
        let mut names: BTreeSet<String> = study.confirm.iter().cloned().collect();
        names.extend(study.objective.iter().flat_map(|o| o.profiles.iter().cloned()));
        let mut found: Vec<NotYet> = Vec::new();
        for name in names {
            let Some(at) = self.modules.root().find(Kind::Profile, &name) else { continue };
            found.extend(self.profile(at).iter().flat_map(|p| p.not_yet.clone()));
        }
        for live_only in [false, true] {
            let what: Vec<String> = found.iter().filter(|n| n.live_only == live_only).map(|n| n.what.clone()).collect();
            if !what.is_empty() {
                self.later(what.join(", "), study.span, live_only);
            }
        }
        study.not_yet.append(&mut self.not_yet.split_off(before));
    }
}

fn repeat_span(decl: &ast::Study) -> Span {
    let line = decl.lines.iter().find(|l| matches!(l.kind, Line::Repeat(_)));
    line.map_or(decl.name.span, |l| l.span)
}

fn single_word(line: &Line) -> Option<&'static str> {
    Some(match line {
        Line::Model(_) => "model",
        Line::Gpus { .. } => "gpus",
        Line::Baseline(_) => "baseline",
        Line::Objective { .. } => "objective",
        Line::Adopt(_) => "adopt",
        Line::Repeat(_) => "repeat",
        Line::Confirm(_) => "confirm",
        Line::Curve(_) => "curve",
        Line::Budget(_) => "budget",
        _ => return None,
    })
}

/// What a step's lines say.
pub struct StepParts<'a> {
    pub vary: Option<(&'a ast::Axes, Search)>,
    pub pick: Option<(&'a ast::Axes, &'a ast::Text)>,
}

impl Checker<'_> {
    /// One step: its base, space, guard and pick.
    pub fn one_step(
        &mut self,
        step: &ast::Step,
        track: Option<&str>,
        earlier: &[Step],
        broken: &HashSet<String>,
    ) -> Option<Step> {
        let parts = self.step_parts(step);
        let space = parts.as_ref().and_then(|p| p.vary).and_then(|(axes, _)| self.space(0, axes));
        let when = match &step.when {
            Some(e) => {
                let text = self.source_text(e.span);
                self.condition(0, e, Place::Guard).map(|expr| Guard { expr, text })
            }
            None => None,
        };
        let from = self.from(step, track, earlier, broken);
        let (parts, space, from) = (parts?, space?, from?);
        let pick = match parts.pick {
            Some((axes, because)) => self.pick(axes, because, &space),
            None => None,
        };
        let search = parts.vary.map_or(Search::Grid, |(_, search)| search);
        let title = step.title.as_ref().map_or_else(|| step.name.value.clone(), |t| self.inserted(0, t, false));
        let notes = step.lines.iter().filter_map(|l| if let StepLineKind::Note(t) = &l.kind { Some(t) } else { None });
        let notes: Vec<_> = notes.collect();
        let notes = notes.into_iter().map(|t| self.inserted(0, t, false)).collect();
        Some(Step {
            name: step.name.value.clone(),
            title,
            track: track.map(str::to_owned),
            from,
            when,
            space,
            search,
            pick,
            notes,
            span: step.name.span,
        })
    }

    fn step_parts<'s>(&mut self, step: &'s ast::Step) -> Option<StepParts<'s>> {
        let mut parts = StepParts { vary: None, pick: None };
        let mut twice = None;
        for line in &step.lines {
            match &line.kind {
                StepLineKind::Vary { axes, by } => {
                    if parts.vary.is_some() {
                        twice = Some(line.span);
                    }
                    let search = by.as_ref().map_or(Search::Grid, |b| b.value);
                    if search != Search::Grid {
                        let how = if search == Search::Staged { "staged" } else { "guided" };
                        self.later(format!("`by {how}`"), by.as_ref().map_or(line.span, |b| b.span), false);
                    }
                    parts.vary = Some((axes, search));
                }
                StepLineKind::Pick { axes, because } => parts.pick = Some((axes, because)),
                StepLineKind::Budget(b) => {
                    self.budget(b);
                    self.later("a step's budget".to_owned(), b.span, false);
                }
                StepLineKind::Note(_) => {}
            }
        }
        if let Some(span) = twice {
            let message = format!("the step `{}` varies twice", step.name.value);
            let d = Diagnostic::new(Code::StepEmpty, span, message).label("the second `vary`");
            self.sink.push(d.help("write one product, `vary a * b`, or two steps"));
            return None;
        }
        if parts.vary.is_none() {
            // a `vary` that could not be read has had its diagnostic
            if !step.unread.contains(&"vary") {
                let message = format!("the step `{}` varies nothing", step.name.value);
                let d = Diagnostic::new(Code::StepEmpty, step.name.span, message).label("this step");
                self.sink.push(d.help("add `vary AXIS`"));
            }
            return None;
        }
        Some(parts)
    }

    fn from(
        &mut self,
        step: &ast::Step,
        track: Option<&str>,
        earlier: &[Step],
        broken: &HashSet<String>,
    ) -> Option<From> {
        let Some(name) = &step.from else { return Some(From::Best) };
        if name.value == "best" {
            return Some(From::Best);
        }
        if let Some(i) = earlier.iter().position(|s| s.name == name.value && s.track.as_deref() == track) {
            return Some(From::Step(i));
        }
        if broken.contains(&name.value) {
            // there is an error already; the step's own mistakes are looked for all the same
            return Some(From::Best);
        }
        let m = self.modules.root();
        if m.find(Kind::Engine, &name.value).is_some() {
            let engine = self.engine_named(0, name)?;
            self.needs_version(&engine);
            return Some(From::Engine(name.value.clone()));
        }
        let steps: Vec<&str> = earlier.iter().map(|s| s.name.as_str()).chain(["best"]).collect();
        self.unknown_base(name, &steps);
        Some(From::Best)
    }

    fn unknown_base(&mut self, name: &Name, steps: &[&str]) {
        let m = self.modules.root();
        if m.is_broken(&name.value) {
            return;
        }
        let known: Vec<&str> = steps.iter().copied().chain(m.names(Kind::Engine)).collect();
        let message = format!("no earlier step and no engine is called `{}`", name.value);
        let d = Diagnostic::new(Code::UnknownName, name.span, message);
        let d = match did_you_mean(&name.value, known.iter().copied()) {
            Some(near) => d.label(format!("did you mean `{near}`?")).edit(name.span, near),
            None => d.label("not declared"),
        };
        self.sink.push(d.help(format!("a step starts from {}", one_of(&known))));
    }

    fn pick(&mut self, axes: &ast::Axes, because: &ast::Text, space: &Space) -> Option<Pick> {
        let because = self.inserted(0, because, false);
        if is_base(axes) {
            return Some(Pick { choice: Choice::Base, because });
        }
        let picked = self.space(0, axes)?;
        if picked.len() != 1 {
            let message = format!("`pick` chooses one candidate, and this is {}", picked.len());
            let d = Diagnostic::new(Code::PickMany, axes.span, message).label("not one candidate");
            self.sink.push(d.help("pick one point of each axis: `pick quant[fp8] because \"…\"`"));
            return None;
        }
        let points: Vec<_> = picked.candidate(0).into_iter().cloned().collect();
        let wanted: Vec<&Vec<Change>> = points.iter().map(|p| &p.changes).collect();
        let offered = (0..space.len().min(MAX_LOOKED_AT)).any(|i| same_changes(&space.candidate(i), &wanted));
        if !offered && space.len() <= MAX_LOOKED_AT {
            let message = "`pick` chooses a candidate that the step does not vary";
            let d = Diagnostic::new(Code::PickMany, axes.span, message).label("not a candidate of this step");
            self.sink.push(d.help("pick among the points of `vary`, or `pick base`"));
            return None;
        }
        Some(Pick { choice: Choice::Points(points), because })
    }
}

const MAX_LOOKED_AT: usize = 10_000;

fn is_base(axes: &ast::Axes) -> bool {
    matches!(axes.sum.as_slice(), [product] if matches!(product.as_slice(),
        [ast::Factor::Axis { name, picks: None, .. }] if name.value == "base"))
}

fn same_changes(candidate: &[&super::program::Point], wanted: &[&Vec<Change>]) -> bool {
    candidate.len() == wanted.len() && wanted.iter().all(|w| candidate.iter().any(|p| p.changes == **w))
}
