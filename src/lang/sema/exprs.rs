//! Expressions: names resolved, params and derived metrics inserted, dimensions computed with.

use super::check::Checker;
use super::metrics::{self, MetricKind, Stat};
use super::program::{Expr, Owner};
use super::scope::{ItemRef, Kind};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, did_you_mean};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, BinaryOp, ExprKind, Item, Literal, Name};
use crate::lang::units::Dim;

/// What an expression yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Number(Dim),
    Bool,
    Text,
    /// an engine, which is compared with a name
    Engine,
    /// a flag's value: whatever the other side is
    Flag,
    Distribution,
}

/// Where an expression stands, which decides what it may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Metric,
    Objective,
    Require,
    Prune,
    Guard,
}

type Typed = (Expr, Type);

/// How deep an expression may be, and how many parts it may have, with the metrics in it: far beyond any that a person writes.
const MOST_NESTED: usize = 128;
const MOST_NODES: usize = 2000;

impl Checker<'_> {
    /// A condition.
    pub fn condition(&mut self, module: usize, e: &ast::Expr, place: Place) -> Option<Expr> {
        let (expr, found) = self.expr(module, e, place)?;
        match found {
            // a switch alone is its value
            Type::Bool | Type::Flag => Some(expr),
            Type::Distribution => {
                self.needs_statistic(e);
                None
            }
            _ => {
                let message = "a condition is true or false, and this is a quantity";
                let d = Diagnostic::new(Code::NotCondition, e.span, message).label("compare it with something");
                self.sink.push(d.help("for example `success_rate < 99%`"));
                None
            }
        }
    }

    /// A number, such as an objective.
    pub fn numeric(&mut self, module: usize, e: &ast::Expr, place: Place) -> Option<(Expr, Dim)> {
        let (expr, found) = self.expr(module, e, place)?;
        match found {
            Type::Number(dim) => Some((expr, dim)),
            Type::Distribution => {
                self.needs_statistic(e);
                None
            }
            _ => {
                let message = "a quantity was expected, and this is a condition or text";
                let d = Diagnostic::new(Code::NotCondition, e.span, message).label("no number");
                self.sink.push(d.help("name a metric, for example `total_tps` or `p99(ttft)`"));
                None
            }
        }
    }

    fn needs_statistic(&mut self, e: &ast::Expr) {
        let name = match &e.kind {
            ExprKind::Call { name, .. } => name.value.as_str(),
            _ => "ttft",
        };
        let message = format!("`{name}` is a distribution over requests, not one number");
        let d = Diagnostic::new(Code::NeedsStatistic, e.span, message).label("which statistic of it?");
        let all: Vec<_> = Stat::ALL.iter().map(|s| s.name()).collect();
        self.sink.push(d.help(format!("write for example `p99({name})`; statistics are {}", all.join(", "))));
    }

    fn expr(&mut self, module: usize, e: &ast::Expr, place: Place) -> Option<Typed> {
        if self.depth >= MOST_NESTED {
            self.too_deep(e.span);
            return None;
        }
        self.depth += 1;
        let out = self.expr_kind(module, e, place);
        self.depth -= 1;
        out
    }

    fn too_deep(&mut self, span: Span) {
        let message = "this expression, with the metrics in it, is too deep or too long";
        let d = Diagnostic::new(Code::TooDeep, span, message).label("too much");
        self.sink.push(d.help("build it from fewer and simpler metrics"));
    }

    fn expr_kind(&mut self, module: usize, e: &ast::Expr, place: Place) -> Option<Typed> {
        match &e.kind {
            ExprKind::Number(n) => {
                let (value, dim) = self.quantity(n)?;
                Some((Expr::Number(value), Type::Number(dim)))
            }
            ExprKind::Text(t) => Some((Expr::Text(self.inserted(module, t, false)), Type::Text)),
            ExprKind::Bool(b) => Some((Expr::Bool(*b), Type::Bool)),
            ExprKind::Flag(name) => {
                if place == Place::Metric || place == Place::Objective {
                    self.wrong_place(e.span, "a flag", "in a prune rule, a guard or a requirement");
                    return None;
                }
                Some((Expr::Flag(name.clone()), Type::Flag))
            }
            ExprKind::Call { owner, name, args } => self.call(module, e, owner.as_ref(), name, args.as_deref(), place),
            ExprKind::Not(inner) => {
                let inner = self.condition(module, inner, place)?;
                Some((Expr::Not(Box::new(inner)), Type::Bool))
            }
            ExprKind::Binary { op, left, right } => self.binary(module, *op, left, right, place),
        }
    }

    fn binary(
        &mut self,
        module: usize,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        place: Place,
    ) -> Option<Typed> {
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            let l = self.condition(module, left, place);
            let r = self.condition(module, right, place);
            return Some((node(op, l?, r?), Type::Bool));
        }
        let l = self.operand(module, left, right, place);
        let r = self.operand(module, right, left, place);
        let ((l, lt), (r, rt)) = (l?, r?);
        for (side, t) in [(left, lt), (right, rt)] {
            if t == Type::Distribution {
                self.needs_statistic(side);
                return None;
            }
        }
        if op.is_comparison() {
            self.comparable(op, (left, lt), (right, rt))?;
            return Some((node(op, l, r), Type::Bool));
        }
        let dim = self.arithmetic(op, (left, lt), (right, rt))?;
        Some((node(op, l, r), Type::Number(dim)))
    }

    /// An operand; next to `engine`, a name is an engine's, and a bare word next to a flag is a text.
    fn operand(&mut self, module: usize, e: &ast::Expr, other: &ast::Expr, place: Place) -> Option<Typed> {
        if is_name(other, "engine") {
            if let ExprKind::Call { owner: None, name, args: None } = &e.kind {
                let engine = self.engine_named(module, name)?;
                return Some((Expr::EngineName(engine.name.clone()), Type::Engine));
            }
        }
        if let (true, Some(name)) = (is_text(other), unquoted(e)) {
            if !self.is_known(module, name) {
                self.unquoted(name);
                return None;
            }
        }
        self.expr(module, e, place)
    }

    /// Whether a name means something in an expression.
    fn is_known(&self, module: usize, name: &Name) -> bool {
        let m = self.module(module);
        let own = [Kind::Param, Kind::Metric].iter().any(|k| m.find(*k, &name.value).is_some());
        own || m.is_broken(&name.value) || metrics::is_built_in(&name.value)
    }

    /// `--gpu == h200`: what is compared with a text is one.
    fn unquoted(&mut self, name: &Name) {
        let quoted = format!("\"{}\"", name.value);
        let message = format!("no metric or param is called `{}`", name.value);
        let d = Diagnostic::new(Code::UnknownMetric, name.span, message).label("text is quoted");
        self.sink.push(d.help(format!("write {quoted}")).edit(name.span, quoted));
    }

    fn comparable(&mut self, op: BinaryOp, l: (&ast::Expr, Type), r: (&ast::Expr, Type)) -> Option<()> {
        let ordered = !matches!(op, BinaryOp::Eq | BinaryOp::Ne);
        match (l.1, r.1) {
            (Type::Number(a), Type::Number(b)) if a == b => Some(()),
            (Type::Number(a), Type::Number(b)) => {
                self.dimensions(op, (l.0, a), (r.0, b));
                None
            }
            (Type::Flag, Type::Flag | Type::Number(_)) | (Type::Number(_), Type::Flag) => Some(()),
            (Type::Flag | Type::Text, Type::Text | Type::Flag)
            | (Type::Flag | Type::Bool, Type::Bool | Type::Flag)
            | (Type::Engine, Type::Engine)
                if !ordered =>
            {
                Some(())
            }
            _ => {
                let span = l.0.span.to(r.0.span);
                let message = format!("`{}` cannot compare these two", op.symbol());
                let d = Diagnostic::new(Code::Dimension, span, message).label("of different kinds");
                self.sink.push(d.help("numbers compare with numbers, text with text by `==` and `!=`; text is quoted"));
                None
            }
        }
    }

    fn arithmetic(&mut self, op: BinaryOp, l: (&ast::Expr, Type), r: (&ast::Expr, Type)) -> Option<Dim> {
        // a flag's value in arithmetic is a plain number
        let number = |t: Type| match t {
            Type::Number(d) => Some(d),
            Type::Flag => Some(Dim::PLAIN),
            _ => None,
        };
        let (Some(a), Some(b)) = (number(l.1), number(r.1)) else {
            let span = l.0.span.to(r.0.span);
            let message = format!("`{}` computes with numbers only", op.symbol());
            let d = Diagnostic::new(Code::Dimension, span, message).label("not both are numbers");
            self.sink.push(d.help("name metrics or write numbers on both sides"));
            return None;
        };
        match op {
            BinaryOp::Mul => Some(a.times(b)),
            BinaryOp::Div => Some(a.per(b)),
            _ if a == b => Some(a),
            _ => {
                self.dimensions(op, (l.0, a), (r.0, b));
                None
            }
        }
    }

    /// Two numbers of different kinds: if one is a literal, it is the one that lacks its unit.
    fn dimensions(&mut self, op: BinaryOp, l: (&ast::Expr, Dim), r: (&ast::Expr, Dim)) {
        let literal = |e: &ast::Expr| if let ExprKind::Number(n) = &e.kind { Some(n.clone()) } else { None };
        for ((e, found), (_, wanted)) in [(r, l), (l, r)] {
            let Some(n) = literal(e) else { continue };
            let what = format!("the other side of `{}`", op.symbol());
            let code = if found == Dim::PLAIN || wanted == Dim::PLAIN { Code::MissingUnit } else { Code::Dimension };
            let message = format!("{what} is {wanted}, and `{}{}` is {found}", n.value, n.unit);
            let unit = wanted.usual_unit().unwrap_or_default();
            let mut d = Diagnostic::new(code, n.span, message);
            d = if found == Dim::PLAIN {
                let fixed = format!("{}{unit}", n.value);
                d.label("without a unit").help(format!("write for example `{fixed}`")).edit(n.span, fixed)
            } else {
                d.label("of another kind").help(format!("give it in `{unit}`"))
            };
            self.sink.push(d);
            return;
        }
        let span = l.0.span.to(r.0.span);
        let message = format!("`{}` meets {} and {}", op.symbol(), l.1, r.1);
        let d = Diagnostic::new(Code::Dimension, span, message).label("quantities of different kinds");
        self.sink.push(d.help("only `*` and `/` combine different kinds"));
    }

    fn call(
        &mut self,
        module: usize,
        e: &ast::Expr,
        owner: Option<&Name>,
        name: &Name,
        args: Option<&[ast::Expr]>,
        place: Place,
    ) -> Option<Typed> {
        let of = match owner {
            None => Owner::Own,
            Some(o) if o.value == "best" || o.value == "baseline" => {
                if matches!(place, Place::Metric | Place::Objective | Place::Guard) {
                    self.wrong_place(o.span, &format!("`{}.…`", o.value), "in a prune rule or a requirement");
                    return None;
                }
                if o.value == "best" { Owner::Best } else { Owner::Baseline }
            }
            Some(o) => {
                let message = format!("`{}` owns no metrics", o.value);
                let d = Diagnostic::new(Code::UnknownMetric, o.span, message).label("not known");
                self.sink.push(d.help("write `best.…` for the incumbent or `baseline.…` for the baseline"));
                return None;
            }
        };
        match args {
            Some(args) => self.function(module, e, of, name, args),
            None => self.named(module, of, name, place),
        }
    }

    fn function(
        &mut self,
        module: usize,
        e: &ast::Expr,
        of: Owner,
        name: &Name,
        args: &[ast::Expr],
    ) -> Option<Typed> {
        if name.value == "goodput" {
            self.later("`goodput(…)`".to_owned(), e.span, false);
            for a in args {
                self.goodput_condition(module, a);
            }
            return Some((
                Expr::Metric { of, name: "goodput".to_owned(), stat: None },
                Type::Number(Dim::RATE),
            ));
        }
        let Some(stat) = Stat::parse(&name.value) else {
            let known = Stat::ALL.iter().map(|s| s.name()).chain(["goodput"]);
            let message = format!("no function is called `{}`", name.value);
            let d = Diagnostic::new(Code::UnknownMetric, name.span, message);
            let d = match did_you_mean(&name.value, known.clone()) {
                Some(near) => d.label(format!("did you mean `{near}`?")).edit(name.span, near),
                None => d.label("unknown"),
            };
            self.sink.push(d.help(format!("functions are {}", known.collect::<Vec<_>>().join(", "))));
            return None;
        };
        let inner = match args {
            [ast::Expr { kind: ExprKind::Call { owner: None, name, args: None }, .. }] => name,
            _ => {
                let message = format!("`{}` takes one distribution", stat.name());
                let d = Diagnostic::new(Code::UnknownMetric, e.span, message).label("not one distribution");
                self.sink.push(d.help(format!("write `{}(ttft)`, with ttft, tpot, itl or latency", stat.name())));
                return None;
            }
        };
        match metrics::kind_of(&inner.value) {
            Some(MetricKind::Distribution(dim)) => {
                self.measured(inner);
                Some((Expr::Metric { of, name: inner.value.clone(), stat: Some(stat) }, Type::Number(dim)))
            }
            Some(MetricKind::Number(_)) => {
                let message = format!("`{}` is one number already", inner.value);
                let d = Diagnostic::new(Code::UnknownMetric, inner.span, message).label("no distribution");
                self.sink.push(d.help(format!("write `{}` alone", inner.value)));
                None
            }
            None => {
                self.unknown_metric(module, inner);
                None
            }
        }
    }

    /// Inside `goodput(…)` latencies are a request's own, without a statistic.
    fn goodput_condition(&mut self, module: usize, e: &ast::Expr) {
        match &e.kind {
            ExprKind::Binary { op, left, right } if matches!(op, BinaryOp::And | BinaryOp::Or) => {
                self.goodput_condition(module, left);
                self.goodput_condition(module, right);
            }
            ExprKind::Binary { op, left, right } if op.is_comparison() => {
                let (ExprKind::Call { name, args: None, .. }, ExprKind::Number(n)) = (&left.kind, &right.kind) else {
                    return;
                };
                match metrics::kind_of(&name.value) {
                    Some(MetricKind::Distribution(dim)) => drop(self.number_of(n, dim, &format!("`{}`", name.value))),
                    _ => self.unknown_metric(module, name),
                }
            }
            _ => {
                let message = "goodput takes conditions on a request's latencies";
                let d = Diagnostic::new(Code::NotCondition, e.span, message).label("no such condition");
                self.sink.push(d.help("for example `goodput(ttft <= 500ms and tpot <= 50ms)`"));
            }
        }
    }

    fn named(&mut self, module: usize, of: Owner, name: &Name, place: Place) -> Option<Typed> {
        let fixed = match name.value.as_str() {
            "gpus" => Some((Expr::Gpus, Type::Number(Dim::PLAIN))),
            "model" => Some((Expr::Model, Type::Text)),
            "engine" => Some((Expr::Engine, Type::Engine)),
            "gain" => {
                if place != Place::Prune {
                    self.wrong_place(name.span, "`gain`", "in a prune rule or after `adopt`");
                    return None;
                }
                Some((Expr::Gain, Type::Number(Dim::PLAIN)))
            }
            "rate" | "concurrency" => {
                self.later(format!("`{}` as an objective", name.value), name.span, false);
                let dim = if name.value == "rate" { Dim::RATE } else { Dim::PLAIN };
                Some((Expr::Metric { of, name: name.value.clone(), stat: None }, Type::Number(dim)))
            }
            _ => None,
        };
        if fixed.is_some() {
            return fixed;
        }
        match metrics::kind_of(&name.value) {
            Some(MetricKind::Number(dim)) => {
                self.measured(name);
                return Some((Expr::Metric { of, name: name.value.clone(), stat: None }, Type::Number(dim)));
            }
            Some(MetricKind::Distribution(_)) => {
                return Some((Expr::Metric { of, name: name.value.clone(), stat: None }, Type::Distribution));
            }
            None => {}
        }
        let m = self.module(module);
        if let Some(at) = m.find(Kind::Param, &name.value) {
            self.used.insert(at);
            return self.param(at);
        }
        if let Some(at) = m.find(Kind::Metric, &name.value) {
            self.used.insert(at);
            let (expr, dim) = self.metric_of(at, name)?;
            return Some((owned_by(expr, of), Type::Number(dim)));
        }
        self.unknown_metric(module, name);
        None
    }

    fn param(&mut self, at: ItemRef) -> Option<Typed> {
        let Item::Param(p) = self.modules.item(at) else { return None };
        Some(match &p.value {
            Literal::Number(n) => {
                let (value, dim) = self.quantity(n)?;
                (Expr::Number(value), Type::Number(dim))
            }
            Literal::Text(t) => (Expr::Text(t.value.clone()), Type::Text),
            Literal::Bool(b) => (Expr::Bool(b.value), Type::Bool),
        })
    }

    /// A derived metric: its expression and dimension.
    pub fn metric_of(&mut self, at: ItemRef, name: &Name) -> Option<(Expr, Dim)> {
        if let Some(known) = self.metrics.get(&at) {
            return known.clone();
        }
        let Item::Metric(m) = self.modules.item(at) else { return None };
        let span = if at.module == 0 { m.name.span } else { name.span };
        let mut found = self.guarded(at, span, |c| c.numeric(at.module, &m.expr, Place::Metric));
        // each use inserts the whole expression: metrics of metrics could double it forever
        if found.as_ref().is_some_and(|(expr, _)| expr.size() > MOST_NODES) {
            self.too_deep(span);
            found = None;
        }
        self.metrics.insert(at, found.clone());
        found
    }

    /// Notes a metric that live runs of this version do not yield.
    fn measured(&mut self, name: &Name) {
        if !metrics::is_measured(&name.value) {
            self.later(format!("the metric `{}`", name.value), name.span, true);
        }
    }

    fn unknown_metric(&mut self, module: usize, name: &Name) {
        let m = self.module(module);
        if m.is_broken(&name.value) {
            return;
        }
        let own: Vec<&str> = m.names(Kind::Metric).into_iter().chain(m.names(Kind::Param)).collect();
        let known: Vec<String> = metrics::names().map(str::to_owned).chain(own.iter().map(|n| (*n).to_owned())).collect();
        let message = format!("no metric or param is called `{}`", name.value);
        let d = Diagnostic::new(Code::UnknownMetric, name.span, message);
        let near = metrics::elsewhere(&name.value)
            .or_else(|| did_you_mean(&name.value, known.iter().map(String::as_str)).map(str::to_owned));
        let d = match near {
            Some(near) => d.label(format!("did you mean `{near}`?")).edit(name.span, near),
            None => d.label("not known"),
        };
        self.sink.push(d.help(format!("metrics are {}", known.join(", "))));
    }

    fn wrong_place(&mut self, span: Span, what: &str, place: &str) {
        let message = format!("{what} cannot be read here");
        let d = Diagnostic::new(Code::WrongPlace, span, message).label("not known here");
        self.sink.push(d.help(format!("it can be read {place}")));
    }
}

fn node(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary { op, left: Box::new(left), right: Box::new(right) }
}

/// What a text may be compared with.
fn is_text(e: &ast::Expr) -> bool {
    matches!(e.kind, ExprKind::Flag(_) | ExprKind::Text(_)) || is_name(e, "model")
}

/// A bare name, which may be a text that lacks its quotes.
fn unquoted(e: &ast::Expr) -> Option<&Name> {
    if let ExprKind::Call { owner: None, name, args: None } = &e.kind { Some(name) } else { None }
}

fn is_name(e: &ast::Expr, wanted: &str) -> bool {
    matches!(&e.kind, ExprKind::Call { owner: None, name, args: None } if name.value == wanted)
}

/// A derived metric read of another owner reads its parts of that owner.
fn owned_by(expr: Expr, of: Owner) -> Expr {
    match expr {
        Expr::Metric { name, stat, .. } => Expr::Metric { of, name, stat },
        Expr::Not(e) => Expr::Not(Box::new(owned_by(*e, of))),
        Expr::Binary { op, left, right } => node(op, owned_by(*left, of), owned_by(*right, of)),
        other => other,
    }
}
