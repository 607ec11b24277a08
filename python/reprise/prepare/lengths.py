"""Lengths of prompts and answers: in tokens where the model's tokenizer and the package tokenizers are there."""

import os
from typing import Any

from reprise.prepare.failure import DATA, USAGE, Failure

_BAR = 40


def load_tokenizer(path: str | None, is_needed: bool) -> Any:
    """Returns the tokenizer of a tokenizer.json; None if there is none or the package is missing. Failure for these if
    `is_needed`, and for a file that the package does not read."""
    if path is None:
        if is_needed:
            raise Failure(
                USAGE, "--max-prompt-tokens needs --model DIR with a tokenizer.json: it counts that model's tokens")
        return None
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        import tokenizers
    except ImportError:
        if is_needed:
            raise Failure(USAGE,
                          "--max-prompt-tokens needs the Python package tokenizers: pip install tokenizers") from None
        return None
    try:
        tokenizer = tokenizers.Tokenizer.from_file(path)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of the library is no Exception
        sentence = " ".join(str(error).split())[:200]
        raise Failure(DATA, f"{path}: the package tokenizers does not read it: {sentence}") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class Lengths:
    """Counts lengths by powers of two."""
    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.count = self.total = self.most = 0
        self.least: int | None = None

    def add(self, length: int) -> None:
        bucket = length.bit_length()
        self._counts[bucket] = self._counts.get(bucket, 0) + 1
        self.count += 1
        self.total += length
        self.most = max(self.most, length)
        self.least = length if self.least is None else min(self.least, length)

    def buckets(self) -> list[tuple[int, int, int]]:
        """Returns (shortest, longest, how many) of each power of two that occurs, and of those between."""
        if not self._counts:
            return []
        numbers = range(min(self._counts), max(self._counts) + 1)
        return [((1 << n) >> 1, (1 << n) - 1, self._counts.get(n, 0)) for n in numbers]

    def facts(self) -> dict[str, Any]:
        return {
            "least": self.least or 0, "mean": round(self.total / max(1, self.count), 1), "most": self.most,
            "histogram": [{"from": low, "to": high, "count": count} for low, high, count in self.buckets()]
        }

    def lines(self) -> list[str]:
        """Returns a line per bucket, with a bar."""
        longest = max((count for _, _, count in self.buckets()), default=1)
        return [
            f"{f'{low}-{high}' if high > low else str(low):>15} {count:>9} {'#' * -(-_BAR * count // longest)}".rstrip(
            ) for low, high, count in self.buckets()
        ]
