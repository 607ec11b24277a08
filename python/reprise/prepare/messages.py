"""Conversations: lists of messages, each {"role": ..., "content": ...}."""

from typing import Any

import reprise.prepare.json_text as json_text
from reprise.prepare.failure import Failure, listed, quoted
from reprise.prepare.row import Row

_FORM = 'expected a list of messages, as [{"role": "user", "content": "12+7="}]'
Message = dict[str, Any]


def is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, json_text.Number)


def kind(value: Any) -> str:
    """Returns what a value is, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    names = ((json_text.Number, "a number"), (str, "a text"), (list, "a list"), (dict, "an object"))
    return next(name for of, name in names if isinstance(value, of))


def _content_fault(content: Any, message: Message) -> str:
    """Returns what is wrong with a message's content; "" for a text, a list of texts, and none beside a tool call."""
    if is_text(content) or (content is None and ("tool_calls" in message or "content" in message)):
        return ""
    if not isinstance(content, list):
        return f"has a content that is {kind(content)}" if "content" in message else "has no content"
    for part in content:
        if not isinstance(part, dict) or part.get("type") != "text" or not is_text(part.get("text")):
            what = part.get("type") if isinstance(part, dict) and is_text(part.get("type")) else kind(part)
            return f"has a part that is no text ({what}); only texts are read"
    return ""


def check(row: Row, column: str, value: Any) -> list[Message]:
    """Returns the messages of a column. Failure if they are none."""
    if not isinstance(value, list):
        raise row.failure(column, f'"{column}" is {kind(value)}; {_FORM}')
    if not value:
        raise row.failure(column, f'"{column}" is an empty list; {_FORM}')
    for number, message in enumerate(value, start=1):
        if not isinstance(message, dict):
            raise row.failure(column, f'message {number} of "{column}" is {kind(message)}; {_FORM}')
        role = message.get("role")
        if not is_text(role) or not role:
            hint = ": rename from and value to role and content" if "from" in message else ""
            raise row.failure(
                column, f'message {number} of "{column}" has no role, only {listed(list(message))}; {_FORM}{hint}')
        fault = _content_fault(message.get("content"), message)
        if fault:
            raise row.failure(column, f'message {number} of "{column}" {fault}; {_FORM}')
    return value


def as_prompt(row: Row, column: str, value: Any) -> list[Message]:
    """Returns messages that an answer can follow."""
    messages = check(row, column, value)
    if messages[-1]["role"] == "assistant":
        raise row.failure(
            column, f'the last message of "{column}" is the assistant\'s; expected the user\'s, which it answers: call '
            'the column "messages" if the last one is the answer')
    return messages


def with_answer(row: Row, column: str, value: Any) -> tuple[list[Message], str]:
    """Returns (the messages before the last one, the text of the last one), which is the assistant's."""
    messages = check(row, column, value)
    last = messages[-1]
    if last["role"] != "assistant":
        raise row.failure(
            column, f'the last message of "{column}" has the role {quoted(last["role"])}; expected the '
            'assistant\'s, '
            f"which is the answer: --prompt {column} if these messages are the prompt")
    if len(messages) == 1:
        raise row.failure(column, f'"{column}" has the answer alone; expected a message of the user before it')
    if last.get("tool_calls") or not text_of(last):
        raise row.failure(
            column, f'the last message of "{column}" has no text that could be the answer: name another by --answer')
    return messages[:-1], text_of(last)


def text_of(message: Message) -> str:
    """Returns the text of a message, which may be a list of texts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part["text"] for part in content)
    return content or ""


def with_system(messages: list[Message], system: str) -> list[Message]:
    """Returns the messages with a system message first, if they have none."""
    if not system or messages[0]["role"] in ("system", "developer"):
        return messages
    return [{"role": "system", "content": system}, *messages]
