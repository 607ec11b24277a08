"""Promise: chat templates are rendered as Transformers renders them, and none can hang this program, fill its memory,
leave its sandbox or differ from one rendering to the next. Needs Jinja2."""

import datetime
import os
import time
from typing import Any

import prepare_testing

from reprise.prepare import json_text
from reprise.prepare.failure import DATA, USAGE
from reprise.prepare.renderer import DEFAULT_DATE, Renderer, Template

USER = {"role": "user", "content": "2+2?"}


class _RenderingTest(prepare_testing.FolderTest):
    def setUp(self) -> None:
        super().setUp()
        prepare_testing.require_jinja2()

    def render(self,
               text: str,
               messages: Any = (USER,),
               tools: Any = None,
               date: str = DEFAULT_DATE,
               **limits: Any) -> str:
        renderer = Renderer(Template("t.jinja", text, {"bos_token": "<s>", "eos_token": "</s>"}), date, **limits)
        self.addCleanup(renderer.close)
        return renderer.render(list(messages), tools, "f:3:5")


class AsTransformersTest(_RenderingTest):
    def test_chatml_opens_the_answer(self) -> None:
        self.assertEqual(self.render(prepare_testing.CHATML),
                         "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n")

    def test_blocks_are_trimmed_and_indented_blocks_leave_no_space(self) -> None:
        self.assertEqual(self.render("a\n   {% if true %}\nb\n   {% endif %}\nc\n"), "a\nb\nc")

    def test_the_variables_are_there(self) -> None:
        self.assertEqual(
            self.render("{{ bos_token }}{{ eos_token }}{{ add_generation_prompt }}{{ tools }}{{ "
                        "documents }}"
                        "{{ unk_token is defined }}"), "<s></s>TrueNoneNoneFalse")

    def test_tojson_escapes_no_html_and_no_unicode(self) -> None:
        tools = json_text.parse('[{"name": "é <b> \\u0026 \'", "n": 1.50, "x": null}]')
        self.assertEqual(self.render("{{ tools | tojson }}", tools=tools), '[{"name": "é <b> & \'", "n": 1.5, "x": '
                         'null}]')
        self.assertEqual(self.render("{{ {'b': 1, 'a': [1]} | tojson(indent=1, sort_keys=true) }}"),
                         '{\n "a": [\n  1\n ],\n "b": 1\n}')

    def test_generation_blocks_render_as_their_contents(self) -> None:
        self.assertEqual(
            self.render("{% set x = 1 %}a{% generation %}b{% set x = 2 %}{{ x }}{% endgeneration %}{{ x "
                        "}}"), "ab21")

    def test_loops_can_be_left(self) -> None:
        self.assertEqual(
            self.render("{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 "
                        "%}{% break %}"
                        "{% endif %}{{ i }}{% endfor %}"), "02")

    def test_the_date_is_a_constant_or_the_one_that_is_asked_for(self) -> None:
        self.assertEqual(self.render("{{ strftime_now('%d %b %Y %H:%M') }}"), "01 Jan 2025 00:00")
        self.assertEqual(self.render("{{ strftime_now('%Y-%m-%d') }}", date="2024-07-26"), "2024-07-26")

    def test_a_refusal_of_the_template_is_told_with_the_row(self) -> None:
        self.assert_fails("f:3:5: t.jinja: the chat template fails: roles must alternate", DATA, self.render,
                          "{{ raise_exception('roles must\\nalternate') }}")

    def test_namespaces_keep_values_over_loops(self) -> None:
        self.assertEqual(
            self.render(
                "{% set n = namespace(i=0, self=5) %}{% for m in messages %}{% set n.i = n.i + 1 "
                "%}{% endfor %}"
                "{{ n.i }}{{ n.self }}{{ dict(a=1)['a'] }}", [USER, USER]), "251")

    def test_members_that_are_null_are_left_out(self) -> None:
        self.assertEqual(self.render("{{ messages[0] | tojson }}", [{**USER, "name": None}]),
                         '{"role": "user", "content": "2+2?"}')

    def test_reasoning_has_every_name_that_templates_read(self) -> None:
        message = {"role": "assistant", "reasoning": "r", "content": "c"}
        self.assertEqual(self.render("{{ messages[0].reasoning_content }}{{ messages[0].thinking }}", [message]), "rr")

    def test_numbers_are_numbers_for_the_template(self) -> None:
        arguments = json_text.parse('{"n": 1.50, "m": 2}')
        self.assertEqual(self.render("{{ messages[0].a.n + messages[0].a.m }}", [{**USER, "a": arguments}]), "3.5")
        huge = json_text.parse('{"n": ' + "9" * 5000 + "}")
        self.assert_fails("has too many digits", DATA, self.render, "x", [{**USER, "a": huge}])

    def test_one_process_renders_any_number_of_rows(self) -> None:
        renderer = Renderer(Template("t", prepare_testing.CHATML, {}))
        self.addCleanup(renderer.close)
        for i in range(200):
            text = f"{i}" * 1000
            self.assertIn(f"user\n{text}<|im_end|>", renderer.render([{"role": "user", "content": text}], None, "f:1"))
        self.assertIn("é" * 10**6, renderer.render([{"role": "user", "content": "é" * 10**6}], None, "f:1"))


