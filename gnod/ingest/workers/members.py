"""Make documents of a converted file and of all files in it, at any depth. Runs in the worker.

All files in a file share its limits: number, bytes and depth (gnod.ingest.formats), text and time. The document of the
enclosing file lists the files that are not read, with the reason.
"""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict
from collections.abc import Callable

import msgspec

from gnod.ingest.member_names import SEPARATOR, Names
from gnod.ingest.prepare import prepare
from gnod.ingest.reading.result import ConversionFailed, Converted, Member, too_long
from gnod.ingest.workers.jobs import Container, Failure, FileJob, Unchanged
from gnod.store.tables.records import FileStat, PreparedDocument, ScanReport, Unread

_MAX_LISTED = 200

Describe = Callable[[Exception], Failure]
"""Converts an error to a failure with a message for the user."""


def prepared(
    converted: Converted,
    job: FileJob,
    source_hash: str,
    stat: FileStat,
    describe: Describe,
    scans: ScanReport | None = None,
) -> PreparedDocument | Container:
    """Return the document of a file, with the documents of files in it if it has any. `scans`: the report on pages of
    the file itself."""
    reader = _MemberReader(job, stat, describe)
    document = reader.document(converted, job.relative_path, source_hash, stat)
    document = msgspec.structs.replace(document, scans=scans)
    return Container(document=document, members=reader.found) if reader.found else document


class _MemberReader:
    def __init__(self, job: FileJob, stat: FileStat, describe: Describe) -> None:
        self.found: list[tuple[str, PreparedDocument | Unchanged]] = []
        self._job = job
        self._stat = stat
        self._describe = describe
        self._left = job.max_characters
        self._until = time.monotonic() + job.members_s
        # The indexed members, by the path of an archive in the file.
        self._below: defaultdict[str, list[str]] = defaultdict(list)
        for known in job.known_members:
            outer = known.rpartition(SEPARATOR)[0]
            while SEPARATOR in outer:
                self._below[outer].append(known)
                outer = outer.rpartition(SEPARATOR)[0]

    def document(self, converted: Converted, path: str, source_hash: str, stat: FileStat) -> PreparedDocument:
        document = prepare(
            converted,
            relative_path=path,
            source_hash=source_hash,
            stat=stat,
            language=self._job.language,
            mask_secrets=self._job.mask_secrets,
        )
        self._left -= len(document.markdown)
        unread = [*document.unread, *(Unread("", *part) for part in converted.left_out.items())]
        names = Names()
        for member in converted.members():
            name = names.name(member.name)
            try:
                self._member(member, f"{path}{SEPARATOR}{name}")
            except Exception as error:
                failure = self._describe(error)
                unread.append(Unread(name, failure.kind, failure.message))
        return msgspec.structs.replace(document, unread=_listed(unread))

    def _member(self, member: Member, path: str) -> None:
        """Raises ConversionFailed and all other errors of converters."""
        if self._job.without_members and not member.is_part:
            raise ConversionFailed("failed", self._job.without_members)
        if time.monotonic() > self._until:
            raise ConversionFailed(
                "timeout", f"The files inside take longer than {self._job.members_s:g} s: no more of them are read."
            )
        content = member.content()
        source_hash = hashlib.sha256(content.data).hexdigest()
        if self._is_known(path, source_hash):
            self._keep(path)
            return
        if self._left <= 0:
            raise too_long(self._job.max_characters)
        stat = FileStat(len(content.data), self._stat.mtime_ns, 0)
        converted = content.convert(msgspec.structs.replace(content, max_characters=self._left))
        place = len(self.found)
        try:
            document = self.document(converted, path, source_hash, stat)
        except Exception:
            del self.found[place:]
            raise
        self.found.insert(place, (path, document))

    def _is_known(self, path: str, source_hash: str) -> bool:
        """Return whether a member is indexed with these bytes, and no file in it must be read again."""
        known = self._job.known_members
        return known.get(path) == source_hash and all(known[each] for each in self._below[path])

    def _keep(self, path: str) -> None:
        """Record a member, and all files in it, as unchanged."""
        for each in (path, *self._below[path]):
            self.found.append((each, Unchanged(source_hash=self._job.known_members[each], stat=self._stat)))


def _listed(unread: list[Unread]) -> list[Unread]:
    """Return the entries to store. If there are too many, the last entry counts the others."""
    if len(unread) <= _MAX_LISTED:
        return unread
    more = len(unread) - _MAX_LISTED
    return [*unread[:_MAX_LISTED], Unread("", "more", f"{more:,} more files")]
