//! `perflab init --from FILE` and pasted sweeps: what becomes of other tools' files, told where it is less than they say.

use std::fs;

use crate::init::{assert_golden, doubts, errors, folder, init};
use crate::support::{Lab, Output, project};

/// A study from other tools' files: what is written, and that it checks.
#[track_caller]
fn from_files(golden: &str, args: &[&str]) -> Output {
    let lab = Lab::new();
    for entry in fs::read_dir(folder().join("from")).expect("the folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).expect("a name");
        lab.write(name, fs::read(&path).expect("a file"));
    }
    let out = init(&lab, args, "").expect_code(0);
    assert_golden(&format!("from/{golden}.plab"), &out.stdout);
    lab.write("study.plab", &out.stdout);
    assert_eq!(doubts(&lab, "study.plab"), Vec::<String>::new(), "{golden}");
    lab.run(&["fmt", "--check", "study.plab"]).expect_code(0);
    out
}

#[test]
fn sweeps_of_vllm_become_studies() {
    let serve = ["--engine-version", "0.17.1", "--", "vllm", "serve", "Qwen/Qwen3-8B"];
    let files =
        ["--from", "serve_hparams.json", "--from", "bench_hparams.json", "--from", "sla_hparams.json"];
    let out = from_files("sweep", &[&files[..], &serve[..]].concat());
    // `false` of a switch is its negated form, keys inside of JSON keep their underscores
    assert!(out.stdout.contains("--no-enable-prefix-caching"), "{}", out.stdout);
    assert!(out.stdout.contains("--compilation-config.cudagraph_mode=PIECEWISE"), "{}", out.stdout);
    assert!(out.stdout.contains("require  p99(latency) <= 2000ms"), "{}", out.stdout);
    for told in ["goodput ttft:500: not every load has these limits", "p99_e2el_ms <=1000"] {
        assert!(out.stderr.contains(told) && out.stdout.contains(told), "{}", out.stderr);
    }
    let named = from_files("sweep_named", &[&["--from", "serve_named.json"], &serve[..]].concat());
    assert!(named.stdout.contains("fp8_cache \"fp8 cache\":"), "{}", named.stdout);
    // a key has a value also where it is a switch, and the study has the GPUs of its largest set
    let sizes = from_files("sweep_sizes", &[&["--from", "serve_sizes.json"], &serve[..]].concat());
    for told in ["fuse_allreduce_rms=true", "fuse_allreduce_rms=false", "gpus     8"] {
        assert!(sizes.stdout.contains(told) && !sizes.stdout.contains("raw "), "{}", sizes.stdout);
    }
}

#[test]
fn sets_of_every_kind_are_points_once_each() {
    let serve = ["--engine-version", "0.17.1", "--", "vllm", "serve", "Qwen/Qwen3-8B"];
    let out = from_files("sweep_odd", &[&["--from", "serve_odd.json"], &serve[..]].concat());
    assert!(out.stdout.contains("model \"Qwen/Qwen3-8B-FP8\""), "{}", out.stdout);
    assert_eq!(out.stderr.matches("the same parameters as a set before it").count(), 2, "{}", out.stderr);
    // without sets for the server, the usual flags are tried under the loads
    let loads = from_files("sweep_loads", &[&["--from", "bench_hparams.json"], &serve[..]].concat());
    assert!(loads.stdout.contains("vary seqs * batched"), "{}", loads.stdout);
}

#[test]
fn a_pasted_sweep_command_names_its_own_files() {
    let bench = "vllm bench serve --model m --dataset-name sharegpt --dataset-path S.json --num-prompts 200";
    let args = [
        "--engine-version",
        "0.17.1",
        "--",
        "vllm",
        "bench",
        "sweep",
        "serve",
        "--serve-cmd",
        "vllm serve Qwen/Qwen3-8B -tp 2",
        "--bench-cmd",
        bench,
        "--serve-params",
        "seqs.json",
        "--num-runs",
        "1",
        "--continue-on-error",
    ];
    let out = from_files("sweep_command", &args);
    assert!(out.stdout.contains("axis sets = --max-num-seqs=[64, 512]"), "{}", out.stdout);
    assert!(out.stderr.contains("--continue-on-error") && out.stderr.contains("S.json"), "{}", out.stderr);
}

