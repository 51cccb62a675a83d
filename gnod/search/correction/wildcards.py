"""Resolve wildcards: the words of the index that begin with a part (`part*`), end with it, or contain it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gnod.analysis.stemming import fold, normalise
from gnod.analysis.terms import is_unspaced
from gnod.search.correction.correctable_words import LONGEST_ENDING
from gnod.search.correction.query_correction import KnownWords
from gnod.search.correction.words import MAX_ALTERNATIVES
from gnod.search.keyword import lexical
from gnod.search.keyword.expression import prefix_phrase
from gnod.search.query.parsing import MIN_WILDCARD, Clause
from gnod.store.connection import Connection
from gnod.store.keyword_index import fulltext

# A query may have this many wildcards. Others are searched without their asterisks.
MAX_WILDCARDS = 4


def resolved(connection: Connection, clause: Clause, knowledge: KnownWords) -> Clause:
    """Return the clause with its alternatives. It is unchanged if it is not a wildcard, or if no word matches."""
    part = fold(normalise(clause.without_wildcard))
    if not clause.is_wildcard or len(part) < MIN_WILDCARD or is_unspaced(part):
        return clause
    phrases = list(_beginning(connection, part, knowledge)) if clause.text.endswith("*") else []
    if clause.text.startswith("*"):
        phrases += map(fulltext.quote, _inside(connection, part, knowledge, at_end=not clause.text.endswith("*")))
    return clause._replace(alternatives=tuple(dict.fromkeys(phrases))[: MAX_ALTERNATIVES + 1])


def _beginning(connection: Connection, part: str, knowledge: KnownWords) -> Iterator[str]:
    """Yield phrases for words that begin with a part. The term of a word may be shorter than the part."""
    yield prefix_phrase(part)
    analyzers = lexical.analyzers_of_index(connection)
    shorter = (part[:end] for end in range(max(len(part) - LONGEST_ENDING, MIN_WILDCARD), len(part)))
    for term in knowledge.vocabulary.known(shorter):
        if any(form.startswith(part) for form in knowledge.surfaces.forms(connection, term, analyzers)):
            yield fulltext.quote(term)


def _inside(connection: Connection, part: str, knowledge: KnownWords, *, at_end: bool) -> Sequence[str]:
    """Return terms of words that contain a part, or end with it; the shortest first."""
    stems = {analyzer.analyse(part)[0] for analyzer in lexical.analyzers_of_index(connection)} - {part, ""}
    found: Iterable[str] = knowledge.vocabulary.containing(part, None if at_end else MAX_ALTERNATIVES)
    if at_end:
        found = [term for term in found if term.endswith(part)]
    # The part may contain an ending that terms do not have.
    more = [term for stem in sorted(stems) for term in knowledge.vocabulary.ending(stem, MAX_ALTERNATIVES)]
    return sorted({*found, *more}, key=lambda term: (len(term), term))[:MAX_ALTERNATIVES]
