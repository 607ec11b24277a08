#!/usr/bin/env bash
# Checks that the benchmarks build and run; nothing is timed.
#   benchmarks_test.sh MODEL GRPO_STEP RECOVERY CONFIG SHARE GENERATE_RATE AGENT_STEP AGENT_CONFIG GROWTH_STEP GROWTH_CONFIG BENCHMARK...
set -euo pipefail
model=$1
"$2" "$model" 1 4 5 | grep '"tokens": 256,' >/dev/null # 8 prompts x 8 x 4 tokens: no completion ended early
python3 -B "$3" pipelines "$4" --rounds 1 | grep '"resume": ' >/dev/null
python3 -B "$5" pipelines/train "$4" --steps 12 | grep '"digests": ' >/dev/null
python3 -B benchmarks/peers/compare.py --help | grep 'one table of medians and ratios' >/dev/null
# Checks that the last matrix of a model file for llama.cpp equals ours, in two bytes for each weight.
PYTHONPATH=benchmarks/peers python3 -B - "$6" "$TEST_TMPDIR" <<'CHECK'
import array, json, subprocess, sys
import gguf_file, llama_peer
program, directory = sys.argv[1:]
path = gguf_file.model_of("nano", llama_peer.SHAPES["nano"], "bf16", program, directory)
listing = subprocess.run([program, "weights", "nano", f"{directory}/block"], check=True, capture_output=True, text=True)
last = {p["name"]: p for p in map(json.loads, listing.stdout.splitlines())}["model.layers.1.mlp.experts.7.down_proj.weight"]
with open(f"{directory}/block", "rb") as block, open(path, "rb") as model:
    block.seek(4 * last["offset"])
    ours = array.array("f", block.read(4 * last["size"]))
    written = model.read()
    assert written.startswith(b"GGUF")
    halves = array.array("H", written[-2 * last["size"]:])
theirs = array.array("f", b"".join((half << 16).to_bytes(4, "little") for half in halves))
assert ours == theirs and len(ours) == 64 * 64
CHECK
# A step of the memory agent encodes fewer states than it has decisions, and its passes are computed again.
pipelines/train "$8" --output "$TEST_TMPDIR/agent" --set run.steps=1 --set evaluation.every=0 --quiet
"$7" "$TEST_TMPDIR/agent/model" 1 2 passes | python3 -c '
import json, sys
step = json.load(sys.stdin)
assert 0 < step["texts"] < step["decisions"] and min(step[s] for s in ("s_draw", "s_step", "s_passes")) > 0, step'
# A step of growing networks takes some time, and so do as many plain hosts.
"$9" "${10}" 1 1 hosts --set morphogenesis.train_examples=32 --set morphogenesis.validation_examples=32 | python3 -c '
import json, sys
step = json.load(sys.stdin)
assert step["episodes"] > 0 and min(step[s] for s in ("s_step", "s_hosts", "episodes_per_s")) > 0, step'
for benchmark in "${@:11}"; do
  (($("$benchmark" --benchmark_list_tests | wc -l) > 0))
done
