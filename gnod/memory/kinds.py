"""The type of a memory: a word of the user's, of which some change how it ranks. Pure."""

from __future__ import annotations

import re

from gnod.errors import InvalidName

# What the help names first. Others may be made up; they rank as these do, but for the rules of `ranking`.
SUGGESTED = ("fact", "preference", "summary", "result", "decision", "task")

# The end of a type whose matter is finished, or has been superseded.
DONE = "_done"

_KIND = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z")
_MAX_CHARACTERS = 40


def checked(kind: str) -> str:
    """Return the type as it is stored. Raises InvalidName.

    >>> checked("Decision_Done")
    'decision_done'
    """
    lowered = kind.strip().lower()
    if len(lowered) > _MAX_CHARACTERS or not _KIND.match(lowered):
        raise InvalidName(
            f"{kind[:_MAX_CHARACTERS]!r} is no type of a memory: a word of letters, digits and '_', such as "
            f"{', '.join(SUGGESTED[:-1])} or {SUGGESTED[-1]}; with {DONE!r} at its end for what is finished"
        )
    return lowered


def base(kind: str) -> str:
    """Return the type without what says that it is finished.

    >>> base("preference_done"), base("fact")
    ('preference', 'fact')
    """
    return kind.removesuffix(DONE)


def is_done(kind: str) -> bool:
    return kind.endswith(DONE)
