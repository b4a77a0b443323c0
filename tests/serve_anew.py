"""A server with a page of metrics that begins anew in each load of forty: serve_anew.py PORT breaks|'says when'|quietly|'by turns'|tells|'falls back'|never

`by turns` is two servers behind one address, each of which answers every other request. `falls back` is a gateway that lets another model
answer now and then."""
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOW = sys.argv[2]
lock = threading.Lock()
asked = 0
pages = 0
# each life counts from further below, so that a life seen is a fall seen
counted = 1_000_000
lives = 0
# as one that has been there for long
started = time.time() if HOW == "tells" else time.time() - 3600


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        global pages
        if self.path == "/metrics":
            with lock:
                pages += 1
            other = 500_000 if HOW == "by turns" and pages % 2 else 0
            page = f'vllm:num_requests_running 1\nvllm:prompt_tokens_total{{model_name="m"}} {counted + other}\n'
            if HOW in ("says when", "tells"):
                page = f"vllm:num_requests_running 1\nprocess_start_time_seconds {started}\n"
            return self.answer("text/plain", page.encode())
        self.answer("application/json", b'{"data": [{"id": "Qwen/Qwen3-0.6B"}]}')

    def do_POST(self):
        global asked, counted, lives, started
        self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            asked += 1
            counted += 16
            name = "small/fallback" if asked % 10 == 5 else "Qwen/Qwen3-0.6B"
            anew = HOW not in ("never", "by turns", "tells", "falls back") and asked % 40 == 20
            if anew:
                lives += 1
                counted = 1_000_000 - 100_000 * lives
                started = time.time()
        if anew and HOW == "breaks":
            self.close_connection = True
            return self.connection.close()
        time.sleep(0.02)
        chunks = [{"choices": [{"index": 0, "delta": {"content": "a "}}]} for _ in range(8)]
        chunks[-1]["choices"][0]["finish_reason"] = "length"
        chunks.append({"choices": [], "usage": {"prompt_tokens": 16, "completion_tokens": 8, "total_tokens": 24}})
        if HOW == "falls back":
            chunks = [{"model": name, **c} for c in chunks]
        lines = [f"data: {json.dumps(c)}\n\n" for c in chunks] + ["data: [DONE]\n\n"]
        self.answer("text/event-stream", "".join(lines).encode())


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Server).serve_forever()
