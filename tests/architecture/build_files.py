"""Reads BUILD files: which sources belong to test targets only, and where a target is visible. Starlark is parsed as
Python, and the macros of tools/build_rules/reprise_library.bzl are read as the targets that they declare."""

import ast
import dataclasses
import posixpath
import re

from source_file import BELOW, BESIDE, Fault

_SOURCE_ATTRIBUTES = ("srcs", "hdrs", "textual_hdrs")
_LIBRARIES_WITH_TESTS = ("reprise_library", "kernel_library")
_OF_TEST = "test_"


@dataclasses.dataclass(frozen=True)
class Target:
    line: int
    rule: str
    name: str
    sources: tuple  # paths from the root of the repository
    deps: tuple  # labels, as written
    test_only: bool
    visibility: tuple  # of the target, or the package's default


def _strings(node):
    """Returns the string constants of a list, or of added lists. Ignores glob() and select(), which no rule needs."""
    if isinstance(node, ast.BinOp):
        return _strings(node.left) + _strings(node.right)
    if isinstance(node, (ast.List, ast.Tuple)):
        return tuple(e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str))
    return ()


def _is_true(node):
    return isinstance(node, ast.Constant) and node.value is True


def _list(*strings):
    return ast.List([ast.Constant(string) for string in strings])


def _declared(rule, arguments):
    """Yields (rule, arguments) of each target that a call of `rule` declares: sources that a macro finds by the name of
    the target are among the arguments, and the test of a library is a target of its own."""
    name = arguments["name"].value
    if rule == "reprise_test":
        yield rule, {"srcs": _list(f"{name}.cc"), **arguments}
    elif rule in _LIBRARIES_WITH_TESTS:
        files = {"srcs": _list(f"{name}.cc"), "hdrs": _list(f"{name}.h")}
        yield rule, arguments if any(a in arguments for a in _SOURCE_ATTRIBUTES) else {**files, **arguments}
        if "test_deps" in arguments:
            test = {a.removeprefix(_OF_TEST): node for a, node in arguments.items() if a.startswith(_OF_TEST)}
            test.update(name=ast.Constant(f"{name}_test"), deps=ast.BinOp(_list(f":{name}"), ast.Add(), test["deps"]))
            yield from _declared("reprise_test", test)
    else:
        yield rule, arguments


def targets(path, text):
    """Yields the targets of the BUILD file at `path`."""
    calls = [
        (call.lineno, call.func.id, {keyword.arg: keyword.value for keyword in call.keywords})
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    ]
    package = next((arguments for _, rule, arguments in calls if rule == "package"), {})
    folder = posixpath.dirname(path)
    declared = [
        (line, *target)
        for line, rule, arguments in calls
        if rule != "package" and isinstance(arguments.get("name"), ast.Constant)
        for target in _declared(rule, arguments)
    ]
    for line, rule, arguments in declared:
        sources = [s for attribute in _SOURCE_ATTRIBUTES for s in _strings(arguments.get(attribute))]
        yield Target(
            line=line,
            rule=rule,
            name=arguments["name"].value,
            sources=tuple(_path(folder, source) for source in sources),
            deps=_strings(arguments.get("deps")),
            test_only=rule.endswith("_test") or _is_true(arguments.get("testonly", package.get("default_testonly"))),
            visibility=_strings(arguments.get("visibility", package.get("default_visibility"))),
        )


def _path(folder, source):
    if source.startswith("//"):
        return source[2:].replace(":", "/").lstrip("/")
    return posixpath.join(folder, source.lstrip(":"))


def test_only_sources(build_files):
    """Returns the paths of the sources that belong to test targets only. `build_files`: {path: text}"""
    product, test = set(), set()
    for path, text in build_files.items():
        for target in targets(path, text):
            (test if target.test_only else product).update(target.sources)
    return test - product


def orphans(source_paths, build_files):
    """Yields a fault for each C++ source that belongs to no target: it is neither built nor tested."""
    held = {source for path, text in build_files.items() for t in targets(path, text) for source in t.sources}
    for path in sorted(set(source_paths) - held):
        yield Fault(path, 1, "orphan", "no target has this source; the test of a library is declared by its test_deps")


def _seen_from(label):
    """Returns the layer whose packages `label` names: rl for //:above_rl and for //rl/loss:__pkg__."""
    return re.match(r"//(?::above_)?(\w*)", label)[1]


def visibility(path, text):
    """A target of a layer may be visible only to its layer, to the layers above, and to tests and benchmarks."""
    layer = path.split("/")[0]
    if layer not in BELOW:
        return
    above = [other for other, below in BELOW.items() if layer in below]
    for target in targets(path, text):
        for label in target.visibility:
            if label == "//visibility:private" or _seen_from(label) in (layer, *above, *BESIDE):
                continue
            yield Fault(path, target.line, "visibility", f"{target.name} of {layer}/ is visible to {label}")
