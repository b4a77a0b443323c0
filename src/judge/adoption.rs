//! What a step settles on: the best valid candidate from the threshold on, ties to the simpler command, or the one picked by hand.

use std::cmp::Ordering;

use super::scale;
use super::setup::Setup;
use super::trial::Outcome;
use super::walk::{Role, Row, StepView};
use crate::lang::sema::program::{Pick, Step};
use crate::plan::{Config, candidate};

/// A row that may be adopted: its index, and its gain over the incumbent.
type Offer = (usize, f64);

/// Decides a step whose candidates have all run.
pub fn decide(setup: &Setup<'_>, view: &mut StepView, step: &Step, incumbent: &Config, baseline: &Config) {
    let study = setup.study;
    if study.objective.is_none() {
        return;
    }
    if view.rows.first().is_some_and(|r| !r.judged.is_valid()) && step.pick.is_none() {
        return without_incumbent(setup, view, incumbent, baseline);
    }
    let offers = offers(view);
    let best = best_of(setup, view, &offers);
    view.best = best.map(|b| b.0);
    view.gain = best.map(|b| b.1);
    if let Some(pick) = &step.pick {
        return by_hand(view, step, pick, incumbent);
    }
    let Some(best) = best else { return };
    view.chosen = Some(best.0);
    if reaches(best.1, study.adopt) {
        let ties = tied(setup, view, &offers, best.0, study.adopt);
        adopt(view, simplest(setup, view, &ties, baseline).unwrap_or(best.0), incumbent);
    }
}

/// A track may start from an engine that does not run as declared. Then the best valid candidate is taken, and gains nothing
/// over what has no result.
fn without_incumbent(setup: &Setup<'_>, view: &mut StepView, incumbent: &Config, baseline: &Config) {
    let Some(o) = setup.study.objective.as_ref() else { return };
    let valid = |r: &Row| r.role == Role::Candidate && r.judged.is_valid();
    let values = view.rows.iter().enumerate().filter(|(_, r)| valid(r));
    let values: Vec<Offer> = values.filter_map(|(i, r)| Some((i, r.judged.objective?))).collect();
    // over the weakest of them every one gains, and the best the most
    let Some(weakest) = values.iter().map(|v| v.1).reduce(if o.maximize { f64::min } else { f64::max })
    else {
        return;
    };
    let offers: Vec<Offer> =
        values.into_iter().map(|(i, v)| (i, scale::gain(o.maximize, v, weakest))).collect();
    let Some(best) = best_of(setup, view, &offers) else { return };
    view.best = Some(best.0);
    let tied = tied(setup, view, &offers, best.0, 0.0);
    adopt(view, simplest(setup, view, &tied, baseline).unwrap_or(best.0), incumbent);
    let incumbent = &view.rows[0];
    let became = match incumbent.judged.outcome {
        Outcome::Missing => "was not measured",
        Outcome::Failed => "failed",
        _ => "was refused",
    };
    view.reason = Some(format!("{} {became}, so the best valid candidate is taken", incumbent.label));
}

fn offers(view: &StepView) -> Vec<Offer> {
    let rows = view.rows.iter().enumerate();
    let valid = rows.filter(|(_, r)| r.role == Role::Candidate && r.judged.is_valid());
    valid.filter_map(|(i, r)| Some((i, r.gain?))).collect()
}

/// The first of equals: earlier candidates win ties of value.
fn best_of(setup: &Setup<'_>, view: &StepView, offers: &[Offer]) -> Option<Offer> {
    offers.iter().copied().fold(None, |best: Option<Offer>, o| match best {
        Some(b) if by_value(setup, view, &b, &o).is_ge() => Some(b),
        _ => Some(o),
    })
}

/// The worse before the better: by gain, and where that is infinite by the objective, as all gain so over one of 0.
fn by_value(setup: &Setup<'_>, view: &StepView, a: &Offer, b: &Offer) -> Ordering {
    let maximize = setup.study.objective.as_ref().is_none_or(|o| o.maximize);
    let size =
        |o: &Offer| view.rows[o.0].judged.objective.map_or(f64::NAN, |v| if maximize { v } else { -v });
    let endless = a.1.is_infinite() && b.1.is_infinite();
    a.1.total_cmp(&b.1).then_with(|| if endless { size(a).total_cmp(&size(b)) } else { Ordering::Equal })
}

fn by_hand(view: &mut StepView, step: &Step, pick: &Pick, incumbent: &Config) {
    view.by_hand = true;
    view.reason = Some(pick.because.clone());
    let first = view.rows.iter().position(|r| r.role == Role::Candidate).unwrap_or(0);
    match candidate::picked(&pick.choice, step).map(|i| first + i) {
        Some(row) if view.rows.get(row).is_some_and(|r| r.judged.is_valid()) => adopt(view, row, incumbent),
        Some(row) => view.reason = Some(not_valid(view.rows.get(row), &pick.because)),
        None => adopt_base(view, &pick.because, incumbent),
    }
}

fn not_valid(row: Option<&Row>, because: &str) -> String {
    let label = row.map_or("what was picked", |row| &*row.label);
    let became = match row.map(|row| row.judged.outcome) {
        Some(Outcome::Missing) | None => "has no result",
        Some(Outcome::Failed) => "failed",
        Some(Outcome::Pruned) => "was pruned",
        Some(_) => "was refused",
    };
    format!("{label}, picked because {because}, {became}")
}

/// The best, and those that gain enough and are within the threshold of it.
fn tied(setup: &Setup<'_>, view: &StepView, offers: &[Offer], best: usize, enough: f64) -> Vec<Offer> {
    let study = setup.study;
    let objective = |i: usize| view.rows[i].judged.objective.unwrap_or(f64::NAN);
    let maximize = study.objective.as_ref().is_none_or(|o| o.maximize);
    let near = |i: usize| reaches(study.adopt, scale::gain(maximize, objective(best), objective(i)));
    offers.iter().copied().filter(|(i, g)| *i == best || (reaches(*g, enough) && near(*i))).collect()
}

/// Of those that tie: the fewest changes, then the better, then the earlier.
fn simplest(setup: &Setup<'_>, view: &StepView, ties: &[Offer], baseline: &Config) -> Option<usize> {
    let changes = |i: usize| {
        let config = view.rows[i].config.as_ref();
        config.map_or(usize::MAX, |c| c.changes(&setup.study.model, &baseline.engine))
    };
    let order = |a: &Offer, b: &Offer| {
        changes(a.0).cmp(&changes(b.0)).then(by_value(setup, view, b, a)).then(a.0.cmp(&b.0))
    };
    ties.iter().copied().min_by(order).map(|t| t.0)
}

/// A base that is the incumbent has no row of its own, and nothing changes.
fn adopt_base(view: &mut StepView, because: &str, incumbent: &Config) {
    match view.rows.iter().position(|r| r.role == Role::Base) {
        Some(row) if view.rows[row].judged.is_valid() => adopt(view, row, incumbent),
        Some(row) => view.reason = Some(not_valid(view.rows.get(row), because)),
        None => view.chosen = view.rows.iter().position(|r| r.role == Role::Incumbent),
    }
}

fn adopt(view: &mut StepView, row: usize, incumbent: &Config) {
    view.chosen = Some(row);
    if let Some(config) = &view.rows[row].config {
        view.adopted = config.id() != incumbent.id();
        view.incumbent_after = config.clone();
    }
}

/// At least as much, up to what rounding does to a ratio: 113 / 100 − 1 reaches 13 %.
fn reaches(value: f64, threshold: f64) -> bool {
    const ROUNDING: f64 = 1e-12;
    value >= threshold - ROUNDING
}
