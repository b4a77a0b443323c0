#!/usr/bin/env python3
"""What perflab itself takes while engines do their work, from the events of a real run: python3 benches/own_time.py [PERFLAB]

Without a GPU, with simulated engines and, where `bash examples/llama_cpp/setup.sh` has installed it, with llama.cpp's real server:
  * between launches: from the moment that nothing is left of one launch until the process of the next one runs, and from the end of the
    last load until then less the time until the engine is gone; beside which the journal's own account stands (`own_s`: everything of a
    launch that is neither start, warm-up, load nor stop)
  * the same of an engine in a Python environment as large as those of real ones (300 distributions, 6,000 files of its own)
  * while weights load: processor time of perflab and of the guard while an engine prints a line of progress every half second
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PERFLAB = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/perflab").resolve())
LOADING_S = 30

PROFILE = """
profile quick "Quick" {
    data        random
    input       16
    output      8
    concurrency 4
    requests    8
    warmup      0
}
axis seqs = --max-num-seqs=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
study s "S" {
    model    "Qwen/Qwen3-0.6B"
    baseline small
    maximize total_tps on quick
    repeat   1
    STEPS
}
"""
BETWEEN = 'use std/engines { sim }\nengine small "Small" = sim { --max-model-len=4Ki }\n'
LOADING = """
engine small "Small" {
    version "1"
    serve   "sh engine.sh {model} {host} {port}"
    ready   get "/health" within 5min
    api     openai
    stop    sigterm within 5s
    flag --max-num-seqs int 1..
}
"""


def start(folder, text):
    (folder / "study.plab").write_text(text)
    words = [PERFLAB, "exec", "study.plab", "--checks", "warn", "--dir", "state", "--events", "events.jsonl"]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def events(folder):
    path = folder / "events.jsonl"
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def spread(values):
    values = sorted(values)
    return f"median {values[len(values) // 2] * 1e3:.0f} ms, most {values[-1] * 1e3:.0f} ms, of {len(values)}"


def gaps(folder):
    """From gone to the next process, and from the end of the loads to it less what the engine took to go."""
    ended = gone = left = None
    alone, whole = [], []
    for event in events(folder):
        kind = event["event"]
        if kind == "load_ends":
            ended, gone = event["t_s"], None
        elif kind == "stage" and event["to"] == "leaving":
            left = event["t_s"]
        elif kind == "stage" and event["to"] == "gone":
            gone = event["t_s"]
        elif kind == "spawned" and None not in (ended, gone, left):
            alone.append(event["t_s"] - gone)
            whole.append(event["t_s"] - ended - (gone - left))
            ended = gone = left = None
    return alone, whole


def told(folder, what):
    alone, whole = gaps(folder)
    journal = (folder / "state/journal.jsonl").read_text().splitlines()
    ends = [json.loads(line)["kind"].get("gone") for line in journal]
    own = [end["times"]["own_s"] for end in ends if end]
    print(f"between launches, {what}: {spread(alone)}")
    print(f"  from the last load on, without the engine's exit: {spread(whole)}")
    print(f"  perflab's own time in a launch: {spread(own[1:])}")


def between_launches(folder):
    if start(folder, BETWEEN + PROFILE.replace("STEPS", "step one { vary seqs }")).wait() not in (0, 3):
        sys.exit("the study failed")
    told(folder, "simulated")


def large_environment(folder):
    """As many files as vLLM's own, and as many distributions beside it; none of them is ever read by the engine."""
    site = folder / "venv/lib/python3.11/site-packages"
    (folder / "venv/bin").mkdir(parents=True)
    (folder / "venv/pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    (folder / "venv/bin/python3").symlink_to(pathlib.Path(sys.executable).resolve())

    def install(name, files):
        record = []
        for n in range(files):
            path = site / name / f"m{n // 100}" / f"f{n}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x" * (n % 97))
            record.append(f"{name}/m{n // 100}/f{n}.py,sha256=abc,{n % 97}")
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "RECORD").write_text("\n".join(record) + "\n")

    install("engine", 6000)
    for n in range(300):
        install(f"library{n}", 40)
    script = folder / "venv/bin/engine"
    script.write_text(
        f"#!{folder}/venv/bin/python3\nimport os, sys\n"
        f"os.execv('{PERFLAB}', ['{PERFLAB}', 'sim', '--model', sys.argv[1], '--host', sys.argv[2], '--port', sys.argv[3]])\n"
    )
    script.chmod(0o755)
    engine = LOADING.replace("sh engine.sh", "engine")
    (folder / "site.plab").write_text('site here { engine small via venv "venv" }\n')
    if start(folder, engine + PROFILE.replace("STEPS", "step one { vary seqs }")).wait() not in (0, 3):
        sys.exit("the study of a large environment failed")
    told(folder, "an environment of 18,000 files")


def llama_cpp(folder):
    installed = ROOT / "examples/llama_cpp"
    if not (installed / ".venv").exists() or not (installed / "tiny.gguf").exists():
        print("llama.cpp is not here: bash examples/llama_cpp/setup.sh installs it")
        return
    (folder / "llama_cpp").symlink_to(installed)
    study = (ROOT / "examples/llama_cpp.plab").read_text()
    # what fails as it starts has no last load
    if start(folder, study.replace("vary attention + attention * kv", "vary attention")).wait() not in (0, 3):
        sys.exit("the study of llama.cpp failed")
    told(folder, "llama.cpp")


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def while_loading(folder):
    (folder / "engine.sh").write_text(
        f"i=0; while [ $i -lt {2 * (LOADING_S + 5)} ]; do i=$((i+1));"
        ' echo "Loading safetensors checkpoint shards: $i Completed"; sleep 0.5; done\n'
        f"exec '{PERFLAB}' sim --model \"$1\" --host \"$2\" --port \"$3\"\n"
    )
    process = start(folder, LOADING + PROFILE.replace("STEPS", "step one { vary seqs[1] }"))
    try:
        while not any(e["event"] == "spawned" for e in events(folder)):
            time.sleep(0.05)
        time.sleep(1)
        all_of_us = [process.pid, *children(process.pid)]
        began, before = time.monotonic(), [cpu_s(p) for p in all_of_us]
        time.sleep(LOADING_S)
        took, after = time.monotonic() - began, [cpu_s(p) for p in all_of_us]
        if any(e["event"] == "launch_ready" for e in events(folder)):
            sys.exit("the engine was ready too early")
    finally:
        process.terminate()
        process.wait()
    share = (sum(after) - sum(before)) / took
    print(f"while weights load: {share:.2%} of a core over {took:.0f} s (perflab and {len(all_of_us) - 1} guard)")


for measure in (between_launches, large_environment, llama_cpp, while_loading):
    with tempfile.TemporaryDirectory() as folder:
        measure(pathlib.Path(folder))
