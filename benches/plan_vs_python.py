#!/usr/bin/env python3
"""How long `perflab plan --format json` takes for a grid of 48,384 configurations, against plain Python.

Writes a study, lets perflab plan it, and lets a plain script write the same document: `itertools.product` over the same
axes, one dict a candidate, `json.dump`. Both documents are parsed and must be equal. Then both run in turn, and the
script prints the ratio of their fastest runs and perflab's peak memory.

    python3 benches/plan_vs_python.py [--runs 5] [--perflab target/release/perflab]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

AXES = [
    ("--max-num-seqs", [64, 96, 128, 192, 256, 384, 512]),
    ("--max-num-batched-tokens", [2048, 4096, 8192, 12288, 16384, 24576, 32768, 49152]),
    ("--gpu-memory-utilization", [0.8, 0.85, 0.88, 0.91, 0.94, 0.97]),
    ("--block-size", ["8", "16", "32", "64"]),
    ("--max-model-len", [8192, 16384, 32768, 65536]),
    ("--kv-cache-dtype", ["fp8", "fp8_e4m3", "fp8_e5m2"]),
    ("--tensor-parallel-size", [2, 4, 8]),
]
SPACE = 7 * 8 * 6 * 4 * 4 * 3 * 3


def study():
    lines = ["use std/engines  { vllm }", "use std/profiles { throughput }", ""]
    lines += ['engine plain "vLLM" = vllm {', '    version "0.17.1"', "    --swap-space=8", "}", ""]
    for i, (flag, values) in enumerate(AXES):
        lines.append(f"axis a{i} = {flag}=[{', '.join(map(str, values))}]")
    product = " * ".join(f"a{i}" for i in range(len(AXES)))
    lines += [
        "",
        "study grid {",
        '    model    "org/model"',
        "    gpus     8",
        "    baseline plain",
        "    maximize total_tps on throughput",
        "    repeat   1",
        f"    step all {{ vary {product} }}",
        "}",
    ]
    return "\n".join(lines) + "\n"


# The plain script: what somebody would write who needs this document once. It takes the parts that do not depend on the
# candidate (counts, rules, the baseline) as they are, and makes every candidate anew.
PYTHON = '''
import hashlib, itertools, json, sys

axes, frame, load = json.load(open(sys.argv[1]))
candidates = []
for values in itertools.product(*(v for _, v in axes)):
    changes = [f"{flag}={value}" for (flag, _), value in zip(axes, values)]
    gpus = values[-1]
    flags = [{"name": "--swap-space", "value": 8}] + [
        {"name": flag, "value": value} for (flag, _), value in zip(axes, values)
    ]
    flags.sort(key=lambda f: f["name"])
    config = {"engine": "vllm", "version": "0.17.1", "model": "org/model", "flags": flags, "env": {}, "gpus": gpus}
    key = hashlib.sha256(json.dumps(config, separators=(",", ":")).encode()).hexdigest()[:12]
    candidates.append({
        "id": hashlib.sha256(f"{key}/{load}".encode()).hexdigest()[:12],
        "label": " + ".join(v if str(v)[0].isalpha() else f"a{i} {v}" for i, v in enumerate(values)),
        "config": config,
        "command": " ".join(["vllm serve org/model --swap-space=8"] + changes),
        "changes": changes,
        "state": "to_measure",
        "reason": None,
        "rules": [],
    })
frame["steps"][0]["candidates"] = candidates
with open(sys.argv[2], "w") as out:
    json.dump(frame, out)
'''


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--perflab", default="target/release/perflab")
    options.add_argument("--keep", help="a directory to leave everything in")
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        compare(options, options.keep or scratch)


def compare(options, folder):
    path = lambda name: os.path.join(folder, name)
    os.makedirs(folder, exist_ok=True)
    with open(path("grid.plab"), "w") as f:
        f.write(study())
    with open(path("plain.py"), "w") as f:
        f.write(PYTHON)
    plan = [options.perflab, "plan", path("grid.plab"), "--format", "json"]
    plain = [sys.executable, path("plain.py"), path("frame.json"), path("plain.json")]

    run(plan, path("perflab.json"))
    document = json.load(open(path("perflab.json")))
    frame(document, path("frame.json"))
    run(plain)
    if json.load(open(path("plain.json"))) != document:
        sys.exit("the two documents differ: compare perflab.json and plain.json with --keep DIR")

    ours, theirs = [], []
    for _ in range(options.runs):
        ours.append(run(plan, path("perflab.json")))
        theirs.append(run(plain))
    print(f"candidates              {SPACE}")
    print(f"plan --format json      {min(ours):.3f} s, of {options.runs} runs {spread(ours)}")
    print(f"itertools and json.dump {min(theirs):.3f} s, of {options.runs} runs {spread(theirs)}")
    print(f"ratio                   {min(ours) / min(theirs):.2f}")
    print(f"peak memory of perflab  {peak(plan)} MB")


def frame(document, to):
    """What the plain script need not work out: the document without its candidates, and the identity of the load."""
    candidates = document["steps"][0]["candidates"]
    assert len(candidates) == SPACE, len(candidates)
    rest = dict(document, steps=[dict(document["steps"][0], candidates=None)])
    with open(to, "w") as f:
        json.dump([AXES, rest, document["profiles"][0]["id"]], f)


def run(command, to=os.devnull):
    with open(to, "w") as out:
        start = time.perf_counter()
        subprocess.run(command, stdout=out, check=True)
        return time.perf_counter() - start


def peak(command):
    """In MB. A small Python starts it: what is forked from this one would begin with its memory."""
    script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
    script += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
    return subprocess.run([sys.executable, "-c", script, *command], stdout=subprocess.PIPE, check=True).stdout.decode().strip()


def spread(times):
    return " ".join(f"{t:.3f}" for t in sorted(times))


if __name__ == "__main__":
    main()
