"""A network drive whose server stops (a FUSE file system whose process is stopped), and files that are in a cloud."""

from __future__ import annotations

import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.end_to_end import fuse_folder
from tests.end_to_end.namespace import namespace
from tests.machine import Machine, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.access("/dev/fuse", os.R_OK | os.W_OK), reason="needs access to /dev/fuse"),
]

_SEARCHES = 200


class Drive:
    """The folder `team` on a server that stores its files in `files`. `local` is a folder on this machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.mounted = machine.folder / "team"
        self.files = machine.folder / "server"
        self.local = machine.notes
        self.read_log = machine.folder / "read.log"
        for folder in (self.mounted, self.files):
            folder.mkdir()
        self.pid = 0

    def stop(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def find(self, word: str) -> list[str]:
        return [hit["uri"].removeprefix("gno://") for hit in self.machine.call("search.lexical", query=word)["hits"]]

    def status(self, name: str = "team") -> dict[str, Any]:
        found: list[dict[str, Any]] = self.machine.call("index.status")["collections"]
        return next(each for each in found if each["name"] == name)


@contextmanager
def mounted(machine: Machine, fill: Callable[[Drive], object]) -> Iterator[Drive]:
    drive = Drive(machine)
    fill(drive)
    with namespace(machine, "--mount") as inside:
        server = f"{sys.executable} {fuse_folder.__file__} {drive.files} {drive.mounted} {drive.read_log}"
        drive.pid = int(inside.run(f"{server} </dev/null >/dev/null 2>&1 & echo $!"))
        try:
            inside.run(f"timeout 60 sh -c 'until mountpoint -q {drive.mounted}; do sleep 0.05; done'")
            inside.start_daemon()
            machine.call("collection.add", path=str(drive.local), name="local")
            machine.call("collection.add", path=str(drive.mounted), name="team")
            wait_until(lambda: drive.status()["watch"] == "polling" and not machine.call("index.status")["syncing"])
            yield drive
        finally:
            os.kill(drive.pid, signal.SIGKILL)  # processes that wait for it get an error


def _two_folders(drive: Drive) -> None:
    (drive.local / "a.md").write_text("# Zebra\n")
    (drive.files / "sub").mkdir()
    (drive.files / "sub" / "b.md").write_text("# Camel\n")


@pytest.mark.stress
def test_a_server_that_stops_delays_nothing_else(machine: Machine) -> None:
    with mounted(machine, _two_folders) as drive:
        assert drive.find("camel") == ["team/sub/b.md"]
        assert "it is a network folder (fuse.sshfs at " in drive.status()["watch_reason"]
        assert "gnod checks it every " in drive.status()["watch_reason"]
        before_s = _slowest_s(drive, 2.0)
        drive.stop()
        assert _slowest_s(drive, 20.0) <= max(0.1, 3 * before_s)
        wait_until(lambda: not drive.status()["available"])
        assert "has not answered since" in drive.status()["reason"]
        assert drive.find("camel") == ["team/sub/b.md"], "the indexed documents are kept"
        for _ in range(20):
            assert machine.call("document.get", ref="team/sub/b.md")["text"] == "# Camel\n"
            assert machine.call("index.why", path=str(drive.mounted / "sub" / "b.md"))["reason"]
            assert machine.call("index.sync", collections=["team"])["collections"][0]["available"] is False
        (drive.local / "c.md").write_text("# Lion\n")
        wait_until(lambda: drive.find("lion") == ["local/c.md"])
        machine.hang_up()
        machine.ok("daemon", "stop")


@pytest.mark.stress
def test_a_server_that_stops_while_its_files_are_read(machine: Machine) -> None:
    with mounted(machine, _two_folders) as drive:
        for number in range(300):
            (drive.files / f"{number}.md").write_text(f"# Number {number}\n\nhippo\n")
        wait_until(lambda: drive.find("hippo"))
        drive.stop()
        wait_until(lambda: not drive.status()["available"], 90)
        (drive.local / "c.md").write_text("# Lion\n")
        wait_until(lambda: drive.find("lion") == ["local/c.md"], 90)
        assert drive.find("camel") == ["team/sub/b.md"]
        drive.resume()
        wait_until(lambda: drive.status()["indexed"] == 301, 120)
        assert drive.status()["failed"] == 0


def test_nothing_is_read_of_files_that_are_in_a_cloud_only(machine: Machine) -> None:
    def fill(drive: Drive) -> None:
        _two_folders(drive)
        (drive.files / "cloud-c.md").write_text("# Secret\n")
        (drive.files / "plan.md.nextcloud").write_text("Secret")
        (drive.files / ".notes.md.icloud").write_text("Secret")

    with mounted(machine, fill) as drive:
        assert drive.status()["skipped_by_kind"] == {"not_downloaded": 3}
        machine.call("index.retry", collections=["team"], kinds=["not_downloaded"])
        assert drive.status()["skipped_by_kind"] == {"not_downloaded": 3}
        assert set(drive.read_log.read_text().splitlines()) == {"# Camel"}
        (drive.files / "sub" / ".b.md.evicted").touch()
        (drive.files / "sub" / "b.md").touch()
        machine.call("index.sync", collections=["team"])
        assert drive.status()["skipped_by_kind"] == {"not_downloaded": 4}
        assert drive.find("camel") == ["team/sub/b.md"], "earlier documents are kept"


def _slowest_s(drive: Drive, seconds: float) -> float:
    """Search for some time, and return the 95th percentile of the durations."""
    took_s = []
    until = time.monotonic() + seconds
    while (began := time.monotonic()) < until:
        assert drive.find("zebra") == ["local/a.md"]
        took_s.append(time.monotonic() - began)
        time.sleep(seconds / _SEARCHES)
    return statistics.quantiles(took_s, n=20)[-1]