/// What auto_benchmark's client would ask, by the file's `backend`.
fn asked_through_each_backend(lab: &Lab) {
    for (backend, kind, api, told) in [
        ("sglang-native", "random", Some("sglang_generate"), None),
        ("sglang-oai", "random", Some("openai_completions"), None),
        ("vllm", "random", Some("openai_completions"), None),
        ("sglang-oai-chat", "random", None, None),
        ("auto", "custom", None, Some("benchmark.backend auto: what data.jsonl holds decides")),
        ("trt", "random", None, Some("benchmark.backend trt: perflab asks for chat completions instead")),
    ] {
        let file = format!(
            "server:\n  base_flags: {{model_path: org/m}}\n  search_space: {{max_running_requests: [64, 128]}}\ndataset: {{kind: {kind}}}\nbenchmark: {{backend: {backend}}}\n"
        );
        lab.write("backend.yaml", file);
        let out = init(lab, &["--from", "backend.yaml"], "").expect_code(0);
        let line = out.stdout.lines().find_map(|l| l.trim().strip_prefix("api "));
        assert_eq!(line.map(str::trim), api, "{backend}: {}", out.stdout);
        assert_eq!(out.stderr.contains("benchmark.backend"), told.is_some(), "{backend}: {}", out.stderr);
        assert!(out.stderr.contains(told.unwrap_or_default()), "{backend}: {}", out.stderr);
    }
}

#[test]
fn auto_benchmark_files_become_studies() {
    let out = from_files("auto_benchmark", &["--engine-version", "0.5.9", "--from", "auto_benchmark.yaml"]);
    assert!(
        out.stderr.contains("note: benchmark.max_concurrency null, 16, 32: a profile for each"),
        "{}",
        out.stderr
    );
    let lab = Lab::with(&out.stdout);
    // tier 2: the first three keys together, and the fourth alone; the base is measured beside them
    let plan = lab.run(&["plan", "study.plab", "qwen3_32b", "--format", "json"]).expect_code(0).json();
    assert_eq!(plan["steps"][0]["candidates"].as_array().map(Vec::len), Some(2 * 2 * 2 + 3));
    // texts go to completions where the file leaves that open
    assert!(out.stdout.contains(" openai_completions\n"), "{}", out.stdout);
    let full = from_files("auto_full", &["--engine-version", "0.5.9", "--from", "auto_full.yaml"]);
    assert!(full.stdout.contains(" sglang_generate\n"), "{}", full.stdout);
    asked_through_each_backend(&lab);
    // what nobody reads is told, by its place
    let more = "server:\n  base_flags: {model_path: org/m}\n  search_space: {max_running_requests: [64, 128]}\n  \
                parallel: {ep: 2, gpu_count: 1}\ndataset: {kind: random, funny: 3}\nbenchmark: {sla: {max_e2e_ms: 9}}\nextra: 1\n";
    lab.write("more.yaml", more);
    let told = init(&lab, &["--from", "more.yaml"], "").expect_code(0).stderr;
    for key in ["server.parallel.ep", "dataset.funny", "benchmark.sla.max_e2e_ms", "extra"] {
        assert!(told.contains(&format!("left out: {key}: nothing here reads it")), "{told}");
    }
}

