"""Manage the files of the postings, in a folder beside the database, and the versions that readers may still need.

A version includes all changes up to a clock (`gnod.store.tables.changes`). A reader takes the newest version that is
not newer than its snapshot. Segments can be deleted while they are read. Must not depend on the database.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod import atomic_file
from gnod.private import private_folder
from gnod.store.keyword_index.postings.segment import Damaged, File, Numbers, Segment, opened

# Increase this if the format changes or existing files may be wrong. Files of another format are built again.
FORMAT = 5
# No snapshot is open for longer than this.
_KEPT_S = 60.0
_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class ListedSegment:
    """A segment with its file (None: no postings), its checksum, and a mask of the documents that are alive (None:
    all)."""

    file: File | None
    checksum: int
    segment: Segment
    alive: Numbers | None = None

    @cached_property
    def size(self) -> int:
        """Return the number of documents that are alive."""
        return len(self.segment) if self.alive is None else int(self.alive.sum())

    @cached_property
    def length(self) -> int:
        """Return the number of terms of the documents that are alive."""
        lengths = self.segment.lengths
        return int((lengths if self.alive is None else lengths[self.alive]).sum())

    @property
    def name(self) -> str:
        return self.file.name if self.file else ""

    @property
    def removed(self) -> list[int]:
        """Return the numbers of the documents that are not alive."""
        removed: list[int] = [] if self.alive is None else np.flatnonzero(~self.alive).tolist()
        return removed

    def without(self, ids: Numbers) -> ListedSegment:
        _, numbers = self.segment.numbers_of(ids)
        if not len(numbers):
            return self
        alive = self.mask()
        alive[numbers] = False
        return replace(self, alive=alive)

    def numbers_of(self, ids: Numbers) -> Numbers:
        """Return the numbers of the documents with these ids that are alive in this segment."""
        _, numbers = self.segment.numbers_of(ids)
        return numbers if self.alive is None else numbers[self.alive[numbers]]

    def mask(self) -> NDArray[np.bool_]:
        """Return a new mask of the documents that are alive."""
        return np.ones(len(self.segment), bool) if self.alive is None else self.alive.copy()


class Version(NamedTuple):
    """`clock` and `floor` are as in `changes.Position`."""

    clock: int
    floor: int
    parts: tuple[ListedSegment, ...] = ()


class _VersionsFile(msgspec.Struct, frozen=True):
    name: str
    checksum: int
    removed: list[int]


class _Manifest(msgspec.Struct, frozen=True):
    format: int
    terms: int
    clock: int
    floor: int
    files: list[_VersionsFile]


class Postings:
    """`terms`: the version of the terms. Thread-safe, but only one thread may publish."""

    # Whether another process has verified the files.
    _is_verified = False

    def __init__(self, folder: Path, terms: int) -> None:
        self.folder = folder
        self._terms = terms
        self._versions: list[tuple[float, Version]] = []
        self._last_file = 0
        self._is_in_doubt = False
        # Called when `verify` has work.
        self.when_in_doubt: Callable[[], None] = lambda: None

    @property
    def newest(self) -> Version | None:
        versions = self._versions
        return versions[-1][1] if versions else None

    def bytes_on_disk(self) -> int:
        total = 0
        for path in self.folder.glob("*.segment"):
            with contextlib.suppress(FileNotFoundError):  # a merge has replaced it
                total += path.stat().st_size
        return total

    def up_to(self, clock: int) -> Version | None:
        """Return the newest version up to a clock, or None."""
        return next((version for _, version in reversed(self._versions) if version.clock <= clock), None)

    def load(self) -> None:
        """Read and verify the files in the folder. Files of another version are ignored. Raises Damaged and OSError."""
        if found := self._read({}):
            self._keep(found)

    def doubt(self) -> bool:
        """Report that files may be damaged. Returns whether they will be verified."""
        self._is_in_doubt = True
        self.when_in_doubt()
        return True

    def verify(self) -> None:
        """Verify the newest version if it is in doubt. Raises Damaged."""
        if self._is_in_doubt and self.newest:
            self._is_in_doubt = False
            for part in self.newest.parts:
                _verify(part.file, part.checksum)

    def _read(self, known: Mapping[str, ListedSegment]) -> Version | None:
        """Read the folder, except the segments that are already known. Raises Damaged."""
        try:
            manifest = msgspec.json.decode((self.folder / _MANIFEST).read_bytes(), type=_Manifest)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise Damaged(f"{_MANIFEST}: {error}") from error
        if (manifest.format, manifest.terms) != (FORMAT, self._terms):
            return None
        return Version(manifest.clock, manifest.floor, tuple(self._listed(file, known) for file in manifest.files))

    def _listed(self, file: _VersionsFile, known: Mapping[str, ListedSegment]) -> ListedSegment:
        try:
            part = known.get(file.name)
            if part is None or part.checksum != file.checksum:
                path = self.folder / file.name
                if not self._is_verified:
                    _verify(File(path), file.checksum)
                part = self.part(path, file.checksum)
            return replace(part, alive=None).without(part.segment.ids(np.array(file.removed, np.intp)))
        except (OSError, ValueError, IndexError, msgspec.MsgspecError) as error:
            raise Damaged(f"{file.name}: {error}") from error

    def _keep(self, version: Version) -> None:
        now = time.monotonic()
        recent = [each for each in self._versions if now - each[0] < _KEPT_S]
        self._versions = [*(recent or self._versions[-1:]), (now, version)]

    def new_file(self) -> Path:
        """Return an unused path for the file of a segment."""
        private_folder(self.folder)
        while True:
            self._last_file += 1
            path = self.folder / f"{self._last_file:08d}.segment"
            if not path.exists():
                return path

    def part(self, path: Path, checksum: int) -> ListedSegment:
        """Return a segment that was written to a file."""
        file = File(path)
        return ListedSegment(file, checksum, opened(file))

    def publish(self, version: Version) -> None:
        """Make this the newest version, and delete the files that no version needs."""
        private_folder(self.folder)
        listed = [_VersionsFile(part.name, part.checksum, part.removed) for part in version.parts]
        manifest = _Manifest(FORMAT, self._terms, version.clock, version.floor, listed)
        with atomic_file.replacing(self.folder / _MANIFEST) as file:
            file.write(msgspec.json.encode(manifest))
        self._keep(version)
        self._delete_others(version)

    def drop(self) -> None:
        """Delete all versions and files."""
        self._versions = []
        shutil.rmtree(self.folder, ignore_errors=True)

    def _delete_others(self, version: Version) -> None:
        needed = {part.name for part in version.parts}
        for path in self.folder.glob("*.segment"):
            if path.name not in needed:
                path.unlink(missing_ok=True)


class SharedPostings(Postings):
    """The postings that another process publishes and has verified. They are read again when they change."""

    _is_verified = True

    def __init__(self, folder: Path, terms: int) -> None:
        super().__init__(folder, terms)
        self._seen: tuple[int, int] | None = None
        self._lock = threading.Lock()

    def doubt(self) -> bool:
        """Return False: the daemon repeats the read, and finds the damage itself."""
        return False

    def up_to(self, clock: int) -> Version | None:
        with self._lock:
            self._refresh()
        return super().up_to(clock)

    def _refresh(self) -> None:
        try:
            found = (self.folder / _MANIFEST).stat()
            if self._seen != (found.st_mtime_ns, found.st_ino):
                known = {part.name: part for part in self.newest.parts} if self.newest else {}
                if version := self._read(known):
                    self._keep(version)
                self._seen = found.st_mtime_ns, found.st_ino
        except (OSError, Damaged):  # they are being replaced, or were dropped
            self._versions, self._seen = [], None


def _verify(file: File | None, checksum: int) -> None:
    if file is not None and file.checksum() != checksum:
        raise Damaged(f"{file.name}: checksum")


def folder_of(database: Path) -> Path:
    return database.with_suffix(".postings")
