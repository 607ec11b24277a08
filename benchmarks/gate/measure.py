"""Measures both sides of a gate: executes its commands and finds the numbers in their output.

A command of gates.toml is words separated by spaces, without quotes and without a shell. {scratch} is a new directory
for each execution, {prepared} one that a gate keeps while it is judged.
"""

import dataclasses
import json
import math
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable

from failure import DATA, INTERNAL, USAGE, Failure, file_failure, within
from gates_file import BASELINE, SAME_RUN, Gate
from judge import Samples

_MOST_OUTPUT = 64 << 20  # bytes
_SECONDS_OF_A_COMMAND = 60.0


@dataclasses.dataclass(frozen=True)
class Execution:
    out: bytes  # its standard output
    seconds: float = 1  # from its start to its end


Runner = Callable[[str, bool], Execution]  # (command, whether in the checkout of the baseline)


def command_words(command: str, scratch: str, prepared: str) -> list[str]:
    return [word.replace("{scratch}", scratch).replace("{prepared}", prepared) for word in command.split(" ") if word]


def _wait(child: subprocess.Popen[bytes], limit_seconds: float) -> None:
    """Waits for the end of the child. At the limit, or when this process is interrupted, kills it with its children. (A
    timeout of subprocess would poll, and notice the end up to 50 ms too late.)"""
    timer = threading.Timer(limit_seconds, os.killpg, (child.pid, signal.SIGKILL))
    try:
        timer.start()
        child.wait()
    except BaseException:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        raise
    finally:
        timer.cancel()


def execute(words: list[str], directory: str, limit_seconds: float = _SECONDS_OF_A_COMMAND) -> Execution:
    """Runs a program in `directory`, to which its own path is relative too. Fails if it cannot be started, and with
    INTERNAL if its exit code is not 0 (with the last line of its stderr), or if it takes more than `limit_seconds`."""
    if not words:
        raise Failure(USAGE, "the command is empty")
    command = " ".join(words)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        try:
            child = subprocess.Popen(words, executable=os.path.join(".", words[0]), cwd=directory, process_group=0,
                                     stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        except OSError as error:
            raise file_failure(error, "run", os.path.join(directory, words[0])) from error
        _wait(child, limit_seconds)
        seconds = time.monotonic() - start
        out.seek(0)
        err.seek(0)
        printed, complaints = out.read(_MOST_OUTPUT + 1), err.read(_MOST_OUTPUT)
    if seconds > limit_seconds:
        raise Failure(INTERNAL, f"took more than {limit_seconds:g} s: {command}")
    if len(printed) > _MOST_OUTPUT:
        raise Failure(DATA, f"printed more than {_MOST_OUTPUT} bytes: {command}")
    if code := child.returncode:
        lines = [line for line in complaints.decode(errors="backslashreplace").splitlines() if line.strip()]
        end = f"exit code {code}" if code > 0 else f"signal {-code}"
        last = lines[-1] if lines else "it printed no error message"
        raise Failure(INTERNAL, f"ended with {end}: {command}: {last}")
    return Execution(printed, seconds)


def _json(text: bytes) -> object:
    """Returns the value with all numbers as floats, which may be infinite; None for what is not JSON."""
    try:
        return json.loads(text, parse_int=float)
    except (ValueError, RecursionError):
        return None


def measured_value(execution: Execution, name: str) -> float:
    """Returns the number of that name: "seconds" is the wall time of the execution; every other name is a member of the
    only benchmark in Google Benchmark's JSON (--benchmark_format=json), or of the JSON object on its last line. Fails
    with USAGE if it is missing or not a positive number, or if there are several benchmarks or none."""
    if name == "seconds":
        return execution.seconds
    found = _json(execution.out) or _json(execution.out.rstrip().rpartition(b"\n")[2])
    if found is None:
        raise Failure(USAGE, "the last line of its output is not JSON")
    if isinstance(found, dict) and isinstance(benchmarks := found.get("benchmarks"), list):
        if len(benchmarks) != 1:
            raise Failure(USAGE, f"it ran {len(benchmarks)} benchmarks, but a gate needs one")
        found = benchmarks[0]
    value = found.get(name) if isinstance(found, dict) else None
    if value is None:
        raise Failure(USAGE, f'its output has no "{name}"')
    if not isinstance(value, float) or not 0 < value < math.inf:
        raise Failure(USAGE, f'"{name}" of its output is not a positive number')
    return value


def _measure_pair(gate: Gate, run: Runner, swapped: bool) -> tuple[float, float]:
    if gate.denominator == SAME_RUN:
        execution = run(gate.numerator, False)
        return measured_value(execution, gate.numerator_value), measured_value(execution, gate.value_below)
    is_baseline = gate.denominator == BASELINE

    numbers = {}
    for is_above in (False, True) if swapped else (True, False):
        command = gate.numerator if is_above or is_baseline else gate.denominator
        execution = run(command, is_baseline and not is_above)
        numbers[is_above] = measured_value(execution, gate.numerator_value if is_above else gate.value_below)
    return numbers[True], numbers[False]


def measure(gate: Gate, run: Runner) -> Samples:
    """Executes both sides of a gate alternately, gate.repetitions times each, after one pair that does not count. Every
    second pair is in the opposite order, so that a drifting clock or a warm cache favours neither side."""
    with within(gate.name):
        _measure_pair(gate, run, swapped=False)
        pairs = [_measure_pair(gate, run, swapped=i % 2 == 1) for i in range(gate.repetitions)]
    return Samples([above for above, _ in pairs], [below for _, below in pairs])
