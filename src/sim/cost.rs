//! How long one engine step takes. Every operation of the step has a roofline of its own (compute or memory, whichever
//! is slower) and they run one after another: one maximum over the whole step would let prefill hide decode, which
//! kernels that run in sequence cannot do.

use std::time::Duration;

use super::hardware::GpuSpec;
use super::models::{ModelShape, Precision};

/// What the data sheets do not tell: the shares of peak that real kernels reach and the time that the host takes.
/// The defaults were fitted together, as one vector, to ten published runs of vLLM on H100 cards with two models.
#[derive(Debug, Clone, PartialEq)]
pub struct Knobs {
    /// Share of peak BF16 FLOP/s that matrix products reach (`mfu` in 2 P T / (F mfu)).
    pub mfu_bf16: f64,
    /// Share of peak FP8 FLOP/s that matrix products reach.
    pub mfu_fp8: f64,
    /// Share of peak BF16 FLOP/s that prefill attention reaches.
    pub mfu_attention: f64,
    /// Share of peak memory bandwidth that weight and KV reads reach (`mbu` in bytes / (BW mbu)).
    pub mbu: f64,
    /// Host time per step in seconds (`t_step`).
    pub step_seconds: f64,
    /// Host time per step and sequence in seconds (`t_seq`): scheduling, sampling, detokenisation.
    pub sequence_seconds: f64,
    /// Share of the host time that asynchronous scheduling hides behind the card's work.
    pub async_hidden: f64,
    /// Launch time per layer in seconds of a step that is not replayed from a captured graph.
    pub launch_per_layer_seconds: f64,
    /// Largest step in tokens for which a graph is captured; longer steps are launched kernel by kernel anyway, and
    /// their launches hide behind their work.
    pub largest_graph_tokens: u64,
    /// Latency in seconds of one all-reduce (`alpha`).
    pub all_reduce_seconds: f64,
    /// Share of NVLink bandwidth that an all-reduce reaches (`eff`).
    pub nvlink_share: f64,
    /// Time of the API server per request in seconds (`front`): parsing, template, tokenisation, hand-over.
    pub front_end_seconds: f64,
    /// Memory in bytes that the engine takes whatever its flags: context, communicators, graphs.
    pub base_memory: f64,
    /// Probability that a draft token is accepted, given that those before it were.
    pub draft_acceptance: f64,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            mfu_bf16: 0.385,
            mfu_fp8: 0.28,
            mfu_attention: 0.379,
            mbu: 0.486,
            step_seconds: 0.06e-3,
            sequence_seconds: 16e-6,
            async_hidden: 0.7,
            launch_per_layer_seconds: 30e-6,
            largest_graph_tokens: 512,
            all_reduce_seconds: 8e-6,
            nvlink_share: 0.7,
            front_end_seconds: 12.1e-3,
            base_memory: 0.9e9,
            draft_acceptance: 0.7,
        }
    }
}

/// The work of one step, summed over its sequences as the scheduler picks them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Batch {
    /// Tokens computed, T: prompt tokens, one per decode, and the draft tokens.
    pub tokens: u64,
    /// Sequences in the step, ns.
    pub sequences: u64,
    /// Rows of logits: one per sequence and one per draft token.
    pub logit_rows: u64,
    /// Sum of q (ctx + q/2) over the prefill chunks, in tokens squared.
    pub prefill_pairs: f64,
    /// Sum of (ctx + q) over the prefill chunks, in tokens.
    pub prefill_context: u64,
    /// Sum of the contexts that decodes read, in tokens.
    pub decode_context: u64,
}

impl Batch {
    /// Adds a chunk of `new` prompt tokens behind `context` computed ones.
    pub fn add_prefill(&mut self, new: u64, context: u64) {
        self.tokens += new;
        self.sequences += 1;
        self.logit_rows += 1;
        self.prefill_pairs += new as f64 * (context as f64 + new as f64 / 2.0);
        self.prefill_context += context + new;
    }

    /// Adds one decode over `context` tokens, with `drafts` speculated tokens behind it.
    pub fn add_decode(&mut self, context: u64, drafts: u64) {
        self.tokens += 1 + drafts;
        self.sequences += 1;
        self.logit_rows += 1 + drafts;
        self.decode_context += context;
    }
}

/// Step times of one model on one set of cards.
#[derive(Debug, Clone)]
pub struct CostModel {
    knobs: Knobs,
    shape: ModelShape,
    /// FLOP/s of all cards for the blocks' matrix products, after `mfu`.
    matmul_rate: f64,
    /// FLOP/s of all cards for the output head, after `mfu`.
    head_rate: f64,
    /// FLOP/s of all cards for attention, after `mfu`.
    attention_rate: f64,
    /// Bytes/s of all cards, after `mbu`.
    read_rate: f64,
    /// Bytes of the blocks' matrices.
    block_bytes: f64,
    /// Bytes of keys and values per token.
    kv_bytes: f64,
    /// Bytes/s of an all-reduce on one card.
    link_rate: f64,
    cards: u32,
    eager: bool,
    asynchronous: bool,
}

