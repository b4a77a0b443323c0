//! Texts that a tokenizer made before, kept on the disk, so that a load that asks what an earlier one has asked begins without reading the
//! tokenizer.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::late::LateTokens;
use super::prompts::{Prompt, PromptMaker};
use super::seeds::Purpose;
use super::spec::LoadSpec;
use crate::data::{DataSet, Source, TemplateTokens};
use crate::disk::{self, Kept, Shelf};

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

    /// Adds prompts that were made, from that number on.
    pub(super) fn keep(&self, purpose: Purpose, from: u64, made: &[Vec<u8>], maker: &PromptMaker) {
        let mut known = self.of_purpose(purpose);
        let count = known.as_ref().map_or(0, |kept| kept.len()) as u64;
        // a file that was replaced meanwhile is not what the key says
        let stands = self.key_now(maker).is_some_and(|now| self.key.starts_with(&now));
        if made.is_empty() || from > count || !stands {
            return;
        }
        let template = maker.tokenizer.as_ref().and_then(LateTokens::template);
        let Ok(note) = serde_json::to_string(&template) else { return };
        let (key, from) = (self.full_key(purpose), usize::try_from(from).unwrap_or(usize::MAX));
        if self.shelf.keep(&key, &note, known.as_deref().map(|kept| (kept, from)), made) {
            *known = self.shelf.find(&key).map(Arc::new);
        }
    }

    /// What a chat template adds to a prompt, as it was counted when these were made.
    pub(super) fn template(&self) -> Option<TemplateTokens> {
        let known = self.known(Purpose::Load).or_else(|| self.known(Purpose::Warmup))?;
        serde_json::from_str(known.note()).ok()?
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
