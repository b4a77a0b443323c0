//! Prompts and bodies are made here before the clock starts, on all cores: drawing them while requests are
//! timed would be measured as the server's latency.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::body::BodyForm;
use super::error::LoadError;
use super::late::LateTokens;
use super::outcome::PromptFacts;
use super::pantry::{self, Pantry};
use super::prompts::{Prompt, PromptMaker};
use super::seeds::Purpose;
use crate::data::{self, Content, Question, TemplateTokens, Traced};

/// A request ready to be sent.
#[derive(Debug, Clone)]
pub(super) struct Rendered {
    pub body: Bytes,
    pub input_tokens: u32,
    pub output_tokens: u32,
}

/// Makes requests by number.
#[derive(Debug)]
pub(super) struct Kitchen {
    pub maker: PromptMaker,
    /// What the load asks instead of what the maker makes.
    pub given: Option<Arc<Content>>,
    pub form: BodyForm,
    /// Texts that were made before.
    pub pantry: Option<Pantry>,
    /// Prompts of the load so far.
    pub counts: Counts,
}

/// Prompts of a load, by where they came from.
#[derive(Debug, Default)]
pub(super) struct Counts {
    known: AtomicU64,
    made: AtomicU64,
}

impl Kitchen {
    /// Requests that each arrival brings, on average: those of a conversation, else one.
    pub(super) fn requests_each(&self) -> f64 {
        match self.given.as_deref() {
            Some(Content::Talks(all)) if !all.is_empty() => {
                all.iter().map(|talk| talk.turns.len() as f64).sum::<f64>() / all.len() as f64
            }
            _ => 1.0,
        }
    }

    /// The trace that the load follows; no request where it has none.
    pub(super) fn trace(&self) -> &[Traced] {
        match self.given.as_deref() {
            Some(Content::Traced(all)) => all,
            Some(Content::Questions(_) | Content::Talks(_)) | None => &[],
        }
    }

    /// Makes the requests of these numbers, in order, off the runtime's own threads; their texts are known from then on.
    pub(super) async fn cook(
        self: &Arc<Self>,
        purpose: Purpose,
        numbers: Range<u64>,
    ) -> Result<Vec<Rendered>, LoadError> {
        self.cook_as(purpose, numbers, true).await
    }

    /// The same while a load is running, which the disk is not to disturb.
    pub(super) async fn cook_late(
        self: &Arc<Self>,
        purpose: Purpose,
        numbers: Range<u64>,
    ) -> Result<Vec<Rendered>, LoadError> {
        self.cook_as(purpose, numbers, false).await
    }

    /// Reads the tokenizer now, for who cannot know how many requests there will be: while others are timed it would disturb them.
    pub(super) async fn get_ready(self: &Arc<Self>) -> Result<(), LoadError> {
        let kitchen = Arc::clone(self);
        let ready = tokio::task::spawn_blocking(move || {
            kitchen.maker.tokenizer.as_ref().map_or(Ok(()), |tokens| tokens.get().map(|_| ()))
        });
        ready.await.map_err(|e| LoadError::Task(e.to_string()))?
    }

    /// Where the prompts of so many requests came from, the first ones: more are made than a load that ends by time sends.
    pub(super) fn facts(&self, asked: u64) -> PromptFacts {
        // what is known are the first of all
        let from_cache = self.counts.known.load(Ordering::Relaxed).min(asked);
        PromptFacts {
            from_cache,
            made: self.counts.made.load(Ordering::Relaxed).min(asked - from_cache),
            tokenizer_read: self.maker.tokenizer.as_ref().is_some_and(LateTokens::is_read),
        }
    }

    /// What a chat template adds to the texts that are made here, where it is known.
    pub(super) fn template(&self) -> Option<TemplateTokens> {
        let tokens = self.maker.tokenizer.as_ref()?;
        if tokens.is_read() { tokens.template() } else { self.pantry.as_ref()?.template() }
    }

    async fn cook_as(
        self: &Arc<Self>,
        purpose: Purpose,
        numbers: Range<u64>,
        keeps: bool,
    ) -> Result<Vec<Rendered>, LoadError> {
        let kitchen = Arc::clone(self);
        let cooked =
            tokio::task::spawn_blocking(move || kitchen.cook_blocking(purpose, numbers, keeps)).await;
        cooked.map_err(|e| LoadError::Task(e.to_string()))?
    }

