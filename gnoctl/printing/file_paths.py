"""The paths of files, for other programs: one per line, or with a null character behind each. Imported only when they
are asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from gnoctl.printing import text
from gnoctl.printing.output import note


def write_paths(sources: Iterable[str], *, has_nulls: bool) -> None:
    """Print each path once, unchanged. On a terminal, remove characters that control it. A path with a line break would
    be two lines: it is left out, and a note says so."""
    found = list(dict.fromkeys(map(on_disk, sources)))
    shown = found if has_nulls else [path for path in found if path.splitlines() == [path]]
    is_terminal = sys.stdout.isatty()
    for path in shown:
        sys.stdout.write((text.line(path) if is_terminal else path) + ("\0" if has_nulls else "\n"))
    if left_out := len(found) - len(shown):
        note(f"paths with a line break are left out: {left_out}. Use --paths0")


def on_disk(source: str) -> str:
    """Return the file that holds a source: the archive, of a file in one (`old.zip!/report.pdf`)."""
    end = source.find("!/")
    while end >= 0:
        if Path(source[:end]).is_file():
            return source[:end]
        end = source.find("!/", end + 1)
    return source
