//! A tokenizer that is read when the first text is to be made with it: where all texts are known from before, it never is.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::error::LoadError;
use super::spec::LoadSpec;
use super::tokens::ExactTokens;
use crate::data::{Around, ChatTemplate, DataError, Source, TemplateTokens, begins_key};

/// A tokenizer, and what a server puts around the texts that are made with it.
#[derive(Debug)]
pub(super) struct LateTokens {
    path: PathBuf,
    /// The server adds the tokenizer's special tokens to a text as it is.
    with_added: bool,
    around: Option<Around>,
    /// Lengths count what stands around a text.
    counted: bool,
    read: OnceLock<(ExactTokens, Option<TemplateTokens>)>,
    reading: Mutex<()>,
}

impl LateTokens {
    /// That of a load, if it makes texts with one. Reads the chat template, and not the tokenizer.
    pub(super) fn of(spec: &LoadSpec) -> Result<Option<Self>, LoadError> {
        // questions that are given need none, and a warm-up needs no exact lengths
        let makes_texts = spec.data.as_ref().is_none_or(|data| matches!(data.source, Source::Trace(_)));
        let Some(path) = spec.prompts.tokenizer.clone().filter(|_| makes_texts) else { return Ok(None) };
        let (with_added, counted) = (!spec.api.has_template(), spec.prompts.counts_template);
        let template = if with_added { Ok(None) } else { ChatTemplate::load(&path, &spec.extra_body) };
        let around = match template.and_then(|template| template.map(|t| t.around()).transpose()) {
            Ok(None) if counted => {
                // where there is no tokenizer, that is what is wrong
                ExactTokens::load(&path, with_added)?;
                let why = "there is none beside the tokenizer, or the endpoint has none".to_owned();
                return Err(DataError::Template(why).into());
            }
            Err(e) if counted => return Err(e.into()),
            // what it adds is not known
            Err(_) => None,
            Ok(around) => around,
        };
        let (read, reading) = (OnceLock::new(), Mutex::new(()));
        Ok(Some(Self { path, with_added, around, counted, read, reading }))
    }

    /// One that is read already, with nothing around.
    #[cfg(test)]
    pub(super) fn ready(tokens: ExactTokens) -> Self {
        let (path, reading) = (PathBuf::new(), Mutex::new(()));
        let read = OnceLock::from((tokens, None));
        Self { path, with_added: false, around: None, counted: false, read, reading }
    }

    /// The tokenizer, read at the first time.
    pub(super) fn get(&self) -> Result<&ExactTokens, LoadError> {
        if let Some((tokens, _)) = self.read.get() {
            return Ok(tokens);
        }
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if self.read.get().is_none() {
            let mut tokens = ExactTokens::load(&self.path, self.with_added)?;
            let around = self.around.clone();
            let template = around.map(|around| tokens.within(around, self.counted)).transpose()?;
            let _ = self.read.set((tokens, template));
        }
        let missing = || LoadError::Task("reading the tokenizer".to_owned());
        self.read.get().map(|(tokens, _)| tokens).ok_or_else(missing)
    }

    /// Whether it was read.
    pub(super) fn is_read(&self) -> bool {
        self.read.get().is_some()
    }

    /// What a template adds to a text, where that was counted.
    pub(super) fn template(&self) -> Option<TemplateTokens> {
        self.read.get()?.1
    }

    /// All of it that decides texts; `None` where that cannot be known.
    pub(super) fn key(&self) -> Option<String> {
        let key = begins_key(&self.path, self.around.as_ref())?;
        Some(format!("{key}texts, special tokens {}, template counted {}\n", self.with_added, self.counted))
    }
}
