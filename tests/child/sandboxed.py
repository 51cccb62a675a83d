"""Whether this machine can hold a process in a sandbox at all, and how to try it out in a new one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gnod.child import landlock
from gnod.child.system_calls import NotHeld


def has_landlock() -> bool:
    """Tell whether there is a Landlock that bars all that is written: since Linux 6.2."""
    try:
        return sys.platform == "linux" and landlock.version() >= 3
    except NotHeld:
        return False


def after(confinement: str, deed: str, cwd: Path) -> str:
    """Return what a new process prints that confines itself, and then does something: the name of an exception, or
    "done"."""
    program = (
        "import ctypes, os, socket, subprocess, sys, threading, time\nfrom gnod.child import sandbox\n"
        "own = os.getpid(); parent = os.getppid()\n"
        f"held = sandbox.{confinement}\n"
        f"try:\n    {deed}\nexcept OSError as error:\n    print(type(error).__name__)\nelse:\n    print('done')\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=cwd, capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout.strip() or f"status {done.returncode} {done.stderr}"
