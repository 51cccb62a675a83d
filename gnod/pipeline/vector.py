"""Search by meaning: from query vectors to ranked documents, and from a document to those like it.

Depends on the store and on the vectors in memory; knows no model, no snippets and no wire.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.errors import NotEmbedded
from gnod.pipeline.nearest import Near, Nearest
from gnod.store import vectors
from gnod.store.database import Connection
from gnod.store.documents import Document
from gnod.store.filters import Filters
from gnod.types import format_uri


class Ranked(NamedTuple):
    """`score` is the similarity of the document's best chunk, in [0, 1]: 1 - cosine distance / 2. The rest is that
    chunk: its span and lines in the canonical text, and the headings above it."""

    document_id: int
    score: float
    start: int
    end: int
    start_line: int
    end_line: int
    heading: str


class VectorSurvey(NamedTuple):
    """`peak`: how far the best document stands out (gnod.pipeline.fusion.peak); None: not known."""

    ranked: list[Ranked]
    peak: float | None


def search(
    connection: Connection,
    nearest: Nearest,
    query_vectors: Mapping[str, NDArray[np.float32]],
    served: Mapping[str, str],
    filters: Filters,
    *,
    limit: int,
    min_score: float = 0.0,
) -> list[Ranked]:
    """Return the best `limit` documents; ties by document id. `query_vectors` has the query as each model sees it, by
    the model's URI; `served` says which model answers for a collection. What no model serves is not searched."""
    found: list[Near] = []
    for uri, query in query_vectors.items():
        if within := _served_by(uri, served, filters):
            found += nearest.search(connection, uri, query, filters._replace(collections=within), limit=limit)
    return _best(found, limit, min_score)


def survey(
    connection: Connection,
    nearest: Nearest,
    query_vectors: Mapping[str, NDArray[np.float32]],
    served: Mapping[str, str],
    filters: Filters,
    *,
    limit: int,
    also: Collection[int] = (),
) -> VectorSurvey:
    """Do what `search` does for a ranking that is fused with another: the best `limit` documents of each model, and of
    those in `also` all that have a vector and pass the filters."""
    found: list[Near] = []
    peaks: list[float] = []
    for uri, query in query_vectors.items():
        if within := _served_by(uri, served, filters):
            only = filters._replace(collections=within)
            surveyed = nearest.survey(connection, uri, query, only, limit=limit, also=also)
            found += surveyed.near
            peaks += [] if surveyed.peak is None else [surveyed.peak]
    return VectorSurvey(_best(found, len(found), 0.0), max(peaks, default=None))


def similar(
    connection: Connection,
    nearest: Nearest,
    document: Document,
    served: Mapping[str, str],
    filters: Filters,
    *,
    limit: int,
    min_score: float = 0.0,
) -> list[Ranked]:
    """Return the documents nearest to `document`, without itself and its copies, from the collections that the same
    model serves. Raises NotEmbedded."""
    address = format_uri(document.collection, document.path)
    uri = served.get(document.collection)
    query = vectors.document_vector(connection, document.mirror_hash, uri) if uri else None
    if uri is None or query is None:
        raise NotEmbedded(f"{address} is not embedded yet; `gnoctl embed` follows it", {"uri": address})
    within = _served_by(uri, served, filters)
    if not within:
        raise NotEmbedded(
            f"{', '.join(filters.collections)} cannot be compared with {address}: the same model must embed both",
            {"uri": address, "model": uri},
        )
    only = filters._replace(collections=within)
    found = nearest.search(connection, uri, query, only, limit=limit, exclude_mirror=document.mirror_hash)
    return _best(found, limit, min_score)


def _served_by(uri: str, served: Mapping[str, str], filters: Filters) -> tuple[str, ...]:
    """Return the collections asked for that the model serves. None is not all of them: do not search with it."""
    wanted = set(filters.collections or served)
    return tuple(sorted(name for name, model in served.items() if model == uri and name in wanted))


def _best(found: Iterable[Near], limit: int, min_score: float) -> list[Ranked]:
    ordered = sorted(found, key=lambda near: (-near.similarity, near.document_id))[:limit]
    return [
        Ranked(n.document_id, n.similarity, n.start, n.end, n.start_line, n.end_line, n.heading)
        for n in ordered
        if n.similarity >= min_score
    ]
