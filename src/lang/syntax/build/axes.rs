//! Changes to a configuration, axes and their algebra.

use pest::iterators::Pair;

use super::{Builder, Kids, kids, skip};
use crate::lang::syntax::ast::{Axes, Axis, AxisBody, Change, ChangeKind, Factor, Flag, Point, Value};
use crate::lang::syntax::grammar::Rule;

impl<'a> Builder<'a, '_> {
    pub(super) fn changes(&self, k: Kids<'a>) -> Vec<Change> {
        k.filter(|p| matches!(p.as_rule(), Rule::change | Rule::point_change))
            .filter_map(|p| self.change(p))
            .collect()
    }

    pub(super) fn change(&self, pair: Pair<'a, Rule>) -> Option<Change> {
        let inner = kids(pair).next()?;
        self.bare_change(inner)
    }

    pub(super) fn bare_change(&self, inner: Pair<'a, Rule>) -> Option<Change> {
        let span = self.span(&inner);
        let rule = inner.as_rule();
        let mut k = kids(inner);
        let kind = match rule {
            Rule::flag => ChangeKind::Flag(self.flag(k)?),
            Rule::raw | Rule::p_raw => {
                ChangeKind::Raw(self.flag(kids(k.find(|p| p.as_rule() == Rule::flag)?))?)
            }
            Rule::env | Rule::p_env => {
                let mut name = k.find(|p| matches!(p.as_rule(), Rule::env_name | Rule::variable))?;
                if name.as_rule() == Rule::variable {
                    k = kids(name);
                    name = k.next()?;
                }
                ChangeKind::Env { name: self.name(&name), value: self.value(k.next()?)? }
            }
            Rule::model | Rule::p_model => {
                k.next();
                ChangeKind::Model(self.maybe_text(&mut k)?)
            }
            Rule::unset | Rule::p_unset => {
                let target = k.last()?;
                let name = self.name(&target);
                if target.as_rule() == Rule::flag_name {
                    ChangeKind::UnsetFlag(name)
                } else {
                    ChangeKind::UnsetEnv(name)
                }
            }
            _ => return None,
        };
        Some(Change { kind, span })
    }

    pub(super) fn flag(&self, mut k: Kids<'a>) -> Option<Flag> {
        let name = self.name(&k.next()?);
        let value = match k.next() {
            Some(v) => Some(self.value(v)?),
            None => None,
        };
        Some(Flag { name, value })
    }

    pub(super) fn value(&self, pair: Pair<'a, Rule>) -> Option<Value> {
        let inner = kids(pair).next()?;
        let span = self.span(&inner);
        match inner.as_rule() {
            Rule::list => Some(Value::List(self.list(inner), span)),
            _ => self.single(inner).map(Value::Single),
        }
    }

    pub(super) fn axis(&mut self, pair: Pair<'a, Rule>) -> Option<Axis> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_axis);
        let name = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        let body = k.next()?;
        let body = match body.as_rule() {
            Rule::points => AxisBody::Points(kids(body).filter_map(|p| self.point(p)).collect()),
            Rule::bundle => AxisBody::Bundle(self.changes(kids(body))),
            _ => AxisBody::Algebra(self.axes(body)?),
        };
        Some(Axis { name, title, body, span })
    }

    pub(super) fn point(&self, pair: Pair<'a, Rule>) -> Option<Point> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        let name = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        Some(Point { name, title, changes: self.changes(k), span })
    }

    pub(super) fn axes(&self, pair: Pair<'a, Rule>) -> Option<Axes> {
        let span = self.span(&pair);
        let sum = kids(pair)
            .map(|product| kids(product).map(|f| self.factor(f)).collect::<Option<Vec<_>>>())
            .collect::<Option<Vec<_>>>()?;
        Some(Axes { sum, span })
    }

    pub(super) fn factor(&self, pair: Pair<'a, Rule>) -> Option<Factor> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        let first = k.next()?;
        if first.as_rule() == Rule::axes {
            return self.axes(first).map(Factor::Group);
        }
        let picks = k.next().map(|l| self.list(l));
        Some(Factor::Axis { name: self.name(&first), picks, span })
    }
}
