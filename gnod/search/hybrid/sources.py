"""Sources of documents beside the index: what a search asks of them. Must not depend on any of them.

A source finds candidates in a collection that another program keeps, and has them in an index beside that of the reader
(gnod.store.connection). Its scores use the weights that terms have in all indexes together.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple, Protocol, TypeVar

from gnod.search.keyword import lexical
from gnod.search.keyword.expression import Expression
from gnod.search.meaning import vector_search
from gnod.search.meaning.nearest_documents import SurveyedVectors
from gnod.store.connection import Connection, Read
from gnod.store.keyword_index.fulltext import PhraseDocumentCounts, Term, Weighed
from gnod.store.tables.filters import Filters

T = TypeVar("T")


class Meant(NamedTuple):
    """The vector results of a source: those of each row, and for each keyword query the scores of documents that only
    the vectors found."""

    surveys: Sequence[SurveyedVectors]
    words: Sequence[Mapping[int, float]]


class Source(Protocol):
    """A collection in another index, for one request. Once it fails, or takes too long, it says nothing more: None. It
    applies the request's filters."""

    name: str

    def has(self, document_id: int) -> bool:
        """Tell whether a document is in the index of this source."""

    async def count(self, terms: Sequence[Term]) -> PhraseDocumentCounts | None: ...

    async def rank(self, wanted: Expression, terms: Sequence[Weighed], limit: int) -> lexical.Matches | None:
        """See `lexical.rank`."""

    async def survey(self, wanted: Expression, terms: Sequence[Weighed]) -> lexical.Part | None:
        """See `lexical.survey_part`."""

    async def meanings(
        self, rows: Sequence[Mapping[str, vector_search.Rows]], also: Sequence[set[int]], pool: int
    ) -> Meant | None:
        """Search rows by model. `also`: for each row, documents whose cosines are returned in any case."""


class Joined(NamedTuple):
    """A search over the local index and `sources`. `read` sees the documents of both; `notes`: what was left out.
    `behind`: changes that the sources do not have yet."""

    read: Read
    sources: Sequence[Source] = ()
    notes: Sequence[str] = ()
    behind: int = 0


class Listed(NamedTuple):
    """A document in a list. `source`: its address."""

    path: str
    title: str
    source: str


class SourceReader(Protocol):
    """A collection in another index, for reading its documents."""

    @property
    def documents(self) -> int:
        """Return how many there are."""

    async def get(self, reference: str, work: Callable[[Connection], T]) -> T:
        """Read a document, as it is now. Raises Unreachable and DocumentNotFound."""

    async def listed(self, prefix: str, limit: int) -> list[Listed]:
        """Return the first documents whose path begins so, in order. Raises Unreachable."""


class Sources(Protocol):
    """All sources of the daemon."""

    def searching(self, read: Read, filters: Filters) -> AbstractAsyncContextManager[Joined]:
        """Return what a search with these filters is over. `read` is that of its snapshot."""

    def concerns(self, filters: Filters) -> bool:
        """Tell whether a search with these filters is over a source."""

    def of(self, name: str) -> SourceReader | None:
        """Return the source with this name."""

    def find(self, reference: str) -> SourceReader | None:
        """Return the source that a reference to a document is in."""


class NoSources:
    """The index alone."""

    @asynccontextmanager
    async def searching(self, read: Read, _filters: Filters) -> AsyncIterator[Joined]:
        yield Joined(read)

    def concerns(self, _filters: Filters) -> bool:
        return False

    def of(self, _name: str) -> None:
        return None

    def find(self, _reference: str) -> None:
        return None
