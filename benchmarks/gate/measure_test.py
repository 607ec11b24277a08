"""Promise: both sides are measured in turn, and a program without a number gives a sentence in its place."""

import pathlib
import tempfile
import time
import unittest
import unittest.mock

from failure import INTERNAL, IO, USAGE, Failure
from gates_file import BASELINE, SAME_RUN, Gate
from measure import Execution, command_words, execute, measure, measured_value


class ExecuteTest(unittest.TestCase):
    def assert_fails(self, code: int, sentence: str, *words: str, limit_seconds: float = 10) -> None:
        with self.assertRaises(Failure) as failed:
            execute(list(words), "/", limit_seconds)
        self.assertEqual((failed.exception.code, str(failed.exception)), (code, sentence))

    def test_words_are_separated_by_spaces_and_placeholders_are_replaced(self) -> None:
        words = command_words(" a  --output={scratch}/x {prepared}", "/s", "/p")
        self.assertEqual(words, ["a", "--output=/s/x", "/p"])

    def test_the_output_and_the_time_are_returned(self) -> None:
        slept = execute(["/bin/sh", "-c", "sleep 0.1; pwd"], "/")
        self.assertEqual(slept.out, b"/\n")
        self.assertTrue(0.1 <= slept.seconds < 5, slept)

    def test_the_end_is_awaited_without_polling(self) -> None:
        # subprocess polls with growing pauses, up to 50 ms, if it waits with a timeout.
        with unittest.mock.patch("time.sleep") as pause:
            execute(["/bin/sleep", "0.05"], "/")
        pause.assert_not_called()

    def test_a_program_is_relative_to_its_directory_and_not_searched(self) -> None:
        self.assertEqual(execute(["bin/sh", "-c", "echo $0"], "/").out, b"bin/sh\n")
        self.assert_fails(USAGE, "cannot run /sh: No such file or directory", "sh")

    def test_an_error_contains_the_last_line_of_the_programs_stderr(self) -> None:
        two = "echo one >&2; echo two >&2; exit 3"
        self.assert_fails(INTERNAL, f"ended with exit code 3: /bin/sh -c {two}: two", "/bin/sh", "-c", two)
        self.assert_fails(INTERNAL, "ended with exit code 1: /bin/false: it printed no error message", "/bin/false")
        self.assert_fails(INTERNAL, "ended with signal 9: /bin/sh -c kill -9 $$: it printed no error message",
                          "/bin/sh", "-c", "kill -9 $$")

    def test_a_program_that_cannot_be_started_is_named(self) -> None:
        self.assert_fails(USAGE, "cannot run /no/such: No such file or directory", "no/such")
        self.assert_fails(IO, "cannot run /etc/passwd: Permission denied", "/etc/passwd")
        self.assert_fails(USAGE, "the command is empty")

    def test_a_program_beyond_its_time_limit_is_killed_with_its_children(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            script = f"sleep 60 & echo $! >{directory}/child; wait"
            self.assert_fails(INTERNAL, f"took more than 0.3 s: /bin/sh -c {script}", "/bin/sh", "-c", script,
                              limit_seconds=0.3)
            child = pathlib.Path(directory, "child").read_text(encoding="utf-8").strip()
        status = pathlib.Path("/proc", child, "status")
        deadline = time.monotonic() + 10
        while status.exists() and "\nState:\tZ" not in status.read_text(encoding="utf-8"):
            self.assertLess(time.monotonic(), deadline, "the child is still running")
            time.sleep(0.01)


class MeasuredValueTest(unittest.TestCase):
    def test_seconds_are_the_time_that_the_program_took(self) -> None:
        self.assertEqual(measured_value(Execution(b"anything", 1.5), "seconds"), 1.5)

    def test_google_benchmarks_counters_are_read(self) -> None:
        out = b'{"context": {}, "benchmarks": [{"name": "BM_A", "real_time": 7, "GFLOP/s": 2.5e1}]}'
        self.assertEqual(measured_value(Execution(out), "GFLOP/s"), 25)
        self.assertEqual(measured_value(Execution(out), "real_time"), 7)

    def test_the_last_line_may_be_the_object(self) -> None:
        self.assertEqual(measured_value(Execution(b'a word\n{"s_step": 0.25}\n'), "s_step"), 0.25)
        self.assertEqual(measured_value(Execution(b'{"s_step": 0.25}\n'), "s_step"), 0.25)

    def test_values_that_are_not_positive_numbers_are_rejected(self) -> None:
        not_positive = '"x" of its output is not a positive number'
        for out, sentence in (
            (b"", "the last line of its output is not JSON"),
            (b"\xff", "the last line of its output is not JSON"),
            (b"[" * 100_000, "the last line of its output is not JSON"),
            (b'{"y": 1}', 'its output has no "x"'),
            (b"[1]", 'its output has no "x"'),
            (b"{}", 'its output has no "x"'),
            (b'{"x": 0}', not_positive),
            (b'{"x": -1}', not_positive),
            (b'{"x": true}', not_positive),
            (b'{"x": NaN}', not_positive),
            (b'{"x": 1' + b"0" * 400 + b"}", not_positive),
            (b'{"x": "1"}', not_positive),
            (b'{"benchmarks": []}', "it ran 0 benchmarks, but a gate needs one"),
            (b'{"benchmarks": [{"x": 1}, {"x": 2}]}', "it ran 2 benchmarks, but a gate needs one"),
        ):
            with self.assertRaises(Failure) as refused:
                measured_value(Execution(out), "x")
            self.assertEqual((refused.exception.code, str(refused.exception)), (USAGE, sentence), out)


class Recorder:
    """Records its calls; its value is the number of the call."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __call__(self, command: str, in_baseline: bool) -> Execution:
        self.calls.append(f"{command}'" if in_baseline else command)
        return Execution(f'{{"x": {len(self.calls)}, "y": {10 * len(self.calls)}}}'.encode())


def some_gate(denominator: str, value_below: str = "") -> Gate:
    return Gate("some", numerator="A", numerator_value="x", denominator=denominator, denominator_value=value_below,
                at_most=1, repetitions=3)


class MeasureTest(unittest.TestCase):
    def test_sides_alternate_and_every_second_pair_is_swapped(self) -> None:
        recorder = Recorder()
        samples = measure(some_gate("B"), recorder)
        self.assertEqual(" ".join(recorder.calls), "A B A B B A A B")
        self.assertEqual((samples.numerator, samples.denominator), ([3, 6, 7], [4, 5, 8]))

    def test_the_baseline_runs_the_same_command_in_its_own_checkout(self) -> None:
        recorder = Recorder()
        measure(some_gate(BASELINE), recorder)
        self.assertEqual(" ".join(recorder.calls), "A A' A A' A' A A A'")

    def test_one_run_may_give_both_numbers(self) -> None:
        recorder = Recorder()
        samples = measure(some_gate(SAME_RUN, "y"), recorder)
        self.assertEqual(" ".join(recorder.calls), "A A A A")
        self.assertEqual((samples.numerator, samples.denominator), ([2, 3, 4], [20, 30, 40]))

    def test_the_sides_may_have_values_of_different_names(self) -> None:
        samples = measure(some_gate("B", "y"), Recorder())
        self.assertEqual((samples.numerator, samples.denominator), ([3, 6, 7], [40, 50, 80]))

    def test_an_error_names_the_gate(self) -> None:
        def fails(command: str, in_baseline: bool) -> Execution:
            raise Failure(INTERNAL, "ended with exit code 3")

        self.assertRaisesRegex(Failure, "^some: ended with exit code 3$", measure, some_gate("B"), fails)


if __name__ == "__main__":
    unittest.main()
