//! The options of `perflab bench` that say what is asked.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use crate::load::Prompts;

#[derive(Debug, Clone, clap::Args)]
pub struct DataArgs {
    /// Where prompts come from
    #[arg(long, value_enum, default_value_t = DataSet::Random, value_name = "NAME")]
    pub dataset_name: DataSet,
    /// The file of `sharegpt` (JSON), `custom` (JSON lines with `prompt` and `output_tokens`), `conversations` (JSON or lines), `mooncake` (JSON lines) or `azure` (CSV)
    #[arg(long, value_name = "FILE")]
    pub dataset_path: Option<PathBuf>,
    /// Draw `random` prompts as another tool does, byte for byte; without it lengths are exact, and no prompt of a warm-up
    /// begins as one of the load
    #[arg(long, value_enum, value_name = "TOOL")]
    pub recipe: Option<RecipeName>,
    /// Tokens of each prompt of `random`
    #[arg(long, default_value_t = 1024, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub random_input_len: u32,
    /// Tokens of each answer of `random`
    #[arg(long, default_value_t = 128, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub random_output_len: u32,
    /// How far lengths of `random` vary: from (1 − r) to (1 + r) times; with `--recipe sglang` from r to 1 times
    #[arg(long, value_parser = share, value_name = "R")]
    pub random_range_ratio: Option<f64>,
    /// Tokens that all prompts of a recipe begin with
    #[arg(long, default_value_t = 0, value_name = "TOKENS", requires = "recipe")]
    pub random_prefix_len: u32,
    /// One length for all answers of `sharegpt` instead of those in the file
    #[arg(long, value_name = "TOKENS")]
    pub sharegpt_output_len: Option<u32>,
    /// One length for all answers of `custom` instead of those in the file
    #[arg(long, value_name = "TOKENS")]
    pub custom_output_len: Option<u32>,
    /// Tokens that the prompts of a group of `prefix_repetition` share
    #[arg(long, default_value_t = 256, value_name = "TOKENS")]
    pub prefix_repetition_prefix_len: u32,
    /// Tokens after them
    #[arg(long, default_value_t = 256, value_name = "TOKENS")]
    pub prefix_repetition_suffix_len: u32,
    /// How many groups
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub prefix_repetition_num_prefixes: u32,
    /// Tokens of each answer of `prefix_repetition`
    #[arg(long, default_value_t = 128, value_name = "TOKENS")]
    pub prefix_repetition_output_len: u32,
    /// How long people think before each further turn of `conversations`, or a range that it is drawn from: 2, 1..5
    #[arg(long, default_value = "0", value_parser = seconds_range, value_name = "SECONDS")]
    pub think_time: SecondsRange,
    /// Put the file's answers of `conversations` into the history, and not the server's own
    #[arg(long)]
    pub recorded_answers: bool,
    /// One length for all answers of `conversations` instead of those in the file
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub conversation_output_len: Option<u32>,
    /// A tokenizer.json or its folder; without one a word counts as a token
    #[arg(long, value_name = "PATH")]
    pub tokenizer: Option<PathBuf>,
    /// Make all prompts anew, and keep none: those that a tokenizer made are otherwise kept and sent again by loads that ask the same
    #[arg(long)]
    pub no_prompt_cache: bool,
    /// Have prompts of `random`, without a recipe, and of traces as long as the server sees them: with what the model's chat template, which lies beside
    /// the tokenizer, adds
    #[arg(long, requires = "tokenizer")]
    pub count_chat_template: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DataSet {
    /// random tokens
    Random,
    /// first questions of conversations
    Sharegpt,
    /// groups of prompts that begin alike
    #[value(name = "prefix_repetition")]
    PrefixRepetition,
    /// prompts of a file of JSON lines
    Custom,
    /// conversations of several turns: what arrives are people
    Conversations,
    /// a trace with blocks that prompts share
    Mooncake,
    /// a trace of lengths
    Azure,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RecipeName {
    /// vLLM from 0.17 on
    Vllm,
    /// vLLM 0.11
    #[value(name = "vllm-0.11")]
    Vllm011,
    /// SGLang's `random-ids`
    Sglang,
}

/// A length of time, or from one to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecondsRange(pub std::ops::RangeInclusive<Duration>);

impl DataArgs {
    /// What `random` without a recipe asks, and what all other data sets say of the tokenizer.
    pub(super) fn prompts(&self) -> Prompts {
        Prompts {
            input: self.around(self.random_input_len),
            output: self.around(self.random_output_len),
            tokenizer: self.tokenizer.clone(),
            counts_template: self.count_chat_template,
            shared: None,
        }
    }

    /// What was stated and would decide nothing.
    pub(super) fn without_use(&self) -> Option<&'static str> {
        let no_file = matches!(self.dataset_name, DataSet::Random | DataSet::PrefixRepetition);
        let talks = self.dataset_name == DataSet::Conversations;
        let idle = [
            (
                no_file && self.dataset_path.is_some(),
                "--dataset-path is read by data sets of a file: state --dataset-name",
            ),
            (!talks && self.recorded_answers, "--recorded-answers is about `--dataset-name conversations`"),
            (
                !talks && self.conversation_output_len.is_some(),
                "--conversation-output-len is about `--dataset-name conversations`",
            ),
            (
                !talks && !self.think_time.0.end().is_zero(),
                "--think-time is about `--dataset-name conversations`",
            ),
            (
                self.dataset_name != DataSet::Sharegpt && self.sharegpt_output_len.is_some(),
                "--sharegpt-output-len is about `--dataset-name sharegpt`",
            ),
            (
                self.dataset_name != DataSet::Custom && self.custom_output_len.is_some(),
                "--custom-output-len is about `--dataset-name custom`",
            ),
        ];
        idle.into_iter().find(|(is, _)| *is).map(|(_, why)| why)
    }

    /// A length of `random` and how far it varies.
    fn around(&self, length: u32) -> std::ops::RangeInclusive<u32> {
        let ratio = self.random_range_ratio.unwrap_or(0.0);
        let at = |factor: f64| f64::from(length) * factor;
        (at(1.0 - ratio).floor() as u32).max(1)..=(at(1.0 + ratio).ceil() as u32).max(1)
    }
}

fn seconds_range(text: &str) -> Result<SecondsRange, String> {
    let form = || "write seconds, such as 2, or a range of them, such as 1..5".to_owned();
    let seconds = |text: &str| {
        let number = text.trim().parse().map_err(|_| form())?;
        Duration::try_from_secs_f64(number).map_err(|_| form())
    };
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from, to) = (seconds(from)?, seconds(to)?);
    if from <= to { Ok(SecondsRange(from..=to)) } else { Err(form()) }
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|n: &f64| (0.0..=1.0).contains(n));
    number.ok_or_else(|| "write a number from 0 to 1".to_owned())
}
