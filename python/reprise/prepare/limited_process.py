"""A child process in which untrusted input is read: its memory is bounded, its replies have a time limit, and it may
crash without taking this program along."""

import os
import resource
import selectors
import subprocess
import sys
import time

from reprise.prepare.failure import DATA, Failure

_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PIECE = 1 << 16
MOST_REPLY_BYTES = 256 << 20


def limit_memory(mebibytes: int) -> None:
    """For the child: lets it have this much memory beyond what it has, and write no file of its own."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    most = pages * resource.getpagesize() + (mebibytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class TookTooLong(Exception):
    """The child gave no reply within the time limit, and was ended."""


class LimitedProcess:
    """Starts `python3 -m MODULE ARGUMENTS`; exchanges lines with it."""
    def __init__(self, module: str, arguments: list[str]) -> None:
        path = os.pathsep.join([_PACKAGES, *filter(None, [os.environ.get("PYTHONPATH", "")])])
        environment = {
            **os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "TZ": "UTC", "ARROW_DEFAULT_MEMORY_POOL": "system",
            "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"
        }
        self._process = subprocess.Popen([sys.executable, "-B", "-P", "-m", module, *arguments],
                                         stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL,
                                         env=environment,
                                         start_new_session=True)
        assert self._process.stdin and self._process.stdout
        self._input, self._output = self._process.stdin, self._process.stdout
        os.set_blocking(self._input.fileno(), False)
        os.set_blocking(self._output.fileno(), False)
        self._read = bytearray()
        self._searched = 0

    def exchange(self, line: bytes, seconds: float) -> bytes:
        """Sends a line, without its newline, and returns the child's next one; b"" if the child has ended. TookTooLong
        after that many seconds. An empty `line` only waits for the reply."""
        waiting = memoryview(line + b"\n") if line else memoryview(b"")
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            if waiting:
                selector.register(self._input, selectors.EVENT_WRITE)
            while (reply := self._next_line()) is None:
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready and time.monotonic() >= deadline:
                    self.close()
                    raise TookTooLong
                for key, _ in ready:
                    if key.fileobj is self._input:
                        waiting = self._write_some(waiting)
                        if not waiting:
                            selector.unregister(self._input)
                    elif not self._read_some():
                        return b""
        return reply

    def _write_some(self, waiting: memoryview) -> memoryview:
        try:
            return waiting[os.write(self._input.fileno(), waiting[:_PIECE]):]
        except BlockingIOError:
            return waiting
        except BrokenPipeError:
            return memoryview(b"")  # the child has ended: reading says so

    def _read_some(self) -> bool:
        piece = os.read(self._output.fileno(), _PIECE)
        self._read += piece
        if len(self._read) > MOST_REPLY_BYTES:
            self.close()
            raise Failure(DATA, f"a reply has more than {MOST_REPLY_BYTES} bytes")
        return bool(piece)

    def _next_line(self) -> bytes | None:
        at = self._read.find(b"\n", self._searched)
        if at < 0:
            self._searched = len(self._read)
            return None
        line = bytes(self._read[:at])
        del self._read[:at + 1]
        self._searched = 0
        return line

    def end(self) -> int:
        """Waits a moment for the child to end, and returns its exit code; negative: the signal that ended it."""
        try:
            return self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.close()
            return self._process.returncode or 0

    def close(self) -> None:
        """Ends the child at once."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for pipe in (self._input, self._output):
            try:
                pipe.close()
            except OSError:
                pass