class HostileTemplateTest(_RenderingTest):
    def test_a_template_that_loops_for_ever_is_ended(self) -> None:
        before = time.monotonic()
        for text in ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
                     "{{ messages[0].n ** messages[0].n }}"):
            self.assert_fails("f:3:5: t.jinja: the chat template took more than 1.5 s: it may loop for ever",
                              DATA,
                              self.render,
                              text, [{**USER, "n": json_text.Number("99999999")}],
                              seconds=1.5)
        self.assertLess(time.monotonic() - before, 20)

    def test_a_template_that_loops_while_it_is_compiled_is_ended(self) -> None:
        self.assert_fails("t.jinja: the chat template took more than 1.5 s",
                          DATA,
                          self.render,
                          "{{ 9999999 ** 9999999 }}",
                          seconds=1.5)

    def test_a_template_that_fills_memory_ends_with_a_sentence(self) -> None:
        for text in ("{{ 'a' * messages[0].n }}", "{% set n = namespace(x='aaaa') %}{% for i in range(99) %}{% set "
                     "n.x = n.x ~ n.x %}{% endfor %}"):
            self.assert_fails("the chat template needs more than 256 MiB of memory", DATA, self.render, text,
                              [{**USER, "n": json_text.Number("9999999999")}])

    def test_a_text_that_is_too_long_is_refused(self) -> None:
        self.assert_fails("writes more than 1048576 characters", DATA, self.render, "{{ messages[0].content * 1500000 "
                          "}}")

    def test_ways_out_of_the_sandbox_are_closed(self) -> None:
        for text in ("{{ cycler.__init__.__globals__ }}", "{{ ''.__class__.__mro__[1].__subclasses__() }}",
                     "{{ namespace.__init__.__globals__ }}", "{{ dict.__call__.__globals__ }}",
                     "{{ (dict|attr('fromkeys')).__globals__ }}", "{{ raise_exception.__globals__ }}",
                     "{{ messages.__class__ }}", "{{ '{0.__class__}'.format(1) }}",
                     "{{ (''|attr('format'))('{0.__class__}', 1) }}", "{{ strftime_now.__self__.__class__.__mro__ }}",
                     "{{ self.__init__.__globals__ }}", "{{ lipsum.__globals__ }}", "{{ namespace(__class__=1) }}",
                     "{% set n = namespace() %}{% set n.__class__ = 1 %}"):
            try:
                found = self.render(text)
            except prepare_testing.Failure as failure:
                self.assertRegex(str(failure), "unsafe|undefined|no attribute|underscore|has no|format|random")
            else:
                self.assertEqual(found, "", text)  # undefined

    def test_names_of_a_namespace_do_not_begin_with_an_underscore(self) -> None:
        for text in ("{{ namespace(__class__=1) }}", "{% set n = namespace() %}{% set n.__class__ = 1 %}"):
            self.assert_fails("begins with an underscore: __class__", DATA, self.render, text)

    def test_nothing_can_be_imported_or_included(self) -> None:
        for text in ("{% import 'os' as os %}", "{% include '/etc/passwd' %}", "{% extends 'a' %}",
                     "{% from 'a' import b %}"):
            self.assert_fails("the chat template fails: no loader", DATA, self.render, text)

    def test_the_messages_cannot_be_changed(self) -> None:
        self.assert_fails("fails: access to attribute|fails: .*unsafe", DATA, self.render, "{{ messages.append(1) }}")

    def test_what_is_drawn_at_random_is_refused(self) -> None:
        for text in ("{{ [1, 2] | random }}", "{{ lipsum() }}"):
            self.assert_fails("draws at random", DATA, self.render, text)

    def test_a_syntax_error_names_its_line(self) -> None:
        self.assert_fails(r"t.jinja: the chat template fails: .* \(line 2 of the template\)", USAGE, self.render,
                          "a\n{% if %}")

    def test_endless_recursion_ends_with_a_sentence(self) -> None:
        self.assert_fails("calls itself without an end", DATA, self.render, "{% macro m() %}{{ m() }}{% endmacro %}{{ "
                          "m() }}")

    def test_half_of_a_surrogate_pair_is_refused(self) -> None:
        self.assert_fails("half of a surrogate pair", DATA, self.render, "{{ '\\ud83d' }}")

    def test_modules_of_the_current_folder_are_not_imported(self) -> None:
        self.write("jinja2.py", "raise SystemExit(3)")
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        self.assertEqual(self.render("a"), "a")


class JinjaTest(_RenderingTest):
    def with_packages(self, contents: str) -> None:
        self.write("packages/jinja2/__init__.py", contents)
        before = os.environ.get("PYTHONPATH")
        self.addCleanup(lambda: os.environ.pop("PYTHONPATH")
                        if before is None else os.environ.update(PYTHONPATH=before))
        os.environ["PYTHONPATH"] = self.path("packages")

    def test_without_jinja2_the_sentence_says_how_to_install_it(self) -> None:
        self.with_packages("raise ImportError")
        self.assert_fails("needs the Python package Jinja2: apt-get install python3-jinja2", USAGE, self.render, "a")

    def test_a_release_with_a_known_way_out_is_refused(self) -> None:
        from reprise.prepare import chat_template

        date = datetime.date(2025, 1, 1)
        self.assertFalse(chat_template.way_out(date))
        closed = chat_template.environment
        self.addCleanup(setattr, chat_template, "environment", closed)

        def opened(date: datetime.date) -> Any:  # as releases before 3.1.6 have it
            result = closed(date)
            result.filters["attr"] = getattr
            return result

        chat_template.environment = opened
        self.assertTrue(chat_template.way_out(date))


if __name__ == "__main__":
    prepare_testing.main()
