"""Strict JSON whose numbers stay as they are written, so that what is read can be written again without a change."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

MOST_DEPTH = 60  # the reader of data files allows 64
# Bounds the memory of a hostile line: 64 MiB of "[],[]," would be gigabytes of lists.
MOST_VALUES = 2_000_000
_MARK = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{},]', re.DOTALL)
_write_text: Callable[[str], str] = json.encoder.encode_basestring
_CONSTANTS = {None: "null", True: "true", False: "false"}


class Number(str):
    """A number as the text writes it: with all its digits."""

    __slots__ = ()


class JsonError(Exception):
    """`offset` is where in the text, in characters from 0."""
    def __init__(self, offset: int, sentence: str) -> None:
        super().__init__(sentence)
        self.offset = offset


class _Duplicate(Exception):
    pass


class _Constant(Exception):
    pass


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        for name, _ in pairs:
            if name not in found:
                raise _Duplicate(name)
            del found[name]
    return found


def _constant(name: str) -> Any:
    raise _Constant(name)


_DECODER = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=_constant, object_pairs_hook=_members)


def parse(text: str) -> Any:
    """Returns dict, list, str, Number, True, False and None. JsonError if the text is not one strict JSON value, has a
    name twice in an object, half a surrogate pair, more than MOST_DEPTH levels or more than MOST_VALUES values."""
    if len(text) > MOST_VALUES and text.count(",") + text.count("[") + text.count("{") > MOST_VALUES:
        raise JsonError(0, f"it has more than {MOST_VALUES} values")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonError(error.pos, f"not valid JSON ({error.msg[:1].lower()}{error.msg[1:]})") from None
    except _Duplicate as error:
        at = text.rfind(_write_text(str(error)))
        raise JsonError(max(at, 0), f"the name {_write_text(str(error))} occurs twice in an object") from None
    except _Constant as error:
        raise JsonError(text.find(str(error)), f"{error} is not JSON: write null or a text") from None
    except RecursionError:
        raise JsonError(0, f"it is nested deeper than {MOST_DEPTH} levels") from None
    if depth(value) > MOST_DEPTH:
        raise JsonError(0, f"it is nested deeper than {MOST_DEPTH} levels")
    if "\\u" in text:
        _refuse_half_pairs(text, value)
    return value


def depth(value: Any) -> int:
    """Returns the levels of lists and objects: 0 for a text."""
    levels, layer = 0, [value]
    while True:
        layer = [item for item in layer if isinstance(item, (dict, list))]
        if not layer:
            return levels
        levels += 1
        layer = [inner for item in layer for inner in (item.values() if isinstance(item, dict) else item)]


def _refuse_half_pairs(text: str, value: Any) -> None:
    try:
        write(value).encode()
    except UnicodeEncodeError:
        at = re.search(r"\\u[dD][89a-fA-F]", text)
        raise JsonError(at.start() if at else 0, "it has half of a surrogate pair, which is no character") from None


def write(value: Any) -> str:
    """Returns the value as JSON in one line, its numbers as they were written."""
    if isinstance(value, Number):
        return str.__str__(value)
    if isinstance(value, str):
        return _write_text(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_write_text(name)}: {write(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(write, value)) + "]"
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    return json.dumps(value, allow_nan=False)


def plain(value: Any) -> Any:
    """Returns the value with Python's numbers, as json.loads gives it. ValueError for one of thousands of digits."""
    if isinstance(value, Number):
        return float(value) if any(c in value for c in ".eE") else int(value)
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def texts(value: Any) -> Iterator[str]:
    """Yields every text in the value, names of objects included."""
    if isinstance(value, str):
        if not isinstance(value, Number):
            yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def member_offset(text: str, name: str) -> int:
    """Returns where the value of a member of the outermost object begins, in characters from 0; 0 without it."""
    level, last = 0, None
    for mark in _MARK.finditer(text):
        if mark[0] in "[{":
            level += 1
        elif mark[0] in "]}":
            level -= 1
        elif mark[0] == ",":
            last = None
        elif level == 1 and last is None:
            last = mark
            if json.loads(mark[0]) == name and (colon := re.compile(r"\s*:\s*").match(text, mark.end())):
                return colon.end()
    return 0
