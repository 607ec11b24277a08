"""Promise: the program turns data sets into what `train` reads, the same bytes each time, tells what it did, and ends
every mistake with one sentence and the exit code of docs/errors.md. Needs Jinja2."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import prepare_testing

# As a package `tokenizers` would do: a token per word, and one before the text where special tokens are asked for.
_TOKENIZERS = '''
class Tokenizer:
    @classmethod
    def from_file(cls, path):
        if "broken" in open(path).read(): raise BaseException("a panic")
        return cls()
    def no_truncation(self): pass
    def no_padding(self): pass
    def encode(self, text, add_special_tokens):
        import types
        return types.SimpleNamespace(ids=text.split() + [0] * add_special_tokens)
'''
_GSM8K = [{
    "question": f"Ann has {i} apples and buys {i % 7}. How many has she?",
    "answer": f"{i} + {i % 7} = <<..>>\n#### {i + i % 7}"
} for i in range(1, 101)]


class _ProgramTest(prepare_testing.FolderTest):
    def data(self,
             *arguments: str,
             code: int = 0,
             error: str = "",
             **environment: str) -> "subprocess.CompletedProcess[str]":
        """Runs `prepare data ARGUMENTS`; checks its exit code, and that an error is one line without a traceback."""
        ended = self.run_prepare("data", *arguments, **environment)
        self.assertEqual(ended.returncode, code, ended.stderr)
        self.assertNotIn("Traceback", ended.stderr)
        if code:
            last = ended.stderr.splitlines()[-1]
            self.assertRegex(last, error)
            self.assertTrue(last.startswith("reprise: "), last)
            self.assertEqual([name for name in os.listdir(self.folder) if ".partial" in name or name.startswith("out")],
                             [])
        return ended

    def model(self, template: str | None = prepare_testing.CHATML, tokenizer: str = "") -> str:
        config = {"eos_token": "<|im_end|>", **({} if template is None else {"chat_template": template})}
        self.write("model/tokenizer_config.json", json.dumps(config))
        if tokenizer:
            self.write("model/tokenizer.json", tokenizer)
        return self.path("model")


class ConversionTest(_ProgramTest):
    def setUp(self) -> None:
        super().setUp()
        prepare_testing.require_jinja2()

    def test_gsm8k_becomes_prompts_and_answers(self) -> None:
        ended = self.data(self.write_lines("a.jsonl", *_GSM8K), "--output", "out.jsonl")
        self.assertEqual(
            self.rows("out.jsonl")[2], {"prompt": "Ann has 3 apples and buys 3. How many has she?", "answer": "6"})
        self.assertIn("JSON lines; prompt: question; answer: answer (GSM8K: what follows ####)", ended.stderr)
        self.assertIn("100 rows read\n", ended.stdout)
        self.assertIn("characters, 46.9 on average (not in tokens: that needs --model DIR", ended.stdout)
        digest = hashlib.sha256(self.read("out.jsonl")).hexdigest()
        self.assertIn(f"out.jsonl: 100 rows, sha256:{digest}", ended.stdout)

    def test_every_format_of_the_same_rows_gives_the_same_bytes(self) -> None:
        values = [{"prompt": f"p\n{i}, \"é\"", "answer": str(i), "more": "x"} for i in range(20)]
        self.write_lines("a.jsonl", *values)
        self.write("a.json", json.dumps(values, indent=1))
        self.write("a.csv", "prompt,answer,more\r\n" + "".join(f'"p\n{i}, ""é""",{i},x\r\n' for i in range(20)))
        for name in ("a.jsonl", "a.json", "a.csv"):
            self.data(name, "--output", f"{name}.out")
        self.assertEqual(self.rows("a.jsonl.out"), values)
        self.assertEqual(self.read("a.json.out"), self.read("a.jsonl.out"))
        self.assertEqual(self.read("a.csv.out"), self.read("a.jsonl.out"))

    def test_conversations_are_rendered_up_to_the_answer(self) -> None:
        conversation = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]
        self.write_lines("a.jsonl", {"messages": conversation, "id": 1.50},
                         {"messages": conversation[:1] * 2 + conversation[1:]})
        self.data("a.jsonl", "--model", self.model(), "--system", "Be brief.", "--output", "out.jsonl")
        begin = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n2+2?<|im_end|>\n"
        self.assertEqual(
            self.rows("out.jsonl")[0],
            {"prompt": begin + "<|im_start|>assistant\n", "answer": "4", "rendered": True, "id": 1.5})

    def test_a_text_is_a_message_of_the_user_unless_raw(self) -> None:
        self.write_lines("a.jsonl", {"prompt": "2+2?", "answer": "4"})
        self.data("a.jsonl", "--model", self.model(), "--output", "out.jsonl")
        self.assertEqual(
            self.rows("out.jsonl")[0]["prompt"], "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n")
        self.data("a.jsonl", "--model", self.model(), "--raw", "--output", "raw.jsonl")
        self.assertEqual(self.rows("raw.jsonl"), [{"prompt": "2+2?", "answer": "4"}])

    def test_its_own_output_is_not_rendered_again(self) -> None:
        self.write_lines("a.jsonl", {"prompt": "2+2?", "answer": "4", "x": [1.10, {}]})
        self.data("a.jsonl", "--model", self.model(), "--output", "b.jsonl")
        self.data("b.jsonl", "--model", self.model(), "--output", "c.jsonl")
        self.assertEqual(self.read("b.jsonl"), self.read("c.jsonl"))

    def test_rows_with_tools_are_rendered_by_the_template_for_tools(self) -> None:
        named = [{"name": "default", "template": "no tools"}, {"name": "tool_use", "template": "{{ tools | tojson }}"}]
        self.write("model/tokenizer_config.json", json.dumps({"chat_template": named}))
        self.write_lines("a.jsonl", {"prompt": "a", "tools": [{"name": "f"}]}, {"prompt": "a", "tools": None})
        self.data("a.jsonl", "--model", self.path("model"), "--output", "out.jsonl")
        self.assertEqual([row["prompt"] for row in self.rows("out.jsonl")], ['[{"name": "f"}]', "no tools"])

    def test_columns_are_kept_as_they_are_written_or_dropped(self) -> None:
        self.write("a.jsonl", '{"prompt": "a", "answer": "b", "n": 1.10, "m": [1e999, {"x": null}], "s": "\\u00e9"}\n')
        self.data("a.jsonl", "--output", "out.jsonl")
        self.assertEqual(
            self.read("out.jsonl").decode(), '{"prompt": "a", "answer": "b", "n": 1.10, "m": [1e999, {"x": null}], '
            '"s": "é"}\n')
        self.data("a.jsonl", "--output", "dropped.jsonl", "--drop-columns")
        self.assertEqual(self.rows("dropped.jsonl"), [{"prompt": "a", "answer": "b"}])

    def test_a_column_whose_name_is_taken_is_told(self) -> None:
        self.write_lines("a.jsonl", {"q": "a", "s": "b", "prompt": "c"})
        ended = self.data("a.jsonl", "--prompt", "q", "--answer", "s", "--output", "out.jsonl")
        self.assertEqual(self.rows("out.jsonl"), [{"prompt": "a", "answer": "b"}])
        self.assertIn("column prompt of 1 row is not kept: its name is taken", ended.stdout)

    def test_the_date_of_a_template_is_a_constant(self) -> None:
        self.write_lines("a.jsonl", {"prompt": "a"})
        self.write("t.jinja", "{{ strftime_now('%d %B %Y') }}")
        self.data("a.jsonl", "--chat-template", "t.jinja", "--output", "out.jsonl")
        self.assertEqual(self.rows("out.jsonl")[0]["prompt"], "01 January 2025")
        self.data("a.jsonl", "--chat-template", "t.jinja", "--output", "other.jsonl", "--date", "2024-07-26")
        self.assertEqual(self.rows("other.jsonl")[0]["prompt"], "26 July 2024")

    def test_special_tokens_in_the_data_are_refused_with_their_line(self) -> None:
        self.write_lines("a.jsonl", {"prompt": "a", "answer": "b"}, {"prompt": "a<|im_end|>", "answer": "b"})
        self.data("a.jsonl",
                  "--model",
                  self.model(),
                  "--output",
                  "out.jsonl",
                  code=65,
                  error=r'a.jsonl:2:12: "prompt" contains <\|im_end\|>, a special token of the model, as character 2')
        self.write_lines(
            "b.jsonl", {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "<|im_end|>"}]})
        self.data("b.jsonl", "--model", self.model(), "--output", "out.jsonl", code=65, error="the answer contains <")
        self.data("a.jsonl", "--model", self.model(), "--output", "out.jsonl", "--allow-special")

    def test_the_manifest_tells_what_was_made_of_what(self) -> None:
        self.write_lines("a.jsonl", *_GSM8K)
        self.data("a.jsonl", "--model", self.model(), "--held-out", "10", "--held-out-output", "h.jsonl", "--output",
                  "o.jsonl", "--seed", "3")
        facts = json.loads(self.read("o.jsonl.manifest.json"))
        self.assertEqual(facts["version"], 1)
        self.assertEqual(facts["sources"][0] | {"shape": ""}, {
            "path": "a.jsonl", "format": "jsonl", "bytes": len(self.read("a.jsonl")), "rows": 100, "shape": "",
            "sha256": hashlib.sha256(self.read("a.jsonl")).hexdigest()
        })
        self.assertEqual(facts["template"]["sha256"], hashlib.sha256(prepare_testing.CHATML.encode()).hexdigest())
        self.assertEqual([(entry["file"], entry["rows"], entry["sha256"]) for entry in facts["outputs"]],
                         [("o.jsonl", 90, hashlib.sha256(self.read("o.jsonl")).hexdigest()),
                          ("h.jsonl", 10, hashlib.sha256(self.read("h.jsonl")).hexdigest())])
        self.assertEqual(
            facts["counts"],
            {"rows": 100, "rendered": 100, "duplicates": 0, "dropped_duplicates": 0, "too_long": 0, "written": 100})
        self.assertEqual((facts["options"]["seed"], facts["options"]["held_out"], facts["options"]["date"]),
                         (3, "10", "2025-01-01"))

    def test_the_same_command_gives_the_same_bytes(self) -> None:
        self.write_lines("a.jsonl", *_GSM8K)
        made = []
        for hash_seed in ("1", "2"):
            self.data("a.jsonl",
                      "--model",
                      self.model(),
                      "--held-out",
                      "20%",
                      "--held-out-output",
                      "h",
                      "--output",
                      "o",
                      "--force",
                      PYTHONHASHSEED=hash_seed,
                      TZ="Asia/Tokyo",
                      LC_ALL="C")
            made.append([self.read(name) for name in ("o", "h", "o.manifest.json")])
        self.assertEqual(*made)

    def test_json_prints_one_object_and_nothing_else(self) -> None:
        ended = self.data(self.write_lines("a.jsonl", *_GSM8K), "--output", "o", "--json", "--quiet")
        facts = json.loads(ended.stdout)
        self.assertEqual((facts["event"], facts["counts"]["written"], ended.stderr), ("done", 100, ""))


