#!/usr/bin/env bash
# An episode has the same bits whatever instruction sets LibTorch, MKL, oneDNN and our kernels choose, and with any
# number of their threads. Each setting is a process of its own: the libraries read them once.
set -euo pipefail
program=$1
expected=$("$program")
[[ $(wc -l <<<"$expected") == 9 ]] || { echo "not the digests of nine episodes: $expected"; exit 1; }
failed=0
try() { # NAME=VALUE...
  if [[ $(env "$@" "$program" ${THREADS:-}) == "$expected" ]]; then echo "same bits: $*"; else
    echo "OTHER BITS: $*"
    failed=1
  fi
}
try ATEN_CPU_CAPABILITY=default
try ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_CBWR=AVX2 REPRISE_ISA=avx2
try ONEDNN_MAX_CPU_ISA=SSE41 MKL_CBWR=COMPATIBLE
THREADS=3 try OMP_NUM_THREADS=3 MKL_NUM_THREADS=2
exit $failed
