"""The models in the worker's memory: loaded on demand, unloaded when they have not been used for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar, cast

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
            unused = self._take_unused()
        try:
            for old_spec, old_model in unused:
                self._close(old_spec, old_model)
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
                model.engine = load(spec)
                self._report(Loaded(path=spec.path, took_s=time.monotonic() - started))
            return model.engine

    def _take_unused(self) -> list[tuple[ModelSpec, _LoadedModel]]:
        """Remove and return models without recent use, as a rule those of an older configuration."""
        now = time.monotonic()
        old = [key for key, model in self._models.items() if not model.users and now - model.last_used > self._idle_s]
        return [(key[1], self._models.pop(key)) for key in old]

    def _close(self, spec: ModelSpec, model: _LoadedModel) -> None:
        if model.engine is not None:
            model.engine.close()
            self._report(Unloaded(path=spec.path))
