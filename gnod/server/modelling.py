"""Which models the served config asks for, which are here, and the pulls under way. Loads and runs none of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from gnod.errors import Conflict, ModelNotPulled, ShuttingDown
from gnod.models import presets, uris
from gnod.models.fetching import FetchProgress, fetch
from gnod.models.files import Installed, ModelFiles
from gnod.server.configuration import Configuration

OnProgress = Callable[[FetchProgress], None]

_log = logging.getLogger(__name__)


class Pulled(NamedTuple):
    """`fetched`: it was not here before, or was fetched again."""

    installed: Installed
    fetched: bool


class _Pull:
    """One fetch and all who wait for it. `last`: what the latest of them is told first."""

    def __init__(self) -> None:
        self.task: asyncio.Task[Installed] | None = None
        self.listeners: list[OnProgress] = []
        self.last: FetchProgress | None = None

    def tell(self, progress: FetchProgress) -> None:
        self.last = progress
        for listener in self.listeners:
            listener(progress)


class Models:
    """`on_installed` is called with the address of each model that a pull has put in its place."""

    def __init__(self, configuration: Configuration, models_dir: Path) -> None:
        self.files = ModelFiles(models_dir)
        self.on_installed: Callable[[str], None] = lambda _: None
        self._configuration = configuration
        self._pulls: dict[str, _Pull] = {}
        self._tasks: set[asyncio.Task[Installed]] = set()
        self._closing = False

    def uri_for(self, role: str, collection: str | None = None) -> str | None:
        """Return the address of the model for `role`, the collection's own first; None: the config has none."""
        return presets.uri_for(self._configuration.current, role, collection)

    def uses(self) -> list[presets.Use]:
        """Return every model that the config asks for."""
        return presets.uses(self._configuration.current)

    def find(self, uri: str) -> Installed | None:
        """Return the model if it is here. Reads the disk, a little. Raises InvalidModelUri."""
        return self.files.find(uri)

    def require(self, uri: str) -> Installed:
        """Return the model. Raises ModelNotPulled, which names the command that fetches it, and InvalidModelUri."""
        if found := self.files.find(uri):
            return found
        is_asked_for = any(use.uri == uri for use in self.uses())
        command = "gnoctl models pull" if is_asked_for else f"gnoctl models pull {uri}"
        raise ModelNotPulled(
            f"the model {uri} is not on this machine yet: `{command}` fetches it", {"uri": uri, "command": command}
        )

    def is_pulling(self, uri: str) -> bool:
        return str(uris.parse(uri)) in self._pulls

    async def pull(self, uri: str, progress: OnProgress, network: Mapping[str, str], *, force: bool = False) -> Pulled:
        """Fetch the model unless it is here. A second call for the same model follows the first.

        The fetch ends when everybody who waits for it has been cancelled; what it has is kept. Raises what `fetch`
        raises, and ShuttingDown.
        """
        name = str(uris.parse(uri))
        if name not in self._pulls and not force and (found := await asyncio.to_thread(self.files.find, uri)):
            if not found.sha256:  # a file of the user's, whom nobody has told yet whether it is whole
                found = await fetch(name, self.files, progress, network)
            return Pulled(found, fetched=False)
        if self._closing:
            raise ShuttingDown("the daemon is stopping")
        pull = self._pulls.get(name) or self._start(name, network, force)
        return Pulled(await self._follow(name, pull, progress), fetched=True)

    async def clear(self, uri: str) -> int:
        """Remove the model from the disk; return the bytes freed. Raises Conflict while it is being fetched."""
        if self.is_pulling(uri):
            raise Conflict(f"{uri} is being fetched: stop that first (Ctrl-C in its terminal)", {"uri": uri})
        return await asyncio.to_thread(self.files.remove, uri)

    async def clear_all(self) -> int:
        """Remove everything in the cache; return the bytes freed. Raises Conflict during a pull."""
        for uri in self._pulls:
            raise Conflict(f"{uri} is being fetched: stop that first (Ctrl-C in its terminal)", {"uri": uri})
        return await asyncio.to_thread(self.files.remove_all)

    async def close(self) -> None:
        """End the pulls; what they have is kept."""
        self._closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, name: str, network: Mapping[str, str], force: bool) -> _Pull:
        pull = self._pulls[name] = _Pull()
        pull.task = asyncio.create_task(self._fetch(name, pull, network, force))
        self._tasks.add(pull.task)
        pull.task.add_done_callback(self._tasks.discard)
        return pull

    async def _fetch(self, name: str, pull: _Pull, network: Mapping[str, str], force: bool) -> Installed:
        fields: dict[str, object] = {"uri": name}
        _log.info("model.pull", extra={"fields": fields})
        try:
            installed = await fetch(name, self.files, pull.tell, network, force=force)
        except BaseException as error:
            _log.info("model.not_pulled", extra={"fields": fields | {"kind": getattr(error, "kind", "cancelled")}})
            raise
        finally:
            self._forget(name, pull)
        _log.info("model.pulled", extra={"fields": fields | {"bytes": installed.bytes}})
        self.on_installed(name)
        return installed

    def _forget(self, name: str, pull: _Pull) -> None:
        if self._pulls.get(name) is pull:
            del self._pulls[name]

    async def _follow(self, name: str, pull: _Pull, progress: OnProgress) -> Installed:
        assert pull.task
        pull.listeners.append(progress)
        if pull.last:
            progress(pull.last)
        try:
            return await asyncio.shield(pull.task)
        except asyncio.CancelledError:
            if self._closing:
                raise ShuttingDown("the daemon is stopping; what was fetched is kept") from None
            raise
        finally:
            pull.listeners.remove(progress)
            if not pull.listeners and not pull.task.done():
                self._forget(name, pull)  # whoever comes now wants a fetch of its own
                pull.task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await pull.task
