//! Which candidates of a step are one configuration whatever the steps before it adopt. Two that are equal over the base as it is now need
//! not be: what takes back a flag changes nothing until a step has set it.

use std::collections::HashMap;
use std::rc::Rc;

use super::states::Base;
use crate::judge::track::open_before;
use crate::judge::walk::{Role, StepView};
use crate::judge::{Setup, Walk};
use crate::lang::sema::program::Step;
use crate::plan::candidate::candidate;
use crate::plan::{Config, Id, Prepared};

/// Configurations that are made to tell candidates of one study apart. What would need more counts as different: a plan says how much there
/// is at most.
const MOST_MADE: usize = 20_000;

/// A candidate: a row of a step of the walk.
type Place = (usize, usize);

/// Candidates that are told apart.
pub(super) struct Twins<'a> {
    setup: &'a Setup<'a>,
    walk: &'a Walk,
    prepared: Prepared<'a>,
    /// those that are equal over the base as it is now, and not over each that there may be
    apart: HashMap<(Base, Id), Vec<Place>>,
    /// what each step may stand on, with the steps before it as they are looked at
    /// and nothing where they are too many
    over: HashMap<usize, Option<Rc<[Config]>>>,
    left: usize,
}

impl<'a> Twins<'a> {
    pub fn new(setup: &'a Setup<'a>, walk: &'a Walk) -> Self {
        Self {
            setup,
            walk,
            prepared: Prepared::new(setup.program, setup.study),
            apart: HashMap::new(),
            over: HashMap::new(),
            left: MOST_MADE,
        }
    }

    /// The earlier candidate that this one is whatever its base will be, among those that are equal to it over the base as it is now.
    /// Under which label that stands.
    pub fn of(&mut self, on: &Base, key: Id, place: Place) -> Option<&'a str> {
        let like = (on.clone(), key);
        let mut known = self.apart.remove(&like).unwrap_or_default();
        let twin = known.iter().copied().find(|other| self.are_one(*other, place));
        if twin.is_none() {
            known.push(place);
        }
        self.apart.insert(like, known);
        twin.map(|(at, row)| &*self.walk.steps[at].rows[row].label)
    }

    fn are_one(&mut self, one: Place, other: Place) -> bool {
        let (Some(a), Some(b)) = (self.declared(one), self.declared(other)) else { return true };
        let Some(bases) = self.bases(other.0) else { return false };
        for base in bases.iter() {
            let Some(left) = self.left.checked_sub(2) else { return false };
            self.left = left;
            let of = |(step, index): (&'a Step, Option<usize>), prepared: &mut Prepared<'a>| match index {
                Some(index) => candidate(step, index, base, prepared).config.ok().map(|config| config.key()),
                None => Some(base.key()),
            };
            if of(a, &mut self.prepared) != of(b, &mut self.prepared) {
                return false;
            }
        }
        true
    }

    /// The step of a row, and its index in the step's space, none for the step's base itself; nothing of what is neither.
    fn declared(&self, (at, row): Place) -> Option<(&'a Step, Option<usize>)> {
        let view: &'a StepView = &self.walk.steps[at];
        let step = &self.setup.study.steps[view.step];
        if view.rows[row].role == Role::Base {
            return Some((step, None));
        }
        let first = view.rows.iter().position(|r| r.role == Role::Candidate)?;
        let index = row.checked_sub(first)?;
        (step.contest.is_empty() && index < step.space.len()).then_some((step, Some(index)))
    }

    /// What a step would stand on if one of those before it adopted one of its candidates. A flag that tells two candidates apart is set by
    /// one step: more at once need not be looked at.
    fn bases(&mut self, at: usize) -> Option<Rc<[Config]>> {
        if let Some(known) = self.over.get(&at) {
            return known.clone();
        }
        let view = &self.walk.steps[at];
        let open = open_before(self.setup.study, &self.walk.steps, view.step);
        let many = open.iter().fold(0_usize, |n, step| n.saturating_add(step.space.len()));
        let left = self.left.checked_sub(many);
        self.left = left.unwrap_or(self.left);
        let made = left.map(|_| {
            let all = open.iter().flat_map(|step| (0..step.space.len()).map(move |index| (*step, index)));
            all.filter_map(|(s, i)| candidate(s, i, &view.base, &mut self.prepared).config.ok()).collect()
        });
        self.over.insert(at, made.clone());
        made
    }
}
