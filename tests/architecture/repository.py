"""Finds all source files of the repository, as git would list them, but without git, so that an archive works too."""

import os
import pathlib

import build_files
from source_file import BESIDE, CPP_SUFFIXES, SourceFile

_SUFFIXES = (*CPP_SUFFIXES, ".py", ".sh", ".bzl", ".bazel", ".toml", ".md", ".txt", ".trace")
_NOT_OURS = ("third_party", "runs")


def root():
    """Returns the workspace's folder, found from this file: runfiles are symbolic links into the workspace."""
    return pathlib.Path(os.path.realpath(__file__)).parents[2]


def read(folder):
    texts = {}
    for parent, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith((".", "bazel-", "__")) and f not in _NOT_OURS]
        for name in files:
            if name.endswith(_SUFFIXES):
                path = pathlib.Path(parent, name)
                texts[path.relative_to(folder).as_posix()] = path.read_text()
    return texts


def sources(texts):
    test_only = build_files.test_only_sources(builds(texts))
    return [
        SourceFile(path, text, path in test_only or path.startswith(tuple(f"{folder}/" for folder in BESIDE)))
        for path, text in sorted(texts.items())
    ]


def builds(texts):
    return {path: text for path, text in texts.items() if path.endswith("BUILD.bazel")}
