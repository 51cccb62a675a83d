"""Test looks at folders that do not answer. A blocking function replaces a system call that does not return."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gnod.disks.looks import LookedAt, Looks, answers
from gnod.errors import RootUnavailable
from tests.waiting import until

ANSWERS_WITHIN_S = 0.3


class Server:
    """A server that answers until it is stopped."""

    def __init__(self) -> None:
        self.running = threading.Event()
        self.asked = 0

    def look(self) -> str:
        self.asked += 1
        self.running.wait()
        return "found"


async def looked(place: LookedAt, work: Callable[..., str], *arguments: str) -> str:
    """Look again if the result is late: this process may be paused for longer than a folder may be silent."""
    for _ in range(50):
        with contextlib.suppress(RootUnavailable):
            return await place.run(work, *arguments)
        await until(lambda: not place.is_silent)
    raise AssertionError(f"{place.point} never answers in time")


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.running.set()


async def test_one_look_is_stuck_and_others_are_refused_at_once(tmp_path: Path, server: Server) -> None:
    looks = Looks(ANSWERS_WITHIN_S)
    place = looks.at(str(tmp_path))
    with pytest.raises(RootUnavailable, match=f"{tmp_path} has not answered since .*server"):
        await place.run(server.look)
    assert looks.is_silent(str(tmp_path / "below"))
    assert not looks.is_silent(str(tmp_path) + "2")
    for _ in range(100):
        with pytest.raises(RootUnavailable):
            await looks.at(str(tmp_path)).run(server.look)
    assert server.asked == 1
    assert await looked(looks.at("/"), str.upper, "elsewhere") == "ELSEWHERE"
    server.running.set()
    await until(lambda: not looks.is_silent(str(tmp_path)))
    assert await looked(looks.at(str(tmp_path)), server.look) == "found"


async def test_callers_that_wait_for_a_stuck_look_get_an_error(tmp_path: Path, server: Server) -> None:
    place = Looks(ANSWERS_WITHIN_S).at(str(tmp_path))
    ends = await asyncio.gather(*(place.run(server.look) for _ in range(20)), return_exceptions=True)
    assert all(isinstance(end, RootUnavailable) for end in ends)
    assert server.asked == 1


async def test_many_folders_of_silent_servers_do_not_stop_the_others(server: Server) -> None:
    looks = Looks(ANSWERS_WITHIN_S)
    silent = [asyncio.create_task(looks.at(f"/silent{number}").run(server.look)) for number in range(20)]
    assert await looked(looks.at("/"), str.upper, "elsewhere") == "ELSEWHERE"
    ends = await asyncio.gather(*silent, return_exceptions=True)
    assert all(isinstance(end, RootUnavailable) for end in ends)


async def test_a_caller_waits_for_a_long_look_that_makes_progress(tmp_path: Path) -> None:
    place = Looks(ANSWERS_WITHIN_S).at(str(tmp_path))

    def walk() -> str:
        for _ in range(10):
            time.sleep(ANSWERS_WITHIN_S / 5)
            place.sign()
        return "walked"

    assert await looked(place, walk) == "walked"


async def test_a_look_fails_as_its_function_does(tmp_path: Path) -> None:
    place = Looks().at(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        await place.run((tmp_path / "gone").stat)
    assert await place.run(str.upper, "after") == "AFTER"


async def test_a_cancelled_look_is_still_the_only_one(tmp_path: Path, server: Server) -> None:
    place = Looks(ANSWERS_WITHIN_S).at(str(tmp_path))
    looking = asyncio.create_task(place.run(server.look))
    await until(lambda: server.asked)
    looking.cancel()
    with pytest.raises(RootUnavailable):
        await place.run(server.look)
    assert server.asked == 1


def test_folders_of_this_machine_answer(tmp_path: Path) -> None:
    assert answers(str(tmp_path))
    assert answers(str(tmp_path / "gone"))
