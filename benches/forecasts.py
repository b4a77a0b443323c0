#!/usr/bin/env python3
"""How good the predicted total of a study is: python3 benches/forecasts.py [PERFLAB] [GRIDS]

Grid studies as people write them, each carried out by the real binary over simulated engines that take a while to start. From the third
launch on, what has passed and what `left_s` predicts are added up and held against what the study took in the end. For each grid: its
launches, how long it took, and the prediction that was furthest off as a ratio (above 1: too long). What is wanted: within a factor of
1.3 in nine of ten. Grids are drawn from a seed, so that the same ones are made each time; speeds are those of the machine.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PERFLAB = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/perflab").resolve())
GRIDS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
FACTOR = 1.3

STUDY = """
use std/engines {{ sim }}
engine plain "Plain" = sim {{
    serve "sh engine.sh {{model}} {{host}} {{port}}"
    --max-model-len=8Ki
}}
profile chat "Chat" {{
    data        random
    input       {input}
    output      {output}
    concurrency {concurrency}
    requests    {requests}
    warmup      0
}}
{axes}
study s "S" {{
    model    "{model}"
    baseline plain
    maximize total_tps on chat
    repeat   {repeat}
    {steps}
}}
"""
# starts of one engine on one machine lie apart by a fifth, as real ones do
ENGINE = """
n=$(($(cat starts 2>/dev/null || echo 0) + 1)); echo $n > starts
sleep $(sed -n "${{n}}p" delays)
model=$1 host=$2 port=$3; shift 3
exec '{perflab}' sim --model "$model" --host "$host" --port "$port" "$@"
"""
AXES = {
    "seqs": "--max-num-seqs=[4, 8, 16, 32]",
    "batched": "--max-num-batched-tokens=[1Ki, 2Ki, 4Ki]",
    "memory": "--gpu-memory-utilization=[0.05, 0.8, 0.9]",
    "kv": "--kv-cache-dtype=fp8",
    "sched": "--async-scheduling",
}


def grid(dice):
    # one axis of some length, so that there is something to predict
    names = [dice.choice(["batched", "memory", "seqs"])]
    names += dice.sample(sorted(set(AXES) - set(names)), dice.choice([1, 1, 2]))
    together = dice.random() < 0.5
    if together:
        steps = f"step grid {{ vary {' * '.join(names[:2])} }}"
        names = names[:2]
    else:
        steps = "\n    ".join(f"step {name} {{ vary {name} }}" for name in names)
    return STUDY.format(
        input=dice.choice([64, 128, 512]),
        output=dice.choice([16, 32]),
        concurrency=dice.choice([4, 8, 16]),
        requests=dice.choice([24, 48]),
        axes="\n".join(f"axis {name} = {AXES[name]}" for name in names),
        model=dice.choice(["Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B", "Qwen/Qwen3-14B"]),
        repeat=dice.choice([1, 1, 2, 3]),
        steps=steps,
    )


def ratios(text, start_s, dice):
    """Predicted over actual total at each launch from the third on, the launches, and the seconds that it took."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "study.plab").write_text(text)
        (folder / "engine.sh").write_text(ENGINE.format(perflab=PERFLAB))
        delays = (start_s * dice.uniform(0.8, 1.2) for _ in range(200))
        (folder / "delays").write_text("".join(f"{s:.2f}\n" for s in delays))
        words = [PERFLAB, "exec", "study.plab", "--checks", "warn", "--dir", "state", "--events", "events.jsonl"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(f"{done.stderr}\n{text}")
        events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    took = events[-1]["t_s"]
    begun = [e for e in events if e["event"] == "launch_begins"]
    return [(e["t_s"] + e["left_s"]) / took for e in begun[3:]], len(begun), took


def main():
    dice, good = random.Random(5), 0
    for n in range(GRIDS):
        predicted, launches, took = ratios(grid(dice), dice.uniform(0.5, 2.0), dice)
        worst = max(predicted, key=lambda r: max(r, 1 / r))
        held = max(worst, 1 / worst) <= FACTOR
        good += held
        print(f"grid {n:02}: {launches:3} launches in {took:5.1f} s, at worst {worst:.2f}{'' if held else '  <<<'}", flush=True)
    print(f"{good} of {GRIDS} within a factor of {FACTOR}")


main()
