"""From the store's rows to the wire's structs, where several methods answer with the same shape."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from gnod.config.model import CollectionConfig
from gnod.pipeline.budget import Stage
from gnod.protocol.base import Freshness
from gnod.protocol.collections import CollectionInfo
from gnod.protocol.documents import DocumentEntry
from gnod.protocol.index import IngestError
from gnod.store.documents.documents import Document
from gnod.store.documents.failures import FailedFile
from gnod.sync.freshness import FreshnessReport
from gnod.types import format_uri


def iso(seconds: float) -> str:
    """Return seconds since 1970 as ISO 8601 in UTC, to the second.

    >>> iso(0)
    '1970-01-01T00:00:00Z'
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):  # a file's time may be anything
        return "1970-01-01T00:00:00Z"


def entry(document: Document) -> DocumentEntry:
    return DocumentEntry(
        docid=document.docid,
        uri=format_uri(document.collection, document.path),
        collection=document.collection,
        path=document.path,
        source=document.source,
        title=document.title,
        mime=document.mime,
        language=document.language,
        size=document.size,
        modified=iso(document.mtime_ns / 1e9),
    )


def ingest_error(failed: FailedFile) -> IngestError:
    return IngestError(
        collection=failed.collection,
        path=failed.path,
        stage=failed.stage,
        kind=failed.kind,
        message=failed.message,
        first_at=iso(failed.first_at),
        last_at=iso(failed.last_at),
        count=failed.times,
    )


def freshness_of(report: FreshnessReport) -> Freshness:
    return Freshness(**report._asdict())


def stages_of(stages: Sequence[Stage]) -> list[dict[str, object]]:
    """Return the stages in the order in which they ended. `why`: why one did not run, or not to its end."""
    return [
        {"stage": each.name, "ran": each.ran, "ms": each.ms, **({"why": each.why} if each.why else {}), **each.details}
        for each in stages
    ]


def collection_info(collection: CollectionConfig, count: int) -> CollectionInfo:
    return CollectionInfo(
        name=collection.name,
        path=collection.path,
        pattern=collection.pattern,
        include=list(collection.include),
        exclude=list(collection.exclude),
        gitignore=collection.gitignore,
        language=collection.language,
        update_command=collection.update_command,
        documents=count,
    )


def metadata(document: Document) -> dict[str, object]:
    return msgspec.json.decode(document.metadata, type=dict[str, object])
