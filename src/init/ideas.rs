//! Which flags are worth varying, around the values that the command has, and the load that makes them matter.
//!
//! A limit that the load never reaches tells nothing, so the number of users follows the limits that are tried.

use super::arguments::Arguments;
use super::known::Engine;
use crate::lang::sema::program;
use crate::lang::sema::schema::{Found, Value};
use crate::lang::sema::versions::compare_versions;

/// An axis, and the step that varies it; ideas with one step are varied together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idea {
    pub axis: &'static str,
    pub step: &'static str,
    pub title: &'static str,
    pub text: String,
    pub comment: Option<&'static str>,
}

/// A load that fits the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// tokens of a prompt and of an answer; `None` where those of `chat` fit
    pub lengths: Option<(u64, u64)>,
    pub concurrency: u64,
    pub requests: Option<u64>,
}

/// What is tried.
#[derive(Debug, Clone, Default)]
pub struct Ideas {
    pub all: Vec<Idea>,
    /// the rule of `std/rules` against batches that hold fewer tokens than sequences, if some combination does
    pub cannot_fill: Option<&'static str>,
}

/// More steps than this are no first study.
const MOST_STEPS: usize = 3;

/// Models that come with layers for multi-token prediction.
const WITH_MTP: [&str; 8] =
    ["qwen3.5", "qwen3-next", "deepseek-v3", "deepseek-r1", "glm-4.5", "glm-4.6", "glm-4.7", "mimo-7b"];

/// A command with everything that is known of it.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    pub engine: Engine,
    pub known: &'a program::Engine,
    pub arguments: &'a Arguments,
    /// GPUs that the command uses, and that it may use
    pub used: u64,
    pub given: u64,
}

impl Facts<'_> {
    fn has(&self, canonical: &str) -> bool {
        self.arguments.flag(canonical).is_some()
    }

    /// Whether the command sets a key of a JSON flag.
    fn has_key_of(&self, flag: &str) -> bool {
        let key = |name: &str| name.strip_prefix(flag).is_some_and(|rest| rest.starts_with('.'));
        self.arguments.flags.iter().any(|f| key(&f.name) || key(&f.canonical))
    }

    fn number(&self, canonical: &str) -> Option<u64> {
        self.arguments.flag(canonical)?.number().filter(|n| *n > 0)
    }

    fn text(&self, canonical: &str) -> Option<&str> {
        self.arguments.flag(canonical)?.value.as_deref()
    }

    /// The schema's default as a whole number.
    fn default(&self, canonical: &str) -> Option<u64> {
        match self.known.schema.default(canonical, self.known.version.as_deref())? {
            Value::Int(n) => u64::try_from(n).ok(),
            _ => None,
        }
    }

    /// The first spelling if this version has the flag, and whether a switch is on as far as that is known.
    fn switched_on(&self, name: &str) -> Option<bool> {
        let found = self.known.schema.find(name, self.known.version.as_deref());
        let Found::Known(spec, _) = found else { return None };
        match self.arguments.flag(&spec.names[0]) {
            Some(flag) => Some(!spec.negated.contains(&flag.name)),
            None if spec.default.as_deref() == Some("auto") => Some(true),
            None => Some(spec.default.as_deref() == Some("true")),
        }
    }

    /// Half and twice the value that is set, else the usual ones; never what it is already.
    fn around(&self, flag: &str, usual: &[u64], least: u64, most: u64) -> Vec<u64> {
        let present = self.number(flag);
        let values = present.map_or(usual.to_vec(), |v| vec![v / 2, v.saturating_mul(2)]);
        let now = present.or(self.default(flag));
        values.into_iter().filter(|v| Some(*v) != now && (least..=most).contains(v)).collect()
    }
}

