"""A language model with random weights as a GGUF file, so that llama.cpp can be measured where no model is.

The layers are those of Llama: grouped heads, a gated feed-forward network, 16-bit weights. What it says is nonsense; how long
that takes, and in how many kernels, is as with a trained model of the size. Format: docs/gguf.md of github.com/ggml-org/ggml.
"""
import array
import os
import random
import struct

ALIGN = 32
F32, F16 = 0, 1                                    # types of tensors
U32, FLOAT, I32, STRING, ARRAY = 4, 6, 5, 8, 9     # types of values
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6        # types of tokens
N_SPECIAL = 3 + 256                                # <unk>, <s>, </s>, and a token for each byte
WORDS = 1 << 20                                    # of the block of random numbers that all weights are cut from

# Name: width, layers, heads, heads of keys and values, width of the feed-forward network, words. "1b" has 1.0e9 weights.
SIZES = {"1b": (2048, 22, 32, 4, 5632, 4096), "tiny": (64, 2, 4, 2, 128, 512)}


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(kind, value):
    if kind == STRING:
        return _string(value)
    return struct.pack({U32: "<I", I32: "<i", FLOAT: "<f"}[kind], value)


def _key(name, kind, value):
    head = _string(name)
    if isinstance(value, list):
        return head + struct.pack("<IIQ", ARRAY, kind, len(value)) + b"".join(_value(kind, v) for v in value)
    return head + struct.pack("<I", kind) + _value(kind, value)


def _keys(size, context):
    width, layers, heads, kv_heads, hidden, words = size
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    kinds = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256
    tokens += [f"\u2581w{i}" for i in range(words - N_SPECIAL)]
    kinds += [NORMAL] * (words - N_SPECIAL)
    out = [("general.architecture", STRING, "llama"), ("general.name", STRING, "random"),
           ("general.file_type", U32, 1), ("general.alignment", U32, ALIGN)]
    out += [("llama." + name, U32, value) for name, value in (
        ("context_length", context), ("embedding_length", width), ("block_count", layers),
        ("feed_forward_length", hidden), ("attention.head_count", heads), ("attention.head_count_kv", kv_heads),
        ("rope.dimension_count", width // heads), ("vocab_size", words))]
    out.append(("llama.attention.layer_norm_rms_epsilon", FLOAT, 1e-5))
    out += [("tokenizer.ggml.model", STRING, "llama"), ("tokenizer.ggml.tokens", STRING, tokens),
            ("tokenizer.ggml.scores", FLOAT, [-float(i) for i in range(words)]),
            ("tokenizer.ggml.token_type", I32, kinds), ("tokenizer.ggml.bos_token_id", U32, 1),
            ("tokenizer.ggml.eos_token_id", U32, 2), ("tokenizer.ggml.unknown_token_id", U32, 0)]
    return out


def _tensors(size):
    """(name, shape, type); the first number of a shape is the one whose neighbours lie side by side."""
    width, layers, heads, kv_heads, hidden, words = size
    kv_width = width // heads * kv_heads
    out = [("token_embd.weight", (width, words), F16)]
    for i in range(layers):
        out += [(f"blk.{i}.{name}.weight", shape, F32 if len(shape) == 1 else F16) for name, shape in (
            ("attn_norm", (width,)), ("attn_q", (width, width)), ("attn_k", (width, kv_width)),
            ("attn_v", (width, kv_width)), ("attn_output", (width, width)), ("ffn_norm", (width,)),
            ("ffn_gate", (width, hidden)), ("ffn_up", (width, hidden)), ("ffn_down", (hidden, width)))]
    return out + [("output_norm.weight", (width,), F32), ("output.weight", (width, words), F16)]


def _count(shape):
    n = 1
    for side in shape:
        n *= side
    return n


def _padding(n_bytes):
    return b"\0" * (-n_bytes % ALIGN)


def _weights(f, name, shape, kind, block, at):
    """Cut from the block of random numbers, from another place each time. Tokens that are no words are never said."""
    if kind == F32:
        array.array("f", [1.0] * shape[0]).tofile(f)
        return
    left = _count(shape)
    if name == "output.weight":
        f.write(b"\0" * (2 * shape[0] * N_SPECIAL))
        left -= shape[0] * N_SPECIAL
    while left:
        n = min(left, WORDS - at)
        f.write(block[2 * at:2 * (at + n)])
        left, at = left - n, 0


def write(path, size="1b", context=4096, seed=1):
    """Whole or not at all. Returns how many weights it has."""
    size = SIZES[size]
    rng = random.Random(seed)
    block = memoryview(struct.pack(f"<{WORDS}e", *(rng.gauss(0, size[0] ** -0.5) for _ in range(WORDS))))
    keys, tensors = _keys(size, context), _tensors(size)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(_key(*key) for key in keys)
    offset, n_weights = 0, 0
    for name, shape, kind in tensors:
        head += _string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)
        n_bytes = _count(shape) * (4 if kind == F32 else 2)
        offset += n_bytes + len(_padding(n_bytes))
        n_weights += _count(shape)
    with open(path + ".new", "wb") as f:
        f.write(head + _padding(len(head)))
        for name, shape, kind in tensors:
            _weights(f, name, shape, kind, block, rng.randrange(WORDS))
            f.write(_padding(f.tell()))
    os.replace(path + ".new", path)
    return n_weights
