"""Writes benchmarks/peers/generate_rate's random weights as a GGUF file (version 3), which llama.cpp loads.

The weights repeat one block of floats, so that a model of any size can be written with little memory. All values are
exact in bf16 (random_weights.h), so that both programs compute with the same numbers for either type of file.
"""
import array, hashlib, json, os, struct, subprocess

U32, F32, STRING = 4, 6, 8  # types of metadata
TENSOR_TYPE = {"float32": 0, "bf16": 30}
FILE_TYPE = {"float32": 0, "bf16": 32}
ALIGNMENT = 32
LAYER_NAMES = {  # GGUF's name, ours, and whether it is stored in the model's type
    "attn_norm": ("input_layernorm", False), "attn_q_norm": ("self_attn.q_norm", False),
    "attn_k_norm": ("self_attn.k_norm", False), "ffn_norm": ("post_attention_layernorm", False),
    "attn_q": ("self_attn.q_proj", True), "attn_k": ("self_attn.k_proj", True), "attn_v": ("self_attn.v_proj", True),
    "attn_output": ("self_attn.o_proj", True), "ffn_gate_inp": ("mlp.gate", False),
}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def metadata(name, shape, dtype):
    vocabulary, width, expert_width, layers, heads, experts, per_token = shape
    entries = [("general.architecture", STRING, "olmoe"), ("general.name", STRING, name),
               ("general.file_type", U32, FILE_TYPE[dtype]), ("tokenizer.ggml.model", STRING, "none")]
    numbers = {"vocab_size": vocabulary, "context_length": 4096, "embedding_length": width, "block_count": layers,
               "feed_forward_length": expert_width, "attention.head_count": heads, "attention.head_count_kv": heads,
               "expert_count": experts, "expert_used_count": per_token}
    entries += [("olmoe." + key, U32, value) for key, value in numbers.items()]
    entries += [("olmoe.rope.freq_base", F32, 10000.0), ("olmoe.attention.layer_norm_rms_epsilon", F32, 1e-5)]
    pack = {U32: lambda v: struct.pack("<I", v), F32: lambda v: struct.pack("<f", v), STRING: text}
    return len(entries), b"".join(text(key) + struct.pack("<I", kind) + pack[kind](value)
                                  for key, kind, value in entries)


def tensors(shape):
    """Yields name, dimensions (innermost first), whether it has the model's type, and the names of our parameters."""
    vocabulary, width, expert_width, layers, _, experts, _ = shape
    yield "token_embd.weight", (width, vocabulary), True, ["model.embed_tokens.weight"]
    yield "output_norm.weight", (width,), False, ["model.norm.weight"]
    yield "output.weight", (width, vocabulary), True, ["lm_head.weight"]
    for i in range(layers):
        for name, (ours, typed) in LAYER_NAMES.items():
            rows = () if name.endswith("norm") else (experts,) if name == "ffn_gate_inp" else (width,)
            yield f"blk.{i}.{name}.weight", (width, *rows), typed, [f"model.layers.{i}.{ours}.weight"]
        for part, dimensions in (("gate", (width, expert_width)), ("up", (width, expert_width)),
                                 ("down", (expert_width, width))):
            parts = [f"model.layers.{i}.mlp.experts.{e}.{part}_proj.weight" for e in range(experts)]
            yield f"blk.{i}.ffn_{part}_exps.weight", (*dimensions, experts), True, parts


def elements(block, first, count):
    """Yields the bytes of elements [first, first + count) of the endless repetition of `block`."""
    while count > 0:
        start = first % len(block)
        some = block[start:start + count]
        yield some.tobytes()
        first, count = first + len(some), count - len(some)


def upper_halves(data):
    """Returns floats that are exact in bf16, as bf16."""
    return array.array("H", data)[1::2].tobytes()


def model_of(name, shape, dtype, generate_rate, directory):
    """Returns the path of the model, which is written unless it exists; its name contains the digest of the weights.

    `generate_rate weights` prints the offset of each parameter in the repetition of the block that it writes."""
    block_path = f"{directory}/{name}-{dtype}.block"
    listing = subprocess.run([generate_rate, "weights", name, block_path], check=True, capture_output=True, text=True)
    with open(block_path, "rb") as file:
        data = file.read()
    os.remove(block_path)
    path = f"{directory}/{name}-{dtype}-{hashlib.sha256(data + listing.stdout.encode()).hexdigest()[:8]}.gguf"
    if not os.path.exists(path):
        block = array.array("f")
        block.frombytes(data)
        write_model(name, shape, dtype, {p["name"]: p for p in map(json.loads, listing.stdout.splitlines())}, block, path)
    return path


def write_model(name, shape, dtype, ours, block, path):
    listed = list(tensors(shape))
    padded = lambda size: -(-size // ALIGNMENT) * ALIGNMENT
    size_of = lambda parts, kind: sum(ours[part]["size"] for part in parts) * (2 if kind == "bf16" else 4)
    infos, offset = b"", 0
    for tensor, dimensions, typed, parts in listed:
        kind = dtype if typed else "float32"
        infos += text(tensor) + struct.pack("<I", len(dimensions)) + struct.pack(f"<{len(dimensions)}Q", *dimensions)
        infos += struct.pack("<IQ", TENSOR_TYPE[kind], offset)
        offset += padded(size_of(parts, kind))
    count, entries = metadata(name, shape, dtype)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(listed), count) + entries + infos
    with open(path + ".part", "wb") as file:
        file.write(head.ljust(padded(len(head)), b"\0"))
        for _, dimensions, typed, parts in listed:
            for part in parts:
                p = ours[part]
                if len(dimensions) == 1:
                    file.write(struct.pack("<f", 1.0) * p["size"])
                    continue
                scaled = block if p["factor"] == 1 else array.array("f", (p["factor"] * value for value in block))
                for data in elements(scaled, p["offset"], p["size"]):
                    file.write(upper_halves(data) if typed and dtype == "bf16" else data)
            file.write(b"\0" * (-file.tell() % ALIGNMENT))
    os.rename(path + ".part", path)
