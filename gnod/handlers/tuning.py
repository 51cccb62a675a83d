"""`index.tune`: learn how much the vectors of a collection should count; show or forget it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from gnod.handlers.request_filters import milliseconds_since
from gnod.handlers.wire_types import iso
from gnod.protocol.base import ProgressValue
from gnod.protocol.tuning import CollectionPrior, IndexTuneParams, IndexTuneResult
from gnod.rpc.dispatcher import Call, Handler
from gnod.services.configuration import Configuration
from gnod.services.tuning import TuningService
from gnod.store.documents.priors import Prior
from gnod.tuning.experiment import OnProgress


def handlers(configuration: Configuration, tuning: TuningService) -> Mapping[str, Handler]:
    async def index_tune(params: IndexTuneParams, call: Call) -> IndexTuneResult:
        started = time.perf_counter()
        configuration.check_known(params.collections)
        names = params.collections or [collection.name for collection in configuration.current.collections]
        for name in names:
            if params.action == "tune":
                await tuning.tune(name, _reporter(call, name))
            elif params.action == "reset":
                await tuning.reset(name)
        known = await tuning.priors()
        return IndexTuneResult(
            collections=[_wire(name, known.get(name)) for name in names], took_ms=milliseconds_since(started)
        )

    return {"index.tune": index_tune}


def _reporter(call: Call, collection: str) -> OnProgress:
    def report(task: str, done: int, total: int) -> None:
        call.progress(ProgressValue(stage=task, done=done, total=total, label=collection))

    return report


def _wire(name: str, prior: Prior | None) -> CollectionPrior:
    if prior is None:
        return CollectionPrior(name=name)
    measured_at = iso(prior.measured_at) if prior.measured_at else None
    if not prior.questions:
        return CollectionPrior(name=name, model=prior.model, measured_at=measured_at)
    return CollectionPrior(
        name=name,
        vector_odds=prior.vector_odds,
        model=prior.model,
        questions=prior.questions,
        keyword=round(prior.keyword, 4),
        vector=round(prior.vector, 4),
        before=round(prior.before, 4),
        after=round(prior.after, 4),
        gain=(round(prior.low, 4), round(prior.high, 4)),
        measured_at=measured_at,
    )
