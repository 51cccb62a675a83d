"""The daemon as a process: its life, its socket, the files that it opens, and the faults that it survives."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from tests.machine import Machine, alive, wait_until
from tests.systems import needs_linux

pytestmark = pytest.mark.slow


def test_start_stop_restart_status(machine: Machine) -> None:
    machine.forks = False
    assert machine.run("daemon", "status").returncode == 3
    machine.ok("daemon", "start")
    first = machine.pid()
    machine.ok("daemon", "start")
    assert machine.pid() == first
    machine.ok("daemon", "restart")
    second = machine.pid()
    assert second != first
    wait_until(lambda: not alive(first))
    machine.ok("daemon", "stop")
    wait_until(lambda: not alive(second))
    assert not machine.socket.exists()
    assert machine.run("daemon", "stop").returncode == 3


def test_the_foreground_says_where_it_serves_and_ends_with_a_signal(machine: Machine) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "gnod"], env=machine.environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert f"at {machine.socket} (pid {process.pid})" in process.stdout.readline()
        assert machine.pid() == process.pid
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert not machine.socket.exists()


def test_a_config_may_forbid_starting_on_demand(machine: Machine) -> None:
    machine.config.parent.mkdir()
    machine.config.write_text("daemon:\n  autostart: false\n")
    done = machine.run("search", "x")
    assert done.returncode == 3
    assert "turns autostart off" in done.stderr
    machine.ok("daemon", "start")
    assert machine.run("search", "x").returncode == 1


def test_every_method_is_described_and_handled(busy: Machine) -> None:
    with busy.connect() as client, client.makefile("rb") as stream:
        client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}\n')
        described = {m["name"] for m in json.loads(stream.readline())["result"]["methods"]}
        for name in described - {"daemon.shutdown", "rpc.discover"}:
            client.sendall(
                json.dumps({"jsonrpc": "2.0", "id": 2, "method": name, "params": {"nonsense": 1}}).encode() + b"\n"
            )
            answer = json.loads(stream.readline())
            assert answer["error"]["code"] == -32602, (name, answer)


@needs_linux("needs inotify")
def test_a_sync_of_an_unchanged_folder_opens_no_file(machine: Machine) -> None:
    from inotify_simple import INotify, flags

    machine.write(**{f"n{i}_md": f"# Note {i}\n" for i in range(50)})
    (machine.notes / ".gitignore").write_text("*.tmp\n")
    machine.ok("init", str(machine.notes))
    with INotify() as events:
        events.add_watch(machine.notes, flags.OPEN)
        report = machine.json("index")["collections"][0]
        opened = {each.name for each in events.read(timeout=0) if each.name}
        assert (report["unchanged"], report["added"], report["updated"]) == (50, 0, 0)
        assert opened == set()
        (machine.notes / "n1.md").read_text()
        assert [each.name for each in events.read(timeout=0)] == ["n1.md"], "the check notices an opened file"


@pytest.mark.stress
def test_a_collection_removed_while_it_is_indexed_leaves_nothing(machine: Machine) -> None:
    machine.write(**{f"n{i}_md": f"# Note {i}\n\n" + "zebra words. " * 2000 for i in range(300)})
    machine.ok("daemon", "start")
    indexing = subprocess.Popen(
        [sys.executable, "-m", "gnoctl", "collection", "add", str(machine.notes)],
        env=machine.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: machine.json("status")["documents"] > 0)
    machine.ok("collection", "remove", "notes")
    _, said = indexing.communicate(timeout=60)
    assert "Traceback" not in said
    assert "internal" not in said
    status = machine.json("status")
    assert (status["documents"], status["chunks"], status["syncing"]) == (0, 0, False)
    assert "sync.failed" not in machine.ok("daemon", "logs", "--json")


@pytest.mark.stress
def test_searches_are_answered_while_a_large_folder_is_indexed(machine: Machine) -> None:
    machine.write(a_md="# Zebra\n")
    machine.ok("init", str(machine.notes))
    machine.write(**{f"big{i}_md": ("lion tiger words and more words. " * 3000) for i in range(60)})
    indexing = subprocess.Popen(
        [sys.executable, "-m", "gnoctl", "index"],
        env=machine.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    answered = 0
    while indexing.poll() is None:
        assert machine.paths("zebra") == ["a.md"]
        answered += 1
    assert indexing.returncode == 0
    assert answered >= 3, "only this search waits for the whole folder"
