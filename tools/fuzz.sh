#!/usr/bin/env bash
# Fuzzes the parsers of untrusted bytes (tests/fuzz/targets.cc) with libFuzzer, the address and the undefined behaviour
# sanitizer. Interesting inputs are kept in .fuzz/TARGET, from which the next run resumes; an input that makes a parser
# fail is written there as crash-*, timeout-* or oom-*.
#
#   ./reprise setup --fuzz                           once: installs clang
#   tools/fuzz.sh [--runs N] [TARGET...]             N executions of each (default 1000000) of all or the named targets
#   tools/fuzz.sh --minimize [TARGET...]             reduces tests/fuzz/corpus to the fewest inputs of the same coverage
#
# Exit codes: 0 no parser failed, 1 a parser failed, 64 usage, 70 the build failed.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

readonly FUZZER=bazel-bin/tests/fuzz/fuzzer
# A parser also fails if it needs 5 s or 2 GB for an input of some kilobytes.
readonly LIMITS=(-timeout=5 -rss_limit_mb=2048 -max_len=8192)

fail() {
  printf 'fuzz: %s\n' "$2" >&2
  exit "$1"
}
usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; }

runs=1000000 minimize=no targets=()
while (($#)); do
  case $1 in
    --runs)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || fail 64 "--runs needs a positive number"
      runs=$2
      shift
      ;;
    --minimize) minimize=yes ;;
    --help | -h)
      usage
      exit 0
      ;;
    -*) fail 64 "unknown option $1: see tools/fuzz.sh --help" ;;
    *)
      [[ -d tests/fuzz/corpus/$1 ]] || fail 64 "no target $1 in tests/fuzz/corpus"
      targets+=("$1")
      ;;
  esac
  shift
done
((${#targets[@]})) || mapfile -t targets < <(ls tests/fuzz/corpus)

command -v clang-14 >/dev/null || fail 64 "clang-14 is missing: ./reprise setup --fuzz installs it"
bazel build --noshow_progress --ui_event_filters=-info --config=fuzz //tests/fuzz:fuzzer || fail 70 "the build failed"

failed=()
for target in "${targets[@]}"; do
  export REPRISE_FUZZ_TARGET=$target
  mkdir -p ".fuzz/$target"
  if [[ $minimize == yes ]]; then
    least=$(mktemp -d)
    "$FUZZER" -merge=1 "${LIMITS[@]}" "$least" "tests/fuzz/corpus/$target" ".fuzz/$target" 2>/dev/null
    rm -rf "tests/fuzz/corpus/$target"
    mv "$least" "tests/fuzz/corpus/$target"
    chmod 755 "tests/fuzz/corpus/$target"
    continue
  fi
  log=.fuzz/$target.log
  if "$FUZZER" "${LIMITS[@]}" -runs="$runs" -artifact_prefix=".fuzz/$target/" \
    ".fuzz/$target" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
    printf '%-16s %s\n' "$target" "$(grep -a '^Done' "$log")"
  else
    failed+=("$target")
    printf '%-16s failed: see %s\n' "$target" "$log"
  fi
done
((${#failed[@]} == 0))
