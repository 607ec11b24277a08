"""A set of 64-bit digests in at most 16 bytes each, where Python's own takes about 100."""

from array import array

_TABLES = 256
_FIRST_SLOTS = 8
_MOST_FULL = 0.8
_GROWTH = 1.5


class DigestSet:
    """Tables with linear probing, chosen by the first byte: only one of them at a time is copied to a larger one. After
    growth a table is 0.8 / 1.5 full: 8 / 0.53 = 15 bytes a digest. Different rows with one digest are taken for the
    same: among a million rows with a probability of 3e-8."""
    def __init__(self) -> None:
        self._tables = [array("Q", bytes(8 * _FIRST_SLOTS)) for _ in range(_TABLES)]
        self._counts = [0] * _TABLES
        self._has_zero = False  # 0 marks an empty slot

    def add(self, digest: int) -> bool:
        """Returns whether the digest is new."""
        if digest == 0:
            is_new, self._has_zero = not self._has_zero, True
            return is_new
        which = digest >> 56
        table = self._tables[which]
        slot = self._slot(table, digest)
        if table[slot]:
            return False
        table[slot] = digest
        self._counts[which] += 1
        if self._counts[which] > _MOST_FULL * len(table):
            self._grow(which)
        return True

    def __len__(self) -> int:
        return sum(self._counts) + self._has_zero

    def bytes_held(self) -> int:
        return sum(8 * len(table) for table in self._tables)

    @staticmethod
    def _slot(table: array, digest: int) -> int:
        slots = len(table)
        slot = digest % slots
        while table[slot] and table[slot] != digest:
            slot = slot + 1 if slot + 1 < slots else 0
        return slot

    def _grow(self, which: int) -> None:
        old = self._tables[which]
        table = array("Q", bytes(8 * int(len(old) * _GROWTH)))
        for digest in old:
            if digest:
                table[self._slot(table, digest)] = digest
        self._tables[which] = table
