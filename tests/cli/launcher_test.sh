#!/usr/bin/env bash
# ./reprise: what it makes of its arguments, with programs that only tell how they were called.
set -euo pipefail
launcher=$(readlink -f "$1")
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/launcher.XXXXXX")
session=$(mktemp -d /tmp/mpi.XXXXXX) # Open MPI's sockets need a short path
trap 'rm -rf "$work" "$session"' EXIT
export OMPI_MCA_orte_tmpdir_base=$session PMIX_SYSTEM_TMPDIR=$session OMPI_MCA_plm=isolated

# A checkout with a build tool that builds nothing. A program says how it was called; BAD as an argument is bad input,
# found by any process, and DIFFERS a verdict.
mkdir -p "$work/root/bazel-bin/pipelines" "$work/bin"
cp "$launcher" "$work/root/reprise"
printf '#!/bin/sh\nexit 0\n' >"$work/bin/bazel"
cat >"$work/program" <<'PROGRAM'
#!/bin/sh
echo "$(basename "$0") rank ${OMPI_COMM_WORLD_RANK:-alone}: $*" >>"$CALLS"
case " $* " in
  *' BAD '*) exit 65 ;;
  *' --check '*) exit 0 ;;
  *' DIFFERS '*) exit 1 ;;
esac
PROGRAM
for verb in train reproduce compare inspect validate export; do
  cp "$work/program" "$work/root/bazel-bin/pipelines/$verb"
done
chmod +x "$work/bin/bazel" "$work/root/bazel-bin/pipelines/"*
export PATH=$work/bin:$PATH CALLS=$work/calls

failures=0
# expect CODE CALLS ARG...: ./reprise ARG... ends with CODE after these calls, which may come in any order.
expect() {
  local code=$1 calls=$2 got=0
  shift 2
  : >"$CALLS"
  "$work/root/reprise" "$@" >"$work/out" 2>"$work/err" || got=$?
  if [[ $got != "$code" || $(sort "$CALLS") != $(sort <<<"$calls") ]]; then
    echo "FAIL: reprise $*: exit code $got, expected $code; calls:" && cat "$CALLS" "$work/err"
    failures=$((failures + 1))
  fi
}
# expect_told TEXT: the last command said so on stderr.
expect_told() {
  grep -qF -- "$1" "$work/err" || {
    echo "FAIL: expected '$1', got:" && cat "$work/err"
    failures=$((failures + 1))
  }
}

expect 0 'train rank alone: c.toml --output o' train c.toml --output o
expect 0 'train rank alone: c.toml --output a b' train c.toml --output 'a b' --ranks 1
two=$'train rank alone: --check --ranks-to-start 2 c.toml\ntrain rank 0: c.toml\ntrain rank 1: c.toml'
expect 0 "$two" train c.toml --ranks 2
expect 0 "$two" train --ranks=2 c.toml
# Bad input is told by one process; no rank starts.
expect 65 'train rank alone: --check --ranks-to-start 2 BAD' train BAD --ranks 2
# A verdict outlives mpirun.
expect 1 $'reproduce rank alone: --check --ranks-to-start 2 DIFFERS\nreproduce rank 0: DIFFERS\nreproduce rank 1: DIFFERS' \
  reproduce DIFFERS --ranks 2
expect 1 'compare rank alone: DIFFERS b.h5' compare DIFFERS b.h5
# Help is given once.
expect 0 'train rank alone: --check --ranks-to-start 2 --help' train --help --ranks 2
expect 0 'validate rank alone: --ranks 4 c.toml' validate c.toml --ranks 4
expect 0 'validate rank alone: --ranks 1 c.toml' validate c.toml
expect 64 '' inspect run.h5 --ranks 2
expect_told 'inspect runs on one rank: leave out --ranks'
expect 64 '' train c.toml --ranks 0
expect_told '--ranks 0: expected a positive number'
expect 64 '' train c.toml --ranks
expect_told '--ranks needs a number'
expect 64 '' trian c.toml
expect_told 'unknown verb: trian'
expect 0 '' --help

((failures == 0)) && echo "all as expected"
