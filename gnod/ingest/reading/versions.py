"""The versions of the converters that have changed what they make of the same file; all others are the first.

A daemon with other versions than the one before converts the files of the changed ones again. It must not import
formats: the daemon needs them for nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from gnod.types import KEEPS_LINES

VERSIONS: Mapping[str, int | str] = {
    "chatgpt": 2,
    "claude": 2,
    "claude-code": 2,
    "code": 2,
    "codex": 2,
    "epub": 2,
    "gemini": 2,
    "html-text": 2,
    "ipynb": 2,
    "irc": 2,
    "mail": 5,
    "markitdown": version("markitdown"),
    "matrix": 2,
    "ods": 3,
    "pdf": 3,
    "signal": 2,
    "slack": 2,
    "table": 2,
    "teams": 2,
    "whatsapp": 2,
    "xls": 3,
    "xlsx": 3,
    "zip": 3,
}


def versioned(name: str) -> str:
    """Return the name of a converter with its version, as documents have it."""
    return f"{name}/{VERSIONS.get(name, 1)}"


def is_current(converter: str) -> bool:
    """Tell whether this version of a converter is the one that would read its file today.

    >>> is_current("mail/4"), is_current("mail/5"), is_current("org/1+lines"), is_current("org/0+lines")
    (False, True, True, False)
    """
    made = converter.removesuffix(KEEPS_LINES)
    return made == versioned(made.partition("/")[0])
