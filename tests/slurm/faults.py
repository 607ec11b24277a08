"""What can happen to a job on a cluster, and what it must survive."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import time
from typing import Callable

from slurm_cluster import CONFIG, PROGRAMS, Cluster, Failure, TrainJob, wait_for

EARLY = 8  # the step after which harm is done
SLOW_REWARD = (
    "--set", "algorithm.reward=process", "--set", "process.command=exec python3 tests/slurm/slow_reward.py",
)  # fmt: skip


def files_of(directory):
    """The results of a run: {name: contents}; metrics.jsonl without times."""
    metrics = []
    for line in (directory / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        metrics.append({key: value for key, value in json.loads(line).items() if key not in ("step_time", "seconds")})
    return {
        "run.h5": (directory / "run.h5").read_bytes(),
        "model.safetensors": (directory / "model/model.safetensors").read_bytes(),
        "metrics.jsonl": metrics,
    }


def train_on_one_rank(directory, arguments=()):
    """The run that a single process trains without any harm."""
    command = [PROGRAMS / "train", CONFIG, "--output", directory, "--quiet", *arguments]
    subprocess.run(command, check=True, capture_output=True)
    return files_of(directory)


# Each of these functions submits a job, does it harm, and returns it while it trains or after its end.


def started_job(cluster, work, step=EARLY, **options):
    job = TrainJob(cluster, work, **options)
    job.wait_for_step(step)
    return job


def nothing(cluster, work):
    return TrainJob(cluster, work)


def preemption(cluster, work):
    job = started_job(cluster, work)
    cluster.run("srun", "-p", "high", "-N", str(cluster.nodes), "sleep", "0.5")
    return job


def requeue(cluster, work):
    job = started_job(cluster, work)
    cluster.run("scontrol", "requeue", job.number)
    return job


def node_down(cluster, work):
    job = started_job(cluster, work)
    cluster.run("scontrol", "update", "nodename=rn2", "state=down", "reason=test")
    return job


def wake_when_replaced(cluster, job, old, before):
    """Wakes the stopped ranks `old`, which had committed step `before`, when the next execution has committed one."""
    job.wait_for_execution(1)
    wait_for("a step of the next execution", lambda: job.last_step() > before)
    if not set(old) <= set(cluster.processes()):
        raise Failure("the old ranks did not live as long as the next execution")
    for pid in old:
        os.kill(pid, signal.SIGCONT)


def stop_ranks(cluster, numbers):
    """Stops ranks as a slow machine would, and returns their process ids."""
    pids = [cluster.rank(number) for number in numbers]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    return pids


def slurmd_killed(cluster, work):
    """Slurm gives a node up on which ranks 2 and 3 live on."""
    job = started_job(cluster, work)
    old, before = stop_ranks(cluster, [2, 3]), job.last_step()
    cluster("kill-slurmd", "2")
    wake_when_replaced(cluster, job, old, before)
    job.wait_for_end()
    cluster("start-node", "2")
    return job


def node_killed(cluster, work):
    job = started_job(cluster, work)
    cluster("kill-node", "2")
    job.wait_for_execution(1)
    cluster("start-node", "2")
    return job


def partition(cluster, work):
    """All ranks, the one that writes included, are on a node that is cut off; they go on when others replace them."""
    job = started_job(cluster, work, nodes=1)
    node = job.fields()["BatchHost"].removeprefix("rn")
    # On a busy machine the next execution may have ended when the next command returns.
    old, before = stop_ranks(cluster, [0, 1]), job.last_step()
    cluster("partition", node)
    wake_when_replaced(cluster, job, old, before)
    wait_for("the end of the old ranks", lambda: not set(old) & set(cluster.processes()))
    # When it reaches the controller again, the old srun would end the step with the same number.
    wait_for("the end of the old srun", lambda: len(cluster.processes("srun")) <= 1)
    cluster("heal", node)
    return job


def rank_killed(cluster, work):
    job = started_job(cluster, work)
    os.kill(cluster.rank(3), signal.SIGKILL)
    return job


def first_rank_killed(cluster, work):
    job = started_job(cluster, work)
    os.kill(cluster.rank(0), signal.SIGKILL)
    return job


def rank_stopped(cluster, work):
    """The watchdog knows how long a step takes after 20 of them."""
    job = started_job(cluster, work, step=22)
    stop_ranks(cluster, [3])
    return job


def time_limit(cluster, work):
    """Slurm looks at time limits every 30 s, and sends the signal before the end of a minute's limit when it does."""
    cluster.environment["REPRISE_TEST_SECONDS"] = "0.22"  # of each of the 4 rewards that a rank needs for a step
    try:
        return TrainJob(cluster, work, site=("TIME=1", "STOP_SECONDS=58"), arguments=SLOW_REWARD)
    finally:
        del cluster.environment["REPRISE_TEST_SECONDS"]


