"""A row of a source, which knows its place for messages."""

import dataclasses
from typing import Any

import reprise.prepare.json_text as json_text
from reprise.prepare.failure import DATA, Failure


@dataclasses.dataclass(frozen=True)
class Row:
    """`values` are the columns by name, as json_text.parse gives them. `line` and `column` are where the row begins,
    from 1; `text` is the row's JSON, if the source is JSON. Where `unit` is set ("row "), `line` counts rows."""

    path: str
    line: int
    values: dict[str, Any]
    text: str = ""
    column: int = 1
    unit: str = ""

    def place(self, name: str = "") -> str:
        """Returns FILE:LINE, with the column of a member's value if the source is JSON and has it."""
        if not self.text:
            return f"{self.path}:{self.unit}{self.line}"
        return position(self.path, self.line, self.column, self.text, json_text.member_offset(self.text, name))

    def failure(self, name: str, sentence: str) -> Failure:
        """Returns the error about the column `name`, which the sentence describes."""
        return Failure(DATA, f"{self.place(name.partition('.')[0])}: {sentence}")


def position(path: str, line: int, column: int, text: str, offset: int) -> str:
    """Returns FILE:LINE:COLUMN of a character of a text that begins at line and column; columns count bytes."""
    before = text[:offset]
    lines = before.count("\n")
    within = len(before[before.rfind("\n") + 1:].encode("utf-8", "surrogatepass"))
    return f"{path}:{line + lines}:{within + (1 if lines else column)}"
