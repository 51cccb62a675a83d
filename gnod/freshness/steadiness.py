"""Whether inodes and change times tell anything about the files of a folder. Must not depend on the disk.

Some network drives give a file another inode after a while, and some programs touch every file again and again. Each
walk would then read the whole folder, only to find that nothing has changed.
"""

from __future__ import annotations

from gnod.ingest.sync import SyncReport

# Stop trusting inodes if this many files, and at least half of a folder, differ in this many walks in a row.
_MANY = 100
_WALKS = 3

REASON = (
    "inodes or change times of its files change without their content: until the daemon starts again, only names, sizes"
    " and times of modification are compared"
)


class Steadiness:
    def __init__(self) -> None:
        self._walks = 0

    @property
    def is_lost(self) -> bool:
        return self._walks >= _WALKS

    def note(self, walk: SyncReport) -> None:
        """Take the report of a walk of the whole folder."""
        if not self.is_lost:
            is_in_vain = walk.in_vain >= max(_MANY, walk.seen / 2)
            self._walks = self._walks + 1 if is_in_vain else 0