@dataclasses.dataclass
class Fault:
    happens: Callable
    executions: int = 2  # at least
    arguments: tuple = ()  # of train


FAULTS = {
    "nothing": Fault(nothing, executions=1),
    "preemption": Fault(preemption),
    "scontrol requeue": Fault(requeue),
    "node set down": Fault(node_down),
    "slurmd killed": Fault(slurmd_killed),
    "node killed": Fault(node_killed),
    "partition": Fault(partition),
    "rank killed": Fault(rank_killed),
    "rank 0 killed": Fault(first_rank_killed),
    "rank stopped": Fault(rank_stopped),
    "time limit": Fault(time_limit, executions=3, arguments=SLOW_REWARD),
}


@dataclasses.dataclass
class Trial:
    seconds: float
    steps_redone: int


class Trials:
    """Trials on one cluster, which is replaced after one that failed."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.cluster = None
        self.runs_on_one_rank = {}
        self.count = 0

    def expected(self, arguments):
        """The files of a run on one rank."""
        if arguments not in self.runs_on_one_rank:
            directory = self.directory / f"one_rank.{len(self.runs_on_one_rank)}"
            self.runs_on_one_rank[arguments] = train_on_one_rank(directory, arguments)
        return self.runs_on_one_rank[arguments]

    def new_directory(self):
        self.count += 1
        directory = self.directory / f"trial.{self.count}"
        directory.mkdir()
        return directory

    def running_cluster(self):
        self.cluster = self.cluster or Cluster()
        return self.cluster

    def run(self, name):
        """Failure unless the job ends in the bytes of an undisturbed run, with at most one step redone."""
        fault = FAULTS[name]
        expected = self.expected(fault.arguments)
        work = self.new_directory()
        cluster = self.running_cluster()
        start = time.monotonic()
        try:
            job = fault.happens(cluster, work)
            check_end(job, fault, expected)
            seconds = time.monotonic() - start
            cluster.wait_until_idle()
        except Exception as error:
            log = "".join(path.read_text(errors="replace") for path in work.glob("run/slurm/*.log"))
            status = cluster("status")
            self.close()
            raise Failure(f"{name}: {error}\nThe job's log:\n{log}\nThe cluster:\n{status}") from error
        return Trial(seconds, job.steps_redone())

    def close(self):
        if self.cluster:
            self.cluster.close()
        self.cluster = None


def check_end(job, fault, expected):
    state = job.wait_for_end()
    if state != "COMPLETED":
        raise Failure(f"the job ended as {state}")
    for name, contents in files_of(job.output).items():
        if contents != expected[name]:
            raise Failure(f"{name} differs from that of one rank")
    executions = len(job.executions())
    if executions < fault.executions:
        raise Failure(f"{executions} executions of the job, expected {fault.executions}")
    if job.steps_redone() > 1:
        raise Failure(f"{job.steps_redone()} steps were done twice")
