//! The variables by which llama.cpp takes its flags: written as flags, so that what is tried beside them is not what is set already.

use super::known::Engine;
use super::launch::Launch;
use super::shell::Word;

/// Variables that say what a flag says; the flag wins where both are given.
const FLAGS: [(&str, &str); 16] = [
    ("LLAMA_ARG_MODEL", "-m"),
    ("LLAMA_ARG_MODEL_URL", "-mu"),
    ("LLAMA_ARG_HF_REPO", "-hf"),
    ("LLAMA_ARG_HOST", "--host"),
    ("LLAMA_ARG_PORT", "--port"),
    ("LLAMA_ARG_ALIAS", "--alias"),
    ("LLAMA_ARG_FLASH_ATTN", "--flash-attn"),
    ("LLAMA_ARG_CTX_SIZE", "--ctx-size"),
    ("LLAMA_ARG_N_PARALLEL", "--parallel"),
    ("LLAMA_ARG_BATCH", "--batch-size"),
    ("LLAMA_ARG_UBATCH", "--ubatch-size"),
    ("LLAMA_ARG_N_GPU_LAYERS", "--n-gpu-layers"),
    ("LLAMA_ARG_CACHE_TYPE_K", "--cache-type-k"),
    ("LLAMA_ARG_CACHE_TYPE_V", "--cache-type-v"),
    ("LLAMA_ARG_THREADS", "--threads"),
    ("LLAMA_ARG_SPLIT_MODE", "--split-mode"),
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
    launch.arguments.splice(0..0, flags);
    told
}

/// What llama.cpp takes a variable's word for.
fn switched(text: &str) -> &str {
    match text {
        "1" | "true" | "enabled" => "on",
        "0" | "false" | "disabled" => "off",
        other => other,
    }
}
