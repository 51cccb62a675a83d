"""How far each retriever can be trusted for a document: by the language of the query and of the document, by what the
embedding model can read, and by what was learned of the collection. Pure.

A document in another language than the query's shares only names with it. Then keywords count as much as the part of
the query that they found; and less where the model reads both languages, since then its vectors compare the meaning.

And which documents of a list are only loosely similar to the query: there are nearest documents for every query, also
when none is about it. Two things are evidence that one is: it has the query's words, or its vector is nearer than those
of unrelated texts are. How near these are to the query is known for each model and language (gnod.models.readability),
so one line holds for every model (docs/adr/0047-scores.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from gnod.models.readability import Readability, is_read_by_every_model
from gnod.search.ranking.fusion import Trust

# The exponents for the coverage of the query by keywords: if the model reads both languages, and if it does not.
READ_EXPONENT = 2.0
UNREAD_EXPONENT = 1.0
# A document is about the query from this nearness on, in standard deviations of the cosines of unrelated texts.
NEAR = 3.5
# The words of the query count as this much nearness, if a document has all of them.
WORDS = 5.0
# Where nearness says nothing, this share of the words is enough.
FEW_WORDS = 0.2
_ALL = 1 - 1e-9
# Written languages that are similar enough to share words.
_SAME = {"no": "nb", "nn": "nb", "bs": "hr", "sr": "hr", "ms": "id", "xh": "zu", "tn": "st"}


Reader = Callable[[str], Readability | None]
"""Returns what the model that serves a collection can read; None: not known."""


class Facts(NamedTuple):
    """What the index knows about a document. `script`: its Unicode name, if the language is unknown."""

    docid: str
    collection: str
    language: str | None
    script: str | None = None


class QueryFacts(NamedTuple):
    """`language`: None: not known. `coverage`: the share of the query's words, by weight, that occur in the index."""

    language: str | None
    coverage: float


def of_documents(
    documents: Mapping[int, Facts],
    query: QueryFacts,
    reader: Reader,
    priors: Mapping[str, float],
) -> dict[int, Trust]:
    """Return the trust of the documents where it is not the same for all. `priors`: by collection, what was learned for
    the odds of its vectors."""
    by_group = {group: _trust(*group, query, reader, priors) for group in {facts[1:] for facts in documents.values()}}
    found = {id_: by_group[facts[1:]] for id_, facts in documents.items()}
    return {id_: trust for id_, trust in found.items() if trust != Trust()}


def is_loose(share: float, nearness: float | None) -> bool:
    """Tell whether neither is evidence. `share` of the query's words that the document has, by weight, in [0, 1].
    `nearness`: as in `Unrelated.nearness`; None: it says nothing, or the document has no vector."""
    if nearness is None or share >= _ALL:
        return share < FEW_WORDS
    return nearness + WORDS * share < NEAR


def _trust(
    collection: str,
    language: str | None,
    script: str | None,
    query: QueryFacts,
    reader: Reader,
    priors: Mapping[str, float],
) -> Trust:
    prior = priors.get(collection, 1.0)
    is_foreign = bool(query.language and language and _kin(query.language) != _kin(language))
    if is_read_by_every_model(language, script) and not is_foreign:
        return Trust(vector=prior)
    reads = reader(collection)
    if reads and not (reads.can_read_language(language) and (script is None or reads.can_read_script(script))):
        return Trust(vector=0.0)
    if not is_foreign:
        return Trust(vector=prior)
    reads_both = reads is not None and reads.reads(query.language or "") and reads.reads(language or "")
    return Trust(query.coverage ** (READ_EXPONENT if reads_both else UNREAD_EXPONENT), prior)


def _kin(language: str) -> str:
    return _SAME.get(language, language)
