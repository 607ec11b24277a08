"""Renders conversations in a child process under limits, so that no template can hang or exhaust this program."""

import dataclasses
import json
from typing import Any

import reprise.prepare.json_text as json_text
from reprise.prepare.failure import DATA, USAGE, Failure
from reprise.prepare.limited_process import LimitedProcess, TookTooLong

# The date of templates that write today's: a rendering must not depend on the day of its making.
DEFAULT_DATE = "2025-01-01"
# Of a prompt: its canonical form may be 18 times as long.
MOST_CHARACTERS = 1 << 20
MEMORY_MIB = 256
SECONDS = 20.0


@dataclasses.dataclass(frozen=True)
class Template:
    """`path` is the file that the text is from, `tokens` the special tokens by the name of their variable."""

    path: str
    text: str
    tokens: dict[str, str]


class Renderer:
    """Starts the child and lets it compile the template. Failure if that fails, or if Jinja2 is missing or insecure."""
    def __init__(self,
                 template: Template,
                 date: str = DEFAULT_DATE,
                 seconds: float = SECONDS,
                 memory_mib: int = MEMORY_MIB) -> None:
        self._path, self._seconds = template.path, seconds
        self._process = LimitedProcess("reprise.prepare.render_worker", [])
        try:
            self.version = self._start(template, date, memory_mib)
        except BaseException:
            self.close()
            raise

    def _start(self, template: Template, date: str, memory_mib: int) -> str:
        """Lets the child compile the template, and returns the version of its Jinja2."""
        reply = self._ask(
            {
                "template": template.text, "tokens": template.tokens, "date": date, "mebibytes": memory_mib,
                "most": MOST_CHARACTERS, "seconds": 2 * self._seconds
            }, template.path)
        if reply.get("error") == "missing":
            raise Failure(
                USAGE, "rendering a chat template needs the Python package Jinja2: apt-get install python3-jinja2, or "
                "pip install 'jinja2>=3.1.6'")
        if reply.get("error") == "insecure":
            raise Failure(
                USAGE, f"Jinja2 {reply['version']} has a known way out of its sandbox, and a chat template may be "
                "anybody's: install security updates, or pip install 'jinja2>=3.1.6'")
        return self._text(reply, template.path, USAGE)

    def render(self, messages: list[dict[str, Any]], tools: Any, place: str) -> str:
        """Returns the text up to where the answer begins. `place` is the row's, for the sentence of a failure."""
        try:
            request = {"messages": json_text.plain(messages), "tools": json_text.plain(tools)}
        except ValueError:
            raise Failure(
                DATA, f"{place}: a number in the messages has too many digits for a template: write a text") from None
        return self._text(self._ask(request, f"{place}: {self._path}"), f"{place}: {self._path}", DATA)

    def close(self) -> None:
        self._process.close()

    def _ask(self, request: dict[str, Any], place: str) -> dict[str, Any]:
        try:
            line = self._process.exchange(json.dumps(request).encode(), self._seconds)
        except TookTooLong:
            raise Failure(
                DATA, f"{place}: the chat template took more than {self._seconds:g} s: it may loop for ever; use "
                "another by --chat-template FILE") from None
        if not line:
            raise Failure(
                DATA, f"{place}: the chat template crashed its process (exit {self._process.end()}): change the row, "
                "or use another by --chat-template FILE")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _text(self, reply: dict[str, Any], place: str, code: int) -> str:
        if "error" in reply:
            self.close()
            raise Failure(
                code, f"{place}: the chat template {reply['error']}; change the row, or use another template by "
                "--chat-template FILE")
        text: str = reply["text"]
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Failure(
                code, f"{place}: the chat template writes half of a surrogate pair, which is no character") from None
        return text
