"""Measures how much other processes use the machine during a measurement, from /proc/stat and /proc/loadavg.

The load averages of /proc/loadavg are not used, because they still include for minutes a build that has ended, such as
the one before the gates. Where /proc/stat does not move (some containers), the count of runnable tasks in /proc/loadavg
is used instead.
"""

import dataclasses
import os
import resource
import time

from failure import DATA, RETRY, Failure, read_file

_MOST_BYTES = 16 << 20  # a line for each processor and each interrupt
_WINDOW_SECONDS = 0.3  # 30 ticks of each processor


@dataclasses.dataclass(frozen=True)
class CpuTimes:
    """Clock ticks since the machine started, over all its processors."""

    busy: float  # user, nice, system, interrupts, and time stolen by a hypervisor
    total: float  # busy, idle, and waiting for disks
    processors: int


def parse_stat(text: str) -> CpuTimes:
    lines = [line.split() for line in text.splitlines() if line.startswith("cpu")]
    try:
        # user nice system idle iowait irq softirq steal; guests are part of user and nice (proc(5)).
        (ticks,) = [[float(word) for word in words[1:9]] for words in lines if words[0] == "cpu"]
        if len(ticks) < 4 or len(lines) == 1:
            raise ValueError
    except ValueError as error:
        raise Failure(DATA, "/proc/stat has no line of processor times") from error
    return CpuTimes(busy=sum(ticks) - sum(ticks[3:5]), total=sum(ticks), processors=len(lines) - 1)


def parse_runnable(text: str) -> int:
    """Returns the number of runnable tasks, including the reader: the fourth word is RUNNABLE/ALL."""
    try:
        return int(text.split()[3].split("/")[0])
    except (IndexError, ValueError) as error:
        raise Failure(DATA, "/proc/loadavg does not count the runnable tasks") from error


def cores_of_others(before: CpuTimes, after: CpuTimes, own_seconds: float, ticks_per_second: float) -> float | None:
    """Returns how many processors other processes kept busy between two readings; None if no ticks passed."""
    ticks = (after.total - before.total) / after.processors  # the elapsed time of each processor
    return max(0.0, (after.busy - before.busy - own_seconds * ticks_per_second) / ticks) if ticks > 0 else None


def most_cores_of_others(processors: int) -> float:
    """Returns the limit above which the machine is loaded."""
    return max(0.25, 0.1 * processors)


class LoadWatch:
    """Watches from its construction on. `proc` is "/proc" or a folder with the same files."""

    def __init__(self, proc: str) -> None:
        self._proc = proc
        self._own_seconds = self._seconds()
        self._before = parse_stat(self._read("stat"))
        self.processors = self._before.processors

    def cores_of_others(self) -> float:
        """Returns the number of processors that were kept busy by others than this process and its ended children."""
        after, own_seconds = parse_stat(self._read("stat")), self._seconds() - self._own_seconds
        cores = cores_of_others(self._before, after, own_seconds, os.sysconf("SC_CLK_TCK"))
        return max(0, parse_runnable(self._read("loadavg")) - 1) if cores is None else cores

    def _read(self, name: str) -> str:
        return read_file(f"{self._proc}/{name}", _MOST_BYTES).decode(errors="replace")

    @staticmethod
    def _seconds() -> float:
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def wait_for_quiet(proc: str, patience_seconds: float) -> None:
    """Waits until other processes leave the machine idle for a moment; fails with RETRY if they do not in time."""
    waited = 0.0
    while True:
        watch = LoadWatch(proc)
        time.sleep(_WINDOW_SECONDS)
        waited += _WINDOW_SECONDS
        cores = watch.cores_of_others()
        if cores <= most_cores_of_others(watch.processors):
            return
        if waited >= patience_seconds:
            raise Failure(RETRY, f"other processes keep {cores:.1f} of {watch.processors} processors busy, which makes "
                          "measurements meaningless: repeat this on an idle machine, or wait longer with "
                          "--patience SECONDS")
