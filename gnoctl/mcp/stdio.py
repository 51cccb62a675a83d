"""Keep standard output for the protocol: everything else that this process prints goes to standard error."""

from __future__ import annotations

import io
import os
import sys


def take_output() -> io.TextIOWrapper:
    """Return the original standard output; from now on, the descriptor and `print` write to standard error.

    This lasts until the process ends: libraries print when they are imported, in threads, and at exit.
    """
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return io.TextIOWrapper(os.fdopen(wire, "wb"), encoding="utf-8", newline="\n")
