"""Promise: a command that cannot be meant is refused with a sentence, and progress tells rate and remaining time."""

from typing import Any

import prepare_testing

from reprise.prepare.failure import USAGE
from reprise.prepare.lengths import Lengths
from reprise.prepare.options import Options, parse_options
from reprise.prepare.progress import line

GOOD = ["a", "--output", "b"]


class OptionsTest(prepare_testing.FolderTest):
    def refused(self, pattern: str, *arguments: str) -> None:
        self.assert_fails(pattern, USAGE, parse_options, list(arguments))

    def test_defaults_are_those_of_the_options(self) -> None:
        self.assertEqual(parse_options(GOOD), Options(["a"], "b"))
        self.assertEqual(parse_options(["--output", "b", "x", "y", "--seed=5", "--force"]),
                         Options(["x", "y"], "b", seed=5, force=True))

    def test_what_is_missing_is_named(self) -> None:
        self.refused("no SOURCE is given", "--output", "b")
        self.refused("--output FILE is missing", "a")
        self.refused("--output: expected one argument", "a", "--output")

    def test_unknown_options_suggest_the_nearest(self) -> None:
        self.refused("unknown option --drop-colums; did you mean --drop-columns", *GOOD, "--drop-colums")
        self.refused("unknown option --out", "a", "--out", "b", *GOOD)  # no abbreviations

    def test_empty_and_repeated_values_are_refused(self) -> None:
        self.refused("--prompt has an empty value: perhaps a variable", *GOOD, "--prompt", "")
        self.refused("a SOURCE is empty", "", *GOOD)
        self.refused("--output is given more than once", *GOOD, "--output", "c")

    def test_numbers_and_dates_are_checked(self) -> None:
        for option, value in (("--seed", "-1"), ("--seed", "x"), ("--max-prompt-tokens", "0"), ("--seed", "9" * 30)):
            self.refused(f"{option}: ?.*expected a whole number|expected one argument", *GOOD, option, value)
        for value in ("2025-13-01", "yesterday", "25-01-01"):
            self.refused("expected a date as 2025-01-31", *GOOD, "--date", value)
        self.refused("expected a number of different prompts", *GOOD, "--held-out", "2.5", "--held-out-output", "c")

    def test_options_that_need_each_other_are_given_together(self) -> None:
        self.refused("need each other", *GOOD, "--held-out", "5")
        self.refused("need each other", *GOOD, "--held-out-output", "c")
        self.refused("--group-by is for --held-out", *GOOD, "--group-by", "x")
        self.refused("--raw leaves it out", *GOOD, "--system", "x", "--raw")


class LengthsTest(prepare_testing.FolderTest):
    def lengths(self, *values: int) -> Lengths:
        lengths = Lengths()
        for value in values:
            lengths.add(value)
        return lengths

    def test_buckets_are_powers_of_two_without_gaps(self) -> None:
        self.assertEqual(self.lengths(1, 8, 15, 9).buckets(), [(1, 1, 1), (2, 3, 0), (4, 7, 0), (8, 15, 3)])
        self.assertEqual(self.lengths(0).buckets(), [(0, 0, 1)])
        self.assertEqual(self.lengths().lines(), [])

    def test_facts_are_least_mean_and_most(self) -> None:
        facts: dict[str, Any] = self.lengths(2, 3, 3).facts()
        self.assertEqual((facts["least"], facts["mean"], facts["most"]), (2, 2.7, 3))

    def test_bars_are_in_proportion(self) -> None:
        self.assertEqual([row.count("#") for row in self.lengths(1, 2, 2, 2, 2).lines()], [10, 40])


class ProgressTest(prepare_testing.FolderTest):
    def test_the_line_has_rate_and_remaining_time(self) -> None:
        self.assertEqual(line(1000, 25, 100, 5.0), "reprise: 1000 rows, 25%, 200 rows/s, about 15 s left")
        self.assertIn("about 0 s left", line(5, 0, 0, 3.0))


if __name__ == "__main__":
    prepare_testing.main()
