//! The variables by which llama.cpp takes its flags: written as flags, so that what is tried beside them is not what is set already.

use super::known::Engine;
use super::launch::Launch;
use super::shell::Word;

/// Variables that say what a flag says; the flag wins where both are given.
const FLAGS: [(&str, &str); 53] = [
    ("LLAMA_ARG_ALIAS", "--alias"),
    ("LLAMA_ARG_BATCH", "--batch-size"),
    ("LLAMA_ARG_CACHE_RAM", "--cache-ram"),
    ("LLAMA_ARG_CACHE_REUSE", "--cache-reuse"),
    ("LLAMA_ARG_CACHE_TYPE_K", "--cache-type-k"),
    ("LLAMA_ARG_CACHE_TYPE_V", "--cache-type-v"),
    ("LLAMA_ARG_CHAT_TEMPLATE", "--chat-template"),
    ("LLAMA_ARG_CTX_CHECKPOINTS", "--ctx-checkpoints"),
    ("LLAMA_ARG_CTX_SIZE", "--ctx-size"),
    ("LLAMA_ARG_DEVICE", "--device"),
    ("LLAMA_ARG_DRAFT_MAX", "--draft"),
    ("LLAMA_ARG_DRAFT_MIN", "--draft-min"),
    ("LLAMA_ARG_FIT", "--fit"),
    ("LLAMA_ARG_FIT_CTX", "--fit-ctx"),
    ("LLAMA_ARG_FLASH_ATTN", "--flash-attn"),
    ("LLAMA_ARG_HF_REPO", "-hf"),
    ("LLAMA_ARG_HOST", "--host"),
    ("LLAMA_ARG_LOAD_MODE", "--load-mode"),
    ("LLAMA_ARG_MAIN_GPU", "--main-gpu"),
    ("LLAMA_ARG_MODEL", "-m"),
    ("LLAMA_ARG_MODEL_URL", "-mu"),
    ("LLAMA_ARG_N_CPU_MOE", "--n-cpu-moe"),
    ("LLAMA_ARG_N_GPU_LAYERS", "--n-gpu-layers"),
    ("LLAMA_ARG_N_GPU_LAYERS_DRAFT", "--spec-draft-ngl"),
    ("LLAMA_ARG_N_PARALLEL", "--parallel"),
    ("LLAMA_ARG_N_PREDICT", "--predict"),
    ("LLAMA_ARG_NUMA", "--numa"),
    ("LLAMA_ARG_OVERRIDE_TENSOR", "--override-tensor"),
    ("LLAMA_ARG_PORT", "--port"),
    ("LLAMA_ARG_REASONING", "--reasoning"),
    ("LLAMA_ARG_ROPE_FREQ_BASE", "--rope-freq-base"),
    ("LLAMA_ARG_ROPE_FREQ_SCALE", "--rope-freq-scale"),
    ("LLAMA_ARG_ROPE_SCALE", "--rope-scale"),
    ("LLAMA_ARG_ROPE_SCALING_TYPE", "--rope-scaling"),
    ("LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K", "--spec-draft-type-k"),
    ("LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_V", "--spec-draft-type-v"),
    ("LLAMA_ARG_SPEC_DRAFT_MODEL", "--spec-draft-model"),
    ("LLAMA_ARG_SPEC_DRAFT_N_CPU_MOE", "--spec-draft-n-cpu-moe"),
    ("LLAMA_ARG_SPEC_DRAFT_N_MAX", "--spec-draft-n-max"),
    ("LLAMA_ARG_SPEC_DRAFT_N_MIN", "--spec-draft-n-min"),
    ("LLAMA_ARG_SPEC_DRAFT_P_MIN", "--spec-draft-p-min"),
    ("LLAMA_ARG_SPEC_DRAFT_P_SPLIT", "--spec-draft-p-split"),
    ("LLAMA_ARG_SPEC_TYPE", "--spec-type"),
    ("LLAMA_ARG_SPLIT_MODE", "--split-mode"),
    ("LLAMA_ARG_TENSOR_SPLIT", "--tensor-split"),
    ("LLAMA_ARG_THREADS", "--threads"),
    ("LLAMA_ARG_THREADS_HTTP", "--threads-http"),
    ("LLAMA_ARG_UBATCH", "--ubatch-size"),
    ("LLAMA_ARG_YARN_ATTN_FACTOR", "--yarn-attn-factor"),
    ("LLAMA_ARG_YARN_BETA_FAST", "--yarn-beta-fast"),
    ("LLAMA_ARG_YARN_BETA_SLOW", "--yarn-beta-slow"),
    ("LLAMA_ARG_YARN_EXT_FACTOR", "--yarn-ext-factor"),
    ("LLAMA_ARG_YARN_ORIG_CTX", "--yarn-orig-ctx"),
];

/// Makes flags of such variables, in front of those of the command; what is said of it, a line each.
pub fn variables_as_flags(launch: &mut Launch) -> Vec<String> {
    if launch.engine != Engine::LlamaCpp {
        return Vec::new();
    }
    let mut told = Vec::new();
    let mut flags = Vec::new();
    launch.env.retain(|(name, word)| {
        let Some((_, flag)) = FLAGS.iter().find(|(variable, _)| variable == name) else { return true };
        let value = if *flag == "--flash-attn" { switched(&word.text) } else { &word.text };
        if !matches!(*flag, "--host" | "--port") {
            told.push(format!("{name}: written as the flag that it stands for, {flag}"));
        }
        flags.push(Word::plain(*flag));
        flags.push(Word { text: value.to_owned(), missing: word.missing.clone() });
        false
    });
    told.extend(switches(&mut launch.arguments));
    launch.arguments.splice(0..0, flags);
    told
}

/// Writes `-fa 1` as the word that llama.cpp takes it for; what is said of it.
fn switches(arguments: &mut [Word]) -> Option<String> {
    let at = arguments.iter().rposition(|w| matches!(w.text.as_str(), "-fa" | "--flash-attn"))? + 1;
    let word = arguments.get_mut(at).filter(|w| w.missing.is_none())?;
    let means = switched(&word.text).to_owned();
    let written = std::mem::replace(&mut word.text, means);
    (written != word.text).then(|| format!("--flash-attn {written}: written as {}", word.text))
}

/// What llama.cpp takes a variable's word for.
fn switched(text: &str) -> &str {
    match text {
        "1" | "true" | "enabled" => "on",
        "0" | "false" | "disabled" => "off",
        other => other,
    }
}
