"""`index.embed`, `index.pause`, `index.resume`, `index.tune`, and the status of embedding and inference."""

from __future__ import annotations

import time
from collections.abc import Mapping

from gnod.background.embedding_backlog import Backlog, BacklogState
from gnod.background.tuning import TuningService
from gnod.configured.configuration import Configuration
from gnod.handlers.wire_types import iso
from gnod.models.run.inference import Inference
from gnod.protocol import index as wire
from gnod.protocol.base import NoParams, ProgressValue, copied
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.search.hybrid.budget import milliseconds_since
from gnod.search.meaning.vector_search import Nearest
from gnod.store.tables.learned_factors import Prior
from gnod.tuning.experiment import OnProgress


def handlers(configuration: Configuration, backlog: Backlog, tuning: TuningService) -> Mapping[str, Handler]:
    async def index_embed(_: wire.IndexEmbedParams, call: Call) -> wire.IndexEmbedResult:
        started = time.perf_counter()

        def report(state: BacklogState) -> None:
            call.progress(
                ProgressValue(stage="embed", done=state.done, total=state.done + state.pending, label=_pace(state))
            )

        report(backlog.state())
        state = await backlog.follow(report)
        return wire.IndexEmbedResult(**state._asdict() | {"took_ms": milliseconds_since(started)})

    async def index_pause(_: NoParams, __: Call) -> wire.EmbeddingStatus:
        await backlog.pause()
        return embedding_status(backlog)

    async def index_resume(_: NoParams, __: Call) -> wire.EmbeddingStatus:
        await backlog.resume()
        return embedding_status(backlog)

    async def index_tune(params: wire.IndexTuneParams, call: Call) -> wire.IndexTuneResult:
        started = time.perf_counter()
        configuration.check_known(params.collections)
        names = params.collections or [collection.name for collection in configuration.current.collections]
        for name in names:
            if params.action == "tune":
                await tuning.tune(name, _reporter(call, name))
            elif params.action == "reset":
                await tuning.reset(name)
        known = await tuning.priors()
        return wire.IndexTuneResult(
            collections=[_wire(name, known.get(name)) for name in names], took_ms=milliseconds_since(started)
        )

    return named(index_embed, index_pause, index_resume, index_tune)


def embedding_status(backlog: Backlog) -> wire.EmbeddingStatus:
    return wire.EmbeddingStatus(**backlog.state()._asdict())


def inference_status(inference: Inference, nearest: Nearest) -> wire.InferenceStatus:
    return copied(wire.InferenceStatus, inference.status(), vectors_bytes=nearest.memory_bytes())


def _pace(state: BacklogState) -> str | None:
    if not state.chunks_per_s:
        return "the beginnings of the documents first" if state.state == "embedding" and not state.done else None
    left_s = state.pending / state.chunks_per_s
    left = f"{left_s:.0f} s" if left_s < 90 else f"{left_s / 60:.0f} min" if left_s < 5400 else f"{left_s / 3600:.1f} h"
    return f"{state.chunks_per_s:.1f} chunks/s, {left} left"


def _reporter(call: Call, collection: str) -> OnProgress:
    def report(task: str, done: int, total: int) -> None:
        call.progress(ProgressValue(stage=task, done=done, total=total, label=collection))

    return report


def _wire(name: str, prior: Prior | None) -> wire.CollectionPrior:
    if prior is None:
        return wire.CollectionPrior(name=name)
    measured_at = iso(prior.measured_at) if prior.measured_at else None
    if not prior.questions:
        return wire.CollectionPrior(name=name, model=prior.model, measured_at=measured_at)
    return wire.CollectionPrior(
        name=name,
        vector_odds=prior.vector_odds,
        model=prior.model,
        questions=prior.questions,
        keyword=round(prior.keyword, 4),
        vector=round(prior.vector, 4),
        before=round(prior.before, 4),
        after=round(prior.after, 4),
        measured_at=measured_at,
    )
