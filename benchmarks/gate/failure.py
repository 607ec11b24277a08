"""An error that ends the program: one sentence for the user, and an exit code of docs/errors.md."""

import contextlib
import os
from collections.abc import Iterator

USAGE, DATA, INTERNAL, IO, RETRY = 64, 65, 70, 74, 75


class Failure(Exception):
    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@contextlib.contextmanager
def within(place: str) -> Iterator[None]:
    """Begins the sentence of a failure with its place."""
    try:
        yield
    except Failure as failure:
        raise Failure(failure.code, f"{place}: {failure}") from failure


def file_failure(error: OSError, action: str, path: str) -> Failure:
    """As of every verb: a name that does not exist is an error of usage, and everything else one of the file system."""
    is_missing = isinstance(error, (FileNotFoundError, IsADirectoryError))
    return Failure(USAGE if is_missing else IO, f"cannot {action} {path}: {error.strerror}")


def read_file(path: str, most_bytes: int) -> bytes:
    """Returns the contents of a regular file. Reads to its end, because the size of /proc/... is 0."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise Failure(DATA, f"cannot read {path}: it is not a regular file")
    try:
        with open(path, "rb") as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        raise file_failure(error, "read", path) from error
    if len(data) > most_bytes:
        raise Failure(DATA, f"cannot read {path}: it has more bytes than the limit of {most_bytes}")
    return data


def printable(text: str) -> str:
    """Escapes what could control a terminal: text of files and of other programs may be part of a message."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
