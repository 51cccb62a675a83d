"""Kill a process in the middle of its work on a database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path


def kill_in_the_middle(script: str, path: Path) -> None:
    """Run a script on a database, and kill it when it says "middle"."""
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "middle\n"
        os.kill(child.pid, signal.SIGKILL)
    finally:
        child.kill()
        child.communicate()
