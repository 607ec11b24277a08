"""Promise: noise alone does not make a gate fail, a real regression does, and the probabilities are those of tables."""

import math
import random
import unittest

from failure import INTERNAL, Failure
from judge import FEWEST_REPETITIONS, SIGNIFICANCE, Bound, Decision, Samples, chance_of_larger, decide, judge

AT_MOST_ONE = Bound(at_least=False, ratio=1)


def chance_of_u(x_size: int, y_size: int, u: int) -> float:
    """For samples without ties with the U statistic `u`: the number of pairs in which x's value is below y's."""
    x = []
    for i in range(x_size):
        above = min(u, y_size)  # the number of y's values above this one
        u -= above
        x.append(y_size - above - 0.5 + 0.001 * i)
    return chance_of_larger(x, list(range(y_size)))


class RankTest(unittest.TestCase):
    def test_five_and_five_give_the_counts_of_252_choices(self) -> None:
        for u, choices in ((0, 1), (1, 2), (2, 4), (3, 7), (4, 12), (25, 252)):
            self.assertEqual(chance_of_u(5, 5, u), choices / 252)

    def test_critical_values_are_those_of_the_table(self) -> None:
        # The usual table (one-sided, 0.025): the largest U that is significant.
        for x_size, y_size, critical in ((4, 4, 0), (5, 5, 2), (5, 7, 5), (6, 6, 5), (7, 7, 8), (8, 8, 13), (8, 10, 17),
                                         (10, 10, 23), (15, 15, 64), (20, 20, 127)):
            self.assertLessEqual(chance_of_u(x_size, y_size, critical), 0.025, (x_size, y_size))
            self.assertGreater(chance_of_u(x_size, y_size, critical + 1), 0.025, (x_size, y_size))

    def test_ties_share_their_ranks(self) -> None:
        # By hand: of the six choices of two out of {1, 2, 2, 3}, four sum to 4 or more, and two to 5.
        self.assertEqual(chance_of_larger([1, 3], [2, 2]), 4 / 6)
        self.assertEqual(chance_of_larger([2, 3], [1, 2]), 2 / 6)
        self.assertEqual(chance_of_larger([7, 7, 7], [7, 7, 7]), 1)

    def test_nothing_is_significant_without_values(self) -> None:
        for size in range(3):
            self.assertEqual(chance_of_larger([], [1] * size), 1)
            self.assertEqual(chance_of_larger([1] * size, []), 1)

    def test_values_that_are_not_finite_are_rejected(self) -> None:
        for value in (math.nan, math.inf):
            self.assertRaises(ValueError, chance_of_larger, [value], [1])

    def test_fifty_and_fifty_values_are_nearly_normal(self) -> None:
        x, y = range(0, 100, 2), range(1, 101, 2)
        self.assertGreater(chance_of_larger(x, y), 0.5)
        # U is 25 of a deviation of 145 above its mean.
        self.assertAlmostEqual(chance_of_larger(y, x), 0.433, delta=0.005)

    def test_only_the_order_counts(self) -> None:
        generator = random.Random(1)
        for _ in range(200):
            x, y = ([generator.randint(-9, 9) for _ in range(generator.randint(0, 9))] for _ in range(2))
            self.assertEqual(chance_of_larger(x, y), chance_of_larger([v**3 for v in x], [v**3 for v in y]))

    def test_an_outlier_counts_as_one_rank(self) -> None:
        generator = random.Random(2)
        for _ in range(200):
            *x, first = (generator.randrange(1000) for _ in range(6))
            y = [first, *(generator.randrange(1000) for _ in range(5))]
            self.assertEqual(chance_of_larger([*x, 1001], y), chance_of_larger([*x, 1e300], y))


class JudgeTest(unittest.TestCase):
    SLOW = Samples([12, 12.1, 12.2, 12.3, 12.4], [10, 10.1, 10.2, 10.3, 10.4])

    def test_a_clear_violation_fails(self) -> None:
        slow = judge(self.SLOW, Bound(at_least=False, ratio=1.1))
        self.assertEqual(slow, Decision("fell", 12.2 / 10.2, 1 / 252))
        halves = Samples([5, 5.1, 5.2, 5.3, 5.4], self.SLOW.denominator)
        self.assertEqual(judge(halves, Bound(at_least=True, ratio=0.6)).outcome, "fell")

    def test_a_gate_holds_within_its_bound(self) -> None:
        self.assertEqual(judge(self.SLOW, Bound(at_least=False, ratio=1.3)).outcome, "held")
        self.assertEqual(judge(self.SLOW, Bound(at_least=True, ratio=1.1)).outcome, "held")

    def test_the_ratio_is_that_of_the_medians(self) -> None:
        self.assertEqual(judge(Samples([1, 2, 90], [4, 1, 5]), AT_MOST_ONE).ratio, 0.5)
        self.assertEqual(judge(Samples([1, 2, 4, 90], [1]), AT_MOST_ONE).ratio, 3)

    def test_a_violation_that_noise_explains_is_uncertain(self) -> None:
        decision = judge(Samples([9, 11, 12, 10, 13], [10, 12, 9, 11, 10.5]), AT_MOST_ONE)
        self.assertGreater(decision.ratio or 0, 1)
        self.assertEqual(decision.outcome, "uncertain")

    def test_a_gate_can_fail_with_the_fewest_repetitions(self) -> None:
        for repetitions, outcome in ((FEWEST_REPETITIONS - 1, "uncertain"), (FEWEST_REPETITIONS, "fell")):
            samples = Samples(range(20, 20 + repetitions), range(1, 1 + repetitions))
            self.assertEqual(judge(samples, AT_MOST_ONE).outcome, outcome)


