"""`perflab bench` beside `vllm bench serve`: the same load on one llama.cpp server, in turns, and what each of them printed.

    python3 benches/beside_vllm.py VLLM [PERFLAB] [--rounds 3] [--wire]

VLLM is the program of an environment with vLLM (its CPU build does: only its client runs). `bash examples/llama_cpp/setup.sh` makes the
server and its model. The server has one processor and the client another where the machine has two. Both tools draw prompts of 128
tokens by vLLM's recipe with the same tokenizer and ask for 64 tokens, 8 requests at a time, then at 20 requests a second.

With --wire (as root) the packets between them are read too, with the kernel's stamps: how long the server took to its first text, how
many requests came within 2 ms of another, and how many connections it ended after an answer, whatever a client says of them.
"""

import argparse
import itertools
import json
import os
import pathlib
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
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
WIRE = [
    ("wire_answers", ""), ("wire_mean_ttft_ms", "ms"), ("wire_median_ttft_ms", "ms"), ("wire_p99_ttft_ms", "ms"), ("wire_together", "requests"), ("wire_closed", "connections"),
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


SO_TIMESTAMPNS = 35
# seconds
TOGETHER = 0.002


class Wire:
    """What went over the loopback interface from and to a port while it was open."""

    def __init__(self, port):
        self.port, self.packets, self.open = port, [], True
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0003))
        self.socket.bind(("lo", 0))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 27)
        self.socket.settimeout(0.2)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        while self.open:
            try:
                packet, stamps, _, sender = self.socket.recvmsg(2048, 64)
            except TimeoutError:
                continue
            # each packet is seen as it leaves and as it comes: once is enough
            if sender[2] != socket.PACKET_OUTGOING and packet[9] == socket.IPPROTO_TCP:
                seconds, nanos = struct.unpack("qq", stamps[0][2])
                self.packets.append((seconds + nanos / 1e9, packet))

    def ended(self):
        """Times of the requests in s, those to their first texts in ms, and answers after which the server closed though it had said that it would not."""
        self.open = False
        self.reader.join()
        self.socket.close()
        asked, answered, came, waits, closed = {}, set(), [], [], 0
        for at, packet in self.packets:
            head = 4 * (packet[0] & 15)
            source, target = struct.unpack("!HH", packet[head:head + 4])
            text, flags = packet[head + 4 * (packet[head + 12] >> 4):], packet[head + 13]
            if target == self.port and text.startswith(b"POST "):
                asked[source] = at
                came.append(at)
                answered.discard(source)
            elif source == self.port and target in asked | dict.fromkeys(answered):
                if target in asked and b'"content":"' in text:
                    waits.append((at - asked.pop(target)) * 1e3)
                    answered.add(target)
                if flags & 1 and target in answered:
                    closed += 1
                    answered.discard(target)
        return came, waits, closed


def measured(tool, address, words, folder, seed, load, listen):
    """What a tool says of one load, under vLLM's names."""
    common = ["--model", "tiny", "--endpoint", "/v1/chat/completions", "--num-prompts", REQUESTS, "--ignore-eos", "--seed", seed,
              "--random-input-len", INPUT, "--random-output-len", OUTPUT, "--tokenizer", words, "--dataset-name", "random",
              "--save-result", "--result-dir", folder, "--result-filename", "result.json", *LOADS[load]]
    vllm = ["bench", "serve", "--backend", "openai-chat", "--base-url", address, "--temperature", 0]
    own = folder / "own.json"
    command = [tool, *vllm, *common] if tool.endswith("vllm") else [tool, "bench", address, "--recipe", "vllm", "--json", own, *common]
    offline = dict(os.environ, HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", VLLM_NO_USAGE_STATS="1", DO_NOT_TRACK="1")
    path = folder / "result.json"
    path.unlink(missing_ok=True)
    own.unlink(missing_ok=True)
    wire = Wire(int(address.rsplit(":", 1)[1])) if listen else None
    done = subprocess.run(on(1) + list(map(str, command)), capture_output=True, text=True, env=offline)
    came, waits, closed = wire.ended() if wire else ([], [], 0)
    if not path.exists():
        sys.exit(f"{tool} left no result:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    said = json.loads(path.read_text())
    if own.exists():
        # in vLLM's form stand vLLM's definitions: these are perflab's
        ours = json.loads(own.read_text())
        said["total_input_tokens"] = ours["input_tokens"]
        for name, metric in ("ttft", "ttft_ms"), ("tpot", "tpot_ms"), ("itl", "icl_ms"):
            said |= {f"{short}_{name}_ms": ours[metric][stat] for short, stat in (("mean", "mean"), ("median", "p50"), ("p99", "p99"))}
    if waits:
        cuts = statistics.quantiles(waits, n=100, method="inclusive")
        said |= {"wire_answers": len(waits), "wire_mean_ttft_ms": statistics.mean(waits), "wire_median_ttft_ms": cuts[49],
                 "wire_p99_ttft_ms": cuts[98], "wire_closed": closed,
                 "wire_together": sum(later - before < TOGETHER for before, later in itertools.pairwise(came))}
    return said


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("vllm")
    p.add_argument("perflab", nargs="?", default=str(HOME / "target/release/perflab"))
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--wire", action="store_true")
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
                        found[tool].append(measured(tool, address, words, folder, 2 * seed + n, load, args.wire))
                show(load, found)
        finally:
            server.terminate()


def show(load, found):
    print(f"\n{load}, medians of {len(next(iter(found.values())))}: {' against '.join(map(os.path.basename, found))}")
    heard = all("wire_answers" in r for runs in found.values() for r in runs)
    for row, unit in ROWS + WIRE * heard:
        one, other = (statistics.median(float(r[row]) for r in runs) for runs in found.values())
        print(f"  {row:20} {one:12.2f} {other:12.2f} {unit:8} {other / one - 1 if one else 0:+8.1%}")


main()
