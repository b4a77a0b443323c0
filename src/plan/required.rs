//! Requirements that the baseline cannot meet, whatever it measures: it is measured first, and the study would end with it.

use super::config::Config;
use super::eval::{Before, condition};
use crate::lang::codes::Code;
use crate::lang::sema::bounds::simplified;
use crate::lang::sema::program::Study;
use crate::lang::{Diagnostic, Program};

/// Those of a study.
pub fn unmet(program: &Program, study: &Study) -> Vec<Diagnostic> {
    let Some(engine) = program.engines.get(&study.baseline) else { return Vec::new() };
    let baseline = Config::declared(engine, study);
    let never = |e| condition(&simplified(e), &Before(&baseline)) == Some(false);
    let wrong = study.require.iter().filter(|r| never(&r.expr));
    wrong
        .map(|r| {
            let message = format!("the baseline `{}` does not meet this requirement", study.baseline);
            Diagnostic::new(Code::Impossible, r.span, message).label("false for it as declared").help(
                "the study would end at its first launch and recommend nothing: mend the requirement, or keep candidates out by \
                 `prune`",
            )
        })
        .collect()
}
