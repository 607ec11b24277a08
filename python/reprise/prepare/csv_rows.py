"""Rows of CSV: the first line names the columns, and every value is a text."""

import csv
from collections.abc import Iterator

from reprise.prepare.failure import DATA, Failure, listed
from reprise.prepare.row import Row
from reprise.prepare.source_file import MOST_LINE_BYTES, SourceFile
from reprise.prepare.text_of_bytes import decode

_SEPARATORS = ",\t;"
_MOST_COLUMNS = 10_000


class _Lines:
    """The lines of a source as text, for csv.reader; `number` is that of the last one."""
    def __init__(self, source: SourceFile) -> None:
        self._source, self._lines = source, source.lines()
        self.number = 0
        self.first = ""

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        self.number, line = next(self._lines)
        text = decode(self._source.path, self.number, line)
        if self.number == 1:
            self.first = text
        return text


def separator_of(header: str) -> str:
    """Returns the most frequent of comma, tab and semicolon in the header; a comma if there is none."""
    return max(_SEPARATORS, key=lambda mark: (header.count(mark), -_SEPARATORS.index(mark)))


def _check_header(path: str, names: list[str]) -> None:
    if len(names) > _MOST_COLUMNS:
        raise Failure(DATA, f"{path}:1: the header names more than {_MOST_COLUMNS} columns: the first line must be the "
                      "header")
    if "" in names:
        raise Failure(
            DATA, f"{path}:1: column {names.index('') + 1} has no name: name it, or remove it (pandas writes its index "
            "so, unless it is told index=False)")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise Failure(DATA, f"{path}:1: two columns are called {listed(twice[:1])}: rename one")


def csv_rows(source: SourceFile, most_field_bytes: int = MOST_LINE_BYTES) -> Iterator[Row]:
    """Yields the rows. Failure for a header with a name twice or without one, a row with another number of fields than
    the header, and a quote that is not closed."""
    lines = _Lines(source)
    header = next(lines, "")
    separator = separator_of(header)
    csv.field_size_limit(most_field_bytes)

    def all_lines() -> Iterator[str]:
        yield header
        yield from lines

    names: list[str] = []
    begin = 1
    try:
        for fields in csv.reader(all_lines(), delimiter=separator, strict=True):
            if not names and fields:
                names = fields
                _check_header(source.path, names)
            elif fields and len(fields) != len(names):
                raise Failure(
                    DATA, f"{source.path}:{begin}: the row has {len(fields)} fields, and the header names {len(names)} "
                    f"({listed(names)}): quote a text that has a separator or a newline in it")
            elif fields:
                yield Row(source.path, begin, dict(zip(names, fields)))
            begin = lines.number + 1
    except csv.Error as error:
        sentence = str(error)
        if "unexpected end" in sentence or "field larger" in sentence:
            sentence = "a quoted text that begins here is not closed, or is too long"
        raise Failure(
            DATA, f"{source.path}:{begin}: {sentence}; expected CSV with texts in double quotes, and a double quote "
            "within them written twice") from None
