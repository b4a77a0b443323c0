#!/usr/bin/env python3
"""What a journal of 10,000 launches costs the real binary: python3 benches/journal_memory.py [PERFLAB]

A study of one candidate is measured once. Its lines, made as long as vLLM's are (the arguments that its server tells, the times of 300
requests), are written 10,000 times under configurations of their own; then `plan`, `report` and `exec` read them. Printed are the most
memory that each held (VmHWM) and the processor time that it took. `exec` has a budget that admits nothing, so that it only resumes.
"""
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PERFLAB = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/perflab").resolve())
LAUNCHES = 10_000

STUDY = """
use std/engines { sim }
engine plain = sim { --max-model-len=8Ki }
profile chat {
    data        random
    input       32
    output      8
    concurrency 8
    requests    16
    warmup      0
}
axis seqs    = --max-num-seqs=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
axis batched = --max-num-batched-tokens=[512, 1024, 2048, 4096, 8192]
study one { model "m"
    baseline plain
    maximize total_tps on chat
    repeat   1
    step all { vary seqs[1] } }
study many { model "m"
    baseline plain
    maximize total_tps on chat
    repeat   1
    step all { vary seqs * batched } }
"""
SAYS = {"version": "0.17.1", "from": "log", "arguments": {f"an_argument_of_the_server_{n}": 1024 + n for n in range(40)}}
REQUESTS = {
    "ttft_us": [100_000 + 37 * n for n in range(300)],
    "tpot_us": [9_000 + n for n in range(300)],
    "latency_us": [700_000 + 91 * n for n in range(300)],
}


def most_memory(folder, *words):
    """MiB, seconds of processor time and exit status of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([PERFLAB, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        try:
            found = re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())
        except OSError:
            break
        most = max(most, int(found[1]) if found else 0)
        time.sleep(0.005)
    process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return most / 1024, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, process.returncode


def lengthened(event, number):
    """A line of the template for the launch of that number."""
    event = json.loads(json.dumps(event))
    event.pop("sum", None)
    # as version 4, whose lines have no checksum
    event["v"], (kind, fields) = 4, next(iter(event["kind"].items()))
    fields["launch"] = f"L{number:03}"
    if "config_id" in fields:
        fields["config_id"] = f"{number * 7919:012x}"
    if kind == "ready":
        fields["says"] = SAYS
    if kind == "run":
        fields["run"]["launch"] = fields["launch"]
        fields["run"]["metrics"]["requests"] = REQUESTS
    return event


def journal(folder):
    events = [json.loads(line) for line in (folder / "one/journal.jsonl").read_text().splitlines()]
    session = next(e for e in events if "session" in e["kind"])
    session.pop("sum", None)
    of_launch = [e for e in events if next(iter(e["kind"].values())).get("launch") == "L002"]
    lines = [session | {"v": 4}] + [lengthened(e, n) for n in range(1, LAUNCHES + 1) for e in of_launch]
    (folder / "many").mkdir()
    with open(folder / "many/journal.jsonl", "w") as out:
        for seq, event in enumerate(lines, 1):
            out.write(json.dumps(event | {"seq": seq}, separators=(",", ":")) + "\n")
    return (folder / "many/journal.jsonl").stat().st_size


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "study.plab").write_text(STUDY)
        subprocess.run(
            [PERFLAB, "exec", "study.plab", "one", "--dir", "one", "--checks", "warn"],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
        )
        print(f"{LAUNCHES} launches, {journal(folder) / 1e6:.1f} MB")
        for command in (["plan"], ["report"], ["exec", "--checks", "warn", "--budget", "1trials"]):
            words = [command[0], "study.plab", "many", "--dir", "many", *command[1:]]
            mib, seconds, code = most_memory(folder, *words)
            print(f"{command[0]:8} {mib:6.1f} MiB at most, {seconds:.2f} s of processor time, exit {code}")


if __name__ == "__main__":
    main()
