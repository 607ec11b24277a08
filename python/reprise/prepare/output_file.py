"""Files that appear complete or not at all: written under a temporary name beside the final one, then renamed."""

import errno
import hashlib
import os
import stat
import tempfile

from reprise.prepare.failure import IO, USAGE, Failure, file_failure

_PIECE = 1 << 20


def check_output(path: str, option: str, sources: list[str], force: bool) -> None:
    """Failure if the path is one of the sources, is no regular file, or exists and `force` is not set."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise Failure(USAGE, f"{option} {path}: the folder {folder} does not exist: make it first")
    for source in sources:
        if os.path.realpath(source) == os.path.realpath(path) or (os.path.exists(path) and
                                                                  os.path.samefile(source, path)):
            raise Failure(USAGE, f"{option} {path} would overwrite the source {source}: choose another name")
    if not os.path.lexists(path):
        return
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise Failure(USAGE, f"{option} {path} exists and is not a regular file: choose another name")
    if not force:
        raise Failure(USAGE, f"{option} {path} exists: choose another name, or replace it by --force")


class OutputFile:
    """A file in the making. `rows`, `size` and sha256() are those of what was written."""
    def __init__(self, path: str) -> None:
        self.path, self.rows, self.size = path, 0, 0
        self._sha256 = hashlib.sha256()
        folder, name = os.path.split(path)
        try:
            number, self._temporary = tempfile.mkstemp(prefix=f".{name[:100]}.", suffix=".partial", dir=folder or ".")
            self._file = open(number, "w+b", buffering=_PIECE)
        except OSError as error:
            raise file_failure(error, "write", path) from None

    def write(self, line: bytes) -> None:
        try:
            self._file.write(line)
        except OSError as error:
            raise file_failure(error, "write", self.path) from None
        self._sha256.update(line)
        self.rows += 1
        self.size += len(line)

    def lines_again(self):
        """Yields the lines that were written."""
        try:
            self._file.flush()
            self._file.seek(0)
            yield from self._file
        except OSError as error:
            raise file_failure(error, "read", self.path) from None

    def sha256(self) -> str:
        return self._sha256.hexdigest()

    def finish(self) -> None:
        """Brings what was written to the disk, still under the temporary name."""
        try:
            self._file.flush()
            mask = os.umask(0)
            os.umask(mask)
            os.fchmod(self._file.fileno(), 0o666 & ~mask)
            os.fsync(self._file.fileno())
            self._file.close()
        except OSError as error:
            raise file_failure(error, "write", self.path) from None

    def publish(self, force: bool) -> None:
        """Gives the file its name. Failure if the name was taken meanwhile and `force` is not set."""
        try:
            if force:
                os.replace(self._temporary, self.path)
            else:
                self._link()
            self._temporary = ""
        except FileExistsError:
            raise Failure(
                USAGE, f"{self.path} has been made by another program meanwhile: choose another name, or replace it by "
                "--force") from None
        except OSError as error:
            raise file_failure(error, "write", self.path) from None

    def _link(self) -> None:
        try:
            os.link(self._temporary, self.path)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
                raise
            if os.path.lexists(self.path):  # a file system without links
                raise FileExistsError from None
            os.rename(self._temporary, self.path)
            return
        os.unlink(self._temporary)

    def discard(self) -> None:
        """Removes what was not published; may be called at any time."""
        try:
            if not self._file.closed:
                self._file.close()
        except OSError:
            pass  # the disk is full: what is in the buffer is given up
        if self._temporary:
            try:
                os.unlink(self._temporary)
            except FileNotFoundError:
                pass
            self._temporary = ""


def sync_folder(path: str) -> None:
    """Brings the names in the folder of `path` to the disk."""
    try:
        number = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise Failure(IO, f"cannot write the folder of {path}: {error.strerror}") from None
