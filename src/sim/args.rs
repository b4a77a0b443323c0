//! Command line of the simulated engine, in vLLM's spelling, so that a study of one is a study of the other. vLLM
//! accepts some forms that clap does not know (`-tp 2`, `--max_num_seqs`); they are rewritten before parsing.

use std::ffi::OsString;
use std::fmt;

use clap::builder::RangedU64ValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, ValueEnum};

use super::hardware::Gpu;
use super::models::Precision;

/// Serve a simulated model over the OpenAI protocol. Every time follows from a model of continuous batching on the
/// named card; nothing is computed.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(args_override_self = true)]
#[expect(clippy::struct_excessive_bools, reason = "clap keeps a switch and its opposite in a field each")]
pub struct SimArgs {
    /// Model to simulate; known: Qwen3 0.6B to 32B, Llama-3.1 8B and 70B, with -FP8 for FP8 weights; others are
    /// scaled from the nearest of them by the size in their name
    #[arg(long, value_name = "NAME", default_value = "Qwen/Qwen3-8B")]
    pub model: String,
    /// Name that clients use; the model's name by default
    #[arg(long, value_name = "NAME")]
    pub served_model_name: Option<String>,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    pub host: String,
    /// Port to listen on; 0 takes a free one and logs it
    #[arg(long, default_value_t = 8000)]
    pub port: u16,
    /// Card to simulate
    #[arg(long, value_enum, default_value_t)]
    pub gpu: Gpu,
    /// Share of the card's memory that the engine may take
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, value_parser = parse_share)]
    pub gpu_memory_utilization: f64,
    /// Tokens of prompt and answer together
    #[arg(long, value_name = "N", default_value_t = 32_768, value_parser = positive())]
    pub max_model_len: u32,
    /// Requests that run at once
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = positive())]
    pub max_num_seqs: u32,
    /// Tokens that one step may compute
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = positive())]
    pub max_num_batched_tokens: u32,
    /// Cards that share the model; also -tp
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = positive())]
    pub tensor_parallel_size: u32,
    /// Precision of the weights, when the model's name does not say it
    #[arg(long, value_enum, default_value_t)]
    pub quantization: Quantization,
    /// Precision of the KV cache
    #[arg(long, value_enum, default_value_t)]
    pub kv_cache_dtype: KvCacheDtype,
    /// Compute equal beginnings of prompts once (the default)
    #[arg(long, overrides_with = "no_enable_prefix_caching")]
    pub enable_prefix_caching: bool,
    /// Compute every prompt whole
    #[arg(long, overrides_with = "enable_prefix_caching")]
    pub no_enable_prefix_caching: bool,
    /// Launch kernels one by one instead of replaying captured graphs
    #[arg(long, overrides_with = "no_enforce_eager")]
    pub enforce_eager: bool,
    /// Replay captured graphs (the default)
    #[arg(long, overrides_with = "enforce_eager")]
    pub no_enforce_eager: bool,
    /// Tokens to draft for every decode; 0 for none
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = RangedU64ValueParser::<u32>::new().range(0..=64))]
    pub num_speculative_tokens: u32,
    /// Prepare the next step while the card works on this one
    #[arg(long, overrides_with = "no_async_scheduling")]
    pub async_scheduling: bool,
    /// Prepare the next step after this one (the default)
    #[arg(long, overrides_with = "async_scheduling")]
    pub no_async_scheduling: bool,
    /// Time of the API server for each request, in milliseconds, in place of that of the engine that is simulated
    #[arg(long, value_name = "MS", hide = true, value_parser = parse_milliseconds)]
    pub front_end_ms: Option<f64>,
    /// Key that clients have to send; `SIM_API_KEY` by default, none if that is not set either
    #[arg(long, value_name = "KEY")]
    pub api_key: Option<ApiKey>,
    /// Seed of the answers
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

/// A key that is compared, and never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// The key of the environment.
    fn from_environment() -> Option<Self> {
        std::env::var("SIM_API_KEY").ok().filter(|key| !key.is_empty()).map(Self)
    }

    /// Whether a header's value names it, as `Bearer KEY`.
    pub fn admits(&self, authorization: &[u8]) -> bool {
        let (scheme, key) = authorization.split_at_checked(7).unwrap_or_default();
        scheme.eq_ignore_ascii_case(b"bearer ") && key == self.0.as_bytes()
    }
}

