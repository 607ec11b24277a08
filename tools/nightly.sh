#!/usr/bin/env bash
# Runs the checks that take too long for every change. A stage that has passed for the current sources is not run again,
# and Bazel caches the results of single tests: after an interruption, run this script again.
#
#   tools/nightly.sh [STAGE...]     all of these stages, or the named ones:
#
#     asan       the whole tree under the address and the undefined behaviour sanitizer
#     tsan       the whole tree under the thread sanitizer
#     slow       the slow suite
#     includes   compiles the whole tree without precompiled headers, which detects a missing #include
#     fuzz       tools/fuzz.sh (skipped by default where clang is missing)
#
# Prints a line for each stage: "STAGE: N passed, N failed", or the last line of its log. Exit codes: 0 all passed, 1 a
# stage failed, 64 usage.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

readonly KNOWN=' asan tsan slow includes fuzz '
state=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/reprise/nightly

usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; }

# The contents of the tracked files, committed or not.
sources_digest() { git ls-files -z | xargs -0 sha256sum 2>/dev/null | sha256sum | cut -c1-16; }

run_stage() {
  case $1 in
    fuzz) tools/fuzz.sh ;;
    includes) bazel build --config=includes --noshow_progress --ui_event_filters=-info //... && echo 'compiled' ;;
    asan) ./reprise test --config=asan --config=ubsan //... ;;
    *) ./reprise test --config="$1" //... ;;
  esac
}

stages=()
for argument; do
  case $argument in
    --help | -h)
      usage
      exit 0
      ;;
  esac
  [[ $KNOWN == *" $argument "* ]] || {
    printf 'nightly: no stage %s; there are:%s\n' "$argument" "$KNOWN" >&2
    exit 64
  }
  stages+=("$argument")
done
if ((${#stages[@]} == 0)); then
  stages=(asan tsan slow includes)
  ! command -v clang-14 >/dev/null || stages+=(fuzz)
fi

digest=$(sources_digest)
mkdir -p "$state"
failed=0
for stage in "${stages[@]}"; do
  done_file=$state/$stage-$digest
  if [[ ! -e $done_file ]]; then
    log=$state/$stage.log
    if run_stage "$stage" >"$log" 2>&1; then
      tail -n 1 "$log" >"$done_file"
    else
      failed=1
      printf '%s: %s (see %s)\n' "$stage" "$(tail -n 1 "$log")" "$log"
      continue
    fi
  fi
  printf '%s: %s\n' "$stage" "$(cat "$done_file")"
done
exit "$failed"
