"""Run a reader process (`python -m gnod.store.readers.reader`). It reads the database for the daemon, one piece of work
at a time.

The process trusts the daemon, which sends functions of its own modules with their arguments. It answers with JSON for
the client, or with nothing. If the answer is empty, the daemon does the work itself and finds the error.
"""

from __future__ import annotations

import importlib
import os
import pickle
import socket
import sys
import threading
from pathlib import Path
from queue import SimpleQueue

import msgspec

from gnod.analysis.terms import VERSION
from gnod.child import frames, sandbox
from gnod.child.child_setup import set_up_child, silence
from gnod.store.connection import Connection
from gnod.store.database import open_reader
from gnod.store.keyword_index.postings.versions import SharedPostings, folder_of
from gnod.store.keyword_index.postings.view import in_snapshot

READY = 0
# A request has a number and a pickled piece of work. A request without work cancels the one with this number.
Request = tuple[int, bytes]
Reply = tuple[int, bytes | None]
_REQUESTS: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)


def main(arguments: list[str]) -> int:
    """Serve the socket `FD` with the database `PATH` as long as `PARENT` lives. `MODULE` has the functions."""
    descriptor, path, module, parent = int(arguments[0]), Path(arguments[1]), arguments[2], int(arguments[3])
    with socket.socket(fileno=descriptor) as channel:
        set_up_child(parent)
        importlib.import_module(module)
        connection = open_reader(path, postings=SharedPostings(folder_of(path), VERSION))
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # this opens all files of the database
        sandbox.confine(writable=None, readable=[str(path.parent)])
        channel.sendall(frames.encode((READY, None)))
        silence()
        _Reader(channel, connection).serve()
    return 0


class _Reader:
    """Works on its own thread, so that a cancellation can interrupt the work."""

    def __init__(self, channel: socket.socket, connection: Connection) -> None:
        self._channel = channel
        self._connection = connection
        self._queue: SimpleQueue[Request] = SimpleQueue()
        self._current = READY

    def serve(self) -> None:
        """Accept requests until the stream ends, then end the process, even if it is working."""
        threading.Thread(target=self._work_through, daemon=True).start()
        try:
            while (request := frames.receive(self._channel, _REQUESTS)) is not None:
                number, work = request
                if work:
                    self._queue.put(request)
                elif number == self._current:
                    self._connection.interrupt()
        finally:
            os._exit(0)

    def _work_through(self) -> None:
        try:
            while True:
                self._current, work = self._queue.get()
                self._channel.sendall(frames.encode((self._current, self._result(work))))
        except BaseException:
            os._exit(1)

    def _result(self, pickled: bytes) -> bytes | None:
        try:
            work, arguments = pickle.loads(pickled)
            found = in_snapshot(self._connection, lambda connection: work(connection, *arguments))
            return None if found is None else msgspec.json.encode(found)
        except Exception:
            return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
