"""`gnoctl daemon logs`: the daemon's log. Needs no running daemon."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from gnoctl import text
from gnoctl.command import JsonOptions, command
from gnoctl.failures import note
from gnoctl.options import option
from gnoctl.terminal import DIM, RED, YELLOW, Terminal

POLL_S = 0.25

_COLOURS = {"debug": DIM, "warning": YELLOW, "error": RED, "critical": RED}


class LogsOptions(JsonOptions, frozen=True, kw_only=True):
    lines: Annotated[Annotated[int, Meta(ge=0)], option("-n", "--lines", help="Show this many lines [default: 50]")] = (
        50
    )
    follow: Annotated[bool, option("-f", "--follow", help="Show new lines as they are written")] = False


@command("daemon logs", LogsOptions)
def logs(options: LogsOptions) -> None:
    """Show the daemon's log.

    Examples:
      gnoctl daemon logs -n 200
      gnoctl daemon logs -f
    """
    log = options.places.log_file
    terminal = options.terminal
    if not log.exists() and not options.follow:
        note(f"gnod has not written a log for index '{options.places.index}' yet ({log})")
        return
    lines = _follow(log, options.lines) if options.follow else _tail(log, options.lines)
    for line in lines:
        print(text.line(line) if options.json else pretty(line, terminal))
        if options.follow:
            sys.stdout.flush()


def pretty(line: str, terminal: Terminal) -> str:
    """Return a JSON line as `time level event key=value`, with a traceback below; any other line unchanged."""
    try:
        record = msgspec.json.decode(line, type=dict[str, object])
    except msgspec.DecodeError:
        return text.line(line)
    level = str(record.pop("level", ""))
    trace = record.pop("traceback", None)
    record.pop("logger", None)
    when, event = _local(str(record.pop("ts", ""))), str(record.pop("event", ""))
    fields = "".join(f" {name}={value}" for name, value in record.items())
    colour = _COLOURS.get(level)
    padded = f"{text.line(level):<7}"
    parts = [
        terminal.paint(text.line(when), DIM),
        terminal.paint(padded, colour) if colour else padded,
        text.line(event) + terminal.paint(text.line(fields), DIM),
    ]
    return " ".join(parts) + (f"\n{text.block(str(trace))}" if trace else "")


def _local(timestamp: str) -> str:
    try:
        return datetime.fromisoformat(timestamp).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return timestamp


def _tail(log: Path, count: int) -> list[str]:
    with log.open(encoding="utf-8", errors="replace") as file:
        return [line.rstrip("\n") for line in deque(file, maxlen=count)]


def _follow(log: Path, count: int) -> Iterator[str]:
    """Yield the last lines and then each new one, across rotations, until Ctrl-C."""
    while not log.exists():
        time.sleep(POLL_S)
    file = log.open(encoding="utf-8", errors="replace")
    yield from (line.rstrip("\n") for line in deque(file, maxlen=count))
    unfinished = ""
    while True:
        unfinished += file.readline()
        if unfinished.endswith("\n"):
            yield unfinished.rstrip("\n")
            unfinished = ""
        elif _was_rotated(log, file.fileno()):
            file.close()
            file = log.open(encoding="utf-8", errors="replace")
        else:
            time.sleep(POLL_S)


def _was_rotated(log: Path, descriptor: int) -> bool:
    try:
        return log.stat().st_ino != os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False  # during a rotation: the new file appears next
