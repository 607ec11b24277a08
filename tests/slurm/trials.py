"""Repeats the faults of tests/slurm and prints a Markdown table: how often a job survived each, and in what time.

Example, in the checkout, as root, after bazel build //pipelines:train (20 trials of each take about two hours):
  python3 tests/slurm/trials.py --count 20
"""

import argparse
import statistics
import sys
import tempfile

from faults import FAULTS, Trials
from slurm_cluster import Failure, why_not


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="trials of each fault (default 20)")
    parser.add_argument("--only", action="append", choices=FAULTS, help="this fault, not all (repeatable)")
    arguments = parser.parse_args()
    if reason := why_not():
        sys.exit(f"trials: {reason}")
    trials = Trials(tempfile.mkdtemp(prefix="slurm_trials."))
    failed_at_all = False
    print("| fault | trials | same bytes | executions | most steps redone | seconds, median (most) |")
    print("|---|---|---|---|---|---|", flush=True)
    for name in arguments.only or FAULTS:
        done, failed = [], 0
        for _ in range(arguments.count):
            try:
                done.append(trials.run(name))
            except Failure as failure:
                failed += 1
                print(failure, file=sys.stderr)
        seconds = [trial.seconds for trial in done] or [float("nan")]
        redone = max((trial.steps_redone for trial in done), default=0)
        print(
            f"| {name} | {arguments.count} | {len(done)} | {FAULTS[name].executions} | {redone} "
            f"| {statistics.median(seconds):.1f} ({max(seconds):.1f}) |",
            flush=True,
        )
        failed_at_all = failed_at_all or failed > 0
    trials.close()
    sys.exit(1 if failed_at_all else 0)


if __name__ == "__main__":
    main()
