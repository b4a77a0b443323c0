//! What a guarded step is shown over while an earlier one is not decided: not over an incumbent that its guard excludes, but over what would
//! let it run.

use super::trial::Outcome;
use super::walk::{Role, Row, Walker};
use crate::lang::sema::program::{From, Guard, Step};
use crate::plan::Config;
use crate::plan::eval::{Before, condition};

impl Walker<'_> {
    /// The candidate of an earlier step that meets a step's guard, where the incumbent as it is now does not: the best that is known of
    /// the last such step.
    pub(super) fn meeting_guard(&self, step: &Step, guard: &Guard, incumbent: &Config) -> Option<Config> {
        let excluded = |config: &Config| condition(&guard.expr, &Before(config)) == Some(false);
        if step.from != From::Best || !excluded(incumbent) {
            return None;
        }
        let study = self.setup.study;
        let own = |at: usize| step.track.is_none() || study.steps[at].track == step.track;
        let meets = |row: &&Row| {
            let possible = !matches!(row.judged.outcome, Outcome::Pruned | Outcome::Failed);
            row.role == Role::Candidate && possible && row.config.as_ref().is_some_and(|c| !excluded(c))
        };
        let views = self.out.steps.iter().rev().filter(|v| own(v.step) && v.skipped.is_none());
        views.into_iter().find_map(|view| {
            let rows = view.rows.iter().filter(meets);
            let better = |best: &Row, row: &Row| row.gain.is_some_and(|g| best.gain.is_none_or(|b| g > b));
            rows.reduce(|best, row| if better(best, row) { row } else { best })?.config.clone()
        })
    }
}
