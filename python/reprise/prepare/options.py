"""The command line of `./reprise prepare data`."""

import argparse
import dataclasses
import datetime
import difflib
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NoReturn

from reprise.prepare.failure import USAGE, Failure
from reprise.prepare.held_out import parse_amount
from reprise.prepare.renderer import DEFAULT_DATE

DESCRIPTION = """Turns data sets as people have them (JSON lines, a JSON list, CSV, Parquet) into the JSON lines that
`train` reads by data.path: {"prompt": ..., "answer": ...}. Known by their columns are prompt with answer or completion
(TRL), messages, whose last one is the answer, question and answer with #### (GSM8K), and prompt with
reward_model.ground_truth (verl). With a chat template, every prompt is rendered, a text as one message of the user.
FILE.manifest.json tells what was made of what."""
EPILOG = """Examples:
  ./reprise prepare data train.jsonl --output runs/train.jsonl
  ./reprise prepare data train.parquet --model DIR --system 'Answer with a number.' --held-out 5% \\
    --held-out-output runs/held_out.jsonl --output runs/train.jsonl

Exit codes: 0 done, 64 usage, 65 bad or damaged data, 70 internal, 74 input/output, 75 try again, 130 ended at once by
Ctrl-C."""


@dataclasses.dataclass(frozen=True)
class Options:
    """The options by their names; texts are "" and numbers 0 where an option is not given."""

    sources: list[str]
    output: str
    prompt: str = ""
    answer: str = ""
    system: str = ""
    drop_columns: bool = False
    model: str = ""
    chat_template: str = ""
    raw: bool = False
    date: str = DEFAULT_DATE
    allow_special: bool = False
    held_out: int | Fraction | None = None
    held_out_output: str = ""
    group_by: str = ""
    seed: int = 0
    drop_duplicates: bool = False
    max_prompt_tokens: int = 0
    force: bool = False
    json: bool = False
    quiet: bool = False

    def for_manifest(self) -> dict[str, Any]:
        """Returns what decides the output's bytes, besides the files."""
        left_out = ("sources", "output", "held_out_output", "force", "json", "quiet")
        values = {name: value for name, value in dataclasses.asdict(self).items() if name not in left_out}
        return values | {"held_out": None if self.held_out is None else str(self.held_out)}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Failure(USAGE, f"{message.removeprefix('argument ')} (./reprise prepare data --help explains)")


class _Once(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if values == "":
            parser.error(f"{option_string} has an empty value: perhaps a variable of your shell is not set")
        if getattr(namespace, self.dest) is not self.default:
            parser.error(f"{option_string} is given more than once")
        setattr(namespace, self.dest, values)


def _number(least: int) -> Any:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text) >= least):
            raise argparse.ArgumentTypeError(f"{text}: expected a whole number, {least} or more")
        return int(text)

    return parse


def _date(text: str) -> str:
    try:
        return datetime.datetime.strptime(text, "%Y-%m-%d").date().isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: expected a date as 2025-01-31") from None


def _parser() -> _Parser:
    parser = _Parser("./reprise prepare data",
                     description=DESCRIPTION,
                     epilog=EPILOG,
                     allow_abbrev=False,
                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument

    def option(name: str, metavar: str, text: str, **more: Any) -> None:
        add(name, metavar=metavar, action=_Once, default=more.pop("default", ""), help=text, **more)

    add("sources",
        nargs="*",
        metavar="SOURCE",
        help="files, read in this order; the first row of each tells its columns")
    option("--output", "FILE", "the JSON lines to write; FILE.manifest.json is written beside them")
    option("--prompt", "COLUMN", "the column of the prompt: a text, or a list of messages; a.b is member b of column a")
    option("--answer", "COLUMN", "the column of the answer")
    option("--system", "TEXT", "a system message for conversations that have none")
    add("--drop-columns", action="store_true", help="keep no other column; without it all are kept, for rewards")
    option("--model", "DIR", "a model's directory: its chat template, special tokens and tokenizer")
    option("--chat-template", "FILE", "a Jinja2 chat template, instead of the model's")
    add("--raw", action="store_true", help="leave prompts that are texts as they are, also with a chat template")
    option("--date", "DATE", "what a template takes for today (default: %(default)s)", default=DEFAULT_DATE, type=_date)
    add("--allow-special", action="store_true", help="keep texts that contain a special token of the model")
    option("--held-out",
           "N",
           "put this many different prompts, or this share of them (0.05, 5%%), into another file",
           default=None,
           type=parse_amount)
    option("--held-out-output", "FILE", "that file")
    option("--group-by", "COLUMN", "rows with the same value stay together, instead of those with the same prompt")
    option("--seed", "N", "which groups are held out (default: %(default)s)", default=0, type=_number(0))
    add("--drop-duplicates", action="store_true", help="write rows with the same prompt and answer once")
    option("--max-prompt-tokens", "N", "leave out rows with longer prompts; needs --model", default=0, type=_number(1))
    add("--force", action="store_true", help="replace outputs that exist")
    add("--json", action="store_true", help="print one JSON object on standard output, and nothing else there")
    add("--quiet", action="store_true", help="no progress")
    return parser


def parse_options(arguments: Sequence[str]) -> Options:
    """Returns the options; Failure for what is no option, and for options that do not go together. Prints the help, and
    exits, if it is asked for."""
    parser = _parser()
    flags, unknown = parser.parse_known_intermixed_args(list(arguments))
    if unknown:
        option = unknown[0].partition("=")[0]
        known = [name for action in parser._actions for name in action.option_strings]
        meant = difflib.get_close_matches(option, known, 1)
        parser.error(f"unknown option {option}{f'; did you mean {meant[0]}?' if meant else ''}")
    if not flags.sources:
        parser.error("no SOURCE is given: name the files of the data set")
    if not all(flags.sources):
        parser.error("a SOURCE is empty: perhaps a variable of your shell is not set")
    if not flags.output:
        parser.error("--output FILE is missing")
    if (flags.held_out is None) != (not flags.held_out_output):
        parser.error("--held-out and --held-out-output need each other")
    if flags.group_by and flags.held_out is None:
        parser.error("--group-by is for --held-out: add it, or remove --group-by")
    if flags.system and flags.raw:
        parser.error("--system needs a chat template, and --raw leaves it out")
    return Options(**vars(flags))
