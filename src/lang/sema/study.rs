//! Studies: what is required, once each; steps with bases, spaces and picks; rules.

use std::collections::BTreeSet;

use super::check::Checker;
use super::exprs::Place;
use super::metrics;
use super::program::{Budget, Expr, Gpus, NotYet, Objective, Prune, Repeat, Require, Study};
use super::scope::{Kind, name_of};
use super::steps::Reach;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::Span;
use crate::lang::syntax::Block;
use crate::lang::syntax::ast::{self, BinaryOp, ExprKind, Item, Name, StudyLineKind as Line};
use crate::lang::units::{self, Dim};

const DEFAULT_ADOPT: f64 = 0.01;
const DEFAULT_SUCCESS: f64 = 0.999;

impl Checker<'_> {
    /// The study, as far as it can be known; what is missing has been said. A baseline that nobody knows has no name.
    pub fn study(&mut self, decl: &ast::Study) -> Study {
        let before = self.not_yet.len();
        self.once(decl);
        let title = self.titled(0, decl.title.as_ref(), &decl.name.value);
        let mut study = Study {
            name: decl.name.value.clone(),
            title,
            model: String::new(),
            gpus: None,
            baseline: String::new(),
            objective: None,
            aimed_at: Vec::new(),
            require: Vec::new(),
            adopt: DEFAULT_ADOPT,
            repeat: Repeat::Auto,
            prune: Vec::new(),
            confirm: Vec::new(),
            curve: Vec::new(),
            notes: Vec::new(),
            budget: None,
            in_money: Vec::new(),
            steps: Vec::new(),
            tracks: Vec::new(),
            not_yet: Vec::new(),
            span: decl.name.span,
        };
        let mut baseline = None;
        for line in &decl.lines {
            self.study_line(line, &mut study, &mut baseline);
        }
        self.requirements_agree(decl, &study);
        self.file_rules(decl, &mut study);
        implied_success(&mut study);
        self.missing(decl, &study);
        let stated = baseline.is_some();
        // which of two is the baseline, nobody knows
        let doubled = has_two_baselines(decl);
        if let Some(name) = baseline.is_none().then(|| self.unread_baseline(decl)).flatten() {
            study.baseline.clone_from(&name.value);
            baseline = Some(name);
        }
        let engine = baseline.and_then(|name| {
            let engine = self.engine_named(0, &name)?;
            // what could not be read may be its version
            if stated && !doubled {
                self.needs_version(&engine, name.span);
            }
            Some(engine)
        });
        let engine = engine.filter(|_| !doubled);
        if engine.is_none() {
            study.baseline.clear();
        }
        self.steps(decl, &mut study, Reach::new(engine));
        self.enough_gpus(decl, &study);
        self.kind_of_gpu(decl, &study);
        self.countable(decl, &mut study);
        self.loads_fit(decl, &study);
        self.rule_flags_of(decl, &study);
        if study.repeat == Repeat::Auto {
            self.later("`repeat auto` (the default)".to_owned(), repeat_span(decl), false);
        }
        study.not_yet = self.not_yet.split_off(before);
        self.metrics_without_gpus(decl, &mut study);
        self.profiles_not_yet(&mut study);
        study
    }

    fn study_line(&mut self, line: &ast::StudyLine, study: &mut Study, baseline: &mut Option<Name>) {
        match &line.kind {
            Line::Model(t) => study.model = self.model_name(0, t),
            Line::Gpus { count, of } => {
                let of = of.as_ref().map(|t| (self.inserted(0, t, false), t.span));
                if let Some((_, span)) = of.as_ref().filter(|(text, _)| text.trim().is_empty()) {
                    let d = Diagnostic::new(Code::MissingInStudy, *span, "the name of the device is empty");
                    let help = "write a part of what the driver calls it, `of \"H100\"`, or leave `of` out";
                    self.sink.push(d.label("occurs in every name").help(help));
                }
                let of = of.map(|(text, _)| text);
                if let Some(n) = self.whole(count, 1, 4096, "`gpus`") {
                    study.gpus = Some(Gpus { count: n as u32, of });
                }
            }
            Line::Baseline(name) => {
                study.baseline.clone_from(&name.value);
                *baseline = Some(name.clone());
            }
            Line::Objective { maximize, expr, on } => self.objective(line.span, *maximize, expr, on, study),
            Line::Require { expr, on } => self.require(expr, on.as_ref(), study),
            Line::Adopt(n) => {
                let value = self.number_of(n, Dim::PLAIN, "the gain to adopt from");
                if let (Some(v), Some(())) = (value, self.adopts_share(n)) {
                    if (0.0..=10.0).contains(&v) {
                        study.adopt = v;
                    } else {
                        let message = "the gain to adopt from is a fraction from 0 to 10";
                        let d = Diagnostic::new(Code::OutOfRange, n.span, message).label("out of range");
                        self.sink
                            .push(d.help("write for example `adopt gain >= 1%`; a loss is never adopted"));
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
                study.curve = self.profile_names(names);
                self.later("`curve on`".to_owned(), line.span, false);
            }
            Line::Budget(b) => study.budget = self.budget(b),
            Line::Note(t) => {
                let text = self.inserted(0, t, false);
                study.notes.push(text);
            }
            Line::Prune(p) => study.prune.extend(self.prune_rule(0, p)),
            Line::Step(_) | Line::Track(_) => {}
        }
    }

    fn objective(&mut self, word: Span, maximize: bool, expr: &ast::Expr, on: &[Name], study: &mut Study) {
        if let Some((metric, profile)) = self.swapped(expr, on) {
            return self.objective(word, maximize, &metric, &[profile], study);
        }
        let text = self.source_text(expr.span);
        let profiles = self.profile_names(on);
        // of two the first one counts, until one of them is gone
        if study.aimed_at.is_empty() {
            study.aimed_at.clone_from(&profiles);
        }
        let span = expr.span;
        if let Some((expr, dim)) = self.numeric(0, expr, Place::Objective) {
            let mut differs = false;
            expr.walk(&mut |e| {
                differs |= matches!(e, Expr::Metric { .. } | Expr::Goodput { .. } | Expr::Gpus { .. });
            });
            if !differs {
                let message = "the objective is the same for every configuration";
                let d = Diagnostic::new(Code::WrongPlace, span, message).label("names no metric");
                self.sink.push(d.help("name a metric: `maximize total_tps on …`, `minimize p99(ttft) on …`"));
            }
            self.objective_improves(word, maximize, &expr);
            study.objective.get_or_insert(Objective { maximize, expr, text, dim, profiles, span });
        }
    }

    /// `maximize chat on total_tps`: the metric and the profile that are meant, after saying so.
    fn swapped(&mut self, expr: &ast::Expr, on: &[Name]) -> Option<(ast::Expr, Name)> {
        let ExprKind::Call { owner: None, name: profile, args: None } = &expr.kind else { return None };
        let [metric] = on else { return None };
        let root = self.modules.root();
        let is = |kind: Kind, name: &Name| root.find(kind, &name.value).is_some();
        let measured = |name: &Name| is(Kind::Metric, name) || metrics::kind_of(&name.value).is_some();
        let swapped = is(Kind::Profile, profile)
            && !measured(profile)
            && measured(metric)
            && !is(Kind::Profile, metric);
        if !swapped {
            return None;
        }
        let (own, right) = (expr.span.to(metric.span), format!("{} on {}", metric.value, profile.value));
        let message = format!("`{}` is a profile, and `{}` a metric", profile.value, metric.value);
        let d = Diagnostic::new(Code::WrongKind, own, message).label("the wrong way round");
        self.sink.push(d.help(format!("write `{right}`")).edit(own, right));
        let kind = ExprKind::Call { owner: None, name: metric.clone(), args: None };
        Some((ast::Expr { kind, span: metric.span }, profile.clone()))
    }

    fn require(&mut self, written: &ast::Expr, on: Option<&Name>, study: &mut Study) {
        let text = self.source_text(written.span);
        let checked = self.condition(0, written, Place::Require);
        let on = match on {
            Some(name) if self.profile_named(0, name).is_some() => Some(name.value.clone()),
            // the name has been reported: the requirement cannot be understood
            Some(_) => return,
            None => None,
        };
        if let Some(expr) = checked {
            self.can_be_met(written, &expr);
            let parts = written.joined();
            study.require.push(Require { expr, text, on, implied: false, span: written.span, parts });
        }
    }

    /// A rule, from the study or from the top of a file.
    pub fn prune_rule(&mut self, module: usize, p: &ast::Prune) -> Option<Prune> {
        let reason = self.said(
            module,
            &p.reason,
            Code::MissingInStudy,
            "the reason of a rule",
            "say why what it prunes need not be measured; reports print it",
        );
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
        self.prunes_worse(&p.when, &when);
        self.plausible(&p.when, &when);
        let name = p.name.value.clone();
        Some(Prune { name, reason, when, text, after, span: p.when.span, parts: p.when.joined() })
    }

    /// Rules at the top of this file, and imported ones.
    fn file_rules(&mut self, decl: &ast::Study, study: &mut Study) {
        let root = self.modules.root();
        let own: Vec<&ast::Prune> = root
            .file
            .items
            .iter()
            .filter_map(|i| if let Item::Prune(p) = i { Some(p) } else { None })
            .collect();
        self.rules_named_twice(decl);
        let mut rules: Vec<Prune> = own.into_iter().filter_map(|p| self.prune_rule(0, p)).collect();
        for (kind, at) in &root.imported {
            if *kind == Kind::Prune
                && let Item::Prune(p) = self.modules.item(*at)
            {
                rules.extend(self.prune_rule(at.module, p));
            }
        }
        rules.append(&mut study.prune);
        study.prune = rules;
    }

    /// Reports call a rule by its name: one of a study is called otherwise than its others and those of its file.
    fn rules_named_twice(&mut self, decl: &ast::Study) {
        let mut seen: Vec<&Name> = Vec::new();
        let rules =
            decl.lines.iter().filter_map(|l| if let Line::Prune(p) = &l.kind { Some(&p.name) } else { None });
        for name in rules {
            let root = self.modules.root();
            let of_file = root.find(Kind::Prune, &name.value).and_then(|at| name_of(self.modules.item(at)));
            let first = seen.iter().find(|n| n.value == name.value).copied().or(of_file.map(|(_, n)| n));
            if let Some(first) = first {
                let message = format!("a second prune rule is called `{}`", name.value);
                let d = Diagnostic::new(Code::DeclaredTwice, name.span, message).label("already taken");
                let d = d.about(About::Second(Kind::Prune));
                self.sink.push(d.related(first.span, "the first one").help("give one of them another name"));
            }
            seen.push(name);
        }
    }

    fn missing(&mut self, decl: &ast::Study, study: &Study) {
        let has = |f: fn(&Line) -> bool| decl.lines.iter().any(|l| f(&l.kind));
        let unread = |words: &[&str]| decl.unread.iter().any(|u| words.contains(u));
        let objective = has(|l| matches!(l, Line::Objective { .. })) || unread(&["maximize", "minimize"]);
        let mut lacks: Vec<(&'static [&'static str], &str)> = Vec::new();
        if !has(|l| matches!(l, Line::Model(_))) && !unread(&["model"]) {
            lacks.push((&["model"], "`model \"org/name\"`"));
        }
        if !has(|l| matches!(l, Line::Baseline(_))) && !unread(&["baseline"]) {
            lacks.push((&["baseline"], "`baseline ENGINE`"));
        }
        // tables of the baseline alone need no candidates
        let tables = !objective && has(|l| matches!(l, Line::Confirm(_) | Line::Curve(_)));
        if !tables && !has(|l| matches!(l, Line::Step(_) | Line::Track(_))) && !unread(&["step", "track"]) {
            lacks.push((&["step", "track"], "`step NAME { vary AXIS }`"));
        }
        // lines that mean nobody knows what may be those that are missing
        let nobodys = About::NoSetting(Block::Study);
        let nameless = self.sink.in_span(decl.span).filter(|d| d.about == nobodys);
        if lacks.len() <= nameless.count() {
            lacks.clear();
        }
        for (what, how) in lacks {
            let message = format!("the study `{}` has no {}", study.name, what[0]);
            let d = Diagnostic::new(Code::MissingInStudy, decl.name.span, message).label("this study");
            self.sink.push(d.about(About::Lacks(what)).help(format!("add {how}")));
        }
        let loads = has(|l| matches!(l, Line::Objective { .. } | Line::Confirm(_) | Line::Curve(_)));
        let steps = has(|l| matches!(l, Line::Step(_) | Line::Track(_)));
        if steps && !loads && !unread(&["maximize", "minimize", "confirm", "curve"]) {
            let message = format!("the study `{}` has neither an objective nor `confirm on`", study.name);
            let d = Diagnostic::new(Code::MeasuresNothing, decl.name.span, message).label("measures nothing");
            let d = d.about(About::Lacks(&["maximize", "minimize", "confirm", "curve"]));
            self.sink.push(d.help(
                "add `maximize total_tps on PROFILE`; for tables without a recommendation, `confirm on PROFILE`",
            ));
        }
        if (steps || tables) && loads && !objective {
            let message = format!(
                "the study `{}` has no objective: nothing is adopted, nothing recommended",
                study.name
            );
            let d = Diagnostic::new(Code::NothingWins, decl.name.span, message).label("tables only");
            let d = d.about(About::Lacks(&["maximize", "minimize"]));
            self.sink.push(d.help("if something is to win, add `maximize total_tps on PROFILE`"));
        }
    }

    fn profile_names(&mut self, names: &[Name]) -> Vec<String> {
        names.iter().filter(|n| self.profile_named(0, n).is_some()).map(|n| n.value.clone()).collect()
    }

    pub fn budget(&mut self, b: &ast::Budget) -> Option<Budget> {
        let (value, dim) = self.quantity(&b.amount)?;
        if !is_budget(b) {
            let message = "a budget is a number of trials, GPU hours, a time or an amount of money";
            let d = Diagnostic::new(Code::MissingUnit, b.span, message).label("this budget");
            self.sink.push(
                d.help("write `budget 48 trials`, `budget 6 gpu_hours`, `budget 6h` or `budget 20usd`"),
            );
            return None;
        }
        let whole = b.unit != Some(ast::BudgetUnit::Trials) || value.fract() == 0.0;
        if value <= 0.0 || !whole {
            let message = if whole { "a budget is above zero" } else { "a budget counts whole trials" };
            let d = Diagnostic::new(Code::OutOfRange, b.amount.span, message).label("out of range");
            self.sink.push(d.help("write for example `budget 48 trials` or `budget 6h`"));
            return None;
        }
        Some(match b.unit {
            Some(ast::BudgetUnit::Trials) => Budget::Trials(value),
            Some(ast::BudgetUnit::GpuHours) => Budget::GpuSeconds(value * 3600.0),
            None if dim == Dim::TIME => Budget::Seconds(value),
            None => Budget::Usd(value),
        })
    }

    /// The text of an expression as written, for reports.
    pub(super) fn source_text(&self, span: Span) -> String {
        self.modules.text(span)
    }

    /// What the study's profiles cannot do yet belongs to the study.
    fn profiles_not_yet(&mut self, study: &mut Study) {
        let before = self.not_yet.len();
        let mut names: BTreeSet<String> = study.confirm.iter().cloned().collect();
        names.extend(study.objective.iter().flat_map(|o| o.profiles.iter().cloned()));
        names.extend(study.require.iter().filter_map(|r| r.on.clone()));
        let mut found: Vec<NotYet> = Vec::new();
        for name in names {
            let Some(at) = self.modules.root().find(Kind::Profile, &name) else { continue };
            found.extend(self.profile(at).iter().flat_map(|p| p.not_yet.clone()));
        }
        for live_only in [false, true] {
            let what: Vec<String> =
                found.iter().filter(|n| n.live_only == live_only).map(|n| n.what.clone()).collect();
            if !what.is_empty() {
                self.later(what.join(", "), study.span, live_only);
            }
        }
        study.not_yet.append(&mut self.not_yet.split_off(before));
    }
}

