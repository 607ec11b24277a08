"""Checks that the Bazel targets and the files of this repository that documents name exist, that rows of tables have as
many cells as their headers, and that docs/README.md lists every document."""

import posixpath
import re

import build_files
from source_file import Fault, line_of

INDEX = "docs/README.md"

QUOTED = re.compile(r"`([^`\n]+)`")
_LABEL = re.compile(r"//([\w/.-]*):([\w.-]+)")
_SHORT_LABEL = re.compile(r"(?:[\w-]+/)+[\w-]+:[\w.-]+")  # as the tables of tests have it, without //
_BAR = re.compile(r"(?<!\\)\|")
_DELIMITERS = re.compile(r"\|(\s*:?-+:?\s*\|)+\s*")
_PATH = re.compile(r"(?<![\w/.-])((?:[\w-]+/)+[\w.-]*\w)(?![\w/.*-])")
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_FILE = re.compile(r"\.(h|cc|md|sh|py|bzl|toml|bazel)$")


def labels(builds):
    """Returns the labels //folder:name of all targets in the BUILD files {path: text}."""
    return {
        f"//{path.removesuffix('BUILD.bazel').rstrip('/')}:{target.name}"
        for path, text in builds.items()
        for target in build_files.targets(path, text)
    }


def documents(texts, builds):
    """Yields the faults of the documents in {path: text}. A path whose first folder does not exist is an example."""
    known_labels = labels(builds)
    folders = {path.split("/")[0] for path in texts}
    for path, text in sorted(texts.items()):
        if not path.endswith(".md"):
            continue
        for quoted in QUOTED.finditer(text):
            line = line_of(text, quoted.start())
            if _SHORT_LABEL.fullmatch(quoted[1]) and quoted[1].split("/")[0] in folders:
                if f"//{quoted[1]}" not in known_labels:
                    yield Fault(path, line, "document", f"there is no target //{quoted[1]}")
            for label in _LABEL.finditer(quoted[1]):
                if label[0] not in known_labels and label[2] != "all":
                    yield Fault(path, line, "document", f"there is no target {label[0]}")
            for name in _PATH.findall(_LABEL.sub("", quoted[1])):
                if _FILE.search(name) and name.split("/")[0] in folders and name not in texts:
                    yield Fault(path, line, "document", f"there is no file {name}")


def tables(texts):
    """Yields the faults of rows of tables that have another number of cells than their header: a bar within a cell must
    be written \\|, also within back quotes."""
    for path, text in sorted(texts.items()):
        if not path.endswith(".md"):
            continue
        cells, lines = None, text.splitlines()
        for number, line in enumerate(lines, start=1):
            if not line.startswith("|"):
                cells = None
            elif _DELIMITERS.fullmatch(line) and number > 1 and lines[number - 2].startswith("|"):
                cells = len(_BAR.findall(lines[number - 2]))
            if cells is not None and len(_BAR.findall(line)) != cells:
                yield Fault(path, number, "table", "this row has another number of cells than its header")


def _linked(path, text):
    """Yields (line, the file that a link leads to) of the document at `path`."""
    for link in _LINK.finditer(text):
        if "://" not in link[1]:
            yield line_of(text, link.start()), posixpath.normpath(posixpath.join(posixpath.dirname(path), link[1]))


def links(texts):
    """Yields the faults of the links between documents."""
    for path, text in sorted(texts.items()):
        if path.endswith(".md"):
            for line, linked in _linked(path, text):
                if linked not in texts:
                    yield Fault(path, line, "link", f"there is no file {linked}")


def index(texts):
    """Yields a fault for each document to which docs/README.md has no link."""
    if INDEX not in texts:
        return
    listed = {linked for _, linked in _linked(INDEX, texts[INDEX])}
    for path in sorted(texts):
        if path.endswith(".md") and path != INDEX and path not in listed:
            yield Fault(path, 1, "index", f"{INDEX} has no link to this document")
