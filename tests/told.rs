//! What `perflab init` says beside the study that it writes: what it left out, what it took as it stands, and what nobody can check.

use std::fs::File;

use crate::support::{Lab, Output};

fn init(lab: &Lab, command: &str) -> Output {
    let input = lab.write("stdin.txt", command);
    let mut run = lab.command(&["init"]);
    run.env("HOME", "/home/me").stdin(File::open(input).expect("the command"));
    lab.start_command(run).wait().expect_code(0)
}

/// Codes of the errors that `check` finds in what was written.
fn errors(lab: &Lab, study: &str) -> Vec<String> {
    lab.write("study.plab", study);
    lab.run(&["fmt", "--check", "study.plab"]).expect_code(0);
    let document = lab.run(&["check", "--format", "json", "study.plab"]).json();
    let found = document["diagnostics"].as_array().expect("a list");
    let errors = found.iter().filter(|d| d["severity"] == "error");
    errors.map(|d| d["code"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn what_no_engine_takes_stands_as_typed_and_is_explained() {
    let lab = Lab::new();
    let command = "vllm serve org/m -O3 --enable-prefix-caching=true --gpu-memory-utilization 90 --max-num-seqs -5 --my-fork 3";
    let out = init(&lab, command);
    assert!(out.stdout.contains("    --optimization-level=3"), "{}", out.stdout);
    assert_eq!(out.stdout.matches("raw ").count(), 1, "{}", out.stdout);
    for flag in ["--enable-prefix-caching=true", "--gpu-memory-utilization=90", "--max-num-seqs=-5"] {
        assert!(out.stdout.contains(&format!("    {flag}")), "{flag}: {}", out.stdout);
        assert!(
            out.stderr.contains(&format!("note: {flag} stands as it was typed")),
            "{flag}: {}",
            out.stderr
        );
    }
    assert!(out.stderr.contains("note: --my-fork=3: unknown to the schema"), "{}", out.stderr);
    assert_eq!(errors(&lab, &out.stdout).len(), 3);
}

#[test]
fn one_of_several_machines_is_told() {
    let lab = Lab::new();
    let several = "python -m sglang.launch_server --model-path org/m --nnodes 2 --node-rank 0 --dist-init-addr a:5000 --tp 16";
    let out = init(&lab, several);
    assert!(
        out.stderr.contains("note: --nnodes=2: the command starts one of several machines"),
        "{}",
        out.stderr
    );
    assert_eq!(errors(&lab, &out.stdout), [] as [&str; 0]);
    let alone =
        init(&lab, "python -m sglang.launch_server --model-path org/m --nnodes 1 --dist-init-addr a:5000");
    assert!(!alone.stderr.contains("several"), "{}", alone.stderr);
}

#[test]
fn half_of_a_server_is_told() {
    let half = |command: &str| {
        let lab = Lab::new();
        init(&lab, command).stderr
    };
    for (command, part) in [
        (
            r#"vllm serve org/m --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}'"#,
            "prefill",
        ),
        (
            "vllm serve org/m --kv-transfer-config.kv_connector NixlConnector --kv-transfer-config.kv_role kv_consumer",
            "decode",
        ),
        ("python -m sglang.launch_server --model-path org/m --disaggregation-mode decode", "decode"),
    ] {
        let told = half(command);
        let said = format!("starts half of a server, its {part}, and perflab measures whole servers");
        assert!(told.contains(&said), "{command}: {told}");
        assert!(told.contains("via url"), "{told}");
    }
    let whole = half(
        r#"vllm serve org/m --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'"#,
    );
    assert!(!whole.contains("half"), "{whole}");
}

#[test]
fn other_commands_of_a_script_and_facts_of_the_machine_are_told() {
    let lab = Lab::new();
    let script = "HF_HOME=$SCRATCH/hf HF_HUB_CACHE=/data/hub \
                  bash -c \"pip install -U x && vllm serve org/m --port ${PORT:-8000} --max-num-seqs ${SEQS:-64}\"";
    let out = init(&lab, script);
    for told in [
        "left out: `pip install -U …`: another command",
        "left out: HF_HOME: a fact of the machine",
        "site here { env HF_HUB_CACHE=/data/hub }",
        "assumed: $SEQS is 64",
    ] {
        assert!(out.stderr.contains(told), "{told}: {}", out.stderr);
    }
    // every launch has a port of its own
    assert!(!out.stderr.contains("$PORT"), "{}", out.stderr);
    assert!(!out.stdout.contains("HF_H"), "{}", out.stdout);
    assert_eq!(errors(&lab, &out.stdout), [] as [&str; 0]);
}

#[test]
fn manifests_and_units_are_read_as_commands() {
    let lab = Lab::new();
    let compose = "services:\n  llm:\n    image: vllm/vllm-openai:v0.17.1\n    command: --model org/m --max-num-seqs 64\n";
    let kubernetes = "containers:\n- name: llm\n  image: vllm/vllm-openai:v0.17.1\n  command: [/bin/sh, -c]\n  \
                      args: [\"vllm serve org/m --max-num-seqs 64\"]\n  env: [{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: a, key: b}}}]\n";
    let unit = "[Service]\nUser=vllm\nEnvironment=VLLM_LOGGING_LEVEL=WARNING\n\
                ExecStart=/opt/vllm/bin/vllm serve org/m \\\n  --max-num-seqs 64\nRestart=always\n";
    for (text, written) in [
        (compose, "version \"0.17.1\""),
        (kubernetes, "version \"0.17.1\""),
        (unit, "env VLLM_LOGGING_LEVEL=WARNING"),
    ] {
        let out = init(&lab, text);
        assert!(out.stdout.contains(written), "{}", out.stdout);
        assert!(out.stdout.contains("--max-num-seqs=64"), "{}", out.stdout);
        assert!(!out.stderr.contains("another command"), "{}", out.stderr);
        assert_eq!(errors(&lab, &out.stdout), [] as [&str; 0]);
    }
}

#[test]
fn a_rate_without_end_is_none_of_the_rates() {
    let lab = Lab::new();
    let text = "server:\n  base_flags: {model_path: org/m}\n  search_space: {max_running_requests: [64, 128]}\n\
                dataset: {kind: random, scenario_names: [a, b], input_len: [1000, 8000], output_len: [1000, 500]}\n\
                benchmark: {qps: [2, 4, .inf]}\n";
    lab.write("auto.yaml", text);
    let out = lab.run(&["init", "--from", "auto.yaml"]).expect_code(0);
    let rates = |rate: &str| out.stdout.matches(&format!("    rate     {rate}\n")).count();
    assert_eq!([rates("2/s"), rates("4/s"), rates("max")], [2, 2, 0], "{}", out.stdout);
    assert_eq!(
        out.stderr.matches("left out: benchmark.qps .inf: no rate a second").count(),
        1,
        "{}",
        out.stderr
    );
}

#[test]
fn a_distilled_model_has_no_layers_of_its_own_for_drafts() {
    let lab = Lab::new();
    let tried = |command: &str| init(&lab, command).stdout.contains("\"mtp\"");
    assert!(tried("vllm serve deepseek-ai/DeepSeek-R1"));
    assert!(!tried("vllm serve deepseek-ai/DeepSeek-R1-Distill-Llama-70B"));
}
