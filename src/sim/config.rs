//! From the command line to an engine that fits the card, or to the reason why it does not. Memory is arithmetic, so
//! a start fails here for the same flags for which it fails on the card, in the words that vLLM has for it.

use std::time::Duration;

use super::args::{Quantization, SimArgs};
use super::cost::{CostModel, CostOptions, Knobs};
use super::hardware::GpuSpec;
use super::models::{self, ModelShape, Precision};
use super::scheduler::Limits;
use super::simulation::Simulation;
use super::tokens::BLOCK_TOKENS;

/// Bytes/s at which weights come from disk to one card.
const LOAD_BANDWIDTH: f64 = 30e9;
/// Time to capture graphs, scaled down with the rest of the start.
const CAPTURE_TIME: Duration = Duration::from_millis(200);
/// Bytes per logit at the widest place: the row in FP32 and its sorted copy.
const LOGIT_BYTES: f64 = 8.0;
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// A start that fails as on the card. The texts are vLLM's own, which is what log classifiers know.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StartError {
    /// The heads cannot be shared evenly.
    #[error(
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig\n  Value error, Total number \
         of attention heads ({heads}) must be divisible by tensor parallel size ({tensor_parallel})."
    )]
    IndivisibleHeads {
        /// Heads of the model.
        heads: u32,
        /// Cards asked for.
        tensor_parallel: u32,
    },
    /// A context beyond what the model was trained for.
    #[error(
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n  Value error, \
         User-specified max_model_len ({asked}) is greater than the derived max_model_len \
         (max_position_embeddings={positions} or model_max_length=None in model's config.json)."
    )]
    ContextBeyondModel {
        /// Context asked for, in tokens.
        asked: u32,
        /// Context of the model, in tokens.
        positions: u32,
    },
    /// A step that could not give every sequence one token.
    #[error(
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for SchedulerConfig\n  Value error, \
         max_num_batched_tokens ({tokens}) must be greater than or equal to max_num_seqs ({sequences})."
    )]
    BatchBelowSequences {
        /// `--max-num-batched-tokens`.
        tokens: u32,
        /// `--max-num-seqs`.
        sequences: u32,
    },
    /// Weights or activations exceed the card.
    #[error(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {tried_mib:.2} MiB. GPU 0 has a total capacity \
         of {capacity_gib:.2} GiB of which {free_mib:.2} MiB is free. Including non-PyTorch memory, this process has \
         {used_gib:.2} GiB memory in use."
    )]
    OutOfMemory {
        /// The allocation that failed.
        tried_mib: f64,
        /// Memory of the card.
        capacity_gib: f64,
        /// What was left of it.
        free_mib: f64,
        /// What was taken.
        used_gib: f64,
    },
    /// Nothing is left for the KV cache.
    #[error(
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when \
         initializing the engine."
    )]
    NoCacheBlocks,
    /// The KV cache is smaller than one request of full length.
    #[error(
        "ValueError: To serve at least one request with the models's max seq len ({max_model_len}), ({needed_gib:.2} \
         GiB KV cache is needed, which is larger than the available KV cache memory ({available_gib:.2} GiB). Based on \
         the available memory, the estimated maximum model length is {fitting}. Try increasing \
         `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine."
    )]
    ContextBeyondCache {
        /// Context asked for, in tokens.
        max_model_len: u32,
        /// KV cache of one such request on one card.
        needed_gib: f64,
        /// KV cache that there is on one card.
        available_gib: f64,
        /// Context that would fit, in tokens.
        fitting: u32,
    },
}

/// Where the memory of one card goes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryPlan {
    /// Weights.
    pub weights: f64,
    /// Activations, logits and the engine's own.
    pub working: f64,
    /// KV cache.
    pub kv_cache: f64,
    /// Tokens that the KV caches of all cards together hold, in whole blocks.
    pub kv_tokens: u32,
}

/// An engine, ready to be started.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// The simulated card.
    pub gpu: GpuSpec,
    /// The simulated model.
    pub shape: ModelShape,
    /// Its memory.
    pub memory: MemoryPlan,
    /// Bounds of its steps.
    pub limits: Limits,
    /// Times of its steps.
    pub cost: CostModel,
    /// Time to load the weights.
    pub load_time: Duration,
    /// Time to capture graphs.
    pub capture_time: Duration,
    /// Lines for the log about what was guessed.
    pub notes: Vec<String>,
}

impl EngineConfig {
    /// The engine that a command line means, with the default knobs but for those that it names.
    pub fn resolve(args: &SimArgs) -> Result<Self, StartError> {
        let mut knobs = Knobs::default();
        if let Some(ms) = args.front_end_ms {
            knobs.front_end_seconds = ms / 1e3;
        }
        Self::resolve_with(args, knobs)
    }

