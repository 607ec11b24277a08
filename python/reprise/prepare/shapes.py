"""Which columns of a source are the prompt and the answer: the shapes in which data sets are published."""

import dataclasses
from typing import Any

import reprise.prepare.messages as chat
from reprise.prepare.failure import listed
from reprise.prepare.json_text import JsonError, Number, parse
from reprise.prepare.row import Row

VERL_ANSWER = "reward_model.ground_truth"
_MARK = "####"
_PROMPTS = ("prompt", "messages", "question")
_ANSWERS = ("answer", "completion", VERL_ANSWER)
_EXPECTED = (f"expected prompt and answer or completion, messages, question and answer, or prompt and {VERL_ANSWER}: "
             "name the columns by --prompt COLUMN and --answer COLUMN")


@dataclasses.dataclass(frozen=True)
class Shape:
    """`answer` is "" where rows have none. `prompt_is_chat` says that the prompt is a list of messages; `splits` that
    its last message is the answer; `is_marked` that the answer is what follows #### (GSM8K)."""

    prompt: str
    answer: str
    prompt_is_chat: bool
    splits: bool
    is_marked: bool

    def sentence(self) -> str:
        """Returns the shape in words, for the summary."""
        answer = "its last message" if self.splits else self.answer or "none"
        kind = " (GSM8K: what follows ####)" if self.is_marked else " (verl)" if self.answer == VERL_ANSWER else ""
        messages = " (messages)" if self.prompt_is_chat and not self.splits else ""
        return f"prompt: {self.prompt}{messages}; answer: {answer}{kind}"


@dataclasses.dataclass(frozen=True)
class Problem:
    """`prompt` is a text or messages; `answer` is None where the shape has none; `others` are the columns that are
    kept."""

    prompt: str | list[chat.Message]
    answer: str | None
    others: dict[str, Any]
    is_rendered: bool


def find(values: dict[str, Any], name: str) -> Any:
    """Returns the value of a column, or of a member of a column that is an object (a.b); None without one."""
    if name in values or "." not in name:
        return values.get(name)
    outer, _, inner = name.partition(".")
    return find(values[outer], inner) if isinstance(values.get(outer), dict) else None


def _one_of(row: Row, candidates: tuple[str, ...], option: str) -> str:
    found = [name for name in candidates if find(row.values, name) is not None]
    if len(found) > 1:
        raise row.failure(found[1], f"the row has {listed(found)}: {option} COLUMN names the one that counts")
    return found[0] if found else ""


def _messages_of(value: Any) -> Any:
    """Returns a list of messages also where a column of texts (CSV) holds it as JSON; other values as they are."""
    if chat.is_text(value) and value.lstrip().startswith("["):
        try:
            return parse(value)
        except JsonError:
            return value
    return value


def recognise(row: Row, prompt: str = "", answer: str = "") -> Shape:
    """Returns the shape of a source by its first row, and by the columns that the user names."""
    chosen = prompt or _one_of(row, _PROMPTS, "--prompt")
    if not chosen:
        raise row.failure(
            "", f"the row has {listed(list(row.values))}, and none of them is known as a prompt; {_EXPECTED}")
    if find(row.values, chosen) is None:
        raise row.failure("", f'there is no column "{chosen}"; the row has {listed(list(row.values))}')
    value = find(row.values, chosen)
    is_messages = chosen == "messages" and not prompt
    is_chat = isinstance(_messages_of(value) if is_messages else value, list)
    if is_messages and not answer:
        return Shape(chosen, "", True, True, False)
    named = answer or _one_of(row, tuple(name for name in _ANSWERS if name != chosen), "--answer")
    if chosen == "question" and not prompt and not named:
        raise row.failure("", f'the row has a question and no answer, only {listed(list(row.values))}; {_EXPECTED}')
    found = find(row.values, named) if named else None
    is_marked = chosen == "question" and not prompt and not answer and chat.is_text(found) and _MARK in str(found)
    return Shape(chosen, named, is_chat, False, is_marked)


def _prompt(row: Row, shape: Shape) -> str | list[chat.Message]:
    value = find(row.values, shape.prompt)
    if shape.prompt_is_chat:
        return chat.as_prompt(row, shape.prompt, _messages_of(value) if shape.prompt == "messages" else value)
    if not chat.is_text(value):
        found = "missing" if value is None else chat.kind(value)
        remedy = ": write it in quotes" if isinstance(value, Number) else ""
        raise row.failure(shape.prompt, f'"{shape.prompt}" is {found}; expected a text, as in the first row{remedy}')
    if not value:
        raise row.failure(shape.prompt, f'"{shape.prompt}" is empty; expected a text')
    return value


def _answer(row: Row, shape: Shape) -> str | None:
    if not shape.answer:
        return None
    value = find(row.values, shape.answer)
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, list) and value and isinstance(value[-1], dict):  # a conversational completion of TRL
        value = chat.text_of(chat.check(row, shape.answer, value)[-1])
    if not chat.is_text(value):
        raise row.failure(
            shape.answer, f'"{shape.answer}" is {"missing" if value is None else chat.kind(value)}; expected a text or '
            'a number: complete the row or remove it')
    if shape.is_marked:
        _, mark, value = value.rpartition(_MARK)
        value = value.strip()
        if not mark:
            raise row.failure(
                shape.answer, f'"{shape.answer}" has no {_MARK}, and that of the first row has; --prompt question '
                '--answer answer takes whole answers')
    if not value:
        raise row.failure(shape.answer, f'"{shape.answer}" is empty; expected a text: complete the row or remove it')
    return value


def extract(row: Row, shape: Shape) -> Problem:
    """Returns the row's problem. Failure, with the place, for a row of another shape."""
    prompt: str | list[chat.Message]
    answer: str | None
    if shape.splits:
        prompt, answer = chat.with_answer(row, shape.prompt, _messages_of(row.values.get(shape.prompt)))
    else:
        prompt, answer = _prompt(row, shape), _answer(row, shape)
    used = {shape.prompt, shape.answer}
    others = {name: value for name, value in row.values.items() if name not in used}
    rendered = others.pop("rendered", None)
    if rendered not in (None, True, False) or (rendered and shape.prompt_is_chat):
        raise row.failure(
            "rendered", '"rendered" is the name of a mark, which is true where the prompt is a text that a chat '
            'template has written: rename the column')
    return Problem(prompt, answer, others, rendered is True)