/// What to vary for this command, the most promising first.
pub fn ideas(facts: &Facts<'_>) -> Ideas {
    let mut out = Ideas::default();
    layout(facts, &mut out);
    match facts.engine {
        Engine::Vllm => vllm(facts, &mut out),
        Engine::Sglang => sglang(facts, &mut out),
        Engine::Trtllm => trtllm(facts, &mut out),
        Engine::LlamaCpp => llama_cpp(facts, &mut out),
        Engine::Sim => sim(facts, &mut out),
    }
    let mut steps: Vec<&str> = Vec::new();
    out.all.retain(|idea| {
        if !steps.contains(&idea.step) {
            steps.push(idea.step);
        }
        steps.len() <= MOST_STEPS
    });
    out
}

/// The load: prompts that fit the context, and twice as many users as the largest batch that is tried, so that each limit binds.
pub fn load(facts: &Facts<'_>, ideas: &Ideas) -> Load {
    // with the largest batch that is tried where the command states none
    let (limit, context, usual) = match facts.engine {
        Engine::Vllm => ("--max-num-seqs", "--max-model-len", 512),
        Engine::Sim => ("--max-num-seqs", "--max-model-len", 64),
        Engine::Sglang => ("--max-running-requests", "--context-length", 512),
        Engine::Trtllm => ("--max_batch_size", "--max_seq_len", 512),
        Engine::LlamaCpp => ("--parallel", "--ctx-size", 16),
    };
    let largest = facts.number(limit).map_or(usual, |v| v.saturating_mul(2).clamp(2, 1024));
    let concurrency = 2 * largest;
    let mut context = facts.number(context).unwrap_or(u64::MAX);
    if facts.engine == Engine::LlamaCpp && ideas.all.iter().any(|i| i.axis == "slots") {
        // the slots share the context
        context /= largest;
    }
    // a chat template adds some tokens to each prompt
    let room = context.saturating_sub(64).max(8);
    let lengths = (room < 512 + 256).then(|| (room * 3 / 4, room / 4));
    // a simulation is no measurement, so that a look will do; a server is loaded for a minute or more
    let requests = (facts.engine == Engine::Sim).then_some(2 * concurrency);
    Load { lengths, concurrency, requests }
}

fn push(
    out: &mut Ideas,
    axis: &'static str,
    step: (&'static str, &'static str),
    text: String,
    why: &'static str,
) {
    let comment = (!why.is_empty()).then_some(why);
    out.all.push(Idea { axis, step: step.0, title: step.1, text, comment });
}

fn list(out: &mut Ideas, axis: &'static str, step: (&'static str, &'static str), flag: &str, values: &[u64]) {
    let texts: Vec<String> = values.iter().map(|v| counted(*v)).collect();
    match texts.as_slice() {
        [] => {}
        [one] => push(out, axis, step, format!("{flag}={one}"), ""),
        _ => push(out, axis, step, format!("{flag}=[{}]", texts.join(", ")), ""),
    }
}

/// `16Ki` for 16384.
pub fn counted(value: u64) -> String {
    if value >= 1024 && value.is_multiple_of(1024) {
        format!("{}Ki", value / 1024)
    } else {
        value.to_string()
    }
}

/// More GPUs than the command uses: as one more way to use them.
fn layout(facts: &Facts<'_>, out: &mut Ideas) {
    let flag = match facts.engine {
        Engine::Vllm | Engine::Sglang => "--tensor-parallel-size",
        Engine::Trtllm => "--tp_size",
        Engine::LlamaCpp | Engine::Sim => return,
    };
    if facts.given > facts.used && facts.given.is_multiple_of(facts.used) {
        let size = facts.number(flag).unwrap_or(1) * (facts.given / facts.used);
        push(
            out,
            "layout",
            ("layout", "All GPUs"),
            format!("{flag}={size}"),
            "the command leaves GPUs unused",
        );
    }
}

