//! Continuous batching by the rules of vLLM's V1 scheduler. Running requests come first, each with its next token or
//! the next chunk of its prompt, within one token budget; when the KV cache has no block left the last of them is
//! preempted; only a step that preempted nobody admits waiting requests, first come first served.

use std::collections::VecDeque;

use super::blocks::BlockPool;
use super::cost::Batch;
use super::sequence::{Emission, Ending, Request, RequestId, Sequence, Work};
use super::tokens::BLOCK_TOKENS;

/// What bounds a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Requests that may run at once (`--max-num-seqs`).
    pub max_sequences: u32,
    /// Tokens that a step may compute (`--max-num-batched-tokens`).
    pub max_batched_tokens: u32,
    /// Tokens that prompt and answer may have together (`--max-model-len`).
    pub max_model_len: u32,
    /// Blocks of the KV cache.
    pub kv_blocks: u32,
    /// Whether equal beginnings are computed once.
    pub prefix_caching: bool,
    /// Tokens that are drafted for every decode (`--num-speculative-tokens`).
    pub draft_tokens: u32,
    /// Probability that a draft is accepted, given that those before it were.
    pub draft_acceptance: f64,
    /// Seed of the model's answers.
    pub seed: u64,
}

/// Totals since the engine started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests that had to give their blocks back.
    pub preemptions: u64,
    /// Tokens of prompts whose first answer token came out.
    pub prompt_tokens: u64,
    /// Tokens generated.
    pub generation_tokens: u64,
    /// Tokens that were looked up in the prefix cache.
    pub prefix_queries: u64,
    /// Tokens that were found there.
    pub prefix_hits: u64,
    /// Requests that ended with all their tokens.
    pub ended_by_length: u64,
    /// Requests whose answer ended by itself.
    pub ended_by_stop: u64,
    /// Requests whose client left.
    pub aborted: u64,
}

/// A request that no number of steps could serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing to compute or nothing to answer.
    #[error("a request needs at least one prompt token and one output token")]
    Empty,
    /// More tokens than the context has.
    #[error("{tokens} tokens do not fit into a context of {context}")]
    TooLong {
        /// Tokens of prompt and answer.
        tokens: u64,
        /// The smaller of the model length and the KV cache, in tokens.
        context: u32,
    },
}

/// The requests of one engine and its KV cache.
#[derive(Debug)]
pub struct Scheduler {
    limits: Limits,
    pool: BlockPool,
    running: Vec<Sequence>,
    waiting: VecDeque<Sequence>,
    counters: Counters,
}

