//! Studies with their tracks and steps.

use pest::iterators::Pair;

use super::{Builder, kids, skip};
use crate::lang::source::Spanned;
use crate::lang::syntax::ast::{
    Budget, BudgetUnit, Search, Step, StepLine, StepLineKind, Study, StudyLine, StudyLineKind, Text, Track,
};
use crate::lang::syntax::blocks::Block;
use crate::lang::syntax::grammar::Rule;

/// What stands in a track.
enum TrackLine {
    Step(Box<Step>),
    Budget(Budget),
    Note(Text),
}

impl<'a> Builder<'a, '_> {
    pub(super) fn study(&mut self, pair: Pair<'a, Rule>) -> Option<Study> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_study);
        let name = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        let (lines, unread) = self.lines(k, Block::Study, |b, line| {
            let span = b.span(&line);
            b.study_line(line).map(|kind| StudyLine { kind, span })
        });
        Some(Study { name, title, lines, unread, span })
    }

    pub(super) fn study_line(&mut self, pair: Pair<'a, Rule>) -> Option<StudyLineKind> {
        let rule = pair.as_rule();
        match rule {
            Rule::prune => return self.prune(pair).map(StudyLineKind::Prune),
            Rule::step => return self.step(pair).map(|s| StudyLineKind::Step(Box::new(s))),
            Rule::track => return self.track(pair).map(|t| StudyLineKind::Track(Box::new(t))),
            Rule::budget => return self.budget(pair).map(StudyLineKind::Budget),
            _ => {}
        }
        let mut k = kids(pair);
        let keyword = k.next()?.as_rule();
        Some(match rule {
            Rule::s_model => StudyLineKind::Model(self.maybe_text(&mut k)?),
            Rule::s_gpus => {
                let count = self.maybe_number(&mut k)?;
                skip(&mut k, Rule::k_of);
                StudyLineKind::Gpus { count, of: self.maybe_text(&mut k) }
            }
            Rule::s_baseline => StudyLineKind::Baseline(self.maybe_name(&mut k)?),
            Rule::objective => {
                let expr = self.whole_expr(k.next()?)?;
                skip(&mut k, Rule::k_on);
                StudyLineKind::Objective {
                    maximize: keyword == Rule::k_maximize,
                    expr,
                    on: self.names(k.next()?),
                }
            }
            Rule::require => {
                let expr = self.whole_expr(k.next()?)?;
                skip(&mut k, Rule::k_on);
                StudyLineKind::Require { expr, on: self.maybe_name(&mut k) }
            }
            Rule::adopt => {
                skip(&mut k, Rule::k_gain);
                StudyLineKind::Adopt(self.maybe_number(&mut k)?)
            }
            Rule::repeat => StudyLineKind::Repeat(self.maybe_number(&mut k)),
            Rule::on_profiles => {
                skip(&mut k, Rule::k_on);
                let names = self.names(k.next()?);
                if keyword == Rule::k_confirm {
                    StudyLineKind::Confirm(names)
                } else {
                    StudyLineKind::Curve(names)
                }
            }
            Rule::note => StudyLineKind::Note(self.maybe_text(&mut k)?),
            _ => return None,
        })
    }

    pub(super) fn budget(&self, pair: Pair<'a, Rule>) -> Option<Budget> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        k.next();
        let amount = self.maybe_number(&mut k)?;
        let unit = k.next().map(|p| match p.as_rule() {
            Rule::k_trials => BudgetUnit::Trials,
            _ => BudgetUnit::GpuHours,
        });
        Some(Budget { amount, unit, span })
    }

    pub(super) fn track(&mut self, pair: Pair<'a, Rule>) -> Option<Track> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        k.next();
        let engine = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        let mut track =
            Track { engine, title, steps: Vec::new(), budgets: Vec::new(), notes: Vec::new(), span };
        let (lines, _) = self.lines(k, Block::Track, |b, line| b.track_line(line));
        for line in lines {
            match line {
                TrackLine::Step(step) => track.steps.push(*step),
                TrackLine::Budget(budget) => track.budgets.push(budget),
                TrackLine::Note(note) => track.notes.push(note),
            }
        }
        Some(track)
    }

    fn track_line(&mut self, pair: Pair<'a, Rule>) -> Option<TrackLine> {
        match pair.as_rule() {
            Rule::step => self.step(pair).map(|s| TrackLine::Step(Box::new(s))),
            Rule::budget => self.budget(pair).map(TrackLine::Budget),
            _ => kids(pair).find(|p| p.as_rule() == Rule::string).map(|p| TrackLine::Note(self.text(&p))),
        }
    }

    pub(super) fn step(&mut self, pair: Pair<'a, Rule>) -> Option<Step> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        k.next();
        let name = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        let from = if skip(&mut k, Rule::k_from) { self.maybe_name(&mut k) } else { None };
        let when = if skip(&mut k, Rule::k_when) { self.whole_expr(k.next()?) } else { None };
        let (lines, unread) = self.lines(k, Block::Step, |b, line| {
            let span = b.span(&line);
            b.step_line(line).map(|kind| StepLine { kind, span })
        });
        Some(Step { name, title, from, when, lines, unread, span })
    }

    pub(super) fn step_line(&mut self, pair: Pair<'a, Rule>) -> Option<StepLineKind> {
        let rule = pair.as_rule();
        if rule == Rule::budget {
            return self.budget(pair).map(StepLineKind::Budget);
        }
        let mut k = kids(pair);
        k.next();
        Some(match rule {
            Rule::note => StepLineKind::Note(self.maybe_text(&mut k)?),
            Rule::vary => {
                let axes = self.axes(k.next()?)?;
                StepLineKind::Vary { axes, by: k.nth(1).map(|p| self.search(&p)) }
            }
            _ => StepLineKind::Pick { axes: self.axes(k.next()?)?, because: self.because(&mut k)? },
        })
    }

    pub(super) fn search(&self, pair: &Pair<'a, Rule>) -> Spanned<Search> {
        let value = match pair.as_rule() {
            Rule::k_staged => Search::Staged,
            Rule::k_guided => Search::Guided,
            _ => Search::Grid,
        };
        Spanned { value, span: self.span(pair) }
    }
}
