//! Requirements about drafts, of a baseline that drafts nothing: what is not there meets no comparison, and the study would end at its
//! first launch. A doubt only, as an engine may draft by what a schema does not tell.

use super::config::Config;
use super::eval::{Facts, Known, condition};
use crate::lang::codes::Code;
use crate::lang::sema::Stat;
use crate::lang::sema::program::{Engine, Expr, Owner, Study};
use crate::lang::{Diagnostic, Program};

/// Metrics that only a drafting engine has.
const OF_DRAFTS: [&str; 2] = ["accept_length", "draft_acceptance"];

/// The requirements of a study that its baseline cannot meet for lack of drafts.
pub(super) fn undrafted(program: &Program, study: &Study) -> Vec<Diagnostic> {
    let mut asking = study.require.iter().filter(|r| reads_drafts(&r.expr)).peekable();
    let engine = program.engines.get(&study.baseline).filter(|_| asking.peek().is_some());
    let Some(engine) = engine.filter(|e| drafts_nothing(e)) else { return Vec::new() };
    let baseline = Config::declared(engine, study);
    asking
        .filter(|r| condition(&r.expr, &Undrafted(&baseline)) == Some(false))
        .map(|r| {
            let message = format!("the baseline `{}` drafts nothing, and this reads how its drafts fare", study.baseline);
            Diagnostic::new(Code::Undrafted, r.span, message).label("not there, so not met").help(
                "the study would end at its first launch: let the baseline draft, or write it as `prune NAME \"reason\" when …`, \
                 which leaves alone what has no drafts",
            )
        })
        .collect()
}

fn reads_drafts(condition: &Expr) -> bool {
    let mut found = false;
    condition.walk(&mut |e| found |= matches!(e, Expr::Metric { name, .. } if of_drafts(name)));
    found
}

fn of_drafts(metric: &str) -> bool {
    OF_DRAFTS.contains(&metric)
}

/// Whether an engine could draft by a flag of its schema, and sets none such, nor a file that may hold one.
fn drafts_nothing(engine: &Engine) -> bool {
    engine.schema.specs().iter().any(|s| s.names.iter().any(|n| about_drafts(n)))
        && !engine.flags.iter().any(|s| may_draft(&s.canonical))
}

/// Whether a flag is about drafts by its name, or takes a file that may be.
pub(super) fn may_draft(flag: &str) -> bool {
    about_drafts(flag) || flag.contains("config") || flag.contains("options")
}

fn about_drafts(flag: &str) -> bool {
    ["spec-", "speculative", "draft"].iter().any(|w| flag.contains(w))
}

/// What is known of a baseline without drafts before anything runs.
struct Undrafted<'a>(&'a Config);

impl Facts for Undrafted<'_> {
    fn config(&self) -> &Config {
        self.0
    }

    fn metric(&self, of: Owner, name: &str, _: Option<Stat>) -> Known<f64> {
        if of != Owner::Best && of_drafts(name) { Known::Absent } else { Known::Later }
    }

    fn gain(&self) -> Known<f64> {
        Known::Later
    }
}
