"""Wire types of `search.…` and `ask.answer`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from gnod.protocol.base import AnswerSource, Copy, Correction, Freshness, Location, Params, Quote, Result

Limit = Annotated[int, Meta(ge=1, le=1000)]
PassageLimit = Annotated[int, Meta(ge=1, le=10)]
UnitScore = Annotated[float, Meta(ge=0.0, le=1.0)]
FieldName = Annotated[str, Meta(min_length=1, max_length=64)]
Reference = Annotated[str, Meta(min_length=1, max_length=8192)]


class DocumentFilters(Params, frozen=True, kw_only=True):
    """Which documents are searched. FilterParams says what the filters mean."""

    collections: list[str] = []
    tags_all: list[str] = []
    tags_any: list[str] = []
    languages: list[str] = []
    types: list[str] = []
    path_prefix: str | None = None
    author: str | None = None
    since: str | None = None
    until: str | None = None


class FilterParams(DocumentFilters, frozen=True, kw_only=True):
    """Every search takes these filters and options. An empty filter matches everything.

    Dates are ISO 8601 (`2026-11-21`, with or without a time) or an age such as `7d`, `12h`, `3w`, `1y`.
    `fresh` first makes the index equal the disk, for the collections that are searched. `types` matches `type` in the
    frontmatter; `author` is a part of `author` there, case-insensitive.
    """

    limit: Limit = 10
    min_score: UnitScore = 0.0
    full: bool = False
    fresh: bool = False
    explain: bool = False


class SearchParams(FilterParams, frozen=True):
    """`passages`: up to so many of each document, if they match nearly as well as its best one. `sort`: the field that
    the results are sorted by, ascending, or descending with a minus before its name (`-modified`). Keyword search sorts
    all matches, those with all words of the query first; `search.query` and `search.vector` sort the best `limit`.
    `facets`: the fields whose values are counted."""

    query: Annotated[str, Meta(max_length=4096)]
    passages: PassageLimit = 1
    sort: FieldName | None = None
    facets: Annotated[list[FieldName], Meta(max_length=10)] = []


class SearchLexicalParams(SearchParams, frozen=True, kw_only=True):
    """`prefix_last_term`: the user still types the last word, so words that begin with it match too, from three
    letters. `exact`: words that occur in no document are not corrected."""

    prefix_last_term: bool = False
    exact: bool = False


class SearchVectorParams(SearchParams, frozen=True, kw_only=True):
    """The query is plain text: quotation marks and minus signs are not operators. `fresh` also waits for the vectors of
    the collections that are searched. `exact` as in `search.lexical`."""

    exact: bool = False


class SearchQueryParams(SearchParams, frozen=True, kw_only=True):
    """The query uses the syntax of `search.lexical`, or it is structured: lines `lex: …` (keyword search), `vec: …`
    (vector search) and `hyde: …` (vector search for a passage that would answer). `expand`: a model adds query
    variants. `rerank`: a cross-encoder reads the best `candidates`. `floor`: a document that contains the query's own
    words keeps a minimum score in reranking. `fusion`: `convex` (by score) or `rrf` (by rank). `budget_s`: the time
    for all stages that run a model; a stage without time left is skipped, and `explain` says so. `fresh` also waits
    for vectors. `exact` as in `search.lexical`."""

    expand: bool = True
    rerank: bool = True
    floor: bool = True
    fusion: Literal["convex", "rrf"] = "convex"
    candidates: Annotated[int, Meta(ge=2, le=100)] = 20
    budget_s: Annotated[float, Meta(ge=0.0, le=120.0)] = 2.0
    exact: bool = False


class SearchSimilarParams(FilterParams, frozen=True):
    """`ref`: the document, as in `document.get`; the document and its copies are not in the results. `where`: fields,
    as in a query (`tag:work year:2020..`). `by`: all, similar documents, those that links connect with it, and those
    that others link to beside it; near-copies of a hit come later. vectors, the most similar ones only. `fresh` also
    waits for the vectors of the document's collection and of those that are searched."""

    ref: Reference
    where: Annotated[str, Meta(max_length=4096)] = ""
    by: Literal["all", "vectors"] = "all"


class QuestionParams(FilterParams, frozen=True):
    question: Annotated[str, Meta(max_length=4096)]


class AskParams(QuestionParams, frozen=True, kw_only=True):
    """`limit`: the number of documents to take passages from. `max_tokens`: the longest answer. `expand` and `rerank`
    as in `search.query`. `generate`: true calls the model for answers whatever its size, and its absence is an error;
    false calls none; null calls it if it is large enough. `full` has no effect. `fresh` also waits for the vectors of
    the collections that are searched. `exact` as in `search.lexical`."""

    limit: Annotated[int, Meta(ge=1, le=50)] = 6
    max_tokens: Annotated[int, Meta(ge=1, le=2048)] = 512
    expand: bool = True
    rerank: bool = True
    generate: bool | None = None
    exact: bool = False


class HitPassage(Result, frozen=True, kw_only=True):
    """A passage of a document; the fields are as in Hit."""

    line: int
    end_line: int
    snippet: str
    snippet_line: int
    marks: list[tuple[int, int]] = []


class Definition(Result, frozen=True, kw_only=True):
    """A part of source code that has a name. `kind`: function, method, class, struct, interface, trait, enum, type,
    module, macro or property. `path`: the names of what it is in. `label`: all names, as in `Retry.run`. `line` to
    `end_line`: of the file."""

    name: str
    kind: str
    path: list[str]
    label: str
    line: int
    end_line: int


