"""The clients of the soak run: long connections that use every method, and short ones that cancel or disconnect."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from gnod.client import Client
from gnod.errors import DocumentNotFound, GnoError, InferenceFailed, NotEmbedded
from gnod.protocol.search import Hit, SearchResult

QUERIES = ["harbour", "storm pilot", '"cargo anchor"', "crane -winter", "letter from the captain", "weath", "tunnel 17"]
# The model generates about ten words per second.
ASK_EVERY_S = 60.0
_PAUSE_S = 0.15


class Clients:
    """Threads that send requests until `end`. `failures`: errors and refused requests."""

    def __init__(self, socket_path: Path, seed: int, *, may_ask: bool) -> None:
        self.took_ms: dict[str, list[float]] = defaultdict(list)
        self.failures: list[str] = []
        self.cancelled = 0
        self.hung_up = 0
        self.interrupted = 0
        self._socket = socket_path
        self._seed = seed
        self._may_ask = may_ask
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self) -> None:
        works: list[Callable[[random.Random], None]] = [self._stay, self._stay, self._come_and_go]
        if self._may_ask:
            works.append(self._ask)
        for number, work in enumerate(works):
            chance = random.Random(self._seed + 10 + number)
            thread = threading.Thread(target=self._guard, args=(work, chance), daemon=True)
            thread.start()
            self._threads.append(thread)

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(180)

    def _guard(self, work: Callable[[random.Random], None], chance: random.Random) -> None:
        try:
            work(chance)
        except Exception as error:
            self.failures.append(f"{work.__name__} ended: {error!r}")

    def _stay(self, chance: random.Random) -> None:
        """Use one connection for every kind of search, some with `fresh`."""
        with Client.connect(socket=self._socket, start=False) as client:
            hits: list[Hit] = []
            searches: dict[str, Callable[..., SearchResult]] = {
                "search": client.search,
                "vsearch": client.vsearch,
                "query": client.query,
            }
            kinds = [*searches, *searches, "similar", "get", "list", "status"]
            while not self._ended.wait(chance.uniform(0, 2 * _PAUSE_S)):
                kind, query, is_fresh = chance.choice(kinds), chance.choice(QUERIES), chance.random() < 0.03
                began = time.monotonic()
                try:
                    if kind in searches:
                        hits = searches[kind](query, fresh=is_fresh).hits or hits
                    elif kind == "list":
                        client.list(limit=50)
                    elif kind == "status":
                        client.status()
                    elif hits:
                        ref = chance.choice(hits).uri
                        client.similar(ref) if kind == "similar" else client.get(ref)
                except (DocumentNotFound, NotEmbedded):
                    hits = []  # the document was removed or rewritten meanwhile
                    continue
                except GnoError as error:
                    self.failures.append(f"{kind}: {type(error).__name__}: {error}")
                    continue
                self.took_ms[kind + (", fresh" if is_fresh and kind in searches else "")].append(
                    (time.monotonic() - began) * 1000
                )

    def _come_and_go(self, chance: random.Random) -> None:
        """Open short connections: read the reply, cancel, or hang up; some subscribe."""
        while not self._ended.wait(chance.uniform(0, 4 * _PAUSE_S)):
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(60)
                client.connect(str(self._socket))
                method = chance.choice(["search.lexical", "search.query", "search.vector", "index.subscribe"])
                params = {"since": 0} if method == "index.subscribe" else {"query": chance.choice(QUERIES)}
                _send(client, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
                what = chance.choice(["take", "cancel", "hang up"])
                if what == "hang up":
                    self.hung_up += 1
                    continue
                if what == "cancel":
                    _send(client, {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}})
                    self.cancelled += 1
                if not client.recv(1 << 16):
                    self.failures.append(f"{method}: the daemon hung up")

    def _ask(self, chance: random.Random) -> None:
        with Client.connect(socket=self._socket, start=False) as client:
            while not self._ended.wait(ASK_EVERY_S * chance.random()):
                began = time.monotonic()
                try:
                    question = f"What does the text say about the {chance.choice(QUERIES)}?"
                    client.ask(question, max_tokens=24, generate=True)
                    self.took_ms["ask"].append((time.monotonic() - began) * 1000)
                except InferenceFailed:
                    self.interrupted += 1  # the worker was killed during the answer
                except GnoError as error:
                    self.failures.append(f"ask: {type(error).__name__}: {error}")


def _send(client: socket.socket, message: dict[str, object]) -> None:
    client.sendall(json.dumps(message).encode() + b"\n")
