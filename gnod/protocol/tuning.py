"""Wire types of `index.tune`."""

from __future__ import annotations

from typing import Literal

from gnod.protocol.base import Params, Result


class IndexTuneParams(Params, frozen=True, kw_only=True):
    """`collections`: all if empty. `action`: `tune` learns from them, `show` returns what was learned, `reset` forgets
    it. Progress counts documents, chunks and questions."""

    collections: list[str] = []
    action: Literal["tune", "show", "reset"] = "tune"


class CollectionPrior(Result, frozen=True, kw_only=True):
    """What was learned of a collection from `questions` that its own documents ask. `vector_odds`: the factor for the
    odds of vectors against keywords in hybrid search; 1: as for any collection. nDCG@10 over the questions: of keyword
    search, of vector search, and of both fused without the factor (`before`) and with it (`after`). `gain`: the 99 %
    confidence interval of the best other factor's gain. `measured_at`: null: not measured, or reset."""

    name: str
    vector_odds: float = 1.0
    model: str | None = None
    questions: int = 0
    keyword: float | None = None
    vector: float | None = None
    before: float | None = None
    after: float | None = None
    gain: tuple[float, float] | None = None
    measured_at: str | None = None


class IndexTuneResult(Result, frozen=True, kw_only=True):
    collections: list[CollectionPrior]
    took_ms: float
