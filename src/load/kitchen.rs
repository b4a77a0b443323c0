//! Prompts and bodies are made here before the clock starts, on all cores: drawing them while requests are
//! timed would be measured as the server's latency.

use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::body::BodyForm;
use super::error::LoadError;
use super::prompts::{Prompt, PromptMaker};
use super::seeds::Purpose;
use crate::data::{Content, Question, Traced};

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

    /// Makes the requests of these numbers, in order, off the runtime's own threads.
    pub(super) async fn cook(
        self: &Arc<Self>,
        purpose: Purpose,
        numbers: Range<u64>,
    ) -> Result<Vec<Rendered>, LoadError> {
        let kitchen = Arc::clone(self);
        let cooked = tokio::task::spawn_blocking(move || kitchen.cook_blocking(purpose, numbers)).await;
        cooked.map_err(|e| LoadError::Task(e.to_string()))?
    }

    fn cook_blocking(&self, purpose: Purpose, numbers: Range<u64>) -> Result<Vec<Rendered>, LoadError> {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get) as u64;
        let share = (numbers.end.saturating_sub(numbers.start)).div_ceil(cores).max(1);
        let parts = numbers.clone().step_by(share as usize).map(|from| from..(from + share).min(numbers.end));
        std::thread::scope(|scope| {
            let cooks: Vec<_> = parts.map(|part| scope.spawn(move || self.part(purpose, part))).collect();
            let mut all = Vec::new();
            for cook in cooks {
                all.extend(cook.join().map_err(|_| LoadError::Task("making prompts".to_owned()))??);
            }
            Ok(all)
        })
    }

    fn part(&self, purpose: Purpose, numbers: Range<u64>) -> Result<Vec<Rendered>, LoadError> {
        numbers.map(|index| self.one(purpose, index)).collect()
    }

    fn one(&self, purpose: Purpose, index: u64) -> Result<Rendered, LoadError> {
        let prompt = self.prompt(purpose, index)?;
        let body =
            self.form.render(&prompt).map_err(|e| LoadError::Spec(format!("a body that is no json: {e}")))?;
        Ok(Rendered { body: body.into(), input_tokens: prompt.tokens, output_tokens: prompt.output })
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

/// One of them, from the beginning again where there are too few.
fn nth<T>(all: &[T], index: u64) -> Result<&T, LoadError> {
    let place = usize::try_from(index % all.len().max(1) as u64).unwrap_or(0);
    all.get(place).ok_or_else(|| LoadError::Spec("it has no question to ask".to_owned()))
}
