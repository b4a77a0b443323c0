#!/usr/bin/env python3
"""What a long load costs `perflab bench` in memory: python3 benches/bench_memory.py [PERFLAB] [REQUESTS] [CHUNKS]

A server in a process of its own answers REQUESTS (20,000) streaming requests with CHUNKS (100) chunks of one token each, as fast as
the client takes them from 256 connections. Meanwhile the memory that `perflab bench` holds (VmRSS) is read at each hundredth of the
requests that the server has answered. Printed are its memory at a tenth, at half and at all of them, the most that it ever held
(VmHWM; summing up comes after the load), what a request and a chunk add between a tenth and all, and the size of the records.
"""
import asyncio
import multiprocessing
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PERFLAB = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/perflab").resolve())
REQUESTS = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
CHUNKS = int(sys.argv[3]) if len(sys.argv) > 3 else 100
STREAMS = 256
# so many chunks go out in one write
TOGETHER = 4

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def packed(text):
    """A piece of a body as HTTP/1.1 sends it."""
    return b"%x\r\n%s\r\n" % (len(text), text)


def event(word, reason):
    return (
        b'data: {"id":"c","object":"text_completion","created":1,"model":"m","choices":'
        b'[{"index":0,"text":"%s","logprobs":null,"finish_reason":%s}],"usage":null}\n\n' % (word, reason)
    )


def pieces():
    """An answer's writes."""
    events = [event(b" word", b"null")] * (CHUNKS - 1) + [event(b" end", b'"length"')]
    usage = b'data: {"id":"c","choices":[],"usage":{"prompt_tokens":16,"total_tokens":%d,"completion_tokens":%d}}\n\n'
    groups = [b"".join(events[n : n + TOGETHER]) for n in range(0, CHUNKS, TOGETHER)]
    last = packed(usage % (16 + CHUNKS, CHUNKS) + b"data: [DONE]\n\n") + b"0\r\n\r\n"
    return [HEAD + packed(groups[0])] + [packed(group) for group in groups[1:]] + [last]


def serve(port, answered):
    """Answers everybody, and counts."""
    writes = pieces()

    async def meet(reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
                if length:
                    await reader.readexactly(int(length[1]))
                if not head.startswith(b"POST"):
                    writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                    continue
                for write in writes:
                    writer.write(write)
                    await writer.drain()
                    # others have their turn: the chunks of a request come apart
                    await asyncio.sleep(0)
                answered.value += 1
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run():
        server = await asyncio.start_server(meet, "127.0.0.1", 0, backlog=1024)
        port.value = server.sockets[0].getsockname()[1]
        await server.serve_forever()

    asyncio.run(run())


def held(pid, name):
    """MiB by the kernel's account, or None when the process is over."""
    try:
        found = re.search(name + r":\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return None
    return int(found[1]) / 1024 if found else None


def watch(bench, answered):
    """Memory by hundredths of the requests answered, and the most of all."""
    by_part, most = {}, 0.0
    while bench.poll() is None:
        now, high = held(bench.pid, "VmRSS"), held(bench.pid, "VmHWM")
        if now is None or high is None:
            break
        by_part[answered.value * 100 // REQUESTS] = now
        most = max(most, high)
        time.sleep(0.01)
    return by_part, most


def main():
    port, answered = multiprocessing.Value("i", 0), multiprocessing.Value("i", 0)
    server = multiprocessing.Process(target=serve, args=(port, answered), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.01)
    with tempfile.TemporaryDirectory() as folder:
        words = [
            PERFLAB, "bench", f"http://127.0.0.1:{port.value}", "--model", "m", "--endpoint", "/v1/completions",
            "--num-prompts", str(REQUESTS), "--max-concurrency", str(STREAMS), "--random-input-len", "16",
            "--random-output-len", str(CHUNKS), "--ignore-eos", "--save-requests", "requests.jsonl.gz",
        ]
        with open(f"{folder}/table", "w") as table:
            bench = subprocess.Popen(words, cwd=folder, stdout=table, stderr=subprocess.STDOUT)
            by_part, most = watch(bench, answered)
        said = pathlib.Path(f"{folder}/table").read_text()
        assert bench.wait() == 0, said
        wanted = {"Successful requests": REQUESTS, "Total generated tokens": REQUESTS * CHUNKS}
        for name, number in wanted.items():
            found = re.search(name + r":\s+([\d,]+)", said)
            assert found and int(found[1].replace(",", "")) == number, said
        size = pathlib.Path(f"{folder}/requests.jsonl.gz").stat().st_size
    server.terminate()
    # a tenth may have passed between two looks
    at = {part: by_part[min(by_part, key=lambda seen: abs(seen - part))] for part in (10, 50, 99)}
    grown = (at[99] - at[10]) * 2**20 / (REQUESTS * 0.89)
    print(f"{REQUESTS} requests of {CHUNKS} chunks, {STREAMS} at a time")
    print(f"at 10 %: {at[10]:.1f} MiB, at 50 %: {at[50]:.1f} MiB, at the end: {at[99]:.1f} MiB, at most: {most:.1f} MiB")
    print(f"a request adds {grown:.0f} bytes, which are {grown / CHUNKS:.1f} a chunk; their records on disk: {size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
