//! Starts that compiled: kernels and graphs that are made once for an engine's build are no part of what a configuration's start takes.

use std::fs;
use std::path::Path;

use super::surroundings::RECORD;
use crate::engine::caches;
use crate::lang::sema::program::{Expr, Study};

/// Whether anything in a study is about how long engines take to start.
pub fn reads_startup(study: &Study) -> bool {
    let rules = study.prune.iter().map(|p| &p.when).chain(study.require.iter().map(|r| &r.expr));
    let guards = study.steps.iter().filter_map(|s| s.when.as_ref()).map(|g| &g.expr);
    let mut reads = false;
    for expr in rules.chain(guards).chain(study.objective.iter().map(|o| &o.expr)) {
        expr.walk(&mut |e| reads |= matches!(e, Expr::Metric { name, .. } if name == "startup"));
    }
    reads
}

/// Whether the engine of a launch found its caches empty and filled them: the next start will be another one.
pub fn compiled(launch_dir: &Path) -> bool {
    let record = fs::read(launch_dir.join(RECORD)).unwrap_or_default();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap_or_default();
    let caches = &record["caches"];
    caches["cold"] == true && caches["dir"].as_str().is_some_and(|dir| caches::are_filled(Path::new(dir)))
}
