"""List the versions of converters whose output for the same file has changed. All other converters have version 1.

If a version has changed since the last run of the daemon, the daemon converts the files of that converter again. This
module must not import formats, which the daemon does not need otherwise.
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
    """Return the name of a converter with its version, as documents store it."""
    return f"{name}/{VERSIONS.get(name, 1)}"


def is_current(converter: str) -> bool:
    """Return whether this is the current version of a converter.

    >>> is_current("mail/4"), is_current("mail/5"), is_current("org/1+lines"), is_current("org/0+lines")
    (False, True, True, False)
    """
    made = converter.removesuffix(KEEPS_LINES)
    return made == versioned(made.partition("/")[0])
