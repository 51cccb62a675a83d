"""Read logs: files that only grow, such as the transcripts of agents. Runs in the worker.

The parts of a log are documents. The hashes of the indexed parts decide where reading starts, so a new message at the
end of a large log requires reading only the last part. A job reads some parts and the next job continues, so neither
the memory nor the time of a job limits the size of a log. Must not depend on formats.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from gnod.ingest.member_names import path_of_part
from gnod.ingest.workers.jobs import FileJob, LogRead, Unchanged
from gnod.ingest.workers.source_file import ReadFailed, opened, read_at
from gnod.store.tables.records import FileStat, LogMark, LogPart, PreparedDocument

if TYPE_CHECKING:
    from gnod.ingest.reading.converter import LogText
    from gnod.ingest.reading.result import Converted

_EXTENSIONS = (".jsonl", ".log", ".weechatlog")
# Enough for the first lines, which may contain instructions.
_HEAD_BYTES = 1 << 20
# The maximum number of parts in one job, and the bytes that are read at once to find them.
_MOST_PARTS = 16
_WINDOW_BYTES = 32 << 20
_BLOCK_BYTES = 1 << 20
_BEGINNING = LogMark(0, 0, b"")


def may_be_log(path: str) -> bool:
    return path.lower().endswith(_EXTENSIONS)


def read(job: FileJob) -> LogRead | Unchanged | None:
    """Return the next parts of a log; None if the file is not one. Raises ReadFailed and ConversionFailed."""
    from gnod.ingest.formats.dispatch import log_reader

    with opened(job.path) as (descriptor, found):
        head = read_at(descriptor, 0, min(_HEAD_BYTES, found.size))
        reader = log_reader(head, job.relative_path, job.max_characters)
        return _Log(job, descriptor, found, reader).read() if reader else None


class _Log(NamedTuple):
    """The log in an open file. The next job reads what is appended in the meantime."""

    job: FileJob
    descriptor: int
    found: FileStat
    reader: Callable[[bytes, bytes], Iterator[LogText]]

    def read(self) -> LogRead | Unchanged:
        known = self._unchanged()
        if known and known[-1].mark.end == self.found.size:
            return Unchanged(source_hash=known[0].source_hash, stat=self.found)
        mark = self.job.read_on or (known[-1].mark if known else _BEGINNING)
        size = _WINDOW_BYTES
        while not (parts := [*islice(self._parts(mark, size), _MOST_PARTS)]):
            size *= 2  # a part or a line is longer
        is_complete = parts[-1].log is not None and parts[-1].log.end == self.found.size
        return LogRead(first=mark.number + 1, parts=parts, is_complete=is_complete, stat=self.found)

    def _unchanged(self) -> Sequence[LogPart]:
        """Return the known parts that would be equal if they were read again: all parts, or the first ones."""
        known = self.job.known_parts
        start = 0
        for number, part in enumerate(known):
            if self._hash(start, part.mark.end) != part.source_hash:
                # The end of the previous part depends on the changed line.
                return known[: max(number - 1, 0)]
            start = part.mark.end
        if start == self.found.size:
            return known
        # The last part has grown. If the known text does not end with a line end, its last line has grown too, and the
        # part before also depends on it.
        has_end = start > 0 and read_at(self.descriptor, start - 1, 1) == b"\n"
        return known[: max(len(known) - (1 if has_end else 2), 0)]

    def _parts(self, mark: LogMark, size: int) -> Iterator[PreparedDocument]:
        """Yield the parts in the next `size` bytes after a mark. Omit the last part if the log continues after these
        bytes."""
        left = self.found.size - mark.end
        data = read_at(self.descriptor, mark.end, min(size, left))
        if len(data) < min(size, left) or left <= 0:
            raise ReadFailed("unstable", "The file became shorter while it was being read.")
        start, number = 0, mark.number
        for part in self.reader(data, mark.state):
            if part.end == len(data) < left:
                return
            number += 1
            log = LogMark(number, mark.end + part.end, part.after)
            yield self._prepared(part.converted, log, data[start : part.end])
            start = part.end

    def _prepared(self, converted: Converted, log: LogMark, data: bytes) -> PreparedDocument:
        from gnod.ingest.prepare import prepare

        document = prepare(
            converted,
            relative_path=path_of_part(self.job.relative_path, log.number),
            source_hash=hashlib.sha256(data).hexdigest(),
            stat=FileStat(len(data), self.found.mtime_ns, 0),
            language=self.job.language,
            mask_secrets=self.job.mask_secrets,
        )
        return msgspec.structs.replace(document, log=log)

    def _hash(self, start: int, end: int) -> str:
        """Return the hash of a range of the file. The range may extend beyond the end of the file."""
        found = hashlib.sha256()
        for at in range(start, end, _BLOCK_BYTES):
            found.update(read_at(self.descriptor, at, min(_BLOCK_BYTES, end - at)))
        return found.hexdigest()
