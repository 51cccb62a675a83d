"""The models that the configuration names, which of them are installed, and the running pulls.

ModelService runs no models; `ModelFactory` makes the ones that run.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import psutil

from gnod import extras
from gnod.config import model_uris
from gnod.config.model import Use
from gnod.configured.configuration import Configuration
from gnod.egress import Purpose
from gnod.errors import (
    Conflict,
    DownloadFailed,
    GnoError,
    InvalidModelUri,
    ModelNotConfigured,
    ModelNotPulled,
    ShuttingDown,
)
from gnod.models.files import Installed, ModelFiles
from gnod.models.remote.models import RemoteModels
from gnod.models.run.inference import Inference
from gnod.models.run.roles import Runner
from gnod.models.supply.fetching import FetchProgress, OnProgress, fetch
from gnod.signals import Signal
from gnod.types import UnavailableModel

# The first pause after a failed download and the longest one. Each failure doubles the pause.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 60.0, 3600.0

_log = logging.getLogger(__name__)


class Pulled(NamedTuple):
    """`fetched`: this pull downloaded the model."""

    installed: Installed
    fetched: bool


class _Pull:
    """One fetch and its listeners. `last`: the progress that a new listener gets first."""

    def __init__(self) -> None:
        self.task: asyncio.Task[Installed] | None = None
        self.listeners: list[OnProgress] = []
        self.last: FetchProgress | None = None

    def report(self, progress: FetchProgress) -> None:
        self.last = progress
        for listener in self.listeners:
            listener(progress)


class ModelService:
    """Emits `installed` with the address of each model that a pull has installed."""

    def __init__(
        self, configuration: Configuration, models_dir: Path, *, first_pause_s: float = _FIRST_PAUSE_S
    ) -> None:
        self.files = ModelFiles(models_dir)
        self.installed: Signal[[str]] = Signal()
        self._configuration = configuration
        self._first_pause_s = first_pause_s
        self._pulls: dict[str, _Pull] = {}
        # The failed downloads, and the times of their next attempts by the monotonic clock.
        self._retries: dict[str, asyncio.Task[None]] = {}
        self._due: dict[str, float] = {}
        self._tasks: set[asyncio.Task[Installed]] = set()
        self._closing = False

    def uri_for(self, role: str, collection: str | None = None) -> str | None:
        """Return the address of the model for `role`: the collection's own, or the general one; None if there is
        none."""
        return self._configuration.current.model_for(role, collection)

    def uses(self) -> list[Use]:
        return self._configuration.current.model_uses()

    def find(self, uri: str) -> Installed | None:
        """Return the model if it is installed. Reads a little from the disk. Raises InvalidModelUri."""
        return self.files.find(uri)

    def is_ready(self, uri: str) -> bool:
        """Return whether the model is installed or run by a server. Raises InvalidModelUri."""
        return model_uris.endpoint_of(uri) is not None or self.files.find(uri) is not None

    def require(self, uri: str) -> Installed:
        """Return the model. Raises InvalidModelUri, and ModelNotPulled and DependencyMissing, which name the command to
        run."""
        _require_packages(uri)
        if installed := self.files.find(uri):
            return installed
        command = "gnoctl models pull" if self._is_used(uri) else f"gnoctl models pull {uri}"
        raise ModelNotPulled(
            f"the model {uri} is not on this machine yet: run `{command}`", {"uri": uri, "command": command}
        )

    def require_ready(self, uri: str) -> None:
        """Raise what `require` raises, unless a server runs the model."""
        if model_uris.endpoint_of(uri) is None:
            self.require(uri)

    def required(self, role: str, collection: str | None = None) -> str:
        """Return the address of the model for `role`, installed or run by a server. Raises ModelNotConfigured,
        ModelNotPulled and InvalidModelUri."""
        uri = self.uri_for(role, collection)
        if uri is None:
            text = f"no model is configured: set `models.{role}` in index.yml, or choose another preset"
            raise ModelNotConfigured(text, {"role": role})
        self.require_ready(uri)
        return uri

    def usable(self, role: str, collection: str | None = None) -> str | UnavailableModel:
        """Return the address of the model for `role`, installed or run by a server, or the reason why it is
        unavailable."""
        try:
            return self.required(role, collection)
        except GnoError as error:
            return UnavailableModel(error.message)

    def is_pulling(self, uri: str) -> bool:
        return str(model_uris.parse(uri)) in self._pulls

    async def pull(
        self, uri: str, on_progress: OnProgress, network: Mapping[str, str], *, force: bool = False, accept: str = ""
    ) -> Pulled:
        """Fetch the model unless it is installed. A second call for the same model follows the first one, and stops the
        attempts of `pull_later`.

        The fetch stops when all calls that follow it are cancelled; the fetched part is kept. Raises what `fetch`
        raises, and ShuttingDown.
        """
        name = str(model_uris.parse(uri))
        _require_packages(name)
        if model_uris.endpoint_of(name):
            raise InvalidModelUri(f"{name} is run by a server: there is nothing to download", {"uri": name})
        await self._stop_retrying(name)
        return await self._pull(name, on_progress, network, force=force, accept=accept)

    def pull_later(
        self, names: Iterable[str], network: Mapping[str, str], *, force: bool = False, accept: str = ""
    ) -> None:
        """Retry failed downloads in the background, after growing pauses. The retries end when one succeeds or fails
        for another reason, or when the config stops naming the model."""
        for name in names:
            if earlier := self._retries.get(name):
                earlier.cancel()
            pull = partial(self._pull, name, lambda _: None, network, force=force, accept=accept)
            self._due[name] = time.monotonic() + self._first_pause_s
            self._retries[name] = asyncio.create_task(self._keep_pulling(name, pull))

    def due_in_s(self) -> dict[str, float]:
        """Return the models with a failed download, and the seconds until the next attempt."""
        now = time.monotonic()
        return {name: max(0.0, self._due[name] - now) for name in self._retries}

    async def _keep_pulling(self, name: str, pull: Callable[[], Awaitable[object]]) -> None:
        pause_s, was_used = self._first_pause_s, self._is_used(name)
        while True:
            await asyncio.sleep(pause_s)
            if self._is_used(name) != was_used:
                break
            try:
                await pull()
                break
            except DownloadFailed:
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                self._due[name] = time.monotonic() + pause_s
            except GnoError:
                break  # the error is in the log
        del self._retries[name]

    async def _stop_retrying(self, name: str) -> None:
        if retry := self._retries.pop(name, None):
            retry.cancel()
            await asyncio.gather(retry, return_exceptions=True)

    def _is_used(self, uri: str) -> bool:
        return any(use.uri == uri for use in self.uses())

    async def _pull(
        self, name: str, on_progress: OnProgress, network: Mapping[str, str], *, force: bool, accept: str
    ) -> Pulled:
        if name not in self._pulls and not force and (installed := await asyncio.to_thread(self.files.find, name)):
            if not installed.sha256:  # this is a file of the user: check that it is complete
                installed = await fetch(name, self.files, on_progress, network)
            return Pulled(installed, fetched=False)
        if self._closing:
            raise ShuttingDown("the daemon is shutting down")
        pull = self._pulls.get(name) or self._start(name, network, force, accept)
        return Pulled(await self._follow(name, pull, on_progress), fetched=True)

    async def clear(self, uri: str) -> int:
        """Remove the model from the disk; return the bytes freed. Raises Conflict while it is being fetched."""
        await self._stop_retrying(str(model_uris.parse(uri)))
        if self.is_pulling(uri):
            raise _being_fetched(uri)
        return await asyncio.to_thread(self.files.remove, uri)

    async def clear_all(self) -> int:
        """Remove everything in the cache; return the bytes freed. Raises Conflict during a pull."""
        for name in [*self._retries]:
            await self._stop_retrying(name)
        for uri in self._pulls:
            raise _being_fetched(uri)
        return await asyncio.to_thread(self.files.remove_all)

    async def close(self) -> None:
        """Stop the pulls; the fetched parts are kept."""
        self._closing = True
        tasks = [*self._tasks, *self._retries.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, name: str, network: Mapping[str, str], force: bool, accept: str) -> _Pull:
        pull = self._pulls[name] = _Pull()
        pull.task = asyncio.create_task(self._fetch(name, pull, network, force, accept))
        self._tasks.add(pull.task)
        pull.task.add_done_callback(self._tasks.discard)
        return pull

    async def _fetch(self, name: str, pull: _Pull, network: Mapping[str, str], force: bool, accept: str) -> Installed:
        fields: dict[str, object] = {"uri": name}
        _log.info("model.pull", extra={"fields": fields})
        try:
            installed = await fetch(name, self.files, pull.report, network, force=force, accept=accept)
        except BaseException as error:
            _log.info("model.not_pulled", extra={"fields": fields | {"kind": getattr(error, "kind", "cancelled")}})
            raise
        finally:
            self._forget(name, pull)
        _log.info("model.pulled", extra={"fields": fields | {"bytes": installed.bytes}})
        self.installed.emit(name)
        return installed

    def _forget(self, name: str, pull: _Pull) -> None:
        if self._pulls.get(name) is pull:
            del self._pulls[name]

    async def _follow(self, name: str, pull: _Pull, on_progress: OnProgress) -> Installed:
        assert pull.task
        pull.listeners.append(on_progress)
        if pull.last:
            on_progress(pull.last)
        try:
            return await asyncio.shield(pull.task)
        except asyncio.CancelledError:
            if self._closing:
                raise ShuttingDown("the daemon is shutting down; what was fetched is kept") from None
            raise
        finally:
            pull.listeners.remove(on_progress)
            if not pull.listeners and not pull.task.done():
                self._forget(name, pull)  # a later call starts its own fetch
                pull.task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await pull.task


def _require_packages(uri: str) -> None:
    if model_uris.is_gguf(uri) and not extras.is_installed("llama_cpp"):
        raise extras.missing("GGUF models, which also write answers,", "llama")


def _being_fetched(uri: str) -> Conflict:
    return Conflict(f"{uri} is being fetched: stop the download first (Ctrl-C in its terminal)", {"uri": uri})


M = TypeVar("M")


class ModelFactory:
    def __init__(
        self, configuration: Configuration, files: ModelFiles, inference: Inference, remote: RemoteModels
    ) -> None:
        self._configuration = configuration
        self._files = files
        self._inference = inference
        self._remote = remote

    def forget(self, endpoint: model_uris.Endpoint) -> None:
        """Read the fingerprint of an endpoint again."""
        self._remote.forget(endpoint)

    async def check(self, uri: str, purpose: Purpose) -> None:
        """Raise EgressForbidden if a server runs the model and may not get texts for this purpose now."""
        if endpoint := model_uris.endpoint_of(uri):
            await self._remote.check(endpoint, purpose)

    def make(self, kind: Callable[..., M], uri: str, purpose: Purpose) -> M:
        """Return the model at that address, which need not be installed. `kind`: a subclass of InstalledModel.
        `purpose`: of the texts it will get."""
        settings = self._configuration.current.models
        endpoint = model_uris.endpoint_of(uri)
        runner: Runner = self._remote.runner(endpoint, purpose) if endpoint else self._inference
        return kind(
            uri,
            files=self._files,
            inference=runner,
            gpu=settings.gpu == "auto",
            threads=settings.threads or physical_cores(),
        )


def physical_cores() -> int:
    """Return the number of cores for this process. Hyper-threads do not speed up a model."""
    physical = _physical_cores()
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else physical
    return max(1, min(physical, allowed))


@cache
def _physical_cores() -> int:
    # psutil reads files for each core, which is too slow to repeat for every query.
    return psutil.cpu_count(logical=False) or os.cpu_count() or 1
