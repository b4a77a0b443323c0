//! What came in the place of flags that an engine no longer has: serve commands outlive the releases that they were written for.

use super::schema::{Found, Schema, key};

/// An engine of the standard library, a flag that it had, and what says the like today.
const ROWS: &[(&str, &str, &str)] = &[
    ("vllm", "--cuda-graph-sizes", "--cudagraph-capture-sizes"),
    ("vllm", "--guided-decoding-backend", "--structured-outputs-config.backend"),
    ("vllm", "--guided-decoding-disable-fallback", "--structured-outputs-config.disable_fallback"),
    (
        "vllm",
        "--guided-decoding-disable-any-whitespace",
        "--structured-outputs-config.disable_any_whitespace",
    ),
    (
        "vllm",
        "--guided-decoding-disable-additional-properties",
        "--structured-outputs-config.disable_additional_properties",
    ),
    ("vllm", "--rope-scaling", "--hf-overrides.rope_scaling"),
    ("vllm", "--rope-theta", "--hf-overrides.rope_theta"),
    ("vllm", "--task", "--runner"),
    ("vllm", "--override-pooler-config", "--pooler-config"),
    ("vllm", "--eplb-window-size", "--eplb-config.window_size"),
    ("vllm", "--eplb-step-interval", "--eplb-config.step_interval"),
    ("vllm", "--num-redundant-experts", "--eplb-config.num_redundant_experts"),
    ("vllm", "--eplb-log-balancedness", "--eplb-config.log_balancedness"),
    ("vllm", "--enable-multimodal-encoder-data-parallel", "--mm-encoder-tp-mode=data"),
    ("vllm", "--disable-mm-preprocessor-cache", "--mm-processor-cache-gb=0"),
];

/// What a release has in the place of a flag that is gone; with its value where only one says the same.
pub fn successor(name: &str, root: &str, schema: &Schema, version: Option<&str>) -> Option<&'static str> {
    let wanted = key(name);
    let (_, _, here) = ROWS.iter().find(|(engine, gone, _)| *engine == root && key(gone) == wanted)?;
    let flag = here.split(['.', '=']).next().unwrap_or(here);
    matches!(schema.find(flag, version), Found::Known(..)).then_some(*here)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::analyze;
    use crate::lang::source::NoFiles;

    #[test]
    fn what_is_gone_was_there_and_what_came_instead_is() {
        let found = analyze(&NoFiles, "t.plab", "use std/engines { vllm }");
        let schema = &found.program.engines["vllm"].schema;
        let versions: Vec<&str> = schema.versions().iter().map(String::as_str).collect();
        for (engine, gone, here) in ROWS {
            let known = |v: &&str| matches!(schema.find(gone, Some(v)), Found::Known(..));
            assert!(versions.iter().any(known), "{engine} never had {gone}");
            assert!(!versions.last().is_some_and(known), "{engine} has {gone}");
            assert!(
                successor(gone, engine, schema, versions.last().copied()).is_some(),
                "{engine} lacks {here}"
            );
        }
    }
}
