"""Fixtures of the command line's tests: throw-away places, a fake daemon, and a way to run gnoctl."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gnoctl.__main__ import run
from gnod.paths import IndexPaths, resolve
from tests.client.fake_daemon import FakeDaemon
from tests.terminal import Terminal


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


Gnoctl = Callable[..., Outcome]
Spawn = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def places(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> IndexPaths:
    monkeypatch.setenv("NO_COLOR", "")  # restored at the end: --no-color sets it
    for variable in ("GNO_SOCKET", "GNO_INDEX", "XDG_RUNTIME_DIR", "COLUMNS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("gnod.folders._USER_RUNTIME_FOLDERS", str(short_tmp / "run-user"))
    for name in ("config", "data", "cache"):
        monkeypatch.setenv(f"GNO_{name.upper()}_DIR", str(short_tmp / name))
    monkeypatch.setenv("GNO_NO_AUTOSTART", "1")
    return resolve()


@pytest.fixture
def daemon(places: IndexPaths) -> Iterator[FakeDaemon]:
    with FakeDaemon(places).serving() as serving:
        yield serving


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Typed(io.StringIO):
    """A terminal on which this text is typed."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def gnoctl(places: IndexPaths, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Gnoctl:
    """Run a command line in this process. `stdin`: its standard input."""

    def call(*words: str, stdin: io.StringIO | None = None) -> Outcome:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", stdin or sys.stdin)
            status = run(list(words))
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return call


@pytest.fixture
def spawn(places: IndexPaths) -> Iterator[Spawn]:
    """Run a command line in a separate process."""
    processes: list[subprocess.Popen[str]] = []

    def start(*words: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "gnoctl", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "GNO_SOCKET": str(places.socket), **environment},
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def on_a_terminal(*words: str, **environment: str) -> str:
    """Run a command line on a separate terminal, and return its output."""
    command = [sys.executable, "-m", "gnoctl", *words]
    with Terminal(command, {**os.environ, "TERM": "xterm", **environment}) as terminal:
        assert terminal.finish() == 0
        return terminal.shown