def noisy_samples(ratio: float, repetitions: int, generator: random.Random) -> Samples:
    """Simulates a typical machine: 3% of noise, one measurement in ten slower by up to half, and a clock that drifts by
    a fifth while both sides are measured alternately."""

    def measure(seconds: float, i: int) -> float:
        hiccup = 0.5 * generator.random() if generator.random() < 0.1 else 0
        return seconds * (1 + 0.2 * i / repetitions) * math.exp(generator.gauss(0, 0.03)) * (1 + hiccup)

    pairs = [(measure(ratio, i), measure(1, i)) for i in range(repetitions)]
    return Samples([above for above, _ in pairs], [below for _, below in pairs])


def part_that_fell(ratio: float, bound: Bound, repetitions: int, trials: int = 1500) -> float:
    generator = random.Random(1)
    looks = (judge(noisy_samples(ratio, repetitions, generator), bound) for _ in range(trials))
    return sum(look.outcome == "fell" for look in looks) / trials


class NoiseTest(unittest.TestCase):
    def test_noise_alone_does_not_make_a_gate_fail(self) -> None:
        for repetitions in (5, 7, 11):
            for at_least, with_margin in ((False, 1.1), (True, 0.9)):
                exactly_at_it = part_that_fell(1, Bound(at_least, 1), repetitions)
                self.assertLessEqual(exactly_at_it, SIGNIFICANCE * 1.5, repetitions)
                self.assertLessEqual(part_that_fell(1, Bound(at_least, with_margin), repetitions), 0.0005, repetitions)

    def test_a_real_regression_fails_despite_the_noise(self) -> None:
        self.assertGreaterEqual(part_that_fell(1.6, Bound(False, 1.1), 7), 0.95)
        self.assertGreaterEqual(part_that_fell(0.6, Bound(True, 0.9), 7), 0.95)
        self.assertGreaterEqual(part_that_fell(1.4, Bound(False, 1.1), 11), 0.95)


GOOD = Samples([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])
BAD = Samples([6, 7, 8, 9, 10], [1, 2, 3, 4, 5])
LOADED = Samples(loaded=True)


def after(*looks: Samples, bound: Bound | None = AT_MOST_ONE) -> Decision:
    waiting = iter(looks)
    return decide(bound, lambda: next(waiting))


class DecideTest(unittest.TestCase):
    def test_a_gate_holds_after_one_look_within_its_bound(self) -> None:
        decision = after(GOOD)
        self.assertEqual((decision.outcome, decision.looks), ("held", 1))

    def test_a_gate_fails_only_after_two_failed_looks(self) -> None:
        self.assertEqual((after(BAD, BAD).outcome, after(BAD, BAD).looks), ("fell", 2))
        self.assertEqual(after(BAD, GOOD).outcome, "held")

    def test_looks_while_other_processes_use_the_machine_do_not_count(self) -> None:
        self.assertEqual(after(LOADED, GOOD).outcome, "held")
        self.assertEqual(after(LOADED, BAD, BAD).outcome, "fell")
        for looks in ((LOADED, LOADED, LOADED), (BAD, LOADED, LOADED)):
            self.assertEqual(after(*looks), Decision("not judged", looks=3))

    def test_a_gate_without_a_bound_reports_its_ratio(self) -> None:
        self.assertEqual(after(LOADED, BAD, bound=None), Decision("reported", 8 / 3, looks=2))
        self.assertEqual(after(LOADED, LOADED, LOADED, bound=None), Decision("unmeasured", looks=3))

    def test_a_failure_of_a_look_is_passed_on(self) -> None:
        def broken() -> Samples:
            raise Failure(INTERNAL, "broken")

        self.assertRaisesRegex(Failure, "broken", decide, AT_MOST_ONE, broken)


if __name__ == "__main__":
    unittest.main()
