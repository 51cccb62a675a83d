"""The daemon's memory does not grow with misspelt, wild and cancelled requests in many languages."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import psutil
import pytest

from benchmarks import many_languages
from benchmarks.growth import Connections
from benchmarks.many_languages import Requests
from tests.machine import Machine

pytestmark = [pytest.mark.stress, pytest.mark.timeout(600)]

LANGUAGES, DOCUMENTS = 16, 12
# Warm up until all threads have run, and files and dictionaries are in memory.
WARM_UP, REQUESTS = 120, 400
CONNECTIONS = 4
MAX_GROWTH_MB = 40


def test_memory_is_constant_over_varied_requests() -> None:
    with Machine.in_temporary_folder() as machine:
        machine.forks = False  # a fork would share the memory of this process
        many_languages.write(machine.notes, LANGUAGES, DOCUMENTS)
        machine.configure()
        machine.start()
        machine.call("index.sync")
        documents = [each["uri"] for each in machine.call("document.list")["documents"]]
        assert len(documents) == LANGUAGES * DOCUMENTS
        words = list(many_languages.words_by_folder(machine.notes).values())
        _send(machine.socket, Requests(words, documents, 1), WARM_UP)
        daemon = psutil.Process(machine.pid())
        before = daemon.memory_info().rss
        _send(machine.socket, Requests(words, documents, 2), REQUESTS)
        growth_mb = (daemon.memory_info().rss - before) / 1e6
        assert growth_mb < MAX_GROWTH_MB


def _send(socket: Path, requests: Requests, count: int) -> None:
    clients, left = Connections(str(socket), CONNECTIONS), iter(requests)
    for _ in range(count // CONNECTIONS):
        clients.send(list(islice(left, CONNECTIONS)))
    clients.close()
    assert sum(clients.errors.values()) < count / 3, clients.errors
