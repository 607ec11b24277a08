"""Judges whether the ratio of two measured numbers is within a bound."""

import bisect
import dataclasses
import math
import statistics
from collections.abc import Callable, Sequence

# The probability that noise alone makes one look at a gate appear failed whose true ratio is exactly at its bound.
SIGNIFICANCE = 0.01
# With fewer repetitions, no result could be significant: one of 252 orders of five and five has probability 0.004.
FEWEST_REPETITIONS = 5
MOST_LOOKS = 3


@dataclasses.dataclass(frozen=True)
class Samples:
    """Positive measurements of both sides of a gate, in the same unit; `loaded`: other processes used the machine
    meanwhile, so they do not count."""

    numerator: Sequence[float] = ()
    denominator: Sequence[float] = ()
    loaded: bool = False


@dataclasses.dataclass(frozen=True)
class Bound:
    at_least: bool  # false: at most
    ratio: float


@dataclasses.dataclass(frozen=True)
class Decision:
    outcome: str  # held, uncertain (beyond the bound, but not significantly), fell, reported, not judged, unmeasured
    ratio: float | None = None  # of the medians
    chance: float | None = None  # the probability that values whose ratio is the bound would be ordered as badly
    looks: int = 1


def chance_of_larger(x: Sequence[float], y: Sequence[float]) -> float:
    """Returns the probability that x's ranks would have at least their sum if both samples came from one distribution:
    small if x is larger. The rank test of Mann and Whitney (1947), for any distribution of the noise: an outlier of any
    size counts as one rank. Exact for every size, by counting the choices of |x| out of |x| + |y| midranks, so that
    ties need no correction. 1 if a sample is empty."""
    if not x or not y:
        return 1
    values = [*x, *y]
    if not all(map(math.isfinite, values)):
        raise ValueError("the rank test needs finite values")
    in_order = sorted(values)
    # Twice the midrank of each value: an integer even with ties.
    ranks = [bisect.bisect_left(in_order, v) + bisect.bisect_right(in_order, v) + 1 for v in values]
    # choices[k] has the number of choices of k ranks for each sum, as digits of one integer: digit s, of len(values)
    # bits, counts those of sum s. No digit can overflow, because there are fewer than 2^len(values) choices.
    bits = len(values)
    choices = [1] + [0] * len(x)
    for rank in ranks:
        for size in range(len(x), 0, -1):
            choices[size] += choices[size - 1] << (bits * rank)
    as_large = choices[-1] >> (bits * sum(ranks[: len(x)]))
    return as_large % ((1 << bits) - 1) / math.comb(len(values), len(x))  # the remainder is the sum of the digits


def judge(samples: Samples, bound: Bound) -> Decision:
    ratio = statistics.median(samples.numerator) / statistics.median(samples.denominator)
    limit = [bound.ratio * value for value in samples.denominator]  # the numerators that would be exactly at the bound
    if bound.at_least:
        is_within, chance = ratio >= bound.ratio, chance_of_larger(limit, samples.numerator)
    else:
        is_within, chance = ratio <= bound.ratio, chance_of_larger(samples.numerator, limit)
    return Decision("held" if is_within else "fell" if chance < SIGNIFICANCE else "uncertain", ratio, chance)


def decide(bound: Bound | None, look: Callable[[], Samples]) -> Decision:
    """Repeats `look`, which measures a gate once, until the gate is decided. One look on an idle machine decides that a
    gate holds, or reports its ratio if it has no bound. It fails only after two looks that appear failed, because each
    may do so by chance (with probability SIGNIFICANCE). Looks while other processes use the machine do not count. After
    MOST_LOOKS looks without a decision, the gate is not judged."""
    fell_before = False
    for looks in range(1, MOST_LOOKS + 1):
        samples = look()
        if samples.loaded:
            continue
        if bound is None:
            ratio = statistics.median(samples.numerator) / statistics.median(samples.denominator)
            return Decision("reported", ratio, looks=looks)
        decision = dataclasses.replace(judge(samples, bound), looks=looks)
        if decision.outcome != "fell" or fell_before:
            return decision
        fell_before = True
    return Decision("unmeasured" if bound is None else "not judged", looks=MOST_LOOKS)
