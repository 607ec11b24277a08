#!/usr/bin/env bash
# Two algorithms, of which one trains a value function, reach a mean reward of 0.9 on the task of benchmarks/learning;
# learn.py there does the same for every algorithm and seed.
#   learning_test.sh LEARN TRAIN
set -euo pipefail
table=$(python3 -B "$1" --train "$2" --rows rloo ppo)
echo "$table"
(($(grep -c ' steps, ' <<<"$table") == 2))
