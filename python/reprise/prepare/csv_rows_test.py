"""Promise: CSV is read as spreadsheets and pandas write it, and a row that does not fit the header names its line."""

import csv
import io
import random

import prepare_testing

from reprise.prepare.csv_rows import csv_rows, separator_of
from reprise.prepare.failure import DATA
from reprise.prepare.row import Row
from reprise.prepare.source_file import SourceFile


class CsvTest(prepare_testing.FolderTest):
    def read_rows(self, contents: str | bytes, most: int = 1000) -> list[Row]:
        source = SourceFile(self.write("a.csv", contents))
        self.addCleanup(source.close)
        return list(csv_rows(source, most))

    def refused(self, pattern: str, contents: str | bytes, most: int = 1000) -> None:
        self.assert_fails(pattern, DATA, self.read_rows, contents, most)

    def test_quoted_texts_may_have_separators_quotes_and_newlines(self) -> None:
        rows = self.read_rows('\ufeffprompt,answer\r\n"a, ""b""\nc",1\r\n\r\nd,\r\n')
        self.assertEqual([row.values for row in rows],
                         [{"prompt": 'a, "b"\nc', "answer": "1"}, {"prompt": "d", "answer": ""}])
        self.assertEqual([row.place() for row in rows], [self.path("a.csv") + ":2", self.path("a.csv") + ":5"])

    def test_values_are_texts_also_where_they_look_like_numbers(self) -> None:
        self.assertEqual(self.read_rows("prompt,answer\n007,1.10")[0].values, {"prompt": "007", "answer": "1.10"})

    def test_what_python_writes_is_read(self) -> None:
        generator = random.Random(1)
        table = [
            ["".join(generator.choice('ab," \n\r;\t é') for _ in range(5)) + "." for _ in range(3)] for _ in range(200)
        ]
        text = io.StringIO(newline="")
        csv.writer(text).writerows([["p", "q", "r"], *table])
        self.assertEqual([list(row.values.values()) for row in self.read_rows(text.getvalue())], table)

    def test_tabs_and_semicolons_separate_where_the_header_has_them(self) -> None:
        self.assertEqual(self.read_rows("a\tb\n1,2\t3\n")[0].values, {"a": "1,2", "b": "3"})
        self.assertEqual(self.read_rows("a;b\n1,2;3\n")[0].values, {"a": "1,2", "b": "3"})
        self.assertEqual(separator_of("one"), ",")

    def test_a_row_with_another_number_of_fields_names_its_line(self) -> None:
        self.refused(r'a.csv:4: the row has 3 fields, and the header names 2 \("a", "b"\)', 'a,b\n"1\n",2\n3,4,5\n')
        self.refused("a.csv:2: the row has 1 fields", "a,b\n1\n")

    def test_a_header_needs_different_names(self) -> None:
        self.refused("a.csv:1: column 1 has no name", ",prompt\n0,a\n")
        self.refused("a.csv:1: the header names more than 10000 columns", "a," * 10_001 + "a\n")
        self.refused('a.csv:1: two columns are called "a"', "a,b,a\n1,2,3\n")

    def test_a_quote_that_is_not_closed_names_where_it_begins(self) -> None:
        self.refused("a.csv:3: a quoted text that begins here is not closed", 'a,b\n1,2\n"3,4\n5,6\n')
        self.refused("a.csv:2: a quoted text that begins here is not closed, or is too long", 'a,b\n"' + "x\n" * 2000,
                     1000)
        self.refused("a.csv:2: ',' expected after '\"'", 'a,b\n"1"x,2\n')

    def test_invalid_utf_8_has_its_line(self) -> None:
        self.refused("a.csv:2:3: the byte 0xe9 is not UTF-8", b"a,b\n1,\xe9\n")


if __name__ == "__main__":
    prepare_testing.main()
