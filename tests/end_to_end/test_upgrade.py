"""Another version is installed while clients work. The daemon is replaced, and every request is answered once."""

from __future__ import annotations

import json
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import gnod
from gnod.client import Client
from gnod.errors import Unavailable
from gnod.lock_holder import holder_of
from gnod.paths import IndexPaths
from gnod.protocol.base import NoParams
from gnod.protocol.daemon import DaemonRestartResult
from gnod.protocol.search import SearchListResult, SearchSaveParams, SearchSaveResult
from tests.machine import Machine, wait_until

pytestmark = pytest.mark.slow

ROOT = Path(gnod.__file__).parents[1]


class Installed:
    """gnod and gnoctl in a separate folder: a version, and links to all other files of this repository."""

    def __init__(self, machine: Machine) -> None:
        self._package = machine.folder / "installed" / "gnod"
        self._package.mkdir(parents=True)
        for source in (ROOT / "gnod").iterdir():
            if source.name not in ("__init__.py", "__pycache__"):
                (self._package / source.name).symlink_to(source)
        self._package.with_name("gnoctl").symlink_to(ROOT / "gnoctl")
        # Start new processes instead of forks, because Python reads PYTHONPATH only when it starts.
        machine.environment["PYTHONPATH"] = f"{machine.folder}/installed:{machine.folder}/moved"
        self.places = IndexPaths(
            index="default",
            config_dir=machine.config.parent,
            data_dir=machine.database.parent,
            cache_dir=machine.folder / "cache",
            socket=machine.socket,
        )

    def install(self, version: str, *, more: str = "") -> None:
        """Install a version like a package manager: replace the file by another one with the same name."""
        new = self._package / "new"
        new.write_text(f'__version__ = "{version}"\n{more}')
        os.replace(new, self._package / "__init__.py")  # noqa: PTH105

    def move(self) -> None:
        """Move the packages into the other folder that Python searches."""
        self._package.parent.rename(self._package.parent.with_name("moved"))

    def client(self) -> Client:
        return Client(self.places, start=False)

    def serving(self) -> str:
        """Return the version that the lock file names when the daemon serves."""
        holder = holder_of(self.places.lock_file)
        return holder.version if holder and holder.socket else ""


@pytest.fixture
def installed(machine: Machine) -> Installed:
    made = Installed(machine)
    made.install("1.0.0")
    for number in range(30):
        machine.write(**{f"n{number}_md": f"# Note {number}\n\nEvery note is common.\n"})
    machine.ok("init", str(machine.notes), "--name", "notes")
    return made


@pytest.mark.parametrize("clients", [2, pytest.param(20, marks=pytest.mark.stress)])
def test_no_request_is_lost_and_none_is_made_twice(installed: Installed, clients: int) -> None:
    finished = threading.Event()

    def work(number: int) -> tuple[int, list[str]]:
        searches, saved = 0, []
        client = installed.client()
        while not finished.is_set():
            if number % 2:  # every second client makes a new connection for each search
                client.close()
                client = installed.client()
            assert client.search("common", limit=3).total == 30
            searches += 1
            if number == 0:  # a call that must not be repeated
                saved.append(f"s{number}-{searches}")
                client.call("search.save", SearchSaveParams(name=saved[-1], query="x"), SearchSaveResult)
        client.close()
        return searches, saved

    with ThreadPoolExecutor(clients) as threads:
        running = [threads.submit(work, number) for number in range(clients)]
        try:
            for version in ("1.0.1", "2.0.0"):
                installed.install(version)
                with installed.client() as client:
                    result = client.call("daemon.restart", NoParams(), DaemonRestartResult)
                assert result.version == version
                wait_until(lambda version=version: installed.serving() == version)
        finally:
            finished.set()
        done = [each.result() for each in running]
    assert all(searches for searches, _ in done)
    with installed.client() as client:
        stored = client.call("search.list", NoParams(), SearchListResult).searches
    assert sorted(each.name for each in stored) == sorted(name for _, saved in done for name in saved)


def test_gnoctl_tells_of_another_version_once_and_restarts_it_when_idle(machine: Machine, installed: Installed) -> None:
    pid = machine.call("daemon.status")["pid"]
    installed.install("1.2.0", more="import nothing_of_this_name\n")
    with installed.client() as client, pytest.raises(Unavailable, match=r"cannot start .*nothing_of_this_name.*keeps"):
        client.call("daemon.restart", NoParams(), DaemonRestartResult)
    assert machine.call("daemon.status")["version"] == "1.0.0"
    installed.install("1.1.0")
    first = machine.run("search", "common", "--json")
    assert "gnod is version 1.0.0, gnoctl is 1.1.0" in first.stderr
    assert json.loads(first.stdout)["total"] == 30
    for command in (["search", "common"], ["search", "nothing like it"], ["status"]):
        assert "version" not in machine.run(*command).stderr, command
    machine.hang_up()
    assert "--force does not wait" in machine.run("daemon", "restart", "--when-idle", "--force").stderr
    restarted = machine.run("daemon", "restart", "--when-idle")
    assert restarted.stdout == f"gnod 1.1.0 runs (pid {pid}) for index 'default'\n", restarted
    assert "version" not in restarted.stderr
    assert machine.call("daemon.status")["version"] == "1.1.0"


@pytest.mark.stress
def test_the_daemon_replaces_itself_some_time_after_an_upgrade(machine: Machine, installed: Installed) -> None:
    installed.install("1.0.0")  # installing the same version again has no effect
    installed.install("1.1.0")
    machine.hang_up()
    wait_until(lambda: installed.serving() == "1.1.0", 150)
    assert re.findall(r'"installed": "([^"]+)"', machine.log(100)) == ["1.1.0"]
    assert machine.call("search.lexical", query="common")["total"] == 30


@pytest.mark.stress
def test_the_daemon_replaces_itself_after_an_upgrade_of_python(machine: Machine, installed: Installed) -> None:
    """After an upgrade of Python in Debian, or `pipx reinstall --python`, the packages are in another folder."""
    installed.move()
    machine.hang_up()
    wait_until(lambda: "daemon.replacing" in machine.log(100) and installed.serving() == "1.0.0", 150)
    assert machine.call("search.lexical", query="common")["total"] == 30
