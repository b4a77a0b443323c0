//! `perflab init`: pasted commands and the studies that they become. Each `tests/init/NAME.txt` has its study beside it,
//! which must check without a warning, and whose baseline must be the pasted command.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use crate::support::{Lab, Output, project};

pub fn folder() -> PathBuf {
    project().join("tests/init")
}

/// The binary with a text on stdin and a home of its own.
pub fn init(lab: &Lab, args: &[&str], stdin: &str) -> Output {
    let input = lab.write("stdin.txt", stdin);
    let mut command = lab.command(&[&["init"], args].concat());
    command.env("HOME", "/home/me").stdin(fs::File::open(input).map_or(Stdio::null(), Stdio::from));
    lab.start_command(command).wait()
}

#[track_caller]
pub fn assert_golden(name: &str, text: &str) {
    let path = folder().join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|v| v == "1") {
        fs::write(&path, text).expect("written");
    }
    let expected =
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}; UPDATE_EXPECT=1 writes it"));
    assert!(text == expected, "{name} differs (UPDATE_EXPECT=1 rewrites it); now:\n{text}");
}

/// Errors and warnings that `check` finds; notes are no doubts.
pub fn doubts(lab: &Lab, file: &str) -> Vec<String> {
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

/// As a mail or a page of markdown quotes it.
#[test]
fn a_quoted_command_is_read_without_its_signs() {
    let lab = Lab::new();
    let out =
        init(&lab, &[], "> vllm serve Qwen/Qwen3-8B \\\n>   --kv-cache-memory-bytes 20G\n").expect_code(0);
    assert!(out.stdout.contains("    --kv-cache-memory-bytes=20Gi\n"), "{}", out.stdout);
}

/// What every launch sets is no study's to set.
#[test]
fn directories_of_the_launch_are_left_out() {
    let lab = Lab::new();
    let out = init(&lab, &[], "TMPDIR=/scratch HOME=/srv vllm serve Qwen/Qwen3-8B").expect_code(0);
    for name in ["TMPDIR", "HOME"] {
        let said = format!("left out: {name}: every launch has one of its own; set it for perflab itself");
        assert!(out.stderr.contains(&said), "{}", out.stderr);
    }
    lab.write("first.plab", &out.stdout);
    lab.run(&["check", "first.plab"]).expect_code(0);
}

#[test]
fn layouts_that_are_searched_take_their_gpus() {
    let lab = Lab::new();
    let search =
        "server:\n  base_flags: {model_path: m/x}\n  search_space: {tp_size: [1, 2], dp_size: [1, 2]}\n";
    lab.write("search.yaml", format!("{search}dataset: {{kind: random}}\nbenchmark: {{qps: 4}}\n"));
    let out = init(&lab, &["--from", "search.yaml"], "").expect_code(0);
    assert!(out.stdout.contains("    gpus     4"), "{}", out.stdout);
    let out = init(&lab, &["--from", "search.yaml", "--", "vllm", "serve", "m/x"], "").expect_code(1);
    assert!(out.stderr.contains("leave out the command beside it"), "{}", out.stderr);
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
    let level = init(&lab, &[], "vllm serve org/m -O3 --disable-log-requests").expect_code(0).stdout;
    assert!(
        level.contains("version \"0.11.0\"") && level.contains("    -O=3 --disable-log-requests\n"),
        "{level}"
    );
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
    let doubled: Vec<String> = (0..40).map(|i| format!("A{}=${{A{i}}}${{A{i}}}\n", i + 1)).collect();
    let doubled = doubled.concat();
    let arrays: String = (0..40).map(|_| "A=(\"${A[@]}\" \"${A[@]}\")\n").collect();
    let repeated = format!("vllm serve org/m {}", "--a 1 ".repeat(5000));
    let grown = [
        format!("A0=1\n{doubled}vllm serve org/m -tp $A40"),
        format!("A=('' '')\n{arrays}vllm serve org/m ${{A[@]}}"),
    ];
    let cases: [(&str, &[&str]); 18] = [
        (&grown[0], &["variables insert one another"]),
        (&grown[1], &["variables insert one another"]),
        (&repeated, &["10001 words"]),
        ("trtllm-serve org/m --extra_llm_api_options=<(cat x)", &["(cat x)", "another command"]),
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

/// Codes of the errors that `check` finds.
pub fn errors(lab: &Lab, file: &str) -> Vec<String> {
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

/// A file that a shell makes of what stands in the command is read where perflab writes that file itself.
#[test]
fn files_that_a_command_writes_in_place_are_read() {
    let lab = Lab::new();
    let commands = [
        "trtllm-serve org/m --extra_llm_api_options=<(echo '{\"a\": {\"b\": 1}}') --tp_size 2",
        "N=1; trtllm-serve org/m --extra_llm_api_options <(printf '%s\\n' \"a: {b: $N}\") --tp_size 2",
    ];
    for command in commands {
        let out = init(&lab, &[], command).expect_code(0);
        let expected = "--extra_llm_api_options={\"a\": {\"b\": 1}} --tp_size=2\n";
        assert!(out.stdout.contains(expected), "{}", out.stdout);
    }
    // a path is another thing than what the file says
    init(&lab, &[], "vllm serve org/m --config <(echo 'tp: 2')").expect_error(1, &["<(echo tp: 2)"]);
}

/// What says where a server listens, and a model that a flag names, belong to the launch.
#[test]
fn sockets_and_models_of_flags_belong_to_the_launch() {
    let lab = Lab::new();
    let out = init(&lab, &[], "vllm serve org/m --uds /tmp/s --max-num-seqs 8").expect_code(0);
    assert!(!out.stdout.contains("uds") && out.stderr.contains("left out: --uds"), "{}", out.stderr);
    let out = init(&lab, &[], "llama-server --docker-repo ai/m:Q4 -ngl 99").expect_code(0);
    assert!(out.stdout.contains("\"llama-server --docker-repo {model} --host"), "{}", out.stdout);
    assert!(out.stdout.contains("model    \"ai/m:Q4\""), "{}", out.stdout);
    lab.write("study.plab", &out.stdout);
    assert_eq!(doubts(&lab, "study.plab"), Vec::<String>::new());
}

/// Variables take part in the choice of a release as flags do; what the user says of it stands, whatever that reads.
#[test]
fn variables_of_older_releases_choose_one_that_reads_them() {
    let lab = Lab::new();
    let command = "VLLM_ATTENTION_BACKEND=FLASHINFER vllm serve org/m";
    let out = init(&lab, &[], command).expect_code(0);
    assert!(out.stdout.contains("env VLLM_ATTENTION_BACKEND=FLASHINFER"), "{}", out.stdout);
    assert!(out.stdout.contains("version \"0.11.0\""), "{}", out.stdout);
    lab.write("study.plab", &out.stdout);
    assert_eq!(doubts(&lab, "study.plab"), Vec::<String>::new());
    let out = init(&lab, &["--engine-version", "0.32.0"], command).expect_code(0);
    assert!(out.stdout.contains("env VLLM_ATTENTION_BACKEND=FLASHINFER"), "{}", out.stdout);
    lab.write("study.plab", &out.stdout);
    let said = doubts(&lab, "study.plab");
    assert!(matches!(said.as_slice(), [one] if one.contains("W339")), "{said:?}");
}
