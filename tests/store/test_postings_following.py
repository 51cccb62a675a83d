"""The thread that updates the postings."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from gnod.search.keyword import lexical
from gnod.search.query.parsing import parse_clauses
from gnod.store.connection import Connection
from gnod.store.documents import collections, writing
from gnod.store.keyword_index.postings.versions import folder_of
from gnod.store.keyword_index.postings.view import attach, view_of
from gnod.store.tables.filters import Filters
from tests.machine import wait_until
from tests.small_index import SmallIndex, prepared
from tests.store.followed import Index


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[], Index]]:
    made: list[Index] = []

    def open_() -> Index:
        if made:
            made.pop().close()
        made.append(Index(tmp_path / "index.sqlite"))
        return made[-1]

    yield open_
    if made:
        made[-1].close()


def names(first: int, last: int) -> list[str]:
    return [f"{number}.md" for number in range(first, last)]


def killed_while_writing(database: Path, after_s: float) -> None:
    command = [sys.executable, "-m", "tests.store.postings_writer", str(database)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline()
        time.sleep(after_s)
        process.kill()


def check_after_a_kill(opened: Callable[[], Index], database: Path) -> Index:
    """Open the database after a kill and check it. The index may be closed twice."""
    index = opened()
    wait_until(index.is_current)
    plain = index.database.open_reader()
    attach(plain, None)
    for query in ("red", "1", "17 md", "red 5"):
        of_table, of_postings = (
            lexical.search(connection, parse_clauses(query), Filters(), limit=200)
            for connection in (plain, index.database.open_reader())
        )
        assert of_table.total == of_postings.total
        scores = [[each.score for each in found.ranked] for found in (of_table, of_postings)]
        assert scores[0] == pytest.approx(scores[1])
    return index


@pytest.mark.slow
def test_killed_while_it_writes(opened: Callable[[], Index], tmp_path: Path) -> None:
    killed_while_writing(tmp_path / "index.sqlite", 0.3)
    check_after_a_kill(opened, tmp_path / "index.sqlite")


@pytest.mark.stress
def test_killed_often_while_it_writes(opened: Callable[[], Index], tmp_path: Path) -> None:
    for number in range(20):
        killed_while_writing(tmp_path / "index.sqlite", number * 0.05)
        check_after_a_kill(opened, tmp_path / "index.sqlite").close()


def builders(folder: Path) -> list[psutil.Process]:
    """Return the processes of this test. Fixtures may still have processes of other tests."""
    return [each for each in psutil.Process().children() if str(folder) in " ".join(each.cmdline())]


@pytest.mark.stress
def test_the_building_process_is_killed(tmp_path: Path) -> None:
    index = Index(tmp_path / "index.sqlite", uses_process=True)
    try:
        ended = set()
        for number in range(6):
            before = index.postings.newest
            index.add(*names(0, 20), text=f"red {number}")
            wait_until(lambda before=before: index.postings.newest is not before and index.is_current())
            (child,) = builders(tmp_path)
            assert child.pid not in ended
            ended.add(child.pid)
            child.kill()
    finally:
        index.close()
    assert not builders(tmp_path)


@pytest.mark.stress
def test_closing_ends_the_process_while_it_works(tmp_path: Path) -> None:
    index = Index(tmp_path / "index.sqlite", uses_process=True)
    index.add(*names(0, 60), text="red " * 20_000)
    wait_until(lambda: index.builder.is_running)
    index.close()
    assert not builders(tmp_path)


@pytest.mark.slow
def test_segments_are_merged_and_the_process_ends(tmp_path: Path) -> None:
    index = Index(tmp_path / "index.sqlite", uses_process=True, idle_s=0.6)
    try:
        for number in range(3):
            index.add(*names(10 * number, 10 * number + 10))
            wait_until(index.is_current)
        wait_until(lambda: index.segments() == 1)
        assert index.size() == 30
        wait_until(lambda: not index.builder.is_running)
    finally:
        index.close()


def test_a_new_start_adds_documents_written_without_postings(opened: Callable[[], Index], tmp_path: Path) -> None:
    index = opened()
    index.add(*names(0, 5))
    wait_until(index.is_current)
    index.close()
    with_others = SmallIndex(tmp_path / "index.sqlite")
    with_others.add(dict.fromkeys(names(5, 8), "red house"))
    with_others.close()
    index = opened()
    assert index.size() == 8
    wait_until(index.is_current)


def test_a_start_can_wait_for_existing_postings(opened: Callable[[], Index]) -> None:
    index = opened()
    index.add(*names(0, 5))
    wait_until(index.is_current)
    index = opened()
    index.following.wait_until_loaded(60.0)
    assert index.postings.newest is not None


def test_damaged_postings_are_built_again(opened: Callable[[], Index]) -> None:
    index = opened()
    index.add(*names(0, 5))
    wait_until(index.is_current)
    folder = index.postings.folder
    for damaged in (b"{}", b"", None):
        index.following.close()
        for path in folder.iterdir():
            if damaged is None:
                path.unlink()
            else:
                path.write_bytes(damaged)
        index = opened()
        assert index.size() == 5
        wait_until(index.is_current)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_files_that_are_truncated_while_they_are_read_are_built_again(opened: Callable[[], Index]) -> None:
    index = opened()
    index.add(*names(0, 5))
    wait_until(index.is_current)
    (before,) = index.postings.folder.glob("*.segment")
    for name in ("red", "house"):
        os.truncate(before, 60)
        clauses = parse_clauses(name)
        found = index.database.submit_read(partial(lexical.search, clauses=clauses, filters=Filters(), limit=9))
        assert found.result().total == 5
        wait_until(lambda: index.is_current() and index.database.submit_read(has_postings).result())
        (before,) = index.postings.folder.glob("*.segment")


def has_postings(connection: Connection) -> bool:
    view = view_of(connection)
    return view.is_complete and view.frequency('"red"') == 5


def test_terms_of_a_failed_transaction_are_ignored(opened: Callable[[], Index]) -> None:
    index = opened()
    index.add("a.md")

    def fail(connection: Connection) -> None:
        writing.put(
            connection, collections.id_of(connection, "notes"), "a.md", prepared("other words", "a.md"), now=0.0
        )
        raise LookupError

    with pytest.raises(LookupError):
        index.database.submit_write(fail).result()
    index.add("b.md")
    wait_until(index.is_current)
    assert index.size() == 2


def test_an_unwritable_folder_costs_only_speed(opened: Callable[[], Index], tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "index.sqlite")
    folder.write_text("no folder")
    index = opened()
    index.add(*names(0, 5))
    found = index.database.submit_read(
        partial(lexical.search, clauses=parse_clauses("red"), filters=Filters(), limit=9)
    )
    assert found.result().total == 5
    assert not index.is_current()
    index.following.close()
    folder.unlink()
    wait_until(opened().is_current)
