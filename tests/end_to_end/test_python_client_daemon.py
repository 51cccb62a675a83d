"""`gnod.client` with real daemons: start, search, follow, and the examples of docs/client.md."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from gnod.client import AsyncClient, Client
from gnod.errors import DaemonNotRunning, TimedOut, Unavailable
from gnod.protocol.base import NoParams
from gnod.protocol.daemon import DaemonShutdownResult, DaemonStatusResult
from gnod.protocol.methods import METHODS
from tests.machine import Machine, alive, wait_until

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[2] / "docs" / "client.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def here(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The machine's own environment, in this process."""
    for name, value in machine.environment.items():
        monkeypatch.setenv(name, value)
    machine.write(
        club__kayak_md="# Kayak permits\n\nThe permit for the kayak is in the boat house.\n",
        garden_md="# Garden\n\nWater the tomatoes, not the kayak.\n",
    )
    return machine


@pytest.fixture
def indexed(here: Machine) -> Machine:
    here.ok("init", str(here.notes))
    return here


def test_it_starts_the_daemon_and_prints_nothing(here: Machine, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DaemonNotRunning):
        Client.connect(start=False)
    with Client.connect() as client:
        pid = client.call("daemon.status", NoParams(), DaemonStatusResult).pid
        assert alive(pid)
    assert capfd.readouterr() == ("", "")
    assert here.pid() == pid, "it keeps running"


def test_it_starts_the_daemon_of_another_socket(here: Machine) -> None:
    other = here.folder / "other.sock"
    with Client.connect("work", socket=other) as client:
        status = client.call("daemon.status", NoParams(), DaemonStatusResult)
        assert (status.index, status.socket) == ("work", str(other))
        client.call("daemon.shutdown", NoParams(), DaemonShutdownResult)
    wait_until(lambda: not alive(status.pid))


async def test_following_survives_the_daemons_end(indexed: Machine) -> None:
    async with await AsyncClient.connect() as client:
        async with client.subscribe() as changes:
            indexed.write(new_md="# New\n")
            async for changed in changes:
                if changed.indexed:
                    break
            await asyncio.to_thread(indexed.kill)
            with pytest.raises(Unavailable) as caught:
                await anext(changes)
        clock = caught.value.details["clock"]
        assert isinstance(clock, int)
        assert clock >= changed.clock
        (indexed.notes / "new.md").write_text("# Newer\n")
        async with client.subscribe(since=clock) as changes:  # which also starts the daemon again
            async for changed in changes:
                if changed.indexed:
                    assert [each.title for each in changed.indexed] == ["Newer"]
                    break
        assert (await client.search("newer")).total == 1


async def test_a_search_survives_the_daemons_end(indexed: Machine) -> None:
    with Client.connect() as blocking:
        async with await AsyncClient.connect() as client:
            pid = indexed.pid()
            await asyncio.to_thread(indexed.kill)
            assert (await client.search("permit")).total == 1
            assert blocking.search("permit").total == 1
            assert indexed.pid() != pid


async def test_a_call_to_a_stopped_daemon_times_out(indexed: Machine) -> None:
    with Client.connect(timeout_s=0.5) as blocking:
        async with await AsyncClient.connect(timeout_s=0.5) as client:
            pid = indexed.pid()
            os.kill(pid, signal.SIGSTOP)
            try:
                with pytest.raises(
                    TimedOut, match=f"pid {pid}.*it is stopped; `kill -CONT {pid}`.*gnoctl daemon status"
                ):
                    await client.search("permit")
                with pytest.raises(TimedOut, match=f"kill -CONT {pid}"):
                    blocking.search("permit")
            finally:
                os.kill(pid, signal.SIGCONT)
            for _ in range(100):
                with contextlib.suppress(TimedOut):  # a busy machine also takes longer
                    assert (await client.search("permit")).total == 1
                    break
            else:
                raise AssertionError("the client does not continue")


def test_answers_are_what_rpc_discover_says(indexed: Machine) -> None:
    document = indexed.call("rpc.discover")
    results = {method["name"]: method["result"]["schema"] for method in document["methods"]}
    asked: dict[str, dict[str, object]] = {
        "search.lexical": {"query": "kayak", "full": True, "explain": True},
        "search.query": {"query": "kayak"},
        "document.get": {"ref": "notes/garden.md"},
        "document.list": {},
        "collection.list": {},
        "index.status": {"errors": True},
        "index.sync": {},
        "index.why": {"path": str(indexed.notes)},
        "models.list": {},
        "daemon.status": {},
        "doctor.run": {},
    }
    for method, params in asked.items():
        schema = {**results[method], "components": document["components"]}
        jsonschema.Draft202012Validator(schema).validate(indexed.call(method, **params))
    assert set(results) == set(METHODS)


def test_the_examples_of_the_page_work(indexed: Machine) -> None:
    assert len(EXAMPLES) > 5
    for example in EXAMPLES:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", example],
            env=indexed.environment,
            cwd=indexed.folder,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, ""), example
        if expected := re.findall(r"^# > (.*)$", example, re.MULTILINE):
            assert done.stdout.splitlines() == expected, example
        else:
            assert "on_progress=show" in example  # the number of calls depends on the machine
