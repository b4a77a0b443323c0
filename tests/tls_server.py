"""A completions server over TLS: streams the tokens that are asked for, counts the words of the prompt, has a page of metrics."""
import http.server
import json
import ssl
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    read = 0

    def log_message(self, *_):
        pass

    def reply(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        Handler.read += 1
        self.reply("text/plain", b"vllm:num_requests_running 7\nvllm:num_preemptions_total %d\n" % Handler.read)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        tokens = asked["max_tokens"]
        words = len(asked["messages"][0]["content"].split())
        usage = {"prompt_tokens": words, "completion_tokens": tokens}
        if not asked["stream"]:
            choice = {"message": {"role": "assistant", "content": "a " * tokens}, "finish_reason": "length"}
            self.reply("application/json", json.dumps({"choices": [choice], "usage": usage}).encode())
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for at in range(tokens):
            last = at == tokens - 1
            choice = {"delta": {"content": " word"}, "finish_reason": "length" if last else None}
            self.event(json.dumps({"choices": [choice]}))
        self.event(json.dumps({"choices": [], "usage": usage}))
        self.event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def event(self, text):
        data = f"data: {text}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