impl Scheduler {
    /// An idle scheduler. A model length beyond the KV cache is cut to it, so that every request taken can finish.
    pub fn new(limits: Limits) -> Self {
        let kv_tokens = limits.kv_blocks.saturating_mul(BLOCK_TOKENS);
        let limits = Limits {
            max_sequences: limits.max_sequences.max(1),
            max_batched_tokens: limits.max_batched_tokens.max(1),
            max_model_len: limits.max_model_len.min(kv_tokens),
            ..limits
        };
        Self {
            pool: BlockPool::new(limits.kv_blocks, limits.prefix_caching),
            limits,
            running: Vec::new(),
            waiting: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Whether the request can be served at all.
    pub fn check(&self, prompt_tokens: u32, output_tokens: u32) -> Result<(), Refusal> {
        let tokens = u64::from(prompt_tokens) + u64::from(output_tokens);
        if prompt_tokens == 0 || output_tokens == 0 {
            Err(Refusal::Empty)
        } else if tokens > u64::from(self.limits.max_model_len) {
            Err(Refusal::TooLong { tokens, context: self.limits.max_model_len })
        } else {
            Ok(())
        }
    }

    /// Puts a request at the end of the waiting queue.
    pub fn submit(&mut self, request: Request) -> Result<(), Refusal> {
        self.check(request.prompt.tokens, request.output_tokens)?;
        self.waiting.push_back(Sequence::new(request, self.limits.seed));
        Ok(())
    }

    /// Drops a request and frees its blocks; false when it is not here (any more).
    pub fn cancel(&mut self, id: RequestId) -> bool {
        let is_it = |sequence: &Sequence| sequence.request.id == id;
        let found = if let Some(index) = self.running.iter().position(is_it) {
            let sequence = self.running.remove(index);
            self.pool.release(&sequence.blocks);
            true
        } else if let Some(index) = self.waiting.iter().position(is_it) {
            self.waiting.remove(index);
            true
        } else {
            false
        };
        self.counters.aborted += u64::from(found);
        found
    }

    /// Forgets all cached prefixes; refused (false) while requests run.
    pub fn reset_prefix_cache(&mut self) -> bool {
        self.pool.forget()
    }

    /// Requests in the running batch.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Requests that wait for admission.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Totals so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The KV cache, for a look at its use.
    pub fn pool(&self) -> &BlockPool {
        &self.pool
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Plans and does one step: what it computes and which tokens come out. `None` when there is nothing to do.
    pub fn step(&mut self) -> Option<(Batch, Vec<Emission>)> {
        let mut budget = self.limits.max_batched_tokens;
        let before = self.counters.preemptions;
        let mut work = self.schedule_running(&mut budget);
        if self.counters.preemptions == before {
            self.admit_waiting(&mut budget, &mut work);
        }
        if work.is_empty() {
            return None;
        }
        let batch = self.batch_of(&work);
        let emissions = self.advance(&work);
        Some((batch, emissions))
    }

    /// Work of the running requests in order, as far as the budget goes.
    fn schedule_running(&mut self, budget: &mut u32) -> Vec<Work> {
        let mut work = Vec::with_capacity(self.running.len());
        while work.len() < self.running.len() && *budget > 0 {
            let index = work.len();
            let next =
                self.running[index].next_work(*budget, self.limits.draft_tokens, self.limits.max_model_len);
            if !self.make_room(index, next) {
                break;
            }
            *budget -= next.tokens();
            work.push(next);
        }
        work
    }

    /// Gives the running request its blocks, from the last ones if need be; false when it had to go itself.
    fn make_room(&mut self, index: usize, work: Work) -> bool {
        let missing = self.running[index].missing_blocks(work);
        loop {
            if let Some(blocks) = self.pool.take(&[], missing) {
                let sequence = &mut self.running[index];
                sequence.blocks.extend(blocks);
                publish(&mut self.pool, sequence, work);
                return true;
            }
            self.preempt_last();
            if index >= self.running.len() {
                return false;
            }
        }
    }

    /// The last running request gives its blocks back and waits at the front; what stays cached it will find again.
    fn preempt_last(&mut self) {
        let Some(mut sequence) = self.running.pop() else { return };
        self.pool.release(&sequence.blocks);
        sequence.blocks.clear();
        sequence.computed = 0;
        sequence.published = 0;
        self.waiting.push_front(sequence);
        self.counters.preemptions += 1;
    }

    /// Admits waiting requests in order until one does not fit.
    fn admit_waiting(&mut self, budget: &mut u32, work: &mut Vec<Work>) {
        // a step cut short by its budget leaves running requests without work: nobody may be admitted past them
        while *budget > 0 && self.running.len() < self.limits.max_sequences as usize {
            let Some(mut sequence) = self.waiting.pop_front() else { return };
            let Some(next) = self.place(&mut sequence, *budget) else {
                self.waiting.push_front(sequence);
                return;
            };
            *budget -= next.tokens();
            work.push(next);
            self.running.push(sequence);
        }
    }

    /// Finds what the cache holds of a waiting request and takes blocks for its first chunk, or leaves it as it was.
    fn place(&mut self, sequence: &mut Sequence, budget: u32) -> Option<Work> {
        let found = self.pool.find_prefix(sequence.reusable_names());
        let cached = found.len() as u32 * BLOCK_TOKENS;
        let next = Work::Prefill((sequence.known() - cached).min(budget));
        let blocks = (cached + next.tokens()).div_ceil(BLOCK_TOKENS);
        sequence.blocks = self.pool.take(&found, blocks - found.len() as u32)?;
        sequence.computed = cached;
        sequence.published = found.len();
        if sequence.cached_tokens.is_none() {
            sequence.cached_tokens = Some(cached);
            if self.limits.prefix_caching {
                self.counters.prefix_queries += u64::from(sequence.known());
                self.counters.prefix_hits += u64::from(cached);
            }
        }
        publish(&mut self.pool, sequence, next);
        Some(next)
    }

    fn batch_of(&self, work: &[Work]) -> Batch {
        let mut batch = Batch::default();
        for (sequence, work) in self.running.iter().zip(work) {
            match *work {
                Work::Prefill(tokens) => batch.add_prefill(u64::from(tokens), u64::from(sequence.computed)),
                Work::Decode { drafts } => batch.add_decode(u64::from(sequence.known()), u64::from(drafts)),
            }
        }
        batch
    }

    /// Computes the work and lets the finished requests go.
    fn advance(&mut self, work: &[Work]) -> Vec<Emission> {
        let acceptance = self.limits.draft_acceptance;
        let mut emissions = Vec::with_capacity(work.len());
        for (sequence, &work) in self.running.iter_mut().zip(work) {
            let first = !sequence.has_emitted();
            let Some(emission) = sequence.advance(work, acceptance) else { continue };
            self.counters.prompt_tokens += if first { u64::from(sequence.request.prompt.tokens) } else { 0 };
            self.counters.generation_tokens += u64::from(emission.tokens);
            match emission.ending {
                Some(Ending::Length) => self.counters.ended_by_length += 1,
                Some(Ending::Stop) => self.counters.ended_by_stop += 1,
                None => {}
            }
            emissions.push(emission);
        }
        if emissions.iter().any(|emission| emission.ending.is_some()) {
            let pool = &mut self.pool;
            let finished = self.running.extract_if(.., |sequence| sequence.is_finished());
            finished.for_each(|sequence| pool.release(&sequence.blocks));
        }
        emissions
    }
}

/// Names the blocks that `work` fills. As in vLLM they can be found from now on, by requests of the same step too.
fn publish(pool: &mut BlockPool, sequence: &mut Sequence, work: Work) {
    let mut count = 0;
    for (block, name) in sequence.newly_full(work) {
        pool.publish(block, name);
        count += 1;
    }
    sequence.published += count;
}
