"""Turn the values of a field into SQL conditions on documents: words, texts, numbers and dates.

A text is compared as a whole, ignoring case; `*` matches any characters. `>7`, `1..9`: comparisons and ranges.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from gnod.analysis.stemming import fold, normalise
from gnod.disks import spellings
from gnod.errors import InvalidParams, QuerySyntaxError
from gnod.search.keyword import lexical
from gnod.search.keyword.expression import prefix_phrase
from gnod.search.query.filter_dates import period
from gnod.search.query.parsing import Clause
from gnod.store.connection import Connection
from gnod.store.tables.filters import Condition


class FieldValue(NamedTuple):
    """One value of a field. A quoted value has no operators."""

    text: str
    is_quoted: bool = False


class Bounds(NamedTuple):
    """A comparison or a range. None: open on this side."""

    low: str | None = None
    high: str | None = None
    includes_low: bool = True
    includes_high: bool = True


Build = Callable[[Connection, FieldValue], Condition]
"""Makes the condition for one value of a field. Raises QuerySyntaxError."""

NOTHING = Condition("0")

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([kmgt]?)(?:i?b)?", re.IGNORECASE | re.ASCII)
_UNITS = {unit: 1024**power for power, unit in enumerate(("", "k", "m", "g", "t"))}
_GLOB_SYNTAX = re.compile(r"[\[?]")
_BOUNDS = re.compile(r"(?P<operator>[<>]=?|=)(?P<bound>.*)|(?P<low>(?:.*[^.])?)\.\.(?P<high>(?:[^.].*)?)", re.DOTALL)


def either(conditions: list[Condition]) -> Condition:
    if len(conditions) == 1:
        return conditions[0]
    where = " OR ".join(f"({condition.where})" for condition in conditions)
    return Condition(f"({where})", tuple(value for each in conditions for value in each.values))


def negated(condition: Condition) -> Condition:
    # The negation of an unknown value is not true either.
    return Condition(f"NOT coalesce(({condition.where}), 0)", condition.values)


def words_in(column: str) -> Build:
    """Search for the words in a column of the full-text index, in their order. `word*`: words with this beginning."""

    def condition(connection: Connection, value: FieldValue) -> Condition:
        if not (phrase := _phrase(connection, value)):
            raise fault(f"{value.text!r} has no word to search for: write a word, or several in quotation marks")
        return Condition(
            "d.id IN (SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?)", (f"{column} : ({phrase})",)
        )

    return condition


def text_of(expression: str) -> Build:
    return lambda _, value: is_text(expression, value)


def part_of(expression: str) -> Build:
    def condition(_: Connection, value: FieldValue) -> Condition:
        if is_pattern(value):
            return is_text(expression, value)
        compared, wanted = folded(expression, value.text)
        return Condition(f"instr({compared}, ?) > 0", (wanted,))

    return condition


def number_of(expression: str) -> Build:
    """Compare a size in bytes: `>10k`, `1M..2M`."""

    def condition(_: Connection, value: FieldValue) -> Condition:
        limits = bounds(value) or Bounds(value.text, value.text)
        low, high = (None if each is None else _bytes(each) for each in (limits.low, limits.high))
        if low is None and high is None:
            raise _no_bounds(value)
        return _between(expression, low, high, limits)

    return condition


def date_of(expression: str) -> Build:
    """Compare a time in seconds since 1970. A year, a month or a day includes all of its times."""

    def condition(_: Connection, value: FieldValue) -> Condition:
        limits = bounds(value) or Bounds(value.text, value.text)
        if limits.low is None and limits.high is None:
            raise _no_bounds(value)
        low = None if limits.low is None else moments(limits.low)[0 if limits.includes_low else 1]
        high = None if limits.high is None else moments(limits.high)[1 if limits.includes_high else 0]
        return _between(expression, low, high, limits)

    return condition


def before(expression: str) -> Build:
    return lambda _, value: Condition(f"{expression} < ?", (moments(value.text)[0],))


def after(expression: str) -> Build:
    return lambda _, value: Condition(f"{expression} >= ?", (moments(value.text)[0],))


def is_text(expression: str, value: FieldValue) -> Condition:
    compared, wanted = folded(expression, value.text)
    if is_pattern(value):
        return Condition(f"{compared} GLOB ?", (glob(wanted),))
    return Condition(f"{compared} = ?", (wanted,))


def is_pattern(value: FieldValue) -> bool:
    return "*" in value.text and not value.is_quoted


def glob(text: str) -> str:
    """Return an SQLite GLOB pattern in which only `*` is special."""
    return _GLOB_SYNTAX.sub(lambda match: f"[{match[0]}]", text)


def moments(text: str) -> tuple[float, float]:
    try:
        return period(text)
    except InvalidParams as error:
        raise fault(error.message) from None


def fault(message: str) -> QuerySyntaxError:
    return QuerySyntaxError(message, {"reason": "field_value"})


def bounds(value: FieldValue) -> Bounds | None:
    """Return the comparison or range of a value; None for a plain value.

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


def _phrase(connection: Connection, value: FieldValue) -> str | None:
    text = value.text.rstrip("*")
    wanted = lexical.expression_of(connection, [Clause(text, is_phrase=True)]).required_phrases()
    prefix = fold(normalise(text))
    if wanted and is_pattern(value) and prefix.isalnum():
        return f"{wanted} OR {prefix_phrase(prefix)}"
    return wanted


def folded(expression: str, text: str) -> tuple[str, str]:
    """Return both in lower case. SQLite's own function is faster, but supports only ASCII."""
    if text.isascii():
        return f"lower({expression})", text.lower()
    return f"folded({expression})", spellings.folded(text)


def ends_before_it_begins(limits: Bounds) -> QuerySyntaxError:
    low, high = limits.low, limits.high
    return fault(f"the range {low}..{high} ends before it begins: write {high}..{low}")


def _between(expression: str, low: float | None, high: float | None, limits: Bounds) -> Condition:
    if low is not None and high is not None and low > high:
        raise ends_before_it_begins(limits)
    parts = []
    if low is not None:
        parts.append(f"{expression} {'>=' if limits.includes_low else '>'} ?")
    if high is not None:
        parts.append(f"{expression} {'<=' if limits.includes_high else '<'} ?")
    return Condition(f"({' AND '.join(parts)})", tuple(each for each in (low, high) if each is not None))


def _bytes(text: str) -> float:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise fault(f"{text!r} is not a size: write size:>10k, size:<2M or size:10k..2M")
    return float(float(match[1]) * _UNITS[match[2].lower()])


def _no_bounds(value: FieldValue) -> QuerySyntaxError:
    return fault(f"{value.text!r} has no limits: write a range such as 1..9, 1.. or ..9")
