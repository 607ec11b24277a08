"""The form by which prompts are the same, and its digest."""

import hashlib
import unicodedata
from typing import Any

import reprise.prepare.json_text as json_text
import reprise.prepare.messages as chat

DIGEST_BITS = 64


def canonical(text: str) -> str:
    """Returns the text in NFKC, with case folded and each run of white space as one space. Idempotent: what folding
    takes apart is composed again."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def form_of_prompt(prompt: str | list[chat.Message]) -> str:
    """Returns the form of a prompt, before it is rendered: of messages, that of their texts without the system's. So a
    text and the message of a user that has it are the same, and a template or a --system changes no group."""
    if isinstance(prompt, str):
        return canonical(prompt)
    return canonical("\n".join(
        chat.text_of(message) for message in prompt if message["role"] not in ("system", "developer")))


def form_of_value(value: Any) -> str:
    """Returns the form of a column by which rows are grouped."""
    return canonical(value if isinstance(value, str) else json_text.write(value))


def digest(*parts: str) -> int:
    """Returns the first DIGEST_BITS bits of the SHA-256 of the parts, each after its length, so that no two lists of
    parts are one text."""
    sha256 = hashlib.sha256()
    for part in parts:
        data = part.encode()
        sha256.update(len(data).to_bytes(8, "big"))
        sha256.update(data)
    return int.from_bytes(sha256.digest()[:DIGEST_BITS // 8], "big")
