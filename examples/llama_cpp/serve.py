"""Starts llama.cpp's server, as the xllamacpp wheel carries it, under the names that llama-server has for its flags.

What listens, schedules, generates and logs is llama.cpp's own C++ code; only the parser of these flags is not. So a
wrong flag ends in argparse's words and with exit code 2, and a flag that is not listed here is unknown.

SIGTERM and SIGINT end it at once, in whatever state it is: open streams are cut.
"""
import argparse
import os
import signal
import sys

import xllamacpp as llama

CACHE_TYPES = ["f32", "f16", "bf16", "q8_0", "q4_0"]
ATTENTION = {"on": "ENABLED", "off": "DISABLED", "auto": "AUTO"}


def arguments():
    p = argparse.ArgumentParser(description="llama.cpp's server out of a Python wheel", allow_abbrev=False)
    p.add_argument("-m", "--model", required=True, help="the path of a GGUF file")
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--port", type=int, default=8080)
    p.add_argument("-t", "--threads", type=int, help="threads that compute")
    p.add_argument("-c", "--ctx-size", type=int, default=4096, help="tokens of context, all slots together")
    p.add_argument("-np", "--parallel", type=int, default=1, help="slots, each with its share of the context")
    p.add_argument("-b", "--batch-size", type=int, default=2048, help="tokens that are decoded together at most")
    p.add_argument("-ub", "--ubatch-size", type=int, default=512, help="tokens that are computed together at most")
    p.add_argument("-fa", "--flash-attn", choices=ATTENTION, default="auto")
    p.add_argument("-ctk", "--cache-type-k", choices=CACHE_TYPES, default="f16")
    p.add_argument("-ctv", "--cache-type-v", choices=CACHE_TYPES, default="f16")
    p.add_argument("-cram", "--cache-ram", type=int, default=8192, help="MiB for the prompts of past requests")
    p.add_argument("--cache-prompt", action=argparse.BooleanOptionalAction, default=True)
    p.add_argument("--metrics", action="store_true", help="answer GET /metrics")
    p.add_argument("--api-key", help="keys of clients, apart by commas; else those of LLAMA_API_KEY")
    p.add_argument("--api-key-file", help="a file with a key on each line; # begins a comment")
    return p.parse_args()


def keys(args):
    """Who knows one of them is let in; without any, everybody."""
    given = args.api_key if args.api_key is not None else os.environ.get("LLAMA_API_KEY", "")
    lines = open(args.api_key_file).read().splitlines() if args.api_key_file else []
    return [key.strip() for key in given.split(",") + [line for line in lines if not line.startswith("#")] if key.strip()]


def parameters(args):
    p = llama.CommonParams()
    p.model.path = args.model
    p.hostnames = [args.host]
    p.port = args.port
    if args.threads is not None:
        p.cpuparams.n_threads = args.threads
    p.n_ctx = args.ctx_size
    p.n_parallel = args.parallel
    p.n_batch = args.batch_size
    p.n_ubatch = args.ubatch_size
    p.flash_attn_type = getattr(llama.llama_flash_attn_type, "LLAMA_FLASH_ATTN_TYPE_" + ATTENTION[args.flash_attn])
    p.cache_type_k = getattr(llama.ggml_type, "GGML_TYPE_" + args.cache_type_k.upper())
    p.cache_type_v = getattr(llama.ggml_type, "GGML_TYPE_" + args.cache_type_v.upper())
    p.cache_ram_mib = args.cache_ram
    p.cache_prompt = args.cache_prompt
    p.endpoint_metrics = args.metrics
    p.api_keys = keys(args)
    return p


def main():
    # Python's own handlers would wait until the model is loaded
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    args = arguments()
    try:
        server = llama.Server(parameters(args))
    except RuntimeError as error:
        sys.exit(f"error: {error}")
    print("listening on", server.listening_address, flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
