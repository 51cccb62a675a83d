"""Run a command on its own terminal, and read what a person sees."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

_TIMEOUT_S = 60.0


class Terminal:
    """Runs a command with one terminal for its input and both outputs. A context manager, which kills the command.

    The last output of the command arrives some time after its end, so `finish` reads until the system reports that no
    process has the other side open.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], cwd: Path | None = None) -> None:
        self._ours, theirs = pty.openpty()
        try:
            self.process = subprocess.Popen(
                command, env=environment, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs
            )
        except BaseException:
            os.close(self._ours)
            raise
        finally:
            os.close(theirs)
        self._written = b""
        self._typed_at = 0

    @property
    def shown(self) -> str:
        """The whole output so far. Undecodable bytes are lone surrogates."""
        return self._written.decode("utf-8", "surrogateescape")

    def read_until(self, condition: Callable[[str], bool]) -> None:
        """Read until `condition` is true for the output since the last input, or until the output ends."""
        deadline = time.monotonic() + _TIMEOUT_S
        while not condition(self._written[self._typed_at :].decode("utf-8", "surrogateescape")):
            if not self._read(deadline - time.monotonic()):
                return

    def type_line(self, line: str) -> None:
        self._typed_at = len(self._written)
        os.write(self._ours, line.encode() + b"\n")

    def finish(self) -> int:
        """Read the rest; return the command's status."""
        self.read_until(lambda _: False)
        return self.process.wait(_TIMEOUT_S)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def _read(self, timeout_s: float) -> bool:
        """Wait for more output and read it. Return whether there was any."""
        ready, _, _ = select.select([self._ours], [], [], max(timeout_s, 0))
        assert ready, f"nothing more within {_TIMEOUT_S:g} s of: {self.shown}"
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # Linux reports EIO after the last writer has closed the terminal
            data = b""
        self._written += data
        return bool(data)
