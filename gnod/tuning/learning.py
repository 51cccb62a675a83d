"""Learn a prior from a collection: ask it known-item questions, and choose a factor."""

from __future__ import annotations

import time
from pathlib import Path

from gnod.models.embedder import Embedder
from gnod.store.database import Database
from gnod.store.documents.priors import Prior
from gnod.tuning.choice import MIN_QUESTIONS, choose
from gnod.tuning.experiment import OnProgress, Prepare, ask


async def learn(
    database: Database, collection: str, embedder: Embedder, prepare: Prepare, folder: Path, on_progress: OnProgress
) -> Prior:
    """Return what was learned; the factor is 1 where no other one helps, or the collection makes too few questions.

    `prepare` makes documents of texts; `folder` is for a scratch index. Raises the errors of the models.
    """
    documents, asked = await ask(database, collection, embedder, prepare, folder, on_progress)
    if len(asked) < MIN_QUESTIONS:
        return Prior.neutral(collection, embedder.uri, documents)._replace(measured_at=time.time())
    chosen = choose(asked)
    return Prior(
        collection=collection,
        vector_odds=chosen.factor,
        model=embedder.uri,
        documents=documents,
        questions=len(asked),
        keyword=chosen.keyword,
        vector=chosen.vector,
        before=chosen.before,
        after=chosen.after,
        low=chosen.low,
        high=chosen.high,
        measured_at=time.time(),
    )
