"""The hybrid query with what this daemon has: its models, its vectors, its database.

Says why a stage has no model, in words that name the command that helps; the pipeline passes them on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from gnod.errors import GnoError
from gnod.models.generator import Generator
from gnod.models.reranker import Reranker
from gnod.pipeline import hybrid
from gnod.pipeline.expanding.expansion import Expander
from gnod.pipeline.hybrid import Found, Tools, Wishes
from gnod.pipeline.nearest import Nearest
from gnod.pipeline.pace import Pace, Patience
from gnod.server import awaited
from gnod.server.embedding import Embedding
from gnod.server.modelling import Models
from gnod.server.running import Running
from gnod.store.database import Connection, Database
from gnod.store.filters import Filters

T = TypeVar("T")


class Querying:
    def __init__(
        self, database: Database, models: Models, running: Running, embedding: Embedding, nearest: Nearest
    ) -> None:
        self._database = database
        self._models = models
        self._running = running
        self._embedding = embedding
        self._nearest = nearest
        # By model: what is known of how fast they are.
        self._paces: dict[str, Pace] = {}
        self._patience: dict[str, Patience] = {}

    async def search(
        self, query: str, filters: Filters, wishes: Wishes, tell: Callable[[str], None] = lambda _: None
    ) -> Found:
        """Return the best documents of the collections in `filters` (all when none is named). `tell` is called with
        what begins, where that may take a second or more. Raises QuerySyntaxError."""
        collections = filters.collections
        reranker = self._model("rerank", Reranker, collections)
        generator = self._model("expand", Generator, collections)
        expander = generator if isinstance(generator, str) else Expander(generator, self._read, self._write)
        tools = Tools(
            read=self._read,
            nearest=self._nearest,
            embed=partial(self._embedding.texts, collections=collections),
            expander=expander,
            reranker=reranker,
            pace=self._paces.setdefault("" if isinstance(reranker, str) else reranker.uri, Pace()),
            patience=self._patience.setdefault("" if isinstance(generator, str) else generator.uri, Patience()),
        )
        return await hybrid.search(tools, query, filters, wishes, tell)

    def generator(self, collections: Sequence[str]) -> Generator | None:
        """Return the model that answers questions; None: the config has none. Raises ModelNotPulled."""
        uri = self._models.uri_for("answer", _only(collections))
        if uri is None:
            return None
        self._models.require(uri)  # nobody has to wait for a search to learn that it is not here
        return self._running.make(Generator, uri)

    def _model(self, role: str, kind: Callable[..., T], collections: Sequence[str]) -> T | str:
        uri = self._models.uri_for(role, _only(collections))
        if uri is None:
            return f"there is no model for it: `models.{role}` in index.yml names one, or another preset"
        try:
            self._models.require(uri)
        except GnoError as error:
            return error.message
        return self._running.make(kind, uri)

    async def _read(self, work: Callable[[Connection], T], /) -> T:
        return await awaited.read(self._database, work)

    async def _write(self, work: Callable[[Connection], T], /) -> T:
        return await awaited.write(self._database, work)


def _only(collections: Sequence[str]) -> str | None:
    """Return the one collection that is searched, whose own models come first."""
    return collections[0] if len(collections) == 1 else None
