"""Checks the guides docs/guides/add_*.md. Each walks through an example that exists, and must say what the tree says.
(Those for users have commands, which tests/end_to_end:readme_test runs.)

A guide has a comment, <!-- example: WORD... -->: the words by which its example is known. Then
- a paragraph "Files: ..." of each step lists the files in which the step writes one of these words, and the section
  "Other files" lists, with a reason, those that a newcomer need not write. Together they are exactly the files whose
  path or text contains a word;
- a code block with a language quotes whole lines, in their order, of the file that is named last before it;
- a code block without a language holds commands, whose targets and files exist;
- other quoted text is a file, a folder, a target or a command, or it occurs in a file that its paragraph names, or, if
  that names none, in one that the step has named;
- with a comment <!-- outside: COUNT, generated: PATH... -->, the files of the steps that do not have such a word in their
  path, and that no command generates, are as many;
- of each header in a comment <!-- interfaces: PATH... -->, the guide quotes every pure virtual function.
ARCHITECTURE.md links each of them.
"""

import dataclasses
import re
import shlex

import document_rules
from source_file import Fault

FOLDER = "docs/guides/"
OF_CODE = FOLDER + "add_"
MAP = "ARCHITECTURE.md"
_EXAMPLE = re.compile(r"<!-- example: ([\w ]+) -->")
_INTERFACES = re.compile(r"<!-- interfaces: ([\w./ -]+) -->")
_OUTSIDE = re.compile(r"<!-- outside: (\d+), generated: ([\w./ -]+) -->")
_PURE_VIRTUAL = re.compile(r"\bvirtual\s[^;{}()]*?\b(\w+)\([^;{}]*\)[^;{}]*=\s*0;")
_FENCE = "```"
_COMMAND = re.compile(r"(\./reprise|bazel|python3|tools/[\w.]+)( |$)")
_TARGET = re.compile(r"//([\w/.-]*?)(?:/?(\.\.\.)|:([\w.-]+))?")
_BENCHMARK = re.compile(r"\bBENCHMARK\w*\((\w+)")


@dataclasses.dataclass(frozen=True)
class Block:
    """A heading, a paragraph (or one item of a list), or a code block, without its fences."""

    line: int
    kind: str  # "heading", "text" or "code"
    language: str
    text: str


def blocks(text):
    lines, kind, language, begin = [], "text", "", 1
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        is_fence = line.startswith(_FENCE)
        if kind == "code" and not is_fence:
            lines.append(line)
            continue
        if lines and (is_fence or not line or line.startswith(("#", "- "))):
            yield Block(begin, kind, language, "\n".join(lines))
            lines = []
        if is_fence:
            kind, language, begin = "text" if kind == "code" else "code", line[len(_FENCE) :], number + 1
        elif line.startswith("#"):
            yield Block(number, "heading", "", line)
        elif line:
            begin = begin if lines else number
            lines.append(line)


class _Tree:
    """What a guide may name."""

    def __init__(self, texts, builds):
        self.texts = texts
        self.labels = document_rules.labels(builds)
        self.packages = {path.rpartition("/")[0] for path in builds}
        self.folders = {path[:end.start()] for path in texts for end in re.finditer("/", path)}
        self.benchmarks = [
            name for path, text in texts.items() if path.startswith("benchmarks/") for name in _BENCHMARK.findall(text)
        ]

    def is_path(self, quoted):
        looks_like_one = re.fullmatch(r"[\w-]+(/[\w.-]+)*/?", quoted) and quoted.split("/")[0] in self.folders
        return quoted in self.texts or ("/" in quoted and bool(looks_like_one))

    def has_path(self, path):
        return path in self.texts or path.rstrip("/") in self.folders

    def has_target(self, target):
        folder, all_below, name = _TARGET.fullmatch(target).groups()
        if all_below:
            return any(f"{package}/".startswith(f"{folder}/" if folder else "") for package in self.packages)
        return name == "all" and folder in self.packages or f"//{folder}:{name or folder.split('/')[-1]}" in self.labels

    def missing_in_command(self, command):
        """Returns what the command names and does not exist; None if all of it exists."""
        words = shlex.split(command)
        if words[:2] == ["./reprise", "bench"]:
            return None if any(re.search(words[2], name) for name in self.benchmarks) else f"benchmark {words[2]}"
        for before, word in zip(words, words[1:]):
            if _TARGET.fullmatch(word) and not self.has_target(word):
                return f"target {word}"
            if before != "--output" and self.is_path(word) and not self.has_path(word):
                return f"file {word}"
        return None


def _spans(block):
    """Yields (line, quoted text)."""
    for quoted in document_rules.QUOTED.finditer(block.text):
        yield block.line + block.text.count("\n", 0, quoted.start()), quoted[1]


def _occurs(quoted, text):
    in_a_macro = re.sub(r"(?<=\w)\.(?=[A-Z])", ", ", quoted)  # SuiteTest.Name is TEST(SuiteTest, Name)
    return quoted in text or in_a_macro in text


