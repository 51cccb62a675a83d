"""Search the local index and other sources together: send requests to the sources, and merge their answers.

A source finds candidates in a collection that another program keeps, and stores them in an index beside the reader's
index (gnod.store.connection). All indexes score with the term weights of all documents together, so scores can be
compared. The statistics of all scores are sums, which can be added (docs/adr/0057-shared-ranking.md). Fusion then runs
once. Must not depend on any source.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from gnod.errors import QuerySyntaxError
from gnod.search.hybrid import retrieval
from gnod.search.hybrid.budget import ReadabilityOf
from gnod.search.hybrid.retrieval import LEXICAL_DEPTH, POOL, Retrieved, Surveys
from gnod.search.keyword import lexical
from gnod.search.keyword.expression import Expression
from gnod.search.keyword.lexical import LexicalResult, LexicalSurvey
from gnod.search.meaning import vector_search
from gnod.search.meaning.vector_matrix import Floats
from gnod.search.meaning.vector_search import Nearest, QueryVectors, SurveyedVectors
from gnod.search.query.parsing import Clause, QueryLine, parse_text
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.connection import Connection, Read
from gnod.store.keyword_index import fulltext
from gnod.store.keyword_index.fulltext import PhraseDocumentCounts, Term, Weighed
from gnod.store.tables.filters import Filters

T = TypeVar("T")


class Meant(NamedTuple):
    """The vector results of a source: the survey of each row, and for each keyword query the scores of documents that
    only vectors found."""

    surveys: Sequence[SurveyedVectors]
    words: Sequence[Mapping[int, float]]


class Source(Protocol):
    """A collection in another index, for one request. It applies the request's filters. After a failure or a timeout,
    all its answers are None."""

    name: str

    def has(self, document_id: int) -> bool:
        """Return whether a document is in the index of this source."""

    async def count(self, terms: Sequence[Term]) -> PhraseDocumentCounts | None: ...

    async def rank(self, wanted: Expression, terms: Sequence[Weighed], limit: int) -> lexical.Matches | None:
        """See `lexical.rank`."""

    async def survey(self, wanted: Expression, terms: Sequence[Weighed]) -> lexical.Part | None:
        """See `lexical.survey_part`."""

    async def meanings(self, rows: Sequence[Mapping[str, Floats]], also: Sequence[set[int]], pool: int) -> Meant | None:
        """Search for rows of vectors, by model. `also`: for each row, documents whose cosines are always returned."""


class Joined(NamedTuple):
    """A search over the local index and `sources`. `read` sees the documents of both. `notes`: what was left out, and
    why. `behind`: the number of changes that the sources do not have yet."""

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
        """Return the number of documents."""

    async def get(self, reference: str, work: Callable[[Connection], T]) -> T:
        """Read the current version of a document. Raises Unreachable and DocumentNotFound."""

    async def listed(self, prefix: str, limit: int) -> list[Listed]:
        """Return the first documents, in order, whose path begins with `prefix`. Raises Unreachable."""


class Sources(Protocol):
    """All sources of the daemon."""

    def searching(self, read: Read, filters: Filters) -> AbstractAsyncContextManager[Joined]:
        """Return the indexes for a search with these filters. `read` reads the search's snapshot."""

    def concerns(self, filters: Filters) -> bool:
        """Return whether a search with these filters needs a source."""

    def of(self, name: str) -> SourceReader | None:
        """Return the source with this name."""

    def find(self, reference: str) -> SourceReader | None:
        """Return the source of a reference to a document."""


class NoSources:
    """The local index without other sources."""

    @asynccontextmanager
    async def searching(self, read: Read, _filters: Filters) -> AsyncIterator[Joined]:
        yield Joined(read)

    def concerns(self, _filters: Filters) -> bool:
        return False

    def of(self, _name: str) -> None:
        return None

    def find(self, _reference: str) -> None:
        return None


class TermWeights(NamedTuple):
    """The terms of a query with their weights in all indexes. `here`: their counts in the local index."""

    terms: Sequence[Weighed]
    here: PhraseDocumentCounts
    documents: int

    def worth_reading(self, *, thorough: bool) -> list[Weighed]:
        return fulltext.worth_reading(self.terms, self.documents, thorough=thorough)

    def local(self, *, thorough: bool) -> list[Weighed]:
        return [term.among(self.here.frequencies) for term in self.worth_reading(thorough=thorough)]


async def is_known(read: Read, sources: Sequence[Source], words: str) -> bool:
    """Return whether any source has one of the words."""
    clauses = parse_text(words)
    wanted = await read(lambda c: lexical.expression_of(c, clauses))
    terms = wanted.terms()
    counts = await asyncio.gather(*(source.count(terms) for source in sources))
    return any(n for counted in counts if counted for n in counted.frequencies.values())


async def search_words(
    read: Read,
    sources: Sequence[Source],
    clauses: Sequence[Clause],
    filters: Filters,
    *,
    limit: int,
    min_score: float = 0.0,
    prefix_last_term: bool = False,
) -> LexicalResult:
    """Do as `lexical.search`, over all indexes."""
    build = partial(lexical.expression_in, clauses=clauses, prefix_last_term=prefix_last_term, is_joint=True)
    wanted = await read(build)
    weights = await _weigh(read, sources, wanted.terms())
    worth = weights.worth_reading(thorough=False)
    local = read(lambda c: lexical.rank(c, wanted, weights.local(thorough=False), filters, limit=limit))
    parts = await asyncio.gather(local, *(source.rank(wanted, worth, limit) for source in sources))
    found = [part for part in parts if part is not None]
    ranked = sorted((each for part in found for each in part.ranked), key=lambda each: -each.score)
    shares = lexical.as_shares(ranked[:limit], lexical.greatest(wanted, weights.terms, weights.documents))
    total = sum(part.total for part in found)
    elsewhere = [each.id for part in found[1:] for each in part.ranked]
    return LexicalResult([share for share in shares if share.score >= min_score], total, wanted, elsewhere)


