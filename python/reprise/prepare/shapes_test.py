"""Promise: each shape in which data sets are published is known by its first row, and a row of another shape is refused
with its place."""

import json
import random
from typing import Any

import prepare_testing

from reprise.prepare import json_text
from reprise.prepare.failure import DATA, Failure
from reprise.prepare.messages import with_system
from reprise.prepare.row import Row
from reprise.prepare.shapes import Problem, extract, recognise

USER = {"role": "user", "content": "2+2?"}
ASSISTANT = {"role": "assistant", "content": "4"}


def row(values: dict[str, Any], line: int = 1) -> Row:
    text = json.dumps(values)
    return Row("f", line, json_text.parse(text), text)


def problem_of(values: dict[str, Any], *named: str) -> Problem:
    return extract(row(values), recognise(row(values), *named))


class _RefusingTest(prepare_testing.FolderTest):
    def refused(self, pattern: str, values: dict[str, Any], *named: str, first: dict[str, Any] | None = None) -> None:
        shape_row = row(first or values)
        self.assert_fails(pattern, DATA, lambda: extract(row(values, 2 if first else 1), recognise(shape_row, *named)))


class ShapesTest(_RefusingTest):
    def test_prompt_with_answer_or_completion(self) -> None:
        for name in ("answer", "completion"):
            self.assertEqual(problem_of({"prompt": "a", name: "b", "level": 3}),
                             Problem("a", "b", {"level": "3"}, False))

    def test_prompt_alone_has_no_answer(self) -> None:
        self.assertEqual(problem_of({"prompt": "a", "x": None}), Problem("a", None, {"x": None}, False))

    def test_conversational_prompt_and_completion(self) -> None:
        self.assertEqual(problem_of({"prompt": [USER], "completion": [ASSISTANT]}), Problem([USER], "4", {}, False))

    def test_the_last_of_the_messages_is_the_answer(self) -> None:
        found = problem_of(
            {"messages": [USER, ASSISTANT, USER, {"role": "assistant", "content": [{"type": "text", "text": "5"}]}]})
        self.assertEqual(found, Problem([USER, ASSISTANT, USER], "5", {}, False))

    def test_messages_within_a_text_are_read_as_json(self) -> None:
        self.assertEqual(problem_of({"messages": json.dumps([USER, ASSISTANT])}), Problem([USER], "4", {}, False))

    def test_gsm8k_has_its_answer_behind_the_mark(self) -> None:
        found = problem_of({"question": "q", "answer": "1 #### 2\nso\n#### 1,234 "})
        self.assertEqual(found, Problem("q", "1,234", {}, False))
        self.assertEqual(problem_of({"question": "q", "answer": "a #### 1"}, "question", "answer").answer, "a #### 1")
        self.assertEqual(problem_of({"question": "q", "answer": "7"}).answer, "7")

    def test_a_later_answer_without_the_mark_names_its_line(self) -> None:
        self.refused(r'f:2:31: "answer" has no ####.*--prompt question --answer answer',
                     {"question": "qqq", "answer": "7"},
                     first={"question": "q", "answer": "#### 1"})

    def test_verl_keeps_the_other_columns(self) -> None:
        values = {"data_source": "d", "prompt": [USER], "reward_model": {"style": "rule", "ground_truth": "4"}}
        found = problem_of(values)
        self.assertEqual((found.prompt, found.answer), ([USER], "4"))
        self.assertEqual(found.others, {"data_source": "d", "reward_model": {"style": "rule", "ground_truth": "4"}})

    def test_own_columns_may_be_members_of_columns(self) -> None:
        found = problem_of({"x": {"y": "a"}, "z": 7, "prompt": "p"}, "x.y", "z")
        self.assertEqual((found.prompt, found.answer), ("a", "7"))
        self.assertEqual(problem_of({"a.b": "c", "answer": "d"}, "a.b").prompt, "c")

    def test_named_messages_are_the_whole_prompt(self) -> None:
        self.assertEqual(problem_of({"messages": [ASSISTANT, USER]}, "messages"),
                         Problem([ASSISTANT, USER], None, {}, False))

    def test_two_candidates_must_be_told_apart(self) -> None:
        self.refused('the row has "prompt", "messages": --prompt COLUMN',
                     {"prompt": "a", "messages": [USER, ASSISTANT]})
        self.refused('the row has "answer", "completion": --answer COLUMN',
                     {"prompt": "a", "answer": "b", "completion": "c"})

    def test_unknown_columns_are_listed(self) -> None:
        self.refused(r'f:1:1: the row has "input", "output", and none of them is known as a prompt.*--prompt COLUMN',
                     {"input": "a", "output": "b"})
        self.refused('there is no column "inputs"; the row has "input"', {"input": "a"}, "inputs")
        self.refused("the row has none", {})
        self.refused("a question and no answer", {"question": "q", "solution": "s"})

    def test_a_row_without_an_answer_names_its_line(self) -> None:
        first = {"prompt": "a", "answer": "b"}
        self.refused('f:2:1: "answer" is missing; expected a text or a number: complete the row or remove it',
                     {"prompt": "a"},
                     first=first)
        self.refused('f:2:27: "answer" is missing', {"prompt": "a", "answer": None}, first=first)
        self.refused('f:2:27: "answer" is empty', {"prompt": "a", "answer": ""}, first=first)
        self.refused('"answer" is an object', {"prompt": "a", "answer": {}}, first=first)
        self.refused('"answer" is true or false', {"prompt": "a", "answer": True}, first=first)
        self.refused(r'"reward_model.ground_truth" is missing', {"prompt": "a", "reward_model": None},
                     first={"prompt": "a", "reward_model": {"ground_truth": "1"}})

    def test_a_number_as_an_answer_keeps_its_digits(self) -> None:
        self.assertEqual(
            extract(Row("f", 1, json_text.parse('{"prompt": "a", "answer": 1.10}')),
                    recognise(row({"prompt": "a", "answer": 1}))).answer, "1.10")

    def test_a_prompt_of_another_kind_than_the_first_is_refused(self) -> None:
        first = {"prompt": "a", "answer": "b"}
        self.refused(r'f:2:12: "prompt" is a number; expected a text, as in the first row: write it in quotes',
                     {"prompt": 12, "answer": "b"},
                     first=first)
        self.refused('"prompt" is a list', {"prompt": [USER], "answer": "b"}, first=first)
        self.refused('"prompt" is missing', {"answer": "b"}, first=first)
        self.refused('"prompt" is empty', {"prompt": "", "answer": "b"}, first=first)
        self.refused('"prompt" is a text; expected a list of messages', first, first={"prompt": [USER], "answer": "b"})

    def test_a_rendered_row_is_taken_as_it_is(self) -> None:
        self.assertEqual(problem_of({"prompt": "<s>a", "rendered": True}), Problem("<s>a", None, {}, True))
        self.assertEqual(problem_of({"prompt": "a", "rendered": False}), Problem("a", None, {}, False))
        self.refused('"rendered" is the name of a mark', {"prompt": "a", "rendered": "yes"})
        self.refused('"rendered" is the name of a mark', {"prompt": [USER], "rendered": True})


