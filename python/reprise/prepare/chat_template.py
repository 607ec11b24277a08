"""Chat templates as Hugging Face Transformers renders them: Jinja2's immutable sandbox with its settings, functions and
variables. What could make two renderings differ (the clock, `random`) is fixed or refused. Runs in a child process
(render_worker.py), because a template may loop or fill memory."""

import datetime
import json
from typing import Any

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
import jinja2.sandbox
import jinja2.utils

# What a template must not reach, and what it would then print. Older releases hand out str.format itself, which reads
# any attribute of its arguments (CVE-2024-56326, CVE-2025-27516). Distributions repair that without another version
# number, so it is tried.
_WAYS_OUT = (
    ("{{ ''|attr('format') }}", "built-in"),
    ("{{ ''.format }}", "built-in"),
    ("{{ ''|attr('format_map') }}", "built-in"),
    ("{{ ''.__class__.__mro__ }}", "class"),
    ("{{ cycler.__init__.__globals__ }}", "name"),
)
_REASONING = ("reasoning_content", "thinking", "reasoning")


class _Generation(jinja2.ext.Extension):
    """`{% generation %}...{% endgeneration %}`, which marks what the model wrote: it renders as its contents."""

    tags = {"generation"}

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        # A block of its own: names that are set within are not seen after it, as Transformers has it.
        return jinja2.nodes.CallBlock(self.call_method("contents"), [], [], body).set_lineno(line)

    def contents(self, caller: Any) -> str:
        return caller()


class _Dict:
    """`dict(...)` without the class, whose attributes lead out of the sandbox."""
    def __call__(self, *arguments: Any, **named: Any) -> dict:
        return dict(*arguments, **named)

    def fromkeys(self, *arguments: Any) -> dict:
        return dict.fromkeys(*arguments)


class _Namespace(jinja2.utils.Namespace):
    """`namespace(...)`, whose names do not begin with an underscore."""
    def __init__(*arguments: Any, **named: Any) -> None:  # so that namespace(self=1) works
        attributes = dict(*arguments[1:], **named)
        for name in attributes:
            _Namespace._check(name)
        jinja2.utils.Namespace.__init__(arguments[0], attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _Namespace._check(name)  # not of `self`, whose attributes are the namespace's names
        super().__setitem__(name, value)

    @staticmethod
    def _check(name: Any) -> None:
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(f"a namespace has no name that begins with an underscore: {name}")


def _raise_exception(message: Any) -> None:
    raise jinja2.exceptions.TemplateError(message)


def _to_json(value: Any,
             ensure_ascii: bool = False,
             indent: Any = None,
             separators: Any = None,
             sort_keys: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _not_reproducible(*_: Any, **__: Any) -> None:
    raise jinja2.exceptions.TemplateError("the template draws at random, so that no rendering can be repeated")


def environment(date: datetime.date) -> jinja2.sandbox.ImmutableSandboxedEnvironment:
    """Returns the environment in which `strftime_now` tells that date, at midnight."""
    now = datetime.datetime(date.year, date.month, date.day)
    result = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True,
                                                          lstrip_blocks=True,
                                                          extensions=[_Generation, jinja2.ext.loopcontrols])
    result.filters["tojson"] = _to_json
    result.filters["random"] = _not_reproducible
    result.globals.update(raise_exception=_raise_exception,
                          strftime_now=now.strftime,
                          dict=_Dict(),
                          namespace=_Namespace,
                          lipsum=_not_reproducible)
    return result


def way_out(date: datetime.date) -> bool:
    """Whether a template could leave the sandbox of this Jinja2 in one of the known ways."""
    for text, reached in _WAYS_OUT:
        try:
            if reached in environment(date).from_string(text).render():
                return True
        except jinja2.exceptions.SecurityError:
            pass
    return False


def messages_for_template(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the messages as Transformers (5.24) passes them: without members that are null, and with reasoning under
    the names that templates read."""
    result = []
    for message in messages:
        kept = {name: value for name, value in message.items() if value is not None}
        reasoning = next((kept[name] for name in _REASONING if name in kept), None)
        if reasoning is not None:
            kept = {"thinking": reasoning, **kept, "reasoning_content": reasoning}
        result.append(kept)
    return result


def render(template: jinja2.Template, messages: list[dict[str, Any]], tools: Any, tokens: dict[str, str]) -> str:
    """Returns the text up to where the answer begins (add_generation_prompt). Raises what the template raises."""
    return template.render(messages=messages_for_template(messages),
                           tools=tools,
                           documents=None,
                           add_generation_prompt=True,
                           **tokens)
