"""A source file as the rules read it: its includes, and its code without comments, strings and directives."""

import dataclasses
import functools
import re

CPP_SUFFIXES = (".h", ".cc")

# Layers from the bottom up, and what each may include besides itself.
BELOW = {
    "core": (),
    "kernels": ("core",),
    "models": ("kernels", "core"),
    "data": ("kernels", "core"),
    "rl": ("models", "data", "kernels", "core"),
    "pipelines": ("rl", "models", "data", "kernels", "core"),
}
# These folders are outside the layers: they may include any layer, and no other folder may include them.
BESIDE = ("benchmarks", "tests")

_TOKEN = re.compile(
    r"""(?P<raw>R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)")
      | (?P<line>//(?:\\\n|[^\n])*)
      | (?P<block>/\*.*?\*/)
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<number>\b[0-9](?:'?[0-9a-zA-Z_.])*)
      | (?P<char>'(?:\\.|[^'\\\n])+')""",
    re.DOTALL | re.VERBOSE,
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)(?:\\\n|[^\n])*", re.MULTILINE)


def _blank(text):
    return "".join(c if c == "\n" else " " for c in text)


def strip_comments(text, strings=True):
    """Returns `text` with spaces for comments and, if `strings`, for string literals; keeps lines and columns."""

    def blanked(match):
        if match.lastgroup == "number" or (match["string"] and not strings):
            return match[0]
        return _blank(match[0])

    return _TOKEN.sub(blanked, text)


@dataclasses.dataclass(frozen=True)
class SourceFile:
    path: str  # from the root of the repository
    text: str
    test_only: bool = False  # belongs to no product target (build_files.py)

    @property
    def layer(self):
        return self.path.split("/")[0]

    @property
    def is_cpp(self):
        return self.path.endswith(CPP_SUFFIXES)

    @functools.cached_property
    def lines(self):
        return self.text.splitlines()

    @functools.cached_property
    def code(self):
        return strip_comments(self.text)

    @functools.cached_property
    def code_without_directives(self):
        return _DIRECTIVE.sub(lambda match: _blank(match[0]), self.code)

    @functools.cached_property
    def includes(self):
        """[(line number, header)]"""
        text = strip_comments(self.text, strings=False)
        return [(line_of(text, match.start(1)), match[1]) for match in _INCLUDE.finditer(text)]


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


@dataclasses.dataclass(frozen=True)
class Fault:
    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message} [{self.rule}]"