async def search_vectors(
    read: Read,
    local: Nearest,
    sources: Sequence[Source],
    query: QueryVectors,
    filters: Filters,
    *,
    limit: int,
    min_score: float = 0.0,
) -> list[RankedDocument]:
    """Do as `vector.search`, over all indexes."""
    here = read(lambda connection: vector_search.search(connection, local, query, filters, limit=limit))
    there = (source.meanings([query.row(0)], [set()], limit) for source in sources)
    ranked, found = await asyncio.gather(here, asyncio.gather(*there))
    every = [*ranked, *(each for meant in found if meant for each in meant.surveys[0].ranked)]
    return vector_search.best(every, limit, min_score)


async def survey_words(
    read: Read, sources: Sequence[Source], lines: Sequence[QueryLine], filters: Filters
) -> list[tuple[QueryLine, LexicalSurvey]]:
    """Do as `retrieval.survey_words`, over all indexes. Raises QuerySyntaxError."""

    def build(connection: Connection) -> list[tuple[QueryLine, Expression]]:
        return [(line, wanted) for line in lines if line.is_lexical for wanted in _built(connection, line)]

    return [(line, await _surveyed(read, sources, wanted, filters)) for line, wanted in await read(build)]


async def retrieve(
    read: Read,
    local: Nearest,
    sources: Sequence[Source],
    words: Surveys,
    vector_lines: Sequence[QueryLine],
    vectors: QueryVectors | None,
    filters: Filters,
    *,
    language: str | None = None,
    readability: ReadabilityOf = lambda _: None,
) -> Retrieved:
    """Do as `retrieval.retrieve`, over all indexes."""
    rows = [vectors.row(number) for number in range(len(vector_lines))] if vectors else []
    first = retrieval.first_by_words(words)
    here = read(lambda connection: retrieval.survey_meanings(connection, local, words, vector_lines, vectors, filters))
    there = (source.meanings(rows, _own(source, first, vector_lines), POOL) for source in sources) if rows else ()
    meanings, asked = await asyncio.gather(here, asyncio.gather(*there))
    found = [meant for meant in asked if meant is not None]
    merged = [
        (line, _together([survey, *(meant.surveys[number] for meant in found)]))
        for number, (line, survey) in enumerate(meanings)
    ]
    for meant in found:
        words = [(line, _with_scores(survey, more)) for (line, survey), more in zip(words, meant.words, strict=True)]
    return await read(lambda connection: retrieval.gather(connection, words, merged, vectors, language, readability))


def _own(source: Source, first: set[int], lines: Sequence[QueryLine]) -> list[set[int]]:
    """Return for each line the documents that keywords found in a source; none for lines that are not original."""
    own = {id_ for id_ in first if source.has(id_)}
    return [own if line.is_original else set() for line in lines]


def _built(connection: Connection, line: QueryLine) -> list[Expression]:
    """Return the expression of a line; an empty list for a variant without words."""
    try:
        return [lexical.expression_in(connection, line.clauses, is_joint=True)]
    except QuerySyntaxError:
        if line.is_original:
            raise
        return []


async def _surveyed(read: Read, sources: Sequence[Source], wanted: Expression, filters: Filters) -> LexicalSurvey:
    weights = await _weigh(read, sources, wanted.terms())
    worth, local = weights.worth_reading(thorough=True), weights.local(thorough=True)
    here = read(lambda connection: lexical.survey_part(connection, wanted, local, filters, depth=LEXICAL_DEPTH))
    parts = await asyncio.gather(here, *(source.survey(wanted, worth) for source in sources))
    found = [part for part in parts if part is not None]
    return lexical.surveyed(found, wanted, fulltext.coverage(weights.terms))


async def _weigh(read: Read, sources: Sequence[Source], terms: Sequence[Term]) -> TermWeights:
    here, there = await asyncio.gather(
        read(lambda connection: fulltext.counted(connection, terms)),
        asyncio.gather(*(source.count(terms) for source in sources)),
    )
    counts = [here, *(each for each in there if each is not None)]
    return TermWeights(fulltext.weighed(terms, counts), here, sum(count.size for count in counts))


def _together(surveys: Sequence[SurveyedVectors]) -> SurveyedVectors:
    """Merge the results of all indexes for one row, with the prominence of the best among all documents."""
    ranked = [each for survey in surveys for each in survey.ranked]
    ranked = vector_search.best(ranked, len(ranked), 0.0)
    prominences, spreads = [], {}
    for uri in {uri for survey in surveys for uri in survey.spreads}:
        first, *others = [survey.spreads[uri] for survey in surveys if uri in survey.spreads]
        for other in others:
            first = first.plus(other)
        spreads[uri] = first
        prominences.append(vector_search.prominence(first, ranked))
    known = [prominence for prominence in prominences if prominence is not None]
    return SurveyedVectors(ranked, max(known, default=None), spreads)


def _with_scores(survey: LexicalSurvey, more: Mapping[int, float]) -> LexicalSurvey:
    new = {id_: score for id_, score in more.items() if id_ not in survey.scores}
    if not new:
        return survey
    scores = sorted({**survey.scores, **new}.items(), key=lambda item: -item[1])
    return survey._replace(scores=dict(scores))
