"""Promise: a decision is printed with its numbers, and a failed gate decides the exit code."""

import json
import unittest

from gates_file import Gate
from judge import Decision
from report import Decided, decision_json, decision_line, exit_code, verdict_json, verdict_line


def some(name: str, outcome: str, chance: float) -> Decided:
    return Gate(name, claim="It is.", at_least=0.5), Decision(outcome, 0.4321, chance, looks=2)


HELD, UNCERTAIN, FELL = some("a", "held", 0.9), some("b", "uncertain", 0.1), some("c", "fell", 0.002)
OPEN = (Gate("d", claim="It is.", at_least=0.5), Decision("not judged", looks=3))
REPORTED = (Gate("e", judged=False), Decision("reported", 0.4321, looks=2))
UNMEASURED = (Gate("f", judged=False), Decision("unmeasured", looks=3))


class ReportTest(unittest.TestCase):
    def test_a_gate_is_reported_with_its_numbers(self) -> None:
        self.assertEqual(decision_line(*FELL),
                         "fell        c                        0.4321, expected >= 0.5  (by chance: 0.002; 7 pairs)")
        self.assertEqual(decision_line(Gate("c", at_most=2), HELD[1]),
                         "held        c                        0.4321, expected <= 2  (by chance: 0.9; 7 pairs)")
        self.assertEqual(json.dumps(decision_json(*FELL)),
                         '{"event": "gate", "name": "c", "claim": "It is.", "outcome": "fell", "ratio": 0.4321, '
                         '"chance": 0.002, "at_least": 0.5, "repetitions": 7, "looks": 2}')

    def test_a_gate_that_was_not_judged_has_no_numbers(self) -> None:
        self.assertEqual(decision_line(*OPEN),
                         "not judged  d                        >= 0.5  (other processes used the machine)")
        self.assertEqual(json.dumps(decision_json(*OPEN)),
                         '{"event": "gate", "name": "d", "claim": "It is.", "outcome": "not judged", "ratio": null, '
                         '"chance": null, "at_least": 0.5, "repetitions": 7, "looks": 3}')

    def test_a_gate_without_a_bound_is_reported_and_cannot_fail(self) -> None:
        self.assertEqual(decision_line(*REPORTED), "reported    e                        0.4321  (no bound; 7 pairs)")
        self.assertEqual(decision_line(*UNMEASURED),
                         "unmeasured  f                        (other processes used the machine)")
        as_json = decision_json(*REPORTED)
        self.assertEqual((as_json["ratio"], as_json["chance"]), (0.4321, None))
        self.assertFalse({"at_least", "at_most"} & set(as_json))
        self.assertEqual(verdict_line([HELD, REPORTED, UNMEASURED]), "PASS: 1 gate held")
        self.assertEqual(exit_code([HELD, REPORTED, UNMEASURED]), 0)

    def test_a_failed_gate_outweighs_one_that_was_not_judged(self) -> None:
        self.assertEqual(verdict_line([HELD, FELL, OPEN]), "FAIL: 1 of 3 gates failed: c")
        self.assertEqual(exit_code([HELD, FELL, OPEN]), 1)
        self.assertEqual(verdict_line([HELD, OPEN]),
                         "NOT JUDGED: other processes used the machine during 1 of 2 gates: d")
        self.assertEqual(exit_code([HELD, OPEN]), 75)
        self.assertEqual(verdict_line([HELD, UNCERTAIN]), "PASS: 2 gates held")
        self.assertEqual(exit_code([HELD, UNCERTAIN]), 0)
        self.assertEqual(json.dumps(verdict_json([HELD, UNCERTAIN])),
                         '{"event": "verdict", "pass": true, "fell": [], "uncertain": ["b"], "not_judged": []}')
        self.assertEqual(verdict_json([FELL, OPEN])["not_judged"], ["d"])
        self.assertFalse(verdict_json([FELL, OPEN])["pass"])


if __name__ == "__main__":
    unittest.main()
