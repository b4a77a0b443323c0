//! What stands before the program of a command: wrappers that stay, those that perflab has its own way for, and places elsewhere.

use super::branches::shown;
use super::programs::{base_name, recognise};
use super::shell::{self, Word};
use super::{container, slurm};

/// Programs that start another one and change how it runs: they stay in front of the engine.
const KEPT: [&str; 15] = [
    "numactl",
    "taskset",
    "nice",
    "ionice",
    "chrt",
    "uv",
    "uvx",
    "poetry",
    "pixi",
    "pdm",
    "conda",
    "mamba",
    "mpirun",
    "mpiexec",
    "trtllm-llmapi-launch",
];
/// Programs and words of a shell that only start another one, in some way that perflab has its own for.
const DROPPED: [&str; 14] = [
    "nohup", "sudo", "exec", "time", "setsid", "stdbuf", "env", "timeout", "command", "srun", "salloc",
    "unbuffer", "then", "do",
];
/// Programs that start a command in another place, where perflab has to run itself.
const ELSEWHERE: [&str; 12] = [
    "ssh",
    "kubectl",
    "oc",
    "docker",
    "podman",
    "nerdctl",
    "apptainer",
    "singularity",
    "enroot",
    "tmux",
    "screen",
    "sbatch",
];
pub const SHELLS: [&str; 3] = ["bash", "sh", "zsh"];

/// Whether words start a command in another place; a container's run is read as what it is.
pub fn elsewhere(words: &[Word]) -> bool {
    let named = words.first().is_some_and(|w| ELSEWHERE.contains(&base_name(&w.text)));
    named && !container::is_runtime(words)
}

/// Splits off what stands before the program that matters; what `env` sets joins the environment.
pub fn unwrap<'w>(words: &'w [Word], env: &mut Vec<(String, Word)>) -> (&'w [Word], &'w [Word]) {
    let wraps = |w: &Word| KEPT.contains(&base_name(&w.text)) || DROPPED.contains(&base_name(&w.text));
    if !words.first().is_some_and(wraps) && !elsewhere(words) {
        return (&[], words);
    }
    let runs = |at: usize| {
        let program = base_name(&words[at].text);
        SHELLS.contains(&program) || container::is_runtime(&words[at..]) || recognise(&words[at..]).is_some()
    };
    let at = (1..words.len()).find(|at| runs(*at)).unwrap_or(0);
    let (prefix, rest) = words.split_at(at);
    // `env A=b` and `sudo A=b` set variables; `uv run --with vllm==0.17.1` does not
    if elsewhere(words) {
        env.extend(container::variables(prefix));
        return (prefix, rest);
    }
    let mut sets = false;
    for word in prefix {
        if wraps(word) {
            sets = matches!(base_name(&word.text), "env" | "sudo");
        } else if let Some((name, value)) = shell::assignment(&word.text).filter(|_| sets) {
            env.push((name.to_owned(), Word { text: value.to_owned(), missing: word.missing.clone() }));
        }
    }
    (prefix, rest)
}

/// The wrappers that stay, and what is said of those that do not.
pub fn wrappers(prefix: &[Word]) -> (Vec<Word>, Vec<String>) {
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    let mut keep = false;
    if elsewhere(prefix) {
        let told = format!("`{}`: start perflab itself there", shown(prefix));
        return (kept, vec![told]);
    }
    for (at, word) in prefix.iter().enumerate() {
        let name = base_name(&word.text);
        if KEPT.contains(&name) {
            keep = true;
        } else if DROPPED.contains(&name) {
            keep = false;
            if slurm::starts(word) {
                let whole = shown(&prefix[at..]);
                dropped.push(format!(
                    "`{whole}`: start perflab itself in the allocation, `{name} … perflab exec`"
                ));
            } else if matches!(name, "sudo" | "timeout") {
                dropped.push(format!("`{name}`: perflab starts and stops the server itself"));
            }
        }
        if keep {
            kept.push(word.clone());
        }
    }
    (kept, dropped)
}