def _text_faults(guide, block, step_files, tree):
    """Checks a paragraph; adds the files that it names to step_files."""
    spans = [(line, quoted) for line, quoted in _spans(block)]
    own_files = [quoted for _, quoted in spans if tree.is_path(quoted)]
    step_files += own_files
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        if line.count("`") % 2:
            yield Fault(guide, number, "guide", "quoted text must begin and end in one line")
    for line, quoted in spans:
        if tree.is_path(quoted):
            missing = None if tree.has_path(quoted) else f"file {quoted}"
        elif _TARGET.fullmatch(quoted):
            missing = None if tree.has_target(quoted) else f"target {quoted}"
        elif _COMMAND.match(quoted):
            missing = tree.missing_in_command(quoted)
        else:
            places = own_files or step_files
            found = any(_occurs(quoted, tree.texts.get(path, "")) for path in places)
            missing = None if found else f"`{quoted}` in {', '.join(places) or 'a file, and none is named before it'}"
        if missing:
            yield Fault(guide, line, "guide", f"there is no {missing}")


def _code_faults(guide, block, step_files, tree):
    if not block.language:
        for number, command in enumerate(block.text.splitlines(), start=block.line):
            missing = tree.missing_in_command(command) if _COMMAND.match(command) else f"known command {command}"
            if missing:
                yield Fault(guide, number, "guide", f"there is no {missing}")
        return
    path = next((path for path in reversed(step_files) if path in tree.texts), "")
    left = [line.strip() for line in tree.texts.get(path, "").splitlines()]
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        wanted = line.strip()
        if wanted in ("", "..."):
            continue
        if wanted not in left:
            yield Fault(guide, number, "guide", f"{path or 'no file'} does not have, in this order, the line: {wanted}")
            return
        left = left[left.index(wanted) + 1 :]


def _listed(guide_blocks, tree):
    """Returns the files of the steps, and those of the section "Other files", each with its line in the guide."""
    of_steps, others, is_last = {}, {}, False
    for block in guide_blocks:
        if block.kind == "heading":
            is_last = block.text == "## Other files"
        elif block.kind == "text" and (is_last or block.text.startswith("Files: ")):
            for line, quoted in _spans(block):
                if tree.is_path(quoted):
                    (others if is_last else of_steps)[quoted] = line
    return of_steps, others


def _interface_faults(guide, text, tree):
    interfaces = _INTERFACES.search(text)
    if not interfaces:
        return
    line = text.count("\n", 0, interfaces.start()) + 1
    quoted = set(document_rules.QUOTED.findall(text))
    for path in interfaces[1].split():
        functions = _PURE_VIRTUAL.findall(tree.texts.get(path, ""))
        if not functions:
            yield Fault(guide, line, "guide", f"there is no pure virtual function in {path}")
        for function in functions:
            if function not in quoted:
                yield Fault(guide, line, "guide", f"it does not describe {function} of {path}")


def _completeness_faults(guide, guide_blocks, words, tree):
    of_steps, others = _listed(guide_blocks, tree)
    found = {
        path
        for path, text in tree.texts.items()
        if not path.startswith(FOLDER) and any(word in path.lower() or word in text.lower() for word in words)
    }
    for path in sorted(found - set(of_steps) - set(others)):
        yield Fault(guide, 1, "guide", f"{path} has {' or '.join(words)}, but no step lists it: add it to the "
                    'files of the step that writes it, or to "Other files" with a reason')
    for path, line in sorted({**of_steps, **others}.items()):
        if path not in found:
            yield Fault(guide, line, "guide", f"{path} does not have {' or '.join(words)}: do not list it")
        elif path in of_steps and path in others:
            yield Fault(guide, line, "guide", f"{path} belongs to a step and to the other files: list it once")


def _outside_faults(guide, text, guide_blocks, words, tree):
    outside = _OUTSIDE.search(text)
    if not outside:
        return
    generated = set(outside[2].split())
    of_steps, _ = _listed(guide_blocks, tree)
    found = sorted(path for path in of_steps if not any(word in path.lower() for word in words))
    by_hand = [path for path in found if path not in generated]
    line = text.count("\n", 0, outside.start()) + 1
    if len(by_hand) != int(outside[1]):
        yield Fault(guide, line, "guide", f"it says {outside[1]} files outside, but {len(by_hand)} are: {', '.join(by_hand)}")
    for path in sorted(generated - set(found)):
        yield Fault(guide, line, "guide", f"no step lists the generated {path}")


def guides(texts, builds):
    """Yields the faults of all guides in the tree {path: text}."""
    tree = _Tree(texts, builds)
    for guide, text in sorted(texts.items()):
        if not guide.startswith(OF_CODE):
            continue
        if MAP in texts and f"]({guide})" not in texts[MAP]:
            yield Fault(MAP, 1, "guide", f"it does not link {guide}")
        example = _EXAMPLE.search(text)
        if not example:
            yield Fault(guide, 1, "guide", "it has no comment <!-- example: WORD... -->")
            continue
        guide_blocks, step_files = list(blocks(text)), []
        for block in guide_blocks:
            if block.kind == "heading":
                step_files = []
            elif block.kind == "code":
                yield from _code_faults(guide, block, step_files, tree)
            else:
                yield from _text_faults(guide, block, step_files, tree)
        yield from _interface_faults(guide, text, tree)
        yield from _outside_faults(guide, text, guide_blocks, example[1].lower().split(), tree)
        yield from _completeness_faults(guide, guide_blocks, example[1].lower().split(), tree)
