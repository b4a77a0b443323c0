//! How fast prompts of an exact length are made, beside what `tokenizers` takes to encode the same texts: in turn, in one run, on the first
//! two processors. `PERFLAB_QWEN3=DIR cargo bench --bench prompts`, where DIR holds a `tokenizer.json`; without one nothing is measured.

use std::path::PathBuf;
use std::time::Instant;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use perflab::load::{LoadSpec, prompts};
use tokenizers::Tokenizer;

/// Prompts, and the tokens of each.
const SETS: [(u64, u32); 2] = [(1000, 1024), (100, 32_000)];
const TIMES: usize = 5;

/// Seconds that each part took.
#[derive(Default)]
struct Took {
    reading: Vec<f64>,
    encoding: Vec<f64>,
    making: Vec<f64>,
}

fn main() {
    let Some(dir) = std::env::var_os("PERFLAB_QWEN3").map(PathBuf::from) else {
        println!("prompts: PERFLAB_QWEN3 names no directory with a tokenizer.json: nothing is measured");
        return;
    };
    two_processors();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for (count, tokens) in SETS {
        let mut spec = LoadSpec::new("http://localhost", "m");
        spec.prompts.input = tokens..=tokens;
        spec.prompts.tokenizer = Some(dir.clone());
        let mut took = Took::default();
        for seed in 0..TIMES as u64 {
            // no text was seen before
            spec.seed = seed;
            let (texts, making) = timed(|| runtime.block_on(prompts(&spec, count)).expect("prompts"));
            let file = dir.join("tokenizer.json");
            let (tokenizer, reading) = timed(|| Tokenizer::from_file(&file).expect("a tokenizer"));
            let (encoded, encoding) = timed(|| tokenizer.encode_batch(texts, false).expect("texts"));
            assert!(encoded.iter().all(|e| e.len() == tokens as usize), "every prompt is exact");
            took.reading.push(reading);
            took.encoding.push(encoding);
            took.making.push(making);
        }
        show(count, tokens, &took);
    }
}

fn show(count: u64, tokens: u32, took: &Took) {
    let (reading, encoding, making) = (median(&took.reading), median(&took.encoding), median(&took.making));
    println!("{count} prompts of {tokens} tokens, medians of {TIMES}:");
    println!("  reading the tokenizer {reading:.3} s, its encode_batch of the texts {encoding:.3} s");
    println!(
        "  reading it and making the prompts {making:.3} s: {:.2} of both",
        making / (reading + encoding)
    );
    println!(
        "  making alone {:.3} s: {:.2} of encode_batch",
        making - reading,
        (making - reading) / encoding
    );
}

fn timed<R>(work: impl FnOnce() -> R) -> (R, f64) {
    let began = Instant::now();
    let result = work();
    (result, began.elapsed().as_secs_f64())
}

fn median(all: &[f64]) -> f64 {
    let mut all = all.to_vec();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// What runs from here on has two threads wherever it asks how many it may have.
fn two_processors() {
    let mut set = CpuSet::new();
    for cpu in 0..2 {
        set.set(cpu).expect("a processor's number");
    }
    sched_setaffinity(Pid::from_raw(0), &set).expect("two processors");
}
