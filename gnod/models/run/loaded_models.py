"""The models in the worker's memory: loaded on demand, unloaded when they have not been used for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar, cast

from gnod.errors import NotEnoughMemory
from gnod.models.run.messages import Loaded, ModelSpec, Unloaded


class ModelEngine(Protocol):
    def close(self) -> None:
        """Free what the model holds."""


E = TypeVar("E", bound=ModelEngine)
_Key = tuple[Callable[[ModelSpec], ModelEngine], ModelSpec]


class _LoadedModel:
    """`users`: requests that use it or wait for its loading."""

    def __init__(self) -> None:
        self.loading = threading.Lock()
        self.engine: ModelEngine | None = None
        self.users = 0
        self.last_used = time.monotonic()


class LoadedModels:
    """Several threads may use it. Loading one model never delays the use of another."""

    def __init__(self, idle_s: float, report: Callable[[Loaded | Unloaded], None]) -> None:
        self._idle_s = idle_s
        self._report = report
        self._lock = threading.Lock()
        self._models: dict[_Key, _LoadedModel] = {}

    @contextmanager
    def use(self, load: Callable[[ModelSpec], E], spec: ModelSpec) -> Iterator[E]:
        """Yield the model, loaded if necessary, and keep it as long as the block lasts. Raises what `load` raises."""
        key = (load, spec)
        with self._lock:
            model = self._models.setdefault(key, _LoadedModel())
            model.users += 1
        try:
            self._close_unused(self._idle_s)
            yield cast(E, self._engine(model, load, spec))
        finally:
            with self._lock:
                model.users -= 1
                model.last_used = time.monotonic()
                if model.engine is None and not model.users:
                    del self._models[key]

    def _engine(self, model: _LoadedModel, load: Callable[[ModelSpec], E], spec: ModelSpec) -> ModelEngine:
        with model.loading:
            if model.engine is None:
                started = time.monotonic()
                model.engine = self._load(load, spec)
                self._report(Loaded(path=spec.path, took_s=time.monotonic() - started))
            return model.engine

    def _load(self, load: Callable[[ModelSpec], E], spec: ModelSpec) -> E:
        """Load a model, if necessary in the place of those that nobody uses now."""
        try:
            return load(spec)
        except (NotEnoughMemory, MemoryError):
            if not self._close_unused(0):
                raise
        return load(spec)

    def _close_unused(self, idle_s: float) -> bool:
        """Close models without recent use, as a rule those of an older configuration; tell whether there were any."""
        limit = time.monotonic() - idle_s
        with self._lock:
            old = [key for key, model in self._models.items() if not model.users and model.last_used <= limit]
            unused = [(key[1], self._models.pop(key).engine) for key in old]
        for spec, engine in unused:
            if engine is not None:
                engine.close()
                self._report(Unloaded(path=spec.path))
        return bool(unused)
