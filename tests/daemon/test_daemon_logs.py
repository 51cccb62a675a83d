from __future__ import annotations

import io
import json
import logging
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gnod.daemon import logs
from tests.rpc.harness import SECRET, serving


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("gnod")
    before = list(root.handlers), root.level, ours.level
    yield
    for handler in root.handlers:
        if handler not in before[0]:
            handler.close()
    root.handlers[:], root.level, ours.level = before[0], before[1], before[2]
    root.setLevel(before[1])
    ours.setLevel(before[2])


@contextmanager
def without_pytest_handlers() -> Iterator[None]:
    """Hide pytest's handlers, because `configure` closes all handlers that it finds."""
    root = logging.getLogger()
    kept, root.handlers[:] = list(root.handlers), []
    yield
    root.handlers += kept


def configure(path: Path, level: str = "info", terminal: io.StringIO | None = None) -> None:
    with without_pytest_handlers():
        logs.configure(path, level, terminal)


def lines(path: Path) -> list[dict[str, Any]]:
    logs.flush()
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_record_is_one_json_line(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "gnod.log"
    configure(path)
    log = logging.getLogger("gnod.test")
    log.info("thing.done", extra={"fields": {"path": tmp_path, "name": "Grüße\n\udce9", "count": 3}})
    log.debug("not.seen")
    (line,) = lines(path)
    assert line.pop("ts").endswith("+00:00")
    assert line == {
        "level": "info",
        "logger": "gnod.test",
        "event": "thing.done",
        "path": repr(tmp_path),
        "name": "Grüße\n\udce9",
        "count": 3,
    }


def test_the_file_is_private_and_made_by_the_first_record(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "gnod.log"
    configure(path)
    assert not path.parent.exists()
    logging.getLogger("gnod").warning("first")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.slow
def test_it_rotates(tmp_path: Path) -> None:
    path = tmp_path / "gnod.log"
    configure(path)
    log = logging.getLogger("gnod")
    padding = "x" * (logs.MAX_BYTES // 3)
    for count in range(4 * logs.FILES):
        log.warning("full", extra={"fields": {"count": count, "padding": padding}})
    logs.flush()
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["gnod.log", "gnod.log.1", "gnod.log.2"]
    for file in files:
        assert file.stat().st_size <= logs.MAX_BYTES
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_terminal_gets_words(tmp_path: Path) -> None:
    terminal = io.StringIO()
    configure(tmp_path / "gnod.log", terminal=terminal)
    logging.getLogger("gnod").warning("thing.failed", extra={"fields": {"count": 3}})
    assert terminal.getvalue()[9:] == "warning thing.failed count=3\n"


def test_a_file_name_forges_no_record_and_moves_no_terminal(tmp_path: Path) -> None:
    terminal = io.StringIO()
    configure(tmp_path / "gnod.log", terminal=terminal)
    name = "caf\u00e9 \x1b]0;x\x07\x9b31m\x7f\u202e\u2028\udce9\n12:00:00 error forged.record"
    logging.getLogger("gnod").warning("thing.failed", extra={"fields": {"path": name}})
    (shown,) = terminal.getvalue().splitlines()
    assert "café" in shown
    assert shown.isprintable()
    (written,) = (tmp_path / "gnod.log").read_text().splitlines()
    assert written.isprintable()
    assert json.loads(written)["path"].startswith(name.partition("\udce9")[0])


def test_a_log_that_cannot_be_written_is_reported_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "logs").write_text("a file where the folder should be")
    configure(tmp_path / "logs" / "gnod.log")
    for _ in range(3):
        logging.getLogger("gnod").error("unheard")
    assert capsys.readouterr().err.count("cannot write the log") == 1


async def fail() -> str:
    """Make a handler fail with private text in the error, and return the error id that the client gets."""
    async with serving() as served, await served.client() as client:
        client.call("broken", {})
        client.call("echo", {"text": SECRET}, request_id=2)
        client.call("echo", {"limit": SECRET}, request_id=3)
        answers = {answer["id"]: answer for answer in [await client.receive() for _ in range(3)]}
        return str(answers[1]["error"]["data"]["details"]["error_id"])


@pytest.mark.parametrize("level", ["info", "debug"])
async def test_a_failure_is_found_by_its_id_and_holds_no_private_text(tmp_path: Path, level: str) -> None:
    configure(tmp_path / "gnod.log", level)
    error_id = await fail()
    (line,) = [line for line in lines(tmp_path / "gnod.log") if line["event"] == "request.failed"]
    assert (line["error_id"], line["method"]) == (error_id, "broken")
    assert "in broken" in line["traceback"]
    assert "ValueError" in line["traceback"]
    assert (SECRET in line["traceback"]) == (level == "debug")


def test_causes_are_named_without_their_words(tmp_path: Path) -> None:
    configure(tmp_path / "gnod.log")
    try:
        try:
            raise KeyError(SECRET)
        except KeyError as cause:
            raise OSError(SECRET) from cause
    except OSError:
        logging.getLogger("gnod").exception("both")
    (line,) = lines(tmp_path / "gnod.log")
    assert "builtins.OSError\ncaused by\n" in line["traceback"]
    assert line["traceback"].endswith("builtins.KeyError")
    assert SECRET not in line["traceback"]


def test_what_is_in_a_group_is_named(tmp_path: Path) -> None:
    configure(tmp_path / "gnod.log")
    try:
        raise ExceptionGroup(SECRET, [KeyError(SECRET), OSError(SECRET)])
    except ExceptionGroup:
        logging.getLogger("gnod").exception("group")
    (line,) = lines(tmp_path / "gnod.log")
    assert line["traceback"].endswith("builtins.ExceptionGroup\ncaused by\nbuiltins.KeyError")
    assert SECRET not in line["traceback"]
