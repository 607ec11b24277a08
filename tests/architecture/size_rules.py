"""Limits on the lengths of files and functions, and on the parameters of public functions."""

import ast
import re

from source_file import Fault, line_of

FILE_LINES = 500
FUNCTION_LINES = 80
PARAMETERS = 8

_CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
_PARAMETER = re.compile(r"\s*(?:const\s+)?[\w:]+(?:<.*>)?[\s*&]+\w+", re.DOTALL)
_MARK = re.compile(r"[{};]|\b(?:public|private|protected)\s*:")


def _is_function(head):
    """Whether a brace after `head`, the text since the last statement outside functions, opens a function's body."""
    while True:  # template parameters may name a class
        without = re.sub(r"<[^<>]*>", "", head)
        if without == head:
            break
        head = without
    if "(" not in head or re.search(r"(?<!operator)(?<![=!<>])=\s*$", head):
        return False
    return not _CONTAINER.search(head.split("(")[0])


def functions(code):
    """Yields (first line, number of lines) of every function in `code`, C++ without comments, strings and directives.

    Counts braces and does not parse: a lambda is part of the function around it, a member function counts alone.
    """
    head_start, open_braces, body = 0, [], None  # body: (offset of the head, braces open around it)
    for match in _MARK.finditer(code):
        at = match.start()
        if match[0] == "{":
            initializer = re.match(r"[\w>]", code[at - 1 : at])  # member_{1}: the head continues after it
            open_braces.append(initializer)
            if body is None and not initializer and _is_function(code[head_start:at]):
                body = (at - len(code[head_start:at].lstrip()), len(open_braces) - 1)
        elif match[0] == "}":
            initializer = open_braces.pop() if open_braces else None
            if body is not None and len(open_braces) == body[1]:
                first = line_of(code, body[0])
                yield first, line_of(code, at) - first + 1
                body = None
        else:
            initializer = None
        if body is None and not initializer:
            head_start = match.end()


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1


def file_length(source):
    if source.path.endswith(("BUILD.bazel", ".md", ".toml", ".txt", ".trace")):  # lists, results, and prose
        return
    if len(source.lines) > FILE_LINES:
        yield Fault(source.path, len(source.lines), "file-length",
                    f"{len(source.lines)} lines, more than {FILE_LINES}: split the file by topic")


def function_length(source):
    if source.is_cpp:
        found = functions(source.code_without_directives)
    elif source.path.endswith(".py"):
        found = python_functions(source.text)
    else:
        return
    for line, lines in found:
        if lines > FUNCTION_LINES:
            yield Fault(source.path, line, "function-length",
                        f"a function of {lines} lines, more than {FUNCTION_LINES}: split it into smaller functions")


def parameter_counts(code):
    """Yields (line, name, number of parameters) of each parameter list; the arguments of a call do not count."""
    for match in re.finditer(r"\b(\w+)\s*\(", code):
        depth, start, count = 1, match.end(), 0
        for mark in re.finditer(r"->|[(){}\[\]<>,;]", code[match.end():]):
            depth += 1 if mark[0] in ("(", "{", "[", "<") else -1 if mark[0] in (")", "}", "]", ">") else 0
            at = match.end() + mark.start()
            if depth == 0 or (mark[0] == "," and depth == 1):
                count += 1 if _PARAMETER.match(code[start:at]) else 0
                start = at + 1
            if depth == 0 or mark[0] == ";":
                break
        yield line_of(code, match.start()), match[1], count


def parameters(source):
    """What a header declares takes few parameters: the fields of a struct have names where they are set."""
    if source.test_only or not source.path.endswith(".h"):
        return
    for line, name, count in parameter_counts(source.code_without_directives):
        if count > PARAMETERS:
            yield Fault(source.path, line, "parameters",
                        f"{name} has {count} parameters, more than {PARAMETERS}: pass a struct with named fields")
