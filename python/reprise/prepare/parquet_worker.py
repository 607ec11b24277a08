"""The child process that reads Parquet: writes a line {"rows": N, "columns": [...]}, then {"row": {...}} per row, then
{"end": true}; or {"error": "sentence"}."""

import datetime
import decimal
import json
import math
import os
import sys
from typing import Any

from reprise.prepare.limited_process import limit_memory

_MOST_ROWS = 256
_MOST_RATIO = 1000
_BATCH_BYTES = 16 << 20


class _Unreadable(Exception):
    pass


def _json_value(value: Any, column: str) -> Any:
    """Returns what JSON has for the value: dates as ISO text, NaN (how pandas writes what is missing) as null.
    _Unreadable for bytes and other values that JSON has not."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise _Unreadable(f"column {column} holds an infinite number, which JSON has not: write null or a text")
        return None if math.isnan(value) else value
    if isinstance(value, dict):
        return {str(name): _json_value(inner, column) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(inner, column) for inner in value]
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    raise _Unreadable(f"column {column} holds {type(value).__name__}, which JSON has not: write it as text, or use "
                      "--drop-columns")


def _row(values: dict[str, Any], is_lenient: bool) -> dict[str, Any]:
    result = {}
    for name, value in values.items():
        try:
            result[name] = _json_value(value, name)
        except _Unreadable:
            if not is_lenient:
                raise
            result[name] = None  # a column that is dropped
    return result


def _say(value: Any) -> None:
    """Writes a line at once: the reader knows by it how far this process came before it crashed or hung."""
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")
    sys.stdout.flush()


def _refuse_bomb(size: int, rows: int, declared: int) -> None:
    """A few bytes may declare any number of rows and bytes: reading them would never end. Rows that differ take at
    least a byte each."""
    if rows < 0 or rows > size:
        raise _Unreadable(f"it declares {rows} rows in a file of {size} bytes: no data set is so; write it again")
    if declared < 0 or declared > size * _MOST_RATIO:
        raise _Unreadable(f"it declares {declared} bytes in a file of {size}, more than {_MOST_RATIO} times as many: "
                          "it is made to fill memory; write it again without compression if it is not")


def _write_rows(path: str, is_lenient: bool) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.set_cpu_count(1)
    with pyarrow.OSFile(path) as file:
        table = pyarrow.parquet.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False)
        facts = table.metadata
        names = list(table.schema_arrow.names)
        if len(set(names)) != len(names):
            raise _Unreadable("two columns have the same name: rename one")
        _say({"rows": facts.num_rows, "columns": names})
        declared = sum(facts.row_group(i).total_byte_size for i in range(facts.num_row_groups))
        _refuse_bomb(os.path.getsize(path), facts.num_rows, declared)
        batch = max(1, min(_MOST_ROWS, _BATCH_BYTES * max(1, facts.num_rows) // max(1, declared)))
        number = 0
        for rows in table.iter_batches(batch_size=batch, use_threads=False):
            for i in range(rows.num_rows):
                number += 1
                try:
                    values = {name: rows.column(j)[i].as_py() for j, name in enumerate(names)}
                    _say({"row": _row(values, is_lenient)})
                except _Unreadable as error:
                    raise _Unreadable(f"row {number}: {error}") from None
    _say({"end": True})


def main() -> None:
    path, mebibytes, lenient = sys.argv[1:]
    try:
        import pyarrow.parquet  # noqa: F401  # before the limit, which is for what the file needs
    except ImportError:
        _say({"error": "missing"})
        return
    limit_memory(int(mebibytes))
    try:
        _write_rows(path, lenient == "lenient")
    except _Unreadable as error:
        _say({"error": str(error)})
    except (MemoryError, pyarrow.ArrowMemoryError):
        _say({
            "error": f"its rows or pages need more than {mebibytes} MiB of memory: write it again with smaller texts "
                     "or pages"
        })
    except Exception as error:  # pyarrow raises many kinds, also for damage that it finds late
        _say({"error": "it cannot be read as Parquet: " + " ".join(str(error).split())[:300]})


if __name__ == "__main__":
    main()
