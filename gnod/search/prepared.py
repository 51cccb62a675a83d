"""A query in one snapshot of the index: its corrections, its vectors and its models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from gnod.freshness.read_your_writes import FreshnessReport
from gnod.models.readability import Readability
from gnod.search.correction.correction_service import Corrector
from gnod.search.correction.query_correction import Corrected
from gnod.search.hits import Copies, copies_of
from gnod.search.hybrid import across_indexes, stages
from gnod.search.hybrid.budget import Stage
from gnod.search.hybrid.embedding import Embed
from gnod.search.hybrid.sources import Joined, Source
from gnod.search.hybrid.stages import HybridResult, HybridSettings, OnStage, SearchDependencies
from gnod.search.query.parsing import ParsedQuery
from gnod.search.results import AskedQuery, correct_stage, with_lag
from gnod.store.connection import Connection, Read

T = TypeVar("T")


class QueryModels(Protocol):
    """The models that queries run with: those of the configuration, or of a measurement."""

    def served(self) -> Mapping[str, str]:
        """Return the model that serves each collection with vectors."""

    def are_wanted(self) -> bool:
        """Tell whether any collection is to have vectors, or has some."""

    def readability(self, uri: str) -> Readability | None:
        """Return what a model can read, in any thread; None: not measured yet."""

    def ahead(
        self, queries: Sequence[str], passages: Sequence[str], collections: Sequence[str]
    ) -> AbstractAsyncContextManager[Embed]:
        """Begin to embed texts that will probably be asked for (gnod.search.hybrid.embedding)."""

    async def dependencies(
        self, read: Read, embed: Embed, collections: Sequence[str], sources: Sequence[Source]
    ) -> SearchDependencies:
        """Return what a hybrid query over these collections runs with."""


class Preparation:
    """Corrects the query of a request, once, in the read that needs it first. `written`: the query as it was parsed."""

    def __init__(
        self, corrector: Corrector, asked: AskedQuery, parse: Callable[[str], ParsedQuery], written: ParsedQuery
    ) -> None:
        self.corrected = Corrected(asked.query.text)
        self.stages: list[Stage] = []
        self._corrector = corrector
        self._asked = asked
        self._parse = parse
        self._written = written
        self._query: ParsedQuery | None = None

    def __call__(self, connection: Connection) -> ParsedQuery:
        if self._query is None:
            self._query = self._searched(connection, corrected_by(self._corrector, self._asked, connection))
        return self._query

    async def unless_known(self, shared: Joined) -> None:
        """See the function `unless_known`."""
        await shared.read(self)
        corrected = await unless_known(shared, self.corrected, self._asked.query.text)
        self._query = await shared.read(lambda connection: self._searched(connection, corrected))

    def _searched(self, connection: Connection, corrected: Corrected) -> ParsedQuery:
        self.corrected, self.stages = corrected, correct_stage(corrected, self._asked.started)
        query = self._parse(corrected.text) if corrected.corrections else self._written
        return self._corrector.resolved_query(connection, query)


@dataclass
class PreparedQuery:
    """A question in one snapshot of the index."""

    asked: AskedQuery
    read: Read
    shared: Joined
    embed: Embed
    models: QueryModels
    preparation: Preparation

    @property
    def corrected(self) -> Corrected:
        return self.preparation.corrected

    @property
    def text(self) -> str:
        """Return the question with its corrections."""
        return self.corrected.text

    async def find(self, options: HybridSettings) -> HybridResult:
        """Return the documents for the question."""
        return await self.present(lambda _, found: found, options)

    async def present(
        self,
        present: Callable[[Connection, HybridResult], T],
        options: HybridSettings,
        on_stage: OnStage = lambda _: None,
    ) -> T:
        """See `hybrid.present_search`."""
        filters = self.asked.filters
        given = (self.read, self.embed, filters.collections, self.shared.sources)
        dependencies = await self.models.dependencies(*given)
        return await stages.present_search(dependencies, self.preparation, present, filters, options, on_stage)

    async def copies(self, ids: Collection[int]) -> dict[int, Copies]:
        return await self.read(lambda connection: copies_of(connection, ids, self.asked.filters))

    async def freshness(self) -> FreshnessReport:
        return with_lag(await self.read(self.asked.report), self.shared)

    def notes(self, found: HybridResult) -> list[str]:
        """Return what was left out of the search, and why."""
        return list(dict.fromkeys((*found.left_out, *self.shared.notes)))


def corrected_by(
    corrector: Corrector, asked: AskedQuery, connection: Connection, *, is_unfinished: bool = False
) -> Corrected:
    """Return the query with its corrections, unless it is to be searched as written."""
    text = asked.query.text
    return Corrected(text) if asked.request.exact else corrector.correct(connection, text, unfinished=is_unfinished)


async def unless_known(shared: Joined, corrected: Corrected, text: str) -> Corrected:
    """Search for the query as it stands if another source has a word that the local index does not know."""
    written = " ".join(correction.written for correction in corrected.corrections)
    if shared.sources and written and await across_indexes.is_known(shared.read, shared.sources, written):
        return Corrected(text)
    return corrected
