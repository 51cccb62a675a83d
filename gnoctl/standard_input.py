"""What a command is told at standard input: a text, a yes, a passphrase."""

from __future__ import annotations

import sys

from gnoctl import text
from gnod.errors import UsageError

# Far beyond all that is taken; a text is not read without end to be refused then.
_MAX_BYTES = 4 * 1024 * 1024


def given_text(words: list[str], *, missing: str) -> str:
    """Return the words as one text; what standard input has for `-`, and for no words where it is no terminal.

    Raises UsageError: with the words `missing` where there is nothing, and for what is no UTF-8 or far too long.
    """
    if words and words != ["-"]:
        return " ".join(words)
    if not words and sys.stdin.isatty():
        raise UsageError(missing)
    data = sys.stdin.buffer.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise UsageError(f"standard input has more than {_MAX_BYTES // 1024**2} MB")
    try:
        found = data.decode()
    except UnicodeDecodeError:
        raise UsageError("standard input is not valid UTF-8") from None
    if not found.strip():
        raise UsageError(missing)
    return found


def confirmed(question: str) -> bool:
    """Ask on a terminal. Raises UsageError where nobody could answer."""
    if not sys.stdin.isatty():
        raise UsageError("add --yes to do this without being asked")
    print(text.line(f"{question} [y/N] "), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def passphrase(prompt: str, *, is_new: bool = False) -> str:
    """Ask for a passphrase without showing it, for a new one twice; take the first line where there is no terminal.
    Raises UsageError when two differ."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    from getpass import getpass

    first = getpass(f"{prompt}: ")
    if is_new and first and getpass("Once more: ") != first:
        raise UsageError("those were two different passphrases; nothing was done")
    return first
