"""The work of `./reprise prepare data`: sources to outputs and a manifest."""

import contextlib
import dataclasses
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

from reprise.prepare.canonical import canonical, digest
from reprise.prepare.converter import Converter, Prepared
from reprise.prepare.digest_set import DigestSet
from reprise.prepare.failure import DATA, USAGE, Failure, printable
from reprise.prepare.held_out import Lowest, Share, group_digest
from reprise.prepare.lengths import Lengths, load_tokenizer
from reprise.prepare.manifest import manifest, text_of_manifest
from reprise.prepare.model_directory import ModelDirectory, read_model_directory
from reprise.prepare.options import Options
from reprise.prepare.output_file import OutputFile, check_output, sync_folder
from reprise.prepare.progress import Progress
from reprise.prepare.row import Row
from reprise.prepare.shapes import Shape, recognise
from reprise.prepare.source_file import SourceFile
from reprise.prepare.sources import NAMES, format_of, read_rows

_HEX = 16  # digits of a group's digest before a staged line


@dataclasses.dataclass
class Result:
    """What was found and made; `sources` has an entry per source for the manifest."""

    unit: str = "characters"
    sources: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    counts: dict[str, int] = dataclasses.field(
        default_factory=lambda: dict.fromkeys(("rows", "rendered", "duplicates", "dropped_duplicates", "too_long"), 0))
    prompts: Lengths = dataclasses.field(default_factory=Lengths)
    answers: Lengths = dataclasses.field(default_factory=Lengths)
    names_not_kept: dict[str, int] = dataclasses.field(default_factory=dict)


class _Split:
    """Sends lines to the output, or to the held-out one. For a number of groups all lines must have been seen first:
    they are staged in a file without a name of its own."""
    def __init__(self, options: Options, files: contextlib.ExitStack) -> None:
        def opened(path: str) -> OutputFile:
            file = OutputFile(path)
            files.callback(file.discard)
            return file

        self.output = opened(options.output)
        self.held_out = opened(options.held_out_output) if options.held_out_output else None
        amount, self._seed = options.held_out, options.seed
        self._lowest = Lowest(amount) if isinstance(amount, int) else None
        self._share = Share(amount) if amount is not None and not isinstance(amount, int) else None
        self._staged = opened(options.output) if self._lowest else None

    def write(self, prepared: Prepared) -> None:
        group = group_digest(self._seed, prepared.form) if self.held_out else 0
        if self._lowest and self._staged:
            self._lowest.add(group)
            self._staged.write(b"%0*x" % (_HEX, group) + prepared.line)
        else:
            self._write(prepared.line, self._share is not None and self._share.has(group))

    def finish(self) -> None:
        """Writes what was staged. Failure if one of the outputs would have no row, which `train` refuses."""
        if self._lowest and self._staged:
            for line in self._staged.lines_again():
                self._write(line[_HEX:], self._lowest.has(int(line[:_HEX], 16)))
        if not self.output.rows and not (self.held_out and self.held_out.rows):
            raise Failure(DATA, "no row is left to write: the sources have none, or --max-prompt-tokens leaves all out")
        if self.held_out and not (self.output.rows and self.held_out.rows):
            raise Failure(
                USAGE, f"--held-out puts {self.held_out.rows} rows into {self.held_out.path}, and {self.output.rows} "
                f"into {self.output.path}: choose another amount")

    def _write(self, line: bytes, is_held_out: bool) -> None:
        (self.held_out if is_held_out and self.held_out else self.output).write(line)


