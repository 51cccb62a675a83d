"""Standard output belongs to the protocol: whatever else this process prints goes to standard error."""

from __future__ import annotations

import io
import os
import sys


def take_output() -> io.TextIOWrapper:
    """Return what was standard output, and make the descriptor and `print` write to standard error from now on.

    For the rest of the process: libraries print when they are imported, in threads, and at the end.
    """
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return io.TextIOWrapper(os.fdopen(wire, "wb"), encoding="utf-8", newline="\n")
