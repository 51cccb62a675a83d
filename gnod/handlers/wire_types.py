"""Convert between the wire's types and the services' types: the conversions that several methods need."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypedDict

import msgspec

from gnod.background.embedding_backlog import Backlog
from gnod.config.model import CollectionConfig
from gnod.errors import InvalidParams
from gnod.freshness.read_your_writes import FreshnessReport
from gnod.locations import SourceLocation
from gnod.protocol import base as wire
from gnod.protocol.base import Freshness, copied
from gnod.protocol.collections import CollectionInfo
from gnod.protocol.documents import DocumentEntry
from gnod.protocol.index import EmbeddingStatus, IngestError
from gnod.protocol.search import DocumentFilters
from gnod.search.correction.query_correction import WordCorrection
from gnod.search.hits import Copies
from gnod.search.hybrid.budget import Stage
from gnod.search.query.filter_dates import moment
from gnod.store.tables import tags
from gnod.store.tables.copies import CopyPath
from gnod.store.tables.documents import DocumentRow
from gnod.store.tables.failures import FailedFile
from gnod.store.tables.filters import Filters
from gnod.types import format_uri

Stages = list[dict[str, object]]
"""The report of `explain` about each stage of a search."""


_TO_THE_SECOND = len("1970-01-01T00:00:00")


class Also(TypedDict, total=False):
    """Fields of a result: other files with the same bytes, and how many more exist."""

    also: list[wire.Copy]
    also_left_out: int


def corrections_of(corrections: Sequence[WordCorrection]) -> list[wire.Correction]:
    return [copied(wire.Correction, correction) for correction in corrections]


def iso(seconds: float) -> str:
    """Return seconds since 1970 as ISO 8601 in UTC, to the second.

    >>> iso(0)
    '1970-01-01T00:00:00Z'
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()[:_TO_THE_SECOND] + "Z"
    except (OverflowError, ValueError, OSError):  # the time of a file may have any value
        return "1970-01-01T00:00:00Z"


def entry(document: DocumentRow) -> DocumentEntry:
    return copied(
        DocumentEntry,
        document,
        uri=document.uri,
        source=document.source,
        modified=iso(document.mtime_ns / 1e9),
        metadata=msgspec.UNSET,
    )


def also(copies: Copies) -> Also:
    return Also(also=[_copy(each) for each in copies.shown], also_left_out=copies.left_out)


def _copy(address: CopyPath) -> wire.Copy:
    return copied(wire.Copy, address, uri=format_uri(address.collection, address.path), source=address.source)


def location_of(document: DocumentRow, line: int) -> wire.Location | None:
    """Return the location of a line of the canonical text in the source; None for sources with lines."""
    return location_to_wire(document.location_of(line))


def location_to_wire(found: SourceLocation | None) -> wire.Location | None:
    if found is None:
        return None
    fields = {"row": found.row, found.kind: found.value, "label": found.label, "fragment": found.fragment}
    return msgspec.convert(fields, wire.Location)


def ingest_error(failed: FailedFile) -> IngestError:
    return copied(IngestError, failed, first_at=iso(failed.first_at), last_at=iso(failed.last_at), count=failed.times)


def embedding_status(backlog: Backlog) -> EmbeddingStatus:
    return EmbeddingStatus(**backlog.state()._asdict())


def freshness_of(report: FreshnessReport) -> Freshness:
    return Freshness(current=report.current, state=report.state, **report._asdict())


def stages_of(stages: Sequence[Stage]) -> Stages:
    """Return the stages in the order in which they ended. `why`: why a stage did not run completely."""
    return [
        {
            "stage": stage.name,
            "ran": stage.ran,
            "ms": stage.ms,
            **({"why": stage.why} if stage.why else {}),
            **stage.details,
        }
        for stage in stages
    ]


def collection_info(collection: CollectionConfig, count: int) -> CollectionInfo:
    include, exclude = list(collection.include), list(collection.exclude)
    return copied(CollectionInfo, collection, include=include, exclude=exclude, documents=count)


def metadata(document: DocumentRow) -> dict[str, object]:
    return msgspec.json.decode(document.metadata, type=dict[str, object])


_LANGUAGE_SEPARATORS = str.maketrans("_", "-")


def filters_of(params: DocumentFilters) -> Filters:
    """Return the filters for the store. Raises InvalidParams for invalid dates."""
    since = moment(params.since) if params.since else None
    until = moment(params.until, end_of_day=True) if params.until else None
    if since is not None and until is not None and since > until:
        raise InvalidParams(f"since {params.since} is after until {params.until}: swap them")
    return Filters(
        collections=tuple(params.collections),
        tags_all=_tags(params.tags_all),
        tags_any=_tags(params.tags_any),
        languages=tuple(v.lower().translate(_LANGUAGE_SEPARATORS).partition("-")[0] for v in params.languages),
        types=tuple(value.lower() for value in params.types),
        path_prefix=params.path_prefix.lstrip("/") if params.path_prefix else None,
        author=params.author.lower() if params.author else None,
        since=since,
        until=until,
    )


def _tags(written: list[str]) -> tuple[str, ...]:
    return tuple(map(tags.key, written))
