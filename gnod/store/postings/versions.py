"""The postings of a database: files in a folder beside it, and the versions of them that readers may still need.

A version has everything up to a clock (`gnod.store.documents.changes`). A reader takes the newest one that is not newer
than its snapshot. Segments are mapped into memory; they can be deleted while they are read. Knows no database.
"""

from __future__ import annotations

import contextlib
import mmap
import shutil
import time
import zlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod import atomic_file
from gnod.store.postings.merging import Kept
from gnod.store.postings.segment import Numbers, Segment, decode, encode

# Part of the folder. Raise it when the files change.
FORMAT = 1
# Snapshots are shorter.
_KEPT_S = 60.0
_MANIFEST = "manifest.json"


class Damaged(Exception):
    """The files are not what was written."""


@dataclass(frozen=True)
class Part:
    """A segment with the name of its file, its checksum, and which of its documents are alive (None: all)."""

    name: str
    checksum: int
    segment: Segment
    alive: Numbers | None = None

    @property
    def kept(self) -> Kept:
        return Kept(self.segment, self.alive)

    @cached_property
    def size(self) -> int:
        """Return the number of documents that are alive."""
        return self.kept.size

    @cached_property
    def length(self) -> int:
        """Return the number of their terms."""
        lengths = self.segment.lengths
        return int((lengths if self.alive is None else lengths[self.alive]).sum())

    def without(self, ids: Numbers) -> Part:
        _, numbers = self.segment.numbers_of(ids)
        if not len(numbers):
            return self
        alive = self.mask()
        alive[numbers] = False
        return replace(self, alive=alive)

    def numbers_of(self, ids: Numbers) -> Numbers:
        """Return the numbers of those of the ids that are alive here."""
        _, numbers = self.segment.numbers_of(ids)
        return numbers if self.alive is None else numbers[self.alive[numbers]]

    def mask(self) -> NDArray[np.bool_]:
        """Return a new array that tells which documents are alive."""
        return np.ones(len(self.segment), bool) if self.alive is None else self.alive.copy()


class Version(NamedTuple):
    """`clock` and `floor`: as in `changes.Position`."""

    clock: int
    floor: int
    parts: tuple[Part, ...] = ()


class _File(msgspec.Struct, frozen=True):
    name: str
    checksum: int
    removed: list[int]


class _Manifest(msgspec.Struct, frozen=True):
    format: int
    terms: int
    clock: int
    floor: int
    files: list[_File]


class Postings:
    """`terms`: the version of the terms in them. Belongs to any thread; one thread publishes."""

    def __init__(self, folder: Path, terms: int) -> None:
        self.folder = folder
        self._terms = terms
        self._versions: list[tuple[float, Version]] = []
        self._last_file = 0

    @property
    def newest(self) -> Version | None:
        versions = self._versions
        return versions[-1][1] if versions else None

    def up_to(self, clock: int) -> Version | None:
        """Return the newest version that is not newer than a clock."""
        return next((each for _, each in reversed(self._versions) if each.clock <= clock), None)

    def load(self) -> None:
        """Read what is in the folder; nothing if that is of another version. Raises Damaged and OSError."""
        try:
            manifest = msgspec.json.decode((self.folder / _MANIFEST).read_bytes(), type=_Manifest)
        except FileNotFoundError:
            return
        except msgspec.DecodeError as error:
            raise Damaged(f"{_MANIFEST}: {error}") from error
        if (manifest.format, manifest.terms) == (FORMAT, self._terms):
            parts = tuple(map(self._part, manifest.files))
            self._versions = [(time.monotonic(), Version(manifest.clock, manifest.floor, parts))]

    def written(self, segment: Segment) -> Part:
        """Write a segment to a file."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        name, checksum = self._free_name(), 0
        with (self.folder / name).open("xb") as file:
            for part in encode(segment):
                checksum = zlib.crc32(part, checksum)
                file.write(part)
        return Part(name, checksum, decode(self._mapped(name)))

    def publish(self, version: Version) -> None:
        """Make this the newest version; the files that no version needs are deleted."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        files = [_File(each.name, each.checksum, _removed(each)) for each in version.parts]
        manifest = _Manifest(FORMAT, self._terms, version.clock, version.floor, files)
        with atomic_file.replacing(self.folder / _MANIFEST) as file:
            file.write(msgspec.json.encode(manifest))
        now = time.monotonic()
        recent = [each for each in self._versions if now - each[0] < _KEPT_S]
        self._versions = [*(recent or self._versions[-1:]), (now, version)]
        self._delete_others(version)

    def drop(self) -> None:
        """Delete everything."""
        self._versions = []
        shutil.rmtree(self.folder, ignore_errors=True)

    def _delete_others(self, version: Version) -> None:
        needed = {each.name for each in version.parts}
        for path in self.folder.glob("*.segment"):
            if path.name not in needed:
                path.unlink(missing_ok=True)

    def _free_name(self) -> str:
        while True:
            self._last_file += 1
            name = f"{self._last_file:08d}.segment"
            if not (self.folder / name).exists():
                return name

    def _part(self, file: _File) -> Part:
        try:
            data = self._mapped(file.name)
            if zlib.crc32(data) != file.checksum:
                raise Damaged(f"{file.name}: checksum")
            part = Part(file.name, file.checksum, decode(data))
            return part.without(part.segment.ids[file.removed])
        except (OSError, ValueError, IndexError, msgspec.MsgspecError) as error:
            raise Damaged(f"{file.name}: {error}") from error

    def _mapped(self, name: str) -> memoryview:
        with (self.folder / name).open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def delete(folder: Path) -> None:
    """Delete the postings of a database that is replaced."""
    with contextlib.suppress(OSError):
        shutil.rmtree(folder)


def folder_of(database: Path) -> Path:
    return database.with_suffix(".postings")


def _removed(part: Part) -> list[int]:
    removed: list[int] = [] if part.alive is None else np.flatnonzero(~part.alive).tolist()
    return removed
