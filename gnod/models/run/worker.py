"""The inference worker, `python -m gnod.models.run.worker`: keeps models loaded and computes with them.

A child process, so that a crash inside llama.cpp or ONNX Runtime does not end the daemon, and so that its memory is
really freed when it ends.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from gnod import extras
from gnod.child import frames, sandbox
from gnod.child.child_setup import set_up_child, silence
from gnod.errors import GnoError, ModelRejected, NotEnoughMemory
from gnod.models.encoder import ONNX
from gnod.models.run import memory
from gnod.models.run.embedding import TextEmbedder
from gnod.models.run.giving_way import GivingWay
from gnod.models.run.loaded_models import E, LoadedModels
from gnod.models.run.messages import (
    Begun,
    Cancel,
    DocumentScored,
    EmbedRequest,
    FailedReply,
    Generate,
    Measure,
    ModelSpec,
    ModelsReady,
    Rank,
    Request,
    RequestDone,
    RoomMeasured,
    TextGenerated,
    TextsEmbedded,
    Work,
    WorkerMessage,
)
from gnod.models.run.ranking import PairRanker
from gnod.models.run.stop import Stop

if TYPE_CHECKING:
    from gnod.models.run.llama.generation import GenerationEngine

_INTERACTIVE = frozenset(["query vectors", "ranking"])
_REQUESTS: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)


def main(arguments: list[str]) -> int:
    """Serve the socket `FD` as long as `PARENT` lives; unload a model that was not used for `IDLE_S`."""
    descriptor, idle_s, parent = int(arguments[0]), float(arguments[1]), int(arguments[2])
    with socket.socket(fileno=descriptor) as channel:
        set_up_child(parent)
        channel.sendall(frames.encode(ModelsReady(protections=_confine())))
        silence()
        Worker(channel, idle_s).serve()
    return 0


def _confine() -> list[str]:
    """Give up all rights that computing does not need. The driver of a graphics card needs devices and a cache of
    compiled programs. It may start a program to load its module, but has done so when llama.cpp knows of a card."""
    if sys.platform != "linux":
        return []
    if _has_graphics_card():
        return sandbox.stay_local()
    return sandbox.confine(writable=None, readable=None)


class _Job(NamedTuple):
    """`stop` is set when the request is cancelled."""

    request: Work
    stop: Stop


class Worker:
    """Does each kind of work on a thread of its own, so that the vector of a query waits neither for documents nor for
    an answer that takes 30 seconds."""

    def __init__(self, channel: socket.socket, idle_s: float) -> None:
        self._channel = channel
        self._sending = threading.Lock()
        self._models = LoadedModels(idle_s, self._send)
        self._queues: dict[str, SimpleQueue[_Job]] = {}
        self._stops: dict[int, Stop] = {}
        self._way = GivingWay()

    def serve(self) -> None:
        """Accept requests until the stream ends, then end the process, even if it is computing."""
        try:
            while (request := frames.receive(self._channel, _REQUESTS)) is not None:
                if isinstance(request, Cancel):
                    if stop := self._stops.get(request.id):
                        stop.set()
                else:
                    self._put(_Job(request, Stop()))
        finally:
            os._exit(0)

    def _put(self, job: _Job) -> None:
        """Give a job to the thread of its kind, which the first job starts."""
        self._stops[job.request.id] = job.stop
        kind = _kind(job.request)
        if kind not in self._queues:
            self._queues[kind] = SimpleQueue()
            threading.Thread(target=self._work_through, args=(self._queues[kind],), name=kind, daemon=True).start()
        self._queues[kind].put(job)

    def _work_through(self, queue: SimpleQueue[_Job]) -> None:
        try:
            while True:
                job = queue.get()
                if not job.stop():
                    self._process(job)
                del self._stops[job.request.id]
        except BaseException:
            # Exit, so that the daemon starts another worker; without this thread, requests would wait for ever.
            os._exit(1)

    def _process(self, job: _Job) -> None:
        request_id = job.request.id
        self._send(Begun(id=request_id))
        is_interactive = _kind(job.request) in _INTERACTIVE
        try:
            with self._way.searching(request_id) if is_interactive else contextlib.nullcontext():
                reply = self._run(job)
            self._send(reply)
        except GnoError as error:
            self._send(FailedReply(id=request_id, code=error.code, message=error.message))
        except MemoryError:
            self._send(FailedReply(id=request_id, code=NotEnoughMemory.code, message=memory.message(job.request.model)))

    def _run(self, job: _Job) -> TextsEmbedded | RequestDone:
        match job.request:
            case EmbedRequest():
                return self._embed(job.request)
            case Rank():
                self._rank(job.request, job.stop)
            case Measure():
                self._measure(job.request)
            case Generate():
                self._generate(job.request, job.stop)
        return RequestDone(id=job.request.id)

    def _embed(self, request: EmbedRequest) -> TextsEmbedded:
        with self._models.use(_embedding, request.model) as engine:
            vectors = engine.embed(request.texts, None if request.interactive else self._way.rest)
        return TextsEmbedded(
            id=request.id,
            dimensions=vectors.shape[1],
            vectors=vectors.astype("<f4", copy=False).tobytes(),
        )

    def _rank(self, request: Rank, stop: Stop) -> None:
        with self._models.use(_ranking, request.model) as engine:
            started = time.monotonic()
            tokens = 0
            for score, read in engine.scores(request.query, request.documents, stop=stop):
                tokens += read
                self._send(DocumentScored(id=request.id, score=score, tokens=tokens, took_s=time.monotonic() - started))

    def _measure(self, request: Measure) -> None:
        with self._models.use(_ranking, request.model) as engine:
            speed = engine.characters_per_s()
            self._send(RoomMeasured(id=request.id, room=engine.room, characters_per_s=speed))

    def _generate(self, request: Generate, stop: Stop) -> None:
        with self._models.use(_generation, request.model) as engine:
            started = time.monotonic()
            for piece in engine.generate(
                request.messages, max_tokens=request.max_tokens, grammar=request.grammar, stop=stop
            ):
                took_s = time.monotonic() - started
                self._send(TextGenerated(id=request.id, took_s=took_s, **piece._asdict()))
                if request.yields_after_s is not None and took_s > request.yields_after_s:
                    self._way.wait(stop)

    def _send(self, message: WorkerMessage) -> None:
        with self._sending:
            self._channel.sendall(frames.encode(message))


# The imports take 0.1 s each, and most workers need one of them.
def _embedding(spec: ModelSpec) -> TextEmbedder:
    if spec.path.endswith(ONNX):
        from gnod.models.run.onnx.engines import OnnxEmbedding

        return _load(OnnxEmbedding, spec)
    from gnod.models.run.llama.embedding import EmbeddingEngine

    return _load(EmbeddingEngine, spec)


def _ranking(spec: ModelSpec) -> PairRanker:
    if spec.path.endswith(ONNX):
        from gnod.models.run.onnx.engines import OnnxRanking

        return _load(OnnxRanking, spec)
    from gnod.models.run.llama.ranking import RankingEngine

    return _load(RankingEngine, spec)


def _generation(spec: ModelSpec) -> GenerationEngine:
    if spec.path.endswith(ONNX):
        raise ModelRejected("the model does not write text: it is not a generator")
    from gnod.models.run.llama.generation import GenerationEngine

    return _load(GenerationEngine, spec)


def _load(make: Callable[[ModelSpec], E], spec: ModelSpec) -> E:
    """Load a model into a graphics card; into the computer's memory if that is full, or there is none."""
    if spec.gpu and not spec.path.endswith(ONNX) and _has_graphics_card():
        with contextlib.suppress(MemoryError):
            return make(spec)
    memory.require(spec)
    return make(replace(spec, gpu=False))


def _has_graphics_card() -> bool:
    if not extras.is_installed("llama_cpp"):
        return False
    from gnod.models.run.llama import library

    return library.has_graphics_card()


def _kind(request: Work) -> str:
    match request:
        case EmbedRequest():
            return "query vectors" if request.interactive else "document vectors"
        case Rank() | Measure():
            return "ranking"
        case Generate():
            return "generation"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
