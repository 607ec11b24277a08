#!/usr/bin/env bash
# Runs every command that the README and the guides show with the launcher, in their order, and checks that
# `quickstart --ranks 3` prints the README's digests. Nothing is built: the programs are inputs of the test.
set -euo pipefail
fail() {
  echo "FAIL: $*" >&2
  exit 1
}

work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/readme.XXXXXX")
mkdir -p "$work/checkout/bazel-bin" "$work/path" "$work/tmp"
# mpirun names its shared memory after process ids, which can be the same in several sandboxes.
export OMPI_MCA_btl_vader_backing_directory=$work/tmp
cp -L reprise README.md docs/guides/*.md "$work/checkout"
configs=$PWD/configs
cp -rL configs python slurm "$work/checkout/"
chmod u+w "$work/checkout/configs/quickstart.toml"
mkdir "$work/checkout/docs"
cp -rL docs/examples "$work/checkout/docs/"
ln -s "$PWD/pipelines" "$work/checkout/bazel-bin/pipelines"
printf '#!/bin/sh\n' >"$work/path/bazel"
chmod +x "$work/path/bazel"
export PATH=$work/path:$PATH TMPDIR=$work/tmp REPRISE_NO_APT=1 LIBTORCH_ROOT=unused
cd "$work/checkout"

digests() { grep -oE '^(weights|run digest) sha256:[0-9a-f]{64}$' "$1"; }

# Leaves out setup and quickstart, the README's first block, and test, bench and gate, which build.
mapfile -t commands < <(grep -hE '^\./reprise ' README.md add_*.md train_your_own.md own_data.md |
  grep -vE '^\./reprise (setup|quickstart|test|bench|gate)\>')
((${#commands[@]} >= 11)) || fail "README.md and the guides show ${#commands[@]} commands"
# A step has few samples: what the commands do does not depend on their number.
sed -i 's/^prompts_per_step = .*/prompts_per_step = 4/' configs/quickstart.toml
for command in "${commands[@]}"; do
  echo "$command"
  bash -c "$command" >"$work/out" 2>"$work/err" || fail "$command: exit $?: $(cat "$work/out" "$work/err")"
done

cp -L "$configs/quickstart.toml" configs/quickstart.toml
grep -q '`./reprise quickstart --ranks 3`' README.md || fail "README.md does not mention quickstart --ranks 3"
./reprise quickstart --ranks 3 >"$work/out" 2>"$work/err" || fail "quickstart --ranks 3: $(cat "$work/out" "$work/err")"
diff <(digests README.md) <(digests "$work/out") || fail "quickstart --ranks 3 printed other digests"
grep -q '^PASS: 452 steps agree bit for bit (replay)$' "$work/out" || fail "no PASS: $(cat "$work/out")"
