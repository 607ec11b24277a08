"""Reads benchmarks/gates.toml, which has a section for each gate: a bound on the ratio of two measured numbers."""

import dataclasses
import difflib
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence

from failure import USAGE, Failure
from judge import FEWEST_REPETITIONS, Bound

SAME_RUN, BASELINE = "same run", "baseline"


@dataclasses.dataclass(frozen=True)
class Gate:
    name: str
    claim: str = ""  # one sentence
    prepare: str = ""  # a command that is executed once before the measurements; may be empty
    numerator: str = ""  # a command (measure.py), executed in the root of a checkout
    numerator_value: str = ""  # `seconds` (its wall time), or a number's name in its output
    denominator: str = ""  # another command, SAME_RUN, or BASELINE: the same command in another checkout
    denominator_value: str = ""  # empty: the numerator's
    at_least: float = 0  # one of these two is given, unless the gate is not judged
    at_most: float = 0
    at_least_avx2: float = 0  # the bound where the kernels have only AVX2; 0: the same bound
    at_most_avx2: float = 0
    judged: bool = True  # False: measured and reported, without a bound
    repetitions: int = 7  # of each side, not counting one to warm up
    processors: int = 1  # the gate is skipped on machines with fewer

    @property
    def value_below(self) -> str:
        return self.denominator_value or self.numerator_value

    @property
    def bound(self) -> Bound | None:
        return Bound(self.at_least > 0, self.at_least or self.at_most) if self.judged else None


_TYPES: dict[type, str] = {str: "text in quotes", bool: "true or false", int: "a whole number", float: "a number"}
_KEYS: dict[str, type] = {field.name: type(field.default) for field in dataclasses.fields(Gate)[1:]}
_KEYS |= {key: float for key in _KEYS if key.startswith("at_")}
_RANGES: dict[str, tuple[str, Callable[[float], bool]]] = {
    "at_least": ("more than 0", lambda value: value > 0),
    "at_most": ("more than 0", lambda value: value > 0),
    "at_least_avx2": ("0 or more", lambda value: value >= 0),
    "at_most_avx2": ("0 or more", lambda value: value >= 0),
    "repetitions": (f"{FEWEST_REPETITIONS} to 50", lambda value: FEWEST_REPETITIONS <= value <= 50),
    "processors": ("1 or more", lambda value: value >= 1),
}


def advice(word: str, known: Iterable[str], quote: str = "") -> str:
    nearest = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {quote}{nearest[0]}{quote}?" if nearest else ""


def _place(text: str, section: str, key: str, of_value: bool = False) -> str:
    """Returns "<line>:<column>" of a key, or of its value; tomllib does not tell them. `section` "": outside of all."""
    current = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"""\s*\[+\s*(["']?)(.*?)\1\s*\]""", line):
            current = header[2]
        found = re.match(rf"""\s*(?P<key>["']?{re.escape(key)}["']?)\s*=\s*(?P<value>)""", line)
        if current == section and found:
            return f"{number}:{found.start('value' if of_value else 'key') + 1}"
    return "1:1"


def _mismatch(key: str, value: object) -> str:
    """Returns what is wrong with a value, such as `4; expected 5 to 50`; "" for one that the key allows."""
    found, wanted = json.dumps(value, ensure_ascii=False, default=str), _KEYS[key]
    if type(value) is not wanted and not (wanted is float and type(value) is int):
        return f"{found}; expected {_TYPES[wanted]}"
    if not isinstance(value, int | float):
        return ""
    expected, is_allowed = _RANGES.get(key, ("", lambda _: True))
    if not abs(value) < sys.float_info.max:
        expected, is_allowed = "a finite number", lambda _: False
    return "" if is_allowed(value) else f"{found}; expected {expected}"


