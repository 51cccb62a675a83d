"""`gnoctl bench` in the process of the test."""

from __future__ import annotations

import io
from pathlib import Path

from gnoctl.arguments.command_line import read
from gnoctl.commands.bench import BenchOptions, request
from gnod.evaluate import command


def measure(*words: str | Path) -> tuple[int, str, str]:
    """Return the exit status, the output and the errors. Raises UsageError if the words are wrong."""
    _, options = read(["bench", *map(str, words)])
    assert isinstance(options, BenchOptions)
    out, err = io.StringIO(), io.StringIO()
    return command.main(request(options), out, err), out.getvalue(), err.getvalue()
