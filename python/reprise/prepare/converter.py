"""From a row to a line of the output: the prompt rendered, the text checked, other columns kept."""

import dataclasses
from collections.abc import Callable
from typing import Any

import reprise.prepare.json_text as json_text
from reprise.prepare.canonical import form_of_prompt, form_of_value
from reprise.prepare.failure import DATA, USAGE, Failure
from reprise.prepare.messages import with_system
from reprise.prepare.model_directory import ModelDirectory, read_text
from reprise.prepare.options import Options
from reprise.prepare.renderer import MOST_CHARACTERS, Renderer, Template
from reprise.prepare.row import Row
from reprise.prepare.shapes import Problem, Shape, extract, find
from reprise.prepare.source_file import MOST_LINE_BYTES
from reprise.prepare.special_tokens import SpecialTokens

_OWN_NAMES = ("prompt", "answer", "rendered")


@dataclasses.dataclass(frozen=True)
class Prepared:
    """`line` has its newline; `form` is that of the row's group."""

    line: bytes
    prompt: str
    answer: str | None
    form: str
    is_rendered: bool


def choose_templates(options: Options, model: ModelDirectory | None) -> tuple[Template | None, Template | None]:
    """Returns the template, and that for rows with tools. Failure if a system message is asked for without one."""
    tokens = model.template.tokens if model and model.template else {}
    if options.chat_template:
        template = Template(options.chat_template, read_text(options.chat_template), tokens)
        return template, None
    if model and model.template:
        return model.template, model.tool_template
    if options.system:
        raise Failure(
            USAGE, "--system needs a chat template, and there is none: add --model DIR with one, or --chat-template "
            "FILE")
    return None, None


class Converter:
    """Converts rows; close() ends the processes that render."""
    def __init__(self, options: Options, model: ModelDirectory | None) -> None:
        self._options = options
        self.template, tool_template = choose_templates(options, model)
        self._special = SpecialTokens([] if options.allow_special or not model else model.special)
        self._renderer = self._tool_renderer = None
        self.names_not_kept: dict[str, int] = {}
        if self.template:
            self._renderer = Renderer(self.template, options.date)
        if tool_template:
            self._tool_renderer = Renderer(tool_template, options.date)

    @property
    def jinja2_version(self) -> str:
        return self._renderer.version if self._renderer else ""

    def close(self) -> None:
        for renderer in (self._renderer, self._tool_renderer):
            if renderer:
                renderer.close()

    def convert(self, row: Row, shape: Shape) -> Prepared:
        """Returns the row's line. Failure, with its place, for a row that cannot be one."""
        problem = extract(row, shape)
        self._refuse_special(row, shape, problem)
        prompt, is_rendered = self._prompt(row, shape, problem)
        if len(prompt) > MOST_CHARACTERS:
            raise row.failure(shape.prompt, f"the prompt has {len(prompt)} characters; expected at most "
                              f"{MOST_CHARACTERS}")
        members: dict[str, Any] = {"prompt": prompt}
        if problem.answer is not None:
            members["answer"] = problem.answer
        if is_rendered:
            members["rendered"] = True
        if not self._options.drop_columns:
            members.update(self._others(problem))
        line = json_text.write(members).encode() + b"\n"
        if len(line) > MOST_LINE_BYTES:
            raise row.failure(
                "", f"the row makes a line of more than {MOST_LINE_BYTES} bytes: leave columns out by --drop-columns")
        return Prepared(line, prompt, problem.answer, self._form(row, problem), is_rendered)

    def _refuse_special(self, row: Row, shape: Shape, problem: Problem) -> None:
        def place_of(column: str) -> Callable[[], str]:  # which costs more than the check itself
            return lambda: row.place(column.partition(".")[0])

        if not problem.is_rendered:
            self._special.refuse(problem.prompt, place_of(shape.prompt), f'"{shape.prompt}"')
        if problem.answer is not None:
            self._special.refuse(problem.answer, place_of(shape.answer or shape.prompt), "the answer")
        self._special.refuse(problem.others.get("tools"), place_of("tools"), '"tools"')

    def _prompt(self, row: Row, shape: Shape, problem: Problem) -> tuple[str, bool]:
        """Returns (the text that the model reads, whether a template has written it)."""
        prompt = problem.prompt
        if isinstance(prompt, str):
            if problem.is_rendered or self._renderer is None or self._options.raw:
                return prompt, problem.is_rendered
            prompt = [{"role": "user", "content": prompt}]
        if self._renderer is None:
            raise Failure(
                USAGE, f"{row.place(shape.prompt)}: the prompt is a list of messages, which a chat template makes a "
                "text of: add --model DIR with one, or --chat-template FILE")
        prompt = with_system(prompt, self._options.system)
        tools = problem.others.get("tools")
        tools = tools if isinstance(tools, list) else None
        renderer = self._tool_renderer if tools is not None and self._tool_renderer else self._renderer
        text = renderer.render(prompt, tools, row.place(shape.prompt))
        if not text:
            raise Failure(DATA, f"{row.place(shape.prompt)}: the chat template makes an empty text of this prompt")
        return text, True

    def _others(self, problem: Problem) -> dict[str, Any]:
        """Returns the columns that are kept; counts those whose names the output needs itself."""
        for name in _OWN_NAMES:
            if name in problem.others:
                self.names_not_kept[name] = self.names_not_kept.get(name, 0) + 1
        return {name: value for name, value in problem.others.items() if name not in _OWN_NAMES}

    def _form(self, row: Row, problem: Problem) -> str:
        if not self._options.group_by:
            return form_of_prompt(problem.prompt)
        value = find(row.values, self._options.group_by)
        if value is None:
            raise row.failure(
                "", f'there is no column "{self._options.group_by}", which --group-by names, or it is null')
        return form_of_value(value)