/// Choices that change step times beside model and card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostOptions {
    /// Cards that share the model.
    pub tensor_parallel: u32,
    /// Precision of the weights.
    pub weights: Precision,
    /// Precision of the KV cache.
    pub kv_cache: Precision,
    /// No captured graphs.
    pub eager: bool,
    /// Host work of the next step overlaps with the card's work.
    pub asynchronous: bool,
}

impl CostModel {
    /// Combines a card's data sheet, a model's shape and the knobs.
    pub fn new(gpu: &GpuSpec, shape: &ModelShape, options: CostOptions, knobs: Knobs) -> Self {
        let cards = f64::from(options.tensor_parallel.max(1));
        let matmul_peak = match (options.weights, gpu.fp8_flops) {
            (Precision::Fp8, Some(fp8)) => fp8 * knobs.mfu_fp8,
            _ => gpu.bf16_flops * knobs.mfu_bf16,
        };
        Self {
            matmul_rate: matmul_peak * cards,
            head_rate: gpu.bf16_flops * knobs.mfu_bf16 * cards,
            attention_rate: gpu.bf16_flops * knobs.mfu_attention * cards,
            read_rate: gpu.bandwidth * knobs.mbu * cards,
            block_bytes: shape.block_parameters() * options.weights.bytes(),
            kv_bytes: shape.kv_bytes_per_token(options.kv_cache, options.tensor_parallel),
            link_rate: gpu.nvlink * knobs.nvlink_share,
            cards: options.tensor_parallel.max(1),
            eager: options.eager,
            asynchronous: options.asynchronous,
            shape: shape.clone(),
            knobs,
        }
    }

    /// The knobs in use.
    pub fn knobs(&self) -> &Knobs {
        &self.knobs
    }

    /// Time of one step from its start until its tokens are out.
    pub fn step(&self, batch: &Batch) -> Duration {
        let card = self.matrix_products(batch)
            + self.output_head(batch)
            + self.prefill_attention(batch)
            + self.decode_attention(batch)
            + self.all_reduce(batch);
        Duration::from_secs_f64(card + self.host(batch, card) + self.launches(batch))
    }

    /// max(2 P T / (F mfu), P wb / (BW mbu))
    fn matrix_products(&self, batch: &Batch) -> f64 {
        let compute = 2.0 * self.shape.block_parameters() * batch.tokens as f64 / self.matmul_rate;
        compute.max(self.block_bytes / self.read_rate)
    }

    /// max(2 V h rows / (F mfu), 2 V h / (BW mbu)); the head stays in BF16.
    fn output_head(&self, batch: &Batch) -> f64 {
        let table = f64::from(self.shape.vocabulary) * f64::from(self.shape.hidden);
        let compute = 2.0 * table * batch.logit_rows as f64 / self.head_rate;
        compute.max(Precision::Bf16.bytes() * table / self.read_rate)
    }

    /// max(sum 4 L Hq d q (ctx + q/2) / (F mfu), sum (ctx + q) kv / (BW mbu))
    fn prefill_attention(&self, batch: &Batch) -> f64 {
        let shape = &self.shape;
        let per_pair = 4.0 * f64::from(shape.layers) * f64::from(shape.heads) * f64::from(shape.head_dim);
        let compute = per_pair * batch.prefill_pairs / self.attention_rate;
        compute.max(batch.prefill_context as f64 * self.kv_bytes / self.read_rate)
    }

    /// kv sum ctx / (BW mbu)
    fn decode_attention(&self, batch: &Batch) -> f64 {
        batch.decode_context as f64 * self.kv_bytes / self.read_rate
    }

    /// 2 L [alpha + 2 (tp-1)/tp T h 2 / (NVLink eff)]: two all-reduces of BF16 activations per layer.
    fn all_reduce(&self, batch: &Batch) -> f64 {
        if self.cards == 1 {
            return 0.0;
        }
        let cards = f64::from(self.cards);
        let activations = batch.tokens as f64 * f64::from(self.shape.hidden) * Precision::Bf16.bytes();
        let transfer = 2.0 * (cards - 1.0) / cards * activations / self.link_rate;
        2.0 * f64::from(self.shape.layers) * (self.knobs.all_reduce_seconds + transfer)
    }

    /// t_step + t_seq ns, less what asynchronous scheduling hides behind the card's work.
    fn host(&self, batch: &Batch, card: f64) -> f64 {
        let host = self.knobs.step_seconds + self.knobs.sequence_seconds * batch.sequences as f64;
        let hidden = if self.asynchronous { self.knobs.async_hidden * host.min(card) } else { 0.0 };
        host - hidden
    }

