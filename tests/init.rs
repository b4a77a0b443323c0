//! `perflab init`: pasted commands and the studies that they become. Each `tests/init/NAME.txt` has its study beside it,
//! which must check without a warning, and whose baseline must be the pasted command.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use crate::support::{Lab, Output, project};

fn folder() -> PathBuf {
    project().join("tests/init")
}

/// The binary with a text on stdin and a home of its own.
fn init(lab: &Lab, args: &[&str], stdin: &str) -> Output {
    let input = lab.write("stdin.txt", stdin);
    let mut command = lab.command(&[&["init"], args].concat());
    command.env("HOME", "/home/me").stdin(fs::File::open(input).map_or(Stdio::null(), Stdio::from));
    lab.start_command(command).wait()
}

#[track_caller]
fn assert_golden(name: &str, text: &str) {
    let path = folder().join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|v| v == "1") {
        fs::write(&path, text).expect("written");
    }
    let expected =
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}; UPDATE_EXPECT=1 writes it"));
    assert!(text == expected, "{name} differs (UPDATE_EXPECT=1 rewrites it); now:\n{text}");
}

/// Errors and warnings that `check` finds; notes are no doubts.
fn doubts(lab: &Lab, file: &str) -> Vec<String> {
    let out = lab.run(&["check", "--format", "json", file]);
    let all = out.json();
    let found = all["diagnostics"].as_array().expect("a list");
    let doubts = found.iter().filter(|d| d["severity"] != "note");
    doubts.map(|d| format!("{} {}", d["code"], d["message"])).collect()
}

fn cases() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = fs::read_dir(folder())
        .expect("the folder")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "txt"))
        .map(|p| {
            let name = p.file_stem().and_then(|s| s.to_str()).expect("a name").to_owned();
            (name, fs::read_to_string(&p).expect("text"))
        })
        .collect();
    found.sort();
    assert!(found.len() > 10, "the cases are where they should be");
    found
}

#[test]
fn pasted_commands_become_studies() {
    for (name, text) in cases() {
        let lab = Lab::new();
        let out = init(&lab, &[], &text).expect_code(0);
        assert_golden(&format!("{name}.plab"), &out.stdout);
        lab.write("study.plab", &out.stdout);
        assert_eq!(doubts(&lab, "study.plab"), Vec::<String>::new(), "{name}");
        lab.run(&["fmt", "--check", "study.plab"]).expect_code(0);
        let plan = lab.run(&["plan", "study.plab", "--format", "json"]).expect_code(0).json();
        assert!(plan["launches"]["max"].as_u64().is_some_and(|n| n > 2), "{name}: {}", plan["launches"]);
        for secret in ["hf_not_for_git", "sk-not-for-git"] {
            assert!(!out.stdout.contains(secret) && !out.stderr.contains(secret), "{name} tells a secret");
        }
        for line in out.stdout.lines() {
            assert!(line.chars().count() <= 110 && line.trim_end() == line, "{name}: {line}");
        }
    }
}

/// What people paste most is a study of a page, whatever the engine.
#[test]
fn typical_commands_become_studies_of_some_25_lines() {
    let commands = [
        "vllm serve Qwen/Qwen3-8B",
        "vllm serve Qwen/Qwen3-32B -tp 4 --max-model-len 32768 --gpu-memory-utilization 0.9 --port 8000",
        "vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --max-num-batched-tokens 512 --max-num-seqs 512 --enable-expert-parallel",
        "python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B --dtype auto --max-model-len 8192",
        "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2 --mem-fraction-static 0.85 --port 30000",
        "sglang serve --model-path Qwen/Qwen3-8B --host 0.0.0.0",
        "trtllm-serve Qwen/Qwen3-14B --max_batch_size 256 --tp_size 2 --extra_llm_api_options options.yaml",
        "docker run --gpus all -v ~/.cache/huggingface:/root/.cache/huggingface -e HF_TOKEN=hf_x -p 8000:8000 --ipc=host \
         vllm/vllm-openai:v0.11.0 --model Qwen/Qwen3-8B --max-num-seqs 128",
        "docker run --gpus all --shm-size 32g -p 30000:30000 lmsysorg/sglang:v0.5.9 python3 -m sglang.launch_server \
         --model-path Qwen/Qwen3-8B --host 0.0.0.0 --port 30000",
        "llama-server -m model.gguf -c 16384 -np 4 -ngl 99",
        "perflab sim --model Qwen/Qwen3-8B --max-model-len 8192",
    ];
    let lab = Lab::new();
    for command in commands {
        let study = init(&lab, &[], command).expect_code(0).stdout;
        let lines = study.lines().count();
        assert!((22..=28).contains(&lines), "{lines} lines of {command}:\n{study}");
        lab.write("study.plab", &study);
        assert_eq!(doubts(&lab, "study.plab"), Vec::<String>::new(), "{command}");
        lab.run(&["fmt", "--check", "study.plab"]).expect_code(0);
    }
}

