//! Expressions: names resolved, params and derived metrics inserted, dimensions computed with.

use super::bounds;
use super::check::Checker;
use super::metrics::{self, Stat};
use super::program::Expr;
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, did_you_mean, one_of};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, BinaryOp, ExprKind, Name};
use crate::lang::units::{self, Dim};

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
    /// inside of `goodput(…)`
    Request,
    /// what an engine refuses, of its flags alone
    Refusal,
}

pub(super) type Typed = (Expr, Type);

/// How deep an expression may be, with the metrics in it: far beyond any that a person writes.
const MOST_NESTED: usize = 128;

impl Checker<'_> {
    /// A condition.
    pub fn condition(&mut self, module: usize, e: &ast::Expr, place: Place) -> Option<Expr> {
        let Some((expr, found)) = self.expr(module, e, place) else {
            if self.is_own_metric(module, e) {
                self.no_condition(e, false);
            }
            return None;
        };
        match found {
            Type::Bool => Some(expr),
            Type::Flag if matches!(e.kind, ExprKind::Env(_)) => {
                let message = "a variable alone is no condition";
                let d =
                    Diagnostic::new(Code::NotCondition, e.span, message).label("compare it with something");
                self.sink.push(d.help(format!("write for example `{} == \"1\"`", self.source_text(e.span))));
                None
            }
            // a switch alone is its value
            Type::Flag => {
                self.asked_alone(e);
                Some(expr)
            }
            Type::Distribution => {
                self.needs_statistic(e);
                None
            }
            // what a param is depends on how its mistake is mended
            _ if self.is_torn_param(module, e) => None,
            other => {
                match quoted_condition(e) {
                    Some(inner) => self.in_quotes(e, &inner),
                    None => self.no_condition(e, other == Type::Text),
                }
                None
            }
        }
    }

    /// A metric of the file is no condition, whatever is wrong with it.
    fn is_own_metric(&self, module: usize, e: &ast::Expr) -> bool {
        let ExprKind::Call { owner: None, name, args: None } = &e.kind else { return false };
        module == 0 && self.modules.root().find(Kind::Metric, &name.value).is_some()
    }

    fn in_quotes(&mut self, e: &ast::Expr, inner: &str) {
        let message = "a condition is true or false, and this is a text";
        let d = Diagnostic::new(Code::NotCondition, e.span, message).label("a condition in quotes");
        let help = format!("a condition stands without quotes: write `{inner}`");
        self.sink.push(d.help(help).edit(e.span, inner));
    }

    fn no_condition(&mut self, e: &ast::Expr, is_text: bool) {
        let (what, example) = if is_text {
            ("a text", format!("{} == \"…\"", self.source_text(e.span)))
        } else {
            ("a quantity", "success_rate < 99%".to_owned())
        };
        let message = format!("a condition is true or false, and this is {what}");
        let d = Diagnostic::new(Code::NotCondition, e.span, message).label("compare it with something");
        self.sink.push(d.help(format!("for example `{example}`")));
    }

    /// A number, such as an objective.
    pub fn numeric(&mut self, module: usize, e: &ast::Expr, place: Place) -> Option<(Expr, Dim)> {
        if let ExprKind::Binary { op, .. } = &e.kind
            && (op.is_comparison() || matches!(op, BinaryOp::And | BinaryOp::Or))
        {
            let message = "a quantity was expected, and this is a condition";
            let d = Diagnostic::new(Code::NotCondition, e.span, message).label("true or false, no number");
            let help = match place {
                Place::Objective => format!(
                    "name the metric alone; what must hold is a line of its own, `require {}`",
                    self.source_text(e.span)
                ),
                _ => "name a metric, for example `total_tps` or `p99(ttft)`".to_owned(),
            };
            self.sink.push(d.help(help));
            return None;
        }
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
        let (owner, name) = match &e.kind {
            ExprKind::Call { owner, name, .. } => {
                let owner = owner.as_ref().map(|o| format!("{}.", o.value));
                (owner.unwrap_or_default(), name.value.as_str())
            }
            _ => (String::new(), "ttft"),
        };
        // the file's own metric of that name was meant, which is to have another one
        let modules = self.modules;
        if self.sink.found().any(|d| d.code == Code::BuiltIn && modules.slice(d.span) == name) {
            return;
        }
        let message = format!("`{name}` is a distribution over requests, not one number");
        let d = Diagnostic::new(Code::NeedsStatistic, e.span, message).label("which statistic of it?");
        let all: Vec<_> = Stat::ALL.iter().map(|s| s.name()).collect();
        self.sink.push(
            d.help(format!("write for example `{owner}p99({name})`; statistics are {}", all.join(", "))),
        );
    }

    pub(super) fn expr(&mut self, module: usize, e: &ast::Expr, place: Place) -> Option<Typed> {
        if self.depth >= MOST_NESTED {
            self.too_deep(e.span);
            return None;
        }
        self.depth += 1;
        let out = self.expr_kind(module, e, place);
        self.depth -= 1;
        out
    }

    pub(super) fn too_deep(&mut self, span: Span) {
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
            ExprKind::Env(name) => {
                if matches!(place, Place::Metric | Place::Objective | Place::Request) {
                    self.wrong_place(e.span, "a variable", "in a prune rule, a guard or a requirement");
                    return None;
                }
                Some((Expr::Env(name.clone()), Type::Flag))
            }
            ExprKind::Given(name) => {
                if matches!(place, Place::Metric | Place::Objective | Place::Request) {
                    self.wrong_place(e.span, "a flag", "in a prune rule, a guard or a requirement");
                    return None;
                }
                self.asks_flag(name, e.span, module, place);
                Some((Expr::Given(name.clone()), Type::Bool))
            }
            ExprKind::Flag(name) => {
                if self.is_minus(module, name, e.span) {
                    return None;
                }
                if matches!(place, Place::Metric | Place::Objective | Place::Request) {
                    self.wrong_place(e.span, "a flag", "in a prune rule, a guard or a requirement");
                    return None;
                }
                self.asks_flag(name, e.span, module, place);
                Some((Expr::Flag(name.clone()), Type::Flag))
            }
            ExprKind::Call { owner, name, args } => {
                self.call(module, e, owner.as_ref(), name, args.as_deref(), place)
            }
            ExprKind::Not(inner) => {
                let inner = self.condition(module, inner, place)?;
                Some((Expr::Not(Box::new(inner)), Type::Bool))
            }
            ExprKind::Binary { op, left, right } => self.binary(module, *op, left, right, place),
        }
    }

    /// `-total_tps` reads as a flag: `-` is a sign only before a digit.
    fn is_minus(&mut self, module: usize, flag: &str, span: Span) -> bool {
        let Some(name) = flag.strip_prefix('-').filter(|n| !n.starts_with('-')) else { return false };
        let known = self.is_metric(module, &Name { value: name.to_owned(), span });
        if known {
            let message = "`-` is a sign only before a digit";
            let d = Diagnostic::new(Code::Unexpected, span, message).label("reads as a flag");
            self.sink.push(d.help(format!("write `-1 * {name}`")));
        }
        known
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
        if op == BinaryOp::Sub
            && (self.one_name(module, left, right) || self.word_before_flag(module, left, right))
        {
            return None;
        }
        let l = self.operand(module, left, right, place);
        let r = match (&right.kind, &l) {
            // what it is compared with says which units there are
            (ExprKind::Number(n), Some((_, Type::Number(dim)))) if op.is_comparison() => {
                let found = self.quantity_of(n, Some(*dim));
                found.map(|(value, dim)| (Expr::Number(value), Type::Number(dim)))
            }
            _ => self.operand(module, right, left, place),
        };
        let ((l, lt), (r, rt)) = (l?, r?);
        for (side, t) in [(left, lt), (right, rt)] {
            if t == Type::Distribution {
                self.needs_statistic(side);
                return None;
            }
        }
        if op.is_comparison() {
            self.comparable(op, (left, lt), (right, rt))?;
            self.as_percent(left, right)?;
            self.below_zero((left, &l), right)?;
            self.below_zero((right, &r), left)?;
            self.compared(op, left, right);
            self.compared(op, right, left);
            return Some((node(op, l, r), Type::Bool));
        }
        let dim = self.arithmetic(op, (left, lt), (right, rt))?;
        if op == BinaryOp::Div && bounds::is_zero(&r) {
            let d = Diagnostic::new(Code::OutOfRange, right.span, "this divides by zero").label("zero");
            self.sink.push(d.help("divide by something else"));
            return None;
        }
        Some((node(op, l, r), Type::Number(dim)))
    }

    /// An operand; next to `engine`, a name is an engine's, and a bare word next to a flag is a text.
    fn operand(&mut self, module: usize, e: &ast::Expr, other: &ast::Expr, place: Place) -> Option<Typed> {
        if is_engine(other)
            && let ExprKind::Call { owner: None, name, args: None } = &e.kind
        {
            let engine = self.engine_named(module, name)?;
            return Some((Expr::EngineName(engine.name.clone()), Type::Engine));
        }
        if is_text(other) && !self.counts(other) && self.is_bare_path(module, e) {
            return None;
        }
        if let (true, Some(name)) = (is_text(other), unquoted(e))
            && !self.is_known(module, name)
        {
            let m = self.module(module);
            let near = did_you_mean(&name.value, m.names(Kind::Param)).is_some();
            if near || self.flag_meant(&name.value).is_some() {
                self.unknown_metric(module, name);
            } else if self.counts(other) {
                self.no_number(name, other);
            } else {
                self.unquoted(name, other);
            }
            return None;
        }
        self.expr(module, e, place)
    }

    /// Whether a name means something in an expression.
    pub(super) fn is_known(&self, module: usize, name: &Name) -> bool {
        let m = self.module(module);
        let own = [Kind::Param, Kind::Metric].iter().any(|k| m.find(*k, &name.value).is_some());
        own || m.is_lost(Kind::Metric, &name.value) || metrics::is_built_in(&name.value)
    }

    /// `--gpu == h200`: what is compared with a text is one.
    fn unquoted(&mut self, name: &Name, other: &ast::Expr) {
        let is_nothing = ["null", "none", "nil", "undefined"].contains(&&*name.value);
        if let (ExprKind::Flag(flag), true) = (&other.kind, is_nothing) {
            let message = format!("nothing is called `{}`: a flag that is not set has no value", name.value);
            let d = Diagnostic::new(Code::UnknownMetric, name.span, message).label("no value");
            let help = format!("`given {flag}` holds where it is set, `not given {flag}` where it is not");
            return self.sink.push(d.help(help));
        }
        let quoted = format!("\"{}\"", name.value);
        let message = format!("no metric or param is called `{}`", name.value);
        let d = Diagnostic::new(Code::UnknownMetric, name.span, message).label("text is quoted");
        self.sink.push(d.help(format!("write {quoted}")).edit(name.span, quoted));
    }

    fn comparable(&mut self, op: BinaryOp, l: (&ast::Expr, Type), r: (&ast::Expr, Type)) -> Option<()> {
        let ordered = !matches!(op, BinaryOp::Eq | BinaryOp::Ne);
        match (l.1, r.1) {
            (Type::Number(a), Type::Number(b)) => self.same_dimension(op, (l.0, a), (r.0, b)),
            // the number that a flag has carries no unit
            (Type::Flag, Type::Number(b)) => self.same_dimension(op, (l.0, Dim::PLAIN), (r.0, b)),
            (Type::Number(a), Type::Flag) => self.same_dimension(op, (l.0, a), (r.0, Dim::PLAIN)),
            (Type::Flag, Type::Flag) => Some(()),
            (Type::Flag | Type::Text, Type::Text | Type::Flag)
            | (Type::Flag | Type::Bool, Type::Bool | Type::Flag)
            | (Type::Engine, Type::Engine)
                if !ordered =>
            {
                Some(())
            }
            (Type::Engine, Type::Text) if !ordered => self.quoted_engine(r.0.span),
            (Type::Text, Type::Engine) if !ordered => self.quoted_engine(l.0.span),
            _ => {
                let texts = [(l, r.1), (r, l.1)].into_iter().filter_map(|(e, other)| match (e.1, other) {
                    (Type::Text, Type::Number(wanted)) => Some((e.0, wanted)),
                    _ => None,
                });
                if texts.into_iter().any(|(e, wanted)| {
                    self.param_is_text(e, Some(wanted)) || self.is_quoted_number(e, wanted)
                }) {
                    return None;
                }
                let span = l.0.span.to(r.0.span);
                let message = format!("`{}` cannot compare these two", op.symbol());
                let d = Diagnostic::new(Code::Dimension, span, message).label("of different kinds");
                let d = d.about(self.about_param([(l.0, r.1), (r.0, l.1)]));
                let help = "numbers compare with numbers, text with text by `==` and `!=`; text is quoted";
                self.sink.push(d.help(help));
                None
            }
        }
    }

    /// `engine == "vllm"`: an engine is named, not quoted.
    fn quoted_engine(&mut self, text: Span) -> Option<()> {
        let name = self.source_text(text).trim_matches('"').to_owned();
        let known = self.modules.home(text).names(Kind::Engine);
        let d = Diagnostic::new(Code::Dimension, text, "an engine is compared with a text").label("a text");
        let near = known.iter().find(|k| k.eq_ignore_ascii_case(&name));
        self.sink.push(match near {
            Some(name) => d.help(format!("write {name}, without quotes")).edit(text, *name),
            None => d.help(format!("name an engine, without quotes: {}", one_of(&known))),
        });
        None
    }

    fn same_dimension(&mut self, op: BinaryOp, l: (&ast::Expr, Dim), r: (&ast::Expr, Dim)) -> Option<()> {
        if l.1 == r.1 {
            self.param_fits(l.0, r.0);
            return Some(());
        }
        self.dimensions(op, l, r);
        None
    }

    fn arithmetic(&mut self, op: BinaryOp, l: (&ast::Expr, Type), r: (&ast::Expr, Type)) -> Option<Dim> {
        // a flag's value in arithmetic is a plain number
        let number = |t: Type| match t {
            Type::Number(d) => Some(d),
            Type::Flag => Some(Dim::PLAIN),
            _ => None,
        };
        let (Some(left), Some(right)) = (number(l.1), number(r.1)) else {
            if [l, r].into_iter().any(|(e, t)| t == Type::Text && self.param_is_text(e, None)) {
                return None;
            }
            let span = l.0.span.to(r.0.span);
            let message = format!("`{}` computes with numbers only", op.symbol());
            let d = Diagnostic::new(Code::Dimension, span, message).label("not both are numbers");
            self.sink.push(d.help("name metrics or write numbers on both sides"));
            return None;
        };
        match op {
            BinaryOp::Mul => Some(left.times(right)),
            BinaryOp::Div => Some(left.per(right)),
            _ if left == right => Some(left),
            _ => {
                self.dimensions(op, (l.0, left), (r.0, right));
                None
            }
        }
    }

    /// Two numbers of different kinds: if one is a literal, it is the one that lacks its unit.
    fn dimensions(&mut self, op: BinaryOp, l: (&ast::Expr, Dim), r: (&ast::Expr, Dim)) {
        let literal = |e: &ast::Expr| if let ExprKind::Number(n) = &e.kind { Some(n.clone()) } else { None };
        for ((e, found), (other, wanted)) in [(r, l), (l, r)] {
            let Some(n) = literal(e) else { continue };
            let what = format!("the other side of `{}`", op.symbol());
            let code =
                if found == Dim::PLAIN || wanted == Dim::PLAIN { Code::MissingUnit } else { Code::Dimension };
            let message = format!("{what} is {wanted}, and `{}{}` is {found}", n.value, n.unit);
            let unit = wanted.written_unit();
            let d = Diagnostic::new(code, n.span, message);
            let d = if found == Dim::PLAIN {
                super::values::without_unit(d, &n, wanted, unit.as_deref())
            } else {
                let help = if wanted == Dim::PLAIN && n.value.abs() > 1.0 && is_share_metric(other) {
                    format!("a share is compared with a share: write `{}%`", n.value)
                } else if wanted == Dim::PLAIN {
                    format!("write it without a unit, `{}`, or compare it with {found}", n.value)
                } else if let Some(unit) = unit {
                    let all: Vec<String> = units::of(wanted).map(|u| format!("`{u}`")).collect();
                    format!("give it in {}", if all.is_empty() { format!("`{unit}`") } else { one_of(&all) })
                } else {
                    "only `*` and `/` combine different kinds".to_owned()
                };
                d.label("of another kind").help(help)
            };
            self.sink.push(d);
            return;
        }
        if self.param_without_unit(op, l, r) || self.param_without_unit(op, r, l) {
            return;
        }
        let span = l.0.span.to(r.0.span);
        let message = format!("`{}` meets {} and {}", op.symbol(), l.1, r.1);
        let d = Diagnostic::new(Code::Dimension, span, message).label("quantities of different kinds");
        let of_param =
            [(l.0, r.1), (r.0, l.1)].into_iter().find_map(|(e, wanted)| self.param_help(e, wanted));
        let d = d.about(self.about_param([(l.0, Type::Number(r.1)), (r.0, Type::Number(l.1))]));
        self.sink.push(of_another_kind(d, of_param, "only `*` and `/` combine different kinds"));
    }
}