class SplitTest(_ProgramTest):
    def split(self, amount: str, *more: str) -> tuple[list[Any], list[Any]]:
        self.data("a.jsonl", "--held-out", amount, "--held-out-output", "h", "--output", "o", "--force", *more)
        return self.rows("o"), self.rows("h")

    def test_no_prompt_is_in_both_files(self) -> None:
        rows = [
            {"prompt": f"Question  {i % 40}" if i % 2 else f"question {i % 40}", "answer": str(i)} for i in range(200)
        ]
        self.write_lines("a.jsonl", *rows)
        for amount in ("8", "20%"):
            left, held = self.split(amount)
            forms = [{row["prompt"].lower().replace("  ", " ") for row in part} for part in (left, held)]
            self.assertFalse(forms[0] & forms[1])
            self.assertEqual(sorted(map(str, left + held)), sorted(map(str, rows)))
        self.assertEqual(len({row["prompt"].lower().replace("  ", " ") for row in self.split("8")[1]}), 8)

    def test_neither_order_nor_other_rows_nor_a_template_change_the_side(self) -> None:
        prepare_testing.require_jinja2()
        rows = [{"prompt": f"q{i}", "answer": "x"} for i in range(100)]
        self.write_lines("a.jsonl", *rows)
        held = {row["prompt"] for row in self.split("30%")[1]}
        self.write_lines("a.jsonl", *reversed(rows[:50]), {"prompt": "new", "answer": "x"})
        self.assertEqual({row["prompt"] for row in self.split("30%")[1]} - {"new"},
                         {q for q in held if int(q[1:]) < 50})
        rendered = {row["prompt"] for row in self.split("30%", "--model", self.model(), "--system", "s")[1]}
        self.assertEqual({text.split("user\n")[1].split("<")[0] for text in rendered} - {"new"},
                         {q for q in held if int(q[1:]) < 50})

    def test_groups_of_a_column_stay_together(self) -> None:
        self.write_lines("a.jsonl", *[{"prompt": f"q{i}", "answer": "x", "book": f"b{i % 10}"} for i in range(100)])
        left, held = self.split("3", "--group-by", "book")
        self.assertEqual((len(left), len(held)), (70, 30))
        self.assertEqual(len({row["book"] for row in held}), 3)

    def test_a_row_without_the_column_of_groups_names_its_line(self) -> None:
        self.write_lines("a.jsonl", {"prompt": "a", "answer": "x"})
        self.data("a.jsonl",
                  "--held-out",
                  "1",
                  "--held-out-output",
                  "h",
                  "--output",
                  "out",
                  "--group-by",
                  "book",
                  code=65,
                  error='a.jsonl:1:1: there is no column "book", which --group-by names')

    def test_an_output_without_rows_is_refused(self) -> None:
        self.write_lines("a.jsonl", {"prompt": "a", "answer": "x"})
        self.data("a.jsonl",
                  "--held-out",
                  "1",
                  "--held-out-output",
                  "h",
                  "--output",
                  "out",
                  code=64,
                  error="puts 1 rows into h, and 0 into out")

    def test_duplicates_are_counted_and_dropped_on_request(self) -> None:
        self.write_lines(
            "a.jsonl",
            *[{"prompt": p, "answer": a} for p, a in (("a", "1"), ("A ", "1"), ("a", "2"), ("b", "1"), ("a", "1"))])
        self.assertIn("2 rows with the prompt and answer of an earlier one: kept",
                      self.data("a.jsonl", "--output", "o").stdout)
        self.assertEqual(len(self.rows("o")), 5)
        ended = self.data("a.jsonl", "--output", "p", "--drop-duplicates")
        self.assertIn("of an earlier one: left out", ended.stdout)
        self.assertEqual([(row["prompt"], row["answer"]) for row in self.rows("p")], [("a", "1"), ("a", "2"),
                                                                                      ("b", "1")])


