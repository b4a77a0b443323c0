"""A server that keeps each body that it is asked with, one a line, in `bodies`, or in a file that is named: serve_bodies.py PORT [FILE]"""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


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
        self.answer("application/json", b'{"data": [{"id": "m"}]}')

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open((sys.argv + ["bodies"])[2], "a") as kept:
            kept.write(json.dumps(asked) + "\n")
        tokens = asked.get("max_tokens") or asked["sampling_params"]["max_new_tokens"]
        chunks = [{"choices": [{"index": 0, "delta": {"content": "a "}}]} for _ in range(tokens)]
        chunks[-1]["choices"][0]["finish_reason"] = "length"
        usage = {"prompt_tokens": 16, "completion_tokens": tokens, "total_tokens": 16 + tokens}
        chunks.append({"choices": [], "usage": usage})
        lines = [f"data: {json.dumps(c)}\n\n" for c in chunks] + ["data: [DONE]\n\n"]
        self.answer("text/event-stream", "".join(lines).encode())


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Server).serve_forever()
