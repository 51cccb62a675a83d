"""What a search was asked for, settled before the database is read: filters, and the clock."""

from __future__ import annotations

import time

from gnod.pipeline.dates import moment
from gnod.protocol.search import FilterParams
from gnod.store.documents.filters import Filters

_LANGUAGE_SEPARATORS = str.maketrans("_", "-")


def filters_of(params: FilterParams) -> Filters:
    """Return the filters as the store takes them. Raises InvalidParams for what is no date."""
    return Filters(
        collections=tuple(params.collections),
        tags_all=_tags(params.tags_all),
        tags_any=_tags(params.tags_any),
        languages=tuple(v.lower().translate(_LANGUAGE_SEPARATORS).partition("-")[0] for v in params.languages),
        types=tuple(value.lower() for value in params.types),
        path_prefix=params.path_prefix.lstrip("/") if params.path_prefix else None,
        author=params.author.lower() if params.author else None,
        since=moment(params.since) if params.since else None,
        until=moment(params.until, end_of_day=True) if params.until else None,
    )


def milliseconds_since(started: float) -> float:
    """Return the time since `started`, a reading of `time.perf_counter`."""
    return round((time.perf_counter() - started) * 1000, 3)


def _tags(tags: list[str]) -> tuple[str, ...]:
    return tuple(tag.strip().lstrip("#").lower() for tag in tags)
