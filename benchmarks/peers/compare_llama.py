#!/usr/bin/env python3
"""Decoding by Reprise beside llama.cpp's: the same shapes and machine, in alternating runs.

    bazel build //benchmarks/peers:generate_rate && benchmarks/peers/compare_llama.py nano micro olmoe_2

Builds llama.cpp's own benchmarks first where they are missing (build_llama.sh; some minutes), and writes models with
random weights for it. One sequence: bf16 weights, llama-bench's tg64. 64 sequences: float32 weights, 16-token prompts,
64 new tokens; llama-batched-bench times decoding alone, without sampling, and shares one prompt; ours is whole
generations of 8 prompts x 8 completions, prompts and sampling included. Prints a row a case: medians of the rounds, and
the ratio. `olmoe` (OLMoE-1B-7B) takes 14 GB of memory and of disk.
"""
import argparse, array, json, os, random, statistics, struct, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
SHAPES = {  # vocabulary, width, expert width, layers, heads, experts, experts a token
    "nano": (128, 64, 64, 2, 4, 8, 2),
    "micro": (512, 256, 256, 4, 8, 16, 4),
    "olmoe_2": (50304, 2048, 1024, 2, 16, 64, 8),
    "olmoe": (50304, 2048, 1024, 16, 16, 64, 8),
}
U32, F32, STRING = 4, 6, 8  # types of metadata
TENSOR_TYPE = {"float32": 0, "bf16": 30}
FILE_TYPE = {"float32": 0, "bf16": 32}
ALIGNMENT = 32


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def metadata(shape, dtype):
    vocabulary, width, expert_width, layers, heads, experts, per_token = SHAPES[shape]
    entries = [("general.architecture", STRING, "olmoe"), ("general.name", STRING, shape),
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
    """Name, dimensions (innermost first), and whether it is stored in the model's type."""
    vocabulary, width, expert_width, layers, _, experts, _ = SHAPES[shape]
    yield "token_embd.weight", (width, vocabulary), True
    yield "output_norm.weight", (width,), False
    yield "output.weight", (width, vocabulary), True
    for i in range(layers):
        for name in ("attn_norm", "attn_q_norm", "attn_k_norm", "ffn_norm"):
            yield f"blk.{i}.{name}.weight", (width,), False
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield f"blk.{i}.{name}.weight", (width, width), True
        yield f"blk.{i}.ffn_gate_inp.weight", (width, experts), False
        for name in ("ffn_gate_exps", "ffn_up_exps"):
            yield f"blk.{i}.{name}.weight", (width, expert_width, experts), True
        yield f"blk.{i}.ffn_down_exps.weight", (expert_width, width, experts), True


def size_of(dimensions, bytes_each):
    for dimension in dimensions:
        bytes_each *= dimension
    return bytes_each


def repeated(block, size):
    while size > 0:
        yield block[:size]
        size -= len(block)


def write_model(shape, dtype, path):
    """GGUF version 3. All matrices repeat one block of random weights: speed does not depend on their values."""
    rng = random.Random(7)
    floats = array.array("f", (rng.uniform(-0.035, 0.035) for _ in range(1 << 20)))
    blocks = {"float32": floats.tobytes(), "bf16": array.array("H", floats.tobytes())[1::2].tobytes()}
    listed = [(name, dimensions, dtype if typed else "float32") for name, dimensions, typed in tensors(shape)]
    padded = lambda size: -(-size // ALIGNMENT) * ALIGNMENT
    infos, offset = b"", 0
    for name, dimensions, kind in listed:
        infos += text(name) + struct.pack("<I", len(dimensions)) + struct.pack(f"<{len(dimensions)}Q", *dimensions)
        infos += struct.pack("<IQ", TENSOR_TYPE[kind], offset)
        offset += padded(size_of(dimensions, 4 if kind == "float32" else 2))
    count, entries = metadata(shape, dtype)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(listed), count) + entries + infos
    with open(path + ".part", "wb") as file:
        file.write(head.ljust(padded(len(head)), b"\0"))
        for name, dimensions, kind in listed:
            size = size_of(dimensions, 4 if kind == "float32" else 2)
            block = struct.pack("<f", 1.0) * 4096 if "norm" in name else blocks[kind]
            for part in repeated(block, size):
                file.write(part)
            file.write(b"\0" * (padded(size) - size))
    os.rename(path + ".part", path)


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    if result.returncode != 0 or not lines:
        sys.exit(f"{command[0]} failed:\n{result.stderr[-2000:]}")
    return lines


def llama_rate(programs, model, sequences, threads):
    if sequences == 1:
        lines = run([f"{programs}/llama-bench", "-m", model, "-p", "0", "-n", "64", "-t", str(threads), "-r", "3", "-o",
                     "jsonl"])
        return statistics.median(lines[-1]["samples_ts"])
    lines = run([f"{programs}/llama-batched-bench", "-m", model, "-c", "8192", "-npp", "16", "-ntg", "64", "-npl",
                 ",".join([str(sequences)] * 5), "-pps", "-t", str(threads), "-tb", str(threads), "--output-format",
                 "jsonl"])
    return statistics.median(line["speed_tg"] for line in lines if "speed_tg" in line)


def our_rate(binary, shape, dtype, sequences, threads):
    rounds = "3" if shape.startswith("olmoe") else "9"
    return run([binary, shape, dtype, str(sequences), str(threads), rounds])[0]["tokens_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="+", choices=SHAPES)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", default=os.path.expanduser("~/.cache/reprise/llama"))
    parser.add_argument("--binary", default="bazel-bin/benchmarks/peers/generate_rate")
    options = parser.parse_args()
    programs = f"{options.directory}/build/bin"
    if not os.path.exists(f"{programs}/llama-batched-bench"):
        subprocess.run([f"{HERE}/build_llama.sh", options.directory], check=True)
    print("shape    weights  sequences  threads  Reprise tokens/s  llama.cpp tokens/s  ratio  (of each round)")
    for shape in options.shapes:
        cases = [(1, "bf16")] + ([] if shape.startswith("olmoe") else [(64, "float32")])
        for sequences, dtype in cases:
            model = f"{options.directory}/{shape}-{dtype}.gguf"
            if not os.path.exists(model):
                write_model(shape, dtype, model)
            for threads in options.threads:
                ours, theirs = [], []
                for _ in range(options.rounds):
                    ours.append(our_rate(options.binary, shape, dtype, sequences, threads))
                    theirs.append(llama_rate(programs, model, sequences, threads))
                a, b = statistics.median(ours), statistics.median(theirs)
                ratios = " ".join(f"{x / y:.2f}" for x, y in zip(ours, theirs))
                print(f"{shape:8} {dtype:8} {sequences:9}  {threads:7}  {a:16.1f}  {b:18.1f}  {a / b:5.2f}  ({ratios})",
                      flush=True)


if __name__ == "__main__":
    main()
