"""The models in the memory of the inference worker: loaded on demand, unloaded when nobody uses them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec.structs import replace

from gnod import extras
from gnod.errors import ModelRejected, NotEnoughMemory
from gnod.models.encoder import ONNX
from gnod.models.run import memory
from gnod.models.run.engines import PairRanker, TextEmbedder
from gnod.models.run.messages import Loaded, ModelSpec, Unloaded

if TYPE_CHECKING:
    from gnod.models.run.llama.generation import GenerationEngine

    Engine = TextEmbedder | PairRanker | GenerationEngine

E = TypeVar("E", bound="Engine")


class _LoadedModel:
    """`users`: requests that use the model or wait for it to load."""

    def __init__(self) -> None:
        self.loading = threading.Lock()
        self.engine: Engine | None = None
        self.users = 0
        self.last_used = time.monotonic()


class LoadedModels:
    """The models in memory. They are loaded on demand and unloaded after a long time without use. Several threads may
    use it. Loading one model never delays the use of another."""

    def __init__(self, idle_s: float, report: Callable[[Loaded | Unloaded], None]) -> None:
        self._idle_s = idle_s
        self._report = report
        self._lock = threading.Lock()
        self._models: dict[tuple[Callable[[ModelSpec], Engine], ModelSpec], _LoadedModel] = {}

    @contextmanager
    def use(self, load: Callable[[ModelSpec], E], spec: ModelSpec) -> Iterator[E]:
        """Yield the model, loaded if necessary, and keep it until the block ends. Raises what `load` raises."""
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

    def _engine(self, model: _LoadedModel, load: Callable[[ModelSpec], E], spec: ModelSpec) -> Engine:
        with model.loading:
            if model.engine is None:
                started = time.monotonic()
                model.engine = self._load(load, spec)
                self._report(Loaded(path=spec.path, took_s=time.monotonic() - started))
            return model.engine

    def _load(self, load: Callable[[ModelSpec], E], spec: ModelSpec) -> E:
        """Load a model. If memory is short, replace the models that are unused now."""
        try:
            return load(spec)
        except (NotEnoughMemory, MemoryError):
            if not self._close_unused(0):
                raise
        return load(spec)

    def _close_unused(self, idle_s: float) -> bool:
        """Close models without recent use, usually those of an older configuration; return whether there were any."""
        limit = time.monotonic() - idle_s
        with self._lock:
            old = [key for key, model in self._models.items() if not model.users and model.last_used <= limit]
            unused = [(key[1], self._models.pop(key).engine) for key in old]
        for spec, engine in unused:
            if engine is not None:
                engine.close()
                self._report(Unloaded(path=spec.path))
        return bool(unused)


# Import these late: the imports take 0.1 s each, and most workers need only one of them.
def load_embedding(spec: ModelSpec) -> TextEmbedder:
    if spec.path.endswith(ONNX):
        from gnod.models.run.onnx import OnnxEmbedding

        return _load(OnnxEmbedding, spec)
    from gnod.models.run.llama.embedding import EmbeddingEngine

    return _load(EmbeddingEngine, spec)


def load_ranking(spec: ModelSpec) -> PairRanker:
    if spec.path.endswith(ONNX):
        from gnod.models.run.onnx import OnnxRanking

        return _load(OnnxRanking, spec)
    from gnod.models.run.llama.ranking import ranking_engine

    return _load(ranking_engine, spec)


def load_generation(spec: ModelSpec) -> GenerationEngine:
    if spec.path.endswith(ONNX):
        raise ModelRejected("the model does not write text: it is not a generator")
    from gnod.models.run.llama.generation import GenerationEngine

    return _load(GenerationEngine, spec)


def _load(make: Callable[[ModelSpec], E], spec: ModelSpec) -> E:
    """Load a model into a graphics card, or into the computer's memory if the card is full or missing."""
    if spec.gpu and not spec.path.endswith(ONNX) and has_graphics_card():
        with contextlib.suppress(MemoryError):
            return make(spec)
    memory.require(spec)
    return make(replace(spec, gpu=False))


def has_graphics_card() -> bool:
    if not extras.is_installed("llama_cpp"):
        return False
    from gnod.models.run.llama import library

    return library.has_graphics_card()
