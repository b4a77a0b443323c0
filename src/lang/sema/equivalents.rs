//! What one engine's flag is called by another: people carry a spelling from one serve command into the next, and the nearest
//! word by its letters is then seldom the one that they mean.

use super::schema::{Found, Schema, key};

/// One thing that engines can do, and what each calls it.
struct Row {
    /// an engine of the standard library, its spelling of today, and what else it is known by
    spellings: &'static [(&'static str, &'static str, &'static [&'static str])],
    /// the others are what comes nearest, and not the same
    nearest: bool,
}

/// A flag that another engine knows, as this one knows it.
#[derive(Debug, PartialEq, Eq)]
pub struct Equivalent {
    /// the engines whose spelling was written, as they are called in prose
    pub of: Vec<&'static str>,
    pub here: &'static str,
    /// it comes nearest, and is not the same
    pub nearest: bool,
}

const VLLM: &str = "vllm";
const SGLANG: &str = "sglang";
const TRTLLM: &str = "trtllm";
const LLAMA: &str = "llama_cpp";

const TITLES: [(&str, &str); 4] =
    [(VLLM, "vLLM"), (SGLANG, "SGLang"), (TRTLLM, "TensorRT-LLM"), (LLAMA, "llama.cpp")];

macro_rules! rows {
    ($($kind:ident { $($engine:ident $here:literal $($also:literal)*),+ $(,)? })*) => {
        &[$(Row { spellings: &[$(($engine, $here, &[$($also),*])),+], nearest: rows!(@ $kind) }),*]
    };
    (@ same) => { false };
    (@ near) => { true };
}

const ROWS: &[Row] = rows! {
    // sizes
    same { VLLM "--max-model-len", SGLANG "--context-length", TRTLLM "--max_seq_len", LLAMA "--ctx-size" "-c" }
    same { VLLM "--max-num-seqs", SGLANG "--max-running-requests", TRTLLM "--max_batch_size", LLAMA "--parallel" "-np" }
    near { VLLM "--max-num-batched-tokens", SGLANG "--chunked-prefill-size", TRTLLM "--max_num_tokens", LLAMA "--batch-size" "-b" }
    near { VLLM "--max-num-batched-tokens", SGLANG "--max-prefill-tokens", TRTLLM "--max_num_tokens" }
    near { VLLM "--gpu-memory-utilization", SGLANG "--mem-fraction-static", TRTLLM "--kv_cache_free_gpu_memory_fraction" }
    near { VLLM "--block-size", SGLANG "--page-size" }
    // parallelism
    same { VLLM "--tensor-parallel-size" "-tp", SGLANG "--tp-size" "--tensor-parallel-size" "--tp", TRTLLM "--tp_size" }
    same { VLLM "--pipeline-parallel-size" "-pp", SGLANG "--pp-size" "--pipeline-parallel-size" "--pp", TRTLLM "--pp_size" }
    same { VLLM "--data-parallel-size" "-dp", SGLANG "--dp-size" "--data-parallel-size" "--dp" }
    near { VLLM "--enable-expert-parallel" "-ep", SGLANG "--ep-size" "--expert-parallel-size" "--ep", TRTLLM "--ep_size" }
    // caches
    same { VLLM "--no-enable-prefix-caching", SGLANG "--disable-radix-cache", LLAMA "--no-cache-prompt" }
    same { VLLM "--enable-prefix-caching", LLAMA "--cache-prompt" }
    same { VLLM "--kv-cache-dtype", SGLANG "--kv-cache-dtype" }
    near { VLLM "--kv-cache-dtype", SGLANG "--kv-cache-dtype", LLAMA "--cache-type-k" "-ctk" "--cache-type-v" "-ctv" }
    near { VLLM "--cpu-offload-gb", SGLANG "--cpu-offload-gb", LLAMA "--n-gpu-layers" "-ngl" "--gpu-layers" }
    // scheduling and kernels
    same { VLLM "--enable-chunked-prefill", TRTLLM "--enable_chunked_prefill" }
    near { VLLM "--enable-chunked-prefill", SGLANG "--chunked-prefill-size", TRTLLM "--enable_chunked_prefill" }
    same { VLLM "--enforce-eager", SGLANG "--disable-cuda-graph" }
    near { VLLM "--scheduling-policy", SGLANG "--schedule-policy" }
    near { VLLM "--cudagraph-capture-sizes" "--cuda-graph-sizes", SGLANG "--cuda-graph-bs" }
    near { VLLM "--max-cudagraph-capture-size", SGLANG "--cuda-graph-max-bs" }
    same { VLLM "--attention-backend", SGLANG "--attention-backend" }
    near { VLLM "--attention-backend", SGLANG "--attention-backend", LLAMA "--flash-attn" "-fa" }
    near { VLLM "--speculative-config", SGLANG "--speculative-algorithm" "--speculative-algo" "--speculative-draft-model-path"
           "--speculative-num-steps" "--speculative-num-draft-tokens" "--speculative-eagle-topk",
           LLAMA "--model-draft" "-md" "--draft-max" }
    same { VLLM "--async-scheduling" }
    near { VLLM "--no-async-scheduling", SGLANG "--disable-overlap-schedule" }
    same { VLLM "--disable-custom-all-reduce", SGLANG "--disable-custom-all-reduce" }
    // the model and its words
    same { VLLM "--quantization" "-q", SGLANG "--quantization" }
    same { VLLM "--dtype", SGLANG "--dtype" }
    same { VLLM "--load-format", SGLANG "--load-format" }
    same { VLLM "--trust-remote-code", SGLANG "--trust-remote-code", TRTLLM "--trust_remote_code" }
    same { VLLM "--tokenizer", SGLANG "--tokenizer-path", TRTLLM "--tokenizer" }
    same { VLLM "--chat-template", SGLANG "--chat-template", LLAMA "--chat-template" }
    same { VLLM "--reasoning-parser", SGLANG "--reasoning-parser", TRTLLM "--reasoning_parser" }
    near { VLLM "--reasoning-parser", SGLANG "--reasoning-parser", TRTLLM "--reasoning_parser", LLAMA "--reasoning-format" }
    same { VLLM "--tool-call-parser", SGLANG "--tool-call-parser" }
    same { VLLM "--served-model-name", SGLANG "--served-model-name", LLAMA "--alias" "-a" }
    same { VLLM "--api-key", SGLANG "--api-key", LLAMA "--api-key" }
    same { VLLM "--seed", SGLANG "--random-seed", LLAMA "--seed" "-s" }
    same { VLLM "--download-dir", SGLANG "--download-dir" }
    // what a server is asked and tells
    same { SGLANG "--enable-metrics", LLAMA "--metrics" }
    same { VLLM "--uvicorn-log-level", SGLANG "--log-level-http", }
    near { VLLM "--uvicorn-log-level", SGLANG "--log-level", TRTLLM "--log_level", LLAMA "--log-verbosity" "-lv" }
};

/// What another engine's flag is called in this one, if this one has it under another name.
pub fn equivalent(name: &str, root: &str, schema: &Schema, version: Option<&str>) -> Option<Equivalent> {
    let wanted = key(name);
    let rows = ROWS.iter().filter(|row| row.spellings.iter().any(|s| is_spelling(s, &wanted)));
    let has = |flag: &str| matches!(schema.find(flag, version), Found::Known(..));
    rows.filter_map(|row| {
        let own = row.spellings.iter().find(|(engine, ..)| *engine == root).map(|(_, here, _)| *here);
        // an engine of the user's own has the spellings that it declares
        let here = match own {
            Some(here) => Some(here).filter(|h| has(h)),
            None => row.spellings.iter().map(|(_, here, _)| *here).find(|h| has(h)),
        }?;
        let of = row
            .spellings
            .iter()
            .filter(|s| s.0 != root && is_spelling(s, &wanted))
            .map(|s| title(s.0))
            .collect::<Vec<_>>();
        (!of.is_empty()).then_some(Equivalent { of, here, nearest: row.nearest })
    })
    .min_by_key(|e| e.nearest)
}

fn is_spelling((_, here, also): &(&str, &str, &[&str]), wanted: &str) -> bool {
    key(here) == wanted || also.iter().any(|a| key(a) == wanted)
}

fn title(engine: &str) -> &'static str {
    TITLES.iter().find(|(name, _)| *name == engine).map_or("another engine", |(_, title)| title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::analyze;
    use crate::lang::source::NoFiles;

    fn schema(engine: &str) -> std::sync::Arc<Schema> {
        let found = analyze(&NoFiles, "t.plab", &format!("use std/engines {{ {engine} }}"));
        found.program.engines[engine].schema.clone()
    }

    #[test]
    fn every_spelling_is_one_of_its_engine() {
        for (engine, title) in TITLES {
            let schema = schema(engine);
            let rows = ROWS.iter().flat_map(|r| r.spellings).filter(|s| s.0 == engine);
            for (_, here, also) in rows {
                let newest = schema.versions().last().map(String::as_str);
                assert!(matches!(schema.find(here, newest), Found::Known(..)), "{title} has no {here}");
                for name in *also {
                    let abbreviated = schema.longer(name, newest).len();
                    let unknown = matches!(schema.find(name, None), Found::Unknown);
                    assert!(!unknown || abbreviated > 0, "{title} has no {name}");
                }
            }
        }
    }

    #[test]
    fn spellings_are_carried_from_engine_to_engine() {
        let here = |name: &str, engine: &str, version: &str| {
            let found = equivalent(name, engine, &schema(engine), Some(version));
            found.map(|e| (e.here, e.nearest))
        };
        assert_eq!(here("--context-length", "vllm", "0.17.1"), Some(("--max-model-len", false)));
        assert_eq!(here("--max-model-len", "sglang", "0.5.9"), Some(("--context-length", false)));
        assert_eq!(here("--max-model-len", "trtllm", "1.2.0rc1"), Some(("--max_seq_len", false)));
        assert_eq!(here("-c", "vllm", "0.17.1"), Some(("--max-model-len", false)));
        assert_eq!(here("--tp", "vllm", "0.17.1"), Some(("--tensor-parallel-size", false)));
        assert_eq!(here("-tp", "sglang", "0.5.9"), Some(("--tp-size", false)));
        assert_eq!(
            here("--disable-radix-cache", "vllm", "0.17.1"),
            Some(("--no-enable-prefix-caching", false))
        );
        assert_eq!(
            here("--max-num-batched-tokens", "sglang", "0.5.9"),
            Some(("--chunked-prefill-size", true))
        );
        assert_eq!(here("--kv-cache-dtype", "llama_cpp", "b11434"), Some(("--cache-type-k", true)));
        assert_eq!(here("--attention-backend", "vllm", "0.11.0"), None, "not in that version");
        assert_eq!(here("--no-such-flag", "vllm", "0.17.1"), None);
    }
}
