#!/usr/bin/env python3
"""What perflab itself takes while engines do their work, from the events of a real run: python3 benches/own_time.py [PERFLAB]

Two figures, with simulated engines and no GPU:
  * between launches: from the moment that nothing is left of one launch until the process of the next one runs, beside which the
    journal's own account stands (`own_s`: everything of a launch that is neither start, warm-up, load nor stop)
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


def between_launches(folder):
    if start(folder, BETWEEN + PROFILE.replace("STEPS", "step one { vary seqs }")).wait() not in (0, 3):
        sys.exit("the study failed")
    gone, gaps = None, []
    for event in events(folder):
        if event["event"] == "stage" and event["to"] == "gone":
            gone = event["t_s"]
        elif event["event"] == "spawned" and gone is not None:
            gaps.append(event["t_s"] - gone)
            gone = None
    journal = (folder / "state/journal.jsonl").read_text().splitlines()
    ends = [json.loads(line)["kind"].get("gone") for line in journal]
    own = [end["times"]["own_s"] for end in ends if end]
    print(f"between launches: {spread(gaps)}")
    print(f"perflab's own time in a launch: {spread(own[1:])}")


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


for measure in (between_launches, while_loading):
    with tempfile.TemporaryDirectory() as folder:
        measure(pathlib.Path(folder))
