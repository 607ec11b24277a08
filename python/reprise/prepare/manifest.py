"""FILE.manifest.json: what was made of what, so that anyone can make it again and compare digests."""

import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any, Protocol

from reprise.prepare.options import Options
from reprise.prepare.output_file import OutputFile
from reprise.prepare.renderer import Template

VERSION = 1


class _Rendering(Protocol):
    template: Template | None

    @property
    def jinja2_version(self) -> str:
        ...


class _Facts(Protocol):
    unit: str
    sources: list[dict[str, Any]]
    counts: dict[str, int]
    prompts: Any
    answers: Any
    names_not_kept: dict[str, int]


def manifest(options: Options, result: _Facts, rendering: _Rendering, outputs: Sequence[OutputFile]) -> dict[str, Any]:
    """Returns the manifest. It has no time, no host and no absolute path that the command did not name: the same
    command on the same files gives the same bytes."""
    template = rendering.template
    written = [{"file": os.path.basename(file.path), "rows": file.rows, "bytes": file.size, "sha256": file.sha256()}
               for file in outputs]
    return {
        "version": VERSION,
        "outputs": written,
        "sources": result.sources,
        "template": None if template is None else {
            "path": template.path,
            "sha256": hashlib.sha256(template.text.encode()).hexdigest(),
            "tokens": template.tokens,
            "jinja2": rendering.jinja2_version,
        },
        "options": options.for_manifest(),
        "counts": {**result.counts, "written": sum(entry["rows"] for entry in written)},
        "columns_not_kept": result.names_not_kept,
        "lengths": {"unit": result.unit, "prompt": result.prompts.facts(), "answer": result.answers.facts()},
    }


def text_of_manifest(facts: dict[str, Any]) -> str:
    return json.dumps(facts, ensure_ascii=False, indent=2) + "\n"
