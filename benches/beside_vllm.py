"""`perflab bench` beside `vllm bench serve`: the same load on one llama.cpp server, in turns, and what each of them printed.

    python3 benches/beside_vllm.py VLLM [PERFLAB] [--rounds 3]

VLLM is the program of an environment with vLLM (its CPU build does: only its client runs). `bash examples/llama_cpp/setup.sh` makes the
server and its model. The server has one processor and the client another where the machine has two. Both tools draw prompts of 128
tokens by vLLM's recipe with the same tokenizer and ask for 64 tokens, 8 requests at a time, then at 20 requests a second.
"""

import argparse
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HOME = pathlib.Path(__file__).resolve().parent.parent
LLAMA = HOME / "examples/llama_cpp"
REQUESTS, INPUT, OUTPUT = 200, 128, 64
LOADS = {"8 at a time": ["--max-concurrency", "8"], "20 a second": ["--request-rate", "20"]}
ROWS = [
    ("completed", "requests"), ("total_input_tokens", "tokens"), ("total_output_tokens", "tokens"), ("duration", "s"),
    ("request_throughput", "/s"), ("output_throughput", "tok/s"),
    ("mean_ttft_ms", "ms"), ("median_ttft_ms", "ms"), ("p99_ttft_ms", "ms"),
    ("mean_tpot_ms", "ms"), ("median_tpot_ms", "ms"), ("p99_tpot_ms", "ms"),
    ("mean_itl_ms", "ms"), ("median_itl_ms", "ms"), ("p99_itl_ms", "ms"),
]


def on(processor):
    return ["taskset", "-c", str(processor)] if len(os.sched_getaffinity(0)) > 1 else []


def started(folder):
    """A server and its address."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = [LLAMA / ".venv/bin/python", LLAMA / "serve.py", "--model", LLAMA / "tiny.gguf", "--port", port]
    command += ["--parallel", 8, "--ctx-size", 8192, "--threads", 1]
    log = open(folder / "server.log", "w")
    server = subprocess.Popen(on(0) + list(map(str, command)), stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            urllib.request.urlopen(address + "/health", timeout=1).read()
            return server, address
        except OSError:
            time.sleep(0.1)
    server.kill()
    sys.exit(f"the server does not start: see {folder}/server.log")


def tokenizer(folder):
    """The model's tokenizer as Hugging Face's libraries want it."""
    out = folder / "tokenizer"
    out.mkdir()
    shutil.copy(LLAMA / "tokenizer.json", out)
    (out / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    return out


def measured(tool, address, words, folder, seed, load):
    """What a tool says of one load, in vLLM's own form."""
    common = ["--model", "tiny", "--endpoint", "/v1/chat/completions", "--num-prompts", REQUESTS, "--ignore-eos", "--seed", seed,
              "--random-input-len", INPUT, "--random-output-len", OUTPUT, "--tokenizer", words, "--dataset-name", "random",
              "--save-result", "--result-dir", folder, "--result-filename", "result.json", *LOADS[load]]
    vllm = ["bench", "serve", "--backend", "openai-chat", "--base-url", address, "--temperature", 0]
    command = [tool, *vllm, *common] if tool.endswith("vllm") else [tool, "bench", address, "--recipe", "vllm", *common]
    offline = dict(os.environ, HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", VLLM_NO_USAGE_STATS="1", DO_NOT_TRACK="1")
    path = folder / "result.json"
    path.unlink(missing_ok=True)
    done = subprocess.run(on(1) + list(map(str, command)), capture_output=True, text=True, env=offline)
    if not path.exists():
        sys.exit(f"{tool} left no result:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return json.loads(path.read_text())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("vllm")
    p.add_argument("perflab", nargs="?", default=str(HOME / "target/release/perflab"))
    p.add_argument("--rounds", type=int, default=3)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        words = tokenizer(folder)
        server, address = started(folder)
        try:
            for load in LOADS:
                found = {args.vllm: [], args.perflab: []}
                for seed in range(args.rounds):
                    # each is first once, for the server knows the prompts of a seed the second time
                    for n, tool in enumerate(sorted(found, reverse=seed % 2 == 1)):
                        found[tool].append(measured(tool, address, words, folder, 2 * seed + n, load))
                show(load, found)
        finally:
            server.terminate()


def show(load, found):
    print(f"\n{load}, medians of {len(next(iter(found.values())))}: {' against '.join(map(os.path.basename, found))}")
    for row, unit in ROWS:
        one, other = (statistics.median(float(r[row]) for r in runs) for runs in found.values())
        print(f"  {row:20} {one:12.2f} {other:12.2f} {unit:8} {other / one - 1 if one else 0:+8.1%}")


main()
