"""One ranking from several: from what each retriever says of the documents to a score for each. Pure.

Reciprocal rank fusion (RRF: Cormack, Clarke, Büttcher 2009) uses ranks only. The convex combination (Bruch, Gai, Ingber
2023) uses the scores, scaled over all candidates, and weights each retriever by its prominence: how far its best
document stands out from the whole collection, in standard deviations. An embedding model that cannot read a language
finds nothing that stands out, and so does not outvote the keywords (docs/adr/0014).

A method is a name in `FusionMethod` and a function in `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Literal, NamedTuple

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
# The bonus is added once per document, by its place in the fused list.
_RRF_BONUS = (0.05, 0.02, 0.02)


class RetrieverResults(NamedTuple):
    """The results of one retriever.¶`scores`: of documents; larger is better, best first. `found`: it found this many
    of the first ones itself, and was asked about the others. `prominence`: that of the best one; None if it is unknown,
    or does not count for this list."""

    retriever: Retriever
    weight: float
    scores: Mapping[int, float]
    found: int
    prominence: float | None = None


class Trust(NamedTuple):
    """What each retriever can say of a document (gnod.search.ranking.trust). `keyword` multiplies the prominence of the
    keywords, `vector` the odds of the vectors; 0: the vector says nothing."""

    keyword: float = 1.0
    vector: float = 1.0


_BOTH = Trust()
_ALIKE: Mapping[int, Trust] = {}
_UNNAMED: Mapping[int, float] = {}


class Fusion(NamedTuple):
    """`ranked`: best first; the best has the score 1. Their components are the parts of the score, by retriever.
    `vector_shares`: the weights of the vectors, in [0, 1], of the documents with each trust; None: the method has none.
    `least`: what even the document with the least of everything has, as a share of what the best one has. `loose`: how
    many documents are only loosely similar, ranked or left out."""

    ranked: list[RankedDocument]
    vector_shares: Mapping[Trust, float] | None
    least: float = 0.0
    loose: int = 0

    @property
    def vector_share(self) -> float | None:
        """Return the weight of the vectors of documents for which both retrievers are trusted."""
        return None if self.vector_shares is None else self.vector_shares[_BOTH]


def prominence(best: float, mean: float, deviation: float) -> float:
    """Return how far the best value stands out from all, in standard deviations."""
    return max(0.0, (best - mean) / deviation) if deviation > 0 else 0.0


def fuse(
    method: FusionMethod,
    evidence: Sequence[RetrieverResults],
    order: Order,
    trust: Mapping[int, Trust] = _ALIKE,
    named: Mapping[int, float] = _UNNAMED,
) -> Fusion:
    """Return the documents of all lists, best first; `order` breaks ties. `trust` of documents; of the others, both
    retrievers are trusted. `named`: documents that the query names, and how clearly, in [0, 1]."""
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
    """Return a score of `Fusion` on the scale from nothing in common with the query to the best document. The order
    stays."""
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
    """Weight the vectors by their squared prominence against that of the keywords, one half where that is unknown. If
    few of the keyword candidates are embedded yet, the vectors count less in proportion: having a vector is not a
    merit."""
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
"""Functions that return unscaled scores, in any order, with what each is made of."""


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
    """Return the worst score as a share of the best, on a scale where 0 is nothing in common."""
    nothing = UNRELATED if each.retriever == "vector" else 0.0
    low, high = min(each.scores.values()) - nothing, max(each.scores.values()) - nothing
    return max(low, 0.0) / high if high > 0 else 0.0


def _coverage(lists: Sequence[RetrieverResults], trust: Mapping[int, Trust]) -> float:
    """Return which part of the documents that keywords found has a vector, of those that the model can read."""
    found = {id_ for each in lists if each.retriever == "lexical" for id_ in islice(each.scores, each.found)}
    readable = {id_ for id_ in found if trust.get(id_, _BOTH).vector}
    embedded = {id_ for each in lists if each.retriever == "vector" for id_ in each.scores}
    return len(readable & embedded) / len(readable) if readable else 1.0


def _mean_prominence(lists: Sequence[RetrieverResults], retriever: Retriever) -> float | None:
    known = [each.prominence for each in lists if each.retriever == retriever and each.prominence is not None]
    return max(sum(known) / len(known), 0.0) if known else None


def _scaled(scores: Mapping[int, float]) -> dict[int, float]:
    """Scale to [0, 1]; all equal, all 1."""
    low, high = min(scores.values()), max(scores.values())
    if low == high:
        return dict.fromkeys(scores, 1.0)
    return {document_id: (score - low) / (high - low) for document_id, score in scores.items()}
