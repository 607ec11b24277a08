"""Promise: the processors that others keep busy are counted, without the gate's own time."""

import unittest

from failure import DATA, Failure
from load_watch import CpuTimes, cores_of_others, most_cores_of_others, parse_runnable, parse_stat

STAT = """cpu  1000 20 300 5000 400 5 60 7 99 0
cpu0 500 10 150 2500 200 3 30 3 50 0
cpu1 500 10 150 2500 200 2 30 4 49 0
intr 23601011 0 0
ctxt 7
btime 1
"""


class LoadWatchTest(unittest.TestCase):
    def test_busy_excludes_idle_and_waiting_and_counts_guests_once(self) -> None:
        busy = 1000 + 20 + 300 + 5 + 60 + 7
        self.assertEqual(parse_stat(STAT), CpuTimes(busy, busy + 5000 + 400, processors=2))

    def test_other_formats_are_rejected(self) -> None:
        for text in ("", "cpu\n", "cpu 1 2 3\ncpu0 1 2 3\n", "cpu  1 2 x 4\ncpu0 1 2 3 4\n", "cpu  1 2 3 4 5 6\n"):
            with self.assertRaisesRegex(Failure, "/proc/stat has no line of processor times") as refused:
                parse_stat(text)
            self.assertEqual(refused.exception.code, DATA)

    def test_the_fourth_field_counts_runnable_tasks(self) -> None:
        self.assertEqual(parse_runnable("3.69 4.09 4.41 5/313 18700\n"), 5)
        for text in ("3.69 4.09", "1 1 1 x/2 3"):
            with self.assertRaisesRegex(Failure, "/proc/loadavg does not count the runnable tasks") as refused:
                parse_runnable(text)
            self.assertEqual(refused.exception.code, DATA)

    def test_our_own_time_is_excluded(self) -> None:
        # Two processors for one second of 100 ticks.
        before, after = CpuTimes(1000, 5000, 2), CpuTimes(1150, 5200, 2)
        self.assertEqual(cores_of_others(before, after, own_seconds=0, ticks_per_second=100), 1.5)
        self.assertEqual(cores_of_others(before, after, own_seconds=1.0, ticks_per_second=100), 0.5)
        self.assertEqual(cores_of_others(before, after, own_seconds=1.6, ticks_per_second=100), 0)  # ticks are coarse

    def test_the_load_is_unknown_if_the_counters_do_not_move(self) -> None:
        times = CpuTimes(1, 2, 2)
        self.assertIsNone(cores_of_others(times, times, own_seconds=0, ticks_per_second=100))

    def test_a_quarter_of_a_processor_or_a_tenth_of_all_is_allowed(self) -> None:
        self.assertEqual([most_cores_of_others(count) for count in (1, 2, 64)], [0.25, 0.25, 6.4])


if __name__ == "__main__":
    unittest.main()
