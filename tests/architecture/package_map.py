"""Writes the picture of layers in ARCHITECTURE.md from the BUILD files, and its tables of packages also from the includes.

    python3 tests/architecture/package_map.py --write
    python3 tests/architecture/package_map.py --may rl/gradient    prints what a package may include
"""

import pathlib
import posixpath
import re
import sys

import build_files
import include_rules
import repository
import package_rules
from source_file import BELOW, Fault

PAGE = "ARCHITECTURE.md"
_LAYERS = {
    "pipelines": "the verbs: train, sweep, reproduce, evaluate, inspect, compare, export, validate",
    "rl": "the training loop, losses, advantages, environments, records, configuration",
    "models": "the decoder, tokenizers, checkpoints",
    "data": "run.h5, problems, memories",
    "kernels": "arithmetic in a fixed order: the only place where floats are added",
    "core": "ranks, threads, files, JSON, digests, errors",
}


def purpose(build_text):
    """Returns the first comment of a package's BUILD file, which describes the package; None if there is none."""
    comment = re.match(r"((?:# [^\n]*\n)+)", build_text)
    return " ".join(line[2:] for line in comment[1].splitlines()) if comment else None


def _packages(texts):
    return {
        posixpath.dirname(path): purpose(text)
        for path, text in sorted(repository.builds(texts).items())
        if path.split("/")[0] in BELOW and "/" in path and "name = " in text
    }


def _height(package, includes, known):
    if package not in known:
        layer = package.split("/")[0]
        below = [other for other in includes.get(package, ()) if other.split("/")[0] == layer]
        known[package] = 1 + max((_height(other, includes, known) for other in below), default=0)
    return known[package]


def layers(texts):
    """Returns {layer: the layers that its targets depend on}, without test-only targets."""
    uses = {layer: set() for layer in BELOW}
    for path, text in repository.builds(texts).items():
        layer = path.split("/")[0]
        for target in build_files.targets(path, text) if layer in uses else ():
            used = {label[2:].split("/")[0].split(":")[0] for label in target.deps if label.startswith("//")}
            uses[layer] |= set() if target.test_only else used & set(BELOW) - {layer}
    return uses


def picture(texts):
    """Returns a drawing with the highest layers first; layers at one height do not depend on each other."""
    uses, heights = layers(texts), {}
    for layer in BELOW:
        heights[layer] = 1 + max((heights.get(other, 0) for other in uses[layer]), default=0)
    levels = [[layer for layer in BELOW if heights[layer] == height] for height in sorted(set(heights.values()))]
    drawn = ["\n".join(f"{layer:<12}{_LAYERS[layer]}" for layer in level) for level in reversed(levels)]
    return "```\n" + "\n   |\n".join(drawn) + "\n```\n"


def text(texts):
    """Returns a table for each layer, the highest first; each package is listed above the packages that it includes."""
    includes = package_rules.includes_between_packages(repository.sources(texts))
    packages, heights, lines = _packages(texts), {}, []
    for layer in reversed(BELOW):
        own = [package for package in packages if package.split("/")[0] == layer]
        lines += [f"\n### {layer}/", "", "| package | contents | uses in its layer |", "|---|---|---|"]
        for package in sorted(own, key=lambda package: (-_height(package, includes, heights), package)):
            uses = [other[len(layer) + 1 :] for other in sorted(includes.get(package, ())) if other in own]
            lines.append(f"| `{package}` | {packages[package]} | {', '.join(uses)} |")
    return "\n".join(lines).lstrip("\n") + "\n"


def faults(texts):
    """Every package's BUILD file must describe the package, and the tables must be up to date."""
    if PAGE not in texts:
        return
    for package, sentence in _packages(texts).items():
        if sentence is None:
            yield Fault(f"{package}/BUILD.bazel", 1, "package-purpose", "it must begin with a comment on the package's contents")
            return
    if written(texts[PAGE], texts) != texts[PAGE]:
        yield Fault(PAGE, 1, "package-map", "out of date: run python3 tests/architecture/package_map.py --write")


def written(page, texts):
    """Returns the page with the text between each pair of markers replaced."""
    for name, content in (("layers", picture(texts)), ("packages", text(texts))):
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
        before, _, rest = page.partition(begin)
        page = before + begin + content + end + rest.partition(end)[2]
    return page


def may_include(package):
    """Returns what the product's files of a package may include, as sentences."""
    layer = package.split("/")[0]
    if layer not in BELOW:
        return f"{package}: any layer, and nothing may include it"
    lines = [f"{package} may include {', '.join((layer, *BELOW[layer]))}, without a cycle of packages"]
    if re.match(include_rules.ALGORITHM, f"{package}/file"):
        lines.append(f"but, outside tests, nothing that matches {include_rules.COMPLETIONS}")
    lines += [
        f"not {headers}, which is for {places}"
        for headers, places, _ in include_rules.WALLS.values()
        if not re.match(places, f"{package}/file.cc")
    ]
    return "\n".join(lines)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--may":
        sys.exit(print(may_include(sys.argv[2])))
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    root = repository.root()
    path = pathlib.Path(root, PAGE)
    path.write_text(written(path.read_text(), repository.read(root)))


if __name__ == "__main__":
    main()
