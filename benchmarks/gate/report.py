"""The texts and JSON of decisions. Pure."""

from collections.abc import Sequence

from failure import RETRY
from gates_file import Gate
from judge import Decision

FELL = 1  # the exit code
Decided = tuple[Gate, Decision]


def decision_line(gate: Gate, decision: Decision) -> str:
    """Returns "held        experts_peak             0.71, expected >= 0.5  (by chance: 0.9; 7 pairs)"."""
    start = f"{decision.outcome:<10}  {gate.name:<24} "
    limit = f"{'>=' if gate.bound.at_least else '<='} {gate.bound.ratio:.4g}" if gate.bound else ""
    if decision.ratio is None:
        return f"{start}{limit}{limit and '  '}(other processes used the machine)"
    if decision.chance is None:
        return f"{start}{decision.ratio:.4g}  (no bound; {gate.repetitions} pairs)"
    chance = f"(by chance: {decision.chance:.2g}; {gate.repetitions} pairs)"
    return f"{start}{decision.ratio:.4g}, expected {limit}  {chance}"


def decision_json(gate: Gate, decision: Decision) -> dict[str, object]:
    bound = {"at_least" if gate.bound.at_least else "at_most": gate.bound.ratio} if gate.bound else {}
    return {"event": "gate", "name": gate.name, "claim": gate.claim, "outcome": decision.outcome,
            "ratio": decision.ratio, "chance": decision.chance, **bound,
            "repetitions": gate.repetitions, "looks": decision.looks}


def _named(every: Sequence[Decided], outcome: str) -> list[str]:
    return [gate.name for gate, decision in every if decision.outcome == outcome]


def verdict_line(every: Sequence[Decided]) -> str:
    """Returns "PASS: 7 gates held", "FAIL: ...", or "NOT JUDGED: ..."; gates without a bound do not count."""
    fell, open_gates = _named(every, "fell"), _named(every, "not judged")
    judged = sum(gate.judged for gate, _ in every)
    if fell:
        return f"FAIL: {len(fell)} of {judged} gates failed: {', '.join(fell)}"
    if open_gates:
        return (f"NOT JUDGED: other processes used the machine during {len(open_gates)} of {judged} gates: "
                f"{', '.join(open_gates)}")
    return f"PASS: {judged} gate{'' if judged == 1 else 's'} held"


def verdict_json(every: Sequence[Decided]) -> dict[str, object]:
    lists = {key: _named(every, key.replace("_", " ")) for key in ("fell", "uncertain", "not_judged")}
    return {"event": "verdict", "pass": exit_code(every) == 0, **lists}


def exit_code(every: Sequence[Decided]) -> int:
    """Returns FELL if a gate failed, else RETRY if one could not be judged, else 0."""
    if _named(every, "fell"):
        return FELL
    return RETRY if _named(every, "not judged") else 0