/// What helps with a param that is of another kind, and where that is declared; else what always helps.
fn of_another_kind(d: Diagnostic, of_param: Option<(String, Span)>, otherwise: &str) -> Diagnostic {
    match of_param {
        Some((help, value)) => d.help(help).related(value, "declared here"),
        None => d.help(otherwise),
    }
}

pub(super) fn node(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary { op, left: Box::new(left), right: Box::new(right) }
}

/// What a text may be compared with.
fn is_text(e: &ast::Expr) -> bool {
    matches!(e.kind, ExprKind::Flag(_) | ExprKind::Env(_)) || is_name(e, "model")
}

fn is_share_metric(e: &ast::Expr) -> bool {
    matches!(&e.kind, ExprKind::Call { owner: None, name, .. } if name.value == "gain" || super::bounds::is_share(&name.value))
}

/// A bare name, which may be a text that lacks its quotes.
fn unquoted(e: &ast::Expr) -> Option<&Name> {
    if let ExprKind::Call { owner: None, name, args: None } = &e.kind { Some(name) } else { None }
}

/// The configuration's engine, or wrongly another one's.
fn is_engine(e: &ast::Expr) -> bool {
    matches!(&e.kind, ExprKind::Call { name, args: None, .. } if name.value == "engine")
}

fn is_name(e: &ast::Expr, wanted: &str) -> bool {
    matches!(&e.kind, ExprKind::Call { owner: None, name, args: None } if name.value == wanted)
}

/// What `"p99(ttft) <= 3s"` says: a text that compares something.
fn quoted_condition(e: &ast::Expr) -> Option<String> {
    let ExprKind::Text(text) = &e.kind else { return None };
    let compares = ["<", ">", "==", "!=", " and ", " or "].iter().any(|sign| text.value.contains(sign));
    let plain = !text.value.contains(['"', '\\', '{', '#', '\n']);
    (compares && plain).then(|| text.value.trim().to_owned())
}
