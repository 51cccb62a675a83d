"""Test the limits of unpacking: members, bytes, ratio and depth, for all nested archives of a file together."""

from __future__ import annotations

import contextlib
import re
import signal
import time
import tracemalloc
from pathlib import Path

import pytest

from benchmarks.hostile_samples import asking_for, bombs, slow_texts, zip_of_zeros, zipped
from gnod.ingest.formats import ConversionFailed, convert
from gnod.ingest.reading.converter import UNPACKED_MEMBERS
from gnod.ingest.reading.cpu_time import CpuTimeExceeded, limit_cpu_time
from tests.ingest.unpacked import failure, unpacked

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


# The names alone: to make the bombs takes a second.
BOMBS = ["flat.zip", "many.zip", "nested.zip", "deeper.zip", "bomb.docx", "bomb.pptx", "bomb.xlsx", "bomb.epub"]


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_named_and_not_unpacked(name: str) -> None:
    if name in ("nested.zip", "deeper.zip"):
        found = unpacked(bombs()[name], name)
        assert all(path.endswith(".zip") for path in found.texts)
        assert found.unread
        assert all("bomb" in reason or "more than 500 MB" in reason for reason in found.unread.values())
        return
    refused = failure(bombs()[name], name)
    assert refused.kind == "too_large"
    assert "bomb" in refused.message or "more than 500 MB" in refused.message


def test_notes_next_to_a_bomb_are_found() -> None:
    found = unpacked(zipped({"note.md": "wanted", "inner.zip": zip_of_zeros(["zeros.txt"], 60)}))
    assert found.texts["a.zip!/note.md"] == "wanted\n"
    assert found.unread["a.zip!/inner.zip"].startswith("The file is a zip bomb")


def test_no_bomb_is_forgotten() -> None:
    assert set(bombs()) == set(BOMBS)


def test_a_bomb_takes_no_memory() -> None:
    data = bombs()["many.zip"]
    tracemalloc.start()
    failure(data, "a.zip")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000


def test_members_are_counted_over_all_archives_inside() -> None:
    half = UNPACKED_MEMBERS // 2
    inner = zipped({f"{number}.md": f"word{number}" for number in range(half)})
    found = unpacked(zipped({"a.zip": inner, "b.zip": inner, "last.md": "beyond"}))
    assert len(found.texts) == UNPACKED_MEMBERS + 1
    assert "beyond" not in found.text
    assert found.unread["a.zip!/last.md"] == f"At most {UNPACKED_MEMBERS:,} of the files inside it are read."


def test_archives_are_read_to_a_depth() -> None:
    data = zipped({"note.md": "innermost"})
    for _ in range(2):
        data = zipped({"inner.zip": data, "beside.md": "beside"})
    assert "innermost" in unpacked(data).text
    for _ in range(2):
        data = zipped({"inner.zip": data, "beside.md": "beside"})
    assert "innermost" not in unpacked(data).text
    assert "beside" in unpacked(data).text


def test_the_message_says_what_is_wrong_with_an_archive() -> None:
    # The members are stored, so that a changed byte gives a wrong checksum.
    whole = zip_of_zeros([], 1, {"a.md": "first note", "b.md": "second note"})
    damaged = whole.replace(b"second", b"secon\0")
    assert failure(whole[:60], "a.zip").message == "The .zip file is cut off: its end is missing."
    found = unpacked(damaged)
    assert found.texts["a.zip!/a.md"] == "first note\n"
    assert found.unread == {"a.zip!/b.md": "The archive is damaged: b.md inside it cannot be unpacked."}


def test_after_the_time_limit_no_more_members_are_read() -> None:
    found = unpacked(zipped({"a.md": "first", "b.md": "second"}), members_s=-1.0)
    assert set(found.texts) == {"a.zip"}
    assert len(found.unread) == 2


@pytest.mark.parametrize("name", slow_texts())
def test_hostile_texts_are_read_in_time(name: str) -> None:
    """Without limits, each of these texts would take minutes or longer."""
    from gnod.ingest.prepare import prepare

    started = time.process_time()
    converted = convert(slow_texts()[name].encode(), name, max_characters=50_000_000)
    prepared = prepare(converted, relative_path=name, source_hash="", stat=None)
    assert "slowmark" in prepared.terms.body
    assert time.process_time() - started < 30  # the limit of a file is 60 s


def test_the_cpu_time_limit_ends_code_that_catches_every_exception() -> None:
    def endless() -> None:
        while True:
            with contextlib.suppress(Exception):
                re.match(r"(a+)+b", "a" * 40)

    with pytest.raises(CpuTimeExceeded), limit_cpu_time(0.2):
        endless()
    with limit_cpu_time(0.2):
        pass
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


@pytest.mark.parametrize("name", asking_for(Path("/")))
def test_no_document_reads_another_file(name: str, tmp_path: Path) -> None:
    canary = tmp_path / "canary.txt"
    canary.write_text("tweettweet")
    if name in ("entity.svg", "entity.xlsx"):
        with pytest.raises(ConversionFailed):
            convert(asking_for(canary)[name], name, max_characters=50_000_000)
        return
    converted = convert(asking_for(canary)[name], name, max_characters=50_000_000)
    assert "tweet" not in f"{converted.markdown} {converted.title} {converted.metadata}"
    assert converted.markdown
