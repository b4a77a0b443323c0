//! Whole answers have no times of tokens: what reads those of a profile with `stream false` reads nothing.

use indexmap::IndexMap;

use super::check::Checker;
use super::program::{Expr, Study};
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, StudyLineKind as Line};

/// What only a stream tells.
const OF_STREAMS: [&str; 3] = ["ttft", "tpot", "itl"];

impl Checker<'_> {
    /// What a study reads of its profiles against what their answers can tell.
    pub(super) fn streams_read(&mut self, decl: &ast::Study, study: &Study) {
        let named: Vec<String> = study.objective.iter().flat_map(|o| o.profiles.clone()).collect();
        let whole = self.first_whole(&named);
        let mut told = Told::default();
        let line = decl.lines.iter().find_map(|line| match &line.kind {
            Line::Objective { expr, .. } => Some(expr.span),
            _ => None,
        });
        if let (Some(objective), Some(span)) = (&study.objective, line) {
            told.read(&objective.expr, span, whole.as_deref());
        }
        for require in &study.require {
            let of = require.on.as_ref().map(|on| self.first_whole(std::slice::from_ref(on)));
            told.read(&require.expr, require.span, of.as_ref().unwrap_or(&whole).as_deref());
        }
        // a rule is asked of each profile, and may be meant for one that streams
        let all = named.iter().all(|name| self.is_whole(name));
        for rule in &study.prune {
            told.read(&rule.when, rule.span, whole.as_deref().filter(|_| all));
        }
        told.0.into_values().for_each(|d| self.sink.push(d));
    }

    fn first_whole(&mut self, names: &[String]) -> Option<String> {
        names.iter().find(|name| self.is_whole(name)).cloned()
    }

    fn is_whole(&mut self, name: &str) -> bool {
        let at = self.modules.root().find(Kind::Profile, name);
        at.and_then(|at| self.profile(at)).is_some_and(|profile| !profile.stream)
    }
}

/// What is to be told of each profile, once however much of it is read.
#[derive(Default)]
struct Told(IndexMap<String, Diagnostic>);

impl Told {
    fn read(&mut self, expr: &Expr, span: Span, profile: Option<&str>) {
        let (Some(profile), Some(metric)) = (profile, of_a_stream(expr)) else { return };
        if let Some(first) = self.0.get_mut(profile) {
            first.related.push((span, format!("and `{metric}` here")));
            return;
        }
        let message =
            format!("`{metric}` is a time of single tokens, and the answers of `{profile}` come as wholes");
        let d = Diagnostic::new(Code::WrongLoad, span, message).label("only a stream tells");
        let d = d.help(format!("read `latency` instead, or take `stream false` out of `{profile}`"));
        self.0.insert(profile.to_owned(), d);
    }
}

/// The first metric in an expression that whole answers do not have.
fn of_a_stream(expr: &Expr) -> Option<&'static str> {
    let mut found = None;
    expr.walk(&mut |e| match e {
        Expr::Metric { name, .. } => found = found.or(OF_STREAMS.into_iter().find(|m| m == name)),
        Expr::Goodput { when, .. } => found = found.or(of_a_stream(when)),
        _ => {}
    });
    found
}
