"""The licences of the packages that gnod needs on Linux, as their metadata names them. docs/licences.md lists them."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from check_wheels import PYTHONS, SYSTEMS, closure

PAGE = Path(__file__).resolve().parent.parent / "docs" / "licences.md"

_LONGEST = 60  # characters; a longer field is the text of the licence
_CLASSIFIER = re.compile(r"License :: (?:.* :: )?(.+)")


def rows() -> list[list[str]]:
    """Return package and licence. A package that this system does not need keeps its row on the page."""
    written = dict(re.findall(r"^\| (\S+) \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    environment = SYSTEMS[0].environment(PYTHONS[0])
    return [[name, _licence(name) or written.get(name, "")] for name in closure(environment, extras=())]


def _licence(name: str) -> str | None:
    """Return the name of the licence; None if the package is not installed or names none."""
    try:
        fields = metadata(name).json
    except PackageNotFoundError:
        return None
    stated = str(fields.get("license_expression") or fields.get("license") or "")
    if stated and len(stated) <= _LONGEST and "\n" not in stated:
        return stated
    classified = map(_CLASSIFIER.fullmatch, fields.get("classifier", ()))
    return ", ".join(match[1] for match in classified if match) or None