    /// The engine that a command line means.
    pub fn resolve_with(args: &SimArgs, knobs: Knobs) -> Result<Self, StartError> {
        let gpu = args.gpu.spec();
        let model = models::by_name(&args.model);
        let weights = if args.quantization == Quantization::Fp8 { Precision::Fp8 } else { model.precision };
        validate(args, &model.shape)?;
        let memory = plan_memory(args, &gpu, &model.shape, weights, knobs.base_memory)?;
        let options = CostOptions {
            tensor_parallel: args.tensor_parallel_size,
            weights,
            kv_cache: args.kv_cache_dtype.precision(),
            eager: args.enforce_eager,
            asynchronous: args.async_scheduling,
        };
        let marlin = weights == Precision::Fp8 && gpu.fp8_flops.is_none();
        let marlin = marlin
            .then(|| format!("{} has no FP8 matrix units; FP8 weights are multiplied in BF16", gpu.name));
        Ok(Self {
            limits: limits(args, memory.kv_tokens / BLOCK_TOKENS, knobs.draft_acceptance),
            cost: CostModel::new(&gpu, &model.shape, options, knobs),
            load_time: Duration::from_secs_f64(memory.weights / LOAD_BANDWIDTH),
            capture_time: if args.enforce_eager { Duration::ZERO } else { CAPTURE_TIME },
            notes: model.note.into_iter().chain(marlin).collect(),
            shape: model.shape,
            gpu,
            memory,
        })
    }

    /// An idle engine of this configuration.
    pub fn simulation(&self) -> Simulation {
        Simulation::new(self.limits, self.cost.clone())
    }

    /// Time from the start of the process until it is ready.
    pub fn startup(&self) -> Duration {
        self.load_time + self.capture_time
    }
}

fn validate(args: &SimArgs, shape: &ModelShape) -> Result<(), StartError> {
    if !shape.heads.is_multiple_of(args.tensor_parallel_size) {
        return Err(StartError::IndivisibleHeads {
            heads: shape.heads,
            tensor_parallel: args.tensor_parallel_size,
        });
    }
    if args.max_model_len > shape.max_positions {
        return Err(StartError::ContextBeyondModel {
            asked: args.max_model_len,
            positions: shape.max_positions,
        });
    }
    if args.max_num_batched_tokens < args.max_num_seqs {
        return Err(StartError::BatchBelowSequences {
            tokens: args.max_num_batched_tokens,
            sequences: args.max_num_seqs,
        });
    }
    Ok(())
}

fn limits(args: &SimArgs, kv_blocks: u32, draft_acceptance: f64) -> Limits {
    Limits {
        max_sequences: args.max_num_seqs,
        max_batched_tokens: args.max_num_batched_tokens,
        max_model_len: args.max_model_len,
        kv_blocks,
        prefix_caching: args.prefix_caching(),
        draft_tokens: args.num_speculative_tokens,
        draft_acceptance,
        seed: args.seed,
    }
}

/// KV cache = memory × utilization − weights − what the largest step needs, on each card.
fn plan_memory(
    args: &SimArgs,
    gpu: &GpuSpec,
    shape: &ModelShape,
    precision: Precision,
    base: f64,
) -> Result<MemoryPlan, StartError> {
    let cards = f64::from(args.tensor_parallel_size);
    let weights = shape.weight_bytes(precision) / cards;
    let working = base + activation_bytes(args, shape) + logit_bytes(args, shape);
    let layer = 2.0 * f64::from(shape.hidden) * f64::from(shape.intermediate) * precision.bytes() / cards;
    if weights + base > gpu.memory {
        // loading stops at the first layer that does not fit
        let free = (gpu.memory - base).rem_euclid(layer);
        return Err(out_of_memory(gpu, layer, free));
    }
    if weights + working > gpu.memory {
        return Err(out_of_memory(gpu, working - base, gpu.memory - weights - base));
    }
    let kv_cache = gpu.memory * args.gpu_memory_utilization - weights - working;
    if kv_cache <= 0.0 {
        return Err(StartError::NoCacheBlocks);
    }
    let per_token =
        shape.kv_bytes_per_token(args.kv_cache_dtype.precision(), args.tensor_parallel_size) / cards;
    let blocks = (kv_cache / per_token / f64::from(BLOCK_TOKENS)).floor();
    let kv_tokens = (blocks as u32).min(u32::MAX / BLOCK_TOKENS) * BLOCK_TOKENS;
    if args.max_model_len > kv_tokens {
        return Err(StartError::ContextBeyondCache {
            max_model_len: args.max_model_len,
            needed_gib: f64::from(args.max_model_len) * per_token / GIB,
            available_gib: kv_cache / GIB,
            fitting: kv_tokens,
        });
    }
    Ok(MemoryPlan { weights, working, kv_cache, kv_tokens })
}

