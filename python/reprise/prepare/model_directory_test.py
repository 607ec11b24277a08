"""Promise: the template and the special tokens are those that Transformers takes from a model's directory."""

import json
from typing import Any

import prepare_testing

from reprise.prepare.failure import DATA, USAGE
from reprise.prepare.model_directory import ModelDirectory, read_model_directory
from reprise.prepare.special_tokens import SpecialTokens


class ModelDirectoryTest(prepare_testing.FolderTest):
    def directory(self, **files: Any) -> ModelDirectory:
        for name, contents in files.items():
            path = f"model/{name.replace('__', '/').replace('_DOT_', '.')}"
            self.write(path, contents if isinstance(contents, (str, bytes)) else json.dumps(contents))
        return read_model_directory(self.path("model"))

    def text(self, model: ModelDirectory) -> str:
        assert model.template
        return model.template.text

    def test_a_template_file_comes_before_the_configuration(self) -> None:
        self.assertEqual(self.text(self.directory(tokenizer_config_DOT_json={"chat_template": "c"})), "c")
        self.assertEqual(self.text(self.directory(chat_template_DOT_json={"chat_template": "b"})), "b")
        self.assertEqual(self.text(self.directory(chat_template_DOT_jinja="\ufeffa")), "a")

    def test_of_named_templates_the_default_is_taken_and_that_for_tools_kept(self) -> None:
        named = [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]
        model = self.directory(tokenizer_config_DOT_json={"chat_template": named, "bos_token": "<s>"})
        assert model.tool_template
        self.assertEqual((self.text(model), model.tool_template.text, model.tool_template.tokens),
                         ("d", "t", {"bos_token": "<s>"}))
        self.assert_fails('"rag", and none is called default',
                          USAGE,
                          self.directory,
                          tokenizer_config_DOT_json={"chat_template": [{"name": "rag", "template": "x"}]})
        for wrong in (5, [], [5], [{"name": "default"}], {"default": "x"}):
            self.assert_fails("expected chat_template to be a text, or a list",
                              DATA,
                              self.directory,
                              tokenizer_config_DOT_json={"chat_template": wrong})

    def test_a_template_file_may_have_one_for_tools_beside_it(self) -> None:
        model = self.directory(tokenizer_config_DOT_json={"eos_token": "e"},
                               chat_template_DOT_jinja="a",
                               additional_chat_templates__tool_use_DOT_jinja="t")
        assert model.tool_template
        self.assertEqual(model.tool_template.text, "t")

    def test_tokens_are_texts_or_objects(self) -> None:
        model = self.directory(tokenizer_config_DOT_json={
            "chat_template": "x", "bos_token": {"content": "<s>", "special": True}, "eos_token": "</s>",
            "pad_token": None, "extra_special_tokens": {"image_token": "<image>"},
            "additional_special_tokens": ["<a>", {"content": "<b>"}]
        },
                               special_tokens_map_DOT_json={"bos_token": "other", "unk_token": "<unk>"})
        assert model.template
        self.assertEqual(model.template.tokens,
                         {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "image_token": "<image>"})
        self.assertEqual(set(model.special), {"<s>", "</s>", "<unk>", "<image>", "<a>", "<b>"})

    def test_special_tokens_are_those_of_both_files_the_longest_first(self) -> None:
        model = self.directory(
            tokenizer_DOT_json={
                "added_tokens": [{"content": "<|end|>", "special": True}, {"content": "  ", "special": False}]
            },
            tokenizer_config_DOT_json={"added_tokens_decoder": {"7": {"content": "<|end|>x", "special": True}}})
        self.assertEqual(model.special, ["<|end|>x", "<|end|>"])
        self.assertIsNone(model.template)
        self.assertEqual(model.tokenizer_path, self.path("model/tokenizer.json"))

    def test_a_directory_that_is_no_model_is_refused(self) -> None:
        self.assert_fails("there is no such directory", USAGE, read_model_directory, self.path("none"))
        self.assert_fails("neither tokenizer.json nor tokenizer_config.json", USAGE, self.directory, config_DOT_json={})
        self.assert_fails("tokenizer.json:1:2: not valid JSON", DATA, self.directory, tokenizer_DOT_json="{")
        self.assert_fails("expected a JSON object", DATA, self.directory, tokenizer_DOT_json="[]")
        self.assert_fails("nested too deeply", DATA, self.directory, tokenizer_DOT_json="[" * 10**5)
        self.assert_fails("tokenizer_config.json: byte 2 is not UTF-8",
                          DATA,
                          self.directory,
                          tokenizer_DOT_json="{}",
                          tokenizer_config_DOT_json=b"{\xff")


class SpecialTokensTest(prepare_testing.FolderTest):
    def test_a_special_token_anywhere_in_the_text_is_refused(self) -> None:
        special = SpecialTokens(["<|im_end|>", "</s>"])
        for value in ("a<|im_end|>", [{"role": "user",
                                       "content": "a<|im_end|>"}], [{"role": "u<|im_end|>",
                                                                     "content": ""}], {"a<|im_end|>": 1}):
            self.assert_fails(
                r'f:3: the prompt contains <\|im_end\|>, a special token of the model, as character \d: '
                r'.*--allow-special', DATA, special.refuse, value, lambda: "f:3", "the prompt")
        special.refuse([{"role": "user", "content": "<|im_end> </ s> <|im_ end|>"}, None], lambda: "f:3", "x")

    def test_without_tokens_nothing_is_refused(self) -> None:
        SpecialTokens([]).refuse("", lambda: "f", "x")
        SpecialTokens([]).refuse("</s>", lambda: "f", "x")


if __name__ == "__main__":
    prepare_testing.main()
