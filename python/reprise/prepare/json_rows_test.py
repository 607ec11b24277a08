"""Promise: rows of JSON lines and of a JSON list are the same, and every fault has its line and column."""

import json

import prepare_testing

from reprise.prepare.failure import DATA
from reprise.prepare.json_rows import json_lines, json_list
from reprise.prepare.row import Row
from reprise.prepare.source_file import SourceFile


class _Reading(prepare_testing.FolderTest):
    def read_rows(self, contents: str | bytes, most: int = 1 << 20) -> list[Row]:
        source = SourceFile(self.write("a", contents), most)
        self.addCleanup(source.close)
        return list(self.reader(source))

    def refused(self, pattern: str, contents: str | bytes) -> None:
        self.assert_fails(pattern, DATA, self.read_rows, contents)


class JsonLinesTest(_Reading):
    reader = staticmethod(json_lines)

    def test_blank_lines_carriage_returns_and_a_missing_newline_are_passed_over(self) -> None:
        rows = self.read_rows(b'\xef\xbb\xbf{"a": "1"}\r\n\r\n  \t\n{"a": "2"}')
        self.assertEqual([(row.line, row.values) for row in rows], [(1, {"a": "1"}), (4, {"a": "2"})])

    def test_a_fault_has_line_and_column_in_bytes(self) -> None:
        self.refused(r"a:2:13: not valid JSON \(expecting ',' delimiter\); expected one JSON object per line",
                     '{}\n{"é": "é" "b"}\n')
        self.refused(r'a:1:10: the name "a" occurs twice', '{"a": 1, "a": 2}')
        self.refused(r"a:1:7: NaN is not JSON", '{"a": NaN}')
        self.refused(r"a:1:5: the byte 0xff is not UTF-8", b'{"a"\xff: 1}')
        self.refused(r"a:1:1: it is nested deeper", "[" * 500_000)

    def test_what_is_no_object_is_refused(self) -> None:
        for value in ("[1]", "1", '"a"', "null"):
            self.refused(r"a:2:1: this is not an object", "{}\n" + value)

    def test_an_object_over_several_lines_is_explained(self) -> None:
        self.refused(r"a:1:2: .*must not span several lines", '{\n  "a": 1\n}\n')

    def test_a_huge_line_is_refused_by_its_length(self) -> None:
        self.assert_fails("a:1:1: the line has more than 1000 bytes", DATA, self.read_rows,
                          '{"a": "' + "x" * 10**6 + '"}', 1000)


class JsonListTest(_Reading):
    reader = staticmethod(json_list)

    def test_elements_have_their_lines_and_columns(self) -> None:
        rows = self.read_rows('\ufeff[\n  {"a": "x, ] } [ \\" {"},{"a": {"b": [1, 2]}}\n ,\n{"a": 1.10}]\n')
        self.assertEqual([row.place() for row in rows],
                         [f"{self.path('a')}:{place}" for place in ("2:3", "2:26", "4:1")])
        self.assertEqual([row.values for row in rows], [{"a": 'x, ] } [ " {'}, {"a": {"b": ["1", "2"]}}, {"a": "1.10"}])
        self.assertTrue(rows[1].place("a").endswith(":2:32"), rows[1].place("a"))

    def test_it_has_the_rows_of_the_same_json_lines(self) -> None:
        values = [{"prompt": f"p{i}\n🙂", "n": [i, {"x": None}]} for i in range(50)]
        for indent in (None, 2):
            rows = self.read_rows(json.dumps(values, indent=indent, ensure_ascii=False))
            source = SourceFile(self.write_lines("b", *values))
            self.addCleanup(source.close)
            self.assertEqual([row.values for row in rows], [row.values for row in json_lines(source)])

    def test_an_empty_list_has_no_rows(self) -> None:
        self.assertEqual(self.read_rows(" [ \n ] \n"), [])

    def test_damage_is_named_with_its_place(self) -> None:
        self.refused("a:1:11: the list is not closed", '[{"a": 1},')
        self.refused("a:1:10: the list is not closed", '[{"a": 1}')
        self.refused("a:1:8: a text is not closed", '[{"a": "b}]')
        self.refused("a:1:12: an element is missing beside a comma", '[{"a": 1}, ]')
        self.refused("a:1:2: an element is missing beside a comma", '[,{"a": 1}]')
        self.refused("a:2:1: something follows the list", "[{}]\n[{}]")
        self.refused("a:1:6: something follows the list", "[{}] x")
        self.refused("a:2:1: this is not an object; expected a list of objects", "[{},\n1]")
        self.refused("a:2:7: not valid JSON", '[{},\n{"a": }]')
        self.refused("a:2:2: the byte 0xff", b'[{},\n{\xff"a": 1}]')
        self.refused("a:1:3: not valid JSON", "[{]}")
        self.refused("a:1:5: the list is not closed", "[{}}")


if __name__ == "__main__":
    prepare_testing.main()
