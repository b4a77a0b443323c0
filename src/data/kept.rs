//! Questions that were made before, kept on the disk under all that decides them, so that no tokenizer is read to make them again.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::chat::{Around, TemplateTokens};
use super::question::Question;
use super::set::{Content, DataSet, Made, Source};
use crate::disk::{self, Kept, Shelf};

/// Goes up with every change of what is drawn, made or kept. A test knows what the present one draws.
pub(super) const GENERATION: u32 = 3;

/// The release of the crate that takes texts apart and puts them together: another may do so otherwise.
const TOKENIZERS: &str = "0.23.2";

/// What decides every prompt that is made with a tokenizer: what this program does, and what the tokenizer is. `None` where that cannot
/// be read.
pub fn begins_key(tokenizer: &Path, around: Option<&Around>) -> Option<String> {
    let file = if tokenizer.is_dir() { tokenizer.join("tokenizer.json") } else { tokenizer.to_path_buf() };
    let of_config = match disk::of_file(&file.with_file_name("tokenizer_config.json")) {
        Ok(identity) => identity,
        Err(e) if e.kind() == io::ErrorKind::NotFound => "none".to_owned(),
        Err(_) => return None,
    };
    let of_file = disk::of_file(&file).ok()?;
    let version = env!("CARGO_PKG_VERSION");
    Some(format!(
        "prompts {GENERATION} of {version}, tokenizers {TOKENIZERS}\n{of_file}\n{of_config}\n{around:?}\n"
    ))
}

/// All that decides a data set's questions; `None` where they are not worth keeping, or that cannot be known.
pub(super) fn key(data: &DataSet, around: Option<&Around>) -> Option<String> {
    let file = match &data.source {
        Source::Random(_) | Source::PrefixRepetition(_) => None,
        Source::ShareGpt(sharegpt) => Some(&sharegpt.file),
        Source::Custom(custom) => Some(&custom.file),
        Source::Conversations(talks) => Some(&talks.file),
        Source::Trace(_) => return None,
    };
    let mut key = begins_key(data.tokenizer.as_ref()?, around)?;
    if let Some(file) = file {
        key.push_str(&disk::of_file(file).ok()?);
    }
    // writing to a string cannot fail
    let _ = write!(key, "\n{:?}\n{:?}", data.source, data.apart_from);
    Some(key)
}

/// What stands beside the records.
#[derive(Serialize, Deserialize)]
struct Note {
    talks: bool,
    template: Option<TemplateTokens>,
}

/// What was kept under a key, if all of it is as it was.
pub(super) fn find(shelf: &Shelf, key: &str) -> Option<Made> {
    let kept = shelf.find(key)?;
    let made = read(&kept);
    if made.is_none() {
        shelf.forget(key);
    }
    made
}

fn read(kept: &Kept) -> Option<Made> {
    let Note { talks, template } = serde_json::from_str(kept.note()).ok()?;
    let mut records = (0..kept.len()).map(|n| kept.record(n).ok());
    let content = if talks {
        Content::Talks(records.map(|r| serde_json::from_slice(&r?).ok()).collect::<Option<_>>()?)
    } else {
        Content::Questions(records.try_fold(Vec::with_capacity(kept.len()), |mut all, record| {
            all.push(question(record?)?);
            Some(all)
        })?)
    };
    Some(Made { content, template, kept: true })
}

/// Keeps what was made.
pub(super) fn keep(shelf: &Shelf, key: &str, made: &Made) {
    let (talks, records) = match &made.content {
        Content::Questions(all) => (false, all.iter().map(|q| Some(record(q))).collect()),
        Content::Talks(all) => (true, all.iter().map(|talk| serde_json::to_vec(talk).ok()).collect()),
        Content::Traced(_) => return,
    };
    let records: Option<Vec<Vec<u8>>> = records;
    let note = serde_json::to_string(&Note { talks, template: made.template });
    if let (Some(records), Ok(note)) = (records, note) {
        shelf.keep(key, &note, None, &records);
    }
}

/// Numbers before a question's text: tokens, tokens of the answer, whether it has a beginning, and that.
const NUMBERS: usize = 17;

fn record(question: &Question) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(NUMBERS + question.text.len());
    bytes.extend(question.tokens.to_le_bytes());
    bytes.extend(question.output.to_le_bytes());
    bytes.push(u8::from(question.beginning.is_some()));
    bytes.extend(question.beginning.unwrap_or(0).to_le_bytes());
    bytes.extend(question.text.bytes());
    bytes
}

fn question(mut bytes: Vec<u8>) -> Option<Question> {
    let numbers: [u8; NUMBERS] = *bytes.first_chunk()?;
    let word = |at: usize| numbers[at..].first_chunk().map(|four| u32::from_le_bytes(*four));
    let beginning = numbers[9..].first_chunk().map(|eight| u64::from_le_bytes(*eight));
    let (tokens, output) = (word(0)?, word(4)?);
    bytes.drain(..NUMBERS);
    let text = String::from_utf8(bytes).ok()?;
    Some(Question { text, tokens, output, beginning: beginning.filter(|_| numbers[8] != 0) })
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::super::prefix_repetition::PrefixRepetition;
    use super::super::recipe::{Lengths, Random, Recipe};
    use super::super::vocabulary::small::vocabulary;
    use super::*;

    /// Fails where other prompts are drawn than before: raise `GENERATION`, else those that were kept are sent, and put in what is drawn
    /// now.
    #[test]
    fn what_is_drawn_is_what_this_generation_draws() {
        let vocabulary = vocabulary();
        let lengths = Lengths { input: 20, output: 4, range_ratio: 0.3, prefix: 3 };
        let recipes = [Recipe::Vllm, Recipe::Vllm011, Recipe::Sglang];
        let random = |recipe| Random { recipe, lengths, count: 9, seed: 3, exact: false };
        let mut all: Vec<Question> =
            recipes.iter().flat_map(|r| random(*r).questions(&vocabulary).expect("prompts")).collect();
        let groups = PrefixRepetition { prefix: 17, suffix: 5, prefixes: 2, output: 4, count: 8, seed: 3 };
        all.extend(groups.questions(&vocabulary).expect("prompts"));
        let mut sum = Sha256::new();
        for question in &all {
            sum.update(record(question));
        }
        let drawn = disk::hex(&sum.finalize());
        assert_eq!((GENERATION, &drawn[..16]), (3, "a87d31adde3bbe65"));
    }

    #[test]
    fn the_key_names_the_release_that_is_built_in() {
        let lock = include_str!("../../Cargo.lock");
        let own =
            lock.split("name = \"tokenizers\"\nversion = \"").nth(1).and_then(|rest| rest.split('"').next());
        assert_eq!(
            own,
            Some(TOKENIZERS),
            "write the new one here: prompts of the old one are then made anew"
        );
    }

    #[test]
    fn a_question_is_read_as_it_was_written() {
        let text = "w1 \u{e9}".to_owned();
        for beginning in [None, Some(0), Some(u64::MAX)] {
            let written = Question { text: text.clone(), tokens: 2, output: 9, beginning };
            assert_eq!(question(record(&written)), Some(written));
        }
        assert_eq!(question(vec![0; NUMBERS - 1]), None);
        assert_eq!(question([&[0; NUMBERS][..], &[0xff]].concat()), None);
    }
}