    fn cook_blocking(
        &self,
        purpose: Purpose,
        numbers: Range<u64>,
        keeps: bool,
    ) -> Result<Vec<Rendered>, LoadError> {
        // a warm-up of given questions is made of words
        let texts = matches!(self.given.as_deref(), None | Some(Content::Traced(_)));
        let words = self.given.is_some() && purpose == Purpose::Warmup;
        let pantry = self.pantry.as_ref().filter(|_| texts && !words);
        let mut all = pantry.map_or_else(Vec::new, |pantry| self.taken(pantry, purpose, &numbers));
        let from = numbers.start + all.len() as u64;
        // once, before all cores want it: one that cannot be read is not tried by each of them
        if let Some(tokenizer) =
            self.maker.tokenizer.as_ref().filter(|_| texts && !words && from < numbers.end)
        {
            tokenizer.get()?;
        }
        let keeper = pantry.filter(|_| keeps);
        let adding = keeper.and_then(|pantry| pantry.begin(purpose, &(from..numbers.end), &self.maker));
        let made = on_all_cores(from..numbers.end, |index| {
            let prompt = self.prompt(purpose, index)?;
            // to the disk as it is made: long prompts are not held twice
            if let Some(adding) = &adding {
                adding.add(index, &prompt);
            }
            self.rendered(&prompt)
        })?;
        if purpose == Purpose::Load {
            self.counts.known.fetch_add(all.len() as u64, Ordering::Relaxed);
            self.counts.made.fetch_add(made.len() as u64, Ordering::Relaxed);
        }
        if let Some((pantry, adding)) = keeper.zip(adding) {
            pantry.end(purpose, adding, &self.maker);
        }
        all.extend(made);
        Ok(all)
    }

    /// The first of these requests, as far as they are known from before; none where one of them is damaged.
    fn taken(&self, pantry: &Pantry, purpose: Purpose, numbers: &Range<u64>) -> Vec<Rendered> {
        let Some(kept) = pantry.known(purpose) else { return Vec::new() };
        let known = numbers.start..numbers.end.min(kept.len() as u64).max(numbers.start);
        let damaged = || LoadError::Task("reading prompts".to_owned());
        let taken =
            on_all_cores(known, |index| self.rendered(&pantry::prompt(&kept, index).ok_or_else(damaged)?));
        taken.unwrap_or_else(|_| {
            pantry.forget(purpose);
            Vec::new()
        })
    }

    fn rendered(&self, prompt: &Prompt) -> Result<Rendered, LoadError> {
        let body =
            self.form.render(prompt).map_err(|e| LoadError::Spec(format!("a body that is no json: {e}")))?;
        Ok(Rendered {
            body: body.into(),
            input_tokens: prompt.tokens,
            output_tokens: self.form.asked(prompt.output),
        })
    }

    fn prompt(&self, purpose: Purpose, index: u64) -> Result<Prompt, LoadError> {
        match self.given.as_deref() {
            None => self.maker.make(purpose, index),
            Some(Content::Questions(all)) => {
                let Question { text, tokens, output, .. } = nth(all, index)?;
                match purpose {
                    Purpose::Load => Ok(Prompt { text: text.clone(), tokens: *tokens, output: *output }),
                    // what is to be asked is in no cache yet
                    Purpose::Warmup => self.maker.as_long_as(*tokens, *output, purpose, index),
                }
            }
            // a conversation's turns are made as they come; the warm-up asks questions as long as its first
            Some(Content::Talks(all)) => {
                let first = nth(all, index)?.turns.first();
                let (tokens, output) = first.map_or((1, 1), |turn| (turn.tokens, turn.output));
                self.maker.as_long_as(tokens, output, Purpose::Warmup, index)
            }
            Some(Content::Traced(all)) => {
                let traced: &Traced = nth(all, index)?;
                match purpose {
                    Purpose::Load => self.maker.of_trace(traced, index),
                    Purpose::Warmup => self.maker.as_long_as(traced.input, traced.output, purpose, index),
                }
            }
        }
    }
}

/// What is made for each of these numbers, in their order; an error ends it.
pub(super) fn on_all_cores<R: Send>(
    numbers: Range<u64>,
    make: impl Fn(u64) -> Result<R, LoadError> + Sync,
) -> Result<Vec<R>, LoadError> {
    let count = usize::try_from(numbers.end.saturating_sub(numbers.start)).unwrap_or(usize::MAX);
    let panicked = || LoadError::Task("making prompts".to_owned());
    data::on_all_cores(count, |n| make(numbers.start + n as u64), panicked)
}

/// One of them, from the beginning again where there are too few.
fn nth<T>(all: &[T], index: u64) -> Result<&T, LoadError> {
    let place = usize::try_from(index % all.len().max(1) as u64).unwrap_or(0);
    all.get(place).ok_or_else(|| LoadError::Spec("it has no question to ask".to_owned()))
}
