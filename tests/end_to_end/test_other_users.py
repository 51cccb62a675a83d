"""Attacks by another user of the machine, without our permissions: to listen, to plant, to read, to change."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnoctl.web import session
from gnod.client import AsyncClient, Client
from gnod.errors import ForeignSocket
from gnod.paths import IndexPaths, resolve
from tests.end_to_end.remembered import NO_KEYRING, give_keyring, piped
from tests.end_to_end.stranger import OTHER_UID, UID, as_stranger, strange_daemon
from tests.end_to_end.test_mcp_server import agent, refused
from tests.machine import Machine, wait_until
from tests.systems import needs_root

pytestmark = [pytest.mark.slow, needs_root]

SECRET = "zqxsecret"


@pytest.fixture
def shared(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine in a folder that every user may enter, with a folder like /tmp inside."""
    machine.folder.chmod(0o755)
    for name, value in machine.environment.items():
        monkeypatch.setenv(name, value)
    return machine


def like_tmp(machine: Machine) -> Path:
    folder = machine.folder / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def listen_at(machine: Machine, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.environment["GNO_SOCKET"] = str(path)
    machine.environment["GNO_NO_AUTOSTART"] = "1"
    monkeypatch.setenv("GNO_SOCKET", str(path))


@pytest.mark.parametrize(
    "where",
    [
        "in a folder of theirs",
        *(
            pytest.param(where, marks=pytest.mark.stress)
            for where in ("in a folder like /tmp", "in a folder that all can write")
        ),
    ],
)
def test_no_client_sends_a_byte_to_another_users_daemon(
    where: str, shared: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = like_tmp(shared)
    if where == "in a folder of theirs":
        folder = folder / "gno"
        folder.mkdir()
        os.chown(folder, UID, UID)
    elif where == "in a folder that all can write":
        folder.chmod(0o777)
    listen_at(shared, folder / "default.sock", monkeypatch)
    received = shared.folder / "received"
    with strange_daemon(folder / "default.sock", received):
        for words in (
            *(["search", SECRET], ["search", SECRET, "--json"], ["search", SECRET, "--fresh"], ["ask", SECRET]),
            *(["remember", SECRET], ["daemon", "status"], ["daemon", "start"], ["daemon", "stop"], ["socket"]),
        ):
            done = shared.run(*words)
            assert done.returncode == 2, (words, done.stderr)
            said = done.stdout + done.stderr
            assert "nothing was sent" in said, (words, said)
            assert "GNO_SOCKET" in said or "sudo -u" in said, (words, said)
        with pytest.raises(ForeignSocket):
            Client.connect()
        with pytest.raises(ForeignSocket):
            asyncio.run(_connect_in_a_loop())
        assert "nothing was sent" in asyncio.run(_search_as_agents_do(shared))
    assert received.read_bytes() == b""


async def _search_as_agents_do(machine: Machine) -> str:
    async with agent(machine) as client:
        return await refused(client, "search", {"query": SECRET})


async def _connect_in_a_loop() -> None:
    await AsyncClient.connect()


def test_a_client_names_the_user_whose_daemon_it_is(shared: Machine) -> None:
    """Root gets the message too: a daemon serves only its own user."""
    folder = shared.folder / "theirs"
    folder.mkdir()
    os.chown(folder, UID, UID)
    with strange_daemon(folder / "s.sock", shared.folder / "received"):
        with pytest.raises(ForeignSocket, match=f"uid {UID}.*sudo -u '#{UID}'"):
            Client.connect(socket=folder / "s.sock")
        with pytest.raises(ForeignSocket, match=f"uid {UID}.*GNO_SOCKET"):
            as_stranger(lambda: _connect(folder / "s.sock"), OTHER_UID)


def _connect(path: Path) -> None:
    Client.connect(socket=path, start=False).close()


@pytest.mark.parametrize("mask", [0o000, pytest.param(0o077, marks=pytest.mark.stress)])
def test_nothing_of_a_session_can_be_read_or_changed(
    mask: int, shared: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.forks = False
    home = shared.folder / "home"
    for name in ("GNO_CONFIG_DIR", "GNO_DATA_DIR", "GNO_CACHE_DIR", "GNO_SOCKET"):
        del shared.environment[name]
    give_keyring(shared, NO_KEYRING)
    shared.environment |= {"HOME": str(home), "XDG_DATA_HOME": str(home / ".local" / "share")}
    shared.socket = home / ".cache" / "gno" / "default.sock"
    shared.write(a_md=f"# Notes\n\nThe {SECRET} is here.\n")
    with _umask(mask), _ended(shared):
        home.mkdir()
        home.chmod(0o755)
        shared.ok("init", str(shared.notes), "--name", "notes")
        assert shared.paths(SECRET) == ["a.md"]
        shared.ok("backup", str(home / "backup.gno"))
        assert piped(shared, SECRET.encode(), "memory", "unlock").returncode == 0
        shared.ok("remember", "A fact.")
        shared.ok("memory", "export", str(home / "memories.jsonl"))
        with session.lock(_places(shared, monkeypatch)):
            session.write(_places(shared, monkeypatch), 1)
        assert (home / ".local" / "share" / "gno" / "logs").is_dir()
        made = [each for each in sorted(home.rglob("*")) if not each.is_symlink()]
        assert len(made) > 10
        open_ones = {
            str(each.relative_to(home)): oct(each.stat().st_mode) for each in made if each.stat().st_mode & 0o077
        }
        assert open_ones == {}
        assert as_stranger(lambda: _touched(made)) == []
        pids = shared.processes()
        assert as_stranger(lambda: _disturbed(pids, shared.socket)) == []
        assert not any(SECRET.encode() in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids)


def _places(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> IndexPaths:
    for name in ("GNO_CONFIG_DIR", "GNO_DATA_DIR", "GNO_CACHE_DIR", "GNO_SOCKET"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, machine.environment[name])
    for name in ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return resolve()


def _touched(paths: list[Path]) -> list[str]:
    """Return the paths that a stranger can read, change, replace or link."""
    done = []
    for path in paths:
        with contextlib.suppress(OSError):
            list(path.iterdir()) if path.is_dir() else path.read_bytes()
            done.append(f"read {path}")
        with contextlib.suppress(OSError):
            path.rename(path.with_name("moved"))
            done.append(f"moved {path}")
        with contextlib.suppress(OSError):
            os.close(os.open(path / "new" if path.is_dir() else path, os.O_WRONLY | os.O_CREAT))
            done.append(f"wrote {path}")
        with contextlib.suppress(OSError):
            os.link(path, f"/tmp/gnod-linked-{os.getpid()}")
            done.append(f"linked {path}")
    return done


def _disturbed(pids: list[int], path: Path) -> list[str]:
    """Return the processes that a stranger can signal or inspect, and whether the socket accepts a stranger."""
    done = []
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGTERM)
            done.append(f"ended {pid}")
        for name in ("environ", "mem"):
            with contextlib.suppress(OSError):
                Path(f"/proc/{pid}/{name}").open("rb").close()
                done.append(f"opened {name}")
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        done.append("connected")
    return done


@contextlib.contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@contextlib.contextmanager
def _ended(machine: Machine) -> Iterator[None]:
    """Stop a daemon whose socket differs from that of the machine."""
    try:
        yield
    finally:
        machine.ok("daemon", "stop")


def test_what_an_older_version_left_open_is_closed(shared: Machine) -> None:
    del shared.environment["GNO_DATA_DIR"]
    data = shared.folder / ".local" / "share" / "gno"
    (data / "logs").mkdir(parents=True)
    start_log = data / "logs" / "gnod-default.start.log"
    start_log.touch()
    for path, mode in ((data, 0o777), (data / "logs", 0o755), (start_log, 0o666)):
        path.chmod(mode)
    shared.start()
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (data, data / "logs", start_log)]
    assert modes == [0o700, 0o700, 0o600]


def test_a_folder_that_the_user_named_keeps_its_mode_and_what_is_in_it_is_private(shared: Machine) -> None:
    data = Path(shared.environment["GNO_DATA_DIR"])
    data.mkdir()
    data.chmod(0o755)
    shared.start()
    assert stat.S_IMODE(data.stat().st_mode) == 0o755
    assert {stat.S_IMODE(each.stat().st_mode) & 0o077 for each in data.iterdir()} == {0}


@pytest.mark.parametrize("variable", ["GNO_DATA_DIR", "GNO_CACHE_DIR", "GNO_SOCKET"])
def test_a_folder_that_was_planted_is_not_used(variable: str, shared: Machine) -> None:
    planted = like_tmp(shared) / "gno"
    as_stranger(lambda: planted.mkdir())
    planted.chmod(0o777)
    shared.environment[variable] = str(planted / "s.sock" if variable == "GNO_SOCKET" else planted)
    done = shared.run("daemon", "start")
    assert done.returncode in (1, 2), done.stdout
    assert f"belongs to uid {UID}" in done.stderr
    assert list(planted.iterdir()) == []


def test_a_link_that_was_planted_changes_nothing(shared: Machine) -> None:
    """`/tmp/gno` may lead to a folder of ours. gnod must not close that folder to others, or write to it."""
    victim = shared.folder / "victim"
    victim.mkdir()
    victim.chmod(0o755)
    planted = like_tmp(shared) / "gno"
    as_stranger(lambda: planted.symlink_to(victim))
    shared.environment["GNO_SOCKET"] = str(planted / "s.sock")
    done = shared.run("daemon", "start")
    assert "belongs to uid" in done.stderr
    assert (stat.S_IMODE(victim.stat().st_mode), list(victim.iterdir())) == (0o755, [])


PLANTED = ["logs/gnod-default.start.log", "logs/gnod-default.log", "index-default.lock"]


@pytest.mark.parametrize("name", PLANTED)
def test_a_pipe_or_a_link_in_place_of_a_file_is_not_opened(name: str, shared: Machine) -> None:
    victim = shared.folder / "victim.txt"
    path = Path(shared.environment["GNO_DATA_DIR"]) / name
    path.parent.mkdir(parents=True)
    for plant in (os.mkfifo, lambda path: path.symlink_to(victim)):
        victim.write_text("mine")
        victim.chmod(0o644)
        plant(path)
        done = shared.run("daemon", "start")
        if done.returncode == 0:  # a daemon also runs without its log
            shared.ok("daemon", "stop")
        else:
            assert f"{path} is not a file of yours" in done.stderr
        assert done.returncode == 0 or "start.log" in name or "lock" in name
        assert (victim.read_text(), stat.S_IMODE(victim.stat().st_mode)) == ("mine", 0o644)
        path.unlink()
    wait_until(lambda: not shared.processes("gnod"))


def test_a_config_that_others_can_write_runs_no_command(shared: Machine) -> None:
    """The same holds if others can write to its folder, or own the config. doctor says how to fix it."""
    shared.write(a_md="# Lion\n")
    shared.ok("collection", "add", str(shared.notes), "--name", "notes", "--update", "touch ran")
    with shared.config.open("a") as config:
        config.write("viewers:\n  - files: [.md]\n    command: [touch, opened]\n")
    shared.ok("index")
    os.chown(shared.config, -1, UID)
    for path, change, undo, remedy in (
        (shared.config, 0o602, 0o600, f"chmod go-w {shared.config}"),
        (shared.config, 0o620, 0o600, f"chmod go-w {shared.config}"),
        (shared.config.parent, 0o757, 0o700, f"chmod go-w {shared.config.parent}"),
        (shared.config, UID, 0, f"chown 0 {shared.config}"),
    ):
        _set(path, change)
        for words in (["update"], ["open", "notes/a.md"]):
            done = shared.run(*words)
            assert done.returncode == 2, (words, done.stdout)
            assert "no command in index.yml runs" in done.stderr, (words, done.stderr)
            assert remedy in done.stderr, (words, done.stderr)
        (check,) = [each for each in shared.call("doctor.run")["checks"] if each["name"] == "config"]
        assert (check["status"], check["remedy"]) == ("warning", remedy)
        assert not (shared.notes / "ran").exists()
        _set(path, undo)
    os.chown(shared.config, -1, 0)
    _set(shared.config, 0o664)  # the user is the only member of this group
    shared.ok("update")
    mask = os.umask(0o022)
    os.umask(mask)
    made = stat.S_IMODE((shared.notes / "ran").stat().st_mode)
    assert made == 0o666 & ~mask, "the user's own command has the user's umask"


def _set(path: Path, value: int) -> None:
    """Give the path another owner, or another mode."""
    if value in (0, UID):
        os.chown(path, value, -1)
    else:
        path.chmod(value)
