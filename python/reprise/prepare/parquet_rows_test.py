"""Promise: rows of Parquet are read in a child process under limits, and whatever a file declares or does to its reader
ends with a sentence. A stand-in for pyarrow takes part in most tests, so that they need no package; those of real files
say so where pyarrow is missing."""

import importlib.util
import os
import unittest
from typing import Any

import prepare_testing

from reprise.prepare.failure import DATA, RETRY, USAGE
from reprise.prepare.parquet_rows import parquet_rows
from reprise.prepare.source_file import SourceFile

# Reads the "file" as Python: rows is a list of batches, each a list of rows.
_STAND_IN = '''
import types
class ArrowMemoryError(MemoryError): pass
class OSFile:
    def __init__(self, path): self.text = open(path).read()
    def __enter__(self): return self
    def __exit__(self, *_): pass
def set_cpu_count(_): pass
'''
_STAND_IN_PARQUET = '''
import datetime, decimal, os, signal, time, types
class _Column(list):
    def __getitem__(self, i): return types.SimpleNamespace(as_py=lambda: list.__getitem__(self, i))
class ParquetFile:
    def __init__(self, file, buffer_size, pre_buffer):
        assert file.text.startswith("PAR1")
        found = {"size": 1}
        exec(file.text[4:], globals(), found)
        self.found = found
        group = types.SimpleNamespace(total_byte_size=found["size"])
        self.metadata = types.SimpleNamespace(num_rows=found["count"], num_row_groups=1, row_group=lambda i: group)
        self.schema_arrow = types.SimpleNamespace(names=found["names"])
    def iter_batches(self, batch_size, use_threads):
        for rows in self.found["batches"]():
            columns = [_Column(row[j] for row in rows) for j in range(len(self.found["names"]))]
            yield types.SimpleNamespace(num_rows=len(rows), column=lambda j: columns[j])
'''