#[test]
fn secrets_are_named_on_stderr_and_written_nowhere() {
    let commands = [
        "HF_TOKEN=not-for-git vllm serve org/m",
        "export OPENAI_API_KEY=not-for-git\nvllm serve org/m --api-key $OPENAI_API_KEY",
        "docker run -e MYAPIKEY=not-for-git -e PGPASSWORD=not-for-git vllm/vllm-openai:v0.17.1 --model org/m",
        "env AWS_SECRET_ACCESS_KEY=not-for-git nohup sglang serve --model-path org/m > log.txt 2>&1 &",
        "sudo HTTPS_PROXY=http://me:not-for-git@proxy:3128 trtllm-serve org/m",
        "vllm serve org/m --hf-overrides '{\"token\": \"not-for-git\"}' --hf-token=not-for-git",
        "vllm serve org/m --otlp-traces-endpoint http://me:not-for-git@host:4317 --my-password not-for-git",
    ];
    let lab = Lab::new();
    for command in commands {
        let out = init(&lab, &[], command).expect_code(0);
        assert!(!out.stdout.contains("not-for-git"), "{command}\n{}", out.stdout);
        assert!(out.stderr.contains("a secret") && !out.stderr.contains("not-for-git"), "{}", out.stderr);
    }
    let told = init(&lab, &[], "mpirun -x HF_TOKEN=not-for-git trtllm-serve org/m");
    assert!(!told.expect_error(1, &["a secret", "HF_TOKEN"]).stderr.contains("not-for-git"));
}

#[test]
fn the_cookbook_shows_what_init_writes() {
    let page = fs::read_to_string(project().join("docs/cookbook.md")).expect("the page");
    let (_, section) = page.split_once("## From a serve command\n").expect("the section");
    let command =
        section.split('`').nth(1).and_then(|c| c.strip_prefix("perflab init -- ")).expect("the command");
    let block = section.split("```").nth(1).and_then(|b| b.strip_prefix("plab\n")).expect("the study");
    assert_eq!(init(&Lab::new(), &[], command).expect_code(0).stdout, block);
}

/// Words of a command, `--flag=value` and `--flag value` alike, without those that a launch decides.
fn words(command: &str) -> Vec<String> {
    let all = shell_words::split(&command.replace("\\\n", " ")).expect("a command");
    let mut out: Vec<String> = Vec::new();
    let mut skip = false;
    for word in all {
        if std::mem::take(&mut skip) || word == "&" {
            continue;
        }
        match word.split_once('=').filter(|(name, _)| name.starts_with('-')) {
            Some((name, value)) => out.extend([name.to_owned(), value.to_owned()]),
            None => out.push(word),
        }
        if matches!(out.last().map(String::as_str), Some("--host" | "--port")) {
            out.pop();
            skip = true;
        }
    }
    out
}

#[test]
fn the_baseline_is_the_pasted_command() {
    let simple: Vec<_> = cases()
        .into_iter()
        .filter(|(_, text)| text.lines().filter(|l| !l.starts_with([' ', '#'])).count() == 1)
        .filter(|(name, text)| {
            !text.starts_with("docker") && !text.starts_with("podman") && !name.contains("session")
        })
        .collect();
    assert!(simple.len() >= 8, "{}", simple.len());
    for (name, text) in simple {
        let lab = Lab::new();
        let study = init(&lab, &[], &text).expect_code(0).stdout;
        lab.write("study.plab", study);
        let plan = lab.run(&["plan", "study.plab", "--format", "json"]).expect_code(0).json();
        let command = plan["baseline"]["command"].as_str().expect("a command");
        let text: String = text.lines().filter(|l| !l.starts_with('#')).collect::<Vec<_>>().join("\n");
        // what `argparse` takes for the long option, and numbers and JSON in another spelling, are the same words
        let same = |w: String| match w.as_str() {
            "--tp" => "--tp-size".to_owned(),
            "--dp" => "--dp-size".to_owned(),
            "1k" => "1000".to_owned(),
            w if w.starts_with("~/") => w.replacen('~', "/home/me", 1),
            // a command is printed with the signs of the schema
            w if w.starts_with("--") => w.replace('_', "-"),
            w => {
                serde_json::from_str::<serde_json::Value>(w).map_or_else(|_| w.to_owned(), |j| j.to_string())
            }
        };
        let sorted = |text: &str| {
            let mut all: Vec<String> = words(text).into_iter().map(same).collect();
            all.sort();
            all
        };
        assert_eq!(sorted(command), sorted(&text), "{name}");
    }
}

