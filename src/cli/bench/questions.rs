//! The questions of the data set that `perflab bench` was asked for.

use std::sync::Arc;

use super::args::{BenchArgs, DataSet, RecipeName};
use crate::data::{
    Custom, DataError, Lengths, PrefixRepetition, Question, Random, Recipe, ShareGpt, ShareGptFilter,
    Vocabulary,
};

/// The questions; `None` where the load draws its own.
pub(super) fn of(args: &BenchArgs) -> Result<Option<Arc<[Question]>>, DataError> {
    let count = usize::try_from(args.num_prompts).unwrap_or(usize::MAX);
    let questions = match (args.dataset_name, args.recipe) {
        (DataSet::Random, None) => return Ok(None),
        (DataSet::Random, Some(recipe)) => random(args, recipe, count).questions(&vocabulary(args)?)?,
        (DataSet::Sharegpt, _) => {
            let (file, output) = (file(args)?, args.sharegpt_output_len);
            let filter = match args.recipe {
                Some(RecipeName::Sglang) => ShareGptFilter::Sglang,
                _ => ShareGptFilter::Vllm,
            };
            ShareGpt { file, filter, count, seed: args.seed, output }.questions(&vocabulary(args)?)?
        }
        (DataSet::PrefixRepetition, _) => {
            let all = PrefixRepetition {
                prefix: args.prefix_repetition_prefix_len,
                suffix: args.prefix_repetition_suffix_len,
                prefixes: args.prefix_repetition_num_prefixes,
                output: args.prefix_repetition_output_len,
                count,
                seed: args.seed,
            };
            all.questions(&vocabulary(args)?)?
        }
        (DataSet::Custom, _) => {
            let vocabulary = args.tokenizer.is_some().then(|| vocabulary(args)).transpose()?;
            let custom = Custom { file: file(args)?, count, seed: args.seed, output: args.custom_output_len };
            custom.questions(vocabulary.as_ref())?
        }
    };
    Ok(Some(questions.into()))
}

fn random(args: &BenchArgs, recipe: RecipeName, count: usize) -> Random {
    let recipe = match recipe {
        RecipeName::Vllm => Recipe::Vllm,
        RecipeName::Vllm011 => Recipe::Vllm011,
        RecipeName::Sglang => Recipe::Sglang,
    };
    let lengths = Lengths {
        input: args.random_input_len,
        output: args.random_output_len,
        range_ratio: args.random_range_ratio.unwrap_or(0.0),
        prefix: args.random_prefix_len,
    };
    Random { recipe, lengths, count, seed: args.seed }
}

fn vocabulary(args: &BenchArgs) -> Result<Vocabulary, DataError> {
    let path = args.tokenizer.as_ref();
    let path = path.ok_or_else(|| DataError::Settings("these prompts need --tokenizer PATH".to_owned()))?;
    Vocabulary::load(path)
}

fn file(args: &BenchArgs) -> Result<std::path::PathBuf, DataError> {
    let missing = || DataError::Settings("this data set needs --dataset-path FILE".to_owned());
    args.dataset_path.clone().ok_or_else(missing)
}
