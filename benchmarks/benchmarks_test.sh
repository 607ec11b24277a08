#!/usr/bin/env bash
# The benchmarks still build against the product and still run; nothing is timed.
#   benchmarks_test.sh MODEL GRPO_STEP RECOVERY CONFIG SHARE BENCHMARK...
set -euo pipefail
model=$1
"$2" "$model" 1 4 5 | grep -q '"tokens": 256,' # 8 prompts x 8 x 4 tokens: no completion ended early
python3 -B "$3" pipelines "$4" --rounds 1 | grep -q '"resume": '
python3 -B "$5" pipelines/train "$4" --steps 12 | grep -q '"digests": '
for benchmark in "${@:6}"; do
  (($("$benchmark" --benchmark_list_tests | wc -l) > 0))
done
