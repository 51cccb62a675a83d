"""Read a text, a confirmation or a passphrase from standard input."""

from __future__ import annotations

import sys

from gnoctl.printing import text
from gnod.errors import UsageError

# No command accepts more. The limit stops an endless input.
_MAX_BYTES = 4 * 1024 * 1024


def given_text(words: list[str], *, missing: str) -> str:
    """Return the words as one text. `-` reads standard input, and so do no words, unless standard input is a terminal.

    Raises UsageError: with the message `missing` if there is no text, and if the text is not UTF-8 or far too long.
    """
    if words and words != ["-"]:
        return " ".join(words)
    if not words and sys.stdin.isatty():
        raise UsageError(missing)
    data = sys.stdin.buffer.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise UsageError(f"standard input is larger than {_MAX_BYTES // 1024**2} MB")
    try:
        given = data.decode()
    except UnicodeDecodeError:
        raise UsageError("standard input is not valid UTF-8") from None
    if not given.strip():
        raise UsageError(missing)
    return given


def confirmed(question: str) -> bool:
    """Ask on a terminal. Raises UsageError if standard input is not a terminal."""
    if not sys.stdin.isatty():
        raise UsageError("this command needs a confirmation: add --yes")
    print(text.line(f"{question} [y/N] "), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def passphrase(prompt: str, *, is_new: bool = False) -> str:
    """Ask for a passphrase without showing it, twice for a new one; without a terminal, read the next line.

    Raises UsageError if the two differ."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    from getpass import getpass

    first = getpass(f"{prompt}: ")
    if is_new and first and getpass("Repeat it: ") != first:
        raise UsageError("the passphrases differ; nothing was changed")
    return first
