#!/usr/bin/env bash
# update_goldens.sh: writes the golden traces of tests/golden_trace anew, from runs of the programs as they are.
#
# They change only when bits change. Is that wanted? Then raise kNumericContract, run this, and say why in the commit.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
bazel build --noshow_progress --ui_event_filters=-info //pipelines:train //tests/golden_trace:print_trace

runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT

update() { # NAME CONFIG
  local golden=tests/golden_trace/$1.trace
  bazel-bin/pipelines/train "$2" --output "$runs/$1" --quiet >/dev/null
  bazel-bin/tests/golden_trace/print_trace "$runs/$1/run.h5" >"$runs/$1.trace"
  if cmp -s "$runs/$1.trace" "$golden"; then
    echo "$golden: unchanged"
  else
    cp "$runs/$1.trace" "$golden"
    echo "$golden: written anew"
  fi
}
update small tests/determinism/small.toml
update variant tests/golden_trace/variant.toml
