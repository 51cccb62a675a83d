"""The limits of inotify: if events are not available or were lost, nothing else is lost, and status reports it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.namespace import Namespace, namespace
from tests.end_to_end.watched import Folder, watch
from tests.machine import Machine, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/sys/fs/inotify").is_dir(), reason="inotify exists only on Linux"),
]


@pytest.fixture
def notes(machine: Machine) -> Folder:
    return Folder(machine, machine.notes, "notes")


@pytest.fixture
def running(notes: Folder) -> Folder:
    """A collection of 400 documents, watched by a daemon that can be stopped and continued."""
    for number in range(400):
        notes.write(f"d{number % 20}/{number}.md", f"# Zebra\n\nNumber n{number}.\n")
    notes.machine.ok("init", str(notes.path))
    watch(notes.machine)
    return notes


def tiny(inside: Namespace, limit: str, value: int) -> None:
    inside.run(f"echo {value} > /proc/sys/user/{limit}")


def state(machine: Machine, name: str = "notes") -> dict[str, Any]:
    return next(dict(c) for c in machine.call("index.status")["collections"] if c["name"] == name)


def expect_polling(machine: Machine, limit: str) -> None:
    wait_until(lambda: state(machine)["watch"] == "polling")
    reason = state(machine)["watch_reason"]
    assert limit in reason, "the message names the limit"
    assert "sysctl" in reason, "the message says what to do"
    assert limit in machine.ok("status")
    freshness = machine.call("search.lexical", query="zebra")["freshness"]
    assert (freshness["current"], freshness["unwatched"]) == (not freshness["pending"], ["notes"])


def change_everything(notes: Folder) -> None:
    """Modify, create, move and delete files, beginning with `d0/a.md` to `d19/a.md`, which all contain a zebra."""
    for number in range(20):
        notes.write(f"d{number}/a.md", "# Lion\n")
    notes.expect("lion", *(f"d{n}/a.md" for n in range(20)))
    (notes / "d0").rename(notes / "moved")
    shutil.rmtree(notes / "d1")
    notes.write("new/deep/down/b.md", "# Tiger\n")
    notes.expect("tiger", "new/deep/down/b.md")
    notes.expect_documents(*(f"d{n}/a.md" for n in range(2, 20)), "moved/a.md", "new/deep/down/b.md")


@pytest.mark.stress
@pytest.mark.parametrize(
    ("limit", "value", "named"),
    [
        ("max_inotify_watches", 5, "max_user_watches"),
        ("max_inotify_watches", 0, "max_user_watches"),
        ("max_inotify_instances", 0, "max_user_instances"),
    ],
)
def test_limits_that_are_reached_at_the_start(notes: Folder, limit: str, value: int, named: str) -> None:
    machine = notes.machine
    for number in range(20):
        notes.write(f"d{number}/a.md", "# Zebra\n")
    with namespace(machine) as inside:
        tiny(inside, limit, value)
        inside.start_daemon()
        machine.call("collection.add", path=str(notes.path), name="notes")
        expect_polling(machine, named)
        change_everything(notes)
        assert state(machine)["watch"] == "polling"


@pytest.mark.stress
def test_a_limit_that_is_reached_later(notes: Folder) -> None:
    machine = notes.machine
    notes.write("a.md", "# Zebra\n")
    with namespace(machine) as inside:
        tiny(inside, "max_inotify_watches", 12)
        inside.start_daemon()
        machine.call("collection.add", path=str(notes.path), name="notes")
        watch(machine)
        for number in range(20):
            notes.write(f"d{number}/a.md", "# Camel\n")
        notes.expect("camel", *(f"d{n}/a.md" for n in range(20)))
        expect_polling(machine, "max_user_watches")
        (notes / "a.md").unlink()
        change_everything(notes)


@pytest.mark.stress
def test_a_collection_too_large_to_watch_leaves_events_to_the_others(notes: Folder) -> None:
    machine = notes.machine
    for number in range(40):
        notes.write(f"d{number}/a.md", "# Zebra\n")
    small = Folder(machine, machine.folder / "small", "small")
    small.write("sub/a.md", "# Zebra\n")
    with namespace(machine) as inside:
        tiny(inside, "max_inotify_watches", 20)
        inside.start_daemon()
        machine.call("collection.add", path=str(notes.path), name="notes")
        expect_polling(machine, "max_user_watches")
        machine.call("collection.add", path=str(small.path), name="small")
        wait_until(lambda: state(machine, "small")["watch"] == "events")
        small.write("sub/new/b.md", "# Lion\n")
        small.expect("lion", "sub/new/b.md")
        assert state(machine, "small")["watch"] == "events"
        notes.write("d3/b.md", "# Lion\n")
        notes.expect("lion", "d3/b.md")


@pytest.mark.stress
def test_a_higher_limit_and_a_restart_bring_events_back(notes: Folder) -> None:
    machine = notes.machine
    for number in range(20):
        notes.write(f"d{number}/a.md", "# Zebra\n")
    with namespace(machine) as inside:
        tiny(inside, "max_inotify_watches", 5)
        inside.start_daemon()
        machine.call("collection.add", path=str(notes.path), name="notes")
        expect_polling(machine, "max_user_watches")
        pid = machine.call("daemon.status")["pid"]
        tiny(inside, "max_inotify_watches", 1000)
        machine.hang_up()
        machine.ok("daemon", "stop")
        inside.run(f"wait {pid}")
        inside.start_daemon()
        watch(machine)
        assert state(machine)["watch_reason"] is None
        notes.write("d7/b.md", "# Lion\n")
        notes.expect("lion", "d7/b.md")
        assert state(machine)["watch"] == "events"


def overflow(machine: Machine) -> None:
    """Make more events than the system queues for a stopped process."""
    keeps = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    file = machine.notes / "back and forth.tmp"
    file.touch()
    for _ in range(keeps // 4 + 1000):  # alternate the names, because the system would join equal events
        file.rename(machine.notes / "forth and back.tmp")
        (machine.notes / "forth and back.tmp").rename(file)
    file.unlink()


@pytest.mark.stress
def test_more_events_than_the_system_keeps(running: Folder) -> None:
    pid = running.machine.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        overflow(running.machine)
        # The following changes cause no events.
        for number in range(0, 400, 4):
            running.write(f"d{number % 20}/{number}.md", "# Lion\n")
        for number in range(1, 400, 4):
            (running / f"d{number % 20}/{number}.md").unlink()
        for number in range(2, 400, 4):
            (running / f"d{number % 20}/{number}.md").rename(running / f"d{number % 20}/moved-{number}.md")
        for number in range(50):
            running.write(f"new{number}/sub/{number}.md", "# Tiger\n")
        (running / "d3").rename(running / "e3")
        shutil.rmtree(running / "d7")
    finally:
        os.kill(pid, signal.SIGCONT)
    expected = sorted(str(path.relative_to(running.path)) for path in running.path.rglob("*.md"))
    running.expect_documents(*expected)
    running.expect("lion", *(path for path in expected if _number(path) % 4 == 0 and "new" not in path))
    running.expect("tiger", *(path for path in expected if path.startswith("new")))
    # New folders of that time are watched now.
    running.write("new7/sub/later.md", "# Giraffe\n")
    running.write("e3/later.md", "# Giraffe\n")
    running.expect("giraffe", "e3/later.md", "new7/sub/later.md")
    status = running.machine.quiet()
    assert status["freshness"]["current"], status
    assert state(running.machine)["watch"] == "events"


@pytest.mark.stress
def test_stopped_for_some_seconds(running: Folder) -> None:
    pid = running.machine.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        running.write("d3/3.md", "# Lion\n")
        time.sleep(1)
        running.write("new/sub/a.md", "# Tiger\n")
        (running / "d4").rename(running / "e4")
        time.sleep(1)
        shutil.rmtree(running / "d5")
    finally:
        os.kill(pid, signal.SIGCONT)
    running.expect("lion", "d3/3.md")
    running.expect("tiger", "new/sub/a.md")
    running.expect_documents(*(str(path.relative_to(running.path)) for path in running.path.rglob("*.md")))
    running.write("e4/later.md", "# Giraffe\n")
    running.expect("giraffe", "e4/later.md")
    assert running.machine.quiet()["freshness"]["current"]


def _number(path: str) -> int:
    return int(re.findall(r"\d+", path)[-1])