#[test]
fn files_that_are_none_are_said() {
    let lab = Lab::new();
    lab.write("text.md", "# A note\n\nNothing here.\n");
    lab.write("bomb.yaml", "a: &a [1, 2]\nserver: *a\n");
    lab.write("deep.yaml", "[".repeat(10_000));
    lab.write("list.json", "[1, 2]");
    lab.write("broken.json", "[{\"max_num_seqs\": }]");
    lab.write("sets.json", "[{\"max_num_seqs\": 32}]");
    let serve = ["--", "vllm", "serve", "org/m"];
    lab.write("twice.json", "[{\"max_num_seqs\": 1, \"max_num_seqs\": 2}]");
    lab.write("twice.yaml", "server:\n  host: a\n  host: b\n");
    let cases: [(&str, &[&str], &[&str]); 9] = [
        ("twice.json", &serve, &["`max_num_seqs` is there twice", "line 1"]),
        ("twice.yaml", &[], &["`host` is there twice"]),
        ("none.json", &serve, &["none.json", "no such file"]),
        ("text.md", &serve, &["text.md"]),
        ("bomb.yaml", &[], &["bomb.yaml", "aliases"]),
        ("deep.yaml", &[], &["deep.yaml"]),
        ("list.json", &serve, &["list.json", "no object"]),
        ("broken.json", &serve, &["broken.json", "not JSON", "line 1"]),
        ("sets.json", &[], &["sets.json", "serve command"]),
    ];
    for (file, command, words) in cases {
        let words: Vec<&str> = words.iter().copied().chain(["help:"]).collect();
        init(&lab, &[&["--from", file], command].concat(), "").expect_error(1, &words);
    }
}

#[test]
fn shared_prefixes_keep_their_lengths() {
    let lab = Lab::new();
    let sets = r#"[{"dataset_name": "prefix_repetition", "prefix_repetition_prefix_len": 512, "prefix_repetition_num_prefixes": 4},
        {"random_input_len": 100, "random_prefix_len": 64, "random_output_len": 8}]"#;
    lab.write("loads.json", sets);
    let yaml = "server:\n  base_flags: {model_path: org/m}\n  search_space: {max_running_requests: [64, 128]}\n\
                dataset: {kind: generated-shared-prefix, gsp_num_groups: 8, gsp_prompts_per_group: 4, gsp_system_prompt_len: 900}\n";
    lab.write("groups.yaml", yaml);
    let serve = ["--engine-version", "0.17.1", "--", "vllm", "serve", "org/m"];
    let loads = init(&lab, &[&["--from", "loads.json"], &serve[..]].concat(), "").expect_code(0).stdout;
    for words in ["prefix   512", "prefixes 4", "input    256", "prefix   64", "input    100"] {
        assert!(loads.contains(words), "{words} of\n{loads}");
    }
    let groups = init(&lab, &["--from", "groups.yaml"], "").expect_code(0).stdout;
    for words in ["prefix   900", "prefixes 8", "input    128", "requests 32"] {
        assert!(groups.contains(words), "{words} of\n{groups}");
    }
    for (file, text) in [("a.plab", loads), ("b.plab", groups)] {
        lab.write(file, text);
        assert_eq!(doubts(&lab, file), Vec::<String>::new(), "{file}");
    }
}

/// The files that the comparison shows: name, the lines that are claimed, text.
fn compared() -> Vec<(String, usize, String)> {
    let page = fs::read_to_string(project().join("docs/comparison.md")).expect("the page");
    let claim = regex::Regex::new(r"`([\w.]+)` \((\d+) lines\)").expect("a pattern");
    let claims: Vec<_> = claim.captures_iter(&page).collect();
    let file = |c: &regex::Captures<'_>| {
        let rest = &page[c.get(0).expect("the whole").end()..];
        let block = rest.split("\n```").nth(1).and_then(|b| b.split_once('\n')).expect("a block").1;
        (c[1].to_owned(), c[2].parse().expect("a number"), block.to_owned())
    };
    claims.iter().map(file).collect()
}

