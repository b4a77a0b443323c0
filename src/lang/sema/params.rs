//! Params: what one may be called, and that its text stands as it is.

use super::check::Checker;
use super::exprs::Type;
use super::scope::Kind;
use super::template::{self, LAUNCH_NAMES};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, BinaryOp, ExprKind, Item, Literal, Param};
use crate::lang::syntax::number_alone;
use crate::lang::units::{self, Dim};

impl Checker<'_> {
    /// The number of a param. `9b` may be nine bytes, or what a text is to hold that inserts it.
    pub(super) fn param_number(&mut self, param: &Param) {
        let Literal::Number(n) = &param.value else { return };
        self.quantity(n);
        if units::unit(&n.unit).is_some() || self.sink.is_full() {
            return;
        }
        let inserted = self.modules.mentions(0, &format!("{{{}}}", param.name.value)) > 0;
        let written = self.modules.slice(n.span).to_owned();
        let unknown = |d: &&mut Diagnostic| d.code == Code::UnknownUnit && d.span == n.span;
        if let Some(d) = self.sink.each_mut().find(unknown).filter(|d| inserted && !d.edits.is_empty()) {
            let number = d.edits[0].text.clone();
            // `8KI` is the count that flags take
            let unit = number.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
            if units::unit(unit).is_none_or(|(_, dim)| dim == Dim::PLAIN) {
                return;
            }
            d.edits.clear();
            d.help = Some(format!(
                "write `\"{written}\"` for the text that is inserted, or `{number}` for the number"
            ));
        }
    }

    /// Whether an expression names a param whose declaration has a mistake.
    pub(super) fn is_torn_param(&self, module: usize, e: &ast::Expr) -> bool {
        let ExprKind::Call { owner: None, name, args: None } = &e.kind else { return false };
        let Some(at) = self.module(module).find(Kind::Param, &name.value) else { return false };
        let Item::Param(param) = self.modules.item(at) else { return false };
        self.sink.in_span(param.span).next().is_some()
    }

    /// Whether some part of a condition is decided by params of the study file alone, as `not eager` is: `--set` may decide it otherwise.
    pub(super) fn is_by_params(&self, e: &ast::Expr) -> bool {
        match &e.kind {
            ExprKind::Not(inner) => self.is_by_params(inner),
            ExprKind::Binary { op: BinaryOp::And | BinaryOp::Or, left, right } => {
                self.is_by_params(left) || self.is_by_params(right)
            }
            ExprKind::Binary { op, left, right } if op.is_comparison() => {
                let (left, right) = (self.of_params(left), self.of_params(right));
                left.zip(right).is_some_and(|(left, right)| left || right)
            }
            _ => self.of_params(e) == Some(true),
        }
    }

    /// Whether a param is in what reads nothing else that may change; `None` where something else is read.
    fn of_params(&self, e: &ast::Expr) -> Option<bool> {
        match &e.kind {
            ExprKind::Number(_) | ExprKind::Text(_) | ExprKind::Bool(_) => Some(false),
            ExprKind::Call { owner: None, name, args: None } => {
                self.module(0).find(Kind::Param, &name.value).map(|_| true)
            }
            ExprKind::Binary { left, right, .. } => {
                self.of_params(left).zip(self.of_params(right)).map(|(l, r)| l || r)
            }
            _ => None,
        }
    }

    /// A declaration by itself.
    pub fn param_declared(&mut self, param: &Param) {
        let name = &param.name;
        if LAUNCH_NAMES.contains(&name.value.as_str()) {
            let message = format!("`{}` is built in and cannot be declared again", name.value);
            let help =
                format!("in an engine, `{{{}}}` is what the launch inserts; choose another name", name.value);
            self.sink.push(Diagnostic::new(Code::BuiltIn, name.span, message).label("built in").help(help));
        }
        if let Literal::Text(text) = &param.value
            && let Some(piece) = template::first_inserted(&text.value)
        {
            let message = format!("`{piece}` in a param inserts nothing");
            let d = Diagnostic::new(Code::UnknownParam, text.span, message).label("inserts nothing");
            self.sink.push(d.help(
                "a param's text stands as it is: insert the params one after another where they are used",
            ));
        }
    }

    /// Says that a plain side lacks the unit of a param in it, at that param, and once however often it is used.
    pub(super) fn param_without_unit(
        &mut self,
        op: BinaryOp,
        plain: (&ast::Expr, Dim),
        other: (&ast::Expr, Dim),
    ) -> bool {
        let Some(name) = named_in(plain.0).filter(|_| plain.1 == Dim::PLAIN && other.1 != Dim::PLAIN) else {
            return false;
        };
        let modules = self.modules;
        let Some(param) = modules.home(plain.0.span).find(Kind::Param, name) else { return false };
        let Item::Param(Param { value: Literal::Number(n), .. }) = modules.item(param) else { return false };
        if !n.unit.is_empty() {
            return false;
        }
        if op.is_comparison() {
            self.param_misfits(param, op, plain.0, other);
        }
        // told of a comparison, where one tells which unit; else of what it meets first
        let told = |d: &Diagnostic| d.code == Code::MissingUnit && d.span == n.span;
        if op.is_comparison() {
            self.sink.forget(|d| told(d) && d.about == About::InSum);
        }
        if self.sink.found().any(told) {
            return true;
        }
        let (what, here) =
            if op.is_comparison() { ("is compared with", "compared here") } else { ("meets", "here") };
        let message = format!("the param `{name}` {what} {}, and has no unit", other.1);
        let d = Diagnostic::new(Code::MissingUnit, n.span, message);
        let mut d = super::values::without_unit(d, n, other.1, other.1.usual_unit());
        if !op.is_comparison() {
            d.edits.clear();
            d.about = About::InSum;
        }
        self.sink.push(d.related(plain.0.span.to(other.0.span), here));
        true
    }

    /// Values that texts insert a param into, and which are wrong for the param alike: it is one mistake, told at the first of them.
    pub(super) fn inserted_wrongly(&mut self) {
        let modules = self.modules;
        let inserts = |d: &&Diagnostic| d.code == Code::BadFlagValue && modules.slice(d.span).contains('{');
        let all: Vec<(Span, String)> =
            self.sink.found().filter(inserts).map(|d| (d.span, d.message.clone())).collect();
        for (n, (first, message)) in all.iter().enumerate() {
            // whichever the flag
            let why = |said: &str| said.split_once(": ").map_or(said, |(_, why)| why).to_owned();
            let same = |(at, said): &(Span, String)| {
                why(said) == why(message) && at != first && modules.slice(*at) == modules.slice(*first)
            };
            let others: Vec<Span> = all[n + 1..].iter().filter(|o| same(o)).map(|(at, _)| *at).collect();
            if others.is_empty() || all[..n].iter().any(same) {
                continue;
            }
            self.sink.forget(|d| d.code == Code::BadFlagValue && others.contains(&d.span));
            let told = self.sink.each_mut().find(|d| d.code == Code::BadFlagValue && d.span == *first);
            if let Some(d) = told {
                d.related.extend(others.into_iter().map(|at| (at, "and here".to_owned())));
            }
        }
    }

    /// Says that a param is a text where a number is wanted, at that param, and once however often it is used.
    pub(super) fn param_is_text(&mut self, side: &ast::Expr, wanted: Option<Dim>) -> bool {
        let Some(name) = named_in(side) else { return false };
        let at = self.modules.home(side.span).find(Kind::Param, name);
        let Some(Item::Param(Param { value: Literal::Text(text), .. })) = at.map(|at| self.modules.item(at))
        else {
            return false;
        };
        let message = format!("the param `{name}` is a text, and is computed with or compared as a number");
        let d = Diagnostic::new(Code::Dimension, text.span, message).label("a text");
        let bare: String = text.value.split_whitespace().collect();
        let number = number_alone(&bare, text.span).filter(|n| units::unit(&n.unit).is_some());
        let d = if number.is_some() {
            d.help(format!("a quantity stands without quotes: `param {name} = {bare}`")).edit(text.span, bare)
        } else {
            let unit = wanted.and_then(Dim::usual_unit).unwrap_or_default();
            d.help(format!("declare it as what it is compared with, such as `param {name} = 500{unit}`"))
        };
        self.sink.push(d.related(side.span, "used here"));
        true
    }

    /// How to declare a param that stands alone where a quantity of another kind is wanted, and where its value stands.
    pub(super) fn param_help(&self, e: &ast::Expr, wanted: Dim) -> Option<(String, Span)> {
        let ExprKind::Call { owner: None, name, args: None } = &e.kind else { return None };
        let Item::Param(param) = self.modules.item(self.modules.home(e.span).find(Kind::Param, &name.value)?)
        else {
            return None;
        };
        let value = param.value.span();
        wanted.usual_unit()?;
        let (written, declared) = (self.source_text(value), declared_as(param, wanted));
        let help =
            format!("the param `{}` is {written}: {declared}, or mend what it is compared with", name.value);
        Some((help, value))
    }

    /// Which param stands on one side of what cannot meet, and what it meets; each side with what is on the other one.
    pub(super) fn about_param(&self, sides: [(&ast::Expr, Type); 2]) -> About {
        let of = |(e, other): &(&ast::Expr, Type)| {
            let name = named_in(e)?;
            self.modules.home(e.span).find(Kind::Param, name)?;
            let Type::Number(meets) = other else { return None };
            Some(About::OfParam { name: name.to_owned(), meets: *meets })
        };
        sides.iter().find_map(of).unwrap_or_default()
    }

    /// A param that is wrong wherever it is used is one mistake, and told where it is declared.
    pub(super) fn params_of_a_wrong_kind(&mut self) {
        let wrong = self.sink.found().filter_map(|d| match &d.about {
            About::OfParam { name, meets } if d.code == Code::Dimension => {
                Some((name.clone(), *meets, d.span))
            }
            _ => None,
        });
        let wrong: Vec<(String, Dim, Span)> = wrong.collect();
        let items = &self.modules.root().file.items;
        for param in items.iter().filter_map(|i| if let Item::Param(p) = i { Some(p) } else { None }) {
            let name = &param.name.value;
            let uses: Vec<_> = wrong.iter().filter(|(of, ..)| of == name).collect();
            let [(_, meets, _), _, ..] = uses.as_slice() else { continue };
            let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
            let said = self.modules.root_text().lines().map(|l| l.split('#').next().unwrap_or_default());
            let said = said.flat_map(|l| l.split(word)).filter(|w| w == name).count();
            if said != uses.len() + 1 || uses.iter().any(|(_, other, _)| other != meets) {
                continue;
            }
            let places: Vec<Span> = uses.iter().map(|(_, _, at)| *at).collect();
            let help = format!("{}, or mend what it meets", declared_as(param, *meets));
            let value = param.value.span();
            let message = format!(
                "the param `{name}` is {}, and meets {meets} wherever it is used",
                self.source_text(value)
            );
            let d = Diagnostic::new(Code::Dimension, value, message).label("of another kind");
            let d = d.help(help);
            let d = places.iter().fold(d, |d, at| d.related(*at, "used here"));
            self.sink.forget(|d| d.code == Code::Dimension && places.contains(&d.span));
            self.sink.push(d);
        }
    }
}

/// What to declare a param as, so that it meets what is of another kind.
fn declared_as(param: &Param, wanted: Dim) -> String {
    let number = if let Literal::Number(n) = &param.value { n.value } else { 500.0 };
    let example = |unit| format!(", such as `param {} = {number}{unit}`", param.name.value);
    format!("declare it as {wanted}{}", wanted.usual_unit().map(example).unwrap_or_default())
}

/// The one param or metric that an expression names without a call.
fn named_in(e: &ast::Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::Call { owner: None, name, args: None } => Some(&name.value),
        ExprKind::Binary { left, right, .. } => match (named_in(left), named_in(right)) {
            (Some(_), Some(_)) => None,
            (one, other) => one.or(other),
        },
        _ => None,
    }
}
