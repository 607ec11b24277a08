"""Measures what a job of two nodes takes beside its training, and prints a Markdown table of medians in seconds.

A short run is trained by ./reprise train --slurm on 2 nodes with 2 ranks each, and by mpirun on 4 ranks of the same
machine. The launch overhead is the difference of their times, from the submission's return to the end that Slurm reports.

Example, in the checkout, as root, after bazel build //pipelines:train:
  python3 tests/slurm/launch.py --count 10
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from slurm_cluster import CONFIG, PROGRAMS, Cluster, TrainJob, wait_for, why_not

STEPS = ("--set", "run.steps=10")
PARTS = (
    "from the command to the job's number",
    "until the batch script starts the ranks",
    "until the ranks have started and trained",
    "until the end",
    "in all, from the job's number",
)


def parts_of(submitted, numbered, started, directory, ended):
    """The durations of PARTS."""
    trained = (directory / "run.h5").stat().st_mtime
    return numbered - submitted, started - numbered, trained - started, ended - trained, ended - numbered


def measure_job(cluster, work):
    submitted = time.time()
    job = TrainJob(cluster, work, STEPS)
    numbered = time.time()
    state = job.wait_for_end()
    ended = time.time()
    if state != "COMPLETED":
        sys.exit(f"launch: the job ended as {state}: {job.log()}")
    started = next(job.output.glob("slurm/executions.*")).stat().st_mtime
    wait_for("idle nodes", lambda: not cluster.processes())
    cluster.wait_until_idle()
    return parts_of(submitted, numbered, started, job.output, ended)


def measure_mpirun(work, environment):
    directory = work / "mpirun"
    launcher = ("mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "4")
    begin = time.time()
    command = [*launcher, PROGRAMS / "train", CONFIG, "--output", directory, "--quiet", *STEPS]
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return parts_of(begin, begin, begin, directory, time.time())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10, help="jobs (default 10)")
    arguments = parser.parse_args()
    if reason := why_not():
        sys.exit(f"launch: {reason}")
    cluster = Cluster(nodes=2)
    jobs, alone = [], []
    try:
        for _ in range(arguments.count):
            with tempfile.TemporaryDirectory(prefix="slurm_launch.") as work:
                jobs.append(measure_job(cluster, Path(work)))
                alone.append(measure_mpirun(Path(work), {**cluster.environment, "OMP_NUM_THREADS": "1"}))
    finally:
        cluster.close()
    print("| | job of 2 nodes | mpirun |\n|---|---|---|")
    for i, part in enumerate(PARTS):
        print(f"| {part} | {statistics.median(t[i] for t in jobs):.2f} | {statistics.median(t[i] for t in alone):.2f} |")
    overhead = [job[-1] - run[-1] for job, run in zip(jobs, alone)]
    print(f"launch overhead of {len(jobs)} jobs: median {statistics.median(overhead):.2f} s, most {max(overhead):.2f} s")


if __name__ == "__main__":
    main()
