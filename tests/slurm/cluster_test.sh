#!/usr/bin/env bash
# The cluster of the other tests: it starts, runs steps on several nodes, and leaves nothing behind, however it ends.
#   cluster_test.sh CLUSTER
set -euo pipefail
cluster_script=$(readlink -f "$1")
failures=0
fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}
reason=$("$cluster_script" check 2>&1) || {
  echo "skipped: $reason"
  [[ -z ${REPRISE_NO_SKIPPED_TESTS:-} ]] || exit 1
  exit 0
}
# leftovers DIRECTORY: the processes that belong to its cluster.
leftovers() { { grep -lzxF "CLUSTER_DAEMON_OF=$1" /proc/[0-9]*/environ || true; } 2>/dev/null | wc -l; }
expect_nothing_left() { # DIRECTORY WHAT
  local tries=100
  while [[ -e $1 || $(leftovers "$1") != 0 ]] && ((tries-- > 0)); do sleep 0.1; done
  ((tries > 0)) || fail "$2 left $(leftovers "$1") processes, $(ls -d "$1" 2>/dev/null || echo no directory)"
}
interfaces() { ip -o link | cut -d: -f2 | sort; }
before=$(interfaces)
export CLUSTER_OWNER=$$

# Two nodes are up; a second `up` finds them; a process runs on each.
CLUSTER_DIR=$(mktemp -d /tmp/slurm.XXXXXX)
export CLUSTER_DIR
"$cluster_script" up 2 >/dev/null 2>&1 || fail "up"
again=$("$cluster_script" up 2 2>"$CLUSTER_DIR/again") || fail "a second up"
[[ $again == *SLURM_CONF=* ]] || fail "a second up printed '$again'"
[[ ! -s $CLUSTER_DIR/again ]] || fail "a second up started another cluster"
[[ $("$cluster_script" run srun -N2 hostname | sort | tr '\n' ' ') == 'rn1 rn2 ' ]] || fail "srun -N2 hostname"
# A node that dies comes back, and so does the controller.
"$cluster_script" kill-node 2
"$cluster_script" start-node 2
"$cluster_script" restart-controller
"$cluster_script" run srun -w rn2 true || fail "node 2 did not come back"
[[ $("$cluster_script" kill-node 3 2>&1) == 'cluster: node 3: expected 1 to 2' ]] || fail "kill-node 3"
"$cluster_script" down
"$cluster_script" down || fail "a second down"
expect_nothing_left "$CLUSTER_DIR" "down"

# `up` is killed while it starts.
for delay in 0.05 0.15 0.3; do
  CLUSTER_DIR=$(mktemp -d /tmp/slurm.XXXXXX)
  "$cluster_script" up 2 >/dev/null 2>&1 &
  started=$!
  sleep "$delay"
  kill -KILL "$started" 2>/dev/null || true
  wait "$started" 2>/dev/null || true
  [[ -e $CLUSTER_DIR/.nodes ]] || rm -rf "$CLUSTER_DIR"
  "$cluster_script" down
  expect_nothing_left "$CLUSTER_DIR" "up, killed after $delay s,"
done

# The owner ends without `down`.
CLUSTER_DIR=$(mktemp -d /tmp/slurm.XXXXXX)
bash -c 'CLUSTER_OWNER=$$ "$0" up 1 >/dev/null 2>&1' "$cluster_script" || true
expect_nothing_left "$CLUSTER_DIR" "an owner that ended"

# The number of an ended namespace belongs to a process of somebody else.
CLUSTER_DIR=$(mktemp -d /tmp/slurm.XXXXXX)
"$cluster_script" up 1 >/dev/null 2>&1 || fail "up 1"
unshare --net sleep 60 &
other=$!
until [[ $(readlink "/proc/$other/ns/net") != "$(readlink /proc/self/ns/net)" ]]; do sleep 0.02; done
readlink "/proc/$other/ns/net" >"$CLUSTER_DIR/run/namespace.box9"
"$cluster_script" down
expect_nothing_left "$CLUSTER_DIR" "down beside another namespace"
kill "$other" 2>/dev/null || fail "down killed a process of another namespace with the number of an ended one"

[[ $(interfaces) == "$before" ]] || fail "the machine's network interfaces changed"
((failures == 0)) && echo "all as expected"
