"""Functions and headers that the code must not use, and which files may throw."""

import re

from source_file import Fault, line_of

# The language-model path, where every number must be computed in one fixed way.
NUMERIC = ("data", "kernels", "models", "rl")
# All layers except pipelines/, whose programs read the clock.
LIBRARIES = ("core", *NUMERIC)

_ELEMENTARY = (
    "exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|asinh|acosh|atanh"
    "|erf|erfc|tgamma|lgamma|cbrt|hypot"
)
_NOT_A_MEMBER = r"(?<![\w.>:])"

# rule: (layers that it applies to, pattern in the code, cause and remedy)
BANNED_CALLS = {
    "libm": (
        NUMERIC,
        rf"\bstd::({_ELEMENTARY})[fl]?\b|{_NOT_A_MEMBER}(?:::)?({_ELEMENTARY})[fl]?\s*\(",
        "gives different bits with different versions of libm: use kernels/math",
    ),
    "unordered-sum": (
        NUMERIC,
        r"\bstd::(reduce|transform_reduce|(in|ex)clusive_scan|execution)\b",
        "adds in no fixed order: use kernels/sums",
    ),
    "hashed-order": (
        ("kernels", "rl"),
        r"\b(flat_hash_|node_hash_|unordered_)(multi)?(map|set)\b",
        "has an iteration order that differs between processes: use a sorted container",
    ),
    "random": (
        LIBRARIES,
        r"\bstd::(mt19937\w*|minstd_rand0?|random_device|shuffle|sample|default_random_engine|\w+_distribution)\b"
        r"|\babsl::(\w*BitGen\w*|Uniform|Bernoulli|Gaussian)\b"
        rf"|{_NOT_A_MEMBER}(?:::)?(s?rand|s?random|[delm]rand48|rand_r|getentropy|getrandom)\s*\(",
        "is not a function of the seed and the position: use core/random",
    ),
    "clock": (
        LIBRARIES,
        r"\b(system|steady|high_resolution)_clock\b|\babsl::Now\b"
        rf"|(?:\bstd::|{_NOT_A_MEMBER}(?:::)?)(time|clock|gettimeofday|clock_gettime|times)\s*\(",
        "reads a clock: only pipelines/ may do so and pass it to its callees",
    ),
}
BANNED_HEADERS = {
    "random": (LIBRARIES, r"random$|absl/random/", "is not a function of the seed and the position: use core/random"),
    "clock": (LIBRARIES, r"chrono$|ctime$|time\.h$|absl/time/clock\.h$", "reads a clock: only pipelines/ may do so"),
}

_REDUCTION = re.compile(
    r"\bP?MPI_(I?(all)?reduce(_scatter(_block)?|_local)?|I?(ex)?scan|(get_)?accumulate)(_init|_c)*\s*\(", re.IGNORECASE)
_INTEGER_TYPE = re.compile(r"\bMPI_(U?INT(8|16|32|64)_T|INT|LONG|LONG_LONG|UNSIGNED\w*|BYTE|C_BOOL|COUNT)\b")


def banned_calls(source):
    if source.test_only:
        return
    for rule, (layers, pattern, remedy) in BANNED_CALLS.items():
        if source.layer not in layers:
            continue
        for match in re.finditer(pattern, source.code_without_directives):
            name = match[0].rstrip("( ")
            yield Fault(source.path, line_of(source.code, match.start()), rule, f"{name} {remedy}")
    for rule, (layers, pattern, remedy) in BANNED_HEADERS.items():
        for line, header in source.includes:
            if source.layer in layers and re.match(pattern, header):
                yield Fault(source.path, line, rule, f"<{header}> {remedy}")


def float_reductions(source):
    """MPI sums in an order that depends on the ranks: it may reduce only integers, and the call must name the type."""
    code = source.code_without_directives
    for match in _REDUCTION.finditer(code):
        depth, end = 1, match.end()
        while depth and end < len(code):
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        if not _INTEGER_TYPE.search(code, match.end(), end):
            name = match[0].rstrip("( ")
            yield Fault(source.path, line_of(code, match.start()), "float-reduction",
                        f"{name} without an integer type: sum floats with core/comm/exchange/tree_exchange.h")


def throws(source):
    """No exception may leave a file: only a .cc file that catches exceptions may throw."""
    match = re.search(r"\bthrow\b", source.code)
    if match and not (source.path.endswith(".cc") and re.search(r"\bcatch\s*\(", source.code)):
        yield Fault(source.path, line_of(source.code, match.start()), "throw",
                    "an exception would leave this file: return an absl::Status")


_PURPOSES = re.compile(r"\benum class Purpose\b[^{]*\{([^}]*)\}")
_PURPOSE = re.compile(r"\b(k\w+)\s*=\s*(\d+)")
_OWN_PURPOSE = re.compile(r"\bPurpose (k\w+)(?:\{|\(|\s*=\s*Purpose[{(])(\d+)[})]")


def purposes(sources):
    """No two purposes of draws in the tree have the same value: their draws would be the same."""
    seen = {}
    for source in sources:
        found = [(match.start(), *match.groups()) for match in _OWN_PURPOSE.finditer(source.code)]
        for shared in _PURPOSES.finditer(source.code):
            found += [(shared.start(1) + match.start(), *match.groups()) for match in _PURPOSE.finditer(shared[1])]
        for start, name, value in found:
            other = seen.setdefault(int(value), f"{name} in {source.path}")
            if other != f"{name} in {source.path}":
                yield Fault(source.path, line_of(source.code, start), "purpose",
                            f"{name} has the value {value} of {other}: use a new one")


def unfinished(source):
    for match in re.finditer(r"\b(TODO|FIXME|XXX)\b", source.text):
        yield Fault(source.path, line_of(source.text, match.start()), "unfinished",
                    f"{match[0]}: finish it, or document in docs/ what is missing")
