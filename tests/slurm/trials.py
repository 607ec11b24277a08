"""Repeats the faults of tests/slurm and prints a Markdown table: how often a job survived each, and in what time.

Each trial is a line of a file as soon as it has ended. So the command may be stopped at any time, and the same command
goes on until there are --count trials of each fault. Trials of another build of the program do not count.

Example, in the checkout, as root, after bazel build //pipelines:train (20 trials of each take about two hours):
  python3 tests/slurm/trials.py --count 20 --minutes 30
"""

import argparse
import contextlib
import hashlib
import json
import pathlib
import statistics
import sys
import tempfile
import time

from faults import FAULTS, Trials
from slurm_cluster import PROGRAMS, Failure, why_not

RESULTS = pathlib.Path(tempfile.gettempdir()) / "reprise_slurm_trials.jsonl"


class Results:
    """The trials of one build of the program, in a file of JSON lines."""

    def __init__(self, path):
        self.path = path
        self.program = hashlib.sha256((PROGRAMS / "train").read_bytes()).hexdigest()[:16]

    def add(self, fault, **values):
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"program": self.program, "fault": fault, **values}) + "\n")

    def of(self, fault):
        """The trials of a fault. A line that was not written to its end is skipped."""
        trials = []
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    trial = json.loads(line)
                except json.JSONDecodeError:
                    continue
                if trial["program"] == self.program and trial["fault"] == fault:
                    trials.append(trial)
        return trials


def run_missing(results, names, count, end):
    """Runs trials until there are `count` of each fault, or until the time `end`."""
    with tempfile.TemporaryDirectory(prefix="slurm_trials.") as work, contextlib.closing(Trials(work)) as trials:
        for name in names:
            for _ in range(count - len(results.of(name))):
                if time.monotonic() > end:
                    return
                try:
                    done = trials.run(name)
                    results.add(name, seconds=done.seconds, steps_redone=done.steps_redone)
                except Failure as failure:
                    results.add(name, failure=str(failure))
                    print(failure, file=sys.stderr)


def table(results, names):
    """The lines of the table."""
    yield "| fault | trials | same bytes | executions | most steps redone | seconds, median (most) |"
    yield "|---|---|---|---|---|---|"
    for name in names:
        every = results.of(name)
        done = [trial for trial in every if "failure" not in trial]
        seconds = [trial["seconds"] for trial in done] or [float("nan")]
        redone = max((trial["steps_redone"] for trial in done), default=0)
        yield (
            f"| {name} | {len(every)} | {len(done)} | {FAULTS[name].executions} | {redone} "
            f"| {statistics.median(seconds):.1f} ({max(seconds):.1f}) |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="trials of each fault (default 20)")
    parser.add_argument("--only", action="append", choices=FAULTS, help="this fault, not all (repeatable)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begins no trial after so many minutes")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, help=f"the file of trials (default {RESULTS})")
    arguments = parser.parse_args()
    if reason := why_not():
        sys.exit(f"trials: {reason}")
    names = arguments.only or list(FAULTS)
    results = Results(arguments.results)
    run_missing(results, names, arguments.count, time.monotonic() + 60 * arguments.minutes)
    print("\n".join(table(results, names)))
    every = [trial for name in names for trial in results.of(name)]
    missing = sum(max(0, arguments.count - len(results.of(name))) for name in names)
    if missing:
        print(f"trials: {missing} are missing; the same command goes on", file=sys.stderr)
    sys.exit(1 if missing or any("failure" in trial for trial in every) else 0)


if __name__ == "__main__":
    main()
