"""Test how a worker reads and refuses files, and returns failures as data. The tests run in this process."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from pathlib import Path

import pytest

from gnod.ingest.workers.jobs import Failure, FileJob, Outcome, TextJob, Unchanged
from gnod.ingest.workers.source_file import ReadFailed, read_source
from gnod.ingest.workers.worker import perform
from gnod.store.tables.records import PreparedDocument
from tests.systems import not_as_root


def job(path: Path | str, known: str | None = None, max_bytes: int = 1000, max_characters: int = 10_000) -> FileJob:
    return FileJob(
        path=str(path),
        relative_path=os.path.basename(path),  # noqa: PTH119
        known_source_hash=known,
        max_bytes=max_bytes,
        max_characters=max_characters,
    )


def refused(outcome: Outcome) -> tuple[str, str]:
    assert isinstance(outcome, Failure), outcome
    return outcome.stage, outcome.kind


def test_a_file_is_prepared_with_its_hash_and_stat(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"# Title\r\n\r\ntext\r\n")
    outcome = perform(job(path))
    assert isinstance(outcome, PreparedDocument)
    assert outcome.markdown == "# Title\n\ntext\n"
    assert outcome.source_hash == hashlib.sha256(path.read_bytes()).hexdigest()
    found = path.stat()
    assert outcome.stat is not None
    assert (outcome.stat.size, outcome.stat.mtime_ns, outcome.stat.inode) == (17, found.st_mtime_ns, found.st_ino)


def test_a_known_hash_is_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("text")
    outcome = perform(job(path, known=hashlib.sha256(b"text").hexdigest()))
    assert isinstance(outcome, Unchanged)
    assert outcome.stat.size == 4


def test_text_jobs_are_prepared() -> None:
    outcome = perform(TextJob(text="body text", relative_path="d/1.md", title="Given"))
    assert isinstance(outcome, PreparedDocument)
    assert outcome.title == "Given"
    assert outcome.stat is None
    assert outcome.source_hash == hashlib.sha256(b"d/1.md\0body text").hexdigest()


def test_a_path_that_is_not_a_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "to-pipe.md").symlink_to("pipe.md")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "socket.md"))
    with listening:
        for name in ("pipe.md", "folder.md", "to-pipe.md", "socket.md"):
            assert refused(perform(job(tmp_path / name))) == ("read", "not_a_file"), name
    assert refused(perform(job("/dev/zero"))) == ("read", "not_a_file")


def test_missing_files_and_loops_of_links(tmp_path: Path) -> None:
    (tmp_path / "dangling.md").symlink_to("nowhere.md")
    (tmp_path / "loop.md").symlink_to("loop.md")
    (tmp_path / "file").write_text("x")
    for name in ("never.md", "dangling.md", "file/inner.md"):
        assert refused(perform(job(tmp_path / name))) == ("read", "vanished"), name
    assert refused(perform(job(tmp_path / "loop.md"))) == ("read", "unreadable")


@not_as_root
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("x")
    path.chmod(0)
    assert refused(perform(job(path))) == ("read", "unreadable")


def test_symlinks_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("text")
    (tmp_path / "link.md").symlink_to("a.md")
    assert isinstance(perform(job(tmp_path / "link.md")), PreparedDocument)


def test_large_files_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse.md"
    with path.open("wb") as file:
        file.truncate(2 << 30)
    started = time.process_time()
    outcome = perform(job(path, max_bytes=100_000_000))
    assert refused(outcome) == ("read", "too_large")
    assert isinstance(outcome, Failure)
    assert outcome.stat is not None
    assert outcome.stat.size == 2 << 30
    assert time.process_time() - started < 1


def test_a_file_that_grows_is_unstable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.txt"
    path.write_text("line\n")
    look = os.fstat

    def look_and_grow(descriptor: int) -> os.stat_result:
        found = look(descriptor)
        with path.open("a") as file:
            file.write("line\n")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", look_and_grow)
        with pytest.raises(ReadFailed) as caught:
            read_source(str(path), 1 << 40)
    assert caught.value.kind == "unstable"
    assert len(read_source(str(path), 1 << 40).data) == path.stat().st_size


def test_failures_of_conversion_carry_the_stat(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    outcome = perform(job(path))
    assert refused(outcome) == ("convert", "needs_ocr")
    assert isinstance(outcome, Failure)
    assert outcome.stat is not None
    path = tmp_path / "long.md"
    path.write_text("word " * 100)
    assert refused(perform(job(path, max_characters=100))) == ("convert", "too_long")


def test_a_path_that_cannot_be_is_an_outcome() -> None:
    assert refused(perform(job("/tmp/nul\0byte.md"))) == ("read", "failed")
