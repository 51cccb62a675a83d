"""`index.subscribe` and `index.unsubscribe`: the present state, and then what changes."""

from __future__ import annotations

from collections.abc import Mapping

from gnod.config.model import CollectionConfig
from gnod.errors import SubscriptionNotFound
from gnod.protocol.params import IndexSubscribeParams, IndexUnsubscribeParams
from gnod.protocol.results import (
    ChangedDocument,
    ChangedFailure,
    ChangedPath,
    EmbeddingStatus,
    Freshness,
    IndexChanged,
    IndexSubscribeResult,
    IndexUnsubscribeResult,
    SubscribedCollection,
    SubscribedState,
)
from gnod.server.dispatcher import Call, Handler
from gnod.server.handlers.embedding import embedding_status
from gnod.server.index import Index
from gnod.server.outlet import Outlet
from gnod.store import changes, documents, failures
from gnod.store.changes import Change, Page, Position
from gnod.store.database import Connection
from gnod.types import format_uri

PAGE_PATHS = 500


def handlers(served: Index) -> Mapping[str, Handler]:
    async def index_subscribe(params: IndexSubscribeParams, call: Call) -> IndexSubscribeResult:
        outlet = _outlet(call)
        await served.configuration.reload()
        served.configuration.check_known(params.collections)
        subscription = Subscription(served, params)
        result = await subscription.begin()
        # No await from here on: a request that is cancelled leaves nothing behind.
        outlet.check_room_for_one_more()
        outlet.begin(result.subscription, served.subscribing.follow(subscription.look, outlet, call.answered))
        return result

    async def index_unsubscribe(params: IndexUnsubscribeParams, call: Call) -> IndexUnsubscribeResult:
        if not _outlet(call).end(params.subscription):
            raise SubscriptionNotFound(f"this connection has no subscription {params.subscription}")
        return IndexUnsubscribeResult(subscription=params.subscription)

    return {"index.subscribe": index_subscribe, "index.unsubscribe": index_unsubscribe}


class Subscription:
    """What one subscriber knows: all changes up to a position, and the state that it was told last."""

    def __init__(self, served: Index, params: IndexSubscribeParams) -> None:
        self._served = served
        self._since = params.since
        self._collections = params.collections
        self._number = served.subscribing.next_number()
        self._position = Position(0)
        self._state: tuple[Freshness, EmbeddingStatus] | None = None

    async def begin(self) -> IndexSubscribeResult:
        """Return the present state, and take the position that was asked for."""

        def work(connection: Connection) -> tuple[Position, bool, SubscribedState]:
            if self._since is None:
                return changes.present(connection), False, self._present(connection)
            position = changes.catch_up(connection, Position(self._since))
            return position, position != Position(self._since), self._present(connection)

        self._position, is_reset, state = await self._served.read(work)
        self._state = (state.freshness, state.embedding)
        return IndexSubscribeResult(subscription=self._number, clock=self._position.clock, reset=is_reset, state=state)

    async def look(self, with_state: bool) -> IndexChanged | None:
        """Return what is new since this last returned something; a mere change of state only `with_state`."""

        def work(connection: Connection) -> tuple[Page, Freshness]:
            page = changes.read(connection, self._position, self._collections, PAGE_PATHS)
            return page, self._served.freshness(connection, self._collections)

        page, freshness = await self._served.read(work)
        state = (freshness, embedding_status(self._served))
        # Also when there is nothing to tell: what lies in other collections need not be looked at again.
        self._position = page.position
        if not (page.changes or page.is_reset or (with_state and state != self._state)):
            return None
        self._state = state
        return _changed(self._number, page, *state)

    def _present(self, connection: Connection) -> SubscribedState:
        configured = self._served.configuration.current.collections
        wanted = [c for c in configured if not self._collections or c.name in self._collections]
        return SubscribedState(
            collections=[self._collection(connection, collection) for collection in wanted],
            freshness=self._served.freshness(connection, self._collections),
            embedding=embedding_status(self._served),
        )

    def _collection(self, connection: Connection, collection: CollectionConfig) -> SubscribedCollection:
        name = collection.name
        watch = self._served.watching.state(name)
        return SubscribedCollection(
            name=name,
            path=collection.path,
            documents=documents.count_under(connection, name, ""),
            failed=failures.count(connection, [name]),
            available=name not in self._served.syncing.pending().unavailable,
            watch=watch.mode,
            watch_reason=watch.reason,
        )


def _outlet(call: Call) -> Outlet:
    assert call.outlet is not None, "every connection gives its calls one"
    return call.outlet


def _changed(number: int, page: Page, freshness: Freshness, embedding: EmbeddingStatus) -> IndexChanged:
    indexed: list[ChangedDocument] = []
    removed: list[ChangedPath] = []
    failed: list[ChangedFailure] = []
    for change in page.changes:
        uri = format_uri(change.collection, change.path)
        match change:
            case Change(kind=str(kind)):
                failed.append(
                    ChangedFailure(
                        uri=uri,
                        collection=change.collection,
                        path=change.path,
                        kind=kind,
                        message=change.message or "",
                        docid=change.docid,
                    )
                )
            case Change(docid=str(docid)):
                indexed.append(
                    ChangedDocument(
                        uri=uri,
                        collection=change.collection,
                        path=change.path,
                        docid=docid,
                        title=change.title or "",
                    )
                )
            case _:
                removed.append(ChangedPath(uri=uri, collection=change.collection, path=change.path))
    return IndexChanged(
        subscription=number,
        clock=page.position.clock,
        reset=page.is_reset,
        more=page.more,
        indexed=indexed,
        removed=removed,
        failed=failed,
        freshness=freshness,
        embedding=embedding,
    )
