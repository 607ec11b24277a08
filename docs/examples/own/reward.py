#!/usr/bin/env python3
"""A reward for Reprise as an external process (docs/guides/train_your_own.md): the share of letters at their places."""

import json
import sys


def reward_of(completion, answer):
    """Returns 1 for exactly the answer, less for each letter that is missing, wrong or too many."""
    letters = max(len(completion), len(answer))
    return sum(a == b for a, b in zip(completion, answer)) / letters


def main():
    for line in sys.stdin:  # one request per line; the program ends when its input ends
        request = json.loads(line)
        reward = reward_of(request["completion"], request["task"]["answer"])
        print(json.dumps({"id": request["id"], "reward": reward}), flush=True)


if __name__ == "__main__":
    main()
