//! The recipes against totals that the tools themselves printed.

use std::path::PathBuf;

use super::recipe::{Lengths, Random, Recipe};
use super::vocabulary::Vocabulary;

fn total(input: u32, count: usize) -> u64 {
    let path = PathBuf::from(std::env::var("PERFLAB_QWEN3").expect("the folder of Qwen3's tokenizer"));
    let vocabulary = Vocabulary::load(&path).expect("a tokenizer");
    let lengths = Lengths { input, output: 4, range_ratio: 0.0, prefix: 0 };
    let random = Random { recipe: Recipe::Vllm011, lengths, count, seed: 42, exact: true };
    random.questions(&vocabulary).expect("prompts").iter().map(|q| u64::from(q.tokens)).sum()
}

#[test]
#[ignore = "needs Qwen3's tokenizer"]
fn the_published_totals_come_out() {
    assert_eq!(total(128, 1000), 127_698);
    assert_eq!(total(2000, 500), 998_175);
    assert_eq!(total(4000, 500), 1_997_942);
    assert_eq!(total(32000, 100), 3_200_000);
}
