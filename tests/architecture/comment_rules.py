"""Names in comments that nothing has: a comment that outlived what it cites misleads."""

import re

from source_file import Fault

_COMMENT = re.compile(r"(?:^|\s)//(.*)$")
_NAME = re.compile(r"\b(?:[A-Z][a-z0-9]+){2,}\b|\bk[A-Z]\w+")

# Names that are no identifiers of the repository: status codes, and those of people, programs and methods.
_KNOWN = frozenset(
    "AlreadyExists DataLoss DeadlineExceeded FailedPrecondition InvalidArgument PermissionDenied ResourceExhausted "
    "DasGupta DiDonato LeVeque EarlyStoppingCallback InvalidStateMachineError JavaScript LeakSanitizer NaNs NumPy ReMax "
    "SciPy SentencePiece SplitMix64 TinyZero VecNormalize".split()
)


def _split(source):
    """Returns [(line number, comment)] and the text without them."""
    comments, code = [], []
    for number, line in enumerate(source.lines, 1):
        found = _COMMENT.search(line)
        if found and '"' not in line[: found.start()]:
            comments.append((number, found[1]))
            line = line[: found.start()]
        code.append(line)
    return comments, "\n".join(code)


def names(sources):
    """Yields a fault for each name in a C++ comment that no source has outside comments. An example in a header, which
    is indented code, may declare names of its own."""
    parts = [(source, *_split(source)) for source in sources if source.is_cpp]
    known = set(_KNOWN)
    for source in sources:
        if not source.is_cpp:
            known.update(re.findall(r"\w+", source.text))
    for _, _, code in parts:
        known.update(re.findall(r"\w+", code))
    for source, comments, _ in parts:
        for number, comment in comments:
            if comment.startswith("   "):
                continue
            for name in _NAME.findall(comment):
                if name not in known:
                    yield Fault(source.path, number, "unknown-name", f"the comment names {name}, which does not exist")