class TokensTest(_ProgramTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("packages/tokenizers.py", _TOKENIZERS)
        packages = os.pathsep.join([self.path("packages"), os.environ.get("PYTHONPATH", "")])
        self.environment: dict[str, Any] = {"PYTHONPATH": packages}
        self.write_lines("a.jsonl", {"prompt": "one two", "answer": "x"}, {"prompt": "one two three", "answer": "x"})

    def test_lengths_are_those_that_the_model_reads(self) -> None:
        ended = self.data("a.jsonl", "--model", self.model(None, "{}"), "--output", "o", **self.environment)
        self.assertIn("prompts have 3 to 4 tokens, 3.5 on average:", ended.stdout)  # a raw text gets special tokens
        prepare_testing.require_jinja2()
        ended = self.data("a.jsonl", "--model", self.model("{{ messages[0].content }}", "{}"), "--output", "p",
                          **self.environment)
        self.assertIn("prompts have 2 to 3 tokens, 2.5 on average:", ended.stdout)  # a rendered one gets none

    def test_longer_prompts_are_left_out_and_counted(self) -> None:
        ended = self.data("a.jsonl", "--model", self.model(None, "{}"), "--output", "o", "--max-prompt-tokens", "3",
                          **self.environment)
        self.assertIn("1 row left out: prompts of more than 3 tokens", ended.stdout)
        self.assertEqual([row["prompt"] for row in self.rows("o")], ["one two"])
        self.data("a.jsonl",
                  "--model",
                  self.model(None, "{}"),
                  "--output",
                  "out",
                  "--max-prompt-tokens",
                  "1",
                  code=65,
                  error="no row is left to write",
                  **self.environment)

    def test_what_is_missing_for_tokens_is_named(self) -> None:
        self.data("a.jsonl",
                  "--output",
                  "out",
                  "--max-prompt-tokens",
                  "3",
                  code=64,
                  error="needs --model DIR with a tokenizer.json")
        self.write("packages/tokenizers.py", "raise ImportError")
        self.data("a.jsonl",
                  "--output",
                  "out",
                  "--max-prompt-tokens",
                  "3",
                  "--model",
                  self.model(None, "{}"),
                  code=64,
                  error="needs the Python package tokenizers: pip install tokenizers",
                  **self.environment)

    def test_a_panic_of_the_package_is_a_sentence(self) -> None:
        self.data("a.jsonl",
                  "--output",
                  "out",
                  "--model",
                  self.model(None, '{"broken": 1}'),
                  code=65,
                  error="tokenizer.json: the package tokenizers does not read it: a panic",
                  **self.environment)


class MistakesTest(_ProgramTest):
    def test_each_mistake_has_its_sentence_and_exit_code(self) -> None:
        good = self.write_lines("a.jsonl", {"prompt": "a", "answer": "b"})
        conversation = self.write_lines("m.jsonl", {"prompt": [{"role": "user", "content": "a"}]})
        out = ("--output", "out")
        for code, error, *arguments in (
            (64, "no SOURCE is given", *out),
            (64, "No such file", "none.jsonl", *out),
            (64, "it is a directory", self.folder, *out),
            (65, "it is empty", self.write("e.jsonl", "\n"), *out),
            (65, "it has no rows", self.write("l.json", "[]"), *out),
            (65, "z.gz: expected JSON lines, .*gzip", self.write("z.gz", b"\x1f\x8b\x08"), *out),
            (65, "the format is not known", self.write("t.txt", "hello"), *out),
            (65, "u.jsonl:1:14: the byte 0xff", self.write("u.jsonl", b'{"prompt": "a\xff"}'), *out),
            (65, "p.parquet: it does not begin", self.write("p.parquet", "x"), *out),
            (64, "would overwrite the source", good, "--output", "a.jsonl", "--force"),
            (64, "would overwrite the source", good, "--output", "b", "--held-out", "1", "--held-out-output",
             "./a.jsonl"),
            (64, "is another output's name", good, *out, "--held-out", "1", "--held-out-output", "./out"),
            (64, "the folder none does not exist", good, "--output", "none/out"),
            (64, r"m.jsonl:1:12: the prompt is a list of messages.*--model DIR", conversation, *out),
            (64, "--system needs a chat template", good, *out, "--system", "s"),
            (64, "--model none: there is no such directory", good, *out, "--model", "none"),
            (64, "cannot read none.jinja", good, *out, "--chat-template", "none.jinja"),
        ):
            with self.subTest(error):
                self.data(*arguments, code=code, error=error)

    def test_an_existing_output_is_left_as_it_is(self) -> None:
        good = self.write_lines("a.jsonl", {"prompt": "a"})
        for name in ("x", "x.manifest.json", "h"):
            self.write(name, "mine")
            self.data(good,
                      "--output",
                      "x",
                      "--held-out",
                      "1",
                      "--held-out-output",
                      "h",
                      code=64,
                      error=f"{name} exists: choose another")
            self.assertEqual(self.read(name), b"mine")
            os.unlink(self.path(name))

    def test_a_fault_in_a_late_row_leaves_nothing_written(self) -> None:
        self.write_lines("a.jsonl", *[{"prompt": "a", "answer": "b"}] * 5000, {"prompt": "a"})
        self.data("a.jsonl", "--output", "out", code=65, error="a.jsonl:5001:1: \"answer\" is missing")
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.jsonl"])

    def test_an_unknown_thing_to_prepare_is_refused(self) -> None:
        ended = self.run_prepare("dat")
        self.assertEqual((ended.returncode, ended.stdout), (64, ""))
        self.assertIn("did you mean data?", ended.stderr)
        self.assertEqual(self.run_prepare().returncode, 64)

    def test_help_has_an_example(self) -> None:
        for arguments in (["--help"], ["data", "--help"]):
            ended = self.run_prepare(*arguments)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))
            self.assertIn("Example", ended.stdout)
            self.assertIn("./reprise prepare data train", ended.stdout)

    def test_control_characters_of_the_data_do_not_reach_the_terminal(self) -> None:
        self.write("a\x1b[2J.jsonl", "x")
        ended = self.data("a\x1b[2J.jsonl", "--output", "out", code=65, error=r"a\\x1b\[2J.jsonl:1:1: not valid JSON")
        self.assertNotIn("\x1b", ended.stderr)

    def test_a_full_standard_output_ends_with_a_sentence(self) -> None:
        good = self.write_lines("a.jsonl", {"prompt": "a"})
        with open("/dev/full", "w") as full:
            ended = subprocess.run(
                [sys.executable, "-B", "-m", "reprise.prepare", "data", good, "--output",
                 self.path("o"), "--quiet"],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                env=prepare_testing.environment_of())
        self.assertEqual((ended.returncode, ended.stderr), (74, "reprise: No space left on device\n"))

    def test_signals_end_it_and_leave_nothing(self) -> None:
        prepare_testing.require_jinja2()
        self.write_lines("a.jsonl", {"prompt": "a"})
        self.write("t.jinja", "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}")
        for number, code, sentence in ((signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 75, "ended by a signal")):
            program = subprocess.Popen([
                sys.executable, "-B", "-m", "reprise.prepare", "data", "a.jsonl", "--output", "out", "--chat-template",
                "t.jinja"
            ],
                                       cwd=self.folder,
                                       stderr=subprocess.PIPE,
                                       text=True,
                                       env=prepare_testing.environment_of())
            assert program.stderr
            program.stderr.readline()  # the shape of the first row: now the template loops
            time.sleep(0.3)
            program.send_signal(number)
            _, error = program.communicate(timeout=30)
            self.assertEqual(program.returncode, code, error)
            self.assertRegex(error, f"reprise: {sentence}.*nothing was written")
            self.assertEqual(sorted(os.listdir(self.folder)), ["a.jsonl", "t.jinja"])


if __name__ == "__main__":
    prepare_testing.main()
