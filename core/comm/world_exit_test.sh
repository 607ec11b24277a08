#!/usr/bin/env bash
# Checks that mpirun returns a failed rank's exit code, whether all ranks agree on the failure or only one exits.
set -euo pipefail
launch=$1 program=$2

expect() { # CODE HOW
  local code=0
  "$launch" 3 "$program" "$2" || code=$?
  if [[ $code != "$1" ]]; then echo "$2: exit code $code, expected $1" && exit 1; fi
}
expect 0 success
expect 74 together
expect 74 alone
