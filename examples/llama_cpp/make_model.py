"""Writes a tiny language model with random weights, tiny.gguf, and the tokenizer.json that counts its tokens.

It says nothing and says it fast: it is there so that a real server has something to serve on any machine. Nothing but
Python's standard library is needed, and the same bytes come out everywhere.

 * The vocabulary is made, not trained: every byte, a hundred syllables, and each syllable after a space. Words of
   such text never merge, so a prompt of N words has exactly N tokens, for the client and for the server.
 * Only the words have weights in the embedding. The rows of bytes and special tokens are zero, and as output and input
   share that matrix, the likeliest token is always a word: each answer streams one visible word per token.
"""
import json
import os
import random
import struct
import sys
from array import array

SEED = 20
LAYERS, WIDTH, HEADS, KV_HEADS, INNER, CONTEXT = 4, 128, 4, 2, 512, 8192
SPECIAL = ["<|end|>", "<|user|>", "<|assistant|>"]
END = 0
TEMPLATE = (
    "{%- for m in messages -%}{{- '<|' + m['role'] + '|>' + m['content'] + '<|end|>' -}}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}"
)


def byte_letters():
    """The printable character that byte-level tokenizers write for each byte."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    odd = [b for b in range(256) if b not in plain]
    letters = {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(odd)}
    return [letters[b] for b in range(256)]


def vocabulary():
    """All tokens in the order of their ids, and the pairs that merge, the first first."""
    letters = byte_letters()
    space = letters[0x20]
    pairs = [(c, v) for c in "bcdfghjklmnpqrstvwxz" for v in "aeiou"]
    syllables = [c + v for c, v in pairs]
    tokens = SPECIAL + letters + syllables + [space + s for s in syllables]
    return tokens, pairs + [(space, s) for s in syllables]


def tokenizer(tokens, merges):
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": i, "content": text, **special} for i, text in enumerate(SPECIAL)],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {text: i for i, text in enumerate(tokens)},
            "merges": [" ".join(pair) for pair in merges],
        },
    }


def tensors(tokens):
    """Name, shape (the innermost dimension first) and values of every tensor."""
    rng = random.Random(SEED)
    head = WIDTH // HEADS

    def noise(columns, rows):
        spread = (3 / columns) ** 0.5  # keeps the size of what passes through
        return array("f", ((2 * rng.random() - 1) * spread for _ in range(columns * rows)))

    def matrix(name, columns, rows):
        return name + ".weight", (columns, rows), noise(columns, rows)

    def norm(name):
        return name + ".weight", (WIDTH,), array("f", [1.0] * WIDTH)

    words = len(tokens) - len(SPECIAL) - 256
    silent = array("f", bytes(4 * WIDTH * (len(tokens) - words)))
    yield "token_embd.weight", (WIDTH, len(tokens)), silent + noise(WIDTH, words)
    yield norm("output_norm")
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        yield norm(block + "attn_norm")
        yield matrix(block + "attn_q", WIDTH, HEADS * head)
        yield matrix(block + "attn_k", WIDTH, KV_HEADS * head)
        yield matrix(block + "attn_v", WIDTH, KV_HEADS * head)
        yield matrix(block + "attn_output", HEADS * head, WIDTH)
        yield norm(block + "ffn_norm")
        yield matrix(block + "ffn_gate", WIDTH, INNER)
        yield matrix(block + "ffn_up", WIDTH, INNER)
        yield matrix(block + "ffn_down", INNER, WIDTH)


def settings(tokens, merges):
    """The GGUF file's key-value pairs. Python's types decide how they are stored."""
    control, normal = 3, 1
    return {
        "general.architecture": "llama",
        "general.name": "tiny random",
        "llama.block_count": LAYERS,
        "llama.context_length": CONTEXT,
        "llama.embedding_length": WIDTH,
        "llama.feed_forward_length": INNER,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-6,
        "llama.rope.dimension_count": WIDTH // HEADS,
        "llama.vocab_size": len(tokens),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [control if t in SPECIAL else normal for t in tokens],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in merges],
        "tokenizer.ggml.eos_token_id": END,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": TEMPLATE,
    }


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def stored(value):
    """A value with its GGUF type in front of it."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    kind, items = (8, map(text, value)) if isinstance(value[0], str) else (5, (struct.pack("<i", v) for v in value))
    return struct.pack("<IIQ", 9, kind, len(value)) + b"".join(items)


def gguf(pairs, all_tensors):
    """The file: a head that describes everything, then the tensors, each at a multiple of 32 bytes (F32, version 3)."""

    def padding(size):
        return b"\0" * (-size % 32)

    head = b"GGUF" + struct.pack("<IQQ", 3, len(all_tensors), len(pairs))
    head += b"".join(text(key) + stored(value) for key, value in pairs.items())
    body = bytearray()
    for name, shape, values in all_tensors:
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(body))
        if sys.byteorder == "big":
            values.byteswap()
        data = values.tobytes()
        body += data + padding(len(data))
    return head + padding(len(head)) + bytes(body)


def write(path, data):
    """Whole or not at all: what is there may be relied on."""
    with open(path + ".part", "wb") as file:
        file.write(data)
    os.replace(path + ".part", path)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    tokens, merges = vocabulary()
    write(os.path.join(here, "tokenizer.json"), json.dumps(tokenizer(tokens, merges), ensure_ascii=False).encode())
    write(os.path.join(here, "tiny.gguf"), gguf(settings(tokens, merges), list(tensors(tokens))))


if __name__ == "__main__":
    main()
