"""Rows of JSON lines and of a JSON list."""

import re
from collections.abc import Iterator
from typing import Any

import reprise.prepare.json_text as json_text
from reprise.prepare.failure import DATA, Failure
from reprise.prepare.row import Row, position
from reprise.prepare.source_file import MOST_LINE_BYTES, SourceFile
from reprise.prepare.text_of_bytes import decode

MOST_LIST_BYTES = 256 << 20
_FORM = 'expected one JSON object per line, as {"prompt": "12+7=", "answer": "19"}'
_SPACE = b" \t\r\n"
# A whole string, or a quote that nothing closes.
_MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{},]', re.DOTALL)


def _row(path: str, line: int, column: int, text: str, form: str) -> Row:
    try:
        value: Any = json_text.parse(text)
    except json_text.JsonError as error:
        offset = min(error.offset, len(text))
        ends_early = text.lstrip().startswith("{") and not text[offset:].strip()
        hint = "; an object must not span several lines: write one per line, for example with jq -c . FILE"
        place = position(path, line, column, text, offset)
        raise Failure(DATA, f"{place}: {error}; {form}{hint if ends_early else ''}") from None
    if not isinstance(value, dict):
        raise Failure(DATA, f"{path}:{line}:{column}: this is not an object; {form}")
    return Row(path, line, value, text, column)


def json_lines(source: SourceFile) -> Iterator[Row]:
    """Yields the rows; lines of white space alone are passed over."""
    for number, line in source.lines():
        if line.strip(_SPACE):
            yield _row(source.path, number, 1, decode(source.path, number, line).rstrip("\r\n"), _FORM)


def json_list(source: SourceFile) -> Iterator[Row]:
    """Yields the rows of one list of objects, which is held in memory as bytes: MOST_LIST_BYTES at most. Each element
    is parsed alone, so that its numbers and its place are known."""
    data = source.whole(MOST_LIST_BYTES)
    level, begin, counted = 0, 0, 0
    line, line_begin = 1, 0  # of the element that begins at `counted`
    end = 0  # of the list, when it is known
    for mark in _MARK.finditer(data):
        kind, at = mark[0], mark.start()
        if kind == b'"':
            raise _list_failure(source.path, data, at, "a text is not closed")
        if end:
            break
        if kind in (b"[", b"{"):
            level += 1
            begin = mark.end() if level == 1 else begin
        if kind in (b"]", b"}"):
            level -= 1
        if (kind == b"," and level == 1) or level == 0:
            element = data[begin:at]
            if element.strip(_SPACE) or kind == b"," or counted:
                begin += len(element) - len(element.lstrip(_SPACE))
                line += data.count(b"\n", counted, begin)
                line_begin = max(line_begin, data.rfind(b"\n", counted, begin) + 1)
                counted = begin
                yield _element(source.path, data[begin:at], line, begin - line_begin + 1)
            begin = mark.end()
            end = mark.end() if level == 0 else 0
    if not end or data[end - 1:end] != b"]":
        raise _list_failure(source.path, data, len(data), "the list is not closed: the file may be truncated")
    if data[end:].strip(_SPACE):
        at = len(data) - len(data[end:].lstrip(_SPACE))
        raise _list_failure(source.path, data, at, "something follows the list")


def _element(path: str, data: bytes, line: int, column: int) -> Row:
    form = "expected a list of objects"
    if len(data) > MOST_LINE_BYTES:
        raise Failure(DATA, f"{path}:{line}:{column}: the element has more than {MOST_LINE_BYTES} bytes")
    if not data:
        raise Failure(DATA, f"{path}:{line}:{column}: an element is missing beside a comma; {form}")
    return _row(path, line, column, _decode_element(path, line, column, data), form)


def _decode_element(path: str, line: int, column: int, data: bytes) -> str:
    """Returns the element's text; Failure with the place in the file of a byte that is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return decode(path, line, b" " * (column - 1) + data)  # so that the column is the file's


def _list_failure(path: str, data: bytes, at: int, sentence: str) -> Failure:
    line = data.count(b"\n", 0, at) + 1
    column = at - (data.rfind(b"\n", 0, at) + 1) + 1
    return Failure(DATA, f"{path}:{line}:{column}: {sentence}; expected one JSON list of objects")
