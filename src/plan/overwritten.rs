//! What is published over what a study finds: a flag that a step varies would be recommended with another value than was measured, and
//! one that takes GPUs would ask for others than there were.

use std::sync::Arc;

use crate::lang::Diagnostic;
use crate::lang::codes::Code;
use crate::lang::sema::program::{Change, Engine, Study};
use crate::lang::sema::schema::Found;
use crate::lang::sema::settings::target;
use crate::lang::source::Span;

/// What is said of a study whose engines publish over its own findings.
pub(super) fn overwritten(study: &Study, engines: &[Arc<Engine>]) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for engine in engines {
        let under = Some((&*engine.schema, engine.version.as_deref()));
        let sets = |c: &&Change| matches!(c, Change::Flag { .. } | Change::Raw { .. } | Change::Env(_));
        for change in engine.publish.iter().map(|p| &p.change).filter(sets) {
            let what = target(change, under);
            // what a point takes away, `publish` may give back
            let of = |c: &Change| sets(&c) && target(c, under) == what;
            let varies = study.steps.iter().find(|s| s.space.any(&|p| p.changes.iter().any(of)));
            let name = shown(change);
            let d = |message: String| {
                let d = Diagnostic::new(Code::EngineSetting, place(change, engine, study), message);
                d.label("over what was measured")
            };
            if let Some(step) = varies {
                let message = format!("`publish` sets {name}, which the step `{}` varies", step.name);
                out.push(d(message).help(
                    "what is recommended has the value that won: take this line out, or set it in the engine and vary something else",
                ));
            } else if takes_gpus(change, engine) {
                out.push(
                    d(format!("`publish` sets {name}, which decides how many GPUs are used"))
                        .help("nothing was measured on as many: set it in the engine, or vary it in a step"),
                );
            }
        }
    }
    out
}

fn shown(change: &Change) -> String {
    match change {
        Change::Flag { name, .. } | Change::Raw { name, .. } => name.clone(),
        Change::Env(variable) => variable.name.clone(),
        _ => String::new(),
    }
}

fn takes_gpus(change: &Change, engine: &Engine) -> bool {
    let Change::Flag { name, .. } = change else { return false };
    let found = engine.schema.find(name, engine.version.as_deref());
    matches!(found, Found::Known(spec, _) if spec.uses_gpus.is_some())
}

/// Where the change stands, in the study's own file.
fn place(change: &Change, engine: &Engine, study: &Study) -> Span {
    let written = match change {
        Change::Flag { span, .. } | Change::Raw { span, .. } => *span,
        _ => engine.span,
    };
    let here = |s: &Span| s.file == study.span.file;
    Some(written).filter(here).or(Some(engine.span)).filter(here).unwrap_or(study.span)
}
