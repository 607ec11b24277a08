"""Which format a source has, and its rows."""

import os
from collections.abc import Callable, Iterator

from reprise.prepare.csv_rows import csv_rows
from reprise.prepare.failure import DATA, Failure
from reprise.prepare.json_rows import json_lines, json_list
from reprise.prepare.parquet_rows import parquet_rows
from reprise.prepare.row import Row
from reprise.prepare.source_file import BYTE_ORDER_MARK, SourceFile
from reprise.prepare.text_of_bytes import refuse_foreign

NAMES = {"jsonl": "JSON lines", "json": "JSON", "csv": "CSV", "parquet": "Parquet"}
_READERS: dict[str, Callable[[SourceFile], Iterator[Row]]] = {"jsonl": json_lines, "json": json_list, "csv": csv_rows}
_LOOKED_AT = 4096


def format_of(source: SourceFile) -> str:
    """Returns a key of NAMES. The first bytes decide; the file's ending only between CSV and JSON lines."""
    beginning = source.beginning(_LOOKED_AT)
    if beginning.startswith(b"PAR1"):
        return "parquet"
    refuse_foreign(source.path, beginning)
    ending = os.path.splitext(source.path)[1].lower()
    if ending == ".parquet":
        raise Failure(
            DATA, f"{source.path}: it does not begin as a Parquet file does (PAR1): the download may have failed")
    text = beginning.removeprefix(BYTE_ORDER_MARK).lstrip()
    if not text and source.size <= _LOOKED_AT:
        raise Failure(DATA, f"{source.path}: it is empty; expected JSON lines, JSON, CSV or Parquet")
    if ending in (".csv", ".tsv"):
        return "csv"
    if text.startswith(b"["):
        return "json"
    if text.startswith(b"{") or ending in (".jsonl", ".json", ".ndjson"):
        return "jsonl"
    raise Failure(
        DATA, f"{source.path}: the format is not known by its beginning or its ending ({ending or 'none'}): call it "
        ".jsonl, .json, .csv, .tsv or .parquet")


def read_rows(source: SourceFile, form: str, drops_columns: bool) -> Iterator[Row]:
    """Yields the rows of a source of the format `form`."""
    return parquet_rows(source, drops_columns) if form == "parquet" else _READERS[form](source)
