"""`index.embed`, `index.pause` and `index.resume`, and what status says of models at work."""

from __future__ import annotations

import time
from collections.abc import Mapping

from gnod.protocol.params import IndexEmbedParams, NoParams
from gnod.protocol.results import EmbeddingStatus, IndexEmbedResult, InferenceStatus, ProgressValue
from gnod.server.backlog import BacklogState
from gnod.server.dispatcher import Call, Handler
from gnod.server.handlers.asked import milliseconds_since
from gnod.server.index import Index


def handlers(served: Index) -> Mapping[str, Handler]:
    async def index_embed(_: IndexEmbedParams, call: Call) -> IndexEmbedResult:
        started = time.perf_counter()

        def tell(state: BacklogState) -> None:
            call.progress(
                ProgressValue(stage="embed", done=state.done, total=state.done + state.pending, label=_pace(state))
            )

        tell(served.backlog.state())
        state = await served.backlog.follow(tell)
        return IndexEmbedResult(**state._asdict() | {"took_ms": milliseconds_since(started)})

    async def index_pause(_: NoParams, __: Call) -> EmbeddingStatus:
        await served.backlog.pause()
        return embedding_status(served)

    async def index_resume(_: NoParams, __: Call) -> EmbeddingStatus:
        await served.backlog.resume()
        return embedding_status(served)

    return {"index.embed": index_embed, "index.pause": index_pause, "index.resume": index_resume}


def embedding_status(served: Index) -> EmbeddingStatus:
    return EmbeddingStatus(**served.backlog.state()._asdict())


def inference_status(served: Index) -> InferenceStatus:
    status = served.inference.status()
    return InferenceStatus(
        state=status.state,
        pid=status.pid,
        resident_bytes=status.resident_bytes,
        models=status.models,
        crashes=status.crashes,
        last_crash=status.last_crash,
        vectors_bytes=served.nearest.memory_bytes(),
    )


def _pace(state: BacklogState) -> str | None:
    if not state.chunks_per_s:
        return None
    left_s = state.pending / state.chunks_per_s
    left = f"{left_s:.0f} s" if left_s < 90 else f"{left_s / 60:.0f} min" if left_s < 5400 else f"{left_s / 3600:.1f} h"
    return f"{state.chunks_per_s:.1f} chunks/s, {left} left"
