//! What a step settles on: the best valid candidate from the threshold on, ties to the simpler command, or the one picked by hand.

use super::scale;
use super::setup::Setup;
use super::walk::{Role, StepView};
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
    let offers = offers(view);
    let best = best_of(&offers);
    view.best = best.map(|b| b.0);
    view.gain = best.map(|b| b.1);
    if let Some(pick) = &step.pick {
        return by_hand(view, step, pick, incumbent);
    }
    let Some(best) = best else { return };
    let offered = simplest(setup, view, &offers, best, baseline);
    view.chosen = Some(offered);
    let gain = view.rows[offered].gain.unwrap_or(f64::NEG_INFINITY);
    if reaches(gain, study.adopt) {
        adopt(view, offered, incumbent);
    }
}

fn offers(view: &StepView) -> Vec<Offer> {
    let rows = view.rows.iter().enumerate();
    let valid = rows.filter(|(_, r)| r.role == Role::Candidate && r.judged.is_valid());
    valid.filter_map(|(i, r)| Some((i, r.gain?))).collect()
}

/// The first of equals: earlier candidates win ties of value.
fn best_of(offers: &[Offer]) -> Option<Offer> {
    offers.iter().copied().fold(None, |best: Option<Offer>, o| match best {
        Some(b) if b.1 >= o.1 => Some(b),
        _ => Some(o),
    })
}

fn by_hand(view: &mut StepView, step: &Step, pick: &Pick, incumbent: &Config) {
    view.by_hand = true;
    view.reason = Some(pick.because.clone());
    let first = view.rows.iter().position(|r| r.role == Role::Candidate).unwrap_or(0);
    match candidate::picked(&pick.choice, step).map(|i| first + i) {
        Some(row) if view.rows.get(row).is_some_and(|r| r.judged.is_valid()) => adopt(view, row, incumbent),
        Some(_) => view.reason = Some(not_valid(&pick.because)),
        None => adopt_base(view, &pick.because, incumbent),
    }
}

fn not_valid(because: &str) -> String {
    format!("{because}; but it is not valid, so the incumbent stays")
}

/// Among the best and those that gain enough and are within the threshold of it: the fewest changes, then the better, then the
/// earlier.
fn simplest(
    setup: &Setup<'_>,
    view: &StepView,
    offers: &[Offer],
    (best, best_gain): Offer,
    baseline: &Config,
) -> usize {
    let study = setup.study;
    let objective = |i: usize| view.rows[i].judged.objective.unwrap_or(f64::NAN);
    let maximize = study.objective.as_ref().is_none_or(|o| o.maximize);
    let changes = |i: usize| {
        view.rows[i].config.as_ref().map_or(usize::MAX, |c| c.changes(&study.model, &baseline.engine))
    };
    let ties = offers.iter().filter(|(i, g)| {
        *i == best
            || (reaches(*g, study.adopt)
                && reaches(study.adopt, scale::gain(maximize, objective(best), objective(*i))))
    });
    let order =
        |a: &Offer, b: &Offer| changes(a.0).cmp(&changes(b.0)).then(b.1.total_cmp(&a.1)).then(a.0.cmp(&b.0));
    if !reaches(best_gain, study.adopt) {
        return best;
    }
    ties.copied().min_by(order).map_or(best, |t| t.0)
}

/// A base that is the incumbent has no row of its own, and nothing changes.
fn adopt_base(view: &mut StepView, because: &str, incumbent: &Config) {
    match view.rows.iter().position(|r| r.role == Role::Base) {
        Some(row) if view.rows[row].judged.is_valid() => adopt(view, row, incumbent),
        Some(_) => view.reason = Some(not_valid(because)),
        None => {}
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