#[test]
fn a_command_comes_as_arguments_in_quotes_or_on_stdin() {
    let lab = Lab::new();
    let line = "vllm serve Qwen/Qwen3-8B --max-model-len 32768 -tp 2";
    let piped = init(&lab, &[], line).expect_code(0);
    let split: Vec<&str> = line.split(' ').collect();
    for args in [vec![line], vec!["--", line], [vec!["--"], split.clone()].concat(), split] {
        let out = init(&lab, &args, "").expect_code(0);
        assert_eq!(out.stdout, piped.stdout, "{args:?}");
    }
    assert_eq!(piped.stderr, "");
}

#[test]
fn a_file_is_never_overwritten_by_accident() {
    let lab = Lab::new();
    let args = ["-o", "study.plab", "--", "vllm", "serve", "org/m"];
    let out = init(&lab, &args, "").expect_code(0);
    assert_eq!(out.stdout, "");
    assert!(out.stderr.contains("perflab plan study.plab"), "{}", out.stderr);
    let first = lab.read("study.plab");
    lab.write("study.plab", "mine");
    init(&lab, &args, "").expect_error(1, &["study.plab", "there is a file", "--force"]);
    assert_eq!(lab.read("study.plab"), "mine");
    init(&lab, &[&["--force"], &args[..]].concat(), "").expect_code(0);
    assert_eq!(lab.read("study.plab"), first);
    init(&lab, &["-o", "no/such/folder.plab", "--", "vllm", "serve", "org/m"], "")
        .expect_error(1, &["folder"]);
}

#[test]
fn the_version_comes_from_the_user_the_image_or_is_marked() {
    let lab = Lab::new();
    let guessed = init(&lab, &[], "vllm serve org/m").expect_code(0).stdout;
    assert!(guessed.contains("# the newest one known with these flags; yours: vllm --version"), "{guessed}");
    let said =
        init(&lab, &["--engine-version", "0.11.0", "--", "vllm serve org/m"], "").expect_code(0).stdout;
    assert!(said.contains("version \"0.11.0\"\n"), "{said}");
    // 0.11.0 has no --performance-mode, and schedules asynchronously only if told to
    assert!(
        !said.contains("--performance-mode") && said.contains("axis async   = --async-scheduling"),
        "{said}"
    );
    // a flag that is gone says that an older one runs
    let old = init(&lab, &[], "vllm serve org/m --cuda-graph-sizes 1 2").expect_code(0).stdout;
    assert!(old.contains("version \"0.11.0\"") && !old.contains("raw "), "{old}");
    let pinned = init(&lab, &[], "uv run --with vllm==0.17.1 vllm serve org/m").expect_code(0).stdout;
    assert!(
        pinned.contains("version \"0.17.1\"\n")
            && pinned.contains("\"uv run --with vllm==0.17.1 vllm serve {model}")
    );
    init(&lab, &["--engine-version", "new est", "--", "vllm serve org/m"], "").expect_error(1, &["new est"]);
}

#[test]
fn what_cannot_be_read_is_said() {
    let cases: [(&str, &[&str]); 14] = [
        ("", &["no command", "vllm serve"]),
        ("# only a comment\n", &["no command"]),
        ("ls -l", &["no serve command", "`ls -l`", "trtllm-serve"]),
        ("vllm bench serve --model m", &["no serve command"]),
        ("vllm serve --max-num-seqs 8", &["names no model"]),
        ("vllm serve <model>", &["<model>", "placeholder"]),
        ("vllm serve 'org/m", &["never closed"]),
        ("vllm serve org/m -tp $(nproc)", &["$(nproc)", "another command"]),
        ("vllm serve org/m -tp $TP", &["$TP", "sets"]),
        ("vllm serve \"$1\" -tp $2", &["`$1`, `$2`", "sets"]),
        (
            "vllm serve $MODEL --max-model-len=${LEN:?no} --port $PORT -tp $TP",
            &["`$MODEL`, `$LEN`, `$TP`", "sets"],
        ),
        ("vllm serve a/b &\nvllm serve c/d", &["2 serve commands"]),
        ("docker run ubuntu:24.04 sleep 10", &["no serve command"]),
        ("docker run", &["no serve command"]),
    ];
    let lab = Lab::new();
    for (text, words) in cases {
        let words: Vec<&str> = words.iter().copied().chain(["help:"]).collect();
        init(&lab, &[], text).expect_error(1, &words);
    }
}