#[test]
fn the_comparison_counts_lines_and_shows_files_that_init_reads() {
    let files = compared();
    assert_eq!(files.len(), 6, "{files:?}");
    for (name, claimed, text) in &files {
        let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')).count();
        assert_eq!(lines, *claimed, "{name}");
    }
    let lab = Lab::new();
    for (name, _, text) in files.iter().take(5) {
        lab.write(name, text);
    }
    let sweep = lab.read("sweep.sh");
    let text = init(&lab, &["--engine-version", "0.17.1"], &sweep).expect_code(0).stdout;
    assert!(text.contains("set_128_16384_fp8:") && text.contains("input       1024"), "{text}");
    let text = init(&lab, &["--from", "qwen3_8b.yaml"], "").expect_code(0).stdout;
    assert!(text.contains("vary max_running_requests * chunked_prefill_size * kv_cache_dtype"), "{text}");
    lab.write("sglang.plab", text);
    assert_eq!(doubts(&lab, "sglang.plab"), Vec::<String>::new());
}

#[test]
fn slips_of_other_tools_files_stand_as_typed() {
    let lab = Lab::new();
    lab.write("sets.json", r#"[{"max_num_seqss": 64}, {"max_num_seqs": 64, "zorble": 1}]"#);
    let serve = ["--engine-version", "0.17.1", "--", "vllm", "serve", "org/m"];
    let out = init(&lab, &[&["--from", "sets.json"], &serve[..]].concat(), "").expect_code(0);
    assert!(out.stdout.contains("    set_64:   --max-num-seqss=64,"), "{}", out.stdout);
    assert!(out.stdout.contains("raw --zorble=1"), "{}", out.stdout);
    for note in ["note: --max-num-seqss=64 stands as it was typed", "note: --zorble=1: unknown to the schema"]
    {
        assert!(out.stderr.contains(note), "{note} of\n{}", out.stderr);
    }
    lab.write("study.plab", &out.stdout);
    assert_eq!(errors(&lab, "study.plab"), ["E301"]);
    let yaml = "server:\n  base_flags: {model_path: org/m, mem_fracton_static: 0.8}\n  search_space: \
                {chunked_prefill_sizes: [2048, 4096]}\ndataset: {kind: random}\nspeculative: {enabled: true}\n";
    lab.write("sglang.yaml", yaml);
    let out = init(&lab, &["--engine-version", "0.5.9", "--from", "sglang.yaml"], "").expect_code(0);
    for line in
        ["    --mem-fracton-static=0.8 ", "axis chunked_prefill_sizes = --chunked-prefill-sizes=[2048, 4096]"]
    {
        assert!(out.stdout.contains(line), "{line} of\n{}", out.stdout);
    }
    for told in
        ["--mem-fracton-static=0.8 stands", "--chunked-prefill-sizes=2048 stands", "speculative: it names no"]
    {
        assert!(out.stderr.contains(told), "{told} of\n{}", out.stderr);
    }
}

/// A sweep that never runs the command alone has its first set as the baseline, and what the others lack goes back to the command's.
#[test]
fn the_baseline_of_a_sweep_is_what_it_runs() {
    let lab = Lab::new();
    let sets = r#"[{"_benchmark_name": "tp4", "tensor_parallel_size": 4, "max_model_len": 8192, "max_num_seqs": 128,
        "compilation_config.cudagraph_mode": "FULL"}, {"_benchmark_name": "dp2", "tensor_parallel_size": 2, "data_parallel_size": 4,
        "max_num_seqs": 64}, {"_benchmark_name": "fp8", "tensor_parallel_size": 4, "kv_cache_dtype": "fp8"}]"#;
    lab.write("sets.json", sets);
    let serve = ["--engine-version", "0.17.1", "--", "vllm serve org/m --max-model-len 16384"];
    let args = [&["--from", "sets.json"], &serve[..]].concat();
    let study = init(&lab, &args, "").expect_code(0).stdout;
    for line in [
        "# the first parameter set, tp4, as the sweep never runs the command alone",
        "engine current \"vLLM, tp4\" = vllm {",
        "    --max-model-len=8192 --tensor-parallel-size=4 --max-num-seqs=128\n    --compilation-config.cudagraph_mode=FULL\n",
        "    dp2 \"dp2\": --tensor-parallel-size=2 --data-parallel-size=4 --max-num-seqs=64 --max-model-len=16384\n            unset --compilation-config.cudagraph_mode,\n",
        "    fp8 \"fp8\": --kv-cache-dtype=fp8 --max-model-len=16384 unset --max-num-seqs unset --compilation-config.cudagraph_mode\n",
        "gpus     8 ",
    ] {
        assert!(study.contains(line), "{line} of\n{study}");
    }
    lab.write("study.plab", &study);
    assert_eq!(doubts(&lab, "study.plab"), Vec::<String>::new());
    lab.write("sets.json", sets.replacen('[', "[{}, ", 1));
    let study = init(&lab, &args, "").expect_code(0).stdout;
    assert!(study.contains("    tp4 ") && study.contains("# the command as it is"), "{study}");
    lab.write("sets.json", r#"[{"max_num_seqs": 64}]"#);
    let study = init(&lab, &args, "").expect_code(0).stdout;
    assert!(study.contains("--max-num-seqs=64") && study.contains("It has one parameter set"), "{study}");
    lab.write("study.plab", &study);
    assert_eq!(doubts(&lab, "study.plab"), Vec::<String>::new());
}

