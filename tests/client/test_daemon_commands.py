"""Starting and stopping real processes."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from gnoctl.command import announce_start
from gnod.client.connection import Connection, connect
from gnod.client.starting import lock_is_held, start
from gnod.errors import DaemonNotRunning, GnoError, Refused, Unavailable
from gnod.paths import IndexPaths
from gnod.protocol.base import NoParams
from gnod.protocol.daemon import DaemonStatusResult
from tests.client.conftest import Gnoctl
from tests.client.fake_daemon import FakeDaemon

Launch = Callable[..., Connection]


@pytest.fixture
def launch(places: IndexPaths, monkeypatch: pytest.MonkeyPatch) -> Iterator[Launch]:
    """Start the fake daemon as a process, in the same way as gnoctl starts gnod."""
    monkeypatch.setenv("PYTHONPATH", ":".join(filter(None, sys.path)))
    monkeypatch.setenv("GNO_SOCKET", str(places.socket))

    def launch(*words: str) -> Connection:
        command = [sys.executable, "-m", "tests.client.fake_daemon", "--index", places.index, *words]
        return start(places, command=command, on_started=announce_start)

    yield launch
    with contextlib.suppress(GnoError), connect(places) as connection:
        connection.call("daemon.shutdown", NoParams(), DaemonStatusResult)


def test_started_announced_and_stopped(
    launch: Launch, gnoctl: Gnoctl, places: IndexPaths, capsys: pytest.CaptureFixture[str]
) -> None:
    launch("--slow-start", "0.1", "--slow-stop", "0.2").close()
    said = capsys.readouterr().err
    assert said.startswith("started gnod (pid ")
    assert "`gnoctl daemon stop` stops it" in said
    assert lock_is_held(places)

    assert "gnod is already running (pid " in gnoctl("daemon", "start").out
    assert "is running for index 'default'" in gnoctl("daemon", "status").out
    assert json.loads(gnoctl("daemon", "status", "--json").out)["requests"] == 42

    outcome = gnoctl("daemon", "stop")
    assert (outcome.status, outcome.out[:13]) == (0, "stopped gnod ")
    assert not lock_is_held(places)
    assert gnoctl("daemon", "stop").status == 3


@pytest.mark.slow
def test_two_that_start_at_once_both_get_a_connection(launch: Launch, capsys: pytest.CaptureFixture[str]) -> None:
    pids: list[int] = []

    def one() -> None:
        with launch("--slow-start", "0.3") as connection:
            pids.append(connection.call("daemon.status", NoParams(), DaemonStatusResult).pid)

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pids) == 3
    assert len(set(pids)) == 1
    assert capsys.readouterr().err.count("started gnod") == 1


def test_gnoctl_waits_for_a_daemon_that_starts_again(launch: Launch) -> None:
    with launch("--hang-up") as connection:
        assert connection.call("daemon.status", NoParams(), DaemonStatusResult).requests == 42


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "status", "error", "message"),
    [
        ("gnod: index.yml, line 3: unknown key", 1, Refused, "index.yml, line 3: unknown key"),
        ("warning: x\ngnod: two faults:\n  a\n  b", 1, Refused, "two faults:\n  a\n  b"),
        ("gnod: no space left", 2, Unavailable, "no space left"),
        ("Traceback (most recent call last):\nKeyError: 'x'", 1, Unavailable, "KeyError: 'x'"),
    ],
)
def test_what_a_daemon_says_at_its_end_reaches_the_user(
    said: str, status: int, error: type[GnoError], message: str, launch: Launch
) -> None:
    with pytest.raises(error) as caught:
        launch("--say", said, "--status", str(status))
    assert message in caught.value.message
    assert caught.value.exit_status == error.exit_status


def test_only_the_end_of_this_start_is_quoted(launch: Launch) -> None:
    for attempt in ("first", "second"):
        with pytest.raises(Unavailable, match=f"^{attempt}$"):
            launch("--say", f"gnod: {attempt}", "--status", "2")


@pytest.mark.parametrize("words", [("search", "x"), ("daemon", "status"), ("daemon", "stop")])
def test_not_running_is_status_3(words: tuple[str, ...], gnoctl: Gnoctl, places: IndexPaths) -> None:
    outcome = gnoctl(*words)
    assert outcome.status == 3
    assert outcome.err == (
        f"gnoctl: gnod is not running for index 'default' (nothing listens at {places.socket}): run `gnoctl daemon"
        " start`\n"
    )
    failed = json.loads(gnoctl(*words, "--json").out)["error"]
    assert failed["code"] == "NOT_RUNNING"
    assert failed["details"]["kind"] == DaemonNotRunning.kind


def test_another_version_is_noticed(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    status = daemon.answers["daemon.status"]
    assert isinstance(status, DaemonStatusResult)
    fields = {name: getattr(status, name) for name in DaemonStatusResult.__struct_fields__}
    daemon.answers["daemon.status"] = DaemonStatusResult(**{**fields, "version": "0.0.1"})
    assert "gnod is version 0.0.1" in gnoctl("daemon", "status").err


def test_the_log_is_made_readable(places: IndexPaths, gnoctl: Gnoctl) -> None:
    assert "has not written a log" in gnoctl("daemon", "logs").err
    places.log_file.parent.mkdir(parents=True)
    record = {"ts": "2026-11-21T10:00:00+00:00", "level": "warning", "logger": "gnod", "event": "root.gone"}
    lines = [json.dumps({**record, "path": f"/x/{number}\x1b"}) for number in range(60)]
    places.log_file.write_text("\n".join([*lines, "no JSON"]) + "\n")
    shown = gnoctl("daemon", "logs", "-n", "2").out.splitlines()
    assert shown[0].endswith("warning root.gone path=/x/59␛")
    assert shown[1] == "no JSON"
    assert len(gnoctl("daemon", "logs").out.splitlines()) == 50
    assert json.loads(gnoctl("daemon", "logs", "--json", "-n", "2").out.splitlines()[0])["path"] == "/x/59\x1b"


def test_following_the_log_survives_a_rotation(places: IndexPaths, spawn: Callable[..., subprocess.Popen[str]]) -> None:
    places.log_file.parent.mkdir(parents=True)
    places.log_file.write_text("one\n")
    process = spawn("daemon", "logs", "-f")
    assert process.stdout is not None
    assert process.stdout.readline() == "one\n"
    with places.log_file.open("a") as log:
        log.write("two\n")
    assert process.stdout.readline() == "two\n"
    places.log_file.rename(places.log_file.with_suffix(".log.1"))
    places.log_file.write_text("three\n")
    assert process.stdout.readline() == "three\n"
