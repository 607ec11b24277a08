"""For the tests beside the code, each of which runs by itself: `python3 -B python/reprise/prepare/NAME_test.py`. Makes
the package importable, and gives folders, files and the program."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any

PACKAGES = str(pathlib.Path(__file__).resolve().parents[2])
sys.path.insert(0, PACKAGES)

from reprise.prepare.failure import Failure  # noqa: E402  # only now can it be found

CHATML = ("{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
          "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def require_jinja2() -> None:
    """Fails, with the remedy, where Jinja2 is missing: no test of templates is left out in silence."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise AssertionError(
            "Jinja2 is missing: apt-get install python3-jinja2, or pip install 'jinja2>=3.1.6'") from None


class FolderTest(unittest.TestCase):
    """A test with an empty folder."""
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, contents: str | bytes) -> str:
        """Makes a file, and its folders, and returns its path."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(contents if isinstance(contents, bytes) else contents.encode())
        return path

    def write_lines(self, name: str, *rows: Any) -> str:
        """Makes a file of JSON lines."""
        return self.write(name, "".join(json.dumps(row) + "\n" for row in rows))

    def read(self, name: str) -> bytes:
        with open(self.path(name), "rb") as file:
            return file.read()

    def rows(self, name: str) -> list[Any]:
        return [json.loads(line) for line in self.read(name).splitlines()]

    def assert_fails(self, pattern: str, code: int, function: Any, *arguments: Any, **named: Any) -> None:
        """Checks that the call ends in a Failure of this exit code, whose sentence the pattern describes."""
        with self.assertRaisesRegex(Failure, pattern) as raised:
            result = function(*arguments, **named)
            if hasattr(result, "__next__"):
                list(result)
        self.assertEqual(raised.exception.code, code, str(raised.exception))
        self.assertNotIn("\n", str(raised.exception))

    def run_prepare(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Runs `prepare ARGUMENTS` in the folder."""
        return subprocess.run([sys.executable, "-B", "-P", "-m", "reprise.prepare", *arguments],
                              cwd=self.folder,
                              text=True,
                              capture_output=True,
                              env=environment_of(**environment),
                              timeout=120)


def environment_of(**changes: str) -> dict[str, str]:
    """Returns the environment in which a child process finds the package."""
    changed = {**os.environ, **changes}
    return {**changed, "PYTHONPATH": os.pathsep.join([PACKAGES, changed.get("PYTHONPATH", "")])}


def main() -> None:
    """Runs the tests of the calling file; says of each that is left out, why."""
    unittest.main(verbosity=2)
