"""A source as bytes: only regular files, lines of bounded length, its SHA-256 as a by-product of reading."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from typing import BinaryIO

from reprise.prepare.failure import DATA, RETRY, USAGE, Failure, file_failure

MOST_LINE_BYTES = 64 << 20
_PIECE = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def require_file(path: str) -> os.stat_result:
    """Returns its facts. Failure unless it is a regular file: nothing else is opened, as a pipe would wait for ever."""
    try:
        facts = os.stat(path)
    except (OSError, ValueError) as error:
        raise file_failure(error if isinstance(error, OSError) else OSError(str(error)), "read", path) from None
    if stat.S_ISDIR(facts.st_mode):
        raise Failure(USAGE, f"cannot read {path}: it is a directory; name its files")
    if not stat.S_ISREG(facts.st_mode):
        raise Failure(DATA, f"cannot read {path}: it is not a regular file")
    return facts


def read_small(path: str, most_bytes: int) -> bytes:
    """Returns the contents of a file of at most `most_bytes`; Failure for a larger one."""
    require_file(path)
    try:
        with open(path, "rb") as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        raise file_failure(error, "read", path) from None
    if len(data) > most_bytes:
        raise Failure(DATA, f"cannot read {path}: it has more bytes than the limit of {most_bytes}")
    return data


class SourceFile:
    """Reads one file from its beginning to its end, once. `done` is the number of bytes read so far."""
    def __init__(self, path: str, most_line_bytes: int = MOST_LINE_BYTES) -> None:
        self.path, self._most = path, most_line_bytes
        self._facts = require_file(path)
        self.size = self._facts.st_size
        self.done = 0
        self._sha256 = hashlib.sha256()
        try:
            self._file: BinaryIO = open(path, "rb", buffering=_PIECE)
        except OSError as error:
            raise file_failure(error, "read", path) from None

    def beginning(self, count: int) -> bytes:
        """Returns the first bytes without reading past them."""
        return os.pread(self._file.fileno(), count, 0)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yields (number from 1, line with its newline), without a byte order mark before the first. Failure for a line
        that is too long: at most one line is held in memory."""
        number = 0
        while line := self._read(self._file.readline):
            number += 1
            if number == 1:
                line = line.removeprefix(BYTE_ORDER_MARK)
            if len(line.removesuffix(b"\n")) > self._most:
                raise Failure(
                    DATA, f"{self.path}:{number}:1: the line has more than {self._most} bytes; expected one row a line")
            yield number, line
        self._check_unchanged()

    def whole(self, most_bytes: int) -> bytes:
        """Returns all bytes, without a byte order mark; Failure if there are more than `most_bytes`."""
        data = self._read(lambda _: self._file.read(most_bytes + 1))
        if len(data) > most_bytes:
            raise Failure(
                DATA, f"{self.path}: a JSON list of more than {most_bytes} bytes is not read: write one element per "
                "line, for example with jq -c '.[]' FILE > FILE.jsonl")
        self._check_unchanged()
        return data.removeprefix(BYTE_ORDER_MARK)

    def hash_all(self) -> None:
        """Reads the file for its SHA-256 alone: another program reads its contents."""
        while self._read(lambda _: self._file.read(_PIECE)):
            pass
        self._check_unchanged()

    def sha256(self) -> str:
        """Returns the digest, in hexadecimal, of what was read."""
        return self._sha256.hexdigest()

    def close(self) -> None:
        self._file.close()

    def _read(self, read: Callable[[int], bytes]) -> bytes:
        try:
            data = read(self._most + 2)  # a newline, and one byte too many
        except OSError as error:
            raise file_failure(error, "read", self.path) from None
        self.done += len(data)
        self._sha256.update(data)
        return data

    def _check_unchanged(self) -> None:
        now = os.fstat(self._file.fileno())
        if (now.st_size, now.st_mtime_ns) != (self._facts.st_size, self._facts.st_mtime_ns):
            raise Failure(RETRY, f"{self.path} was changed while it was read: try again when it is complete")