fn vllm(facts: &Facts<'_>, out: &mut Ideas) {
    let batch = ("batch", "Batch Limits");
    let seqs = facts.around("--max-num-seqs", &[128, 512], 1, 2048);
    // without chunked prefill a batch must hold the longest prompt
    let whole = facts.switched_on("--enable-chunked-prefill") == Some(false);
    let least = if whole { facts.number("--max-model-len").unwrap_or(u64::MAX) } else { 64 };
    let tokens = facts.around("--max-num-batched-tokens", &[4096, 16384], least, 1 << 20);
    let flags = ["--max-num-seqs", "--max-num-batched-tokens"];
    cannot_fill(facts, "cannot_fill_vllm", flags, [&seqs, &tokens], out);
    list(out, "seqs", batch, "--max-num-seqs", &seqs);
    list(out, "batched", batch, "--max-num-batched-tokens", &tokens);
    if !facts.has("--performance-mode") && facts.switched_on("--async-scheduling") == Some(true) {
        let mode = "--performance-mode=throughput".into();
        push(out, "mode", ("mode", "Performance Mode"), mode, "");
    }
    asynchronous(facts, out);
    speculation(facts, out);
    memory(facts, out, "--gpu-memory-utilization", "0.95");
}

fn sim(facts: &Facts<'_>, out: &mut Ideas) {
    let batch = ("batch", "Batch Limits");
    let seqs = facts.around("--max-num-seqs", &[32, 64], 1, 2048);
    let tokens = facts.around("--max-num-batched-tokens", &[2048, 16384], 64, 1 << 20);
    let flags = ["--max-num-seqs", "--max-num-batched-tokens"];
    cannot_fill(facts, "cannot_fill_vllm", flags, [&seqs, &tokens], out);
    list(out, "seqs", batch, "--max-num-seqs", &seqs);
    list(out, "batched", batch, "--max-num-batched-tokens", &tokens);
    asynchronous(facts, out);
    memory(facts, out, "--gpu-memory-utilization", "0.95");
}

fn sglang(facts: &Facts<'_>, out: &mut Ideas) {
    let batch = ("batch", "Batch Limits");
    let running = facts.around("--max-running-requests", &[128, 512], 1, 2048);
    let chunks = facts.around("--chunked-prefill-size", &[4096, 16384], 256, 1 << 20);
    let flags = ["--max-running-requests", "--chunked-prefill-size"];
    cannot_fill(facts, "cannot_fill_sglang", flags, [&running, &chunks], out);
    list(out, "running", batch, "--max-running-requests", &running);
    list(out, "chunk", batch, "--chunked-prefill-size", &chunks);
    if !facts.has("--schedule-conservativeness") {
        let text = "--schedule-conservativeness=0.3".into();
        push(out, "bold", ("bold", "Schedule Conservativeness"), text, "requests are admitted sooner");
    }
    memory(facts, out, "--mem-fraction-static", "0.92");
}

fn trtllm(facts: &Facts<'_>, out: &mut Ideas) {
    let batch = ("batch", "Batch Limits");
    let sequences = facts.around("--max_batch_size", &[128, 512], 1, 4096);
    let tokens = facts.around("--max_num_tokens", &[4096, 16384], 256, 1 << 20);
    let flags = ["--max_batch_size", "--max_num_tokens"];
    cannot_fill(facts, "cannot_fill_trtllm", flags, [&sequences, &tokens], out);
    list(out, "sequences", batch, "--max_batch_size", &sequences);
    list(out, "tokens", batch, "--max_num_tokens", &tokens);
    if facts.switched_on("--enable_chunked_prefill") == Some(false) {
        let text = "--enable_chunked_prefill".into();
        push(out, "chunked", ("chunked", "Chunked Prefill"), text, "long prompts wait less for each other");
    }
    memory(facts, out, "--kv_cache_free_gpu_memory_fraction", "0.95");
}

