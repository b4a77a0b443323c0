//! Requirements that the baseline cannot meet, whatever it measures: it is measured first, and the study would end with it.

use super::config::Config;
use super::eval::{Before, condition};
use super::itself::of_itself;
use crate::lang::codes::Code;
use crate::lang::sema::bounds::simplified;
use crate::lang::sema::program::{Expr, Study};
use crate::lang::{Diagnostic, Program};

/// Whether one is not met whatever is measured, so that it excludes all that is like the baseline.
pub fn excludes(program: &Program, study: &Study) -> bool {
    let baseline = program.engines.get(&study.baseline).map(|e| Config::declared(e, study));
    let never =
        |b: &Config| study.require.iter().any(|r| condition(&simplified(&r.expr), &Before(b)) == Some(false));
    baseline.is_some_and(|b| never(&b))
}

/// Those of a study.
pub fn unmet(program: &Program, study: &Study) -> Vec<Diagnostic> {
    let Some(engine) = program.engines.get(&study.baseline) else { return Vec::new() };
    let baseline = Config::declared(engine, study);
    let never = |e: &Expr| condition(&simplified(e), &Before(&baseline)) == Some(false);
    let wrong = study.require.iter().filter_map(|r| match never(&r.expr) {
        true => Some((r, "false for it as declared", "mend the requirement")),
        false if of_itself(&r.expr) == Some(false) => Some((
            r,
            "false of it against itself",
            "what a candidate has to gain is a line `adopt gain >= 5%`",
        )),
        false => None,
    });
    wrong
        .map(|(r, label, mend)| {
            let message = format!("the baseline `{}` does not meet this requirement", study.baseline);
            let at = r.place_of(|e| never(e) || of_itself(e) == Some(false));
            Diagnostic::new(Code::Impossible, at, message).label(label).help(format!(
                "the study would end at its first launch and recommend nothing: {mend}, or keep candidates out by `prune`"
            ))
        })
        .collect()
}