    fn launches(&self, batch: &Batch) -> f64 {
        if self.eager && batch.tokens <= self.knobs.largest_graph_tokens {
            self.knobs.launch_per_layer_seconds * f64::from(self.shape.layers)
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hardware::Gpu;
    use super::super::models::by_name;
    use super::*;

    const PLAIN: CostOptions = CostOptions {
        tensor_parallel: 1,
        weights: Precision::Bf16,
        kv_cache: Precision::Bf16,
        eager: false,
        asynchronous: false,
    };

    fn model(gpu: Gpu, name: &str, options: CostOptions) -> CostModel {
        CostModel::new(&gpu.spec(), &by_name(name).shape, options, Knobs::default())
    }

    fn seconds(options: CostOptions, batch: &Batch) -> f64 {
        model(Gpu::H100Sxm, "Qwen3-8B", options).step(batch).as_secs_f64()
    }

    fn decodes(count: u64, context: u64) -> Batch {
        let mut batch = Batch::default();
        (0..count).for_each(|_| batch.add_decode(context, 0));
        batch
    }

    fn prompt(tokens: u64) -> Batch {
        let mut batch = Batch::default();
        batch.add_prefill(tokens, 0);
        batch
    }

    #[test]
    fn a_lone_decode_reads_every_weight_once() {
        let shape = by_name("Qwen3-8B").shape;
        let head = f64::from(shape.vocabulary) * f64::from(shape.hidden);
        let floor = (shape.block_parameters() + head) * 2.0 / (3.35e12 * 0.486);
        let step = seconds(PLAIN, &decodes(1, 1));
        assert!(step > floor && step < floor * 1.02, "{step} against {floor}");
    }

    #[test]
    fn decodes_share_the_weights_and_prefill_pays_for_every_token() {
        assert!(seconds(PLAIN, &decodes(64, 500)) < 1.5 * seconds(PLAIN, &decodes(1, 500)));
        let (short, long) = (seconds(PLAIN, &prompt(2000)), seconds(PLAIN, &prompt(8000)));
        assert!(long > 4.0 * short * 0.98, "{long} against {short}");
    }

    #[test]
    fn chunks_of_one_prompt_cost_its_attention_once() {
        let (mut first, mut second) = (Batch::default(), Batch::default());
        first.add_prefill(4000, 0);
        second.add_prefill(4000, 4000);
        let whole = prompt(8000);
        assert!((first.prefill_pairs + second.prefill_pairs - whole.prefill_pairs).abs() < 1.0);
    }

    #[test]
    fn fp8_helps_where_the_card_has_it() {
        let fp8 = CostOptions { weights: Precision::Fp8, ..PLAIN };
        assert!(seconds(fp8, &prompt(4000)) < 0.8 * seconds(PLAIN, &prompt(4000)));
        assert!(seconds(fp8, &decodes(1, 10)) < 0.7 * seconds(PLAIN, &decodes(1, 10)));
        let a100 = |options| model(Gpu::A100Sxm, "Qwen3-8B", options).step(&prompt(4000));
        assert_eq!(a100(fp8), a100(PLAIN));
    }

    #[test]
    fn two_cards_are_faster_but_not_twice_as_fast() {
        let two = CostOptions { tensor_parallel: 2, ..PLAIN };
        for batch in [prompt(4000), decodes(32, 1000), decodes(1, 10)] {
            let ratio = seconds(PLAIN, &batch) / seconds(two, &batch);
            assert!(ratio > 1.3 && ratio < 2.0, "{ratio}");
        }
    }

    #[test]
    fn host_options_move_only_the_host_part() {
        let eager = CostOptions { eager: true, ..PLAIN };
        let asynchronous = CostOptions { asynchronous: true, ..PLAIN };
        let batch = decodes(256, 300);
        assert!(seconds(eager, &batch) > seconds(PLAIN, &batch));
        assert!(seconds(asynchronous, &batch) < seconds(PLAIN, &batch));
        assert!((seconds(eager, &prompt(4000)) - seconds(PLAIN, &prompt(4000))).abs() < 1e-12);
    }

    #[test]
    fn drafts_are_paid_for_as_tokens() {
        let mut drafted = Batch::default();
        (0..256).for_each(|_| drafted.add_decode(300, 3));
        assert_eq!(drafted.tokens, 1024);
        assert!(seconds(PLAIN, &drafted) > 1.5 * seconds(PLAIN, &decodes(256, 300)));
    }

    #[test]
    fn better_cards_are_faster() {
        let step = |gpu| model(gpu, "Qwen3-8B", PLAIN).step(&decodes(64, 2000));
        assert!(step(Gpu::H200) < step(Gpu::H100Sxm));
        assert!(step(Gpu::H100Sxm) < step(Gpu::H100Pcie));
        assert!(step(Gpu::H100Pcie) <= step(Gpu::A100Sxm));
    }
}