/// Whether a budget says what it counts.
pub(super) fn is_budget(b: &ast::Budget) -> bool {
    units::unit(&b.amount.unit).is_some_and(|(_, dim)| match b.unit {
        Some(_) => dim == Dim::PLAIN,
        None => dim == Dim::TIME || dim == Dim::MONEY,
    })
}

/// Whether two lines of a study name different engines as its baseline.
fn has_two_baselines(decl: &ast::Study) -> bool {
    let mut named = decl
        .lines
        .iter()
        .filter_map(|l| if let Line::Baseline(name) = &l.kind { Some(&name.value) } else { None });
    let first = named.next();
    named.any(|other| Some(other) != first)
}

/// Requests must succeed, unless a study says otherwise.
fn implied_success(study: &mut Study) {
    use super::program::{Expr, Owner};
    let about_objective = study.require.iter().filter(|r| r.on.is_none());
    let names_success = about_objective.into_iter().any(|r| {
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
        study.require.push(Require {
            expr,
            text: "success_rate >= 99.9%".to_owned(),
            on: None,
            implied: true,
            span: study.span,
            parts: Vec::new(),
        });
    }
}

fn repeat_span(decl: &ast::Study) -> Span {
    let line = decl.lines.iter().find(|l| matches!(l.kind, Line::Repeat(_)));
    line.map_or(decl.name.span, |l| l.span)
}
