"""Make one ranking of several: from what each retriever says of the documents to a score for each. Pure.

Two methods behind one seam. Reciprocal ranks (Cormack, Clarke, Büttcher 2009) look at places only. The convex
combination (Bruch, Gai, Ingber 2023) looks at the scores, scaled over all candidates, and here at how sure each side is
of itself: how far its best document stands out from the whole collection, in standard deviations. An embedding model
that cannot read a language finds nothing that stands out, and so does not drown the words (docs/adr/0014).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Literal, NamedTuple

Kind = Literal["lexical", "vector"]
# Half: a convex combination in which both sides weigh the same, to measure the other by.
Method = Literal["convex", "half", "rrf"]

# The weights of a list: what was asked, in other words, and as an imagined answer.
ORIGINAL, VARIANT, HYDE = 2.0, 1.0, 1.4

_RRF_K = 60
# Once a document, by its place in the fused list.
_RRF_BONUS = (0.05, 0.02, 0.02)


class Evidence(NamedTuple):
    """What one retriever says: `scores` of documents, larger is better, best first. The first `found` of them are what
    it found itself; the others it was asked about. `peak`: how far its best document stands out from all (see `peak`);
    None: not known, as of a list that has no part in that."""

    kind: Kind
    weight: float
    scores: Mapping[int, float]
    found: int
    peak: float | None = None


def peak(best: float, mean: float, deviation: float) -> float:
    """Return how far the best value stands out from all, in standard deviations."""
    return max(0.0, (best - mean) / deviation) if deviation > 0 else 0.0


class Fused(NamedTuple):
    """`score` is in [0, 1], the best document's is 1. `components`: what it is made of, by name."""

    document_id: int
    score: float
    components: dict[str, float]


class Fusion(NamedTuple):
    """`vector_share`: how much the vectors counted, in [0, 1]; None: the method has no such thing."""

    ranked: list[Fused]
    vector_share: float | None


def fuse(method: Method, evidence: Sequence[Evidence], order: Callable[[int], object]) -> Fusion:
    """Return the documents of all lists, best first. `order` gives what ties are broken by."""
    lists = [each for each in evidence if each.scores]
    if not lists:
        return Fusion([], None)
    share = None
    if method == "rrf":
        scores, components = _reciprocal_ranks(lists, order)
    else:
        share = _vector_share(lists, method)
        scores, components = _convex(lists, share)
    best = max(scores.values())
    ranked = [Fused(id_, score / best if best > 0 else 1.0, components[id_]) for id_, score in scores.items()]
    return Fusion(sorted(ranked, key=lambda f: (-f.score, order(f.document_id))), share)


def _reciprocal_ranks(
    lists: Sequence[Evidence], order: Callable[[int], object]
) -> tuple[dict[int, float], dict[int, dict[str, float]]]:
    scores: dict[int, float] = {}
    components: dict[int, dict[str, float]] = {}
    for each in lists:
        for rank, document_id in enumerate(islice(each.scores, each.found), 1):
            part = each.weight / (_RRF_K + rank)
            scores[document_id] = scores.get(document_id, 0.0) + part
            said = components.setdefault(document_id, {})
            said[each.kind] = said.get(each.kind, 0.0) + part
    first = sorted(scores, key=lambda id_: (-scores[id_], order(id_)))[: len(_RRF_BONUS)]
    for document_id, bonus in zip(first, _RRF_BONUS, strict=False):
        scores[document_id] += bonus
        components[document_id]["bonus"] = bonus
    return scores, components


def _convex(lists: Sequence[Evidence], share: float) -> tuple[dict[int, float], dict[int, dict[str, float]]]:
    by_kind = {"lexical": 1 - share, "vector": share}
    totals = {kind: sum(each.weight for each in lists if each.kind == kind) for kind in by_kind}
    documents = {document_id for each in lists for document_id in each.scores}
    scores = dict.fromkeys(documents, 0.0)
    components: dict[int, dict[str, float]] = {document_id: {} for document_id in documents}
    for each in lists:
        part = each.weight / totals[each.kind]
        for document_id, scaled in _scaled(each.scores).items():
            said = components[document_id]
            said[each.kind] = said.get(each.kind, 0.0) + part * scaled
            scores[document_id] += by_kind[each.kind] * part * scaled
    return scores, components


def _vector_share(lists: Sequence[Evidence], method: Method) -> float:
    """Return the weight of the vectors: by how much they stand out, squared, against the words; one half where that is
    not known. Where few of the documents that the words found are embedded yet, they count as little: to have a vector
    is no merit."""
    kinds = {each.kind for each in lists}
    if len(kinds) == 1:
        return 1.0 if kinds == {"vector"} else 0.0
    if method == "half":
        return 0.5
    lexical, vector = _peak(lists, "lexical"), _peak(lists, "vector")
    share = 0.5
    if lexical is not None and vector is not None and (squares := lexical * lexical + vector * vector) > 0:
        share = vector * vector / squares
    return _coverage(lists) * share


def _coverage(lists: Sequence[Evidence]) -> float:
    """Return which part of what the words found has a vector."""
    found = {id_ for each in lists if each.kind == "lexical" for id_ in islice(each.scores, each.found)}
    embedded = {id_ for each in lists if each.kind == "vector" for id_ in each.scores}
    return len(found & embedded) / len(found) if found else 1.0


def _peak(lists: Sequence[Evidence], kind: Kind) -> float | None:
    known = [each.peak for each in lists if each.kind == kind and each.peak is not None]
    return max(sum(known) / len(known), 0.0) if known else None


def _scaled(scores: Mapping[int, float]) -> dict[int, float]:
    """Scale to [0, 1]; all equal, all 1."""
    low, high = min(scores.values()), max(scores.values())
    if low == high:
        return dict.fromkeys(scores, 1.0)
    return {document_id: (score - low) / (high - low) for document_id, score in scores.items()}