class MessagesTest(_RefusingTest):
    def test_what_is_no_message_is_named_by_its_number(self) -> None:
        cases: tuple[tuple[Any, str], ...] = (
            ([], "is an empty list"),
            ([USER, "a"], "message 2 .* is a text"),
            ([None], "message 1 .* is null"),
            ([{"content": "a"}], 'message 1 .* has no role, only "content"'),
            ([{"role": 1, "content": "a"}], "has no role"),
            ([{"from": "human", "value": "a"}], "rename from and value to role and content"),
            ([{"role": "user"}], "has no content"),
            ([{"role": "user", "content": 5}], "has a content that is a number"),
            ([{"role": "user", "content": [{"type": "image"}]}], r"has a part that is no text \(image\)"),
            ([{"role": "user", "content": ["a"]}], r"no text \(a text\)"),
            ([{"role": "user", "content": {"a": None}}], "has a content that is an object"),
        )
        for messages, pattern in cases:
            self.refused(f"f:1:12: .*{pattern}", {"prompt": messages, "answer": "b"}, "prompt")

    def test_a_prompt_does_not_end_with_the_assistant(self) -> None:
        self.refused('call the column "messages" if the last one is the answer', {"prompt": [USER, ASSISTANT]})

    def test_messages_end_with_a_text_of_the_assistant(self) -> None:
        self.refused('the last message of "messages" has the role "user".*--prompt messages', {"messages": [USER]})
        self.refused("has the answer alone", {"messages": [ASSISTANT]})
        last: dict[str, Any]
        for last in ({"role": "assistant", "content": ""}, {"role": "assistant", "content": None, "tool_calls": [{}]}):
            self.refused("has no text that could be the answer", {"messages": [USER, last]})

    def test_a_tool_call_needs_no_content(self) -> None:
        call = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}
        self.assertEqual(
            problem_of({"messages": [USER, call, {"role": "tool", "content": "1"}, ASSISTANT]}).answer, "4")

    def test_a_system_message_is_added_where_there_is_none(self) -> None:
        system = {"role": "system", "content": "s"}
        self.assertEqual(with_system([USER], "s"), [system, USER])
        self.assertEqual(with_system([system, USER], "t"), [system, USER])
        self.assertEqual(with_system([USER], ""), [USER])

    def test_any_value_anywhere_ends_in_a_problem_or_a_sentence(self) -> None:
        generator = random.Random(1)
        values: list[Any] = [
            None, True, 0, "", "a", [], {}, [None], [[]], [{}], {"role": None}, [USER], [USER, ASSISTANT],
            [{"role": "user", "content": [None]}], {"ground_truth": None}, {"ground_truth": [1]}, "[", "[{}]",
            [{"role": "assistant", "content": None, "tool_calls": None}]
        ]
        names = ("prompt", "messages", "question", "answer", "completion", "reward_model", "rendered", "x")
        problems = 0
        for _ in range(5000):
            chosen = generator.sample(names, generator.randrange(5))
            try:
                problem_of({name: generator.choice(values) for name in chosen},
                           *generator.choice([(), ("x",), ("", "x"), ("x", "x")]))
                problems += 1
            except Failure as failure:
                self.assertEqual(failure.code, DATA)
        self.assertGreater(problems, 50)


if __name__ == "__main__":
    prepare_testing.main()
