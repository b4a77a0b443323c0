//! Serve commands as people write them, read by what each engine knows.

use super::super::known;
use super::*;

fn read_line(engine: Engine, version: &str, line: &str) -> Arguments {
    let known = known::engine(engine, Some(version)).expect("known");
    let words: Vec<Word> = shell_words::split(line).expect("words").into_iter().map(Word::plain).collect();
    read(engine, &known, &words).expect("readable")
}

fn texts(a: &Arguments) -> Vec<String> {
    a.flags.iter().map(Argument::text).collect()
}

#[test]
fn values_and_switches_are_told_apart_by_the_schema() {
    let a = read_line(
        Engine::Vllm,
        "0.17.1",
        "--enable-prefix-caching Qwen/Qwen3-8B -tp 2 --max-model-len=32K --port 8000 --host=0.0.0.0 \
         --lora-modules a=b c=d --speculative-config '{\"method\":\"mtp\"}' --no-async-scheduling",
    );
    assert_eq!((a.model.as_str(), a.model_option.as_deref()), ("Qwen/Qwen3-8B", None));
    assert_eq!(
        texts(&a),
        [
            "--enable-prefix-caching",
            "-tp=2",
            "--max-model-len=32Ki",
            "--lora-modules=\"a=b c=d\"",
            "--speculative-config={\"method\": \"mtp\"}",
            "--no-async-scheduling",
        ]
    );
    assert!(a.flags.iter().all(|f| f.raw.is_none()), "{a:?}");
    assert_eq!(a.left_out.len(), 1);
}

#[test]
fn json_among_words_stays_whole() {
    let line = r#"m --lora-modules '{"name": "a b", "path": "/l"}' --max-num-seqs 8"#;
    let a = read_line(Engine::Vllm, "0.17.1", line);
    assert_eq!(texts(&a), [r#"--lora-modules={"name": "a b", "path": "/l"}"#, "--max-num-seqs=8"]);
    let a = read_line(Engine::Vllm, "0.17.1", r#"m --lora-modules '{"name": "a"}' b=/c"#);
    assert_eq!(texts(&a), [r#"--lora-modules="{{\"name\": \"a\"}} b=/c""#]);
}

#[test]
fn what_the_schema_does_not_know_is_raw_and_what_it_refuses_stands_as_typed() {
    let a = read_line(
        Engine::Vllm,
        "0.17.1",
        "m --my-fork 3 --num-scheduler-steps 8 --dtype bf16 --gpu-memory-utilization 90 --max-num-seqs -5 \
         --enable-prefix-caching true -O3",
    );
    assert_eq!(
        texts(&a),
        [
            "--my-fork=3",
            "--num-scheduler-steps=8",
            "--dtype=bf16",
            "--gpu-memory-utilization=90",
            "--max-num-seqs=-5",
            "--enable-prefix-caching=true",
            "--optimization-level=3"
        ]
    );
    let of = |test: fn(&Argument) -> bool| a.flags.iter().map(test).collect::<Vec<_>>();
    assert_eq!(of(Argument::passed_on), [true, true, false, false, false, false, false], "{a:?}");
    assert_eq!(of(Argument::wrong), [false, false, true, true, true, true, false], "{a:?}");
    let default = read_line(Engine::Vllm, "0.17.1", "m --gpu-memory-utilization 0.9");
    assert_eq!(default.flags[0].raw.as_deref(), Some(DEFAULT));
}

#[test]
fn the_last_of_two_counts_and_abbreviations_are_long_names() {
    let a = read_line(Engine::Sglang, "0.5.9", "--model-path m --tp 4 --tp-size 8");
    assert_eq!(a.model_option.as_deref(), Some("--model-path"));
    assert_eq!(texts(&a), ["--tp-size=8"]);
    let a = read_line(Engine::Vllm, "0.17.1", "m --enable-prefix-caching --no-enable-prefix-caching");
    assert_eq!(texts(&a), ["--no-enable-prefix-caching"]);
}

#[test]
fn what_an_engine_takes_more_than_once_is_kept_whole() {
    let a = read_line(Engine::Vllm, "0.17.1", "m --middleware a.b --max-num-seqs 8 --middleware=c.d");
    assert_eq!(texts(&a), ["--middleware=\"a.b c.d\"", "--max-num-seqs=8"]);
    assert!(a.left_out.is_empty(), "{a:?}");
}

#[test]
fn names_for_clients_and_secrets_stay_out_of_the_measurement() {
    let a = read_line(Engine::Vllm, "0.17.1", "m --served-model-name a b --api-key k --max-num-seqs 8");
    assert_eq!(texts(&a), ["--max-num-seqs=8"]);
    assert_eq!(a.published[0].0.text(), "--served-model-name=\"a b\"");
    assert!(
        a.left_out[0].contains("--api-key") && !a.left_out[0].contains('k'.to_string().repeat(2).as_str())
    );
}

#[test]
fn a_model_is_needed_and_may_hide_behind_an_unknown_flag() {
    let known = known::engine(Engine::Vllm, Some("0.17.1")).expect("known");
    assert_eq!(read(Engine::Vllm, &known, &[]), Err(InitError::NoModel));
    let a = read_line(Engine::Vllm, "0.17.1", "--my-switch org/model");
    assert_eq!((a.model.as_str(), texts(&a)), ("org/model", vec!["--my-switch".to_owned()]));
}
