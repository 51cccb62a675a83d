"""The terminal UI's view of the daemon: its state, its changes, and whether it answers. Must not depend on the screen.

After a crash it connects again, which starts the daemon, and tells the user.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from gnoctl import following
from gnod.client.asynchronous import AsyncClient
from gnod.errors import GnoError
from gnod.protocol.base import Freshness, NoParams
from gnod.protocol.collections import CollectionInfo, CollectionListResult
from gnod.protocol.index import EmbeddingStatus
from gnod.protocol.models import ModelsListResult
from gnod.protocol.subscription import IndexChanged, SubscribedState

LOST = "it has ended, or closed the connection"
_ROLES = ("embed", "rerank", "expand", "answer")


class Watched:
    """Follows the index until it is cancelled. `problem`: why the daemon does not answer; `collections`: None before
    the first answer.

    `connected` is called after each connection, `changed` when documents changed, `updated` when only the state
    changed.
    """

    def __init__(
        self,
        client: AsyncClient,
        connected: Callable[[], None],
        changed: Callable[[IndexChanged], None],
        updated: Callable[[], None],
    ) -> None:
        self.problem: str | None = None
        self.collections: list[CollectionInfo] | None = None
        self.freshness: Freshness | None = None
        self.embedding: EmbeddingStatus | None = None
        self.models: list[str] = []
        """The role and the name of each model that can rank or answer."""
        self._client = client
        self._is_connected = False
        self._connected = connected
        self._changed = changed
        self._updated = updated

    @property
    def has_models(self) -> bool:
        return bool(self.embedding and self.embedding.model)

    async def follow(self) -> None:
        async with contextlib.aclosing(following.changes(self._client)) as events:
            async for event in events:
                try:
                    await self._take(event)
                except (GnoError, OSError) as error:
                    self._lose(error)

    async def _take(self, event: SubscribedState | IndexChanged | GnoError | OSError) -> None:
        if isinstance(event, GnoError | OSError):
            self._lose(event)
        elif isinstance(event, SubscribedState) or not self._is_connected:
            await self._begin(event)
        else:
            await self._change(event)

    def _lose(self, error: Exception) -> None:
        was_connected, self._is_connected = self._is_connected, False
        self.problem = LOST if was_connected else str(error)
        self._updated()

    async def _begin(self, state: SubscribedState | IndexChanged) -> None:
        self._set(state)
        await self._ask_collections()
        self.problem, self._is_connected = None, True
        self._connected()
        await self._ask_models()
        self._updated()

    async def _change(self, changed: IndexChanged) -> None:
        self._set(changed)
        if changed.indexed or changed.removed or changed.reset:
            self._changed(changed)
            await self._ask_collections()
        self._updated()

    def _set(self, state: SubscribedState | IndexChanged) -> None:
        self.freshness, self.embedding = state.freshness, state.embedding

    async def _ask_collections(self) -> None:
        listed = await self._client.call("collection.list", NoParams(), CollectionListResult)
        self.collections = listed.collections

    async def _ask_models(self) -> None:
        listed = await self._client.call("models.list", NoParams(), ModelsListResult)
        usable = [model for model in listed.models if model.installed or model.remote]
        names = {use.role: each.name for each in usable for use in each.uses}
        self.models = [f"{role} {names[role]}" for role in _ROLES if role in names]
