"""What can be measured: one retriever a mode. A new mode is one more entry in `MODES`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gnod.evaluate.index import Index
from gnod.pipeline import lexical
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


MODES: Mapping[str, Callable[[Index], Retriever]] = {"lexical": lexical_retriever}