def _fault(gate: Gate) -> str:
    """Returns the fault of a gate whose keys are all of the right type, or an empty string."""
    has_least, has_most = gate.at_least > 0, gate.at_most > 0
    faults = {
        "claim is empty; it states the property that the gate checks": not gate.claim,
        "numerator and numerator_value must both be set": not (gate.numerator and gate.numerator_value),
        'denominator must be another command, "same run" or "baseline"': not gate.denominator,
        "judged is false, so at_least and at_most must not be set": not gate.judged and (has_least or has_most),
        "exactly one of at_least and at_most must be set": gate.judged and has_least == has_most,
        "at_least_avx2 requires at_least, and at_most_avx2 requires at_most":
            (gate.at_least_avx2 > 0 and not has_least) or (gate.at_most_avx2 > 0 and not has_most),
        "denominator_value must be another number of the same run":
            gate.denominator == SAME_RUN and gate.value_below == gate.numerator_value,
        "against the baseline, denominator_value must equal numerator_value":
            gate.denominator == BASELINE and gate.value_below != gate.numerator_value,
    }
    return next((sentence for sentence, is_so in faults.items() if is_so), "")


def _read_gate(name: str, section: dict[str, object], text: str, file_name: str) -> Gate:
    for key, value in section.items():
        if key not in _KEYS:
            meant = advice(f"{name}.{key}", (f"{name}.{known}" for known in _KEYS))
            raise Failure(USAGE, f"{file_name}:{_place(text, name, key)}: unknown key {name}.{key}{meant}")
        if mismatch := _mismatch(key, value):
            raise Failure(USAGE, f"{file_name}:{_place(text, name, key, of_value=True)}: {name}.{key} is {mismatch}")
    return Gate(name, **{key: _KEYS[key](value) for key, value in section.items()})


def read_gates(data: bytes, file_name: str) -> list[Gate]:
    """Returns the gates in the order of the file. Fails with USAGE: with line and column for what is not TOML, a key or
    a value; with "<file>: <gate>: ..." for keys that are missing or contradict each other."""
    try:
        text = data.decode()
        sections = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, thousands of digits, or of levels
        found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", str(error))
        place, what = (f"{found[2]}:{found[3]}", found[1]) if found else (f"{data.count(10) + 1}:1", str(error))
        raise Failure(USAGE, f"{file_name}:{place}: not valid TOML: {what}") from error
    for name, section in sections.items():
        if not isinstance(section, dict):
            raise Failure(USAGE, f"{file_name}:{_place(text, '', name)}: key {name} is outside every section")
    gates = [_read_gate(name, section, text, file_name) for name, section in sections.items()]
    for gate in gates:
        if fault := _fault(gate):
            raise Failure(USAGE, f"{file_name}: {gate.name}: {fault}")
    return gates


def bounds_for(instruction_set: str, gates: Sequence[Gate]) -> list[Gate]:
    """Returns the gates with their bounds for an instruction set in at_least and at_most."""
    if instruction_set != "avx2":
        return list(gates)
    return [dataclasses.replace(g, at_least=g.at_least_avx2 or g.at_least, at_most=g.at_most_avx2 or g.at_most)
            for g in gates]


def choose_gates(gates: Sequence[Gate], names: Sequence[str]) -> list[Gate]:
    """Returns the gates that have these names, in the order of the file; all if none is named."""
    known = [gate.name for gate in gates]
    for name in names:
        if name not in known:
            meant = advice(name, known, quote='"')
            known_are = " Known are" if meant else "; known are"
            raise Failure(USAGE, f'unknown gate "{name}"{meant}{known_are}: {", ".join(known)}')
    return [gate for gate in gates if not names or gate.name in names]


def labels_of(gates: Iterable[Gate]) -> list[str]:
    """Returns the Bazel labels of all programs that the gates execute: bazel-bin/a/b/c is //a/b:c."""
    commands = " ".join(command for g in gates for command in (g.prepare, g.numerator, g.denominator))
    found = re.findall(r"(?:^|(?<= ))bazel-bin/(\S+)/(\S+)", commands)
    return sorted({f"//{folder}:{name}" for folder, name in found})
