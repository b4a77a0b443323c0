#!/usr/bin/env python3
"""What a journal of 10,000 launches costs the real binary: python3 benches/journal_memory.py [PERFLAB]

A study of one candidate is measured once. Its lines, made as long as vLLM's are (the arguments that its server tells, the times of 300
requests) and sealed as perflab seals them, are written 10,000 times; then `plan`, `report` and `exec` read them. Two journals: one whose
launches are of configurations that the study has no more, and one whose launches are the study's 10,000 candidates. Printed are the most
memory that each command held (VmHWM) and the processor time that it took. `exec` has a budget that admits nothing, so that it only
resumes; the second time it finds its report.
"""
import hashlib
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time
import zlib

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
axis seqs    = --max-num-seqs=[SEQS]
axis batched = --max-num-batched-tokens=[BATCHED]
study one { model "m"
    baseline plain
    maximize total_tps on chat
    repeat   1
    step all { vary seqs[1] } }
study few { model "m"
    baseline plain
    maximize total_tps on chat
    repeat   1
    step all { vary seqs[1, 2, 3, 4, 5, 6, 7, 8, 9, 10] * batched[512, 1024, 2048, 4096, 8192] } }
study many { model "m"
    baseline plain
    maximize total_tps on chat
    repeat   1
    step all { vary seqs * batched } }
"""
STUDY = STUDY.replace("SEQS", ", ".join(str(n) for n in range(1, 101)))
STUDY = STUDY.replace("BATCHED", ", ".join(str(512 * n) for n in range(1, 101)))
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


def lengthened(event, number, config):
    """A line of the template for the launch of that number."""
    event = json.loads(json.dumps(event))
    kind, fields = next(iter(event["kind"].items()))
    fields["launch"] = f"L{number:03}"
    if "config_id" in fields:
        fields["config_id"] = config["id"]
    if "config" in fields:
        fields["config"] = config["config"]
    if kind == "ready":
        fields["says"] = SAYS
    if kind == "run":
        fields["run"]["launch"] = fields["launch"]
        fields["run"]["metrics"]["requests"] = REQUESTS
    return event


def sealed(event, seq):
    """The line as perflab writes it: its checksum is the last field."""
    event = {key: value for key, value in event.items() if key != "sum"} | {"seq": seq}
    text = json.dumps(event, separators=(",", ":")).encode()[:-1]
    return text + b',"sum":"%08x"}\n' % zlib.crc32(text)


def journal(folder, name, configs):
    """Writes a journal with a launch of each configuration; its size in bytes."""
    events = [json.loads(line) for line in (folder / "one/journal.jsonl").read_text().splitlines()]
    session = next(e for e in events if "session" in e["kind"])
    of_launch = [e for e in events if next(iter(e["kind"].values())).get("launch") == "L002"]
    lines = [lengthened(e, n, config) for n, config in enumerate(configs, 1) for e in of_launch]
    (folder / name).mkdir()
    with open(folder / name / "journal.jsonl", "wb") as out:
        for seq, event in enumerate([session] + lines, 1):
            out.write(sealed(event, seq))
    return (folder / name / "journal.jsonl").stat().st_size


def candidates(folder):
    """The baseline and the candidates of the study `many`, but for the last one."""
    words = [PERFLAB, "plan", "study.plab", "many", "--format", "json"]
    plan = planned(folder, words)
    configs = [one["config"] for one in [plan["baseline"]] + plan["steps"][0]["candidates"]][:LAUNCHES]
    return [{"id": identity(config), "config": config} for config in configs]


def planned(folder, words):
    return json.loads(subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, check=True).stdout)


def identity(config):
    """What results of a configuration are kept under; a plan's own ids are of trials."""
    return hashlib.sha256(json.dumps(config, separators=(",", ":")).encode()).hexdigest()[:12]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "study.plab").write_text(STUDY)
        subprocess.run(
            [PERFLAB, "exec", "study.plab", "one", "--dir", "one", "--checks", "warn"],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
        )
        own = candidates(folder)
        others = [{"id": f"{n * 7919:012x}", "config": own[1]["config"]} for n in range(1, LAUNCHES + 1)]
        for study, configs, of in (("few", others, "configurations that are no candidates"), ("many", own, "candidates")):
            print(f"{LAUNCHES} launches of {of}, {journal(folder, study, configs) / 1e6:.1f} MB")
            words = [PERFLAB, "plan", "study.plab", study, "--dir", study, "--checks", "warn", "--format", "json"]
            measured = planned(folder, words)["trials"]["measured"]
            assert study == "few" or measured == LAUNCHES, f"{measured} results count"
            resume = ["exec", "--checks", "warn", "--budget", "1trials"]
            for command in (["plan"], ["report"], resume, resume):
                words = [command[0], "study.plab", study, "--dir", study, *command[1:]]
                mib, seconds, code = most_memory(folder, *words)
                print(f"{command[0]:8} {mib:6.1f} MiB at most, {seconds:.2f} s of processor time, exit {code}")


if __name__ == "__main__":
    main()
