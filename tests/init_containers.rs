//! `perflab init` and containers: what `docker run`, Compose, Kubernetes and units of systemd give a server, mapped back or told.

use crate::init::{doubts, init};
use crate::init_scripts::assert_written;
use crate::support::Lab;

#[test]
fn what_a_container_has_is_mapped_back_or_told() {
    let cases: [(&str, &[&str], &[&str]); 12] = [
        (
            "docker run -v /data:/models -e HF_HOME=/models/hub -e MY_LORA=/models/a vllm/vllm-openai:v0.17.1 --model org/m",
            &["env MY_LORA=/data/a"],
            &[
                "site here { env HF_HOME=/data/hub }",
                "HF_HOME names /data/hub here, which the container has as /models/hub (/data:/models)",
            ],
        ),
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
            "llama-server -m x.gguf -ngl 99 -fa 1",
            &["-fa=on", "axis attention = --flash-attn=off"],
            &["--flash-attn 1: written as on"],
        ),
        (
            "CUDA_VISIBLE_DEVICES='' vllm serve org/m",
            &[],
            &["CUDA_VISIBLE_DEVICES=\"\": the server is given no GPU"],
        ),
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

#[test]
fn what_a_container_is_given_reaches_its_engine_however_the_command_comes() {
    let text = "docker run --gpus all -e VLLM_LOGGING_LEVEL=DEBUG -e HF_TOKEN=hf_abc vllm/vllm-openai:v0.17.1 --model org/m";
    let lab = Lab::new();
    let ways = [
        init(&lab, &[], text),
        init(&lab, &[text], ""),
        init(&lab, &text.split(' ').collect::<Vec<_>>(), ""),
    ];
    for out in ways {
        let out = out.expect_code(0);
        assert!(out.stdout.contains("env VLLM_LOGGING_LEVEL=DEBUG"), "{}", out.stdout);
        assert!(!out.stderr.contains("does not export"), "{}", out.stderr);
        assert_eq!(out.stderr.matches("HF_TOKEN").count(), 1, "{}", out.stderr);
    }
    let script = "VLLM_USE_DEEP_GEMM=1\nvllm serve org/m\n";
    let out = init(&lab, &["--engine-version", "0.17.1"], script).expect_code(0);
    assert!(out.stderr.contains("VLLM_USE_DEEP_GEMM: the script does not export it"), "{}", out.stderr);
}

#[test]
fn no_axis_is_offered_that_the_server_refuses() {
    let lab = Lab::new();
    for (cache, offered) in [("q8_0", false), ("f16", true)] {
        let text = format!("llama-server -m x.gguf -ngl 99 -fa on -ctv {cache}");
        let out = init(&lab, &["--engine-version", "11434"], &text).expect_code(0);
        assert_eq!(out.stdout.contains("--flash-attn=off"), offered, "{}", out.stdout);
        lab.write("study.plab", &out.stdout);
        assert_eq!(doubts(&lab, "study.plab"), Vec::<String>::new(), "{cache}");
    }
}

/// The shell in a container has the container's variables.
#[test]
fn a_shell_in_a_container_inserts_what_the_container_is_given() {
    let pod = "containers:\n- name: vllm\n  image: vllm/vllm-openai:v0.11.0\n  command: [\"/bin/sh\", \"-c\"]\n  \
               args: [\"vllm serve SPELLED --max-num-seqs 4\"]\n  env:\n  - name: MODEL\n    value: a/b\n";
    let lab = Lab::new();
    for spelled in ["$MODEL", "${MODEL}", "$(MODEL)", "${OTHER:-a/b}"] {
        let out = init(&lab, &[], &pod.replace("SPELLED", spelled)).expect_code(0);
        assert!(out.stdout.contains("model    \"a/b\""), "{spelled}\n{}", out.stdout);
        // a variable of the script's own is none of the engine's
        let kept = !spelled.contains("MODEL");
        assert_eq!(out.stdout.contains("env MODEL"), kept, "{spelled}\n{}", out.stdout);
    }
    let run =
        ["docker", "run", "-e", "MODEL=a/b", "vllm/vllm-openai:v0.11.0", "bash", "-lc", "vllm serve $MODEL"];
    let out = init(&lab, &[&["--"][..], &run].concat(), "").expect_code(0);
    assert!(out.stdout.contains("model    \"a/b\""), "{}", out.stdout);
    init(&lab, &[], &pod.replace("SPELLED", "$NOBODYS")).expect_error(1, &["NOBODYS"]);
}

const COMPOSE: &str = "services:
  llm:
    image: lmsysorg/sglang:v0.5.9
    volumes: ['/data/models:/models', 'cache:/root/.cache']
    ports: ['30000:30000']
    privileged: true
    env_file: .env
    ipc: host
    ulimits: {memlock: -1}
    entrypoint: python3 -m sglang.launch_server
    command: --model-path /models/GLM --tp 8 --port 30000
  ui:
    image: ui:1
";

const DEPLOYMENT: &str = "kind: Deployment
spec:
  replicas: 2
  template:
    spec:
      initContainers:
      - {name: dl, image: alpine, command: [sh, -c, wget x]}
      containers:
      - name: llm
        image: vllm/vllm-openai:v0.17.1
        args: [--model, /models/llama, -tp, $(TP)]
        env:
        - {name: TP, value: '4'}
        - {name: VLLM_USE_DEEP_GEMM, value: '1'}
        envFrom: [{configMapRef: {name: more}}]
        volumeMounts: [{name: m, mountPath: /models}, {name: s, mountPath: /dev/shm}]
      volumes:
      - {name: m, hostPath: {path: /data}}
      - {name: s, emptyDir: {medium: Memory}}
";

#[test]
fn manifests_lose_nothing_without_a_word() {
    let unit =
        "[Service]\nEnvironmentFile=-/etc/llm.env\nExecStart=/opt/vllm serve org/m --max-num-seqs 64\n";
    assert_written(
        &Lab::new(),
        &[
            (
                COMPOSE,
                &["model    \"/data/models/GLM\"", "gpus     8 "],
                &[
                    "-v /data/models:/models: a mount",
                    "-v cache:/root/.cache: a mount",
                    "-p 30000:30000: perflab chooses a free port",
                    "--privileged: an option",
                    "--env-file .env: an option",
                    "--ipc host: an option",
                    "ulimits: an option",
                    "`ui` (ui:1): another container",
                ],
            ),
            (
                DEPLOYMENT,
                &["model    \"/data/llama\"", "gpus     4 ", "    env VLLM_USE_DEEP_GEMM=1\n    -tp=4\n"],
                &[
                    "replicas 2: perflab measures one server",
                    "envFrom more: what it sets is not known here",
                    "/dev/shm: a mount of emptyDir",
                    "`dl` (alpine): another container",
                ],
            ),
            (
                unit,
                &["--max-num-seqs=64"],
                &["`source /etc/llm.env`: another command; what that file sets is not known here"],
            ),
            (
                "docker run -e TP=2 -e VLLM_USE_DEEP_GEMM=1 --env-file x.env --privileged vllm/vllm-openai:v0.17.1 bash -c 'vllm serve org/m -tp $TP'",
                &["    env VLLM_USE_DEEP_GEMM=1\n    -tp=2\n"],
                &["--env-file x.env: an option of the container", "--privileged"],
            ),
        ],
    );
    let anchored = "x: &a {image: i}\nservices:\n  llm:\n    <<: *a\n    command: vllm serve org/m\n";
    init(&Lab::new(), &[], anchored).expect_error(1, &["manifest", "aliases", "help:"]);
}

#[test]
fn commands_for_other_gpus_are_told() {
    let cases: [(&str, &[&str], &[&str]); 3] = [
        (
            "docker run --device /dev/kfd --device /dev/dri rocm/vllm:latest vllm serve org/m -tp 8",
            &["gpus     8 ", "# NVIDIA's, as perflab takes no others"],
            &["note: /dev/kfd: the command is for AMD's GPUs, and perflab takes only NVIDIA's"],
        ),
        (
            "docker run vllm/vllm-openai-rocm:v0.17.1 --model org/m",
            &[],
            &["note: vllm/vllm-openai-rocm:v0.17.1: the command is for AMD's"],
        ),
        (
            "HIP_VISIBLE_DEVICES=0 vllm serve org/m",
            &[],
            &["note: HIP_VISIBLE_DEVICES: the command is for AMD's"],
        ),
    ];
    assert_written(&Lab::new(), &cases);
}
