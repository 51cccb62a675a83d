"""The inference worker, `python -m gnod.models.worker`: keeps models loaded and answers from them.

A child process, so that a crash inside llama.cpp does not take the daemon along, and so that the memory really
returns when the process is ended.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Literal

import msgspec

from gnod.child import frames
from gnod.child.settle import settle, silence
from gnod.errors import GnoError, InferenceFailed, ModelCorrupt, ModelRejected
from gnod.models.llama.embedding import EmbeddingEngine
from gnod.models.messages import (
    Begun,
    Cancel,
    Embed,
    Embedded,
    Failed,
    Loaded,
    ModelSpec,
    Ready,
    Reply,
    Request,
    Unloaded,
)

_KINDS: dict[type[GnoError], Literal["corrupt", "rejected", "failed"]] = {
    ModelCorrupt: "corrupt",
    ModelRejected: "rejected",
    InferenceFailed: "failed",
}
_REQUESTS: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)


def main(arguments: list[str]) -> int:
    """Serve the socket `FD` as long as `PARENT` lives; a model that is not used for `IDLE_S` leaves memory."""
    descriptor, idle_s, parent = int(arguments[0]), float(arguments[1]), int(arguments[2])
    with socket.socket(fileno=descriptor) as channel:
        settle(parent)
        channel.sendall(frames.encode(Ready()))
        silence()
        Worker(channel, idle_s).serve()
    return 0


class Queue:
    """Requests that have not begun. Filled by one thread and emptied by another."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[Embed] = deque()

    def put(self, request: Embed) -> None:
        with self._changed:
            self._waiting.append(request)
            self._changed.notify()

    def next(self) -> Embed:
        """Wait for a request."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting)
            return self._waiting.popleft()

    def drop(self, request_id: int) -> None:
        with self._changed:
            self._waiting = deque(each for each in self._waiting if each.id != request_id)


class _Model:
    """A loaded model. `users`: requests that it is computing for."""

    def __init__(self, engine: EmbeddingEngine) -> None:
        self.engine = engine
        self.users = 0
        self.last_used = time.monotonic()


class Worker:
    """Answers from two queues at once: what somebody waits for does not wait for what nobody does."""

    def __init__(self, channel: socket.socket, idle_s: float) -> None:
        self._channel = channel
        self._idle_s = idle_s
        self._sending = threading.Lock()
        self._loading = threading.Lock()
        self._models: dict[ModelSpec, _Model] = {}
        self._in_front, self._behind = Queue(), Queue()

    def serve(self) -> None:
        """Take requests until the other end is gone, and then end the process, whatever it computes."""
        for queue in (self._in_front, self._behind):
            threading.Thread(target=self._answer_all, args=(queue,), daemon=True).start()
        try:
            while (request := frames.receive(self._channel, _REQUESTS)) is not None:
                if isinstance(request, Cancel):
                    for queue in (self._in_front, self._behind):
                        queue.drop(request.id)
                else:
                    (self._in_front if request.interactive else self._behind).put(request)
        finally:
            os._exit(0)

    def _answer_all(self, queue: Queue) -> None:
        try:
            while True:
                self._answer(queue.next())
        except BaseException:
            os._exit(1)  # the daemon starts another; half a worker would leave it waiting

    def _answer(self, request: Embed) -> None:
        self._send(Begun(id=request.id))
        try:
            self._send(self._embed(request))
        except (ModelCorrupt, ModelRejected, InferenceFailed) as error:
            self._send(Failed(id=request.id, kind=_KINDS[type(error)], message=error.message))
        except MemoryError:
            self._send(Failed(id=request.id, kind="failed", message="there is not enough memory for the model"))

    def _embed(self, request: Embed) -> Embedded:
        with self._loaded(request.model) as engine:
            vectors, tokens = engine.embed(request.texts, interactive=request.interactive)
        return Embedded(
            id=request.id,
            dimensions=vectors.shape[1],
            vectors=vectors.astype("<f4", copy=False).tobytes(),
            tokens=tokens,
        )

    @contextlib.contextmanager
    def _loaded(self, spec: ModelSpec) -> Iterator[EmbeddingEngine]:
        """Give the model, loading it if need be, and keep it as long as the block lasts."""
        with self._loading:
            self._drop_unused(but=spec)
            if spec not in self._models:
                started = time.monotonic()
                self._models[spec] = _Model(EmbeddingEngine(spec))
                self._send(Loaded(path=spec.path, took_s=time.monotonic() - started))
            model = self._models[spec]
            model.users += 1
        try:
            yield model.engine
        finally:
            with self._loading:
                model.users -= 1
                model.last_used = time.monotonic()

    def _drop_unused(self, *, but: ModelSpec) -> None:
        """Unload models that have had nothing to do for long: those of a config that is no more, as a rule."""
        for spec, model in list(self._models.items()):
            if spec != but and not model.users and time.monotonic() - model.last_used > self._idle_s:
                del self._models[spec]
                model.engine.close()
                self._send(Unloaded(path=spec.path))

    def _send(self, reply: Reply) -> None:
        with self._sending:
            self._channel.sendall(frames.encode(reply))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