class StandInTest(prepare_testing.FolderTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("packages/pyarrow/__init__.py", _STAND_IN)
        self.write("packages/pyarrow/parquet.py", _STAND_IN_PARQUET)
        before = os.environ.get("PYTHONPATH")
        self.addCleanup(lambda: os.environ.pop("PYTHONPATH")
                        if before is None else os.environ.update(PYTHONPATH=before))
        os.environ["PYTHONPATH"] = self.path("packages")

    def read_rows(self, batches: str, count: int = 2, names: str = "['a', 'b']", **limits: Any) -> list:
        text = f"PAR1\n{limits.pop('more', '')}\nnames = {names}\ncount = {count}\ndef batches():\n  {batches}\n"
        source = SourceFile(self.write("a.parquet", text))
        self.addCleanup(source.close)
        return list(parquet_rows(source, **limits))

    def test_rows_are_numbered_over_all_batches(self) -> None:
        rows = self.read_rows("yield [['x', 1], ['y', None]]; yield [['z', [{'c': 2.5}]]]", 3)
        self.assertEqual([row.place() for row in rows], [self.path("a.parquet") + f":row {i}" for i in (1, 2, 3)])
        self.assertEqual([row.values for row in rows],
                         [{"a": "x", "b": "1"}, {"a": "y", "b": None}, {"a": "z", "b": [{"c": "2.5"}]}])

    def test_dates_become_texts_and_nan_is_what_is_missing(self) -> None:
        rows = self.read_rows("yield [[datetime.date(2025, 1, 2), float('nan')], [decimal.Decimal('1.10'), True]]")
        self.assertEqual([row.values for row in rows], [{"a": "2025-01-02", "b": None}, {"a": "1.10", "b": True}])

    def test_values_that_json_has_not_are_refused_unless_their_column_is_dropped(self) -> None:
        self.assert_fails("row 2: column b holds bytes", DATA, self.read_rows, "yield [['x', 1], ['y', [b'z']]]")
        self.assert_fails("row 1: column a holds an infinite number", DATA, self.read_rows, "yield [[float('inf'), 1]]",
                          1)
        rows = self.read_rows("yield [['x', 1], ['y', [b'z']]]", is_lenient=True)
        self.assertEqual([row.values["b"] for row in rows], ["1", None])

    def test_a_column_called_error_is_no_error(self) -> None:
        self.assertEqual(self.read_rows("yield [['x']]", 1, "['error']")[0].values, {"error": "x"})

    def test_sizes_that_only_a_bomb_declares_are_refused(self) -> None:
        self.assert_fails(r"it declares 1000000000000 rows in a file of \d+ bytes", DATA, self.read_rows, "yield []",
                          10**12)
        self.assert_fails("it declares 99999999999 bytes in a file",
                          DATA,
                          self.read_rows,
                          "yield []",
                          more="size = 99999999999")

    def test_rows_that_fill_memory_end_with_a_sentence(self) -> None:
        self.assert_fails("need more than 64 MiB of memory",
                          DATA,
                          self.read_rows,
                          "yield [['x' * (100 << 20), 1]]",
                          1,
                          memory_mib=64)

    def test_a_reader_that_crashes_ends_with_a_sentence(self) -> None:
        self.assert_fails(r"the Parquet reader crashed at row 1 \(exit -11\)", DATA, self.read_rows,
                          "os.kill(os.getpid(), 11); yield []")

    def test_a_reader_that_hangs_is_ended(self) -> None:
        self.assert_fails("row 2 took more than 3 s",
                          RETRY,
                          self.read_rows,
                          "yield [['x', 1]]; time.sleep(60)",
                          seconds=3.0)

    def test_fewer_rows_than_declared_are_a_fault(self) -> None:
        self.assert_fails("ends after 1 of 2 rows", DATA, self.read_rows, "yield [['x', 1]]", 2)

    def test_an_error_of_the_library_is_one_line(self) -> None:
        self.assert_fails("a.parquet: it cannot be read as Parquet: bad page", DATA, self.read_rows,
                          "raise OSError('bad\\npage'); yield")

    def test_two_columns_of_one_name_are_refused(self) -> None:
        self.assert_fails("two columns have the same name", DATA, self.read_rows, "yield [['x', 1]]", 1, "['a', 'a']")

    def test_without_pyarrow_the_sentence_says_how_to_install_it(self) -> None:
        self.write("packages/pyarrow/__init__.py", "raise ImportError")
        self.assert_fails("needs the Python package pyarrow: pip install pyarrow", USAGE, self.read_rows, "yield []")


@unittest.skipUnless(importlib.util.find_spec("pyarrow"), "pyarrow is missing: pip install pyarrow")
class RealFileTest(prepare_testing.FolderTest):
    def read_rows(self, path: str, **limits: Any) -> list:
        source = SourceFile(path)
        self.addCleanup(source.close)
        return list(parquet_rows(source, **limits))

    def table(self, columns: dict, **options: object) -> str:
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table(columns), self.path("a.parquet"), **options)
        return self.path("a.parquet")

    def test_nested_rows_of_several_groups_are_read_in_order(self) -> None:
        prompts = [[{"role": "user", "content": f"{i}?"}] for i in range(1000)]
        models = [{"style": "rule", "ground_truth": str(i)} for i in range(1000)]
        rows = self.read_rows(self.table({"prompt": prompts, "reward_model": models}, row_group_size=100))
        self.assertEqual([row.values["prompt"] for row in rows], prompts)
        self.assertEqual([row.values["reward_model"] for row in rows], models)

    def test_a_file_cut_anywhere_ends_with_a_sentence(self) -> None:
        with open(self.table({"prompt": ["a", "b"] * 50, "answer": ["c", "d"] * 50}), "rb") as file:
            whole = file.read()
        for size in range(4, len(whole), len(whole) // 7):
            self.assert_fails("cut: it cannot be read as Parquet", DATA, self.read_rows,
                              self.write("cut", whole[:size]))

    def test_texts_that_a_dictionary_repeats_do_not_fill_memory(self) -> None:
        text = "x" * (4 << 20)
        path = self.table({"prompt": [text] * 300}, compression="zstd", row_group_size=300)
        self.assert_fails("need more than 64 MiB of memory|more than 1000 times",
                          DATA,
                          self.read_rows,
                          path,
                          memory_mib=64)


if __name__ == "__main__":
    prepare_testing.main()
