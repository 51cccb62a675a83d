"""Find the fields in a text: `name:value`, `name:"two words"`, `name:a,b`, `-name:value`.

A colon is text unless a known name is before it and a value is directly behind it. So `note: this`, `12:30`,
`std::vec`, `http://…`, `C:\\x`, `lex:` and what stands in quotes stay text. Must not depend on the fields or the index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

# Skip quotes as a whole. A name has two characters or more, because `C:` is a drive.
_TOKEN = re.compile(
    r'-?"[^"]*"|(?<![^\s])(?P<minus>-)?(?P<name>[^\W\d_][\w.-]{1,63}):(?P<value>(?![:\\]|//)(?:"[^"]*"|[^\s"])+)|[^\s"]+|"'
)
_VALUE = re.compile(r'(?:"[^"]*"|[^,"])+')
_BOUNDS = re.compile(r"(?P<operator>[<>]=?|=)(?P<bound>.*)|(?P<low>(?:.*[^.])?)\.\.(?P<high>(?:[^.].*)?)", re.DOTALL)


class FieldClause(NamedTuple):
    """`name` in lower case; `value` as written, with its quotes and commas."""

    name: str
    value: str
    is_negated: bool = False

    @property
    def shown(self) -> str:
        text = f"{'-' if self.is_negated else ''}{self.name}:{self.value}"
        return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


class FieldValue(NamedTuple):
    """One of the values of a field. In a quoted one, nothing is an operator."""

    text: str
    is_quoted: bool = False


class Bounds(NamedTuple):
    """A comparison or a range. None: open on this side."""

    low: str | None = None
    high: str | None = None
    includes_low: bool = True
    includes_high: bool = True


class Separated(NamedTuple):
    """`text`: the rest; unchanged if there are no fields. `unknown`: tokens that look like a field but have an unknown
    name."""

    text: str
    clauses: list[FieldClause]
    unknown: list[FieldClause]


_SHOWN_CHARS = 60


def separate(text: str, is_known: Callable[[str], bool], stays: Callable[[str], bool] = lambda _: False) -> Separated:
    """Take the fields out of a text. The values of those whose name `stays` also remain words of the text."""
    clauses: list[FieldClause] = []
    unknown: list[FieldClause] = []
    rest, at = [], 0
    for match, clause in _clauses(text):
        if not is_known(clause.name):
            unknown.append(clause)
            continue
        clauses.append(clause)
        keeps = stays(clause.name) and not clause.is_negated and "*" not in clause.value
        rest += [text[at : match.start()], clause.value.replace(",", " ") if keeps else ""]
        at = match.end()
    return Separated("".join((*rest, text[at:])), clauses, unknown)


def names(text: str) -> set[str]:
    """Return the words before a colon that are names if they are known."""
    return {clause.name for _, clause in _clauses(text)}


def values(text: str) -> list[FieldValue]:
    """Split at the commas outside of quotes.

    >>> values('a,"b, c"')
    [FieldValue(text='a', is_quoted=False), FieldValue(text='b, c', is_quoted=True)]
    """
    parts = (part.strip() for part in _VALUE.findall(text))
    found = (FieldValue(part.replace('"', "").strip(), part.startswith('"') and part.endswith('"')) for part in parts)
    return [value for value in found if value.text]


def bounds(value: FieldValue) -> Bounds | None:
    """Return the comparison or the range that a value is; None: it is a plain value.

    >>> bounds(FieldValue(">=7")), bounds(FieldValue("1..")), bounds(FieldValue("wait...")), bounds(FieldValue(".."))
    (Bounds(low='7', high=None, includes_low=True, includes_high=True), \
Bounds(low='1', high=None, includes_low=True, includes_high=True), None, \
Bounds(low=None, high=None, includes_low=True, includes_high=True))
    """
    match = None if value.is_quoted else _BOUNDS.fullmatch(value.text)
    if match is None:
        return None
    if match["operator"] is None:
        return Bounds(match["low"] or None, match["high"] or None)
    bound, includes = match["bound"].strip() or None, "=" in match["operator"]
    if match["operator"] == "=":
        return Bounds(bound, bound)
    if match["operator"].startswith(">"):
        return Bounds(low=bound, includes_low=includes)
    return Bounds(high=bound, includes_high=includes)


def _clauses(text: str) -> Iterator[tuple[re.Match[str], FieldClause]]:
    if ":" not in text:
        return
    for match in _TOKEN.finditer(text):
        if match["name"]:
            yield match, FieldClause(match["name"].lower(), match["value"], match["minus"] is not None)
