"""Find definitions by name: first exact names, then names with all its parts, such as `retry_with_backoff` for
`backoff`.

A name may be qualified: `Retry.run`, `tide::Ring`. Case does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gnod.search.ranking.ranked import RankedDocument, Span
from gnod.store.connection import Connection
from gnod.store.tables import definitions, documents
from gnod.store.tables.definitions import DefinitionSite
from gnod.store.tables.filters import Condition, Filters

# The scores of documents: with an exact definition of a name, with a definition that has its parts, and without either.
EXACT, IN_PART, USES = 1.0, 0.75, 0.5
# Examine at most this many definitions of a common name.
_MOST = 5000
_SHOWN = 600

_SEPARATORS = re.compile(r"::|[.#/>\s]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\dA-Za-z_]+")


class Symbol(NamedTuple):
    """`path`: the names that qualify it, or their ends."""

    path: tuple[str, ...]
    name: str


def symbol(text: str) -> Symbol | None:
    """Return the symbol that a field's value names; None for a value without a name."""
    names = [name.casefold() for name in _SEPARATORS.split(text.strip().removesuffix("()").strip("*")) if name]
    return Symbol(tuple(names[:-1]), names[-1]) if names else None


def defining(connection: Connection, wanted: Symbol) -> Condition:
    """Return the condition that a document defines the symbol."""
    return Condition("1").with_ids({place.document_id for _, place in _matches(connection, wanted)})


def with_definitions(
    connection: Connection, wanted: Sequence[Symbol], filters: Filters, ranked: Sequence[RankedDocument], limit: int
) -> list[RankedDocument]:
    """Put the documents that define a symbol, with the place of the definition, before the others."""
    found = _defining_documents(connection, wanted, filters)
    others = [each._replace(score=USES * each.score) for each in ranked if each.id not in found]
    return [*found.values(), *others][:limit]


def _defining_documents(
    connection: Connection, wanted: Sequence[Symbol], filters: Filters
) -> dict[int, RankedDocument]:
    matches = sorted((match for each in wanted for match in _matches(connection, each)), key=_order)
    passing = documents.passing(connection, {place.document_id for _, place in matches}, filters)
    found: dict[int, RankedDocument] = {}
    for score, (document_id, definition) in matches:
        if document_id in passing and document_id not in found:
            end = min(definition.end, definition.start + _SHOWN)
            span = Span(definition.start, end, definition.line, definition.end_line)
            found[document_id] = RankedDocument(document_id, score, span, {"symbol": score})
    return found


def _order(match: tuple[float, DefinitionSite]) -> tuple[float, int, int]:
    """Put exact names first, then outer definitions, then short names."""
    score, (_, found) = match
    return -score, found.path.count(">") + bool(found.path), len(found.name)


def _matches(connection: Connection, wanted: Symbol) -> Iterator[tuple[float, DefinitionSite]]:
    """Yield the definitions of a symbol, with their scores."""
    parts = _parts(wanted.name)
    for place in definitions.named(connection, wanted.name, max(parts, key=len, default=wanted.name), _MOST):
        if _is_in(place, wanted.path):
            if place.definition.name.casefold() == wanted.name:
                yield EXACT, place
            elif parts and set(parts) <= set(_parts(place.definition.name)):
                yield IN_PART, place


def _is_in(place: DefinitionSite, path: tuple[str, ...]) -> bool:
    around = tuple(place.definition.path.casefold().split(" > "))
    return not path or around[-len(path) :] == path


def _parts(name: str) -> list[str]:
    """Return the words of a name.

    >>> _parts("retryWithBackoff2"), _parts("HTTP_server")
    (['retry', 'with', 'backoff', '2'], ['http', 'server'])
    """
    return [part.casefold() for part in _PARTS.findall(name)]
