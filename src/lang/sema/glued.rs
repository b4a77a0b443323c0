//! `per-gpu` in an expression: a name as other languages spell it, which reads as one name less another.

use super::check::Checker;
use super::metrics;
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, did_you_mean};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{BinaryOp, Expr, ExprKind, Name};

/// Words by which other languages ask whether something is there.
const ASKS: [&str; 10] =
    ["exists", "has", "is_set", "isset", "set", "defined", "is_defined", "present", "is_given", "contains"];

impl Checker<'_> {
    /// Whether a difference was meant to be one name, as parts of it are none and no spaces stand at its signs. Says so.
    pub(super) fn one_name(&mut self, module: usize, left: &Expr, right: &Expr) -> bool {
        // `output-tps / 16`: the sign binds what stands beside it
        let (left, right) = (last(left), first(right));
        let span = left.span.to(right.span);
        let written = self.modules.slice(span).to_owned();
        let mut parts = Vec::new();
        let glued = written.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if !glued || !names(left, &mut parts) || !names(right, &mut parts) {
            return false;
        }
        if parts.iter().all(|n| self.is_known(module, n)) {
            return false;
        }
        let m = self.module(module);
        let meant = written.replace('-', "_");
        if !m.is_lost(Kind::Metric, &written) && !m.is_lost(Kind::Metric, &meant) {
            self.not_one_name(module, span, &written, &meant);
        }
        true
    }

    /// `gievn --max-num-seqs`: a misspelt word before a flag, whose first dash reads as an operator. Whether that was it.
    pub(super) fn word_before_flag(&mut self, module: usize, left: &Expr, right: &Expr) -> bool {
        let behind = Span { start: left.span.end, ..right.span };
        let behind = self.modules.slice(behind);
        let gap = behind.len() - behind.trim_start().len();
        let flag = behind[gap..].starts_with("--") && matches!(right.kind, ExprKind::Flag(_));
        let at = Span { start: left.span.end + gap as u32, ..right.span };
        if flag && self.modules.slice(left.span) == self.modules.slice(at) {
            self.flag_twice(left.span, at);
            return true;
        }
        let ExprKind::Call { owner: None, name, args: None } = &left.kind else {
            return flag && self.lacks_comparison(at);
        };
        if flag && (self.stands_twice(name) || self.divides_by(name, at)) {
            return true;
        }
        if flag && name.value == "divides" {
            let message = "something is missing before `divides`";
            let d = Diagnostic::new(Code::Unexpected, name.span, message)
                .label("expected an expression before it");
            let help = format!("write for example `--FLAG divides {}`", self.modules.slice(at));
            self.sink.push(d.help(help));
            return true;
        }
        let asked = ASKS.contains(&name.value.as_str()).then_some("given");
        let meant = asked.or_else(|| did_you_mean(&name.value, ["given", "not"]));
        let meant = meant.filter(|_| flag && !self.is_known(module, name));
        let Some(word) = meant else { return false };
        let message = format!("no metric or param is called `{}`", name.value);
        let d = Diagnostic::new(Code::UnknownMetric, name.span, message);
        let d = d.suggest(word);
        self.sink.push(match word {
            "given" => d.help("write `given --FLAG`: whether a flag is given").edit(name.span, word),
            _ => d.help("write `not --FLAG`, or `not given --FLAG` for a flag that is not set"),
        });
        true
    }

    /// `--a --b`: of two flags nobody said how they compare.
    fn lacks_comparison(&mut self, flag: Span) -> bool {
        let name = self.modules.slice(flag);
        let d = Diagnostic::new(Code::Unexpected, flag, format!("`{name}` was not expected here"));
        let help =
            format!("how the two compare is not said: write `<`, `==` or another sign before `{name}`");
        self.sink.push(d.label("expected a comparison").help(help));
        true
    }

    /// `when --a --a == 1`
    fn flag_twice(&mut self, first: Span, second: Span) {
        let message = format!("`{}` stands here twice", self.modules.slice(second));
        let d = Diagnostic::new(Code::Unexpected, second, message).label("the second one");
        self.sink.push(d.help("remove it").edit(Span { start: first.end, ..second }, ""));
    }

    /// `when when --a`: the word before it is no name, but stands there twice.
    fn stands_twice(&mut self, name: &Name) -> bool {
        let text = self.modules.text_of(name.span.file);
        let before = name.span.before_in(text).trim_end();
        if !matches!(name.value.as_str(), "when" | "require" | "on") || !before.ends_with(&name.value) {
            return false;
        }
        let gone = Span { start: before.len() as u32, ..name.span };
        let message = format!("`{}` stands here twice", name.value);
        let d = Diagnostic::new(Code::Unexpected, name.span, message).label("the second one");
        self.sink.push(d.help("remove it").edit(gone, ""));
        true
    }

    /// `when not --n divides by --m`
    fn divides_by(&mut self, name: &Name, flag: Span) -> bool {
        let text = self.modules.text_of(name.span.file);
        if name.value != "by" || !name.span.before_in(text).trim_end().ends_with("divides") {
            return false;
        }
        let help = format!("`divides` says that already: write `divides {}`", self.modules.slice(flag));
        let d = Diagnostic::new(Code::Unexpected, name.span, "`by` was not expected here");
        let gone = Span { end: flag.start, ..name.span };
        self.sink.push(d.label("one word too many").help(help).edit(gone, ""));
        true
    }

    fn not_one_name(&mut self, module: usize, span: Span, written: &str, meant: &str) {
        let m = self.module(module);
        let own = m.names(Kind::Metric).into_iter().chain(m.names(Kind::Param)).map(str::to_owned);
        let known: Vec<String> = metrics::names().map(str::to_owned).chain(own).collect();
        let message = format!("no metric or param is called `{written}`");
        let d = Diagnostic::new(Code::UnknownMetric, span, message);
        let flag = format!("--{written}");
        self.sink.push(match metrics::elsewhere(meant) {
            _ if self.is_flag(&flag) => {
                d.suggest(&flag).help(format!("a flag is written with its dashes: `{flag}`")).edit(span, flag)
            }
            Some(near) => d.suggest(&near).help(format!("write `{near}`")).edit(span, near),
            None => d
                .meant(meant, known.iter().map(String::as_str), "not known", str::to_owned)
                .help("names are snake_case; with spaces around it, `a - b`, the sign takes away"),
        });
    }
}

/// The names of which a difference is made, if it is made of names alone.
fn names<'e>(e: &'e Expr, out: &mut Vec<&'e Name>) -> bool {
    match &e.kind {
        ExprKind::Call { owner: None, name, args: None } => {
            out.push(name);
            true
        }
        ExprKind::Binary { op: BinaryOp::Sub, left, right } => names(left, out) && names(right, out),
        _ => false,
    }
}

/// What an expression begins with.
fn first(e: &Expr) -> &Expr {
    match &e.kind {
        ExprKind::Binary { op: BinaryOp::Mul | BinaryOp::Div, left, .. } => first(left),
        _ => e,
    }
}

/// What an expression ends with.
fn last(e: &Expr) -> &Expr {
    match &e.kind {
        ExprKind::Binary { op: BinaryOp::Mul | BinaryOp::Div, right, .. } => last(right),
        _ => e,
    }
}
