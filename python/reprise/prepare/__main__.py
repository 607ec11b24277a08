"""`./reprise prepare`: what it can prepare, and how errors end it: by one sentence and an exit code, never a
traceback."""

import difflib
import json
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType

from reprise.prepare.failure import INTERNAL, INTERRUPTED, IO, RETRY, USAGE, Failure, printable

_HELP = """Turns what people have into what `train` reads.

  ./reprise prepare data SOURCE... --output FILE [OPTION...]
      data sets (JSON lines, JSON, CSV, Parquet) into JSON lines; ./reprise prepare data --help explains

Example:
  ./reprise prepare data train.csv --prompt question --answer result --output runs/train.jsonl
"""
_WHAT = ("data",)


class _Ended(Exception):
    """A signal asks the program to end."""


def _end(_: int, __: FrameType | None) -> None:
    raise _Ended


def _data(arguments: Sequence[str]) -> None:
    from reprise.prepare.options import parse_options
    from reprise.prepare.prepare_data import prepare_data
    from reprise.prepare.summary import summary

    options = parse_options(arguments)
    result, facts = prepare_data(options)
    if options.json:
        print(json.dumps({"event": "done", **facts}))
    else:
        print("\n".join(map(printable, summary(facts, result.prompts.lines()))))


def _run(arguments: Sequence[str]) -> None:
    what = arguments[0] if arguments else ""
    if what in ("-h", "--help", "help"):
        print(_HELP, end="")
    elif what == "data":
        _data(arguments[1:])
    else:
        meant = difflib.get_close_matches(what, _WHAT, 1)
        found = f"prepare {what}: there is no such thing to prepare" if what else "prepare needs to be told what"
        raise Failure(
            USAGE, f"{found}{f'; did you mean {meant[0]}?' if meant else ''}; expected ./reprise prepare data "
            "SOURCE... --output FILE (./reprise prepare --help explains)")
    sys.stdout.flush()


def _internal(error: BaseException) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (f"internal error in {os.path.basename(place.filename)}:{place.lineno}: {type(error).__name__}: {error}; "
            "please report it")


def _sentence_and_code(error: BaseException) -> tuple[str, int]:
    if isinstance(error, Failure):
        return str(error), error.code
    if isinstance(error, KeyboardInterrupt):
        return "interrupted: nothing was written", INTERRUPTED
    if isinstance(error, _Ended):
        return "ended by a signal: nothing was written; the same command starts again", RETRY
    if isinstance(error, MemoryError):
        return "memory is full: free some, or prepare smaller files", IO
    if isinstance(error, OSError):
        return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", IO
    return _internal(error), INTERNAL


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        _run(arguments)
    except SystemExit as error:  # argparse, after it has printed the help
        return error.code if isinstance(error.code, int) else 0
    except BaseException as error:
        sentence, code = _sentence_and_code(error)
        print("reprise: " + printable(sentence), file=sys.stderr)
        if isinstance(error, OSError):  # perhaps of the standard output: nothing may be flushed to it at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
