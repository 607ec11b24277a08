#!/usr/bin/env python3
"""Compares Reprise with its peers, in alternating runs on this machine: prints one table of medians and ratios.

    benchmarks/peers/compare.py                        nano and micro, with TRL and llama.cpp; half an hour
    benchmarks/peers/compare.py olmoe_2 olmoe          large shapes, with llama.cpp only (14 GB of memory and disk)
    benchmarks/peers/compare.py micro --peers trl --rounds 5
    benchmarks/peers/compare.py agent agent64 --threads 1    the memory agent, with PyTorch; ten minutes
    benchmarks/peers/compare.py growth growth32 --threads 1 2    networks that grow, with PyTorch; ten minutes

Installs TRL and builds llama.cpp's own benchmarks under --directory if they are missing, and builds ours.

TRL (trl_peer.py): whole GRPO steps and the generation in them, which is Transformers' generate. The same weights, the
same file of problems (prompts of 16 tokens), 8 prompts x 8 generations, full-length completions, float32, AdamW, one
update per batch, with the router's load-balancing loss, without a reference model or logging on either side; glibc's
malloc is tuned for TRL, which gains from it.

llama.cpp (llama_peer.py): decoding of 1 sequence in bf16 and of 64 in float32. The same weights; both sides feed random
tokens, because its benchmarks accept no prompts.

PyTorch (agent_peer.py): training steps of the memory agent with Transformers' OLMoE as encoder. The same weights and
texts, 8 tasks x 8 samples of 4 to 8 operations, 4 updates, float32.

PyTorch (growth_peer.py): training steps of networks that grow, by configs/morphogenesis.toml with other hosts: 8
channels and 256 examples (growth), and images of 32 rows in batches of 128 (growth32).
"""
import argparse, os, statistics, subprocess, sys

import agent_peer, growth_peer, llama_peer, trl_peer

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PACKAGES = ["torch==2.13.0", "transformers==5.23.0", "trl==1.16.0"]


def prepare(options, models):
    """Builds the missing programs; returns the directory of ours."""
    targets = ["//benchmarks/peers:agent_step", "//benchmarks/peers:growth_step", "//benchmarks/peers:grpo_step",
               "//benchmarks/peers:generate_rate", "//pipelines:train"]
    subprocess.run(["bazel", "build", "--noshow_progress", "--ui_event_filters=-info", *targets], cwd=ROOT, check=True)
    os.makedirs(options.directory, exist_ok=True)
    in_python = {"trl": trl_peer.MODELS, "agent": agent_peer.MODELS, "growth": growth_peer.MODELS}
    needs_python = any(peer in options.peers and set(models) & set(known) for peer, known in in_python.items())
    if needs_python and not options.python:
        options.python = f"{options.directory}/venv/bin/python"
        if not os.path.exists(options.python):
            subprocess.run([sys.executable, "-m", "venv", f"{options.directory}/venv"], check=True)
            subprocess.run([options.python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    if "llama" in options.peers and set(models) & set(llama_peer.SHAPES):
        llama_peer.build(options.directory)
    return os.path.join(ROOT, "bazel-bin", "benchmarks", "peers")


def main():
    known = [*llama_peer.SHAPES, *agent_peer.MODELS, *growth_peer.MODELS]
    peers = ["trl", "llama", "agent", "growth"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["nano", "micro"], metavar="MODEL",
                        help=f"one of {', '.join(known)}; default: nano and micro")
    parser.add_argument("--peers", nargs="+", choices=peers, default=peers)
    parser.add_argument("--threads", type=int, nargs="+", default=[2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--completion", type=int, default=64, help="tokens of a completion, for TRL")
    parser.add_argument("--directory", default=os.path.expanduser("~/.cache/reprise/peers"))
    parser.add_argument("--python", help="an interpreter with TRL and Transformers installed")
    options = parser.parse_args()
    for model in options.models:
        if model not in known:
            parser.error(f"there is no model {model}: choose from {', '.join(known)}")
    programs = prepare(options, options.models)
    print("| what | model | threads | Reprise | peer | ratio | of each round |\n|---|---|---|---|---|---|---|", flush=True)
    measures = {"trl": trl_peer.measure, "llama": llama_peer.measure, "agent": agent_peer.measure,
                "growth": growth_peer.measure}
    for model in options.models:
        for peer in options.peers:
            for threads in options.threads:
                for what, unit, ours, theirs in measures[peer](model, threads, programs, options):
                    # Ratios compare speeds: above 1 Reprise is faster, for either unit.
                    ratio = lambda a, b: b / a if unit == "s" else a / b
                    a, b = statistics.median(ours), statistics.median(theirs)
                    rounds = " ".join(f"{ratio(x, y):.2f}" for x, y in zip(ours, theirs))
                    print(f"| {what} | {model} | {threads} | {a:.4g} {unit} | {b:.4g} {unit} | {ratio(a, b):.2f}x | "
                          f"{rounds} |", flush=True)


if __name__ == "__main__":
    main()
