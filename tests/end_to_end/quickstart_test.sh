#!/usr/bin/env bash
# Runs the quickstart as the README shows it and checks that the reward rises, that the digests are the README's on
# every instruction set of this machine, and that the run is reproduced.
set -euo pipefail
train=$1 reproduce=$2 config=$3 readme=$4
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/quickstart.XXXXXX")
fail() {
  echo "FAIL: $*" >&2
  exit 1
}

# mean FILE FIRST LAST: the mean reward of the training steps FIRST to LAST.
mean() {
  grep '"phase":"training"' "$1" | sed -n "$2,$3p" | sed 's/.*"reward":\([-0-9.e]*\).*/\1/' |
    awk '{ sum += $1 } END { printf "%.4f\n", sum / NR }'
}

instruction_sets=(avx2)
grep -qw avx512vl /proc/cpuinfo && instruction_sets+=(avx512) || echo "skipped: this machine has no AVX-512"
for isa in "${instruction_sets[@]}"; do
  REPRISE_ISA=$isa "$train" "$config" --output "$work/$isa" --quiet >"$work/$isa.out"
  grep -q "\"instruction_set\":\"$isa\"" "$work/$isa/execution.jsonl" || fail "the run did not use $isa"
  while read -r line; do
    grep -qxF "$line" "$readme" || fail "on $isa the run prints '$line', which is not in README.md"
  done < <(grep -E '^(weights|run digest) sha256:' "$work/$isa.out")
  (($(grep -cE '^(weights|run digest) sha256:' "$work/$isa.out") == 2)) || fail "train did not print two digests"
done

metrics=$work/avx2/metrics.jsonl
first=$(mean "$metrics" 1 1) last=$(mean "$metrics" 381 400)
echo "mean reward: $first after the SFT phase, $last at the end"
awk -v x="$first" 'BEGIN { exit !(x <= 0.35) }' || fail "reward $first after the SFT phase, expected at most 0.35"
awk -v x="$last" 'BEGIN { exit !(x >= 0.9) }' || fail "reward $last at the end, expected at least 0.9"

verdict=$("$reproduce" "$work/avx2/run.h5" --quiet)
[[ $verdict == PASS:* ]] || fail "reproduce printed $verdict"
echo "$verdict"
