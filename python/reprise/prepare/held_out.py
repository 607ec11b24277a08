"""Which groups of problems are held out: those with the lowest digests of seed and form, so that neither the order of
rows nor, with a share, any other row matters."""

import heapq
import re
from fractions import Fraction

from reprise.prepare.canonical import DIGEST_BITS, digest
from reprise.prepare.failure import USAGE, Failure

MOST_GROUPS = 1_000_000
_AMOUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,18})?%?|\.[0-9]{1,18}")


def parse_amount(text: str) -> int | Fraction:
    """Returns a number of groups, or a share of them (0.05, 5%). Failure for anything else."""
    sentence = (f"--held-out {text}: expected a number of different prompts, 1 to {MOST_GROUPS}, or a share of them, "
                "as 0.05 or 5%")
    if not _AMOUNT.fullmatch(text):  # Fraction would compute 1e-99999999 for hours
        raise Failure(USAGE, sentence)
    if text.isdigit():
        amount: int | Fraction = int(text)
    else:
        amount = Fraction(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not (1 <= amount <= MOST_GROUPS if isinstance(amount, int) else 0 < amount < 1):
        raise Failure(USAGE, sentence)
    return amount


def group_digest(seed: int, form: str) -> int:
    return digest("group", str(seed), form)


class Share:
    """A group is held out if its digest, as a number below 1, is less than the share."""
    def __init__(self, share: Fraction) -> None:
        self._bound = int(share * (1 << DIGEST_BITS))

    def has(self, group: int) -> bool:
        return group < self._bound


class Lowest:
    """The `count` groups with the lowest digests among those that were added."""
    def __init__(self, count: int) -> None:
        self._count = count
        self._heap: list[int] = []  # of negative digests: the first is the highest
        self._held: set[int] = set()

    def add(self, group: int) -> None:
        if group in self._held:
            return
        if len(self._heap) < self._count:
            heapq.heappush(self._heap, -group)
        elif group < -self._heap[0]:
            self._held.remove(-heapq.heapreplace(self._heap, -group))
        else:
            return
        self._held.add(group)

    def has(self, group: int) -> bool:
        return group in self._held
