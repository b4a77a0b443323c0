//! Flags that say how a model lies on several GPUs, of a study whose configurations all take one: llama.cpp spreads over what it is given,
//! and one is what it gets unless a flag lists more.

use std::sync::Arc;

use indexmap::IndexMap;

use super::config::Config;
use super::reach::Asked;
use super::review::{place, settings};
use crate::lang::Diagnostic;
use crate::lang::codes::Code;
use crate::lang::sema::program::{Engine, Point, Study};
use crate::lang::sema::schema::{Setting, Value, key};
use crate::lang::source::Span;

/// Flags of llama.cpp that do nothing on one GPU.
const SPREADING: [&str; 2] = ["--split-mode", "--main-gpu"];

/// What is said of a study that has more GPUs than any of its configurations takes; `engines` are all that it names.
pub(super) fn lone(study: &Study, engines: &[Arc<Engine>]) -> Vec<Diagnostic> {
    let Some(gpus) = study.gpus.as_ref().filter(|g| g.count > 1) else { return Vec::new() };
    let alone: Vec<&Arc<Engine>> = engines.iter().filter(|e| takes_one(e, study)).collect();
    if alone.len() < engines.len() || !engines.iter().any(|e| e.root() == "llama_cpp") {
        return Vec::new();
    }
    let alone: Vec<&Arc<Engine>> = alone.into_iter().filter(|e| e.root() == "llama_cpp").collect();
    let told = |at: Span, set: &Setting| {
        let message = format!("{} does nothing on one GPU, and no configuration takes more", set.canonical);
        let d = Diagnostic::new(Code::OneGpu, at, message).label("changes nothing");
        let devices: Vec<String> = (0..gpus.count.min(8)).map(|n| format!("CUDA{n}")).collect();
        d.help(format!("list those that the engine is to use: `-dev=\"{}\"`", devices.join(",")))
    };
    let mut out = Vec::new();
    for step in &study.steps {
        // the points of one axis are told of together
        let mut axes: IndexMap<&str, Diagnostic> = IndexMap::new();
        for point in step.space.points() {
            let Some(set) = alone.iter().find_map(|e| spreads(point, e)) else { continue };
            let at = place(point, step);
            let d = match axes.swap_remove(point.axis.as_str()) {
                Some(d) if d.span == at => d,
                Some(d) => d.related(at, "nor does this"),
                None => told(at, &set),
            };
            axes.insert(&point.axis, d);
        }
        out.extend(axes.into_values());
    }
    let declared = alone.iter().filter_map(|e| Some((e, e.flags.iter().find(|s| is_spreading(s))?)));
    out.extend(declared.filter(|(e, _)| e.span.file == study.span.file).map(|(e, set)| told(e.span, set)));
    out
}

/// Whether an engine takes one GPU, as declared and with every point.
fn takes_one(engine: &Arc<Engine>, study: &Study) -> bool {
    let asked = Asked::of(&[], true, engine);
    let sized = |p: &Point| p.changes.iter().any(|c| asked.touches(c));
    Config::declared(engine, study).gpus() == 1 && !study.steps.iter().any(|s| s.space.any(&sized))
}

/// The flag of a point that spreads a model over GPUs.
fn spreads(point: &Point, engine: &Engine) -> Option<Setting> {
    settings(point, engine).find(is_spreading)
}

/// `--split-mode=none` says that it does not.
fn is_spreading(set: &Setting) -> bool {
    let none = matches!(&set.value, Value::Text(t) if t == "none");
    !none && SPREADING.contains(&key(&set.canonical).as_str())
}
