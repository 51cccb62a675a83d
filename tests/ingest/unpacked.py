"""Convert files in tests, including the files in them, as a worker does."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import pytest

from gnod.ingest.formats import ConversionFailed, Converted, convert
from gnod.ingest.workers.jobs import Container, FileJob
from gnod.ingest.workers.members import prepared
from gnod.ingest.workers.worker import _failure
from gnod.store.tables.records import FileStat, PreparedDocument

_LIMIT = 50_000_000


def converted(data: bytes | str, name: str, limit: int = _LIMIT) -> Converted:
    return convert(data.encode() if isinstance(data, str) else data, name, max_characters=limit)


def failure(data: bytes | str, name: str, limit: int = _LIMIT) -> ConversionFailed:
    with pytest.raises(ConversionFailed) as caught:
        converted(data, name, limit)
    return caught.value


class Unpacked(NamedTuple):
    """`texts`, and the reasons for `unread` files, by path."""

    texts: dict[str, str]
    unread: dict[str, str]

    @property
    def text(self) -> str:
        return "\n".join(self.texts.values())


def unpacked(data: bytes, name: str = "a.zip", **limits: float) -> Unpacked:
    job = FileJob(path="", relative_path=name, max_bytes=_LIMIT, max_characters=_LIMIT, **limits)  # type: ignore[arg-type]
    converted = convert(data, name, max_characters=job.max_characters)
    outcome = prepared(converted, job, "", FileStat(len(data), 1, 1), partial(_failure, "convert"))
    document, members = (outcome.document, outcome.members) if isinstance(outcome, Container) else (outcome, [])
    made = {path: each for path, each in [(name, document), *members] if isinstance(each, PreparedDocument)}
    unread = {f"{path}!/{each.name}": each.message for path, document in made.items() for each in document.unread}
    return Unpacked({path: each.markdown for path, each in made.items()}, unread)
