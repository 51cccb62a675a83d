"""The daemon's log: JSON lines in a rotating file, and plain text on a terminal.

The message of a record is its event (`request.failed`); its fields are in `extra={"fields": {...}}`. Above debug level
no record contains text of a document or a query, so tracebacks omit the message of the exception. Text of memories,
which are encrypted, is never logged.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import sys
import traceback
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TextIO

from gnod.private import private_file, private_folder

MAX_BYTES = 5 * 1024 * 1024
FILES = 3

LINES = "\n\t"
# JSON does not escape these characters, but a terminal executes them: DEL, C1, and changes of direction.
_OBEYED = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_PRIVATE = ("gnod.memory", "gnod.handlers.memory")


def configure(log_file: Path, level: str = "info", terminal: TextIO | None = None) -> None:
    """Send records of gnod at `level` and above, and warnings of other packages, to `log_file` and to `terminal`.

    If the file cannot be written, the daemon continues without it.
    """
    root = logging.getLogger()
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    root.setLevel(logging.WARNING)
    logging.getLogger("gnod").setLevel(level.upper())
    root.addHandler(_LogFile(log_file))
    if terminal is not None:
        handler = logging.StreamHandler(terminal)
        handler.setFormatter(PlainFormatter())
        root.addHandler(handler)


def flush() -> None:
    """Write the buffers; ignore a full disk."""
    for handler in logging.getLogger().handlers:
        with contextlib.suppress(OSError, ValueError):
            handler.flush()


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON: ts, level, logger, event, the fields, traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **_fields(record),
        }
        if trace := _trace(record):
            line["traceback"] = trace
        # Do not use msgspec: it fails for file names that are not valid Unicode.
        text = json.dumps(line, default=repr, ensure_ascii=False)
        return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class PlainFormatter(logging.Formatter):
    """Formats a record as `12:34:56 warning event key=value`, with the traceback below."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        head = printable(f"{record.levelname.lower()} {record.getMessage()}{fields}")
        trace = _trace(record)
        return f"{time} {head}" + (f"\n{printable(trace, keep=LINES)}" if trace else "")


def printable(text: str, keep: str = "") -> str:
    """Escape control characters: a file name may contain them, and a line end would forge a record."""
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    fields = getattr(record, "fields", None)
    return fields if isinstance(fields, dict) else {}


def _trace(record: logging.LogRecord) -> str | None:
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return None
    if logging.getLogger(record.name).isEnabledFor(logging.DEBUG) and not _is_private(error):
        return "".join(traceback.format_exception(error)).rstrip()
    return _frames(error)


def _is_private(error: BaseException) -> bool:
    """Return whether the exception passed through code that handles decrypted memories."""
    seen: BaseException | None = error
    while seen is not None:
        for frame, _ in traceback.walk_tb(seen.__traceback__):
            if frame.f_globals.get("__name__", "").startswith(_PRIVATE):
                return True
        if isinstance(seen, BaseExceptionGroup) and any(map(_is_private, seen.exceptions)):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _frames(error: BaseException) -> str:
    """Return the frames and types of a chain of exceptions without their messages."""
    chain: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(chain) < 10:
        frames = "".join(traceback.format_tb(seen.__traceback__))
        chain.append(f"{frames}{type(seen).__module__}.{type(seen).__qualname__}")
        first = seen.exceptions[0] if isinstance(seen, BaseExceptionGroup) else None
        seen = first or seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return "\ncaused by\n".join(chain)


class _LogFile(RotatingFileHandler):
    """A file that only its owner can read. The first record opens it. A failure is reported once."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=MAX_BYTES, backupCount=FILES - 1, encoding="utf-8", delay=True)
        self.setFormatter(JsonFormatter())
        self._has_failed = False

    def _open(self) -> io.TextIOWrapper:
        path = Path(self.baseFilename)
        private_folder(path.parent)
        descriptor = private_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        return open(descriptor, "a", encoding="utf-8", errors="backslashreplace")  # noqa: PTH123

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802, ARG002
        """Report only the first failure: a full disk must not stop a search or fill the terminal."""
        if self._has_failed:
            return
        self._has_failed = True
        reason = sys.exc_info()[1]
        with contextlib.suppress(OSError, ValueError):  # stderr may be closed
            print(f"gnod: cannot write the log {self.baseFilename}: {reason}", file=sys.stderr)  # noqa: T201
