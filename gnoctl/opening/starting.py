"""Start the program that shows a file at a line or page. `viewers` chooses it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from gnoctl.opening import viewers
from gnoctl.opening.viewers import System, ViewerCommand, ViewerTarget
from gnoctl.printing import text
from gnod.errors import Unavailable
from gnod.protocol.documents import DocumentPlace

# A viewer that cannot start fails within this time, in seconds.
_FAILS_WITHIN_S = 0.5
_DESKTOP_ANSWERS_WITHIN_S = 3.0
_SKIM = Path("/Applications/Skim.app")


def target_of(place: DocumentPlace) -> ViewerTarget:
    where = place.location
    page = (where.page or where.slide) if where else None
    row = where.row if where else None
    # A row of a table (CSV) is nearly always a line.
    line = row if place.line is None and place.mime.startswith("text/") else place.line
    return ViewerTarget(place.source, place.mime, line, page or 1, row or 1)


def this_system() -> System:
    return System(
        os.environ,
        shutil.which,
        _preferred_viewer,
        is_macos=sys.platform == "darwin",
        has_skim=sys.platform == "darwin" and _SKIM.exists(),
    )


def _preferred_viewer() -> str:
    """Return the desktop's name for its PDF viewer; "" if it has none."""
    try:
        asked = ["xdg-mime", "query", "default", viewers.PDF]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=_DESKTOP_ANSWERS_WITHIN_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def show(opening: ViewerCommand, place: DocumentPlace) -> None:
    """Start a program with its own window, which outlives this process."""
    if not this_system().has_display:
        where = f", {place.location.label}" if place.location else ""
        raise Unavailable(
            f"no display is available to show {place.source}{where}: `gnoctl get` prints the text, `--with COMMAND` "
            "opens the file in a program of the terminal, `--print` prints the command"
        )
    nothing = subprocess.DEVNULL
    try:
        started = subprocess.Popen(opening.words, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)
    except OSError as error:
        raise _failed(opening.words, error) from None
    try:
        status = started.wait(_FAILS_WITHIN_S)
    except subprocess.TimeoutExpired:
        return
    if status:
        raise Unavailable(
            f"{opening.words[0]} could not open {place.source} (status {status}): name another program with "
            "`--with COMMAND`, or under `viewers` in index.yml"
        )


def page(content: str, line: int) -> None:
    """Show a text from a line on, in the pager of the terminal; the user can go back to the lines above."""
    if not sys.stdout.isatty():
        print("\n".join(content.split("\n")[line - 1 :]))
        return
    words = viewers.split(os.environ.get("PAGER") or "less", "$PAGER")
    at = [f"+{line}"] if Path(words[0]).name in ("less", "more") else []
    # Ctrl+C is for the pager: it stops a search there. The pager does not inherit a handler, unlike SIG_IGN.
    signal.signal(signal.SIGINT, lambda *_: None)
    try:
        subprocess.run([*words, *at], input=content.encode(), check=False)
    except OSError as error:
        raise _failed(words, error) from None


def become(opening: ViewerCommand) -> NoReturn:
    """Replace this process by a terminal program, so that keys and signals reach only that program."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(opening.words[0], opening.words)
    except OSError as error:
        raise _failed(opening.words, error) from None


def _failed(words: Sequence[str], error: OSError) -> Unavailable:
    return Unavailable(f"{text.line(words[0])} cannot be started: {error.strerror}")