/// What the command says where a variable is unset is taken and told; the shell may have kept it from being inserted.
#[test]
fn defaults_of_variables_are_taken_and_told() {
    let lab = Lab::new();
    let text = "vllm serve org/m -tp ${TP:-2} --max-model-len=${LEN:=8192} --api-key ${KEY:-not-for-git}";
    let out = init(&lab, &[], text).expect_code(0);
    assert!(out.stdout.contains("-tp=2 --max-model-len=8192\n"), "{}", out.stdout);
    assert!(
        out.stderr.contains("assumed: $TP is 2") && out.stderr.contains("$LEN is 8192"),
        "{}",
        out.stderr
    );
    assert!(!out.stderr.contains("not-for-git"), "{}", out.stderr);
    let words = [
        "--",
        "vllm",
        "serve",
        "org/m",
        "--tensor-parallel-size",
        "${TP:-2}",
        "--hf-overrides",
        "{\"$A\": 1}",
    ];
    let out = init(&lab, &words, "").expect_code(0);
    assert!(out.stdout.contains("--tensor-parallel-size=2 --hf-overrides={\"$A\": 1}\n"), "{}", out.stdout);
    init(&lab, &["--", "vllm", "serve", "org/m", "--max-model-len=$LEN"], "").expect_error(1, &["`$LEN`"]);
}

#[test]
fn what_starts_the_engine_stays_or_is_told() {
    let cases: [(&str, &[&str], &[&str]); 9] = [
        (
            "ssh gpu1 'cd x && vllm serve org/m -tp 2'",
            &["-tp=2"],
            &["`ssh gpu1 cd x", "start perflab itself there"],
        ),
        (
            "kubectl exec -it pod -- vllm serve org/m",
            &["model    \"org/m\""],
            &["`kubectl exec -it …`: start perflab itself there"],
        ),
        ("if true; then vllm serve org/m -tp 2; fi", &["-tp=2"], &[]),
        ("uvx vllm serve org/m", &["serve   \"uvx vllm serve {model}"], &[]),
        (
            "srun -N1 --gres=gpu:8 --container-image=nvcr.io#nvidia/tensorrt-llm/release:1.2.0rc1 bash -c 'trtllm-serve org/m'",
            &["version \"1.2.0rc1\"\n", "gpus     8 "],
            &["`srun -N1 --gres=gpu:8 …`", "via docker }"],
        ),
        (
            "podman run --rm docker.io/vllm/vllm-openai:v0.17.1 --model org/m",
            &["version \"0.17.1\"\n"],
            &["via podman }"],
        ),
        (
            "docker run vllm/vllm-openai:nightly --model org/m",
            &[],
            &["via docker \"vllm/vllm-openai:nightly\" }"],
        ),
        (
            "numactl --membind=0 bash -lc 'vllm serve org/m'",
            &["serve   \"numactl --membind=0 vllm serve {model}"],
            &[],
        ),
        (
            "numactl --membind=0 docker run vllm/vllm-openai:v0.17.1 --model org/m",
            &[],
            &["`numactl --membind=0`"],
        ),
    ];
    let lab = Lab::new();
    for (text, written, told) in cases {
        let out = init(&lab, &[], text).expect_code(0);
        let all = written.iter().map(|w| (w, &out.stdout)).chain(told.iter().map(|t| (t, &out.stderr)));
        for (words, text) in all {
            assert!(text.contains(words), "{words} of {text}");
        }
    }
}

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
    for told in ["goodput=ttft:500", "p99_e2el_ms <=1000"] {
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
    assert!(out.stdout.contains("axis sets = --max-num-seqs=[32, 64, 512]"), "{}", out.stdout);
    assert!(out.stderr.contains("--continue-on-error") && out.stderr.contains("S.json"), "{}", out.stderr);
}

