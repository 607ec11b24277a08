"""Checks that the Bazel targets and the files of this repository that documents name exist."""

import re

import build_files
from source_file import Fault, line_of

_QUOTED = re.compile(r"`([^`\n]+)`")
_LABEL = re.compile(r"//([\w/.-]*):([\w.-]+)")
_PATH = re.compile(r"(?<![\w/.-])((?:[\w-]+/)+[\w.-]*\w)(?![\w/.*-])")
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
        for quoted in _QUOTED.finditer(text):
            line = line_of(text, quoted.start())
            for label in _LABEL.finditer(quoted[1]):
                if label[0] not in known_labels and label[2] != "all":
                    yield Fault(path, line, "document", f"there is no target {label[0]}")
            for name in _PATH.findall(_LABEL.sub("", quoted[1])):
                if _FILE.search(name) and name.split("/")[0] in folders and name not in texts:
                    yield Fault(path, line, "document", f"there is no file {name}")
