"""Rows of Parquet, which a child process reads under limits (parquet_worker.py): a file may declare any sizes."""

from collections.abc import Iterator

import reprise.prepare.json_text as json_text
from reprise.prepare.failure import DATA, RETRY, USAGE, Failure
from reprise.prepare.limited_process import LimitedProcess, TookTooLong
from reprise.prepare.row import Row
from reprise.prepare.source_file import SourceFile

MEMORY_MIB = 512
SECONDS = 120.0  # for one row: a page may have to be decompressed before


def parquet_rows(source: SourceFile,
                 is_lenient: bool = False,
                 memory_mib: int = MEMORY_MIB,
                 seconds: float = SECONDS) -> Iterator[Row]:
    """Yields the rows, numbered from 1; where `is_lenient`, values that JSON has not (images) are null. Failure if
    pyarrow is missing, or if the file is damaged or needs too much."""
    arguments = [source.path, str(memory_mib), "lenient" if is_lenient else "strict"]
    process = LimitedProcess("reprise.prepare.parquet_worker", arguments)
    size = max(1, source.size)
    try:
        rows = int(_reply(process, source.path, seconds, 0)["rows"])
        source.hash_all()
        for number in range(1, rows + 1):
            reply = _reply(process, source.path, seconds, number)
            if "row" not in reply:
                raise Failure(DATA, f"{source.path}: it ends after {number - 1} of {rows} rows: the file is damaged")
            source.done = size * number // rows
            yield Row(source.path, number, reply["row"], unit="row ")
        _reply(process, source.path, seconds, rows)  # the end: later damage is an error too
    finally:
        process.close()


def _reply(process: LimitedProcess, path: str, seconds: float, number: int) -> dict:
    try:
        line = process.exchange(b"", seconds)
    except TookTooLong:
        raise Failure(
            RETRY, f"{path}: reading row {number} took more than {seconds:g} s: try again, or write the file again "
            "with smaller row groups") from None
    if not line:
        raise Failure(
            DATA, f"{path}: the Parquet reader crashed at row {number} (exit {process.end()}): the file is damaged or "
            "made to crash readers")
    try:
        reply = json_text.parse(line.decode())
    except json_text.JsonError as error:
        raise Failure(DATA, f"{path}:row {number}: {error}") from None
    if "error" not in reply:
        return reply
    if reply["error"] == "missing":
        raise Failure(USAGE, "reading Parquet needs the Python package pyarrow: pip install pyarrow")
    raise Failure(DATA, f"{path}: {reply['error']}")
