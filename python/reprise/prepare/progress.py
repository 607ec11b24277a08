"""Progress on a terminal, for what takes longer than two seconds."""

import sys
import time

_QUIET_SECONDS = 2.0
_EVERY_SECONDS = 0.5
_ROWS_BETWEEN_LOOKS = 64


def line(rows: int, done: int, size: int, seconds: float) -> str:
    """Returns rows, rate and remaining time: `done` of `size` bytes took `seconds`."""
    left = seconds * (size - done) / done if done else 0.0
    share = 100 * done // size if size else 100
    return f"reprise: {rows} rows, {share}%, {rows / seconds:.0f} rows/s, about {left:.0f} s left"


class Progress:
    """Shows a line in place on standard error if it is a terminal."""
    def __init__(self, size: int, is_quiet: bool) -> None:
        self._size, self._begin = size, time.monotonic()
        self._shows = not is_quiet and sys.stderr.isatty()
        self._next, self._has_shown, self._rows = self._begin + _QUIET_SECONDS, False, 0

    def row(self, done: int) -> None:
        """To be called after each row; `done` is the number of bytes of all sources that were read."""
        self._rows += 1
        if not self._shows or self._rows % _ROWS_BETWEEN_LOOKS:
            return
        now = time.monotonic()
        if now >= self._next:
            self._next, self._has_shown = now + _EVERY_SECONDS, True
            sys.stderr.write("\r\033[K" + line(self._rows, min(done, self._size), self._size, now - self._begin))
            sys.stderr.flush()

    def end(self) -> None:
        """Removes the line."""
        if self._has_shown:
            self._has_shown = False
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