class _Work:
    """What is kept from row to row."""
    def __init__(self, options: Options, model: ModelDirectory | None, converter: Converter, split: _Split) -> None:
        self._options, self._converter, self._split = options, converter, split
        self._tokenizer = load_tokenizer(model.tokenizer_path if model else None, bool(options.max_prompt_tokens))
        self._seen = DigestSet()
        self.result = Result(unit="tokens" if self._tokenizer else "characters")

    def _length(self, text: str, with_special_tokens: bool) -> int:
        if self._tokenizer is None:
            return len(text)
        return len(self._tokenizer.encode(text, add_special_tokens=with_special_tokens).ids)

    def add(self, row: Row, shape: Shape) -> None:
        prepared = self._converter.convert(row, shape)
        counts = self.result.counts
        counts["rows"] += 1
        length = self._length(prepared.prompt, not prepared.is_rendered)
        if self._options.max_prompt_tokens and length > self._options.max_prompt_tokens:
            counts["too_long"] += 1
            return
        if not self._seen.add(digest("row", canonical(prepared.prompt), prepared.answer or "")):
            counts["duplicates"] += 1
            if self._options.drop_duplicates:
                counts["dropped_duplicates"] += 1
                return
        counts["rendered"] += prepared.is_rendered
        self.result.prompts.add(length)
        if prepared.answer is not None:
            self.result.answers.add(self._length(prepared.answer, False))
        self._split.write(prepared)


def _read_source(path: str, options: Options, work: _Work, progress: Progress, done_before: int) -> dict[str, Any]:
    """Reads all rows of one source, and returns its entry of the manifest."""
    source = SourceFile(path)
    with contextlib.closing(source):
        form = format_of(source)
        shape: Shape | None = None
        rows = 0
        for row in read_rows(source, form, options.drop_columns):
            if shape is None:
                shape = recognise(row, options.prompt, options.answer)
                if not options.quiet:
                    print(printable(f"reprise: {path}: {NAMES[form]}; {shape.sentence()}"), file=sys.stderr)
            work.add(row, shape)
            rows += 1
            progress.row(done_before + source.done)
        if shape is None:
            raise Failure(DATA, f"{path}: it has no rows")
        return {
            "path": path, "format": form, "bytes": source.size, "sha256": source.sha256(), "rows": rows,
            "shape": shape.sentence()
        }


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Signals that end the program are handled at the end: either all files get their names, or none."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _publish(options: Options, split: _Split, text: str, manifest_path: str) -> None:
    """Gives the files their names, the manifest last: it is there if and only if all of them are complete."""
    files = [file for file in (split.held_out, split.output) if file]
    made = OutputFile(manifest_path)
    try:
        made.write(text.encode("utf-8", "backslashreplace"))
        for file in (*files, made):
            file.finish()
        with _signals_wait():
            if options.force:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(manifest_path)
            for file in (*files, made):
                file.publish(options.force)
            sync_folder(options.output)
    finally:
        made.discard()


def _check_paths(options: Options, manifest_path: str) -> Iterator[int]:
    """Yields the sizes of the sources. Failure for an output that must not be written."""
    sources = [SourceFile(path) for path in options.sources]  # each can be read
    for source in sources:
        source.close()
        yield source.size
    inputs = [*options.sources, *filter(None, [options.chat_template])]
    outputs = {"--output": options.output, "--held-out-output": options.held_out_output, "the manifest": manifest_path}
    for option, path in outputs.items():
        if path:
            check_output(path, option, inputs, options.force)
    named = [os.path.realpath(path) for path in outputs.values() if path]
    if len(set(named)) != len(named):
        raise Failure(USAGE, f"--held-out-output {options.held_out_output} is another output's name: choose another")


def prepare_data(options: Options) -> tuple[Result, dict[str, Any]]:
    """Writes the outputs and the manifest; returns what was done, and the manifest. Failure, and no file, otherwise."""
    manifest_path = options.output + ".manifest.json"
    sizes = list(_check_paths(options, manifest_path))
    model = read_model_directory(options.model) if options.model else None
    with contextlib.ExitStack() as files:
        converter = Converter(options, model)
        files.callback(converter.close)
        split = _Split(options, files)
        work = _Work(options, model, converter, split)
        progress = Progress(sum(sizes), options.quiet or options.json)
        files.callback(progress.end)
        for number, path in enumerate(options.sources):
            work.result.sources.append(_read_source(path, options, work, progress, sum(sizes[:number])))
        progress.end()
        split.finish()
        result = dataclasses.replace(work.result, names_not_kept=converter.names_not_kept)
        outputs = [file for file in (split.output, split.held_out) if file]
        facts = manifest(options, result, converter, outputs)
        _publish(options, split, text_of_manifest(facts), manifest_path)
    return result, facts
