"""Special tokens in data: a text that holds one would be read as the end of a turn, or as another's."""

import re
from collections.abc import Callable
from typing import Any

import reprise.prepare.json_text as json_text
from reprise.prepare.failure import DATA, Failure, printable


class SpecialTokens:
    """The special tokens of a model, or none."""
    def __init__(self, tokens: list[str]) -> None:
        self._pattern = re.compile("|".join(map(re.escape, tokens))) if tokens else None

    def refuse(self, value: Any, place: Callable[[], str], what: str) -> None:
        """Failure if a text within the value, which `what` describes, contains a special token."""
        if self._pattern is None:
            return
        for text in json_text.texts(value):
            found = self._pattern.search(text)
            if found:
                raise Failure(
                    DATA, f"{place()}: {what} contains {printable(found[0])}, a special token of the model, as "
                    f"character {found.start() + 1}: remove it, or keep it by --allow-special if the data is trusted")
