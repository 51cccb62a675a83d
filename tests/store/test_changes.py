"""The clock of changes: which changes advance it, what readers see, and when they start over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gnod.store.documents import collections, writing
from gnod.store.documents.collections import Folder
from gnod.store.tables import changes, failures
from gnod.store.tables.changes import ChangePage, Position
from gnod.store.tables.records import FileStat
from tests.small_index import SmallIndex

BEGIN = Position(0)


def page(index: SmallIndex, position: Position = BEGIN, *names: str, limit: int = 1000) -> ChangePage:
    return changes.read(index.reader, position, names, limit)


def now(index: SmallIndex) -> Position:
    return changes.present(index.reader)


def described(page: ChangePage) -> list[str]:
    """Return each change as a word and an address."""
    return [
        f"{'failed' if c.kind else 'indexed' if c.docid else 'removed'} {c.collection}/{c.path}" for c in page.changes
    ]


def fail(index: SmallIndex, path: str, kind: str = "corrupt", message: str = "It is damaged.") -> None:
    index.write(
        lambda c: failures.note(
            c,
            collections.id_of(c, "notes"),
            path,
            stage="convert",
            kind=kind,
            message=message,
            stat=None,
            now=0.0,
        )
    )


def forget(index: SmallIndex, path: str) -> None:
    index.write(lambda c: failures.forget(c, collections.id_of(c, "notes"), [path]))


def test_everything_from_the_beginning_in_order(small_index: SmallIndex) -> None:
    small_index.add({"b.md": "# B\n", "a.md": "# A\n"})
    found = page(small_index)
    assert described(found) == ["indexed notes/b.md", "indexed notes/a.md"]
    assert [c.title for c in found.changes] == ["B", "A"]
    assert [c.clock for c in found.changes] == sorted({c.clock for c in found.changes})
    assert found.position.clock == found.changes[-1].clock == now(small_index).clock
    assert not found.more


def test_only_changes_after_a_position(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# A\n"})
    seen = now(small_index)
    assert page(small_index, seen).changes == []
    small_index.add({"b.md": "# B\n"})
    small_index.remove("a.md")
    found = page(small_index, seen)
    assert described(found) == ["indexed notes/b.md", "removed notes/a.md"]
    assert not found.is_reset
    assert page(small_index, found.position).changes == []


def test_a_path_is_listed_once_in_its_newest_state(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# One\n", "b.md": "# B\n"})
    small_index.add({"a.md": "# Two\n"})
    found = page(small_index)
    assert [(c.path, c.title) for c in found.changes] == [("b.md", "B"), ("a.md", "Two")]


def test_a_touch_causes_no_change(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# A\n"})
    seen = now(small_index)
    small_index.write(lambda c: writing.touch(c, collections.id_of(c, "notes"), "a.md", FileStat(1, 2, 3)))
    small_index.write(writing.invalidate)
    small_index.add({"a.md": "# A\n"})
    assert now(small_index) == seen


def test_a_removed_path_that_comes_back(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# A\n"})
    small_index.remove("a.md")
    seen = now(small_index)
    small_index.remove("a.md")
    assert now(small_index) == seen, "it was gone already"
    small_index.add({"a.md": "# A\n"})
    assert described(page(small_index, seen)) == ["indexed notes/a.md"]


def test_failures(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# A\n"})
    seen = now(small_index)
    fail(small_index, "new.pdf")
    fail(small_index, "a.md", "unreadable", "no permission")
    found = page(small_index, seen)
    assert described(found) == ["failed notes/new.pdf", "failed notes/a.md"]
    new, old = found.changes
    assert (new.kind, new.message, new.docid) == ("corrupt", "It is damaged.", None)
    assert (old.kind, old.title) == ("unreadable", "A"), "its last good version is still found"

    seen = found.position
    fail(small_index, "new.pdf")
    assert now(small_index) == seen, "the same again is no news"
    fail(small_index, "new.pdf", "timeout")
    forget(small_index, "a.md")
    assert described(page(small_index, seen)) == ["failed notes/new.pdf", "indexed notes/a.md"]

    seen = now(small_index)
    forget(small_index, "new.pdf")
    assert described(page(small_index, seen)) == ["removed notes/new.pdf"]


def test_a_skipped_file_is_a_change_only_if_it_was_reported_before(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# A\n"})
    fail(small_index, "b.pdf")
    seen = now(small_index)
    fail(small_index, "photo.jpg", "binary")
    forget(small_index, "photo.jpg")
    assert now(small_index) == seen
    fail(small_index, "b.pdf", "too_large")
    fail(small_index, "a.md", "binary")
    small_index.remove("a.md")
    assert described(page(small_index, seen)) == ["removed notes/b.pdf", "removed notes/a.md"]


def test_pages(small_index: SmallIndex) -> None:
    small_index.add({f"{n}.md": f"# {n}\n" for n in range(7)})
    position, paths, sizes = BEGIN, [], []
    more = True
    while more:
        found = page(small_index, position, limit=3)
        paths += [c.path for c in found.changes]
        sizes.append(len(found.changes))
        position, more = found.position, found.more
    assert paths == [f"{n}.md" for n in range(7)]
    assert sizes == [3, 3, 1]
    assert position.clock == now(small_index).clock


def test_an_exactly_full_page_can_be_the_last(small_index: SmallIndex) -> None:
    small_index.add({f"{n}.md": f"# {n}\n" for n in range(3)})
    found = page(small_index, limit=3)
    assert (len(found.changes), found.more) == (3, False)


def test_some_collections_only(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# A\n"})
    small_index.add({"b.md": "# B\n"}, "work")
    small_index.add({"c.md": "# C\n"}, "other")
    found = page(small_index, BEGIN, "notes", "work")
    assert described(found) == ["indexed notes/a.md", "indexed work/b.md"]
    assert found.position.clock == now(small_index).clock, "what was left out need not be looked at again"


def test_removing_a_collection_reports_its_documents_and_failures(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# A\n"})
    fail(small_index, "b.pdf")
    fail(small_index, "photo.jpg", "binary")
    small_index.add({"c.md": "# C\n"}, "work")
    seen = now(small_index)
    small_index.write(lambda c: collections.mirror(c, [Folder("work", "/data/work", None)], []))
    found = page(small_index, seen)
    assert sorted(described(found)) == ["removed notes/a.md", "removed notes/b.pdf"]
    assert not found.is_reset


def test_a_cascading_delete_advances_the_clock(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# A\n"})
    fail(small_index, "b.pdf")
    seen = now(small_index)
    small_index.write(lambda c: c.execute("DELETE FROM collections").get)
    assert sorted(described(page(small_index, seen))) == ["removed notes/a.md", "removed notes/b.pdf"]


def test_a_collection_that_is_renamed(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# A\n", "gone.md": "# Gone\n"})
    small_index.remove("gone.md")
    fail(small_index, "b.pdf")
    seen = now(small_index)
    small_index.write(lambda c: collections.rename(c, "notes", "diary"))
    found = page(small_index, seen)
    assert not found.is_reset
    present = [each for each in described(found) if not each.startswith("removed")]
    assert sorted(present) == ["failed diary/b.pdf", "indexed diary/a.md"]
    assert {"removed notes/a.md", "removed notes/b.pdf"} <= set(described(found))
    assert described(page(small_index, seen, "notes")) == [each for each in described(found) if " notes/" in each]


def test_a_purge_raises_the_floor(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# A\n", "b.md": "# B\n"})
    seen = now(small_index)
    small_index.remove("b.md")
    small_index.add({"c.md": "# C\n"})
    recent = now(small_index)
    small_index.write(writing.purge)
    found = page(small_index, seen)
    assert found.is_reset
    assert described(found) == ["indexed notes/a.md", "indexed notes/c.md"]
    assert not page(small_index, recent).is_reset
    assert now(small_index) == recent, "to tidy up is no change"
    assert not page(small_index, found.position).is_reset


def test_starting_over_page_by_page_ends(small_index: SmallIndex) -> None:
    small_index.add({f"{n}.md": f"# {n}\n" for n in range(5)})
    seen = now(small_index)
    small_index.add({"x.md": "# X\n"})
    small_index.remove("x.md")
    small_index.write(writing.purge)
    position = seen
    pages: list[ChangePage] = []
    while not pages or pages[-1].more:
        pages.append(page(small_index, position, limit=2))
        position = pages[-1].position
    assert [p.is_reset for p in pages] == [True, False, False]
    assert [c.path for p in pages for c in p.changes] == [f"{n}.md" for n in range(5)]


def test_a_purge_while_a_client_starts_over(small_index: SmallIndex) -> None:
    small_index.add({f"{n}.md": f"# {n}\n" for n in range(5)})
    first = page(small_index, limit=2)
    small_index.remove("0.md")  # the client has read it, and the purge deletes its row
    small_index.write(writing.purge)
    assert page(small_index, first.position, limit=2).is_reset


def test_a_clock_of_another_database(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.add({"a.md": "# A\n"})
    older = now(small_index)
    other = SmallIndex(tmp_path / "other.sqlite")
    other.add({"b.md": "# B\n"})
    assert page(other, older).is_reset, "from before it was made"
    assert page(small_index, now(other)).is_reset, "from the future"
    other.close()


def test_the_clock_goes_on_after_a_restart(tmp_path: Path) -> None:
    index = SmallIndex(tmp_path / "i.sqlite")
    index.add({"a.md": "# A\n"})
    index.remove("a.md")
    seen = now(index)
    index.write(writing.purge)  # deletes the last row, but not the clock
    index.database.submit_maintenance(writing.compact).result()
    index.close()
    index = SmallIndex(tmp_path / "i.sqlite")
    assert now(index) == seen
    index.add({"b.md": "# B\n"})
    assert described(page(index, seen)) == ["indexed notes/b.md"]
    index.close()


@pytest.mark.slow
def test_a_crash_does_not_change_what_was_read_before(tmp_path: Path) -> None:
    """A process adds documents and prints each clock that it reads, until it is killed."""
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from gnod.store.tables import changes\n"
        "from tests.small_index import SmallIndex\n"
        "index = SmallIndex(Path(sys.argv[1]))\n"
        "for n in range(100000):\n"
        "    index.add({f'{n}.md': f'# {n}\\n'})\n"
        "    print(n, index.database.submit_read(changes.present).result().clock, flush=True)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "i.sqlite")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(20)]
        os.kill(process.pid, signal.SIGKILL)
    number, clock = map(int, lines[-1].split())
    index = SmallIndex(tmp_path / "i.sqlite")
    found = page(index, Position(clock))
    assert not found.is_reset
    assert [c.path for c in found.changes] == [f"{number + 1 + n}.md" for n in range(len(found.changes))]
    index.close()


def test_a_clock_lost_in_a_power_cut_is_detected(tmp_path: Path) -> None:
    index = SmallIndex(tmp_path / "i.sqlite")
    index.write(changes.leap)
    index.add({"a.md": "# A\n"})
    seen = now(index)
    index.write(changes.leap)
    index.add({"b.md": "# B\n"})
    assert described(page(index, seen)) == ["indexed notes/b.md"]

    # A position from a lost commit.
    lost = Position(now(index).clock + 3)
    for _ in range(3):
        index.write(changes.leap)
    assert now(index).clock > lost.clock
    index.add({"c.md": "# C\n"})
    assert described(page(index, seen)) == ["indexed notes/b.md", "indexed notes/c.md"]
    assert not page(index, seen).is_reset
    anew = page(index, lost)
    assert anew.is_reset
    assert described(anew) == ["indexed notes/a.md", "indexed notes/b.md", "indexed notes/c.md"]
    index.close()


def test_old_leaps_are_forgotten(tmp_path: Path) -> None:
    index = SmallIndex(tmp_path / "i.sqlite")
    index.add({"a.md": "# A\n"})
    index.write(changes.leap)
    early, lost = now(index), Position(now(index).clock - 1)
    for _ in range(200):
        index.write(changes.leap)
    assert page(index, early).is_reset
    assert page(index, lost).is_reset
    assert not page(index, now(index)).is_reset
    index.close()


def test_readers_start_over_when_an_older_database_is_restored(tmp_path: Path) -> None:
    index = SmallIndex(tmp_path / "i.sqlite")
    index.add({"moved.md": "# Once\n", "a.md": "# A\n", "b.md": "# B\n"})
    copy = tmp_path / "copy.sqlite"
    index.database.submit_maintenance(lambda c: c.execute("VACUUM INTO ?", (str(copy),))).result()
    index.add({"moved.md": "# Again\n"})
    first = page(index, limit=1)
    assert described(first) == ["indexed notes/a.md"]  # the current version of moved.md follows last
    index.close()
    older = SmallIndex(copy)
    older.write(changes.leap)
    assert described(page(older, first.position)) == ["indexed notes/b.md"], "a leap alone leaves one out"
    older.write(changes.make_readers_start_over)
    anew = page(older, first.position)
    assert anew.is_reset
    assert described(anew) == ["indexed notes/moved.md", "indexed notes/a.md", "indexed notes/b.md"]
    assert not page(older, anew.position).is_reset
    older.close()
