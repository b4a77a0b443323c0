"""Writes the tiny random model that real engines serve in the tests, as a folder of the Hugging Face layout.

Its vocabulary and tokenizer are those of examples/llama_cpp/make_model.py, and so is the trick that makes every token a
visible word: only words have weights in the embedding, which input and output share. Nothing but the standard library is needed.
"""
import json
import os
import random
import struct
import sys
from array import array

sys.dont_write_bytecode = True  # the examples stay as they are
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/llama_cpp"))
import make_model as tiny  # noqa: E402

# heads are 64 wide, which every engine's CPU kernels know; 4 heads cannot be split among 3 workers
LAYERS, WIDTH, HEADS, KV_HEADS, HEAD, INNER, CONTEXT = 2, 128, 4, 2, 64, 256, 8192


def config(vocabulary):
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": WIDTH,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD,
        "vocab_size": vocabulary,
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "bos_token_id": None,
        "eos_token_id": tiny.END,
        "torch_dtype": "float32",
    }


def tokenizer_config():
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": CONTEXT,
        "bos_token": None,
        "eos_token": tiny.SPECIAL[tiny.END],
        "pad_token": tiny.SPECIAL[tiny.END],
        "chat_template": tiny.TEMPLATE,
    }


def tensors(tokens):
    """Name, shape (the outermost dimension first) and values of every tensor."""
    rng = random.Random(tiny.SEED)

    def noise(rows, columns):
        spread = (3 / columns) ** 0.5  # keeps the size of what passes through
        return array("f", ((2 * rng.random() - 1) * spread for _ in range(rows * columns)))

    def matrix(name, rows, columns):
        return name + ".weight", (rows, columns), noise(rows, columns)

    def norm(name):
        return name + ".weight", (WIDTH,), array("f", [1.0] * WIDTH)

    words = len(tokens) - len(tiny.SPECIAL) - 256
    silent = array("f", bytes(4 * WIDTH * (len(tokens) - words)))
    yield "model.embed_tokens.weight", (len(tokens), WIDTH), silent + noise(words, WIDTH)
    yield norm("model.norm")
    for layer in range(LAYERS):
        block = f"model.layers.{layer}."
        yield norm(block + "input_layernorm")
        yield matrix(block + "self_attn.q_proj", HEADS * HEAD, WIDTH)
        yield matrix(block + "self_attn.k_proj", KV_HEADS * HEAD, WIDTH)
        yield matrix(block + "self_attn.v_proj", KV_HEADS * HEAD, WIDTH)
        yield matrix(block + "self_attn.o_proj", WIDTH, HEADS * HEAD)
        yield norm(block + "post_attention_layernorm")
        yield matrix(block + "mlp.gate_proj", INNER, WIDTH)
        yield matrix(block + "mlp.up_proj", INNER, WIDTH)
        yield matrix(block + "mlp.down_proj", WIDTH, INNER)


def safetensors(all_tensors):
    head, body = {"__metadata__": {"format": "pt"}}, bytearray()
    for name, shape, values in all_tensors:
        if sys.byteorder == "big":
            values.byteswap()
        data = values.tobytes()
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(body)


def main():
    if len(sys.argv) != 2:
        sys.exit("make_model.py DIR")
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    tokens, merges = tiny.vocabulary()

    def write(name, data):
        tiny.write(os.path.join(folder, name), data if isinstance(data, bytes) else json.dumps(data, indent=1).encode())

    write("tokenizer.json", tiny.tokenizer(tokens, merges))
    write("tokenizer_config.json", tokenizer_config())
    write("model.safetensors", safetensors(list(tensors(tokens))))
    # last: where it is, the model is whole
    write("config.json", config(len(tokens)))


if __name__ == "__main__":
    main()
