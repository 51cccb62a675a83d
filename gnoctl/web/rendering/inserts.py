"""Safe parts of a document that the sanitiser would not leave as they are: mathematics, embedded notes.

In the HTML that is sanitised, a mark stands for each. No document can write a mark, since it has a random number.
"""

from __future__ import annotations

import re
import secrets
from html import escape

import nh3

_MAX_FORMULA = 2_000  # characters
_MAX_FORMULAS = 1_000  # of one part of a document
_MAX_EMBEDDED = 1_000_000  # characters of HTML
_NAMES_OF_MATHML = (
    "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mmultiscripts "
    "mprescripts none mtable mtr mtd mlabeledtr mstyle mpadded mphantom menclose merror"
)
_MATHML = set(_NAMES_OF_MATHML.split())
_ATTRIBUTES = {
    "*": {"displaystyle", "mathvariant", "scriptlevel"},
    "math": {"display"},
    "mfrac": {"linethickness"},
    "mo": {"fence", "form", "largeop", "lspace", "maxsize", "minsize", "movablelimits", "rspace", "stretchy"},
    "mover": {"accent"},
    "mspace": {"depth", "height", "linebreak", "width"},
    "mtable": {"columnalign", "columnlines", "rowlines", "rowspacing", "columnspacing"},
    "mtd": {"columnalign", "columnspan", "rowspan"},
    "munder": {"accentunder"},
}


class Inserts:
    """The inserts of one part."""

    def __init__(self) -> None:
        self._secret = secrets.token_hex(12)
        self._parts: list[str] = []
        self._formulas = 0
        self._room = _MAX_EMBEDDED

    def put(self, html: str) -> str:
        """Return the mark that stands for safe HTML."""
        self._parts.append(html)
        return f"{self._secret}-{len(self._parts) - 1}-"

    def has_room_for(self, html: str) -> bool:
        """Tell whether a box may be shown: each of many embeds shows the whole text again."""
        self._room -= len(html)
        return self._room >= 0

    def math(self, formula: str, *, is_block: bool) -> str:
        """Return the mark of a formula of LaTeX as MathML. One that cannot be read is shown as it is written."""
        self._formulas += 1
        made = _mathml(formula, is_block=is_block) if self._formulas <= _MAX_FORMULAS else None
        return f"<code>{escape(formula)}</code>" if made is None else self.put(made)

    def inserted(self, html: str) -> str:
        """Return sanitised HTML with the parts in place of their marks."""
        return re.sub(rf"{self._secret}-(\d+)-", lambda match: self._parts[int(match[1])], html)


def _mathml(formula: str, *, is_block: bool) -> str | None:
    from latex2mathml.converter import convert  # few documents have formulas

    if len(formula) > _MAX_FORMULA:
        return None
    try:
        made = convert(formula.strip(), display="block" if is_block else "inline")
    except Exception:  # it raises errors of many kinds for what it does not know
        return None
    return nh3.clean(made, tags=_MATHML, attributes=_ATTRIBUTES, link_rel=None)
