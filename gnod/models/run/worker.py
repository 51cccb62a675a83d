"""The inference worker, `python -m gnod.models.run.worker`: keeps models loaded and computes with them.

It is a child process, so that a crash inside llama.cpp or ONNX Runtime does not end the daemon, and so that the system
gets all its memory back when it ends.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue

import msgspec

from gnod.child import frames, sandbox
from gnod.child.child_setup import set_up_child, silence
from gnod.errors import GnoError, NotEnoughMemory
from gnod.models.run import memory
from gnod.models.run.engines import Stop
from gnod.models.run.loaded_models import (
    LoadedModels,
    has_graphics_card,
    load_embedding,
    load_generation,
    load_ranking,
)
from gnod.models.run.messages import (
    Begun,
    Cancel,
    DocumentScored,
    EmbedRequest,
    FailedReply,
    Generate,
    Measure,
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

_INTERACTIVE = frozenset(["query vectors", "ranking"])
# When the daemon has the vector of a query, the search continues there, and the next keystroke may follow.
_QUIET_S = 0.3
# During an unbroken series of searches, background work still gets a tenth of the time.
_LONGEST_REST = 9
_CHECK_S = 0.005

_REQUESTS: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)


def main(arguments: list[str]) -> int:
    """Serve the socket `FD` as long as `PARENT` lives; unload models that were not used for `IDLE_S`."""
    descriptor, idle_s, parent = int(arguments[0]), float(arguments[1]), int(arguments[2])
    with socket.socket(fileno=descriptor) as channel:
        set_up_child(parent)
        channel.sendall(frames.encode(ModelsReady(protections=_confine())))
        silence()
        Worker(channel, idle_s).serve()
    return 0


def _confine() -> list[str]:
    """Give up all rights that computing does not need. The driver of a graphics card needs devices and a cache of
    compiled programs. It may also start a program to load its module, but it has done so by the time llama.cpp reports
    a card."""
    if sys.platform != "linux":
        return []
    if has_graphics_card():
        return sandbox.stay_local()
    return sandbox.confine(writable=None, readable=None)


class Worker:
    """Runs each kind of work on its own thread, so that the vector of a query waits neither for documents nor for an
    answer that takes 30 seconds."""

    def __init__(self, channel: socket.socket, idle_s: float) -> None:
        self._channel = channel
        self._sending = threading.Lock()
        self._models = LoadedModels(idle_s, self._send)
        self._queues: dict[str, SimpleQueue[Work]] = {}
        self._stops: dict[int, Stop] = {}  # set when the request is cancelled
        self._way = GivingWay()

    def serve(self) -> None:
        """Accept requests until the stream ends, then end the process, even if it is computing."""
        try:
            while (request := frames.receive(self._channel, _REQUESTS)) is not None:
                if isinstance(request, Cancel):
                    if stop := self._stops.get(request.id):
                        stop.set()
                else:
                    self._put(request)
        finally:
            os._exit(0)

    def _put(self, request: Work) -> None:
        """Pass a request to the thread of its kind, which the first request starts."""
        self._stops[request.id] = Stop()
        kind = _kind(request)
        if kind not in self._queues:
            self._queues[kind] = SimpleQueue()
            threading.Thread(target=self._work_through, args=(self._queues[kind],), name=kind, daemon=True).start()
        self._queues[kind].put(request)

    def _work_through(self, queue: SimpleQueue[Work]) -> None:
        try:
            while True:
                request = queue.get()
                if not self._stops[request.id]():
                    self._process(request)
                del self._stops[request.id]
        except BaseException:
            # Exit, so that the daemon starts another worker. Without this thread, requests would wait forever.
            os._exit(1)

    def _process(self, request: Work) -> None:
        self._send(Begun(id=request.id))
        is_interactive = _kind(request) in _INTERACTIVE
        try:
            with self._way.searching(request.id) if is_interactive else contextlib.nullcontext():
                reply = self._run(request, self._stops[request.id])
            self._send(reply)
        except GnoError as error:
            self._send(FailedReply(id=request.id, code=error.code, message=error.message))
        except MemoryError:
            self._send(FailedReply(id=request.id, code=NotEnoughMemory.code, message=memory.message(request.model)))

    def _run(self, request: Work, stop: Stop) -> TextsEmbedded | RequestDone:
        match request:
            case EmbedRequest():
                return self._embed(request)
            case Rank():
                self._rank(request, stop)
            case Measure():
                self._measure(request)
            case Generate():
                self._generate(request, stop)
        return RequestDone(id=request.id)

    def _embed(self, request: EmbedRequest) -> TextsEmbedded:
        with self._models.use(load_embedding, request.model) as engine:
            vectors = engine.embed(request.texts, None if request.interactive else self._way.rest)
        return TextsEmbedded(
            id=request.id,
            dimensions=vectors.shape[1],
            vectors=vectors.astype("<f4", copy=False).tobytes(),
        )

    def _rank(self, request: Rank, stop: Stop) -> None:
        with self._models.use(load_ranking, request.model) as engine:
            started = time.monotonic()
            tokens = 0
            for score, read in engine.scores(request.query, request.documents, stop=stop):
                tokens += read
                self._send(DocumentScored(id=request.id, score=score, tokens=tokens, took_s=time.monotonic() - started))

    def _measure(self, request: Measure) -> None:
        with self._models.use(load_ranking, request.model) as engine:
            speed = engine.characters_per_s()
            self._send(RoomMeasured(id=request.id, room=engine.room, characters_per_s=speed))

    def _generate(self, request: Generate, stop: Stop) -> None:
        with self._models.use(load_generation, request.model) as engine:
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


class GivingWay:
    """Delays background work while searches are being computed, and while more may come soon. Several threads may use
    it."""

    def __init__(self) -> None:
        self._searches: set[int] = set()
        self._quiet_until = 0.0

    @contextmanager
    def searching(self, request_id: int) -> Iterator[None]:
        """Note that a user waits for what the block does."""
        self._searches.add(request_id)
        try:
            yield
        finally:
            self._quiet_until = time.monotonic() + _QUIET_S
            self._searches.remove(request_id)

    def rest(self, worked_s: float) -> None:
        """Return when no search runs, at the latest after a multiple of the time that the last piece of work took."""
        until = time.monotonic() + _LONGEST_REST * worked_s
        while (now := time.monotonic()) < until and (self._searches or now < self._quiet_until):
            time.sleep(_CHECK_S)

    def wait(self, stop: Callable[[], bool]) -> None:
        """Return when no interactive work is left, or when `stop` returns True."""
        while self._searches and not stop():
            time.sleep(_CHECK_S)


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
