"""Promise: a file of gates is read in its order, and a fault in it is named with its place and its cause."""

import pathlib
import unittest

from failure import USAGE, Failure
from gates_file import BASELINE, SAME_RUN, Gate, bounds_for, choose_gates, labels_of, read_gates
from judge import Bound

GATES = """[fast]
claim = "It is fast."
numerator = "bazel-bin/benchmarks/a --x"
numerator_value = "ms"
denominator = "same run"
denominator_value = "bare_ms"
at_most = 2

[steady]
claim = "It stays fast."
prepare = "bazel-bin/pipelines/train {prepared}"
numerator = "bazel-bin/benchmarks/a --x"
numerator_value = "ms"
denominator = "baseline"
at_most = 1.1
repetitions = 11
"""


def read(before: str = "", after: str = "") -> list[Gate]:
    assert before in GATES
    return read_gates(GATES.replace(before, after, 1).encode(), "gates.toml")


class GatesFileTest(unittest.TestCase):
    def assert_rejected(self, before: str, after: str, sentence: str) -> None:
        with self.assertRaises(Failure) as refused:
            read(before, after)
        self.assertEqual(refused.exception.code, USAGE)
        self.assertIn(sentence, str(refused.exception))

    def test_gates_are_read_in_their_order(self) -> None:
        fast, steady = read()
        self.assertEqual((fast.name, steady.name), ("fast", "steady"))
        self.assertEqual((fast.denominator, steady.denominator), (SAME_RUN, BASELINE))
        self.assertEqual((fast.bound, steady.bound), (Bound(False, 2), Bound(False, 1.1)))
        self.assertEqual((fast.repetitions, steady.repetitions), (7, 11))
        self.assertEqual((fast.value_below, steady.value_below), ("bare_ms", "ms"))
        self.assertIsInstance(fast.at_most, float)

    def test_programs_are_named_by_their_labels(self) -> None:
        self.assertEqual(labels_of(read()), ["//benchmarks:a", "//pipelines:train"])
        train = Gate("g", numerator="tools/run.sh 2 bazel-bin/pipelines/train configs/a.toml --set x=bazel-bin/a/b")
        self.assertEqual(labels_of([train]), ["//pipelines:train"])
        self.assertEqual(labels_of([Gate("g", numerator="tools/run.sh 2", denominator="TMPDIR=bazel-bin")]), [])

    def test_an_error_names_its_place_and_its_cause(self) -> None:
        self.assert_rejected("at_most", "at_mots",
                            "gates.toml:7:1: unknown key fast.at_mots; did you mean fast.at_most?")
        self.assert_rejected("= 2", '= "2"', 'gates.toml:7:11: fast.at_most is "2"; expected a number')
        self.assert_rejected("= 2", "= true", "gates.toml:7:11: fast.at_most is true; expected a number")
        self.assert_rejected("= 2", "= [2]", "gates.toml:7:11: fast.at_most is [2]; expected a number")
        self.assert_rejected("= 2", "= 0", "fast.at_most is 0; expected more than 0")
        self.assert_rejected("= 2", "= inf", "expected a finite number")
        self.assert_rejected("= 2", f"= 1{'0' * 400}", "expected a finite number")
        self.assert_rejected("= 2", "= 2\nat_most_avx2 = -1", "fast.at_most_avx2 is -1; expected 0 or more")
        self.assert_rejected("= 11", "= 4", "gates.toml:16:15: steady.repetitions is 4; expected 5 to 50")
        self.assert_rejected("= 11", "= 51", "steady.repetitions is 51; expected 5 to 50")
        self.assert_rejected("= 11", "= 7.0", "steady.repetitions is 7.0; expected a whole number")
        self.assert_rejected("= 11", "= 11\nprocessors = 0", "steady.processors is 0; expected 1 or more")
        self.assert_rejected('"It is fast."', "1", "gates.toml:2:9: fast.claim is 1; expected text in quotes")
        self.assert_rejected("at_most = 2", "judged = 1", "fast.judged is 1; expected true or false")

    def test_keys_that_are_missing_or_contradict_each_other_are_named(self) -> None:
        self.assert_rejected('claim = "It is fast."', "", "gates.toml: fast: claim is empty")
        self.assert_rejected('numerator_value = "ms"', "", "fast: numerator and numerator_value must both be set")
        one_bound = "fast: exactly one of at_least and at_most must be set"
        self.assert_rejected("at_most = 2", "", one_bound)
        self.assert_rejected("at_most = 2", "at_most = 2\nat_least = 1", one_bound)
        self.assert_rejected("at_most = 2", "at_most = 2\njudged = false",
                            "fast: judged is false, so at_least and at_most must not be set")
        self.assert_rejected("at_most = 2", "at_most = 2\nat_least_avx2 = 1", "fast: at_least_avx2 requires at_least")
        self.assert_rejected('denominator_value = "bare_ms"', "", "fast: denominator_value must be another number")
        self.assert_rejected('denominator = "baseline"', "", "steady: denominator must be another command")
        self.assert_rejected('"baseline"', '"baseline"\ndenominator_value = "s"', "steady: against the baseline, ")

    def test_what_is_not_toml_or_outside_of_sections_is_named_with_its_place(self) -> None:
        self.assert_rejected("at_most = 2", "at_most = no", "gates.toml:7:11: not valid TOML: ")
        self.assert_rejected("[steady]", "[fast]", "gates.toml:9:6: not valid TOML: ")
        self.assert_rejected("[fast]", "at_most = 3\n[fast]", "gates.toml:1:1: key at_most is outside every section")
        self.assert_rejected("[fast]", "[[fast]]", "key fast is outside every section")
        for data in (b"a = '\xff'", b"a = " + b"[" * 100_000, b"a = 1" + b"0" * 5000, b"[a"):
            with self.assertRaisesRegex(Failure, "^gates.toml:1:[0-9]+: not valid TOML: "):
                read_gates(data, "gates.toml")

    def test_an_instruction_set_may_have_its_own_bound(self) -> None:
        gates = read("at_most = 2", "at_most = 2\nat_most_avx2 = 3")
        bounds = {name: [gate.bound for gate in bounds_for(name, gates)] for name in ("avx2", "avx512")}
        self.assertEqual(bounds, {"avx2": [Bound(False, 3), Bound(False, 1.1)],
                                  "avx512": [Bound(False, 2), Bound(False, 1.1)]})
        (least, _) = bounds_for("avx2", read("at_most = 2", "at_least = 2\nat_least_avx2 = 1"))
        self.assertEqual(least.bound, Bound(True, 1))

    def test_a_gate_that_is_not_judged_has_no_bound(self) -> None:
        self.assertIsNone(read("at_most = 2", "judged = false")[0].bound)

    def test_gates_are_chosen_by_name(self) -> None:
        gates = read()
        self.assertEqual(choose_gates(gates, []), gates)
        self.assertEqual(choose_gates(gates, ["steady"]), gates[1:])
        self.assertEqual(choose_gates(gates, ["steady", "fast"]), gates)
        with self.assertRaises(Failure) as unknown:
            choose_gates(gates, ["stedy"])
        self.assertEqual(str(unknown.exception), 'unknown gate "stedy"; did you mean "steady"? Known are: fast, steady')
        self.assertRaisesRegex(Failure, 'unknown gate "x"; known are: fast, steady', choose_gates, gates, ["x"])

    def test_the_shipped_gates_are_valid(self) -> None:
        file = pathlib.Path(__file__).parent.parent / "gates.toml"
        self.assertGreaterEqual(len(read_gates(file.read_bytes(), file.name)), 5)


if __name__ == "__main__":
    unittest.main()
