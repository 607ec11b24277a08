"""Promise: a source is read once, line by line, within bounds, and nothing but a regular file is opened."""

import hashlib
import os

import prepare_testing

from reprise.prepare.failure import DATA, IO, RETRY, USAGE
from reprise.prepare.source_file import SourceFile, read_small, require_file
from reprise.prepare.text_of_bytes import decode, refuse_foreign


class SourceFileTest(prepare_testing.FolderTest):
    def lines(self, contents: bytes, most: int = 100) -> list[tuple[int, bytes]]:
        source = SourceFile(self.write("a", contents), most)
        self.addCleanup(source.close)
        return list(source.lines())

    def test_lines_are_numbered_and_the_last_one_needs_no_newline(self) -> None:
        self.assertEqual(self.lines(b"a\r\n\nb"), [(1, b"a\r\n"), (2, b"\n"), (3, b"b")])
        self.assertEqual(self.lines(b""), [])

    def test_a_byte_order_mark_is_passed_over_at_the_beginning_alone(self) -> None:
        mark = b"\xef\xbb\xbf"
        self.assertEqual(self.lines(mark + b"a\n" + mark + b"b\n"), [(1, b"a\n"), (2, mark + b"b\n")])

    def test_a_line_beyond_the_limit_is_refused_and_one_at_the_limit_is_read(self) -> None:
        self.assertEqual(self.lines(b"x" * 100 + b"\n", 100), [(1, b"x" * 100 + b"\n")])
        self.assertEqual(self.lines(b"x" * 100, 100), [(1, b"x" * 100)])
        for contents in (b"a\n" + b"x" * 101, b"a\n" + b"x" * 101 + b"\n", b"a\n" + b"x" * 10**6 + b"\n"):
            self.assert_fails(r"a:2:1: the line has more than 100 bytes", DATA, self.lines, contents, 100)

    def test_the_digest_is_that_of_all_bytes(self) -> None:
        contents = b"\xef\xbb\xbfa\r\n\n" + b"b" * 50
        for read in (lambda source: list(source.lines()), lambda source: source.whole(100),
                     lambda source: source.hash_all()):
            source = SourceFile(self.write("a", contents))
            read(source)
            self.assertEqual(source.sha256(), hashlib.sha256(contents).hexdigest())
            self.assertEqual(source.done, len(contents))
            source.close()

    def test_a_list_that_is_too_long_names_the_remedy(self) -> None:
        source = SourceFile(self.write("a", b"x" * 11))
        self.addCleanup(source.close)
        self.assert_fails("more than 10 bytes is not read: write one element per line", DATA, source.whole, 10)

    def test_a_file_that_changes_while_it_is_read_is_to_be_tried_again(self) -> None:
        source = SourceFile(self.write("a", "a\nb\n"))
        self.addCleanup(source.close)
        lines = source.lines()
        next(lines)
        with open(self.path("a"), "a") as file:
            file.write("c\n")
        self.assert_fails("was changed while it was read", RETRY, list, lines)

    def test_only_regular_files_are_opened(self) -> None:
        os.mkfifo(self.path("pipe"))
        self.assert_fails("pipe: it is not a regular file", DATA, SourceFile, self.path("pipe"))
        self.assert_fails("it is a directory", USAGE, SourceFile, self.folder)
        self.assert_fails("missing: No such file", USAGE, SourceFile, self.path("missing"))
        self.assert_fails("cannot read", USAGE, require_file, self.write("a", "") + "/b")
        self.assert_fails("null byte", IO, require_file, "a\0b")
        self.assert_fails("not a regular file", DATA, require_file, "/dev/null")

    def test_a_small_file_has_its_limit(self) -> None:
        self.assertEqual(read_small(self.write("a", "abc"), 3), b"abc")
        self.assert_fails("more bytes than the limit of 2", DATA, read_small, self.path("a"), 2)


class TextOfBytesTest(prepare_testing.FolderTest):
    def test_a_byte_that_is_not_utf_8_has_its_column(self) -> None:
        self.assertEqual(decode("f", 3, "é\n".encode()), "é\n")
        self.assert_fails(r"f:3:3: the byte 0xff is not UTF-8", DATA, decode, "f", 3, "é".encode() + b"\xff")
        self.assert_fails(r"f:4:2: the byte 0xe9", DATA, decode, "f", 3, b"ab\nc\xe9\n")
        self.assert_fails(r"f:1:1: the byte 0xed", DATA, decode, "f", 1, b"\xed\xa0\x80")  # half of a surrogate pair

    def test_other_formats_are_named(self) -> None:
        for beginning, name in ((b"\x1f\x8b\x08", "gzip -d"), (b"PK\x03\x04",
                                                               "zip"), (b"version https://git-lfs.github", "git lfs"),
                                (b"\xff\xfe{\0", "UTF-16"), (b"<!DOCTYPE html>", "web page"), (b"ARROW1\0\0", "Arrow")):
            self.assert_fails(name, DATA, refuse_foreign, "f", beginning)
        refuse_foreign("f", b'{"prompt": "a"}')


if __name__ == "__main__":
    prepare_testing.main()
