"""Wire types of `index.subscribe` and of the notification `index.changed`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from gnod.protocol.base import Freshness, Params, Result
from gnod.protocol.index import EmbeddingStatus

CHANGED = "index.changed"


class IndexSubscribeParams(Params, frozen=True, kw_only=True):
    """`since`: report the changes after this clock, the last one that the client has read; 0 for all documents; null
    for changes from now on. `collections`: report only these; empty for all.
    """

    since: Annotated[int, Meta(ge=0)] | None = None
    collections: list[str] = []


class SubscribedCollection(Result, frozen=True, kw_only=True):
    """The state of a collection, as far as it is known without a walk. `documents` and `failed` count files. `watch`:
    see `index.status`.
    """

    name: str
    path: str
    documents: int
    failed: int
    available: bool
    watch: str
    watch_reason: str | None = None


class SubscribedState(Result, frozen=True, kw_only=True):
    collections: list[SubscribedCollection]
    freshness: Freshness
    embedding: EmbeddingStatus


class IndexSubscribeResult(Result, frozen=True, kw_only=True):
    """The start of a subscription.

    - `clock`: `index.changed` reports the changes after it.
    - `reset`: discard all earlier reports; all documents follow. It is set if the client requested everything, or
      changes that are no longer recorded.
    - `state`: the current state.
    """

    subscription: int
    clock: int
    reset: bool
    state: SubscribedState


class IndexUnsubscribeParams(Params, frozen=True, kw_only=True):
    subscription: int


class IndexUnsubscribeResult(Result, frozen=True, kw_only=True):
    subscription: int


class ChangedPath(Result, frozen=True, kw_only=True):
    uri: str
    collection: str
    path: str


class ChangedDocument(ChangedPath, frozen=True, kw_only=True):
    docid: str
    title: str


class ChangedFailure(ChangedPath, frozen=True, kw_only=True):
    """`docid`: the older version that is still in the index; null if there is none."""

    kind: str
    message: str
    docid: str | None = None


class IndexChanged(Result, frozen=True, kw_only=True):
    """The parameters of `index.changed`. Every path that changed is in exactly one of the lists. If all lists are
    empty, `freshness`, `embedding` or the collections changed.

    - `clock`: where to resume after this notification. It increases unless `reset` is set.
    - `reset`: discard all earlier reports; all documents follow.
    - `more`: the next notification follows immediately.
    """

    subscription: int
    clock: int
    reset: bool = False
    more: bool = False
    indexed: list[ChangedDocument] = []
    removed: list[ChangedPath] = []
    failed: list[ChangedFailure] = []
    freshness: Freshness
    embedding: EmbeddingStatus