class Reason(Result, frozen=True, kw_only=True):
    """Why a document is related to the one that was asked for. `kind`: links_to, that one has `number` links to this
    one; linked_from, this one has `number` links to it; cited_together, `number` documents link to both; similar,
    `number` is the similarity in [0, 1]."""

    kind: str
    number: float


class Hit(Result, frozen=True, kw_only=True):
    """A document in the results.

    `score` is in [0, 1] and does not depend on the limit; scores of different queries are not comparable. `line` to
    `end_line` (from 1) contain the matches, and `snippet` begins at `snippet_line`: lines of the file where it is text,
    otherwise lines of its Markdown. `marks` are half-open character ranges of the matched words in `snippet`. In vector
    search the matches lie in the nearest passage; where it contains no word of the query, the lines are those of its
    beginning. `source` is the absolute path of the file. `location`: where `line` is in a source without lines.
    `definition`: the innermost one of source code that `line` is in. `text` is the whole document if `full` is set.
    `also`: other files with the same bytes that pass the filters, at most ten, and `also_left_out` more; of copies, the
    best-ranked is the hit. `passages`: only if more than one was asked for; best first, and the first is the one above.
    They do not overlap. `reasons`: of search.similar.
    """

    rank: int
    score: float
    docid: str
    uri: str
    collection: str
    path: str
    source: str
    title: str
    line: int
    end_line: int
    snippet: str
    snippet_line: int = 1
    marks: list[tuple[int, int]] = []
    language: str | None = None
    mime: str
    modified: str
    location: Location | None = None
    definition: Definition | None = None
    tags: list[str] = []
    context: str | None = None
    text: str | None = None
    explain: dict[str, float] | None = None
    also: list[Copy] = []
    also_left_out: int = 0
    passages: list[HitPassage] | UnsetType = UNSET
    reasons: list[Reason] | UnsetType = UNSET


class FacetCount(Result, frozen=True):
    """`count`: in how many documents a field has this value; copies of a file count once."""

    value: str
    count: int


class SearchResult(Result, frozen=True, kw_only=True):
    """`mode`: lexical, vector, query or similar; list for a query of fields only, newest first. `query`: for similar,
    the document's address. `total`: the matching documents before `limit` and `min_score`, copies of a file counted
    once; for vector and similar the number of hits, for query the number of documents compared. `lexical_only_reason`:
    why `search.query` used keyword search alone, if it did. `notes`: what model servers were not asked for, or failed
    to do, and why. `hints`: what of the query may be meant otherwise.
    `corrections`: words of the query that hardly any document has, and what was searched as well. `facets`: the most
    frequent values of each, at most 50: of keyword search and lists over all matching documents (at most 100,000), of
    `search.query` over the documents compared, of `search.vector` over the hits."""

    query: str
    mode: str
    hits: list[Hit]
    total: int
    took_ms: float
    freshness: Freshness
    lexical_only_reason: str | None = None
    notes: list[str] = []
    hints: list[str] = []
    facets: dict[str, list[FacetCount]] = {}
    corrections: list[Correction] = []
    explain: dict[str, object] | None = None


class SavedSearch(Result, frozen=True, kw_only=True):
    """`@name` at the beginning of a query stands for `query`."""

    name: str
    query: str


class SearchSaveParams(DocumentFilters, frozen=True, kw_only=True):
    """`name`: lower-case letters, digits, `-` and `_`. A search that had the name is replaced. The filters become
    fields of the saved query."""

    name: str
    query: Annotated[str, Meta(max_length=4096)] = ""


class SearchSaveResult(Result, frozen=True, kw_only=True):
    search: SavedSearch
    config_file: str


class SearchListResult(Result, frozen=True, kw_only=True):
    searches: list[SavedSearch]


class SearchRemoveParams(Params, frozen=True, kw_only=True):
    name: str


class SearchRemoveResult(Result, frozen=True, kw_only=True):
    removed: SavedSearch


class AskResult(Result, frozen=True, kw_only=True):
    """`quotes`: at most three exact sentences, table rows, list items or lines that best answer the question, best
    first; no model wrote them. `confidence`, in [0, 1], that they answer it; `explain` has its components. `answered`
    is true if that is high enough, or if a source supports generated text. Otherwise `reason` is not_found: the
    documents do not say, and the quotes are marked `perhaps`. `answer` was generated from `sources`, and contains only
    sentences that a source supports, with citations such as `[1]` or `[1][3]`. If it is empty although the question is
    answered, `reason` says why: unsupported (no source supports the generated text), model_declined, no_sources (no
    passage is near enough to the question), or, if no model was called, no_model, model_too_small or not_wanted. Then
    `model` is null, and `no_model_reason` says why in words. `citations`: the numbers of the cited sources. `finish`:
    stop, length (`max_tokens`), time, or repetition (the text only repeated itself; its repeated end is cut off); null
    if no model was called. `notes`, `hints`, `corrections`: as in SearchResult. With `explain`, the stage `answer`
    contains the text that the model wrote, and the stage `citations` the sentences that were removed."""

    question: str
    quotes: list[Quote] = []
    answer: str
    answered: bool
    confidence: float = 0.0
    reason: str | None = None
    sources: list[AnswerSource]
    citations: list[int]
    model: str | None = None
    no_model_reason: str | None = None
    finish: str | None = None
    prompt_tokens: int = 0
    tokens: int = 0
    took_ms: float
    freshness: Freshness
    notes: list[str] = []
    hints: list[str] = []
    corrections: list[Correction] = []
    explain: dict[str, object] | None = None
