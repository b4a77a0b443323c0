//! `perflab init` and scripts: what a shell would make of arrays, conditions, texts and what a page puts around a command.

use std::time::{Duration, Instant};

use crate::init::{doubts, init};
use crate::support::Lab;

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

/// What each command writes into a study that checks cleanly, and what is told on stderr.
#[track_caller]
pub fn assert_written(lab: &Lab, cases: &[(&str, &[&str], &[&str])]) {
    for (text, written, told) in cases {
        let out = init(lab, &[], text).expect_code(0);
        for words in *written {
            assert!(out.stdout.contains(words), "{words} of\n{text}\n{}", out.stdout);
        }
        for words in *told {
            assert!(out.stderr.contains(words), "{words} of\n{text}\n{}", out.stderr);
        }
        lab.write("study.plab", &out.stdout);
        assert_eq!(doubts(lab, "study.plab"), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn arrays_of_flags_are_inserted_whole() {
    assert_written(
        &Lab::new(),
        &[
            (
                "TP=${1:-4}\nARGS=(\n  --tensor-parallel-size \"$TP\"\n  --max-model-len 65536  # long\n)\nif [[ \"${DEBUG:-0}\" == 1 ]]; \
                 then\n  ARGS+=(--enforce-eager)\nfi\nexec vllm serve org/m \"${ARGS[@]}\" --async-scheduling",
                &["    --tensor-parallel-size=4 --max-model-len=65536 --async-scheduling\n", "gpus     4 "],
                &[
                    "assumed: $DEBUG is 0",
                    "left out: `ARGS+=(--enforce-eager)`: its condition does not hold here",
                ],
            ),
            (
                "ARGS=()\nARGS+=(--tensor-parallel-size 4)\nvllm serve org/m \"${ARGS[@]}\"",
                &["    --tensor-parallel-size=4\n"],
                &[],
            ),
            (
                "ARGS=\"--tensor-parallel-size 4\"\nARGS=\"$ARGS --max-model-len 16384\"\nARGS+=\" --max-num-seqs 64\"\nvllm serve org/m $ARGS",
                &["    --tensor-parallel-size=4 --max-model-len=16384 --max-num-seqs=64\n"],
                &[],
            ),
            (
                "ARGS=(-tp 2)\nif [ -n \"$FAST\" ]; then ARGS+=(--enforce-eager); fi\nvllm serve org/m ${ARGS[@]} \"$@\"",
                &["    -tp=2\n"],
                &[
                    "`ARGS+=(--enforce-eager)`: its condition is not known here",
                    "`$@`: what the script itself is given",
                ],
            ),
            (
                "if [ -n \"$MODE\" ]; then\n  export VLLM_USE_DEEP_GEMM=1\nfi\nwhile read x; do TP=8; done\nTP=2\nvllm serve org/m -tp $TP",
                &["    -tp=2\n"],
                &["`export VLLM_USE_DEEP_GEMM=1`: its condition is not known here"],
            ),
        ],
    );
}

#[test]
fn a_loop_that_starts_several_servers_is_told() {
    let lab = Lab::new();
    let several = "`for i in 1 …`: a loop that starts several servers";
    assert_written(&lab, &[("for i in 1 2 3; do vllm serve x/y --port 800$i & done", &["x/y"], &[several])]);
    for text in ["for i in 1; do vllm serve x/y; done", "for i in 1 2; do sleep $i; done\nvllm serve x/y"] {
        let out = init(&lab, &[], text).expect_code(0);
        assert!(!out.stderr.contains("a loop that"), "{text}\n{}", out.stderr);
    }
}

/// It was quadratic in the lines, and a minute for these.
#[test]
fn a_long_script_is_read_in_seconds() {
    let lab = Lab::new();
    let lines = 60_000;
    let begun = Instant::now();
    for text in [
        "# a comment\n".repeat(lines) + "vllm serve x/y",
        format!("$ vllm serve x/y \\\n{}", "# a comment\n".repeat(lines)),
    ] {
        let out = init(&lab, &[], &text).expect_code(0);
        assert!(out.stdout.contains("x/y"), "{}", out.stdout);
    }
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
}

#[test]
fn however_quiet_it_is_to_be_it_says_what_it_left_out() {
    let lab = Lab::new();
    let text = "vllm serve org/m --tp 2 --api-key abcdefgh";
    let told = |args: &[&str]| init(&lab, args, text).expect_code(0).stderr;
    assert!(told(&["-q"]).contains("left out: --api-key"), "{}", told(&["-q"]));
    assert_eq!(told(&["-q"]), told(&[]));
}

#[test]
fn what_a_shell_inserts_and_nobody_knows_here_is_refused() {
    let lab = Lab::new();
    let cases: [(&str, &[&str]); 7] = [
        ("vllm serve org/m \"${ARGS[@]}\"", &["`${ARGS[@]}`", "sets"]),
        ("vllm serve org/m $EXTRA", &["`$EXTRA`", "sets"]),
        ("A=(-tp 2)\nA[1]=4\nvllm serve org/m \"${A[@]}\"", &["`${A[…]=}`"]),
        ("M=a/b\nvllm serve ${M/a/c}", &["`${M/a/c}`", "more of a shell"]),
        ("for TP in 2 4; do vllm serve org/m -tp $TP; done", &["`$TP`", "sets"]),
        ("TP=2\nif [ -n \"$X\" ]; then vllm serve a/b; else vllm serve c/d; fi", &["2 serve commands"]),
        ("llama-server -m C:\\models\\x.gguf", &["a path of Windows"]),
    ];
    for (text, words) in cases {
        let words: Vec<&str> = words.iter().copied().chain(["help:"]).collect();
        init(&lab, &[], text).expect_error(1, &words);
    }
}

#[test]
fn texts_of_other_commands_are_skipped_or_hold_the_command() {
    assert_written(
        &Lab::new(),
        &[
            (
                "cat > extra.yml <<EOF\nenable_attention_dp: true\nx: don't\nEOF\ntrtllm-serve org/m --tp_size 8 --extra_llm_api_options extra.yml",
                &["--tp_size=8 --extra_llm_api_options=extra.yml"],
                &["left out: `cat > extra.yml`: another command; the 2 lines that it writes are not read"],
            ),
            (
                "$ cat << 'EOF' > extra.yml\n> a: 1\n> EOF\n$ mpirun -n 1 trtllm-serve org/m --tp_size 2 &\nINFO",
                &["--tp_size=2"],
                &["`cat > extra.yml`"],
            ),
            (
                "ssh box bash -s <<EOF\nvllm serve org/m -tp 2\nEOF",
                &["-tp=2"],
                &["start perflab itself there"],
            ),
            (
                "kubectl apply -f - <<EOF\nkind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai:v0.17.1\n    args: [\"--model\", \
                 \"org/m\", \"-tp\", \"2\"]\nEOF",
                &["-tp=2", "version \"0.17.1\"\n"],
                &[],
            ),
            ("cat > run.sh <<'E'\nvllm serve org/m -tp 2\nE\nbash run.sh", &["-tp=2"], &[]),
        ],
    );
}

#[test]
fn pages_other_shells_and_wrappers_are_read() {
    assert_written(
        &Lab::new(),
        &[
            (
                "vllm\u{a0}serve org/m –tensor-parallel-size 2 —speculative-config ‘{“method”: “ngram”, “num_speculative_tokens”: 2}’",
                &[
                    "--tensor-parallel-size=2",
                    "--speculative-config={\"method\": \"ngram\", \"num_speculative_tokens\": 2}",
                ],
                &["note: typographic quotes and dashes were read as those of a shell"],
            ),
            (
                "$env:VLLM_USE_DEEP_GEMM = \"1\"\r\n$m = 'org/m'\r\nvllm serve $m `\r\n  -tp 2\r\n",
                &["env VLLM_USE_DEEP_GEMM=1\n", "-tp=2"],
                &[],
            ),
            ("!vllm serve org/m -tp 2 &", &["-tp=2"], &[]),
            (
                "VLLM_USE_DEEP_GEMM=1\nexport VLLM_USE_DEEP_GEMM\nvllm serve org/m",
                &["env VLLM_USE_DEEP_GEMM=1"],
                &[],
            ),
            (
                "VLLM_USE_DEEP_GEMM=1\nvllm serve org/m",
                &[],
                &["VLLM_USE_DEEP_GEMM: the script does not export it"],
            ),
            ("set -x VLLM_USE_DEEP_GEMM 1\nvllm serve org/m", &["env VLLM_USE_DEEP_GEMM=1"], &[]),
            (
                "sudo -E nohup vllm serve org/m -tp 2 > log 2>&1 & disown",
                &["-tp=2"],
                &["`sudo`", "`disown`: another command"],
            ),
            (
                "vllm serve org/m \\ \n  # two\n  -tp 2 \\\n  --max-num-seqs ${SEQS:-64}",
                &["-tp=2 --max-num-seqs=64"],
                &["$SEQS is 64"],
            ),
            (
                "exec > >(tee log) 2>&1\nserve() {\n  vllm serve org/m -tp 2 \"$@\"\n}\nserve",
                &["-tp=2"],
                &["`$@`"],
            ),
            (
                "llama-server -hf unsloth/phi-4-GGUF:Q4_K_M -hff phi-4-Q4_K_M.gguf -ngl 99",
                &["-hf {model}", "model    \"unsloth/phi-4-GGUF:Q4_K_M\"", "raw -hff=phi-4-Q4_K_M.gguf"],
                &["note: -hff=phi-4-Q4_K_M.gguf: a file of the model's repository, passed on unchecked"],
            ),
            (
                "llama-server -m unsloth/phi-4-GGUF:Q4_K_M",
                &["-GGUF:Q4_K_M"],
                &["a model of the hub by -hf unsloth/phi-4-GGUF:Q4_K_M"],
            ),
        ],
    );
}

/// What a release refuses beside the command's own flags is not proposed.
#[test]
fn proposals_start_beside_the_command() {
    let lab = Lab::new();
    for flags in [
        "-pp 2",
        "--speculative-config '{\"method\": \"ngram\", \"num_speculative_tokens\": 2, \"prompt_lookup_max\": 4}'",
    ] {
        let text = format!("vllm serve org/m {flags}");
        let out = init(&lab, &["--engine-version", "0.11.0"], &text).expect_code(0);
        assert!(!out.stdout.contains("--async-scheduling"), "{}", out.stdout);
        lab.write("study.plab", &out.stdout);
        assert_eq!(doubts(&lab, "study.plab"), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn what_is_installed_before_the_command_says_its_version() {
    let cases: [(&str, &[&str], &[&str]); 4] = [
        ("pip install vllm==0.11.0\nvllm serve org/m --max-num-seqs 256", &["version \"0.11.0\"\n"], &[]),
        (
            "uv pip install \"sglang[all]==0.5.5.post1\" torch==2.8\npython -m sglang.launch_server --model-path org/m",
            &["version \"0.5.5.post1\"\n"],
            &[],
        ),
        (
            "pip install vllm\nvllm serve org/m",
            &["# the newest one known with these flags"],
            &["`pip install vllm`: another command"],
        ),
        (
            "source ~/venvs/vllm-0.17.1/bin/activate\npip install torch==2.8\nvllm serve org/m",
            &[],
            &[
                "site here { engine vllm via venv \"/home/me/venvs/vllm-0.17.1\" }",
                "`pip install torch==2.8`: another command",
            ],
        ),
    ];
    assert_written(&Lab::new(), &cases);
}
