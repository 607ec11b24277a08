#!/usr/bin/env bash
# Tests how ./reprise handles its arguments, with programs that only log how they were called.
set -euo pipefail
launcher=$(readlink -f "$1")
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/launcher.XXXXXX")
session=$(mktemp -d /tmp/mpi.XXXXXX) # Open MPI's sockets need a short path
trap 'rm -rf "$work" "$session"' EXIT
export OMPI_MCA_orte_tmpdir_base=$session PMIX_SYSTEM_TMPDIR=$session OMPI_MCA_plm=isolated

# A checkout with a fake bazel that builds nothing and whose tests exit with BAZEL_STATUS. Each program logs how it was
# called. The argument BAD is bad input, which every process detects; DIFFERS is a negative verdict.
mkdir -p "$work/root/bazel-bin/pipelines" "$work/bin"
cp "$launcher" "$work/root/reprise"
cat >"$work/bin/bazel" <<'BAZEL'
#!/bin/sh
echo "$PWD: $*" >>"$CALLS.bazel"
[ "$1" = query ] && echo //benchmarks/kernels:one_benchmark //benchmarks/kernels:other_benchmark
[ "$1" = build ] && [ -n "$BUILD_WORDS" ] && printf "$BUILD_WORDS" && sleep "$BUILD_SECONDS" && exit "$BUILD_STATUS"
[ -n "$WAITS" ] && { trap 'exit 8' INT; touch "$CALLS.work_waits"; while :; do sleep 0.05; done; }
[ "$1" = test ] && exit "${BAZEL_STATUS:-0}"
exit 0
BAZEL
cat >"$work/program" <<'PROGRAM'
#!/bin/sh
echo "$(basename "$0") rank ${OMPI_COMM_WORLD_RANK:-alone}: $*" >>"$CALLS"
echo "revision $REPRISE_REVISION"
echo "settings ${PMIX_MCA_gds:-none} ${OMPI_MCA_btl_vader_backing_directory:-none}"
case " $* " in
  *' BAD '*) exit 65 ;;
  *' --check '*) exit 0 ;;
  *' DIFFERS '*)
    [ -z "$REPRISE_STATUS_FILE" ] || echo 1 >"$REPRISE_STATUS_FILE"
    exit 1
    ;;
  *' HANGS '*)
    trap '' USR1 TERM # mpirun has to wait before it kills the rank
    echo $$ >"$CALLS.waits.${OMPI_COMM_WORLD_RANK:-0}"
    while :; do sleep 0.05; done
    ;;
  *' KILLED '*)
    [ "$OMPI_COMM_WORLD_RANK" = 1 ] && kill -s "$SIGNAL" $$
    sleep 20
    ;;
  *' WAITS '*) # for the signal to stop, and takes some time to exit
    trap 'sleep 0.3; exit 75' USR1
    echo $$ >"$CALLS.waits.${OMPI_COMM_WORLD_RANK:-0}"
    while :; do sleep 0.05; done
    ;;
esac
PROGRAM
for verb in train sweep evaluate reproduce compare inspect validate export; do
  cp "$work/program" "$work/root/bazel-bin/pipelines/$verb"
done
chmod +x "$work/bin/bazel" "$work/root/bazel-bin/pipelines/"*
mkdir -p "$work/root/benchmarks/gate" "$work/root/bazel-bin/benchmarks/kernels"
sed '2i case " $* " in *" --programs "*) echo //pipelines:train && exit 0 ;; esac' "$work/program" >"$work/gate"
chmod +x "$work/gate"
echo "import os, sys; os.execv('$work/gate', ['gate', *sys.argv[1:]])" >"$work/root/benchmarks/gate/gate.py"
mkdir -p "$work/root/python/reprise/prepare"
cp "$work/program" "$work/prepare"
chmod +x "$work/prepare"
echo "import os, sys; os.execv('$work/prepare', ['prepare', *sys.argv[1:]])" >"$work/root/python/reprise/prepare/__main__.py"
# Benchmarks that have one function each, BM_one and BM_other.
for name in one other; do
  sed "2i name=BM_$name" "$work/program" >"$work/root/bazel-bin/benchmarks/kernels/${name}_benchmark"
  sed -i '3i case "$1" in --benchmark_list_tests) echo $name | grep -E "${2#*=}"; exit 0 ;; esac' \
    "$work/root/bazel-bin/benchmarks/kernels/${name}_benchmark"