impl From<String> for ApiKey {
    fn from(key: String) -> Self {
        Self(key)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// `--quantization`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Quantization {
    /// As the model's name says, else BF16.
    #[default]
    None,
    /// FP8 weights.
    Fp8,
}

/// `--kv-cache-dtype`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum KvCacheDtype {
    /// BF16, as the activations.
    #[default]
    Auto,
    /// FP8: half the bytes.
    Fp8,
}

impl KvCacheDtype {
    /// Precision of one cached value.
    pub const fn precision(self) -> Precision {
        match self {
            Self::Auto => Precision::Bf16,
            Self::Fp8 => Precision::Fp8,
        }
    }
}

impl Default for SimArgs {
    fn default() -> Self {
        // clap fills in every default; an empty command line cannot fail
        let matches = Standalone::command().get_matches_from([PROGRAM]);
        Standalone::from_arg_matches(&matches).map_or_else(|error| error.exit(), |parsed| parsed.args)
    }
}

const PROGRAM: &str = "perflab sim";

#[derive(Debug, Parser)]
#[command(name = PROGRAM, disable_version_flag = true)]
struct Standalone {
    #[command(flatten)]
    args: SimArgs,
}

impl SimArgs {
    /// Parses the words behind `perflab sim`.
    pub fn parse_words<I>(words: I) -> Result<Self, clap::Error>
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        let words = std::iter::once(OsString::from(PROGRAM))
            .chain(words.into_iter().map(|word| normalise(word.into())));
        // a number below zero is a value that is wrong, and no option
        let command = Standalone::command().mut_args(|arg| {
            let takes = arg.get_action().takes_values();
            if takes { arg.allow_negative_numbers(true) } else { arg }
        });
        command.try_get_matches_from(words).and_then(|found| Self::from_arg_matches(&found))
    }

    /// Parses the flags of another engine's serve command: what the simulator does not know is left out and
    /// returned. Flags are (`--name`, value) pairs.
    pub fn parse_known(model: &str, flags: &[(String, Option<String>)]) -> (Self, Vec<String>) {
        let mut words = vec![format!("--model={model}")];
        let mut ignored = Vec::new();
        for (name, value) in flags {
            let word = value.as_ref().map_or_else(|| name.clone(), |value| format!("{name}={value}"));
            if Self::parse_words([&word]).is_ok() {
                words.push(word);
            } else {
                ignored.push(word);
            }
        }
        let parsed = Self::parse_words(&words);
        (parsed.unwrap_or_else(|_| Self { model: model.to_owned(), ..Self::default() }), ignored)
    }

    /// Whether prefixes are cached.
    pub const fn prefix_caching(&self) -> bool {
        !self.no_enable_prefix_caching
    }

    /// The key that clients have to send.
    pub fn key(&self) -> Option<ApiKey> {
        self.api_key.clone().or_else(ApiKey::from_environment)
    }

    /// Name under which clients find the model.
    pub fn public_name(&self) -> &str {
        self.served_model_name.as_deref().unwrap_or(&self.model)
    }
}

/// Rewrites the spellings that only argparse takes: `-tp`, and underscores in a long flag's name.
pub fn normalise(word: OsString) -> OsString {
    let Some(text) = word.to_str() else { return word };
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    let name = match name {
        "-tp" => "--tensor-parallel-size".to_owned(),
        long if long.starts_with("--") => long.replace('_', "-"),
        _ => return word,
    };
    value.map_or_else(|| name.clone(), |value| format!("{name}={value}")).into()
}

/// What a usage error looks like: argparse's words, as vLLM prints them, so that one classifier reads both.
pub fn usage_message(error: &clap::Error) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.split_whitespace().next().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    let argument = context(ContextKind::InvalidArg);
    let problem = match error.kind() {
        ErrorKind::UnknownArgument => format!("unrecognized arguments: {argument}"),
        ErrorKind::ValueValidation => {
            format!("argument {argument}: invalid value: '{}'", context(ContextKind::InvalidValue))
        }
        ErrorKind::InvalidValue if context(ContextKind::InvalidValue).is_empty() => {
            format!("argument {argument}: expected one argument")
        }
        ErrorKind::InvalidValue => format!(
            "argument {argument}: invalid choice: '{}' (choose from {})",
            context(ContextKind::InvalidValue),
            choices(error)
        ),
        _ => error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    };
    format!("usage: {PROGRAM} [options]\n{PROGRAM}: error: {problem}")
}

