"""Measures the ratios of benchmarks/gates.toml on this machine and judges them: both sides in turn, with a rank test
for noise. A gate fails (exit 1) when two measurements of it are significantly beyond its bound; nothing is judged while
other processes use the machine (exit 75)."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, NoReturn

from failure import IO, RETRY, USAGE, Failure, file_failure, printable, read_file, within
from gates_file import BASELINE, Gate, advice, bounds_for, choose_gates, labels_of, read_gates
from judge import Decision, Samples, decide
from load_watch import LoadWatch, most_cores_of_others, wait_for_quiet
from measure import Execution, command_words, execute, measure
from report import Decided, decision_json, decision_line, exit_code, verdict_json, verdict_line

_INTERRUPTED = 130
_MOST_BYTES_OF_FILE = 1 << 20
_LIMITS_OF_LIBTORCH = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
_EPILOG = """Example:
  ./reprise gate --against HEAD~1

Exit codes: 0 done, 1 a gate failed, 64 configuration or usage, 65 damaged data, 70 internal, 74 input/output, 75 try
again."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Failure(USAGE, f"{message.removeprefix('argument ')} (./reprise gate --help explains)")


class _Once(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if values == "":
            parser.error(f"{option_string} has an empty value: perhaps a variable of your shell is not set")
        if getattr(namespace, self.dest) is not self.default:
            parser.error(f"{option_string} is given more than once")
        setattr(namespace, self.dest, values)


def _seconds(text: str) -> float:
    try:
        if float(text) >= 0:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text}: expected a number, 0 or more")


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _Parser("./reprise gate", description=__doc__, epilog=_EPILOG, allow_abbrev=False,
                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add, hidden = parser.add_argument, argparse.SUPPRESS
    add("names", nargs="*", metavar="NAME", help="the gates to judge; all if none is named")
    add("--against", metavar="COMMIT", action=_Once, default="",
        help="build this commit too and judge the gates whose denominator is the baseline")
    add("--file", action=_Once, default="benchmarks/gates.toml", help="the file of the gates (default: %(default)s)")
    add("--patience", metavar="SECONDS", action=_Once, type=_seconds, default=10.0,
        help="seconds to wait for an idle machine (default: %(default)g)")
    add("--json", action="store_true", help="print only JSON objects on stdout, one per line")
    add("--quiet", action="store_true", help="no progress")
    add("--root", action=_Once, default=".", help=hidden)  # the checkout, with its bazel-bin
    add("--baseline", action=_Once, default="", help=hidden)  # the checkout of --against
    add("--proc", action=_Once, default="/proc", help=hidden)  # for tests: the directory of stat and loadavg
    add("--programs", action="store_true", help=hidden)  # print the labels of the programs to build
    flags, unknown = parser.parse_known_intermixed_args(arguments)
    if unknown:
        option = unknown[0].partition("=")[0]
        known = ("--against", "--file", "--patience", "--json", "--quiet", "--help")
        parser.error(f"unknown option {option}{advice(option, known)}")
    if bool(flags.against) != bool(flags.baseline):
        raise Failure(USAGE, "--against and --baseline need each other: use ./reprise gate --against COMMIT")
    return flags


def _read_machine(root: str) -> tuple[str, int]:
    """Returns the instruction set of the kernels, and the number of processors that a program may use."""
    program = os.path.join(root, "bazel-bin/benchmarks/gate/machine")
    try:
        result = subprocess.run([program], capture_output=True, text=True)
    except OSError as error:
        raise file_failure(error, "run", program) from error
    if result.returncode:
        raise Failure(result.returncode, result.stderr.strip())
    machine = json.loads(result.stdout)
    return machine["instruction_set"], machine["processors"]


def _choose(flags: argparse.Namespace) -> list[Gate]:
    data = read_file(os.path.join(flags.root, flags.file), _MOST_BYTES_OF_FILE)
    gates = choose_gates(read_gates(data, flags.file), flags.names)
    chosen = [gate for gate in gates if (gate.denominator == BASELINE) == bool(flags.against)]
    if not chosen:
        raise Failure(USAGE, "no gate to judge against another commit" if flags.against else
                      "no gate to judge; those against the baseline need --against")
    return chosen


def _write(line: str) -> None:
    """A verdict that could not be written is an error."""
    try:
        print(line, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python may write the line again when it exits
        raise file_failure(error, "write to", "the standard output") from error


def _new_directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="reprise_gate.", ignore_cleanup_errors=True)


class _Session:
    def __init__(self, flags: argparse.Namespace) -> None:
        self._flags = flags

    def log(self, line: str) -> None:
        if not self._flags.quiet:
            print(printable(line), file=sys.stderr, flush=True)

    def show(self, line: str, as_json: dict[str, object]) -> None:
        """Prints a result. DEL, which JSON allows and a terminal interprets, is escaped too."""
        compact = json.dumps(as_json, separators=(",", ":")).replace("\x7f", r"\u007f")
        _write(compact if self._flags.json else printable(line))

    def decide(self, gate: Gate) -> Decision:
        self.log(f"{gate.name}: {gate.claim}")
        with _new_directory() as prepared:
            if gate.prepare:
                with within(gate.name):
                    self._run(gate.prepare, False, prepared)
            return decide(gate.bound, lambda: self._look(gate, prepared))

    def _look(self, gate: Gate, prepared: str) -> Samples:
        """Measures the gate once. The result does not count if others use the machine before or during it."""
        samples = Samples(loaded=True)
        try:
            wait_for_quiet(self._flags.proc, self._flags.patience)
        except Failure as failure:
            if failure.code != RETRY:
                raise
        else:
            watch = LoadWatch(self._flags.proc)
            measured = measure(gate, lambda command, in_baseline: self._run(command, in_baseline, prepared))
            if watch.cores_of_others() <= most_cores_of_others(watch.processors):
                samples = measured
        if samples.loaded:
            self.log(f"{gate.name}: other processes use the machine; this look does not count")
        return samples

    def _run(self, command: str, in_baseline: bool, prepared: str) -> Execution:
        with _new_directory() as scratch:
            directory = self._flags.baseline if in_baseline else self._flags.root
            return execute(command_words(command, scratch, prepared), directory)


def _judge(gates: Sequence[Gate], flags: argparse.Namespace) -> int:
    session, every = _Session(flags), list[Decided]()
    instruction_set, processors = _read_machine(flags.root)
    wait_for_quiet(flags.proc, flags.patience)
    if instruction_set == "avx2":
        os.environ.update({name: value for name, value in _LIMITS_OF_LIBTORCH.items() if name not in os.environ})
    session.log(f"instruction set {instruction_set}, also for the bounds")
    for gate in bounds_for(instruction_set, gates):
        if gate.processors > processors:
            session.log(f"{gate.name}: skipped, because it needs {gate.processors} processors")
            continue
        every.append((gate, session.decide(gate)))
        session.show(decision_line(*every[-1]), decision_json(*every[-1]))
    session.show(verdict_line(every), verdict_json(every))
    return exit_code(every)


def main(arguments: Sequence[str]) -> int:
    try:
        flags = _parse(arguments)
        gates = _choose(flags)
        if not flags.programs:
            return _judge(gates, flags)
        _write("\n".join(labels_of(gates)))
        return 0
    except Failure as failure:
        code, sentence = failure.code, str(failure)
    except OSError as error:  # of a temporary directory
        code, sentence = IO, f"cannot create a temporary file: {error}"
    except KeyboardInterrupt:
        return _INTERRUPTED
    print(f"reprise gate: error: {printable(sentence)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
