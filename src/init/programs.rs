//! The programs that start engines, by the words of a command.

use super::known::Engine;
use super::shell::Word;

/// The engine that words start, and how many words do so.
pub fn recognise(words: &[Word]) -> Option<(Engine, usize)> {
    let word = |at: usize| words.get(at).map_or("", |w| w.text.as_str());
    let program = base_name(word(0));
    match program {
        "vllm" if word(1) == "serve" => Some((Engine::Vllm, 2)),
        "sglang" if word(1) == "serve" => Some((Engine::Sglang, 2)),
        "trtllm-serve" if word(1) == "serve" => Some((Engine::Trtllm, 2)),
        "trtllm-serve" if !matches!(word(1), "disaggregated" | "disaggregated_mpi_worker") => {
            Some((Engine::Trtllm, 1))
        }
        "llama-server" => Some((Engine::LlamaCpp, 1)),
        "perflab" if word(1) == "sim" => Some((Engine::Sim, 2)),
        _ if python(program) => module(words),
        _ => None,
    }
}

/// `python -u -m MODULE`.
fn module(words: &[Word]) -> Option<(Engine, usize)> {
    let at = words.iter().take(6).position(|w| w.text == "-m")? + 1;
    let next = words.get(at + 1).map(|w| w.text.as_str());
    match words.get(at)?.text.as_str() {
        "vllm.entrypoints.openai.api_server" => Some((Engine::Vllm, at + 1)),
        "vllm" | "vllm.entrypoints.cli.main" if next == Some("serve") => Some((Engine::Vllm, at + 2)),
        "sglang.launch_server" => Some((Engine::Sglang, at + 1)),
        "tensorrt_llm.commands.serve" if next == Some("serve") => Some((Engine::Trtllm, at + 2)),
        "tensorrt_llm.commands.serve" => Some((Engine::Trtllm, at + 1)),
        _ => None,
    }
}

fn python(program: &str) -> bool {
    program.strip_prefix("python").is_some_and(|v| v.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// A program's name without its folder.
pub fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}
