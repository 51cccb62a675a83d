"""A command on a terminal of its own, as a person sees it."""

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
    """Runs a command whose input and both outputs are one terminal. A context manager: at its end the command is dead.

    The command's last words arrive some time after it has ended, so `finish` reads until the system says that nobody
    holds the other side any more.
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
        """All that was shown so far. Undecodable bytes are lone surrogates."""
        return self._written.decode("utf-8", "surrogateescape")

    def read_until(self, condition: Callable[[str], bool]) -> None:
        """Read on until `condition` is true of what was shown since something was typed, or nothing more can come."""
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
        """Wait for more and read it; tell whether there was any."""
        ready, _, _ = select.select([self._ours], [], [], max(timeout_s, 0))
        assert ready, f"nothing more within {_TIMEOUT_S:g} s of: {self.shown}"
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # Linux says EIO when the last writer is gone
            data = b""
        self._written += data
        return bool(data)
