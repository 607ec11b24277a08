#!/usr/bin/env bash
# Every algorithm reaches a mean reward of 0.9 on the task of benchmarks/learning, with the settings and within the
# steps that are given there: each row of docs/algorithms.md, and each row that rows.toml adds. A shard of the test
# trains its share of them. The default suite has words of three letters and half of the prompts, a third of the time:
# SETTINGS, which replace those of the task.
#   learning_test.sh LEARN TRAIN ROWS ALGORITHMS [SETTING...]
set -euo pipefail
if [[ -n ${TEST_SHARD_STATUS_FILE:-} ]]; then touch "$TEST_SHARD_STATUS_FILE"; fi
algorithms=$(sed -n '/^## Rows/,/^## [^R]/s/^### //p' "$4")
(($(wc -l <<<"$algorithms") >= 19))
added=$(sed -n '/^\[rows\]/,$s/^\([a-z_]*\) = .*/\1/p' "$3")
mapfile -t rows < <(sort -u <<<"$algorithms"$'\n'"$added")
mine=()
for i in "${!rows[@]}"; do
  if ((i % ${TEST_TOTAL_SHARDS:-1} == ${TEST_SHARD_INDEX:-0})); then mine+=("${rows[i]}"); fi
done
settings=()
for setting in "${@:5}"; do settings+=(--set "$setting"); done
table=$(python3 -B "$1" --train "$2" --seeds 1 --set execution.threads=1 "${settings[@]}" --rows "${mine[@]}") ||
  { echo "$table"; exit 1; }
echo "$table"
(($(grep -c ' steps, ' <<<"$table") == ${#mine[@]}))