/// The widest place of a layer: gate and up of the feed-forward layer beside two copies of the residual stream.
fn activation_bytes(args: &SimArgs, shape: &ModelShape) -> f64 {
    let cards = f64::from(args.tensor_parallel_size);
    let width = 2.0 * f64::from(shape.intermediate) / cards + 2.0 * f64::from(shape.hidden);
    f64::from(args.max_num_batched_tokens) * width * Precision::Bf16.bytes()
}

fn logit_bytes(args: &SimArgs, shape: &ModelShape) -> f64 {
    let rows = f64::from(args.max_num_seqs) * f64::from(1 + args.num_speculative_tokens);
    rows * f64::from(shape.vocabulary) * LOGIT_BYTES
}

fn out_of_memory(gpu: &GpuSpec, tried: f64, free: f64) -> StartError {
    const MIB: f64 = 1024.0 * 1024.0;
    StartError::OutOfMemory {
        tried_mib: tried / MIB,
        capacity_gib: gpu.memory / GIB,
        free_mib: free.max(0.0) / MIB,
        used_gib: (gpu.memory - free.max(0.0)) / GIB,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(line: &str) -> Result<EngineConfig, String> {
        let args = SimArgs::parse_words(line.split_whitespace()).map_err(|error| error.to_string())?;
        EngineConfig::resolve(&args).map_err(|error| error.to_string())
    }

    fn failure(line: &str) -> String {
        resolve(line).map_or_else(|error| error, |config| format!("starts with {:?}", config.memory))
    }

    #[test]
    fn what_flags_take_is_missing_in_the_cache() -> Result<(), String> {
        let tokens = |line: &str| resolve(line).map(|config| config.memory.kv_tokens);
        let plain = tokens("--model Qwen3-14B")?;
        assert!((250_000..300_000).contains(&plain), "{plain}");
        assert!(tokens("--model Qwen3-14B --max-num-batched-tokens 32768")? < plain);
        assert!(tokens("--model Qwen3-14B --max-num-seqs 1024")? < plain);
        assert!(tokens("--model Qwen3-14B --gpu-memory-utilization 0.95")? > plain);
        assert!(tokens("--model Qwen3-14B-FP8")? > plain);
        assert!(tokens("--model Qwen3-14B -tp 2")? > 2 * plain);
        let fp8_cache = tokens("--model Qwen3-14B --kv-cache-dtype fp8")?;
        assert!(fp8_cache.abs_diff(2 * plain) <= 32, "{fp8_cache} against {plain}");
        Ok(())
    }

    #[test]
    fn one_32b_on_one_card_has_room_for_about_one_long_prompt() -> Result<(), String> {
        let config = resolve("--model Qwen/Qwen3-32B --max-num-seqs 1024")?;
        assert!((32_768..34_000).contains(&config.memory.kv_tokens), "{:?}", config.memory);
        Ok(())
    }

    #[test]
    fn weights_beyond_the_card_are_out_of_memory() {
        assert!(
            failure("--model Llama-3.1-70B").starts_with("torch.OutOfMemoryError: CUDA out of memory. Tried")
        );
        assert_eq!(failure("--model Llama-3.1-70B --gpu h200"), StartError::NoCacheBlocks.to_string());
        assert!(resolve("--model Llama-3.1-70B -tp 4").is_ok());
    }

    #[test]
    fn a_cache_below_one_context_is_refused_with_the_context_that_fits() -> Result<(), String> {
        let error = failure("--model Qwen3-32B --max-model-len 40960");
        assert!(error.contains("models's max seq len (40960), (10.00 GiB KV cache is needed"), "{error}");
        let fitting =
            error.split("length is ").nth(1).and_then(|rest| rest.split('.').next()).unwrap_or("none");
        resolve(&format!("--model Qwen3-32B --max-model-len {fitting}"))?;
        assert_eq!(
            failure("--model Qwen3-32B --gpu-memory-utilization 0.75"),
            StartError::NoCacheBlocks.to_string()
        );
        Ok(())
    }

    #[test]
    fn impossible_settings_are_refused() {
        assert!(
            failure("--model Qwen3-14B -tp 3")
                .contains("attention heads (40) must be divisible by tensor parallel")
        );
        assert!(
            failure("--model Qwen3-8B --max-model-len 50000")
                .contains("max_model_len (50000) is greater than")
        );
        assert!(
            failure("--max-num-batched-tokens 128")
                .contains("must be greater than or equal to max_num_seqs (256)")
        );
    }

    #[test]
    fn start_up_follows_the_weights() -> Result<(), String> {
        let (small, large) = (resolve("--model Qwen3-8B")?, resolve("--model Qwen3-32B")?);
        assert!((small.load_time.as_secs_f64() - 0.55).abs() < 0.05, "{:?}", small.load_time);
        assert!(large.load_time > 3 * small.load_time);
        assert_eq!(resolve("--model Qwen3-8B --enforce-eager")?.startup(), small.load_time);
        Ok(())
    }
}