fn llama_cpp(facts: &Facts<'_>, out: &mut Ideas) {
    list(
        out,
        "slots",
        ("slots", "Parallel Slots"),
        "--parallel",
        &facts.around("--parallel", &[4, 16], 1, 512),
    );
    let step = ("batch", "Batch Sizes");
    let batch = facts.around("--batch-size", &[1024, 4096], 32, 1 << 16);
    let ubatch = facts.around("--ubatch-size", &[256, 1024], 16, 1 << 16);
    cannot_fill(facts, "cannot_fill_llama", ["--ubatch-size", "--batch-size"], [&ubatch, &batch], out);
    list(out, "batch", step, "--batch-size", &batch);
    list(out, "ubatch", step, "--ubatch-size", &ubatch);
    let attention = if facts.text("--flash-attn") == Some("on") { "off" } else { "on" };
    // which llama.cpp does not start without it
    let quantized = facts.text("--cache-type-v").is_some_and(|t| !matches!(t, "f32" | "f16" | "bf16"));
    if attention == "off" && quantized {
        return;
    }
    let text = format!("--flash-attn={attention}");
    push(out, "attention", ("attention", "Flash Attention"), text, "");
}

/// Takes the rule in where some combination, but not all, has fewer of the second flag than of the first.
fn cannot_fill(facts: &Facts<'_>, rule: &'static str, flags: [&str; 2], tried: [&[u64]; 2], out: &mut Ideas) {
    let all = |i: usize| match tried[i] {
        [] => facts.number(flags[i]).or(facts.default(flags[i])).into_iter().collect(),
        some => some.to_vec(),
    };
    let (held, room): (Vec<u64>, Vec<u64>) = (all(0), all(1));
    let unfit: usize = room.iter().map(|r| held.iter().filter(|h| r < *h).count()).sum();
    out.cannot_fill = (unfit > 0 && unfit < held.len() * room.len()).then_some(rule);
}

/// Asynchronous scheduling, where the command leaves it off.
fn asynchronous(facts: &Facts<'_>, out: &mut Ideas) {
    // releases in which it is off by default do not start with it beside these
    let speculates = facts.has("--speculative-config") || facts.has_key_of("--speculative-config");
    let refused = speculates || facts.number("--pipeline-parallel-size").is_some_and(|n| n > 1);
    let off = facts.switched_on("--async-scheduling") == Some(false);
    if off && !refused && !facts.has("--async-scheduling") {
        push(out, "async", ("async", "Async Scheduling"), "--async-scheduling".into(), "");
    }
}

/// Another depth of the speculation that is on, or the one that the model was trained for.
fn speculation(facts: &Facts<'_>, out: &mut Ideas) {
    let step = ("spec", "Speculative Decoding");
    let depth = "num_speculative_tokens";
    if let Some(text) = facts.text("--speculative-config") {
        let Ok(serde_json::Value::Object(mut config)) = serde_json::from_str(text) else { return };
        let Some(now) = config.get(depth).and_then(serde_json::Value::as_u64) else { return };
        let other = if now > 1 { now - 1 } else { 2 };
        config.insert(depth.to_owned(), other.into());
        let json = super::value::spaced(&serde_json::Value::Object(config));
        push(out, "spec", step, format!("--speculative-config={json}"), "another depth");
        return;
    }
    let model = facts.arguments.model.to_ascii_lowercase();
    let states = facts.has("--spec-method") || facts.has_key_of("--speculative-config");
    // distilled models have another's layers
    if states || model.contains("distill") || !WITH_MTP.iter().any(|m| model.contains(m)) {
        return;
    }
    let recent = facts.known.version.as_deref().is_none_or(|v| compare_versions(v, "0.11.0").is_ge());
    if recent {
        let text = format!("--speculative-config={{\"method\": \"mtp\", \"{depth}\": 1}}");
        push(out, "spec", step, text, "the model's own layers");
    }
}

/// More of the GPU's memory, unless the command already takes as much.
fn memory(facts: &Facts<'_>, out: &mut Ideas, flag: &str, most: &str) {
    let now = facts.text(flag).and_then(|t| t.parse::<f64>().ok());
    if now.is_none_or(|n| most.parse::<f64>().is_ok_and(|m| n < m)) {
        let why = "more room for the KV cache";
        push(out, "memory", ("memory", "GPU Memory"), format!("{flag}={most}"), why);
    }
}
