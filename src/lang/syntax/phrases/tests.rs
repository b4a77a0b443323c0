//! Everyday phrases that are mended, and those that are left alone.

use super::*;

fn mended(chunk: &str, word: &str, expected: &str) -> Option<String> {
    let at = chunk.rfind(word).expect("in the chunk");
    let (range, text) = phrase(chunk, &(at..at + word.len()), word, &[expected.to_owned()])?.edit?;
    Some(format!("{}{text}{}", &chunk[..range.start], &chunk[range.end..]))
}

#[test]
fn everyday_phrases_are_mended() {
    for (chunk, word, expected, right) in [
        ("adopt 1%", "1%", "`gain`", "adopt gain >= 1%"),
        ("confirm chat, code", "chat", "`on`", "confirm on chat, code"),
        ("budget 6 gpu hours", "gpu", "", "budget 6 gpu_hours"),
        ("step a: vary seqs", ":", "`{`", "step a { vary seqs }"),
        ("step a seqs", "seqs", "`{`", "step a { vary seqs }"),
        ("vary seqs(64, 128) * b", "(", "", "vary seqs[64, 128] * b"),
        ("axis x = --y=1, 2", ",", "", "axis x = --y=[1, 2]"),
        ("use std/engines vllm, sglang", "vllm", "`{`", "use std/engines { vllm, sglang }"),
        ("metric x = total_tps per gpus", "per", "", "metric x = total_tps / gpus"),
        ("concurrency 1 4 16", "4", "", "concurrency 1, 4, 16"),
    ] {
        assert_eq!(mended(chunk, word, expected).as_deref(), Some(right), "{chunk}");
    }
}

#[test]
fn what_is_no_list_of_profiles_is_not_mended_to_one() {
    for (chunk, word) in
        [("confirm repeat 5", "repeat"), ("curve budget", "budget"), ("confirm chat 5", "chat")]
    {
        assert_eq!(mended(chunk, word, "`on`"), None, "{chunk}");
    }
    assert_eq!(mended("curve chat code", "chat", "`on`").as_deref(), Some("curve on chat code"));
}
