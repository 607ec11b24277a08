#!/usr/bin/env bash
# Every command that the README shows, through the launcher, in the README's order; and `quickstart --ranks 3` prints
# the README's digests. Building is left out: the programs are those that the test was given.
set -euo pipefail
fail() {
  echo "FAIL: $*" >&2
  exit 1
}

work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/readme.XXXXXX")
mkdir -p "$work/checkout/bazel-bin" "$work/path" "$work/tmp"
# Sandboxes have process numbers of their own, which mpirun names its shared memory after.
export OMPI_MCA_btl_vader_backing_directory=$work/tmp
cp -L reprise README.md "$work/checkout"
cp -rL configs "$work/checkout/configs"
ln -s "$PWD/pipelines" "$work/checkout/bazel-bin/pipelines"
printf '#!/bin/sh\n' >"$work/path/bazel"
chmod +x "$work/path/bazel"
export PATH=$work/path:$PATH TMPDIR=$work/tmp REPRISE_NO_APT=1 LIBTORCH_ROOT=unused
cd "$work/checkout"

digests() { grep -oE '^(weights|run digest) sha256:[0-9a-f]{64}$' "$1"; }

# The first block ends with quickstart; `test` is what runs this.
mapfile -t commands < <(grep -E '^\./reprise ' README.md | grep -vE '^\./reprise (setup|quickstart|test)$')
((${#commands[@]} >= 7)) || fail "README.md shows ${#commands[@]} commands"
for command in "${commands[@]}"; do
  echo "$command"
  bash -c "$command" >"$work/out" 2>"$work/err" || fail "$command: exit $?: $(cat "$work/out" "$work/err")"
done

grep -q '`./reprise quickstart --ranks 3`' README.md || fail "README.md promises nothing of 3 ranks"
./reprise quickstart --ranks 3 >"$work/out" 2>"$work/err" || fail "quickstart --ranks 3: $(cat "$work/out" "$work/err")"
diff <(digests README.md) <(digests "$work/out") || fail "quickstart --ranks 3 printed other digests"
grep -q '^PASS: 452 steps agree bit for bit (replay)$' "$work/out" || fail "no PASS: $(cat "$work/out")"
