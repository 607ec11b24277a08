#!/usr/bin/env bash
# watchdog_quiet.sh [--minutes M] [--ranks R] [--load N]: trains one run after the other, on R ranks (default 3) and with
# the watchdog's limits as they are, beside N programs that fill the machine (default: two for each core). The watchdog
# must raise no alarm. Ends with a line with the number of runs and alarms.
#
# Example: tests/faults/watchdog_quiet.sh --minutes 60
#
# Exit codes: 0 no alarm and no other failure, 1 otherwise, 64 usage.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."

usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "tests/faults/watchdog_quiet.sh"; }

minutes=60 ranks=3 load=$((2 * $(nproc)))
while (($#)); do
  case $1 in
    --help | -h)
      usage
      exit 0
      ;;
    --minutes | --ranks | --load)
      [[ ${2:-} =~ ^[0-9]+$ ]] || {
        echo "watchdog_quiet: $1 needs a number" >&2
        exit 64
      }
      declare "${1#--}=$2"
      shift
      ;;
    *)
      echo "watchdog_quiet: unknown argument $1" >&2
      exit 64
      ;;
  esac
  shift
done
[[ -x bazel-bin/pipelines/train ]] || bazel build //pipelines:train

work=$(mktemp -d)
pids=()
stop() {
  ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT
for ((i = 0; i < load; ++i)); do
  (while :; do :; done) &
  pids+=($!)
done

end=$((SECONDS + 60 * minutes)) runs=0 alarms=0 failures=0
while ((SECONDS < end)); do
  code=0
  OMP_NUM_THREADS=1 MPI_TEST_OPTIONS=-q tools/run_mpi_test.sh "$ranks" bazel-bin/pipelines/train \
    tests/determinism/small.toml --output "$work/run" --quiet --set run.steps=600 >"$work/out" 2>"$work/err" || code=$?
  runs=$((runs + 1))
  if grep -q 'the watchdog ended the run' "$work/err"; then
    alarms=$((alarms + 1))
    cat "$work/err"
    cat "$work"/run/watchdog/*.report || true
  elif ((code)); then
    failures=$((failures + 1))
    cat "$work/err"
  fi
  rm -rf "$work/run"
done
echo "$runs runs in $minutes minutes on $ranks ranks beside $load busy programs: $alarms alarms, $failures other failures"
((alarms == 0 && failures == 0))
