"""Compares decoding by Reprise with llama.cpp's own benchmarks, for compare.py.

One sequence: bf16 weights, llama-bench's tg64. 64 sequences: float32 weights, 16-token prompts, 64 new tokens;
llama-batched-bench times only decoding, without sampling, and shares one prompt; ours times whole generations of 8
prompts x 8 completions, including prompts and sampling.
"""
import json, os, statistics, subprocess, sys

import gguf_file

HERE = os.path.dirname(os.path.abspath(__file__))
SHAPES = {  # vocabulary, width, expert width, layers, heads, experts, experts per token; benchmarks/decode/shapes.h
    "nano": (128, 64, 64, 2, 4, 8, 2),
    "micro": (512, 256, 256, 4, 8, 16, 4),
    "olmoe_2": (50304, 2048, 1024, 2, 16, 64, 8),
    "olmoe": (50304, 2048, 1024, 16, 16, 64, 8),
}


def build(directory):
    if not os.path.exists(f"{directory}/build/bin/llama-batched-bench"):
        subprocess.run([f"{HERE}/build_llama.sh", directory], check=True)


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


def measure(shape, threads, programs, options):
    """Yields a label, a unit, our values and theirs, with one value for each round."""
    if shape not in SHAPES:
        return
    large = shape.startswith("olmoe")
    ours_program = f"{programs}/generate_rate"
    for sequences, dtype in [(1, "bf16")] + ([] if large else [(64, "float32")]):
        model = gguf_file.model_of(shape, SHAPES[shape], dtype, ours_program, options.directory)
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(run([ours_program, shape, dtype, str(sequences), str(threads), "3" if large else "9"])[0]
                        ["tokens_per_second"])
            theirs.append(llama_rate(f"{options.directory}/build/bin", model, sequences, threads))
        yield f"llama.cpp, {sequences} sequence{'s' * (sequences > 1)}, {dtype}", "tokens/s", ours, theirs