#[test]
fn auto_benchmark_files_become_studies() {
    let out = from_files("auto_benchmark", &["--engine-version", "0.5.9", "--from", "auto_benchmark.yaml"]);
    assert!(
        out.stderr.contains("max_concurrency 16, 32: a profile has one cap, and no cap is kept"),
        "{}",
        out.stderr
    );
    let lab = Lab::with(&out.stdout);
    // tier 2: the first three keys together, and the fourth alone; the base is measured beside them
    let plan = lab.run(&["plan", "study.plab", "qwen3_32b", "--format", "json"]).expect_code(0).json();
    assert_eq!(plan["steps"][0]["candidates"].as_array().map(Vec::len), Some(2 * 2 * 2 + 3));
    from_files("auto_full", &["--engine-version", "0.5.9", "--from", "auto_full.yaml"]);
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

/// Codes of the errors that `check` finds.
fn errors(lab: &Lab, file: &str) -> Vec<String> {
    let all = lab.run(&["check", "--format", "json", file]).json();
    let found = all["diagnostics"].as_array().expect("a list");
    let errors = found.iter().filter(|d| d["severity"] == "error");
    errors.map(|d| d["code"].as_str().unwrap_or_default().to_owned()).collect()
}

/// What resembles a flag, or is another engine's, is a slip: `check` explains it. What resembles nothing may be a fork's.
#[test]
fn slips_stand_as_typed_and_only_strangers_are_raw() {
    let lab = Lab::new();
    let text = "vllm serve org/m --gpu-memory-utilisation 0.8 --tp 2 --max-num-seqs 64 --zorble 3";
    let out = init(&lab, &["--engine-version", "0.17.1"], text).expect_code(0);
    for line in ["    --gpu-memory-utilisation=0.8 ", "    --tp=2 ", "    raw --zorble=3 ", "gpus     2 "] {
        assert!(out.stdout.contains(line), "{line} of\n{}", out.stdout);
    }
    for note in [
        "note: --gpu-memory-utilisation=0.8 stands as it was typed, and `perflab check` refuses it: vLLM has no \
         flag --gpu-memory-utilisation; write --gpu-memory-utilization",
        "note: --tp=2 stands as it was typed",
        "note: --zorble=3: unknown to the schema, passed on unchecked",
    ] {
        assert!(out.stderr.contains(note), "{note} of\n{}", out.stderr);
    }
    lab.write("study.plab", &out.stdout);
    assert_eq!(errors(&lab, "study.plab"), ["E301", "E301"]);
    // a release that no schema was read from may know better
    let out = init(&lab, &["--engine-version", "99.1"], text).expect_code(0);
    assert!(out.stdout.contains("    --gpu-memory-utilisation=0.8 "), "{}", out.stdout);
    assert!(out.stderr.contains("`perflab check` doubts it"), "{}", out.stderr);
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

/// What only a running shell knows matters where the word does, and sums are known.
#[test]
fn commands_in_commands_are_read_to_their_end() {
    let lab = Lab::new();
    let cases: [(&str, &[&str], &[&str]); 6] = [
        (
            "docker run --gpus all -e \"HF_TOKEN=$(cat ~/.hf)\" vllm/vllm-openai:v0.17.1 --model org/m",
            &["model    \"org/m\""],
            &["HF_TOKEN: a secret"],
        ),
        ("cd $(dirname $0) && vllm serve org/m -tp $((8/2))", &["-tp=4"], &[]),
        ("GPUS=8\nbash -lc 'vllm serve org/m -tp $((8/2)) && echo done'", &["-tp=4"], &[]),
        ("vllm serve org/m --api-key $(cat key) -tp 2", &["-tp=2"], &["--api-key: a secret"]),
        ("vllm serve org/m --max-num-seqs `nproc` --api-key x", &[], &[]),
        (
            "PS C:\\> docker run --gpus all -p 8000:8000 `\n  vllm/vllm-openai:v0.17.1 `\n  --model org/m `\n  --max-num-seqs 64",
            &["--max-num-seqs=64"],
            &["-p 8000:8000"],
        ),
    ];
    for (text, written, told) in cases {
        let out = init(&lab, &[], text);
        if written.is_empty() {
            out.expect_error(1, &["`$(nproc)`", "another command"]);
            continue;
        }
        let out = out.expect_code(0);
        assert!(written.iter().all(|w| out.stdout.contains(w)), "{text}\n{}", out.stdout);
        assert!(told.iter().all(|t| out.stderr.contains(t)), "{text}\n{}", out.stderr);
    }
    for text in
        ["vllm serve org/m -tp $((N/2))", "taskset -c $(seq 4) vllm serve org/m", "$V/bin/vllm serve org/m"]
    {
        init(&lab, &[], text).expect_error(1, &["the command ", "help:"]);
    }
}

/// Nothing that a command says is lost without a word.
/// Which release the command is of, and what that reads, is the user's to say.
#[test]
fn a_variable_that_the_newest_release_does_not_read_stays() {
    let lab = Lab::new();
    let out = init(&lab, &[], "VLLM_ATTENTION_BACKEND=FLASHINFER vllm serve org/m").expect_code(0);
    assert!(out.stdout.contains("env VLLM_ATTENTION_BACKEND=FLASHINFER"), "{}", out.stdout);
    lab.write("study.plab", &out.stdout);
    let said = doubts(&lab, "study.plab");
    assert!(matches!(said.as_slice(), [one] if one.contains("W339")), "{said:?}");
}

#[test]
fn what_a_container_has_is_mapped_back_or_told() {
    let cases: [(&str, &[&str], &[&str]); 9] = [
        (
            "docker run --gpus '\"device=2,3\"' vllm/vllm-openai:v0.17.1 --model org/m",
            &["gpus     2 "],
            &["--gpus \"device=2,3\": set CUDA_VISIBLE_DEVICES=2,3 for perflab itself"],
        ),
        (
            "podman run -v /data/models:/models:ro lmsysorg/sglang:v0.5.9 python3 -m sglang.launch_server --model-path /models/GLM \
             --chat-template /models/t.jinja",
            &["model    \"/data/models/GLM\"", "--chat-template=/data/models/t.jinja"],
            &[
                "the model is /data/models/GLM here, which the container has as /models/GLM (/data/models:/models)",
            ],
        ),
        (
            "docker run --mount type=bind,source=/d,target=/models vllm/vllm-openai:v0.17.1 --model /models/x",
            &["model    \"/d/x\""],
            &[],
        ),
        (
            "docker run -v models:/models vllm/vllm-openai:v0.17.1 --model /models/x",
            &["model    \"/models/x\""],
            &["the model /models/x is a path in vllm/vllm-openai:v0.17.1"],
        ),
        (
            "docker compose run -e VLLM_USE_DEEP_GEMM=1 --env=NCCL_P2P_DISABLE=1 llm vllm serve org/m",
            &["env VLLM_USE_DEEP_GEMM=1 env NCCL_P2P_DISABLE=1"],
            &["start perflab itself there"],
        ),
        (
            "LLAMA_ARG_FLASH_ATTN=1 LLAMA_ARG_N_PARALLEL=8 llama-server -m x.gguf -ngl 99",
            &["--flash-attn=on", "axis attention = --flash-attn=off", "--parallel=[4, 16]", "gpus     1 "],
            &["LLAMA_ARG_FLASH_ATTN: written as the flag that it stands for, --flash-attn"],
        ),
        ("llama-server -m x.gguf -ngl 0", &[], &[]),
        (
            "LLAMA_ARG_DEVICE=CUDA0,CUDA1 llama-server -m x.gguf -ngl 99",
            &["--device=\"CUDA0,CUDA1\"", "gpus     2 "],
            &["LLAMA_ARG_DEVICE: written as the flag that it stands for, --device"],
        ),
        ("llama-server -m x.gguf -ngl 99 --tensor-split 3,1,0", &["gpus     2 "], &[]),
    ];
    let lab = Lab::new();
    for (text, written, told) in cases {
        let out = init(&lab, &[], text).expect_code(0);
        assert!(written.iter().all(|w| out.stdout.contains(w)), "{text}\n{}", out.stdout);
        assert!(told.iter().all(|t| out.stderr.contains(t)), "{text}\n{}", out.stderr);
        lab.write("study.plab", &out.stdout);
        assert_eq!(doubts(&lab, "study.plab"), Vec::<String>::new(), "{text}");
    }
    lab.write("loads.json", r#"[{"max_concurrency": [16, 32], "num_prompts": 100}]"#);
    let serve = ["--from", "loads.json", "--engine-version", "0.17.1", "--", "vllm", "serve", "org/m"];
    let out = init(&lab, &serve, "").expect_code(0);
    assert!(out.stdout.contains("concurrency 16\n"), "{}", out.stdout);
    assert!(out.stderr.contains("max_concurrency 32: a profile has one, and 16 is kept"), "{}", out.stderr);
}
