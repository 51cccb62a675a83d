"""`index.embed`, `index.pause` and `index.resume`, and the status of embedding and inference."""

from __future__ import annotations

import time
from collections.abc import Mapping

from gnod.handlers.request_filters import milliseconds_since
from gnod.models.inference import Inference
from gnod.pipeline.nearest import Nearest
from gnod.protocol.base import NoParams, ProgressValue
from gnod.protocol.index import EmbeddingStatus, IndexEmbedParams, IndexEmbedResult, InferenceStatus
from gnod.rpc.dispatcher import Call, Handler
from gnod.services.backlog import Backlog, BacklogState


def handlers(backlog: Backlog) -> Mapping[str, Handler]:
    async def index_embed(_: IndexEmbedParams, call: Call) -> IndexEmbedResult:
        started = time.perf_counter()

        def report(state: BacklogState) -> None:
            call.progress(
                ProgressValue(stage="embed", done=state.done, total=state.done + state.pending, label=_pace(state))
            )

        report(backlog.state())
        state = await backlog.follow(report)
        return IndexEmbedResult(**state._asdict() | {"took_ms": milliseconds_since(started)})

    async def index_pause(_: NoParams, __: Call) -> EmbeddingStatus:
        await backlog.pause()
        return embedding_status(backlog)

    async def index_resume(_: NoParams, __: Call) -> EmbeddingStatus:
        await backlog.resume()
        return embedding_status(backlog)

    return {"index.embed": index_embed, "index.pause": index_pause, "index.resume": index_resume}


def embedding_status(backlog: Backlog) -> EmbeddingStatus:
    return EmbeddingStatus(**backlog.state()._asdict())


def inference_status(inference: Inference, nearest: Nearest) -> InferenceStatus:
    status = inference.status()
    return InferenceStatus(
        state=status.state,
        pid=status.pid,
        resident_bytes=status.resident_bytes,
        models=status.models,
        crashes=status.crashes,
        last_crash=status.last_crash,
        vectors_bytes=nearest.memory_bytes(),
    )


def _pace(state: BacklogState) -> str | None:
    if not state.chunks_per_s:
        return None
    left_s = state.pending / state.chunks_per_s
    left = f"{left_s:.0f} s" if left_s < 90 else f"{left_s / 60:.0f} min" if left_s < 5400 else f"{left_s / 3600:.1f} h"
    return f"{state.chunks_per_s:.1f} chunks/s, {left} left"
