"""`index.subscribe` and `index.unsubscribe`: send the current state, then its changes."""

from __future__ import annotations

from collections.abc import Mapping

from gnod.config.model import CollectionConfig
from gnod.errors import SubscriptionNotFound
from gnod.handlers.index_status import IndexServices
from gnod.handlers.wire_types import embedding_status, freshness_of
from gnod.protocol import subscription as wire
from gnod.protocol.base import Freshness, copied
from gnod.protocol.index import EmbeddingStatus
from gnod.rpc.call import NotificationSender
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.rpc.subscriptions import Subscriptions
from gnod.store.connection import Connection
from gnod.store.tables import changes, documents, failures
from gnod.store.tables.changes import ChangePage, IndexChange, Position
from gnod.types import format_uri

PAGE_PATHS = 500


def handlers(services: IndexServices, subscriptions: Subscriptions) -> Mapping[str, Handler]:
    async def index_subscribe(params: wire.IndexSubscribeParams, call: Call) -> wire.IndexSubscribeResult:
        notifications = _notifications(call)
        await services.configuration.reload()
        services.configuration.check_known(params.collections)
        subscription = Subscriber(services, params, subscriptions.next_number())
        result = await subscription.begin()
        # Do not await from here on, because a cancelled request must not leave a task running.
        notifications.check_task_limit()
        notifications.start_task(
            result.subscription, subscriptions.follow(subscription.next_changes, notifications, call.answered)
        )
        return result

    async def index_unsubscribe(params: wire.IndexUnsubscribeParams, call: Call) -> wire.IndexUnsubscribeResult:
        if not _notifications(call).stop_task(params.subscription):
            raise SubscriptionNotFound(f"this connection has no subscription {params.subscription}")
        return wire.IndexUnsubscribeResult(subscription=params.subscription)

    return named(index_subscribe, index_unsubscribe)


class Subscriber:
    """One subscriber. It keeps the position up to which changes were sent, and the last state that was sent."""

    def __init__(self, services: IndexServices, params: wire.IndexSubscribeParams, number: int) -> None:
        self._services = services
        self._since = params.since
        self._collections = params.collections
        self._number = number
        self._position = Position(0)
        self._state: tuple[Freshness, EmbeddingStatus, list[CollectionConfig]] | None = None

    async def begin(self) -> wire.IndexSubscribeResult:
        """Return the current state, and start at the requested position."""

        def work(connection: Connection) -> tuple[Position, bool, wire.SubscribedState]:
            if self._since is None:
                return changes.present(connection), False, self._present(connection)
            position = changes.catch_up(connection, Position(self._since))
            return position, position != Position(self._since), self._present(connection)

        self._position, is_reset, state = await self._services.database.read(work)
        self._state = (state.freshness, state.embedding, self._chosen())
        return wire.IndexSubscribeResult(
            subscription=self._number, clock=self._position.clock, reset=is_reset, state=state
        )

    async def next_changes(self, with_state: bool) -> wire.IndexChanged | None:
        """Return the changes since the last call; None if there are none. `with_state`: also return a change of state
        alone."""

        def work(connection: Connection) -> tuple[ChangePage, Freshness]:
            page = changes.read(connection, self._position, self._collections, PAGE_PATHS)
            return page, freshness_of(self._services.freshness.report(connection, self._collections))

        page, freshness = await self._services.database.read(work)
        state = (freshness, embedding_status(self._services.backlog), self._chosen())
        # Advance even without changes, so that changes of other collections are not read again.
        self._position = page.position
        if not (page.changes or page.is_reset or (with_state and state != self._state)):
            return None
        self._state = state
        return _changed(self._number, page, *state[:2])

    def _present(self, connection: Connection) -> wire.SubscribedState:
        return wire.SubscribedState(
            collections=[self._collection(connection, collection) for collection in self._chosen()],
            freshness=freshness_of(self._services.freshness.report(connection, self._collections)),
            embedding=embedding_status(self._services.backlog),
        )

    def _chosen(self) -> list[CollectionConfig]:
        configured = self._services.configuration.current.collections
        return [each for each in configured if not self._collections or each.name in self._collections]

    def _collection(self, connection: Connection, collection: CollectionConfig) -> wire.SubscribedCollection:
        name = collection.name
        watch = self._services.scheduler.watch_state(name)
        return copied(
            wire.SubscribedCollection,
            collection,
            documents=documents.count_under(connection, name, ""),
            failed=failures.count(connection, [name]),
            available=name not in self._services.scheduler.unavailable(),
            watch=watch.mode,
            watch_reason=watch.reason,
        )


def _notifications(call: Call) -> NotificationSender:
    assert call.notifications is not None, "every connection gives its calls one"
    return call.notifications


def _changed(number: int, page: ChangePage, freshness: Freshness, embedding: EmbeddingStatus) -> wire.IndexChanged:
    indexed: list[wire.ChangedDocument] = []
    removed: list[wire.ChangedPath] = []
    failed: list[wire.ChangedFailure] = []
    for change in page.changes:
        uri = format_uri(change.collection, change.path)
        match change:
            case IndexChange(kind=str()):
                failed.append(copied(wire.ChangedFailure, change, uri=uri, message=change.message or ""))
            case IndexChange(docid=str()):
                indexed.append(copied(wire.ChangedDocument, change, uri=uri, title=change.title or ""))
            case _:
                removed.append(copied(wire.ChangedPath, change, uri=uri))
    return wire.IndexChanged(
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
