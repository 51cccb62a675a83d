"""Fuse several rankings into one: compute one score for each document from the results of all retrievers. Pure.

Reciprocal rank fusion (RRF: Cormack, Clarke, Büttcher 2009) uses ranks only. The convex combination (Bruch, Gai, Ingber
2023) uses the scores, scaled over all candidates, and weights each retriever by its prominence: how far its best
document stands out from the whole collection, in standard deviations. With an embedding model that cannot read a
language, no document stands out, so it does not outvote the keywords (docs/adr/0014).

The weights also depend on the document's language, on what the embedding model can read, and on what was learned about
the collection (`trusted`). A document in another language than the query shares only names with it. Then keywords count
as much as the part of the query that they found. They count less if the model reads both languages, because then its
vectors compare the meaning.

Every query has nearest documents, even if no document is about it. There are two kinds of evidence that a document is
about the query (`is_loose`): it has the query's words, or its vector is nearer than the vectors of unrelated texts. The
nearness of unrelated texts is known for each model and language (gnod.models.readability), so one threshold works for
every model (docs/adr/0047-scores.md).

Each method has a name in `FusionMethod` and a function in `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from gnod.models.readability import Readability, is_read_by_every_model
from gnod.search.ranking.ranked import RankedDocument
from gnod.types import FusionMethod

Retriever = Literal["lexical", "vector"]
Order = Callable[[int], object]

_RRF_K = 60
# The similarity of texts that have nothing in common: their cosine is 0.
UNRELATED = 0.5
# A path with all words of the query adds at most this share of the best document's score. docs/adr/0047-scores.md has
# the figures.
NAME_BONUS = 0.5
# Added once per document, by its place in the fused list.
_RRF_BONUS = (0.05, 0.02, 0.02)

# The exponents of the query's coverage by keywords: if the model reads both languages, and if it does not.
READ_EXPONENT = 2.0
UNREAD_EXPONENT = 1.0
# A document with at least this nearness is about the query. In standard deviations of the cosines of unrelated texts.
NEAR = 3.5
# All words of the query together count as this much nearness.
WORDS = 5.0
# If nearness is unknown, this share of the words is enough.
FEW_WORDS = 0.2
_ALL = 1 - 1e-9
# Written languages that are similar enough to share words.
_SAME = {"no": "nb", "nn": "nb", "bs": "hr", "sr": "hr", "ms": "id", "xh": "zu", "tn": "st"}


class RetrieverResults(NamedTuple):
    """The results of one retriever. `scores`: by document, best first; larger is better. `found`: the retriever found
    this many of the first documents itself, and scored the others on request. `prominence`: of the best document; None
    if it is unknown, or does not count for this list."""

    retriever: Retriever
    weight: float
    scores: Mapping[int, float]
    found: int
    prominence: float | None = None


class Trust(NamedTuple):
    """How far the score of each retriever counts for a document. `keyword` multiplies the prominence of the keywords,
    `vector` the odds of the vectors; 0: the vector does not count."""

    keyword: float = 1.0
    vector: float = 1.0


Reader = Callable[[str], Readability | None]
"""Returns what the model that serves a collection can read; None: unknown."""


class Facts(NamedTuple):
    """What the index knows about a document. `script`: its Unicode name, if the language is unknown."""

    docid: str
    collection: str
    language: str | None
    script: str | None = None


_BOTH = Trust()
_ALIKE: Mapping[int, Trust] = {}
_UNNAMED: Mapping[int, float] = {}


class Fusion(NamedTuple):
    """`ranked`: best first; the best has the score 1. Their components are the parts of the score, by retriever.
    `vector_shares`: by trust, the weights of the vectors, in [0, 1]; None: the method has no weights. `least`: the
    score of a document that is last in every list, as a share of the best score. `loose`: how many documents are only
    loosely similar, ranked or left out."""

    ranked: list[RankedDocument]
    vector_shares: Mapping[Trust, float] | None
    least: float = 0.0
    loose: int = 0

    @property
    def vector_share(self) -> float | None:
        """Return the weight of the vectors for documents with full trust in both retrievers."""
        return None if self.vector_shares is None else self.vector_shares[_BOTH]


def prominence(best: float, mean: float, deviation: float) -> float:
    """Return how far the best value is above the mean, in standard deviations."""
    return max(0.0, (best - mean) / deviation) if deviation > 0 else 0.0


def fuse(
    method: FusionMethod,
    evidence: Sequence[RetrieverResults],
    order: Order,
    trust: Mapping[int, Trust] = _ALIKE,
    named: Mapping[int, float] = _UNNAMED,
) -> Fusion:
    """Return the documents of all lists, best first; `order` breaks ties. `trust`: by document; both retrievers are
    trusted for the others. `named`: documents that the query names, and how clearly, in [0, 1]."""
    lists = [each for each in evidence if each.scores]
    if not lists:
        return Fusion([], None)
    unnamed = METHODS[method](lists, order, trust)
    fused, least = _with_names(unnamed.ranked, named), unnamed.least
    best = max(each.score for each in fused)
    scaled = [each._replace(score=each.score / best if best > 0 else 1.0) for each in fused]
    floor = least / (least + (1 - least) * best) if best > 0 else 0.0
    return Fusion(sorted(scaled, key=lambda each: (-each.score, order(each.id))), unnamed.vector_shares, floor)


def _with_names(fused: Sequence[RankedDocument], named: Mapping[int, float]) -> Sequence[RankedDocument]:
    if not named:
        return fused
    most = NAME_BONUS * max(each.score for each in fused)
    return [_raised(each, "name", named[each.id] * most) if each.id in named else each for each in fused]


def _raised(document: RankedDocument, component: str, bonus: float) -> RankedDocument:
    components = {**document.components, component: bonus}
    return document._replace(score=document.score + bonus, components=components)


def with_least(score: float, least: float) -> float:
    """Rescale a score of `Fusion`: 0 has nothing in common with the query, 1 is the best document. Keeps the order."""
    return least + (1 - least) * score


def reciprocal_ranks(lists: Sequence[RetrieverResults], order: Order, _: Mapping[int, Trust]) -> Fusion:
    components: dict[int, dict[str, float]] = {}
    for each in lists:
        for rank, document_id in enumerate(islice(each.scores, each.found), 1):
            parts = components.setdefault(document_id, {})
            parts[each.retriever] = parts.get(each.retriever, 0.0) + each.weight / (_RRF_K + rank)
    fused = [RankedDocument(id_, sum(parts.values()), None, parts) for id_, parts in components.items()]
    fused.sort(key=lambda each: (-each.score, order(each.id)))
    first = [_raised(each, "bonus", bonus) for each, bonus in zip(fused, _RRF_BONUS, strict=False)]
    return Fusion([*first, *fused[len(first) :]], None)


def convex(lists: Sequence[RetrieverResults], _: Order, trust: Mapping[int, Trust]) -> Fusion:
    """Weight the vectors by their squared prominence against that of the keywords; one half if it is unknown. If few
    keyword candidates are embedded yet, the vectors count less in proportion: a vector alone must not raise a
    document."""
    lexical, vector = _mean_prominence(lists, "lexical"), _mean_prominence(lists, "vector")
    coverage = _coverage(lists, trust)

    def share(trusted: Trust) -> float:
        keyword_odds, vector_odds = trusted.keyword**2, trusted.vector
        if lexical is not None and vector is not None and lexical**2 + vector**2 > 0:
            keyword_odds, vector_odds = keyword_odds * lexical**2, vector_odds * vector**2
        both = keyword_odds + vector_odds
        return coverage * vector_odds / both if both else 0.0

    return _combined(lists, trust, share)


METHODS: Mapping[FusionMethod, Callable[[Sequence[RetrieverResults], Order, Mapping[int, Trust]], Fusion]] = {
    "convex": convex,
    "rrf": reciprocal_ranks,
}
"""Functions that return unscaled scores with their components, in any order."""


def _combined(
    lists: Sequence[RetrieverResults], trust: Mapping[int, Trust], share_of: Callable[[Trust], float]
) -> Fusion:
    kinds = {each.retriever for each in lists}
    documents = {document_id for each in lists for document_id in each.scores}
    trusted = {document_id: trust.get(document_id, _BOTH) for document_id in documents}
    shares = {each: share_of(each) for each in {_BOTH, *trusted.values()}}
    if len(kinds) == 1:
        shares = dict.fromkeys(shares, 1.0 if kinds == {"vector"} else 0.0)
    totals = {kind: sum(each.weight for each in lists if each.retriever == kind) for kind in kinds}
    scores = dict.fromkeys(documents, 0.0)
    components: dict[int, dict[str, float]] = {document_id: {} for document_id in documents}
    for each in lists:
        part = each.weight / totals[each.retriever]
        for document_id, scaled in _scaled(each.scores).items():
            parts = components[document_id]
            parts[each.retriever] = parts.get(each.retriever, 0.0) + part * scaled
            share = shares[trusted[document_id]]
            scores[document_id] += (share if each.retriever == "vector" else 1 - share) * part * scaled
    least = sum(
        (shares[_BOTH] if each.retriever == "vector" else 1 - shares[_BOTH])
        * each.weight
        / totals[each.retriever]
        * _least(each)
        for each in lists
    )
    ranked = [RankedDocument(id_, score, None, components[id_]) for id_, score in scores.items()]
    return Fusion(ranked, shares, least)


def _least(each: RetrieverResults) -> float:
    """Return the worst score as a share of the best. On this scale, 0 means nothing in common."""
    nothing = UNRELATED if each.retriever == "vector" else 0.0
    low, high = min(each.scores.values()) - nothing, max(each.scores.values()) - nothing
    return max(low, 0.0) / high if high > 0 else 0.0


def _coverage(lists: Sequence[RetrieverResults], trust: Mapping[int, Trust]) -> float:
    """Return the share of documents with a vector, among those that keywords found and the model can read."""
    found = {id_ for each in lists if each.retriever == "lexical" for id_ in islice(each.scores, each.found)}
    readable = {id_ for id_ in found if trust.get(id_, _BOTH).vector}
    embedded = {id_ for each in lists if each.retriever == "vector" for id_ in each.scores}
    return len(readable & embedded) / len(readable) if readable else 1.0


def _mean_prominence(lists: Sequence[RetrieverResults], retriever: Retriever) -> float | None:
    known = [each.prominence for each in lists if each.retriever == retriever and each.prominence is not None]
    return max(sum(known) / len(known), 0.0) if known else None


def _scaled(scores: Mapping[int, float]) -> dict[int, float]:
    """Scale to [0, 1]. If all are equal, all become 1."""
    low, high = min(scores.values()), max(scores.values())
    if low == high:
        return dict.fromkeys(scores, 1.0)
    return {document_id: (score - low) / (high - low) for document_id, score in scores.items()}


def trusted(
    documents: Mapping[int, Facts],
    query_language: str | None,
    coverage: float,
    reader: Reader,
    priors: Mapping[str, float],
) -> dict[int, Trust]:
    """Return the trust of the documents for which it is not the default. `query_language`: None if unknown. `coverage`:
    the share of the query's words, by weight, that occur in the index. `priors`: by collection, the learned factor for
    the odds of its vectors."""
    groups = {facts[1:] for facts in documents.values()}
    by_group = {group: _trust(*group, query_language, coverage, reader, priors) for group in groups}
    found = {id_: by_group[facts[1:]] for id_, facts in documents.items()}
    return {id_: trust for id_, trust in found.items() if trust != Trust()}


def is_loose(share: float, nearness: float | None) -> bool:
    """Return whether neither words nor nearness are evidence. `share`: the share of the query's words that the document
    has, by weight, in [0, 1]. `nearness`: as in `Unrelated.nearness`; None: it is unknown, or the document has no
    vector."""
    if nearness is None or share >= _ALL:
        return share < FEW_WORDS
    return nearness + WORDS * share < NEAR


def _trust(
    collection: str,
    language: str | None,
    script: str | None,
    query_language: str | None,
    coverage: float,
    reader: Reader,
    priors: Mapping[str, float],
) -> Trust:
    prior = priors.get(collection, 1.0)
    is_foreign = bool(query_language and language and _kin(query_language) != _kin(language))
    if is_read_by_every_model(language, script) and not is_foreign:
        return Trust(vector=prior)
    reads = reader(collection)
    if reads and not (reads.can_read_language(language) and (script is None or reads.can_read_script(script))):
        return Trust(vector=0.0)
    if not is_foreign:
        return Trust(vector=prior)
    reads_both = reads is not None and reads.reads(query_language or "") and reads.reads(language or "")
    return Trust(coverage ** (READ_EXPONENT if reads_both else UNREAD_EXPONENT), prior)


def _kin(language: str) -> str:
    return _SAME.get(language, language)
