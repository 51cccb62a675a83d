"""A running daemon notices every kind of change of a file, even during a sync, after it was stopped, and with `fresh`.

There is one daemon with a collection for each of these situations. All kinds of change happen there at once.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator
from threading import Event, Thread

import pytest

from tests.end_to_end.changed_files import CHANGES, begin, in_index, make_repository, on_disk, rewrite, text
from tests.end_to_end.watched import watch
from tests.machine import Machine, temporary_machine, wait_until

pytestmark = pytest.mark.slow

WHEN = ("running", "stopped", "syncing", "fresh")


@pytest.fixture(scope="module")
def watched() -> Iterator[Machine]:
    with temporary_machine() as machine:
        lines = []
        for when in WHEN:
            for change in CHANGES:
                begin(machine.folder / when / change.__name__, machine.folder / "outside" / when / change.__name__)
            make_repository(machine.folder / when / "checked_out")
            lines.append(f"  - {{name: {when}, path: {machine.folder / when}}}")
        machine.config.parent.mkdir()
        machine.config.write_text("\n".join(["collections:", *lines, ""]))
        machine.start()
        watch(machine)
        assert all(differences(machine, when) == [] for when in WHEN)
        yield machine
        machine.end()
        # Status compares with the disk, and would have repaired the changes that the watcher missed.
        logs = (machine.folder / "data" / "logs").glob("*.log")
        assert not any("watch.missed" in log.read_text() for log in logs)


def change_everything(machine: Machine, when: str) -> None:
    for change in CHANGES:
        change(machine.folder / when / change.__name__, machine.folder / "outside" / when / change.__name__)


def differences(machine: Machine, collection: str) -> list[str]:
    """Return the files whose text in the index differs from the disk."""
    disk, index = on_disk(machine.folder / collection), in_index(machine.database, collection)
    return sorted(path for path in disk.keys() | index.keys() if disk.get(path) != index.get(path))


def wait_until_equal(machine: Machine, collection: str) -> None:
    with contextlib.suppress(AssertionError):
        wait_until(lambda: differences(machine, collection) == [])
    assert differences(machine, collection) == []


def test_while_the_daemon_runs(watched: Machine) -> None:
    change_everything(watched, "running")
    wait_until_equal(watched, "running")


def test_with_fresh(watched: Machine) -> None:
    change_everything(watched, "fresh")
    watched.call("search.lexical", query="after", collections=["fresh"], fresh=True)
    assert differences(watched, "fresh") == []


def test_during_a_sync(watched: Machine) -> None:
    is_done = Event()

    def sync() -> None:
        while not is_done.is_set():
            watched.answer("index.sync", collections=["syncing"])

    syncs = Thread(target=sync)
    syncs.start()
    try:
        change_everything(watched, "syncing")
    finally:
        is_done.set()
        syncs.join()
    wait_until_equal(watched, "syncing")


def test_a_page_of_a_file_that_a_program_has_mapped(watched: Machine) -> None:
    """The kernel records only the first write to a page until it has saved the page."""
    path = watched.folder / "running" / "in_place" / "b.md"
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:] = text(path, "first ")
        watched.call("index.sync", collections=["running"])
        assert differences(watched, "running") == []
        mapped[:] = text(path, "second")
    wait_until_equal(watched, "running")


@pytest.mark.stress
def test_while_the_daemon_was_stopped(watched: Machine) -> None:
    watched.ok("daemon", "stop")
    change_everything(watched, "stopped")
    watched.hang_up()
    watched.start()
    wait_until(lambda: watched.call("search.lexical", query="after")["freshness"]["current"])
    assert differences(watched, "stopped") == []


def test_a_link_that_was_made_later(watched: Machine) -> None:
    """A write through the other name of a file makes no event in the collection, but `fresh` compares the files."""
    path, other = watched.folder / "fresh" / "in_place" / "d/a.md", watched.folder / "outside" / "later.md"
    other.hardlink_to(path)
    rewrite(other)
    watched.call("search.lexical", query="after", collections=["fresh"], fresh=True)
    assert differences(watched, "fresh") == []
