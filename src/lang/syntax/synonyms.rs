//! Words that begin no line of a block, and what a reader would take them for: a setting that is called otherwise is not missing.

use super::blocks::Block;

type Row = (&'static [&'static str], &'static [&'static str]);

/// How parts of a word begin, and the settings that it may have been meant to be.
const STUDY: &[Row] = &[
    (&["model", "checkpoint", "weights", "repo", "hf", "llm", "name"], &["model"]),
    (&["base", "start", "begin", "from", "reference", "default", "engine", "server"], &["baseline"]),
    (&["gpu", "device", "accelerator", "hardware", "card"], &["gpus"]),
    (
        &["stage", "phase", "tune", "sweep", "experiment", "vary", "try", "explore", "grid", "search"],
        &["step"],
    ),
    (&["objective", "goal", "optimi", "metric", "target", "score", "maxim", "minim"], &["maximize"]),
    (&["run", "repetition", "iteration", "trial"], &["repeat"]),
];
const PROFILE: &[Row] = &[
    (&["data", "workload", "source", "kind", "type", "corpus", "distribution", "traffic"], &["data"]),
    (&["input", "prompt", "isl", "context"], &["input"]),
    (&["output", "generat", "osl", "completion", "decode", "new"], &["output"]),
    (
        &[
            "rate",
            "rps",
            "qps",
            "load",
            "traffic",
            "concurren",
            "user",
            "client",
            "parallel",
            "inflight",
            "batch",
        ],
        &["rate", "concurrency"],
    ),
];
const STEP: &[Row] =
    &[(&["sweep", "try", "explore", "grid", "tune", "axes", "axis", "search", "over"], &["vary"])];
const ENGINE: &[Row] =
    &[(&["command", "cmd", "run", "exec", "start", "launch"], &["serve"]), (&["health", "wait"], &["ready"])];

/// The settings of a block that a word may stand for.
pub(super) fn settings(block: Block, word: &str) -> impl Iterator<Item = &'static str> {
    let rows = match block {
        Block::Study => STUDY,
        Block::Profile => PROFILE,
        Block::Step => STEP,
        Block::Engine => ENGINE,
        _ => &[],
    };
    in_rows(rows, word)
}

/// The same for a line of a profile, which reads well whatever its word is.
pub fn of_profile(word: &str) -> impl Iterator<Item = &'static str> {
    in_rows(PROFILE, word)
}

fn in_rows(rows: &'static [Row], word: &str) -> impl Iterator<Item = &'static str> {
    let parts: Vec<String> = word.split('_').map(str::to_ascii_lowercase).collect();
    let begins = move |(begin, _): &&Row| parts.iter().any(|p| begin.iter().any(|b| p.starts_with(b)));
    rows.iter().filter(begins).flat_map(|(_, settings)| settings.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_tools_stand_for_settings() {
        let study = |w| settings(Block::Study, w).collect::<Vec<_>>();
        assert_eq!(study("model_id"), ["model"]);
        assert_eq!(study("num_gpus"), ["gpus"]);
        assert!(study("colour").is_empty());
        assert_eq!(of_profile("prompt_tokens").collect::<Vec<_>>(), ["input"]);
        assert_eq!(of_profile("generate").collect::<Vec<_>>(), ["output"]);
        assert_eq!(of_profile("max_users").collect::<Vec<_>>(), ["rate", "concurrency"]);
    }
}
