"""Detect whether this machine supports the sandbox, and run code in a confined process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gnod.child import landlock
from gnod.child.system_calls import NotHeld


def has_landlock() -> bool:
    """Tell whether Landlock can block all writes: since Linux 6.2."""
    try:
        return sys.platform == "linux" and landlock.version() >= 3
    except NotHeld:
        return False


def after(confinement: str, *statements: str, cwd: Path) -> list[str]:
    """Run statements in a new process that first confines itself. Return what they print, and after each the name of
    the exception that it raised, or "done"."""
    program = (
        "import ctypes, os, socket, subprocess, sys, threading, time\nfrom gnod.child import sandbox\n"
        f"own = os.getpid(); parent = os.getppid()\nheld = sandbox.{confinement}\n"
    )
    for statement in statements:
        program += f"try:\n    {statement}\nexcept OSError as error:\n    print(type(error).__name__)\n"
        program += "else:\n    print('done')\n"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=cwd, capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout.splitlines() or [f"status {done.returncode} {done.stderr}"]
