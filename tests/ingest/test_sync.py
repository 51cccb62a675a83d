"""Test syncs of a real folder through real workers into a real database, including after changes."""

from __future__ import annotations

import asyncio
import os
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.ingest import sync as sync_module
from gnod.ingest.files.plan import FolderComparison
from gnod.ingest.sync import SyncReport
from gnod.store.documents import writing
from gnod.store.tables import documents
from gnod.store.tables.failures import FailedFile
from gnod.store.tables.records import Between, FileStat
from tests.ingest.syncing import syncing
from tests.small_index import SmallIndex


def write(root: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = root / name.replace("__", "/").replace("_md", ".md").replace("_pdf", ".pdf")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def counts(report: SyncReport) -> tuple[int, int, int, int, int]:
    return report.added, report.updated, report.unchanged, report.removed, report.failed


@pytest.mark.slow
async def test_a_folder_through_its_life(small_index: SmallIndex, tmp_path: Path) -> None:
    root = tmp_path / "notes"
    write(root, a_md="# Zebra\n", b_md="# Lion\n", d__c_md="# Tiger\n")
    async with syncing(small_index, root) as sync:
        assert counts(await sync()) == (3, 0, 0, 0, 0)
        assert counts(await sync()) == (0, 0, 3, 0, 0)

        write(root, a_md="# Giraffe\n")
        os.utime(root / "b.md", (1, 1))  # touched, not changed
        shutil.move(root / "d/c.md", root / "moved.md")
        assert counts(await sync()) == (1, 1, 1, 1, 0)
        assert small_index.search("zebra") == []
        assert small_index.search("giraffe") == ["a.md"]
        assert small_index.search("tiger") == ["moved.md"]

        shutil.rmtree(root)
        gone = await sync()
        assert not gone.available
        assert "does not exist" in (gone.reason or "")
        assert small_index.search("lion") == ["b.md"]  # an unmounted drive deletes nothing

        write(root, b_md="# Lion\n")
        assert (await sync()).removed == 2
        assert small_index.rows("SELECT count(*) FROM content") == [(1,)]


@pytest.mark.slow
async def test_a_file_with_the_same_size_and_time_is_read_when_its_change_time_differs(
    small_index: SmallIndex, tmp_path: Path
) -> None:
    root = tmp_path / "notes"
    write(root, a_md="# Zebra\n", b_md="# Lion\n", data="\0camel\n")
    async with syncing(small_index, root) as sync:
        await sync()
        write_unseen(root / "a.md", "# Tiger\n")
        write_unseen(root / "data", "camels\n")
        (root / "b.md").chmod(0o600)
        report = await sync()
    assert (report.updated, report.unchanged, report.in_vain, report.skipped) == (1, 1, 1, 0)
    assert small_index.search("tiger") == ["a.md"]
    assert small_index.search("camels") == ["data"]


def write_unseen(path: Path, text: str) -> None:
    """Overwrite a file in place, with the same inode, size and time of modification."""
    found = path.stat()
    path.write_text(text)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert path.stat().st_size == found.st_size


@pytest.mark.slow
async def test_incremental_equals_fresh(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    incremental = SmallIndex(tmp_path / "one.sqlite")
    write(root, a_md="# One\n\nzebra\n", b_md="# Two\n\nzebra\n", c_md="same\n", d_md="same\n")
    async with syncing(incremental, root) as sync:
        await sync()
        write(root, a_md="# One\n\nlion\n", e_md="# Five\n\nzebra\n")
        (root / "b.md").unlink()
        (root / "c.md").unlink()
        await sync()
    fresh = SmallIndex(tmp_path / "two.sqlite")
    async with syncing(fresh, root) as sync:
        await sync()
    for sql in (
        "SELECT path, docid, mirror_hash, title, language FROM documents WHERE active ORDER BY path",
        "SELECT * FROM chunks ORDER BY mirror_hash, seq",
        "SELECT mirror_hash, markdown FROM content ORDER BY mirror_hash",
    ):
        assert incremental.rows(sql) == fresh.rows(sql)
    for query in ("zebra", "lion", "same", "one", "five"):
        assert incremental.search(query) == fresh.search(query)
    incremental.close()
    fresh.close()


@pytest.mark.slow
async def test_titles_and_headings_of_every_markup(small_index: SmallIndex, tmp_path: Path) -> None:
    headings = {
        "a.md": ("# Manual", "## Setup"),
        "a.rst": ("Manual\n======", "Setup\n-----"),
        "a.adoc": ("= Manual", "== Setup"),
        "a.asciidoc": ("= Manual", "== Setup"),
        "a.org": ("* Manual", "** Setup"),
    }
    root = tmp_path / "notes"
    root.mkdir()
    for name, (title, section) in headings.items():
        (root / name).write_text(f"{title}\n\n{'zebra ' * 400}{name}\n\n{section}\n\n{'lion ' * 400}\n")
    async with syncing(small_index, root) as sync:
        await sync()
    assert small_index.rows("SELECT title FROM documents") == [("Manual",)] * 5
    for name in headings:
        join = f"JOIN documents d USING (mirror_hash) WHERE d.path = '{name}'"
        found = small_index.rows(f"SELECT heading FROM chunks {join} ORDER BY seq")
        assert found == [("Manual",), ("Manual > Setup",)], name


@pytest.mark.slow
async def test_a_bad_file_is_recorded_and_every_other_is_indexed(small_index: SmallIndex, tmp_path: Path) -> None:
    root = tmp_path / "notes"
    write(root, good_md="# Zebra\n", bad_pdf="%PDF-1.4 but nothing more")
    (root / "big.md").write_bytes(b"x" * 2_000_000)
    (root / "image.gif").write_bytes(b"GIF89a" + bytes(100))
    async with syncing(small_index, root) as sync:
        report = await sync()
        assert (report.added, report.failed, report.skipped) == (1, 1, 2)
        rows = small_index.rows("SELECT path, kind, times FROM (SELECT path, kind, count AS times FROM ingest_errors)")
        assert {(path, kind) for path, kind, _ in rows} >= {("big.md", "too_large")}
        again = await sync()  # the unchanged file is not tried again, but still counts
        assert (again.added, again.failed, again.skipped, again.unchanged) == (0, 1, 2, 1)

        write(root, bad_pdf="# now text\n")
        (root / "bad.pdf").rename(root / "bad.md")
        assert (await sync()).failed == 0
        assert small_index.rows("SELECT count(*) FROM ingest_errors WHERE path LIKE 'bad%'") == [(0,)]


@given(st.lists(st.tuples(st.sampled_from(["a.md", "b.txt", "c.pdf", "d\n.md"]), st.sampled_from([1, 16_000, 16_001]))))
def test_files_stay_in_order_when_small_texts_are_converted_together(found: list[tuple[str, int]]) -> None:
    files = {f"{number}-{name}": FileStat(size, 1, 1) for number, (name, size) in enumerate(found)}
    groups = list(sync_module.together(list(files), files))
    assert [path for group in groups for path in group] == list(files)
    for group in groups:
        assert 1 <= len(group) <= 64
        small = [path.endswith((".md", ".txt")) and "\n" not in path and files[path].size <= 16_000 for path in group]
        assert len(group) == 1 or all(small)
    sizes = [len(group) for group in sync_module.together(["1.md"] * 500, {"1.md": FileStat(1, 1, 1)})]
    assert sizes[:4] == [64, 64, 64, 61]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-6:] == [1] * 6


@pytest.mark.slow
async def test_a_bad_file_does_not_affect_small_texts_converted_with_it(
    small_index: SmallIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(Path(__file__).parent)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", folder, prepend=":")
    monkeypatch.setattr(sync_module, "_TEXTS", (".md", ".deed"))
    root = tmp_path / "notes"
    write(root, **{f"n{number:02d}_md": f"# Note {number}\n\nheron\n" for number in range(40)})
    (root / "n20a.deed").write_text("leave\n3")
    (root / "n21a.md").write_bytes(b"MZ\0\0\0\0")
    (root / "n22a\n.md").write_text("# A name of two lines\n\nheron\n")
    async with syncing(small_index, root, module="bad_converter") as sync:
        report = await sync()
    assert (report.added, report.failed, report.skipped) == (41, 1, 1)
    assert small_index.rows("SELECT path, kind FROM ingest_errors ORDER BY path") == [
        ("n20a.deed", "crashed"),
        ("n21a.md", "binary"),
    ]
    assert small_index.rows("SELECT count(*) FROM documents_fts WHERE documents_fts MATCH 'heron'") == [(41,)]


@pytest.mark.slow
async def test_a_document_whose_file_became_bad_is_no_longer_found(small_index: SmallIndex, tmp_path: Path) -> None:
    root = tmp_path / "notes"
    write(root, a_md="# Zebra\n")
    async with syncing(small_index, root) as sync:
        await sync()
        (root / "a.md").write_bytes(bytes(range(256)) * 20)
        await sync()
        assert small_index.search("zebra") == []


@pytest.mark.slow
async def test_a_cancelled_sync_can_be_run_again(small_index: SmallIndex, tmp_path: Path) -> None:
    root = tmp_path / "notes"
    write(root, **{f"n{i}_md": f"# Note {i}\n\nzebra\n" for i in range(150)})
    stages: list[str] = []
    async with syncing(small_index, root, stages) as sync:
        task = asyncio.ensure_future(sync())
        async with asyncio.timeout(60):
            while "index" not in stages:  # noqa: ASYNC110  (there is no event to wait for)
                await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        report = await sync()
        assert report.added + report.unchanged == 150
    assert len(small_index.search("zebra", limit=200)) == 150


@pytest.mark.slow
async def test_other_writes_do_not_wait_for_a_large_removal(small_index: SmallIndex, tmp_path: Path) -> None:
    write(tmp_path / "notes", kept_md="# Kept\n")
    async with syncing(small_index, tmp_path / "notes") as sync:
        small_index.add({f"{number}.md": f"zebra {number}" for number in range(1100)})
        reader = small_index.database.open_reader()
        left: list[int] = []
        small_index.database.written.connect(lambda: left.append(documents.count_under(reader, None, "")))
        assert counts(await sync()) == (1, 0, 0, 1100, 0)
    assert [each for each in left if 1 < each < 1100]
    assert small_index.search("zebra") == []


@pytest.mark.slow
async def test_many_moved_files_keep_their_vectors(small_index: SmallIndex, tmp_path: Path) -> None:
    root = tmp_path / "notes"
    write(root, **{f"old__n{i}_md": f"# Note {i}\n\nzebra\n" for i in range(120)}, gone_md="# Gone\n")
    async with syncing(small_index, root) as sync:
        await sync()
        assert small_index.embed("file:/m.gguf") == 121
        before = small_index.rows("SELECT id, embed_hash FROM content_vectors ORDER BY id")[:121]
        (root / "old").rename(root / "new")
        (root / "gone.md").unlink()
        assert counts(await sync()) == (120, 0, 0, 121, 0)
        after = small_index.rows("SELECT id, embed_hash FROM content_vectors ORDER BY id")
        assert len(after) == 120
        assert set(after) < set(before)

        # The next change removes the leftovers of a crash between the steps.
        leave_behind(small_index, root / "new/n1.md")
        (root / "new/n2.md").unlink()
        await sync()
        assert small_index.rows("SELECT count(*) FROM content_vectors") == [(118,)]
    # The first run after the crash also removes them, even if it has nothing else to do.
    leave_behind(small_index, root / "new/n3.md")
    async with syncing(small_index, root, is_first=True) as sync:
        assert counts(await sync()) == (0, 0, 117, 0, 0)
    assert small_index.rows("SELECT count(*) FROM content_vectors") == [(117,)]
    # If the daemon still runs, it knows the leftovers of an interrupted run, and the next run removes them.
    left = leave_behind(small_index, root / "new/n4.md")
    async with syncing(small_index, root, left=left) as sync:
        assert counts(await sync()) == (0, 0, 116, 0, 0)
    assert small_index.rows("SELECT count(*) FROM content_vectors") == [(116,)]
    assert left == set()


def leave_behind(index: SmallIndex, path: Path) -> set[str]:
    """Remove a document like an interrupted sync. Returns the leftovers."""
    name = f"{path.parent.name}/{path.name}"
    left: set[str] = set()
    index.write(lambda c: writing.remove(c, 1, [name], now=1.0, left=left))
    path.unlink()
    return left


STAT = FileStat(1, 1, 1)


def failed(kind: str, *, last_at: float = 0.0, times: int = 1) -> FailedFile:
    return FailedFile("c", "a", "convert", kind, "", 0.0, last_at, times, False, STAT)


@pytest.mark.parametrize(
    ("failure", "now", "is_read"),
    [
        (failed("corrupt"), 1e9, False),
        (failed("unreadable"), 0.0, True),
        (failed("timeout"), 60.0, False),
        (failed("timeout"), 1e9, True),
        (failed("timeout", times=5), 1e9, False),
    ],
)
def test_which_failures_are_tried_again(failure: FailedFile, now: float, is_read: bool) -> None:
    found = FolderComparison()
    found.add({"a": STAT}, [], {"a": failure}, now)
    assert (list(found.read), found.again) == (["a"], 1) if is_read else ([], 0)
    assert dict(found.failing) == ({} if is_read else {failure.kind: 1})


def test_a_file_that_is_known_twice_is_still_there() -> None:
    found = FolderComparison()
    found.add({"a": STAT}, [("a", STAT), ("a", STAT)], {}, 0.0)
    plan = found.plan((), ())
    assert (plan.read, plan.remove, found.unchanged) == ([], [], 1)


def test_the_index_has_the_order_of_paths_that_a_walk_has(small_index: SmallIndex) -> None:
    paths = ["a-.md", "a.md", "a/b.md", "a0.md", "\u00e9.md", "\uffff.md", "\U0001f600.md"]
    small_index.add(dict.fromkeys(paths, "text"))
    ranges = [Between(*ends) for ends in pairwise([None, *paths, None])]
    found = [list(documents.stats(small_index.reader, 1, each)) for each in ranges]
    assert [[path for path, _ in each] for each in found] == [*([path] for path in paths), []]


def test_nothing_is_removed_below_a_folder_that_cannot_be_listed() -> None:
    known = [(path, STAT) for path in ("x/a", "x/b/c", "y/a")]
    found = FolderComparison()
    found.add({}, known, {}, 0.0)
    assert found.plan(["x"], ()).remove == ["y/a"]
    assert found.plan([""], ()).remove == []
