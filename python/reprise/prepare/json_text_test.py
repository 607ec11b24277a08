"""Promise: JSON is strict, and what is written again is what was read, to the last digit."""

import json
import random
import unittest

import prepare_testing

from reprise.prepare import json_text


class ParseTest(unittest.TestCase):
    def assert_refused(self, text: str, pattern: str, offset: int) -> None:
        with self.assertRaisesRegex(json_text.JsonError, pattern) as raised:
            json_text.parse(text)
        self.assertEqual(raised.exception.offset, offset)

    def test_numbers_keep_all_their_digits(self) -> None:
        digits = "9" * 5000  # Python's int refuses so many
        for number in ("1.10", "1e999", "-0", "-0.0", "1E+2", digits, "0.1000000000000000055511151231257827"):
            self.assertEqual(json_text.write(json_text.parse(f'{{"n": {number}}}')), f'{{"n": {number}}}')

    def test_a_name_that_occurs_twice_is_refused_at_its_second_place(self) -> None:
        self.assert_refused('{"a": 1, "b": {}, "a": 2}', '"a" occurs twice', 18)
        self.assert_refused('{"x": {"a": 1, "a": 1}}', '"a" occurs twice', 15)

    def test_constants_that_are_no_json_are_refused(self) -> None:
        for constant in ("NaN", "Infinity", "-Infinity"):
            self.assert_refused(f'{{"a": {constant}}}', f"{constant} is not JSON", 6)

    def test_half_of_a_surrogate_pair_is_refused(self) -> None:
        self.assert_refused(r'{"a": "x\ud83d"}', "surrogate", 8)
        self.assertEqual(json_text.parse(r'{"a": "\ud83d\ude42"}'), {"a": "🙂"})

    def test_deep_nesting_is_refused_without_deep_recursion(self) -> None:
        most = json_text.MOST_DEPTH
        json_text.parse("[" * most + "]" * most)
        for levels in (most + 1, 100_000):
            self.assert_refused("[" * levels + "]" * levels, "nested deeper than 60", 0)

    def test_too_many_values_are_refused_before_they_take_memory(self) -> None:
        self.assert_refused("[" + "0," * json_text.MOST_VALUES + "0]", "more than 2000000 values", 0)

    def test_a_syntax_error_has_its_place(self) -> None:
        self.assert_refused('{"a": 1 "b"}', "not valid JSON", 8)
        self.assert_refused('{"a": "\t"}', "control character", 7)
        self.assert_refused("", "not valid JSON", 0)
        self.assert_refused('{"a": 01}', "not valid JSON", 7)


class WriteTest(unittest.TestCase):
    def random_value(self, generator: random.Random, depth: int) -> object:
        kind = generator.randrange(8 if depth else 5)
        text = "".join(generator.choice('ab"\\\n\t\x00é🙂\u2028/') for _ in range(generator.randrange(8)))
        simple = [None, True, False, generator.randrange(-10**20, 10**20), text]
        if kind < 5:
            return simple[kind]
        if kind < 7:
            return [self.random_value(generator, depth - 1) for _ in range(generator.randrange(4))]
        return {text + str(i): self.random_value(generator, depth - 1) for i in range(generator.randrange(4))}

    def test_any_value_survives_writing_and_reading(self) -> None:
        generator = random.Random(1)
        for _ in range(500):
            value = self.random_value(generator, 4)
            text = json_text.write(json_text.parse(json.dumps(value)))
            self.assertEqual(json.loads(text), value)
            self.assertEqual(text, json.dumps(value, ensure_ascii=False))
            self.assertNotIn("\n", text)

    def test_plain_values_are_those_of_python(self) -> None:
        value = {"a": [1, -2.5, 1e300, "1", None, True], "b": {"c": 10**30}}
        self.assertEqual(json_text.plain(json_text.parse(json.dumps(value))), value)
        with self.assertRaises(ValueError):
            json_text.plain(json_text.parse("9" * 5000))

    def test_texts_are_those_of_values_and_names(self) -> None:
        value = json_text.parse('{"a": ["b", {"c": "d"}, 5, null]}')
        self.assertEqual(list(json_text.texts(value)), ["a", "b", "c", "d"])


class MemberOffsetTest(unittest.TestCase):
    def test_it_is_where_the_value_of_the_outermost_member_begins(self) -> None:
        text = '{"x": {"a": 1}, "y": ["a", "a"], "s": "a\\": 1", "a" : 2}'
        self.assertEqual(text[json_text.member_offset(text, "a"):], "2}")
        self.assertEqual(text[json_text.member_offset(text, "x"):][:2], '{"')
        self.assertEqual(json_text.member_offset(text, "z"), 0)
        self.assertEqual(json_text.member_offset('{"x": {"b": 2, "a": 1}, "a": 3}', "a"), 29)

    def test_a_name_written_with_escapes_is_found(self) -> None:
        self.assertEqual(json_text.member_offset(r'{"\u0061": 1}', "a"), 11)


if __name__ == "__main__":
    prepare_testing.main()
