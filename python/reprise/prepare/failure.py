"""An error that ends the program: one sentence for the user, and an exit code of docs/errors.md."""

USAGE, DATA, INTERNAL, IO, RETRY, INTERRUPTED = 64, 65, 70, 74, 75, 130


class Failure(Exception):
    """`code` is the exit code; the text is the sentence."""
    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


def file_failure(error: OSError, action: str, path: str) -> Failure:
    """As of every verb: a name that does not exist is an error of usage, and everything else one of the file system."""
    is_usage = isinstance(error, (FileNotFoundError, IsADirectoryError, NotADirectoryError, FileExistsError))
    return Failure(USAGE if is_usage else IO, f"cannot {action} {path}: {error.strerror or error}")


def printable(text: str) -> str:
    """Escapes what could control a terminal: text of files and of other programs may be part of a message."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def quoted(text: str, most: int = 40) -> str:
    """Returns the text in quotes, shortened to `most` characters, for a message."""
    return f'"{text}"' if len(text) <= most else f'"{text[:most]}..."'


def listed(names: list[str], most: int = 8) -> str:
    """Returns `a, b, c` in quotes, for a message; "none" without names."""
    shown = ", ".join(quoted(name) for name in names[:most]) + (", ..." if len(names) > most else "")
    return shown or "none"
