"""The inference worker, `python -m gnod.models.worker`: keeps models loaded and answers from them.

A child process, so that a crash inside llama.cpp does not take the daemon along, and so that the memory really
returns when the process is ended. One thread reads requests; one computes, because a llama.cpp context belongs to
one thread. What somebody waits for goes ahead of what nobody waits for, also in the middle of the latter.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections import deque
from typing import Literal

import msgspec

from gnod.child import frames
from gnod.child.settle import settle, silence
from gnod.errors import GnoError, InferenceFailed, ModelCorrupt, ModelRejected
from gnod.models.engine import EmbeddingEngine
from gnod.models.messages import Begun, Cancel, Embed, Embedded, Failed, Loaded, ModelSpec, Ready, Reply, Request

_KINDS: dict[type[GnoError], Literal["corrupt", "rejected", "failed"]] = {
    ModelCorrupt: "corrupt",
    ModelRejected: "rejected",
    InferenceFailed: "failed",
}
_REQUESTS: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)


def main(arguments: list[str]) -> int:
    """Serve the socket `FD` as long as `PARENT` lives."""
    descriptor, parent = map(int, arguments)
    with socket.socket(fileno=descriptor) as channel:
        settle(parent)
        channel.sendall(frames.encode(Ready()))
        silence()
        queue = Queue()
        threading.Thread(target=_receive, args=(channel, queue), daemon=True).start()
        try:
            Worker(channel, queue).serve()
        except (BrokenPipeError, ConnectionResetError):
            return 0
    return 0


class Queue:
    """Requests that have not begun, in two lines. Filled by one thread and emptied by another."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._interactive: deque[Embed] = deque()
        self._background: deque[Embed] = deque()

    def put(self, request: Request) -> None:
        with self._changed:
            if isinstance(request, Cancel):
                for line in (self._interactive, self._background):
                    for waiting in [each for each in line if each.id == request.id]:
                        line.remove(waiting)
            else:
                (self._interactive if request.interactive else self._background).append(request)
                self._changed.notify()

    def next(self) -> Embed:
        """Wait for a request and return the one whose turn it is."""
        with self._changed:
            self._changed.wait_for(lambda: self._interactive or self._background)
            return (self._interactive or self._background).popleft()

    def next_interactive(self) -> Embed | None:
        """Return a request that somebody waits for, if there is one."""
        with self._changed:
            return self._interactive.popleft() if self._interactive else None


class Worker:
    def __init__(self, channel: socket.socket, queue: Queue) -> None:
        self._channel = channel
        self._queue = queue
        self._engines: dict[ModelSpec, EmbeddingEngine] = {}

    def serve(self) -> None:
        while True:
            self._answer(self._queue.next())

    def _answer(self, request: Embed) -> None:
        self._send(Begun(id=request.id))
        try:
            self._send(self._embed(request))
        except (ModelCorrupt, ModelRejected, InferenceFailed) as error:
            self._send(Failed(id=request.id, kind=_KINDS[type(error)], message=error.message))
        except MemoryError:
            self._send(Failed(id=request.id, kind="failed", message="there is not enough memory for the model"))

    def _embed(self, request: Embed) -> Embedded:
        engine = self._engine(request.model)

        def let_others_ahead() -> None:
            if request.interactive:
                return
            while (other := self._queue.next_interactive()) is not None:
                self._answer(other)
                self._send(Begun(id=request.id))

        vectors, tokens = engine.embed(request.texts, let_others_ahead)
        return Embedded(
            id=request.id,
            dimensions=vectors.shape[1],
            vectors=vectors.astype("<f4", copy=False).tobytes(),
            tokens=tokens,
        )

    def _engine(self, spec: ModelSpec) -> EmbeddingEngine:
        if spec not in self._engines:
            started = time.monotonic()
            self._engines[spec] = EmbeddingEngine(spec)
            self._send(Loaded(path=spec.path, took_s=time.monotonic() - started))
        return self._engines[spec]

    def _send(self, reply: Reply) -> None:
        self._channel.sendall(frames.encode(reply))


def _receive(channel: socket.socket, queue: Queue) -> None:
    """Take requests until the other end is gone, and then end the process, whatever it computes."""
    try:
        while (request := frames.receive(channel, _REQUESTS)) is not None:
            queue.put(request)
    finally:
        os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
