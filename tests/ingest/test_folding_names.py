"""Test a file system that folds names: events may spell a path differently from the list of its folder."""

from __future__ import annotations

import os
import random
import shutil
import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from gnod.config.model import CollectionConfig
from gnod.disks.looks import Looks
from gnod.disks.spellings import real_path
from gnod.freshness.events.source import EventSource, FileEvents, NotWatchable, OnEvents
from gnod.freshness.folder_watch import FolderWatch
from gnod.freshness.timings import SyncTimings
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.scope import WHOLE, Scope, of_paths
from gnod.ingest.files.walk import root_problem, walk
from gnod.ingest.sync import Sync
from gnod.ingest.workers.pool import WorkerPool
from gnod.store.documents.collections import Folder, mirror
from tests.folding import DATALESS, DISK, ELSEWHERE, NO_ACCESS, USUAL, folding_disk
from tests.folding_mount import folding_mount
from tests.ingest.syncing import LIMITS
from tests.small_index import SmallIndex

_NAMES = ["é.md", "Große Übung.md", "ǰ ồ.md", "plain.md", "bad.pdf", "\u1fb3\u0301.md"]
_FOLDERS = ["", "Ä", "Ä/Ordner", "notes", "가"]
_TEXTS = ["# One\n\nzebra\n", "# Two\n\nlion\n", "[[É]] and tiger\n", ""]
_FORMS: tuple[Literal["NFC"], Literal["NFD"]] = ("NFC", "NFD")
_STEPS = 8


class Followed:
    """A folder that two collections index: `followed` by events, and `fresh` from scratch."""

    def __init__(self, index: SmallIndex, pool: WorkerPool, root: Path) -> None:
        self.index, self.pool, self.root = index, pool, root
        self.place = Looks().at(str(root))
        folders = [Folder(name, str(root), None) for name in ("followed", "fresh")]
        index.write(lambda c: mirror(c, [], []))  # remove the rows of earlier folders
        index.write(lambda c: mirror(c, folders, []))

    async def sync(self, scope: Scope = WHOLE, name: str = "followed") -> None:
        await Sync(
            CollectionConfig(name=name, path=str(self.root)),
            database=self.index.database,
            pool=self.pool,
            limits=LIMITS,
            ignore_files=IgnoreFiles(),
            progress=lambda *_: None,
            place=self.place,
            scope=scope,
        ).run()

    async def noticed(self, events: set[str]) -> Scope:
        """Return the scope that the watch of the folder derives from events."""
        scopes: list[Scope] = []

        def tell(_: str, on_events: OnEvents) -> EventSource:
            on_events(FileEvents(frozenset(events)))
            raise NotWatchable("these are all events")

        config = CollectionConfig(name="followed", path=str(self.root))
        await FolderWatch(config, scopes.append, tell, SyncTimings()).open(self.place)
        return scopes[0]

    def contents(self, name: str = "followed") -> list[object]:
        join = f"JOIN collections c ON c.id = collection_id WHERE c.name = '{name}'"
        documents = f"SELECT d.path, size, inode, source_hash, title FROM documents d {join} AND active ORDER BY d.path"
        return [*self.index.rows(documents), *self.index.rows(f"SELECT e.path, kind FROM ingest_errors e {join}")]


@asynccontextmanager
async def following(tmp_path: Path) -> AsyncIterator[partial[Followed]]:
    with folding_disk():
        index = SmallIndex(tmp_path / "index.sqlite")
        pool = WorkerPool(size=1, timeout_s=30, memory_mb=2048, module="folding_worker")
        try:
            yield partial(Followed, index, pool)
        finally:
            await pool.close()
            index.close()


@pytest.fixture(autouse=True)
def worker_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=":")


