//! Whatever the load and the limits: every request gets exactly its tokens, no step exceeds its bounds, and at the
//! end every block is free again.

use std::collections::HashMap;

use proptest::prelude::*;

use super::super::{Ending, Limits, Prompt, Request, RequestId, Scheduler};

#[derive(Debug, Clone)]
struct Case {
    limits: Limits,
    requests: Vec<(u32, u32)>,
    /// Words of the prompts are drawn from so many texts, so that prefixes collide.
    texts: u64,
    /// Cancel every n-th request after its first token.
    cancel_every: Option<usize>,
}

fn cases() -> impl Strategy<Value = Case> {
    let limits = (1u32..12, 16u32..200, 4u32..40, any::<bool>(), 0u32..4, 0.0..1.0f64);
    let requests = prop::collection::vec((1u32..60, 1u32..40), 1..40);
    (limits, requests, 1u64..5, prop::option::of(2usize..5)).prop_map(
        |(limits, requests, texts, cancel_every)| {
            let (
                max_sequences,
                max_batched_tokens,
                kv_blocks,
                prefix_caching,
                draft_tokens,
                draft_acceptance,
            ) = limits;
            let limits = Limits {
                max_sequences,
                max_batched_tokens,
                max_model_len: 100,
                kv_blocks: kv_blocks.max(7),
                prefix_caching,
                draft_tokens,
                draft_acceptance,
                seed: 3,
            };
            Case { limits, requests, texts, cancel_every }
        },
    )
}

fn request(case: &Case, index: usize) -> Request {
    let (input, output) = case.requests[index];
    let mut prompt = Prompt::default();
    prompt.extend((0..input).map(|place| u64::from(place) * 7 + index as u64 % case.texts));
    Request { id: index as RequestId, prompt, output_tokens: output, ending: Ending::Length }
}

proptest! {
    #[test]
    fn every_request_gets_its_tokens_and_every_block_comes_back(case in cases()) {
        let mut scheduler = Scheduler::new(case.limits);
        for index in 0..case.requests.len() {
            prop_assert!(scheduler.submit(request(&case, index)).is_ok());
        }
        let mut received: HashMap<RequestId, u32> = HashMap::new();
        let mut ended = 0;
        let mut cancelled = 0;
        let mut steps = 0;
        while let Some((batch, emissions)) = scheduler.step() {
            steps += 1;
            prop_assert!(steps < 100_000, "no progress");
            prop_assert!(batch.tokens >= 1 && batch.tokens <= u64::from(case.limits.max_batched_tokens));
            prop_assert!(batch.sequences <= u64::from(case.limits.max_sequences));
            prop_assert!(scheduler.pool().used() <= case.limits.kv_blocks);
            for emission in emissions {
                let total = received.entry(emission.id).or_default();
                prop_assert_eq!(emission.position, *total);
                *total += emission.tokens;
                let wanted = case.requests[emission.id as usize].1;
                prop_assert!(*total <= wanted);
                prop_assert_eq!(emission.ending.is_some(), *total == wanted);
                ended += usize::from(emission.ending.is_some());
                let leaves = case.cancel_every.is_some_and(|every| (emission.id as usize).is_multiple_of(every));
                if leaves && emission.ending.is_none() {
                    prop_assert!(scheduler.cancel(emission.id));
                    cancelled += 1;
                }
            }
        }
        prop_assert_eq!(ended + cancelled, case.requests.len());
        prop_assert_eq!(scheduler.running() + scheduler.waiting(), 0);
        prop_assert_eq!(scheduler.pool().used(), 0);
        prop_assert!(scheduler.reset_prefix_cache());
        let counters = scheduler.counters();
        prop_assert_eq!(counters.generation_tokens, received.values().map(|&n| u64::from(n)).sum::<u64>());
        prop_assert_eq!(counters.aborted as usize, cancelled);
        prop_assert!(counters.prefix_hits <= counters.prefix_queries);
    }
}
