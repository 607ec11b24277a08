#!/usr/bin/env bash
# uneven_ranks.sh ARGUMENT...: runs `train` with threads, batches, slots and instruction sets that differ between ranks.
set -euo pipefail
rank=${OMPI_COMM_WORLD_RANK:?}
if ((rank % 2 == 0)); then export REPRISE_ISA=avx2; else unset REPRISE_ISA; fi
exec pipelines/train "$@" --set "execution.threads=$((rank + 1))" \
  --set "execution.micro_batch_tokens=$((rank * 9))" --set "execution.decode_slots=$((rank * 2))"
