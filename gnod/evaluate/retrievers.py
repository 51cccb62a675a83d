"""What can be measured: one retriever a mode. A new mode is one more entry in `MODES`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gnod.evaluate.index import COLLECTION, Index
from gnod.pipeline import lexical, vector
from gnod.pipeline.nearest import Nearest
from gnod.store.filters import Filters

Ranking = list[tuple[str, float]]
"""(document id, score), best first, larger is better."""

Retriever = Callable[[str, int], Ranking]
"""Called with a query and a limit. Raises QuerySyntaxError."""


def lexical_retriever(index: Index) -> Retriever:
    def retrieve(query: str, limit: int) -> Ranking:
        found = index.database.read(lambda connection: lexical.search(connection, query, Filters(), limit=limit))
        return [(index.ids[each.document_id], each.score) for each in found.result().ranked]

    return retrieve


def vector_retriever(index: Index) -> Retriever:
    meaning = index.meaning
    assert meaning is not None, "NEEDS_MEANING has this mode"
    nearest = Nearest()
    served = {COLLECTION: meaning.uri}

    def retrieve(query: str, limit: int) -> Ranking:
        vectors = {meaning.uri: meaning.query(query)}
        found = index.database.read(
            lambda connection: vector.search(connection, nearest, vectors, served, Filters(), limit=limit)
        )
        return [(index.ids[each.document_id], each.score) for each in found.result()]

    return retrieve


MODES: Mapping[str, Callable[[Index], Retriever]] = {"lexical": lexical_retriever, "vector": vector_retriever}

NEEDS_MEANING = frozenset({"vector"})
