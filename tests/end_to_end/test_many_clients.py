"""Many clients search at once, and every answer equals that for a single client, whichever process reads it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from threading import Barrier, Thread
from time import perf_counter
from typing import Any

import pytest

from tests.machine import Machine, temporary_machine
from tests.systems import needs_proc

pytestmark = pytest.mark.slow

WORDS = 128
CLIENTS = 4
EACH = WORDS // CLIENTS
_READER = "gnod.store.readers.reader"

Answers = dict[str, Any]


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with temporary_machine() as made:
        for number in range(0, WORDS, 8):
            words = " ".join(_word(each) for each in range(number, number + 8))
            text = f"# Note {number}\n\nEvery note is common. {words.capitalize()} are all that there is of it.\n"
            made.write(**{f"n{number}_md": text})
        made.config.parent.mkdir()
        made.config.write_text("models: {preset: none}\ndaemon: {readers: 1}\n")
        made.ok("init", str(made.notes), "--name", "notes")
        yield made


def _word(number: int) -> str:
    """Return a word of letters, so that it is one term."""
    return "zw" + "".join(chr(ord("a") + int(digit)) for digit in f"{number:03d}")


def _query(number: int) -> str:
    """Return a query. Some have a typing error or a wildcard, for which a reader does not have the words."""
    first = ("common", "common", "comon", "comm*")[number % 4]
    return f"{first} {_word(number)}"


def _shown(answer: Any) -> Any:
    return [answer["result"][name] for name in ("hits", "total", "corrections", "freshness")]


def _request(number: int) -> bytes:
    params = {"query": _query(number), "limit": 5}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "search.lexical", "params": params}).encode() + b"\n"


def _all_at_once(machine: Machine, *, kill: int | None = None) -> Answers:
    """Send all queries over several connections, then read the answers. Return the shown results by query."""
    shown: Answers = {}
    with ExitStack() as stack:
        clients = [stack.enter_context(machine.connect()) for _ in range(CLIENTS)]
        for first, client in enumerate(clients):
            client.sendall(b"".join(_request(number) for number in range(first, WORDS, CLIENTS)))
        if kill is not None:
            os.kill(kill, signal.SIGKILL)
        for client in clients:
            with client.makefile("rb") as stream:
                for _ in range(EACH):
                    answer = json.loads(stream.readline())
                    shown[_query(answer["id"])] = _shown(answer)
    return shown


def _reader(machine: Machine, expected: Answers, *, other_than: int | None = None) -> int:
    """Search until a reader has started, and return its process id. A reader that is killed during its start is not
    replaced within a minute."""
    for _ in range(200):
        found = [pid for pid in machine.processes(_READER) if pid != other_than and _is_confined(pid)]
        if found:
            return found[0]
        assert _all_at_once(machine) == expected
    raise AssertionError("no reader has started")


def _is_confined(pid: int) -> bool:
    """Return whether a process has completed the last step of its start."""
    return "\nSeccomp:\t2\n" in Path(f"/proc/{pid}/status").read_text()


@pytest.mark.stress
@needs_proc
def test_a_reader_gives_the_same_answers_and_may_be_killed(machine: Machine) -> None:
    expected = {
        _query(number): _shown(machine.answer("search.lexical", query=_query(number), limit=5))
        for number in range(WORDS)
    }
    assert not machine.processes(_READER), "a single client needs no reader"
    corrections = [{"written": "comon", "searched": "common"}]
    assert [corrections in shown for shown in expected.values()] == [number % 4 == 2 for number in range(WORDS)]
    reader = _reader(machine, expected)
    assert _all_at_once(machine) == expected
    assert _all_at_once(machine, kill=reader) == expected
    assert _reader(machine, expected, other_than=reader) != reader


@pytest.mark.stress
def test_none_of_sixty_four_clients_waits_much_longer_than_the_others(machine: Machine) -> None:
    ready, took = Barrier(64), dict[int, list[float]]()

    def search(client: int) -> None:
        with machine.connect() as connection, connection.makefile("rb") as stream:
            ready.wait()
            for turn in range(10):
                began = perf_counter()
                connection.sendall(_request((client * 10 + turn) % WORDS))
                assert "result" in json.loads(stream.readline())
                took.setdefault(client, []).append(perf_counter() - began)

    threads = [Thread(target=search, args=(client,)) for client in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    each = [median(times) for times in took.values()]
    assert len(each) == 64
    assert max(each) < 3 * median(each)
