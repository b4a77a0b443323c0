//! The questions of the data set that `perflab bench` was asked for.

use std::sync::Arc;
use std::time::Duration;

use super::args::BenchArgs;
use super::data_args::{DataSet, RecipeName};
use crate::data::{
    self, Conversations, Custom, DataError, DrawnAgain, Lengths, PrefixRepetition, Random, Recipe, ShareGpt,
    ShareGptFilter, Source, Trace, TraceFormat,
};

/// Where the questions come from; `None` where the load draws its own.
pub(super) fn of(args: &BenchArgs) -> Result<Option<Arc<data::DataSet>>, DataError> {
    let count = args.count();
    let source = match (args.data.dataset_name, args.data.recipe) {
        (DataSet::Random, None) => return Ok(None),
        (DataSet::Random | DataSet::PrefixRepetition, _) if args.duration.is_some() => {
            let why = "these prompts are drawn for a number of them: state --num-prompts, not --duration";
            return Err(DataError::Settings(why.to_owned()));
        }
        (DataSet::Random, Some(recipe)) => Source::Random(random(args, recipe, count)),
        (DataSet::Sharegpt, _) => {
            let (file, output) = (file(args)?, args.data.sharegpt_output_len);
            let filter = match args.data.recipe {
                Some(RecipeName::Sglang) => ShareGptFilter::Sglang,
                _ => ShareGptFilter::Vllm(drawn_again(args)),
            };
            Source::ShareGpt(ShareGpt { file, filter, count: Some(count), seed: args.seed, output })
        }
        (DataSet::PrefixRepetition, _) => Source::PrefixRepetition(PrefixRepetition {
            prefix: args.data.prefix_repetition_prefix_len,
            suffix: args.data.prefix_repetition_suffix_len,
            prefixes: args.data.prefix_repetition_num_prefixes,
            output: args.data.prefix_repetition_output_len,
            count,
            seed: args.seed,
        }),
        (DataSet::Conversations, _) => Source::Conversations(Conversations {
            file: file(args)?,
            seed: args.seed,
            count: Some(count),
            output: args.data.conversation_output_len,
            think: args.data.think_time.0.clone(),
            recorded: args.data.recorded_answers,
        }),
        (DataSet::Mooncake, _) => Source::Trace(trace(args, TraceFormat::Mooncake)?),
        (DataSet::Azure, _) => Source::Trace(trace(args, TraceFormat::Azure)?),
        (DataSet::Custom, _) => {
            let (file, output) = (file(args)?, args.data.custom_output_len);
            let again = drawn_again(args);
            Source::Custom(Custom {
                file,
                count: Some(count),
                seed: args.seed,
                output,
                otherwise: None,
                again,
            })
        }
    };
    if args.data.tokenizer.is_none() && source.needs_tokenizer() {
        return Err(DataError::Settings("these prompts need --tokenizer PATH".to_owned()));
    }
    if args.data.count_chat_template && !matches!(source, Source::Trace(_)) {
        let why = "--count-chat-template is about prompts of random without a recipe, and of traces";
        return Err(DataError::Settings(why.to_owned()));
    }
    Ok(Some(Arc::new(data::DataSet {
        source,
        tokenizer: args.data.tokenizer.clone(),
        apart_from: Vec::new(),
    })))
}

/// How a file that holds too few is made to hold enough.
fn drawn_again(args: &BenchArgs) -> DrawnAgain {
    match args.data.recipe {
        Some(RecipeName::Vllm011) => DrawnAgain::Choices,
        _ => DrawnAgain::Choice,
    }
}

/// As much of a trace as the load takes.
fn trace(args: &BenchArgs, format: TraceFormat) -> Result<Trace, DataError> {
    let span = args.duration.filter(|_| args.keeps_times()).map(|seconds| seconds / args.trace_slowdown);
    let span = span.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let count = span.is_none().then(|| args.count());
    Ok(Trace { file: file(args)?, format: Some(format), count, span })
}

fn random(args: &BenchArgs, recipe: RecipeName, count: usize) -> Random {
    let recipe = match recipe {
        RecipeName::Vllm => Recipe::Vllm,
        RecipeName::Vllm011 => Recipe::Vllm011,
        RecipeName::Sglang => Recipe::Sglang,
    };
    let lengths = Lengths {
        input: args.data.random_input_len,
        output: args.data.random_output_len,
        range_ratio: args.data.random_range_ratio.unwrap_or(0.0),
        prefix: args.data.random_prefix_len,
    };
    Random { recipe, lengths, count, seed: args.seed, exact: true }
}

fn file(args: &BenchArgs) -> Result<std::path::PathBuf, DataError> {
    let missing = || DataError::Settings("this data set needs --dataset-path FILE".to_owned());
    args.data.dataset_path.clone().ok_or_else(missing)
}