fn choices(error: &clap::Error) -> String {
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) => {
            values.iter().map(|value| format!("'{value}'")).collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    }
}

fn positive() -> RangedU64ValueParser<u32> {
    RangedU64ValueParser::new().range(1..=u64::from(u32::MAX / 2))
}

fn parse_milliseconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ms) if ms >= 0.0 && ms.is_finite() => Ok(ms),
        _ => Err("a number from 0 on is needed".to_owned()),
    }
}

fn parse_share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("a number above 0 and up to 1 is needed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<SimArgs, clap::Error> {
        SimArgs::parse_words(line.split_whitespace())
    }

    fn problem(line: &str) -> String {
        parse(line).map_or_else(|error| usage_message(&error), |args| format!("no error: {args:?}"))
    }

    #[test]
    fn defaults_are_those_of_the_documentation() {
        let args = SimArgs::default();
        assert_eq!((args.max_num_seqs, args.max_num_batched_tokens, args.max_model_len), (256, 8192, 32_768));
        assert!((args.gpu_memory_utilization - 0.9).abs() < 1e-12);
        assert_eq!((args.gpu, args.tensor_parallel_size, args.num_speculative_tokens), (Gpu::H100Sxm, 1, 0));
        assert!(args.prefix_caching() && !args.enforce_eager && !args.async_scheduling);
    }

    #[test]
    fn both_value_forms_and_argparse_spellings_are_taken() -> Result<(), clap::Error> {
        let args = parse("--max-num-seqs=64 --max_model_len 40960 -tp 2 --gpu h200 --kv-cache-dtype=fp8")?;
        assert_eq!((args.max_num_seqs, args.max_model_len, args.tensor_parallel_size), (64, 40_960, 2));
        assert_eq!((args.gpu, args.kv_cache_dtype), (Gpu::H200, KvCacheDtype::Fp8));
        assert_eq!(parse("-tp=4")?.tensor_parallel_size, 4);
        Ok(())
    }

    #[test]
    fn the_last_of_a_flag_and_its_opposite_counts() -> Result<(), clap::Error> {
        assert!(!parse("--enable-prefix-caching --no-enable-prefix-caching")?.prefix_caching());
        assert!(parse("--no-enable-prefix-caching --enable-prefix-caching")?.prefix_caching());
        assert!(!parse("--enforce-eager --no-enforce-eager")?.enforce_eager);
        assert_eq!(parse("--max-num-seqs 1 --max-num-seqs 2")?.max_num_seqs, 2);
        Ok(())
    }

    #[test]
    fn mistakes_are_told_in_argparse_words() {
        assert!(problem("--no-such 3").ends_with("perflab sim: error: unrecognized arguments: --no-such"));
        assert!(
            problem("--max-num-seqs abc").ends_with("error: argument --max-num-seqs: invalid value: 'abc'")
        );
        assert!(problem("--max-num-seqs 0").ends_with("error: argument --max-num-seqs: invalid value: '0'"));
        assert!(
            problem("--gpu-memory-utilization 1.5")
                .contains("argument --gpu-memory-utilization: invalid value")
        );
        assert!(
            problem("--gpu b200").contains("argument --gpu: invalid choice: 'b200' (choose from 'h100-sxm',")
        );
        assert!(problem("--port").contains("argument --port: expected one argument"));
    }

    #[test]
    fn another_engines_flags_are_sorted_out() {
        let flags = [
            ("--max-num-seqs".to_owned(), Some("512".to_owned())),
            ("--attention-backend".to_owned(), Some("FLASHINFER".to_owned())),
            ("--async-scheduling".to_owned(), None),
        ];
        let (args, ignored) = SimArgs::parse_known("Qwen/Qwen3-14B", &flags);
        assert_eq!(
            (args.model.as_str(), args.max_num_seqs, args.async_scheduling),
            ("Qwen/Qwen3-14B", 512, true)
        );
        assert_eq!(ignored, ["--attention-backend=FLASHINFER"]);
    }
}
