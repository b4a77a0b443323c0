//! Texts that a tokenizer made before, kept on the disk, so that a load that asks what an earlier one has asked begins without reading the
//! tokenizer.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::late::LateTokens;
use super::prompts::{Prompt, PromptMaker};
use super::seeds::Purpose;
use super::spec::LoadSpec;
use crate::data::{DataSet, Source, TemplateTokens};
use crate::disk::{self, Keeping, Kept, Shelf};

/// What stands in front of a prompt's text: its tokens and those of the answer.
const NUMBERS: usize = 8;

/// The prompts of one load, and of its warm-up.
#[derive(Debug)]
pub(super) struct Pantry {
    shelf: Shelf,
    /// All that decides them; nothing is kept where it cannot be known.
    key: String,
    trace: Option<PathBuf>,
    load: Mutex<Option<Arc<Kept>>>,
    warmup: Mutex<Option<Arc<Kept>>>,
}

impl Pantry {
    /// That of a load whose texts are made with a tokenizer; others are made faster than they are read.
    pub(super) fn of(spec: &LoadSpec, maker: &PromptMaker) -> Option<Self> {
        let shelf = Shelf::new(spec.prompt_cache.clone()?);
        let (trace, how) = match spec.data.as_deref() {
            Some(DataSet { source: Source::Trace(trace), .. }) => {
                (Some(trace.file.clone()), format!("{trace:?}"))
            }
            _ => (None, String::new()),
        };
        let mut pantry = Self { shelf, key: how, trace, load: Mutex::default(), warmup: Mutex::default() };
        pantry.key = pantry.key_now(maker)? + &pantry.key;
        for purpose in [Purpose::Load, Purpose::Warmup] {
            *pantry.of_purpose(purpose) = pantry.shelf.find(&pantry.full_key(purpose)).map(Arc::new);
        }
        Some(pantry)
    }

    /// What files and settings say now.
    fn key_now(&self, maker: &PromptMaker) -> Option<String> {
        let mut key = maker.tokenizer.as_ref()?.key()?;
        if let Some(trace) = &self.trace {
            key.push_str(&disk::of_file(trace).ok()?);
        }
        let PromptMaker { input, output, shared, seed, .. } = maker;
        Some(format!("{key}\n{input:?} {output:?} {shared:?} {seed}\n"))
    }

    fn full_key(&self, purpose: Purpose) -> String {
        format!("{}\n{purpose:?}", self.key)
    }

    fn of_purpose(&self, purpose: Purpose) -> MutexGuard<'_, Option<Arc<Kept>>> {
        let kept = match purpose {
            Purpose::Load => &self.load,
            Purpose::Warmup => &self.warmup,
        };
        kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The prompts that are known, from the first on.
    pub(super) fn known(&self, purpose: Purpose) -> Option<Arc<Kept>> {
        self.of_purpose(purpose).clone()
    }

    /// What is known is not what was made: it is made again.
    pub(super) fn forget(&self, purpose: Purpose) {
        *self.of_purpose(purpose) = None;
        self.shelf.forget(&self.full_key(purpose));
    }

    /// Begins to add so many prompts, from that number on, which are written as they are made.
    pub(super) fn begin(&self, purpose: Purpose, made: &Range<u64>, maker: &PromptMaker) -> Option<Adding> {
        let known = self.known(purpose);
        let count = known.as_ref().map_or(0, |kept| kept.len()) as u64;
        if made.is_empty() || made.start > count {
            return None;
        }
        let template = maker.tokenizer.as_ref().and_then(LateTokens::template);
        let note = serde_json::to_string(&template).ok()?;
        let before = known.as_deref().zip(usize::try_from(made.start).ok());
        let new = usize::try_from(made.end - made.start).ok()?;
        let keeping = self.shelf.begin(&self.full_key(purpose), &note, before, new)?;
        Some(Adding { from: made.start, keeping: Mutex::new(keeping) })
    }

    /// Puts what was added in its place.
    pub(super) fn end(&self, purpose: Purpose, adding: Adding, maker: &PromptMaker) {
        let mut known = self.of_purpose(purpose);
        // a file that was replaced meanwhile is not what the key says
        let stands = self.key_now(maker).is_some_and(|now| self.key.starts_with(&now));
        let keeping = adding.keeping.into_inner().unwrap_or_else(PoisonError::into_inner);
        if stands && keeping.end() {
            *known = self.shelf.find(&self.full_key(purpose)).map(Arc::new);
        }
    }

    /// What a chat template adds to a prompt, as it was counted when these were made.
    pub(super) fn template(&self) -> Option<TemplateTokens> {
        let known = self.known(Purpose::Load).or_else(|| self.known(Purpose::Warmup))?;
        serde_json::from_str(known.note()).ok()?
    }
}

/// Prompts that are kept while they are made, by all who make them.
#[derive(Debug)]
pub(super) struct Adding {
    from: u64,
    keeping: Mutex<Keeping>,
}

impl Adding {
    /// A prompt by its number, in any order.
    pub(super) fn add(&self, number: u64, prompt: &Prompt) {
        let record = record(prompt);
        let place = usize::try_from(number - self.from).unwrap_or(usize::MAX);
        self.keeping.lock().unwrap_or_else(PoisonError::into_inner).add(place, &record);
    }
}

/// A prompt as it is kept.
pub(super) fn record(prompt: &Prompt) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(NUMBERS + prompt.text.len());
    bytes.extend(prompt.tokens.to_le_bytes());
    bytes.extend(prompt.output.to_le_bytes());
    bytes.extend(prompt.text.bytes());
    bytes
}

/// The prompt that was kept; `None` where it is damaged.
pub(super) fn prompt(kept: &Kept, number: u64) -> Option<Prompt> {
    let mut bytes = kept.record(usize::try_from(number).ok()?).ok()?;
    let numbers: [u8; NUMBERS] = *bytes.first_chunk()?;
    let word = |at: usize| numbers[at..].first_chunk().map(|four| u32::from_le_bytes(*four));
    let (tokens, output) = (word(0)?, word(4)?);
    bytes.drain(..NUMBERS);
    Some(Prompt { text: String::from_utf8(bytes).ok()?, tokens, output })
}
