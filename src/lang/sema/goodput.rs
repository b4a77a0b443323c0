//! `goodput(COND)`: completed requests per second that meet a condition on their own times. Inside, `ttft`, `tpot` and `latency` are
//! those of one request; what belongs to a whole load cannot be read there.

use super::check::Checker;
use super::exprs::{Place, Type, Typed};
use super::metrics::{self, MetricKind};
use super::program::{Expr, Owner};
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, ExprKind, Name};
use crate::lang::units::Dim;

/// The times that one request has.
const TIMES: [&str; 3] = ["ttft", "tpot", "latency"];
const EXAMPLE: &str = "for example `goodput(ttft <= 500ms and tpot <= 50ms)`";

impl Checker<'_> {
    pub(super) fn goodput(
        &mut self,
        module: usize,
        e: &ast::Expr,
        of: Owner,
        args: &[ast::Expr],
    ) -> Option<Typed> {
        let [arg] = args else {
            // what could not be read may have joined them
            if self.sink.in_span(e.span).any(|d| d.code == Code::Unexpected) {
                return None;
            }
            let message = format!("`goodput` takes one condition, and these are {}", args.len());
            let d = Diagnostic::new(Code::NotCondition, e.span, message).label("not one condition");
            self.sink.push(d.help(format!("join conditions by `and`, {EXAMPLE}")));
            return None;
        };
        let when = self.condition(module, arg, Place::Request)?;
        let mut reads = false;
        when.walk(&mut |e| reads |= matches!(e, Expr::Metric { .. }));
        if !reads {
            let message = "goodput's condition asks nothing of a request";
            let d =
                Diagnostic::new(Code::NotCondition, arg.span, message).label("the same for every request");
            self.sink.push(d.help(format!("name ttft, tpot or latency, {EXAMPLE}")));
            return None;
        }
        self.counts_better(arg, &when);
        self.plausible(arg, &when);
        Some((Expr::Goodput { of, when: Box::new(when) }, Type::Number(Dim::RATE)))
    }

    pub(super) fn goodput_alone(&mut self, span: Span) {
        let message = "`goodput` needs to know which requests are good";
        let d = Diagnostic::new(Code::NotCondition, span, message).label("without a condition");
        self.sink.push(d.help(format!("write its condition in parentheses, {EXAMPLE}")));
    }

    /// Whether a name is a metric's, built in or derived: no param, and not unknown.
    pub(super) fn is_metric(&self, module: usize, name: &Name) -> bool {
        metrics::is_built_in(&name.value) || self.module(module).find(Kind::Metric, &name.value).is_some()
    }

    /// A metric inside of goodput's condition.
    pub(super) fn of_a_request(&mut self, name: &Name) -> Option<Typed> {
        let word = name.value.as_str();
        if TIMES.contains(&word) {
            let metric = Expr::Metric { of: Owner::Own, name: word.to_owned(), stat: None };
            return Some((metric, Type::Number(Dim::TIME)));
        }
        let (message, help) = if word == "itl" {
            (
                "a request has many gaps between tokens, and no single `itl`".to_owned(),
                "write `tpot`, their mean in a request".to_owned(),
            )
        } else {
            (
                format!("`{word}` is of a whole load, and goodput asks every request"),
                format!("only {} can be read here", TIMES.join(", ")),
            )
        };
        let d = Diagnostic::new(Code::WrongPlace, name.span, message).label("not of one request");
        self.sink.push(d.help(help));
        None
    }

    /// A function inside of goodput's condition: a statistic is over all requests.
    pub(super) fn function_of_a_request(&mut self, e: &ast::Expr, name: &Name, args: &[ast::Expr]) {
        let message = format!("`{}(…)` is over all requests, and goodput asks every one", name.value);
        let d = Diagnostic::new(Code::WrongPlace, e.span, message).label("not of one request");
        let inner = match args {
            [ast::Expr { kind: ExprKind::Call { owner: None, name, args: None }, .. }]
                if TIMES.contains(&name.value.as_str())
                    && matches!(metrics::kind_of(&name.value), Some(MetricKind::Distribution(_))) =>
            {
                name.value.clone()
            }
            _ => {
                self.sink.push(d.help(format!("only {} can be read here", TIMES.join(", "))));
                return;
            }
        };
        self.sink.push(d.help(format!("write `{inner}`: the request's own")).edit(e.span, inner));
    }
}
