//! One request inside the scheduler: how much of its text is computed, where its keys and values lie, and what it
//! says next.

use super::blocks::BlockId;
use super::tokens::{self, BLOCK_TOKENS, Chain, Prompt};

/// Number of a request, given out by whoever submits it.
pub type RequestId = u64;

/// Why a request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The tokens asked for are generated.
    Length,
    /// The model ended its answer before.
    Stop,
}

impl Ending {
    /// The word of the OpenAI protocol.
    pub const fn finish_reason(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Stop => "stop",
        }
    }
}

/// A request as the engine takes it.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its number.
    pub id: RequestId,
    /// The tokenised prompt.
    pub prompt: Prompt,
    /// Tokens that the answer will have.
    pub output_tokens: u32,
    /// Why it ends there.
    pub ending: Ending,
}

/// The tokens that one request gets from one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emission {
    /// Whose they are.
    pub id: RequestId,
    /// Place of the first of them in the answer.
    pub position: u32,
    /// How many, at least one; more only with accepted draft tokens.
    pub tokens: u32,
    /// Set when they are the last.
    pub ending: Option<Ending>,
    /// Prompt tokens that were found in the prefix cache when the request was first admitted.
    pub cached_tokens: u32,
}

/// What a sequence has to compute next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A chunk of known tokens.
    Prefill(u32),
    /// One token, with that many drafts behind it.
    Decode { drafts: u32 },
}

impl Work {
    pub(super) const fn tokens(self) -> u32 {
        match self {
            Self::Prefill(tokens) => tokens,
            Self::Decode { drafts } => 1 + drafts,
        }
    }
}

/// A request with its state.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) request: Request,
    pub(super) blocks: Vec<BlockId>,
    /// Known tokens whose keys and values are in `blocks`.
    pub(super) computed: u32,
    /// Blocks whose names others can find.
    pub(super) published: usize,
    /// `None` until first admitted.
    pub(super) cached_tokens: Option<u32>,
    /// Names of the full blocks of prompt and answer.
    names: Vec<u64>,
    chain: Chain,
    stream: u64,
    emitted: u32,
}

impl Sequence {
    pub(super) fn new(mut request: Request, seed: u64) -> Self {
        let names = std::mem::take(&mut request.prompt.blocks);
        Self {
            blocks: Vec::new(),
            computed: 0,
            published: 0,
            cached_tokens: None,
            names,
            chain: request.prompt.chain,
            stream: request.prompt.stream(seed),
            emitted: 0,
            request,
        }
    }

    /// Tokens of the prompt and of the answer so far.
    pub(super) fn known(&self) -> u32 {
        self.request.prompt.tokens + self.emitted
    }

    pub(super) fn is_finished(&self) -> bool {
        self.emitted >= self.request.output_tokens
    }

    pub(super) fn has_emitted(&self) -> bool {
        self.emitted > 0
    }

    /// The next work within `budget` tokens and, drafts included, within a context of `max_model_len`.
    pub(super) fn next_work(&self, budget: u32, drafts: u32, max_model_len: u32) -> Work {
        let missing = self.known() - self.computed;
        if missing == 1 && self.emitted > 0 {
            let room = max_model_len.saturating_sub(self.known()).min(budget.saturating_sub(1));
            return Work::Decode { drafts: drafts.min(room) };
        }
        Work::Prefill(missing.min(budget))
    }

    /// Blocks that `work` needs beyond those held.
    pub(super) fn missing_blocks(&self, work: Work) -> u32 {
        (self.computed + work.tokens()).div_ceil(BLOCK_TOKENS).saturating_sub(self.blocks.len() as u32)
    }

    /// Names of the blocks that may come from the cache: the last known token is always computed, as its logits are
    /// what the step is for.
    pub(super) fn reusable_names(&self) -> &[u64] {
        let full = (self.known().saturating_sub(1) / BLOCK_TOKENS) as usize;
        &self.names[..full.min(self.names.len())]
    }

    /// Names of the held blocks that `work` will have filled and that others cannot find yet.
    pub(super) fn newly_full(&self, work: Work) -> impl Iterator<Item = (BlockId, u64)> + '_ {
        let full = ((self.computed + work.tokens()).min(self.known()) / BLOCK_TOKENS) as usize;
        let pairs = self.blocks.iter().copied().zip(self.names.iter().copied());
        pairs.take(full).skip(self.published)
    }

    /// Does the work; returns how many tokens come out.
    pub(super) fn advance(&mut self, work: Work, draft_acceptance: f64) -> Option<Emission> {
        let accepted = match work {
            Work::Prefill(tokens) => {
                self.computed += tokens;
                if self.computed < self.known() {
                    return None;
                }
                0
            }
            Work::Decode { drafts } => {
                let accepted = self.accepted_drafts(drafts, draft_acceptance);
                self.computed += 1 + accepted;
                accepted
            }
        };
        Some(self.emit(1 + accepted))
    }

    /// Draft tokens that the model agrees with, up to its first disagreement. A function of seed, prompt and place.
    fn accepted_drafts(&self, drafts: u32, acceptance: f64) -> u32 {
        let place = u64::from(self.emitted) << 8;
        let rejected = |draft: &u32| tokens::unit(!self.stream ^ (place | u64::from(*draft))) > acceptance;
        let left = self.request.output_tokens.saturating_sub(self.emitted + 1);
        (0..drafts).find(rejected).unwrap_or(drafts).min(left)
    }

    fn emit(&mut self, count: u32) -> Emission {
        let position = self.emitted;
        for place in position..position + count {
            self.names.extend(self.chain.push(tokens::generated_token(self.stream, place)));
        }
        self.emitted += count;
        Emission {
            id: self.request.id,
            position,
            tokens: count,
            ending: self.is_finished().then_some(self.request.ending),
            cached_tokens: self.cached_tokens.unwrap_or(0),
        }
    }
}