#[test]
fn a_sweep_asks_as_its_benchmark_does() {
    let lab = Lab::new();
    lab.write("sets.json", r#"[{"max_num_seqs": 32}, {"max_num_seqs": 64}]"#);
    let sweep = |bench: &str| {
        let command = format!(
            "vllm bench sweep serve --serve-cmd 'vllm serve org/m' --bench-cmd 'vllm bench serve {bench}' --serve-params sets.json"
        );
        init(&lab, &["--engine-version", "0.17.1"], &command).expect_code(0)
    };
    for bench in ["--backend vllm --endpoint /v1/completions", "--num-prompts 10"] {
        let study = sweep(bench).stdout;
        assert!(study.contains("api     openai_completions\n"), "{study}");
        lab.write("study.plab", &study);
        assert_eq!(doubts(&lab, "study.plab"), Vec::<String>::new());
    }
    let chat = sweep("--backend openai-chat --endpoint /v1/chat/completions");
    assert!(!chat.stdout.contains("openai_completions") && chat.stderr.is_empty(), "{}", chat.stderr);
    let other = sweep("--backend openai-embeddings --endpoint /v1/embeddings");
    assert!(
        other.stderr.contains("left out: --backend openai-embeddings --endpoint /v1/embeddings"),
        "{}",
        other.stderr
    );
}

/// A list of rates is profiles that can be measured; a range says that it is searched by nobody yet.
#[test]
fn rates_of_auto_benchmark_are_profiles() {
    let lab = Lab::new();
    let yaml = |qps: &str, sla: &str| {
        format!(
            "server:\n  base_flags: {{model_path: org/m, tp_size: 2}}\n  search_space: {{max_running_requests: [64, 128]}}\ndataset: {{kind: random, \
             num_prompts: 50, scenario_names: [chat], input_len: [100], output_len: [10]}}\nbenchmark: {{qps: {qps}{sla}}}\n"
        )
    };
    let sla = ", sla: {max_ttft_ms: 3000, max_tpot_ms: 50}";
    lab.write("rates.yaml", yaml("[4, 1, 2]", sla));
    let args = ["--engine-version", "0.5.9", "--from", "rates.yaml"];
    let out = init(&lab, &args, "").expect_code(0);
    for line in [
        "profile chat_1 \"chat, 1/s\" {",
        "    rate     4/s\n",
        "maximize goodput(ttft <= 3000ms and tpot <= 50ms) on chat_1, chat_2, chat_4\n",
    ] {
        assert!(out.stdout.contains(line), "{line} of\n{}", out.stdout);
    }
    assert!(out.stderr.contains("note: benchmark.qps 1, 2, 4: a profile for each rate"), "{}", out.stderr);
    lab.write("study.plab", &out.stdout);
    let found = lab.run(&["check", "--format", "json", "study.plab"]).json();
    assert_eq!(found["diagnostics"].as_array().map(Vec::len), Some(0), "{found}");
    lab.write("rates.yaml", yaml("[1, 2]", ""));
    let out = init(&lab, &args, "").expect_code(0);
    assert!(out.stdout.contains("maximize output_tps on chat_1, chat_2\n"), "{}", out.stdout);
    lab.write("rates.yaml", yaml("{lower: 1, upper: 8}", sla));
    let out = init(&lab, &args, "").expect_code(0);
    assert!(out.stdout.contains("rate     1/s .. 8/s\n") && out.stderr.contains("N901"), "{}", out.stderr);
}

#[test]
fn lists_in_a_set_are_sets_of_their_own() {
    let lab = Lab::new();
    let serve = ["--engine-version", "0.17.1", "--", "vllm", "serve", "Qwen/Qwen3-8B"];
    lab.write(
        "serve.json",
        r#"[{"data_parallel_size": [2, 4]}, {"max_num_seqs": [64, 128, 256]}, {"max_num_seqs": []}]"#,
    );
    lab.write(
        "bench.json",
        r#"[{"random_input_len": 500, "random_output_len": 50, "num_warmups": 5, "tokenizer": "x/y", "model": "other/m"}]"#,
    );
    let args = [&["--from", "serve.json", "--from", "bench.json"], &serve[..]].concat();
    let out = init(&lab, &args, "").expect_code(0);
    for told in
        ["--max-num-seqs=64", "--max-num-seqs=128", "--max-num-seqs=256", "--data-parallel-size=2", "warmup"]
    {
        assert!(out.stdout.contains(told), "{told}: {}", out.stdout);
    }
    for left_out in ["max_num_seqs []", "tokenizer x/y", "model other/m"] {
        assert!(out.stderr.contains(left_out), "{left_out}: {}", out.stderr);
    }
    lab.write("study.plab", &out.stdout);
    assert_eq!(doubts(&lab, "study.plab"), Vec::<String>::new(), "{}", out.stdout);
    // a set that has a name is told apart by its values
    lab.write("named.json", r#"{"small": {"max_num_seqs": [8, 16], "max_num_batched_tokens": 2048}}"#);
    let named = init(&lab, &[&["--from", "named.json"], &serve[..]].concat(), "").expect_code(0);
    assert!(named.stdout.contains("\"small 16\""), "{}", named.stdout);
}

#[test]
fn limits_that_all_loads_have_are_the_objective() {
    let lab = Lab::new();
    let serve = ["--from", "loads.json", "--engine-version", "0.17.1", "--", "vllm", "serve", "org/m"];
    let goal = "maximize goodput(ttft <= 500ms and latency <= 2000ms) on load_1, load_2";
    for limits in [r#""ttft:500 e2el:2000""#, r#"["ttft:500", "e2el:2000"]"#] {
        let load = |input: u32| {
            format!(r#"{{"random_input_len": {input}, "request_rate": 2, "goodput": {limits}}}"#)
        };
        lab.write("loads.json", format!("[{}, {}]", load(128), load(512)));
        let out = init(&lab, &serve, "").expect_code(0);
        assert!(
            out.stdout.contains(goal) && !out.stderr.contains("goodput"),
            "{}\n{}",
            out.stdout,
            out.stderr
        );
        lab.write("study.plab", &out.stdout);
        assert_eq!(doubts(&lab, "study.plab"), Vec::<String>::new());
    }
    lab.write("loads.json", r#"[{"random_input_len": 128, "goodput": "itl:9"}]"#);
    let out = init(&lab, &serve, "").expect_code(0);
    assert!(out.stderr.contains("goodput itl:9: limits that perflab does not know"), "{}", out.stderr);
    assert!(out.stdout.contains("maximize total_tps on load_1"), "{}", out.stdout);
}
