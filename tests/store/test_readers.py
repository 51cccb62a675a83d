"""Real reader processes: who does the work, and what happens if a process fails."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil
import pytest

from gnod.errors import QuerySyntaxError
from gnod.store.database import Database
from gnod.store.readers.readers import Readers
from tests.store import reader_work
from tests.waiting import until

pytestmark = pytest.mark.slow

MANY = 24
FAILING = (reader_work.fail, ())
ENDLESS = (reader_work.endless, ())
Found = dict[str, object]


async def at_once(readers: Readers, work: Callable[..., object], *arguments: object) -> list[Found]:
    async def one() -> Found:
        found = await readers.run((work, arguments), lambda _: arguments, work)
        return msgspec.json.decode(msgspec.json.encode(found))  # type: ignore[no-any-return]

    return await asyncio.gather(*(one() for _ in range(MANY)))


async def reader_pid(readers: Readers, text: str = "") -> int:
    """Send requests until a process has answered, and return its id."""
    pids: set[object] = set()

    async def ask() -> bool:
        found = await at_once(readers, reader_work.count, text)
        assert {each["text"] for each in found} == {text}
        pids.update({each["pid"] for each in found} - {os.getpid()})
        return bool(pids)

    async with asyncio.timeout(60):
        while not await ask():  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # until a process has started
    (pid,) = pids
    assert isinstance(pid, int)
    return pid


async def test_a_process_reads_for_many_clients_and_the_daemon_does_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    database = Database(tmp_path / "i.sqlite")
    readers = Readers(database, 1, reader_work.__name__)
    try:
        alone = await readers.run((reader_work.fail, ()), lambda _: ("ü",), reader_work.count)
        assert alone == {"pid": os.getpid(), "text": "ü", "count": 0}, "nothing is started for a single client"
        assert not [each for each in psutil.Process().children() if str(tmp_path) in " ".join(each.cmdline())]
        first = await reader_pid(readers, "ü")
        await database.write(lambda connection: connection.execute("INSERT INTO contexts VALUES ('/', 'a')"))
        assert {each["count"] for each in await at_once(readers, reader_work.count, "")} == {1}, "it sees each write"

        with pytest.raises(QuerySyntaxError):
            await asyncio.gather(*(readers.run(FAILING, lambda _: (), reader_work.fail) for _ in range(MANY)))
        assert await reader_pid(readers) == first, "an error is no reason to end"

        left = (reader_work.leave, ())
        tried = [readers.run(left, lambda _: ("prepared",), reader_work.count) for _ in range(MANY)]
        found = [msgspec.json.decode(msgspec.json.encode(each)) for each in await asyncio.gather(*tried)]
        assert {each["text"] for each in found} == {"prepared"}
        assert first in {each["pid"] for each in found}, "what is prepared is read there, too"

        hanging = [asyncio.create_task(readers.run(ENDLESS, lambda _: (), reader_work.endless)) for _ in range(2)]
        await until(lambda: psutil.Process(first).cpu_percent(0.02) > 0)
        for task in hanging:
            task.cancel()
        await asyncio.wait(hanging)
        assert await reader_pid(readers) == first, "a cancelled read is interrupted"

        found = await at_once(readers, reader_work.crash, os.getpid())
        assert {each["text"] for each in found} == {"survived"}
        second = await reader_pid(readers)
        assert second != first, "another one starts"
    finally:
        await readers.close()
        database.close()
    assert not psutil.pid_exists(second)


async def test_idle_processes_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    database = Database(tmp_path / "i.sqlite")
    readers = Readers(database, 1, reader_work.__name__, idle_s=0.2)
    try:
        pid = await reader_pid(readers)
        await until(lambda: not psutil.pid_exists(pid))
        assert len(await at_once(readers, reader_work.count, "")) == MANY
    finally:
        await readers.close()
        database.close()
