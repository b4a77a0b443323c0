#!/usr/bin/env python3
"""How long `perflab check` takes for a study of 10,000 lines, against PyYAML's C loader for the same content as YAML.

Writes the same engines, profiles, axes, points, rules, studies and steps in both forms, line for line. Then both run in
turn: the whole of `perflab check` less `perflab check` of a file with one small study, and `yaml.load(text,
Loader=yaml.CSafeLoader)` in a Python that is up. perflab parses, resolves and checks; the YAML is only loaded.

    python3 benches/check_vs_yaml.py [--runs 9] [--perflab target/release/perflab] [--shape mixed]

Shapes other than `mixed` have much of one thing, at two sizes, and show whether time grows with the square of it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import yaml

HEAD = "use std/engines  { vllm }\nuse std/profiles { sharegpt, throughput }\n"


class Pair:
    """The same content twice."""

    def __init__(self):
        self.plab = [HEAD]
        self.yaml = ["use:", "  std/engines: [vllm]", "  std/profiles: [sharegpt, throughput]"]

    def both(self, plab, yaml_lines):
        self.plab += plab
        self.yaml += yaml_lines

    def section(self, name):
        self.plab.append("")
        self.yaml.append(f"{name}:")

    def lines(self):
        return sum(text.count("\n") + 1 for text in self.plab)

    def write(self, folder):
        names = [os.path.join(folder, n) for n in ("study.plab", "study.yaml")]
        for name, lines in zip(names, (self.plab, self.yaml)):
            with open(name, "w") as out:
                out.write("\n".join(lines) + "\n")
        return names


def build(engines, profiles, axes, rules, studies, steps, points=4):
    pair = Pair()
    pair.section("engines")
    for i in range(engines):
        memory = 0.5 + (i % 400) / 1000
        pair.both(
            [
                f'engine e{i} "Engine {i}" = vllm {{',
                '    version "0.17.1"',
                "    --max-model-len=32Ki",
                f"    --gpu-memory-utilization={memory}",
                f"    --max-num-seqs={64 + i}",
                "}",
            ],
            [
                f"  e{i}:",
                f'    title: "Engine {i}"',
                "    parent: vllm",
                '    version: "0.17.1"',
                "    --max-model-len: 32Ki",
                f"    --gpu-memory-utilization: {memory}",
                f"    --max-num-seqs: {64 + i}",
            ],
        )
    pair.section("profiles")
    for i in range(profiles):
        pair.both(
            [
                f'profile p{i} "Load {i}" {{',
                "    data        random",
                f"    input       {128 + i}",
                "    output      64",
                f"    concurrency {1 + i % 64}",
                "    requests    200",
                "    seed        7",
                "}",
            ],
            [
                f"  p{i}:",
                f'    title: "Load {i}"',
                "    data: random",
                f"    input: {128 + i}",
                "    output: 64",
                f"    concurrency: {1 + i % 64}",
                "    requests: 200",
                "    seed: 7",
            ],
        )
    pair.section("axes")
    for i in range(axes):
        if i % 2:
            values = [str(100 + i + 7 * n) for n in range(points)]
            pair.both(
                [f"axis a{i} = --max-num-seqs=[{', '.join(values)}]"],
                [f"  a{i}:", f"    --max-num-seqs: [{', '.join(values)}]"],
            )
            continue
        names = [f"q{n}" for n in range(points)]
        pair.both(
            [f"axis a{i} = {{"]
            + [
                f'    {name} "Point {name}": --max-num-batched-tokens={8192 + i * 10 + n} --seed={n + 1}'
                + ("," if n + 1 < points else "")
                for n, name in enumerate(names)
            ]
            + ["}"],
            [f"  a{i}:"]
            + [
                f'    {name}: {{title: "Point {name}", --max-num-batched-tokens: {8192 + i * 10 + n}, --seed: {n + 1}}}'
                for n, name in enumerate(names)
            ],
        )
    pair.section("prune")
    for i in range(rules):
        pair.both(
            [f'prune r{i} "rule number {i}" when p99(ttft) > {1000 + i}ms and --max-num-seqs >= {90000 + i}'],
            [
                f"  r{i}:",
                f'    reason: "rule number {i}"',
                f'    when: "p99(ttft) > {1000 + i}ms and --max-num-seqs >= {90000 + i}"',
            ],
        )
    pair.section("studies")
    per_study, used = max(1, axes), 0
    for i in range(studies):
        pair.both(
            [
                f'study s{i} "Study {i}" {{',
                '    model    "org/model"',
                f"    baseline e{i % engines}",
                f"    maximize total_tps on {'p%d' % (i % profiles) if profiles else 'sharegpt'}",
                "    adopt    gain >= 1%",
                "    repeat   1",
            ],
            [
                f"  s{i}:",
                f'    title: "Study {i}"',
                "    model: org/model",
                f"    baseline: e{i % engines}",
                f"    maximize: {{expr: total_tps, on: {'p%d' % (i % profiles) if profiles else 'sharegpt'}}}",
                "    adopt: gain >= 1%",
                "    repeat: 1",
                "    steps:",
            ],
        )
        for n in range(steps):
            axis = used % per_study
            used += 1
            pair.both(
                [f'    step t{n} "Step {n}" {{ vary a{axis} }}'],
                [f"      t{n}: {{title: \"Step {n}\", vary: a{axis}}}"],
            )
        pair.both(["}"], [])
    return pair


SHAPES = {
    # engines, profiles, axes, rules, studies, steps in each, points of an axis
    "mixed": lambda n: build(160 * n, 160 * n, 400 * n, 4 * n, 160 * n, 30, 4),
    "studies": lambda n: build(4, 4, 40, 2, 500 * n, 2),
    "steps": lambda n: build(4, 4, 40, 2, 1, 4000 * n),
    "rules": lambda n: build(4, 4, 40, 2000 * n, 1, 4),
    "engines": lambda n: build(800 * n, 4, 40, 2, 4, 10),
    "profiles": lambda n: build(4, 600 * n, 40, 2, 4, 10),
    "axes": lambda n: build(4, 4, 800 * n, 2, 1, 800 * n),
    "points": lambda n: build(4, 4, 4, 2, 2, 2, 2000 * n),
}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--runs", type=int, default=9)
    options.add_argument("--perflab", default="target/release/perflab")
    options.add_argument("--shape", choices=[*SHAPES, "all"], default="mixed")
    options.add_argument("--keep", help="a directory to leave the files in")
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or scratch
        os.makedirs(folder, exist_ok=True)
        if options.shape == "mixed":
            return mixed(options, folder)
        for shape in SHAPES if options.shape == "all" else [options.shape]:
            growth(options, folder, shape)


def mixed(options, folder):
    pair = SHAPES["mixed"](1)
    plab, yaml_file = pair.write(folder)
    text = open(yaml_file).read()
    content = yaml.load(text, Loader=yaml.CSafeLoader)
    assert len(content["engines"]) == 160 and len(content["studies"]) == 160
    small = os.path.join(folder, "small.plab")
    with open(small, "w") as out:
        out.write("\n".join(build(1, 1, 1, 1, 1, 1).plab) + "\n")
    ours, start, theirs = [], [], []
    for _ in range(options.runs):
        start.append(check(options.perflab, small))
        ours.append(check(options.perflab, plab))
        before = time.perf_counter()
        yaml.load(text, Loader=yaml.CSafeLoader)
        theirs.append(time.perf_counter() - before)
    taken = min(ours) - min(start)
    print(f"lines              {pair.lines()} of .plab, {text.count(chr(10))} of YAML")
    print(f"perflab check      {min(ours):.4f} s, of which start {min(start):.4f} s")
    print(f"yaml.CSafeLoader   {min(theirs):.4f} s")
    print(f"ratio              {taken / min(theirs):.2f}")


def growth(options, folder, shape):
    times = []
    for size in (1, 2):
        pair = SHAPES[shape](size)
        plab, _ = pair.write(folder)
        times.append((pair.lines(), min(check(options.perflab, plab) for _ in range(options.runs))))
    (few, short), (many, long) = times
    print(f"{shape:9} {few} lines {short:.4f} s, {many} lines {long:.4f} s: {long / short:.2f} times as long")


def check(perflab, file):
    before = time.perf_counter()
    done = subprocess.run([perflab, "check", "--quiet", file], capture_output=True)
    taken = time.perf_counter() - before
    if done.returncode != 0:
        sys.exit(done.stderr.decode()[:2000])
    return taken


if __name__ == "__main__":
    main()
