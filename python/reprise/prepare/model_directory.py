"""What of a model's directory decides how a conversation is written: chat template, special tokens, tokenizer."""

import dataclasses
import json
import os
from typing import Any

from reprise.prepare.failure import DATA, USAGE, Failure, listed
from reprise.prepare.renderer import Template
from reprise.prepare.source_file import BYTE_ORDER_MARK, read_small

_MOST_BYTES = 128 << 20
_MOST_TEMPLATE_BYTES = 1 << 20
# The variables that Transformers passes to a template.
_NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


@dataclasses.dataclass(frozen=True)
class ModelDirectory:
    """`special` are all special tokens, the longest first. `template` is None if there is none. `tool_template` is the
    one for rows with tools, where the directory names two."""

    path: str
    special: list[str]
    template: Template | None
    tool_template: Template | None
    tokenizer_path: str | None


def read_text(path: str, most_bytes: int = _MOST_TEMPLATE_BYTES) -> str:
    """Returns the text of a file in UTF-8."""
    try:
        return read_small(path, most_bytes).removeprefix(BYTE_ORDER_MARK).decode()
    except UnicodeDecodeError as error:
        raise Failure(DATA, f"{path}: byte {error.start + 1} is not UTF-8") from None


def _read_object(path: str) -> dict[str, Any]:
    """Returns the object of a JSON file; an empty one if there is no such file."""
    if not os.path.exists(path):
        return {}
    try:
        value = json.loads(read_text(path, _MOST_BYTES))
    except json.JSONDecodeError as error:
        raise Failure(DATA, f"{path}:{error.lineno}:{error.colno}: not valid JSON; expected a file of a model's "
                      "directory") from None
    except RecursionError:
        raise Failure(DATA, f"{path}: it is nested too deeply") from None
    if not isinstance(value, dict):
        raise Failure(DATA, f"{path}: expected a JSON object")
    return value


def _content(token: Any) -> str | None:
    """Returns the text of a token that a file writes as text or as an object with `content`."""
    token = token.get("content") if isinstance(token, dict) else token
    return token if isinstance(token, str) and token else None


def _special_tokens(tokenizer: dict[str, Any], config: dict[str, Any]) -> list[str]:
    found: set[str] = set()
    added = tokenizer.get("added_tokens") or []
    decoder = config.get("added_tokens_decoder") or {}
    entries = [*(added if isinstance(added, list) else []), *(decoder.values() if isinstance(decoder, dict) else [])]
    found.update(_content(entry) or "" for entry in entries if isinstance(entry, dict) and entry.get("special") is True)
    for name in (*_NAMED, "additional_special_tokens", "extra_special_tokens"):
        value = config.get(name)
        several = value if isinstance(value, list) else [value]
        if isinstance(value, dict) and "content" not in value:
            several = list(value.values())
        found.update(_content(token) or "" for token in several)
    return sorted(found - {""}, key=lambda token: (-len(token), token))


def _variables(config: dict[str, Any]) -> dict[str, str]:
    named = {name: token for name in _NAMED if (token := _content(config.get(name)))}
    for key in ("extra_special_tokens", "model_specific_special_tokens"):
        extra = config.get(key)
        if isinstance(extra, dict):
            named.update({name: token for name, value in extra.items() if (token := _content(value))})
    return named


def _named_templates(value: Any, path: str) -> dict[str, str]:
    """Returns the templates by name: a file has one text, or a list of {"name", "template"}."""
    if isinstance(value, str):
        return {"default": value}
    entries = value if isinstance(value, list) else []
    named = {
        entry["name"]: entry["template"] for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("name"), str) and isinstance(entry.get("template"), str)
    }
    if not named or len(named) != len(entries):
        raise Failure(DATA, f'{path}: expected chat_template to be a text, or a list of '
                      f'{{"name": ..., "template": ...}}')
    if "default" not in named:
        raise Failure(
            USAGE, f"{path} has the chat templates {listed(list(named))}, and none is called default: write one of "
            "them into a file and name it by --chat-template")
    return named


def _templates(folder: str, config: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """Returns the file and its templates by name: Transformers' order of files."""
    path = os.path.join(folder, "chat_template.jinja")
    if os.path.exists(path):
        named = {"default": read_text(path)}
        more = os.path.join(folder, "additional_chat_templates", "tool_use.jinja")
        return path, named | ({"tool_use": read_text(more)} if os.path.exists(more) else {})
    path = os.path.join(folder, "chat_template.json")
    value = _read_object(path).get("chat_template")
    if value is None:
        path, value = os.path.join(folder, "tokenizer_config.json"), config.get("chat_template")
    return path, {} if value is None else _named_templates(value, path)


def read_model_directory(folder: str) -> ModelDirectory:
    """Reads tokenizer_config.json, tokenizer.json, special_tokens_map.json and the template. Failure if `folder` is no
    directory, has neither of the first two, or a file of it is damaged."""
    if not os.path.isdir(folder):
        raise Failure(USAGE, f"--model {folder}: there is no such directory; expected one with tokenizer.json")
    config = _read_object(os.path.join(folder, "tokenizer_config.json"))
    tokenizer_path = os.path.join(folder, "tokenizer.json")
    tokenizer = _read_object(tokenizer_path)
    if not config and not tokenizer:
        raise Failure(USAGE, f"--model {folder}: it has neither tokenizer.json nor tokenizer_config.json")
    config = {**_read_object(os.path.join(folder, "special_tokens_map.json")), **config}
    tokens = _variables(config)
    path, named = _templates(folder, config)
    default, tool_use = (
        Template(path, named[name], tokens) if name in named else None for name in ("default", "tool_use"))
    return ModelDirectory(folder, _special_tokens(tokenizer, config), default, tool_use,
                          tokenizer_path if os.path.exists(tokenizer_path) else None)