done
chmod +x "$work/root/bazel-bin/benchmarks/"*/*
# A fake pip downloads a wheel with the files in WHEEL (if empty, it finds no torch); Python runs everything else.
cat >"$work/bin/python3" <<PYTHON
#!/usr/bin/env bash
[[ -z \$WAITS ]] || { trap 'exit 1' INT; touch "\$CALLS.work_waits"; while :; do sleep 0.05; done; }
[[ "\$*" != *tomllib || -z \$OLD_PYTHON ]] || exit 1
[[ \$1 == -m ]] || exec $(command -v python3) "\$@"
[[ -n \$WHEEL && \${*: -1} != *"\$NO_SUCH" ]] || exit 1
while [[ \$1 != -d ]]; do shift; done
cd "\$2"
[[ \$WHEEL == broken ]] && echo broken >torch.whl && exit
for file in \$WHEEL; do mkdir -p "\${file%/*}" && touch "\$file"; done
$(command -v python3) -m zipfile -c torch.whl torch && rm -r torch
PYTHON
# A machine without any package, whose apt-get fails.
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-query"
printf '#!/bin/sh\nexit 100\n' >"$work/bin/apt-get"
printf '#!/bin/sh\n[ "$1" = -n ] && exit 0\nexec "$@"\n' >"$work/bin/sudo"
# A machine with FREE_TMP KiB in every other directory than /dev/shm, and FREE_SHM KiB there; as this one without them.
cat >"$work/bin/stat" <<STAT
#!/bin/sh
case "\$1 \$3" in
  '-fc /dev/shm') [ -z "\$FREE_SHM" ] || { echo "\$FREE_SHM 1024" && exit; } ;;
  -fc*) [ -z "\$FREE_TMP" ] || { echo "\$FREE_TMP 1024" && exit; } ;;
esac
exec $(command -v stat) "\$@"
STAT
chmod +x "$work/bin/"*
export FREE_TMP= FREE_SHM=
export PATH=$work/bin:$PATH CALLS=$work/calls XDG_CACHE_HOME=$work/cache NO_SUCH=none WHEEL= BUILD_WORDS= WAITS= OLD_PYTHON=
unset LIBTORCH_ROOT REPRISE_NO_APT

failures=0
# await CONDITION...: waits until the command succeeds. A launcher that never gets there fails the test, which goes on.
await() {
  local deadline=$((SECONDS + 60))
  until "$@"; do
    if ((SECONDS >= deadline)); then
      echo "FAIL: 60 s after ${FUNCNAME[1]}: not yet: $*; the launcher said:" && cat "$work/err"
      failures=$((failures + 1))
      kill -s KILL -- "-$launched" $(cat "$CALLS".waits.* 2>/dev/null) 2>/dev/null || true
      return 0
    fi
    sleep 0.05
  done
}
ranks_wait() { [[ -e $CALLS.waits.0 && -e $CALLS.waits.1 ]]; }
mpirun_started() { cat /proc/[0-9]*/stat 2>/dev/null | grep -qE "^[0-9]+ \((mpirun|orterun)\) [A-Z] $launched "; }
launcher_ended() { ! grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$launched/status"; }
# await_end: waits for the launcher, and sets $got to its exit code.
await_end() {
  await launcher_ended
  got=0
  wait "$launched" || got=$?
}
# expect CODE CALLS ARG...: checks that ./reprise ARG... exits with CODE after these calls, which may have any order.
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
# expect_reported TEXT: checks that the last command printed TEXT on stderr.
expect_reported() {
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
# One process reports bad input, and no rank starts.
expect 65 'train rank alone: --check --ranks-to-start 2 BAD' train BAD --ranks 2
# A signal to stop reaches the ranks, however a cluster sends it, and the launcher returns their exit code.
launch() {
  rm -f "$CALLS".waits.*
  setsid env --default-signal=HUP "$work/root/reprise" "${2:-train}" "$1" --ranks 2 >"$work/out" 2>"${ERRORS:-$work/err}" &
  launched=$!
  await ranks_wait
}
# ended_last VERB: checks that no rank is left after the launcher has ended, but for a zombie (Z).
ended_last() {
  local rank
  for rank in 0 1; do
    ! grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$(cat "$CALLS.waits.$rank")/status" || {
      echo "FAIL: the launcher ended before rank $rank of $1" && failures=$((failures + 1))
    }
  done
}
for signal in TERM USR1 HUP INT 'TERM --' 'USR1 --' 'HUP --' 'INT --'; do # to the launcher, or (--) to its whole process group
  launch WAITS
  [[ $signal == *-- ]] && kill -s "${signal% --}" -- "-$launched" || kill -s "$signal" "$launched"
  await_end
  ((got == 75)) || { echo "FAIL: SIG$signal: exit code $got, expected 75" && failures=$((failures + 1)); }
done
# So does one that arrives before mpirun has started them: it is repeated.
for _ in 1 2 3; do
  rm -f "$CALLS".waits.*
  setsid env --default-signal=HUP "$work/root/reprise" train WAITS --ranks 2 >"$work/out" 2>"$work/err" &
  launched=$!
  await mpirun_started
  kill -s INT "$launched"
  await_end
  ((got == 75)) || { echo "FAIL: SIGINT at mpirun's start: exit code $got, expected 75" && failures=$((failures + 1)); }
done
launch WAITS sweep
kill -s TERM "$launched"
await_end
((got == 75)) || { echo "FAIL: sweep: SIGTERM: exit code $got, expected 75" && failures=$((failures + 1)); }
# A second SIGINT ends the ranks without waiting for them, quietly.
launch HANGS
kill -s INT "$launched"
await grep -q 'press Ctrl-C again to stop at once' "$work/err"
kill -0 "$launched" || { echo "FAIL: one SIGINT ended ranks that had not finished" && failures=$((failures + 1)); }
kill -s INT "$launched"
await_end
((got == 130)) || { echo "FAIL: two SIGINT: exit code $got, expected 130" && failures=$((failures + 1)); }
[[ $(cat "$work/err") == 'reprise: finishing the current step; press Ctrl-C again to stop at once' ]] ||
  { echo "FAIL: two SIGINT printed:" && cat "$work/err" && failures=$((failures + 1)); }
ended_last train
# So does one that arrives while the launcher is still answering the first: here it cannot print yet, as its pipe is full.
mkfifo "$work/full"
exec {pipe}<>"$work/full"
dd if=/dev/zero of="$work/full" bs=4096 oflag=nonblock status=none 2>/dev/null || true
ERRORS=$work/full launch HANGS
for time in first second; do
  kill -s INT "$launched"
  sleep 0.5
done
cat "$work/full" >/dev/null &
emptied=$!
await_end
kill "$emptied" && wait "$emptied" || true
exec {pipe}>&-
((got == 130)) || { echo "FAIL: SIGINT during the first: exit code $got, expected 130" && failures=$((failures + 1)); }
# One SIGINT does so for a verb that has no step to finish; other signals as well, and the job may be tried again.
for end in 'INT 130' 'TERM 75' 'HUP 75'; do
  launch HANGS reproduce
  kill -s "${end% *}" "$launched"
  await_end
  ((got == ${end#* })) || { echo "FAIL: reproduce, SIG${end% *}: exit code $got" && failures=$((failures + 1)); }
  [[ ! -s $work/err ]] || { echo "FAIL: reproduce, SIG${end% *} printed:" && cat "$work/err" && failures=$((failures + 1)); }
  ended_last reproduce
done
# An interrupted build has not failed: nothing was started, and the same command goes on with it.
interrupt_work() { # SIGNAL SENTENCE ARGUMENT...
  local signal=$1 sentence=$2
  rm -f "$CALLS.work_waits"
  : >"$CALLS"
  WAITS=yes setsid env --default-signal=HUP "$work/root/reprise" "${@:3}" >"$work/out" 2>"$work/err" &
  launched=$!
  await test -e "$CALLS.work_waits"
  kill -s "${signal% --}" -- "${signal:+$([[ $signal == *-- ]] && echo -)}$launched"
  await_end
  ((got == 75)) && [[ $(tail -n 1 "$work/err") == "reprise: $sentence" && ! -s $CALLS ]] ||
    { echo "FAIL: $3, SIG$signal at work: exit code $got:" && cat "$work/err" "$CALLS" && failures=$((failures + 1)); }
}
for signal in INT TERM HUP 'INT --'; do # to the launcher, or (--) to its whole process group
  interrupt_work "$signal" 'interrupted while building: nothing was started; the same command builds what is missing' \
    train c.toml --output o
done
# So has an interrupted set-up, though pip handles the signal and says that it failed.
REPRISE_NO_APT=1 interrupt_work 'INT --' 'the set-up was interrupted: ./reprise setup continues it' setup
REPRISE_NO_APT=1 LIBTORCH_ROOT=/ interrupt_work INT \
  'the tests were interrupted: the same command runs those that are missing' test //some:test
# Without a place for Bazel's output nothing is built.
TMPDIR=$work/nonexistent expect 74 '' inspect run.h5
expect_reported "no temporary file can be made in $work/nonexistent: it may be missing, full or read-only; TMPDIR names another"
# If a rank is killed, the job ends with the exit code that allows a retry.
for verb in train sweep reproduce; do
  for signal in KILL TERM; do
    SIGNAL=$signal expect 75 "$verb rank alone: --check --ranks-to-start 2 KILLED
$verb rank 0: KILLED
$verb rank 1: KILLED" "$verb" KILLED --ranks 2
    expect_reported 'a rank was killed'
  done
done
# mpirun passes on the exit code of a verdict.
expect 1 $'reproduce rank alone: --check --ranks-to-start 2 DIFFERS\nreproduce rank 0: DIFFERS\nreproduce rank 1: DIFFERS' \
  reproduce DIFFERS --ranks 2
expect 1 'compare rank alone: DIFFERS b.h5' compare DIFFERS b.h5
# An mpirun that starts no rank is no verdict.
for verb in train reproduce; do
  OMPI_MCA_plm=nothing expect 70 "$verb rank alone: --check --ranks-to-start 2 DIFFERS" "$verb" DIFFERS --ranks 2
  expect_reported 'mpirun started no ranks, or MPI did not start in them; mpirun -n 2 true, without -q, says why, and the'
  expect_reported ' OMPI_MCA_plm'
done
# Where what MPI puts into TMPDIR and /dev/shm does not fit, it gets settings that need less.
settings() { # TEXT
  grep -qx "settings $1" "$work/out" || { echo "FAIL: expected settings $1" && cat "$work/out" && failures=$((failures + 1)); }
}
unset PMIX_MCA_gds OMPI_MCA_btl OMPI_MCA_btl_vader_backing_directory OMPI_MCA_btl_sm_backing_directory
temporary=${TMPDIR:-/tmp}
FREE_TMP=70000 FREE_SHM=70000 expect 0 "$two" train c.toml --ranks 2
settings 'none none'
FREE_TMP=1000 FREE_SHM=70000 expect 0 "$two" train c.toml --ranks 2
settings 'hash none'
FREE_TMP=70000 FREE_SHM=64 expect 0 "$two" train c.toml --ranks 2
settings "none $temporary"
OMPI_MCA_btl=self,tcp FREE_TMP=70000 FREE_SHM=64 expect 0 "$two" train c.toml --ranks 2
settings 'none none'
checked='train rank alone: --check --ranks-to-start 2 c.toml'
FREE_TMP=1000 FREE_SHM=64 expect 75 "$checked" train c.toml --ranks 2
expect_reported "neither /dev/shm nor $temporary has the 10 MiB that 2 ranks share: free some, or start fewer ranks"
FREE_TMP=31 FREE_SHM=70000 expect 75 "$checked" train c.toml --ranks 2
expect_reported "$temporary has no space for the files of mpirun: free some, or name another place by TMPDIR"
FREE_TMP=31 FREE_SHM=64 expect 0 'train rank alone: c.toml' train c.toml
files=$(ulimit -Sn)
ulimit -Sn 79
expect 75 "$checked" train c.toml --ranks 2
expect_reported '79 files may be open at once, and mpirun needs 80 for 2 ranks: raise the limit by ulimit -n'
ulimit -Sn "$files"
# A stack on which a build would crash.
stack=$(ulimit -Ss)
ulimit -Ss 512
for arguments in 'inspect run.h5' 'test //some:test'; do
  # shellcheck disable=SC2086  # words
  REPRISE_NO_APT=1 LIBTORCH_ROOT=/ expect 75 '' $arguments
  expect_reported 'the limit of the stack is 512 KiB: raise it, as by ulimit -s 8192'
done
ulimit -Ss "$stack"
# One process prints the help.
expect 0 'train rank alone: --check --ranks-to-start 2 --help' train --help --ranks 2
expect 0 'validate rank alone: --ranks 4 c.toml' validate c.toml --ranks 4
expect 0 'validate rank alone: --ranks 1 c.toml' validate c.toml
expect 64 '' inspect run.h5 --ranks 2
expect_reported 'inspect runs on one rank: remove --ranks'
expect 64 '' train c.toml --ranks 0
expect_reported '--ranks 0: expected a number of ranks, 1 to 999999'
expect 64 '' train c.toml --ranks 1000000
expect_reported '--ranks 1000000: expected a number of ranks, 1 to 999999'
expect 64 '' --quiet train c.toml
expect_reported 'options follow the verb: ./reprise VERB ... --quiet'
expect 64 '' train c.toml --ranks
expect_reported '--ranks needs a number'
expect 64 '' train c.toml --ranks --quiet
expect_reported '--ranks needs a number, and --quiet is an option'
expect 64 '' train c.toml --ranks=
expect_reported '--ranks needs a number'
# An empty argument would stand for a default, or take the next option for its value.
for arguments in 'train||--output|o' '' 'setup|' 'bench|' 'gate|--against|' 'test|' 'quickstart|'; do
  mapfile -td '|' words <<<"$arguments|"
  expect 64 '' "${words[@]::${#words[@]}-1}"
  expect_reported 'is empty: perhaps a variable of your shell is not set'
done
expect 64 '' gate --against=
expect_reported '--against needs a commit'
expect 64 '' gate --against --quiet
expect_reported '--against needs a commit, and --quiet is an option'
expect 64 '' $'x\ny\e[2J'
expect_reported "reprise: \$'unknown verb: x\ny\E[2J'"
expect 64 '' trian c.toml
expect_reported 'unknown verb: trian; did you mean train?'
expect 64 '' evalaute run.h5
expect_reported 'unknown verb: evalaute; did you mean evaluate?'
expect 64 '' nonsense
grep -qx 'reprise: unknown verb: nonsense' "$work/err" || { echo 'FAIL: nonsense' && failures=$((failures + 1)); }
expect 0 '' --help

# bench runs the benchmarks that bazel query lists and that match its argument.
expect 0 $'one_benchmark rank alone: --benchmark_filter=.\nother_benchmark rank alone: --benchmark_filter=.' bench
expect 0 'one_benchmark rank alone: --benchmark_filter=one --benchmark_repetitions=2' bench one --benchmark_repetitions=2
expect 64 '' bench neither
expect_reported 'no benchmark matches neither'
# The program of the gates is passed its checkout and its arguments, and what it needs is built.
expect 0 "gate rank alone: --root $work/root some" gate some
grep -q ' //benchmarks/gate:machine //pipelines:train$' "$CALLS.bazel" ||
  { echo "FAIL: gate built:" && cat "$CALLS.bazel" && failures=$((failures + 1)); }
OLD_PYTHON=yes expect 64 '' gate some
expect_reported 'python3, 3.11 or newer, is missing: it judges the gates'
expect 1 "gate rank alone: --root $work/root DIFFERS" gate DIFFERS
expect 64 '' gate --against
expect_reported '--against needs a commit'
expect 64 '' gate --against nonsense
expect_reported '--against nonsense: no such commit'

# The program that prepares data is passed its arguments, and nothing is built.
: >"$CALLS.bazel"
expect 0 'prepare rank alone: data a.jsonl --output b c' prepare data a.jsonl --output 'b c'
expect 0 'prepare rank alone: --help' prepare --help
expect 65 'prepare rank alone: data BAD' prepare data BAD
[[ ! -s $CALLS.bazel ]] || { echo "FAIL: prepare built:" && cat "$CALLS.bazel" && failures=$((failures + 1)); }
OLD_PYTHON=yes expect 64 '' prepare data a.jsonl
expect_reported 'python3, 3.11 or newer, is missing: it prepares data'
expect 64 '' preprae data
expect_reported 'unknown verb: preprae; did you mean prepare?'

# Programs are passed the revision of the sources, if there is one.
expect_revision() {
  grep -qE -- "^revision $1\$" "$work/out" || {
    echo "FAIL: expected revision $1, got:" && cat "$work/out"
    failures=$((failures + 1))
  }
}
expect 0 'inspect rank alone: run.h5' inspect run.h5
expect_revision unknown
if command -v git >/dev/null; then
  git -C "$work/root" init -q
  git -C "$work/root" add reprise
  git -C "$work/root" -c user.name=t -c user.email=t commit -qm 'a commit'
  expect 0 'inspect rank alone: run.h5' inspect run.h5
  expect_revision '[0-9a-f]{40}'
  echo '# changed' >>"$work/root/reprise"
  expect 0 'inspect rank alone: run.h5' inspect run.h5
  expect_revision '[0-9a-f]{40}-dirty'
  # Another commit is built in a checkout of its own, which is removed afterwards, whatever the verdict.
  baseline=$XDG_CACHE_HOME/reprise/baseline-$(cksum <<<"$work/root" | cut -d' ' -f1)
  for end in '0 some' '1 DIFFERS'; do
    : >"$CALLS.bazel"
    expect "${end% *}" "gate rank alone: --root $work/root ${end#* } --against HEAD --baseline $baseline" \
      gate "${end#* }" --against HEAD
    grep -qF "$baseline: build --color=no --curses=no --show_progress_rate_limit=1 --ui_event_filters=-info //pipelines:train" "$CALLS.bazel" ||
      { echo "FAIL: the baseline was not built" && cat "$CALLS.bazel" && failures=$((failures + 1)); }
    [[ ! -e $baseline && $(git -C "$work/root" worktree list | wc -l) == 1 ]] ||
      { echo "FAIL: the baseline was left behind" && failures=$((failures + 1)); }
  done
fi
# A long build prints its progress, on a terminal in one line; a build that fails prints the compiler's output only.
export BUILD_WORDS='Loading: 1\n[3 / 12] Compiling a.cc\n' BUILD_SECONDS=2.5 BUILD_STATUS=0
REPRISE_BUILD_LINE_SECONDS=1 expect 0 'inspect rank alone: run.h5' inspect run.h5
expect_reported 'reprise: building for 1 s: 3 of 12 steps, about 3 s left'
python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$work/root/reprise" inspect run.h5 </dev/null >"$work/err" || true
expect_reported $'\r\033[Kreprise: building for 2 s: 3 of 12 steps, about 6 s left'
BUILD_SECONDS=0 BUILD_STATUS=1 BUILD_WORDS+='a.cc:1: error: broken\n' expect 70 '' inspect run.h5
[[ $(cat "$work/err") == $'a.cc:1: error: broken\nreprise: the build failed' ]] ||
  { echo "FAIL: a broken build said:" && cat "$work/err" && failures=$((failures + 1)); }
BUILD_WORDS= expect 0 'inspect rank alone: run.h5' inspect run.h5
[[ ! -s $work/err ]] || { echo "FAIL: a quick build said:" && cat "$work/err" && failures=$((failures + 1)); }
export BUILD_WORDS=
expect 64 '' 'train reproduce'
expect_reported 'unknown verb: train reproduce'
expect 0 'validate rank alone: --version' --version
expect 0 'validate rank alone: --version' quickstart --version
expect 0 'validate rank alone: --version' gate --version
expect 0 'validate rank alone: --version' prepare --version

# With --help, nothing else is done.
for verb in setup test quickstart bench; do
  expect 0 '' "$verb" --help
  grep -qF "  ./reprise $verb" "$work/out" || { echo "FAIL: $verb --help has no example" && failures=$((failures + 1)); }
done
expect 0 '' quickstart --ranks 2 -h
expect 64 '' setup now
expect_reported 'setup takes no arguments but --fuzz, got: now'

# A step that fails ends the set-up, whichever verb started it, and leaves nothing that looks complete.
expect_not_set_up() {
  expect 74 '' "$1"
  expect_reported "$2"
  local left
  left=$(find "$work/root/.deps" -name 'torch' -o -name '.complete*' -o -name '.unpacking*' 2>/dev/null || true)
  [[ -z $left ]] || { echo "FAIL: $1 left $left" && failures=$((failures + 1)); }
}
whole='torch/lib/libtorch_cpu.so torch/include/torch/all.h torch/version.py torch/bin/protoc'
for verb in setup test quickstart; do
  expect_not_set_up "$verb" 'apt-get failed'
  REPRISE_NO_APT=1 WHEEL=broken expect_not_set_up "$verb" 'the torch wheel did not unpack'
done
export REPRISE_NO_APT=1
expect_not_set_up setup 'pip found no torch'
WHEEL=torch/version.py expect_not_set_up setup 'the torch wheel did not unpack'
WHEEL="$whole torch/lib/libtorch_cuda.so" expect_not_set_up setup 'the CUDA build of torch'
# A package index that does not mark CPU builds (+cpu) works too.
WHEEL=$whole NO_SUCH=+cpu expect 0 '' setup
expect_reported 'unpacking LibTorch'
torch=$(cd "$work/root/.deps/venv/lib/"python3*/site-packages && find . -type f | sort | tr '\n' ' ')
[[ $torch == *'./torch/include/torch/all.h ./torch/lib/libtorch_cpu.so ./torch/version.py '* && $torch != *protoc* ]] || {
  echo "FAIL: setup unpacked $torch" && failures=$((failures + 1))
}
expect 0 '' setup
[[ ! -s $work/err ]] || { echo "FAIL: a second setup said:" && cat "$work/err" && failures=$((failures + 1)); }

# ./reprise translates Bazel's exit codes into its own.
for codes in '0 0' '1 1' '3 1' '2 64' '4 64' '37 70'; do
  BAZEL_STATUS=${codes% *} expect "${codes#* }" '' test //some:test
done

((failures == 0)) && echo "all as expected"
