"""References to documents, made absolute for a daemon that runs in another folder."""

from __future__ import annotations

import os
import re

_PLACE = re.compile(r"(?::p?[0-9]+|:[a-z]+ .+|#[a-z]+=[^#]*)\Z")
_RELATIVE = ("./", "../", "~/")


def absolute(reference: str) -> str:
    """Make a path on this disk absolute; leave docids, `gno://` addresses and `collection/path` as they are.

    A reference is a path if it begins with `./`, `../` or `~/`, or if the file exists. A line or page after it stays.
    Symbolic links are not resolved: a collection's path may contain one.
    """
    if reference in (".", "..", "~") or reference.startswith(_RELATIVE):
        return os.path.abspath(os.path.expanduser(reference))  # noqa: PTH100, PTH111
    path = reference if os.path.lexists(reference) else _PLACE.sub("", reference)
    if path and os.path.lexists(path):
        return os.path.abspath(path) + reference[len(path) :]  # noqa: PTH100
    return reference


def folder(path: str) -> str:
    """Make a folder's path absolute, even if it does not exist."""
    return os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111


def split(references: list[str]) -> list[str]:
    """Split lists (`#a1b2c3,#d4e5f6`); a comma in the name of an existing file stays."""
    parts = ([reference] if os.path.lexists(reference) else reference.split(",") for reference in references)
    return [absolute(part.strip()) for each in parts for part in each if part.strip()]