class History:
    """Random changes of a folder. `events`: the reported paths of the changes, in any spelling."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.events: set[str] = set()
        self._random = random.Random(seed)

    def spelled(self, path: str) -> str:
        cased = self._random.choice([path, path, path.upper(), path.lower()])
        return unicodedata.normalize(self._random.choice(_FORMS), cased)

    def path(self) -> str:
        folder, name = self._random.choice(_FOLDERS), self._random.choice([*_NAMES, "", "", ""])
        return self.spelled(f"{folder}/{name}".strip("/")) or "plain.md"

    def tell(self, *paths: str) -> None:
        self.events.update(map(self.spelled, paths))

    def step(self) -> None:
        change = self._random.choice(
            [self.write, self.write, self.write, self.delete, self.rename, self.recase, self.fail]
        )
        with suppress(OSError):
            change(self.path())

    def write(self, path: str) -> None:
        file = self.root / path
        for above in reversed(file.relative_to(self.root).parents):
            if not (self.root / above).exists():
                (self.root / above).mkdir()
                self.tell(str(above))
        file.write_text(self._random.choice(_TEXTS))
        self.tell(path)

    def delete(self, path: str) -> None:
        file = self.root / path
        shutil.rmtree(file) if file.is_dir() else file.unlink()
        self.tell(path)

    def rename(self, path: str) -> None:
        to = self.path()
        (self.root / path).rename(self.root / to)
        self.tell(path, to)

    def recase(self, path: str) -> None:
        to = "/".join([*path.split("/")[:-1], self.spelled(path.split("/")[-1])])
        (self.root / path).rename(self.root / to)
        self.tell(self._random.choice([path, to]))

    def fail(self, path: str) -> None:
        (self.root / path).chmod(self._random.choice([NO_ACCESS, ELSEWHERE]))
        self.tell(path)

    def mend(self) -> None:
        for here, folders, files in os.walk(self.root):
            for path in (Path(here, name) for name in [*folders, *files]):
                if path.stat().st_mode & 0o700 == 0:
                    path.chmod(USUAL)
                    self.tell(str(path.relative_to(self.root)))


@pytest.mark.parametrize(
    ("first", "histories"),
    [(0, 20), *(pytest.param(first, 500, marks=pytest.mark.stress) for first in range(0, 2000, 500))],
)
@pytest.mark.slow
async def test_events_in_any_spelling_lead_to_the_index_that_a_walk_makes(
    tmp_path: Path, first: int, histories: int
) -> None:
    async with following(tmp_path) as follow:
        for seed in range(first, first + histories):
            root = tmp_path / DISK / str(seed)
            root.mkdir(parents=True)
            await check(follow(root), History(root, seed))


async def check(folder: Followed, history: History) -> None:
    for number in range(_STEPS + 1):
        history.step() if number < _STEPS else history.mend()
        if number % 3 == 2 and history.events:
            await folder.sync(await folder.noticed(history.events))
            history.events.clear()
    await folder.sync(name="fresh")
    assert folder.contents() == folder.contents("fresh"), f"history {folder.root.name}"


@pytest.mark.slow
async def test_a_file_that_cannot_be_read_now_keeps_its_document(tmp_path: Path) -> None:
    async with following(tmp_path) as follow:
        root = tmp_path / DISK / "notes"
        (root / "é").mkdir(parents=True)
        (root / "é/a.md").write_text("# Boat\n")
        folder = follow(root)
        await folder.sync()
        document = folder.contents()
        for mode in (ELSEWHERE, DATALESS):
            (root / "é/a.md").chmod(mode)
            await folder.sync(of_paths(["E\u0301/A.MD"]))
            assert folder.contents() == [*document, ("é/a.md", "not_downloaded")]
        (root / "é").chmod(NO_ACCESS)
        await folder.sync(of_paths(["E\u0301"]))
        assert folder.contents()[:1] == document


@pytest.mark.slow
async def test_where_case_counts_two_files_are_two_documents(small_index: SmallIndex, tmp_path: Path) -> None:
    pool = WorkerPool(size=1, timeout_s=30, memory_mb=2048)
    root = tmp_path / "notes"
    root.mkdir()
    folder = Followed(small_index, pool, root)
    for name in ("a.md", "A.md", "\xe9.md", "e\u0301.md"):
        (root / name).write_text(f"# {name}\n")
    await folder.sync()
    (root / "A.md").write_text("# Changed\n")
    (root / "e\u0301.md").unlink()
    await folder.sync(of_paths(["a.md", "A.md", "e\u0301.md"]))
    await folder.sync(name="fresh")
    await pool.close()
    assert folder.contents() == folder.contents("fresh")
    assert len(folder.contents()) == 3


def test_the_system_decides_on_the_spelling_of_a_path(tmp_path: Path) -> None:
    root = tmp_path / DISK / "Notes/Große Übung"
    with folding_disk():
        root.mkdir(parents=True)
        (root / "é.md").write_text("x")
        (root / "link.md").symlink_to(tmp_path / DISK / "notes/GROSSE übung/é.md")
        typed = f"{tmp_path}/{DISK}/NOTES/grosse u\u0308bung"
        assert real_path(typed) == str(root)
        assert real_path(f"{typed}/none/A.md") == f"{root}/none/A.md"
        found = walk(CollectionConfig(name="notes", path=str(root)), IgnoreFiles(), of_paths(["E\u0301.MD", "link.md"]))
        assert set(found.files) == {"é.md", "link.md"}
    assert real_path(typed) == typed


def test_a_path_is_found_in_another_composition_on_every_system(tmp_path: Path) -> None:
    (tmp_path / "u\u0308/e\u0301").mkdir(parents=True)
    assert real_path(f"{tmp_path}/\xfc/\xe9") == f"{tmp_path}/u\u0308/e\u0301"
    assert root_problem(f"{tmp_path}/\xfc") == (
        f"the folder {tmp_path}/\xfc does not exist, but the same name in another Unicode form does:"
        f" write {tmp_path}/u\u0308"
    )
    assert real_path(f"{tmp_path}/U\u0308") == f"{tmp_path}/U\u0308"


@pytest.mark.slow
async def test_on_a_real_file_system_that_folds_names(tmp_path: Path) -> None:
    (tmp_path / DISK).mkdir()
    with folding_mount(tmp_path / DISK, tmp_path / "mounted"):
        async with following(tmp_path) as follow:
            (tmp_path / DISK / "é.md").touch()
            assert (tmp_path / "mounted/E\u0301.MD").samefile(tmp_path / "mounted/é.md")
            for seed in range(10):
                (tmp_path / DISK / str(seed)).mkdir()
                await check(follow(tmp_path / "mounted" / str(seed)), History(tmp_path / DISK / str(seed), seed))
