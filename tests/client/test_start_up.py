"""The start of gnoctl: the modules that a command imports, and its behaviour as a process."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from gnod.protocol.base import ProgressValue
from gnod.protocol.index import CollectionSync, IndexSyncResult
from gnod.protocol.memory import MemorySearchResult, MemoryStoreResult
from tests.client.conftest import Spawn, on_a_terminal
from tests.client.fake_daemon import FakeDaemon
from tests.client.samples import document, found, hit, memory

HEAVY = {
    *("typer", "click", "rich", "asyncio", "dataclasses", "subprocess", "shutil", "logging", "tempfile", "json", "csv"),
    *("argparse", "gnod.daemon", "gnod.rpc", "gnod.configured", "gnod.protocol.methods"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", ["search deploy --fresh", "similar #a1b2c3d4", "get #a1b2c3d4", "recall deploy", "remember deploy"]
)
def test_a_hot_command_imports_nothing_heavy(line: str, daemon: FakeDaemon) -> None:
    daemon.answers |= {f"search.{mode}": found(hit(), mode=mode) for mode in ("lexical", "vector", "similar")}
    daemon.answers["document.get"] = document("text\n")
    daemon.answers["memory.search"] = MemorySearchResult(results=[memory()], counts="", topics={})
    daemon.answers["memory.store"] = MemoryStoreResult(id="m4x0q2v7ke", existed=False)
    imported = _imported(*line.split())
    assert "msgspec" in imported
    assert not HEAVY & imported


@pytest.mark.slow
@pytest.mark.parametrize("line", ["search deploy", "vsearch deploy -n 3", "query deploy --json"])
def test_a_plain_search_imports_no_msgspec(line: str, daemon: FakeDaemon) -> None:
    daemon.answers |= {f"search.{mode}": found(hit(), mode=mode) for mode in ("lexical", "vector", "query")}
    imported = _imported(*line.split())
    assert "json" in imported
    assert not (HEAVY - {"json"} | {"msgspec", "inspect", "pathlib", "gnod.errors"}) & imported


def test_ctrl_c_cancels_the_request(daemon: FakeDaemon, spawn: Spawn) -> None:
    asked = threading.Event()
    daemon.answers["search.lexical"] = lambda _: asked.set()
    process = spawn("search", "x", "--fresh")
    assert asked.wait(timeout=60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")
    assert daemon.cancelled.wait(timeout=60)


def test_a_reader_that_leaves_is_no_error(daemon: FakeDaemon, spawn: Spawn) -> None:
    daemon.answers["document.get"] = document("line\n" * 100_000)
    process = spawn("get", "#a1b2c3d4")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "line\n"
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr.read() == ""


def test_a_pipe_gets_utf_8_whatever_the_locale(daemon: FakeDaemon, spawn: Spawn) -> None:
    daemon.answers["search.lexical"] = found(hit(title="日本語"))
    process = spawn("search", "x", "--json", PYTHONIOENCODING="latin-1")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "日本語" in out


def test_a_title_that_the_terminal_cannot_show_is_no_error(daemon: FakeDaemon) -> None:
    daemon.answers["search.lexical"] = found(hit(title="日本語"))
    assert on_a_terminal("search", "x", NO_COLOR="1", PYTHONIOENCODING="latin-1").startswith("???")


def test_on_a_terminal_there_are_colours(daemon: FakeDaemon) -> None:
    daemon.answers["search.lexical"] = found(hit())
    shown = on_a_terminal("search", "x")
    assert "\x1b[1;33mdeploy\x1b[0m" in shown
    assert "\x1b" not in on_a_terminal("search", "x", NO_COLOR="1")
    assert "\x1b" not in on_a_terminal("search", "x", "--no-color")


@pytest.mark.slow
def test_a_long_sync_draws_a_bar_and_leaves_nothing_behind(daemon: FakeDaemon, spawn: Spawn) -> None:
    steps = [ProgressValue(stage="convert", done=done, total=9, label="[red]a\x1b.md") for done in range(1, 10)]
    daemon.progress["index.sync"] = steps
    daemon.progress_pause_s = 0.06
    daemon.answers["index.sync"] = IndexSyncResult(
        collections=[CollectionSync(name="notes", available=True, added=9)], took_ms=500.0
    )
    shown = on_a_terminal("index")
    assert "convert" in shown
    assert "9/9" in shown
    assert "[red]a␛.md" in shown
    assert shown.endswith("notes: 9 added · 0.0 s\r\n")
    assert "convert" not in on_a_terminal("index", "--quiet")
    out, err = spawn("index").communicate(timeout=60)
    assert (out, err) == ("notes: 9 added · 0.0 s\n", "")


def _imported(*words: str) -> set[str]:
    """Run a command that must print something, and return the modules that it imported."""
    script = "from gnoctl.__main__ import main; main()"
    command = [sys.executable, "-X", "importtime", "-c", script, *words]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert process.stdout
    return {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
