"""Wire types of `search.…` and `ask.answer`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from gnod.protocol.base import AnswerSource, Copy, Correction, Freshness, Location, Params, Quote, Result
from gnod.types import FusionMethod

Limit = Annotated[int, Meta(ge=1, le=1000)]
PassageLimit = Annotated[int, Meta(ge=1, le=10)]
UnitScore = Annotated[float, Meta(ge=0.0, le=1.0)]
FieldName = Annotated[str, Meta(min_length=1, max_length=64)]
Reference = Annotated[str, Meta(min_length=1, max_length=8192)]


FieldValues = Annotated[list[Annotated[str, Meta(max_length=1000)]], Meta(max_length=64)]


class DocumentFilters(Params, frozen=True, kw_only=True):
    """Selects the documents to search. FilterParams explains the filters."""

    collections: list[str] = []
    tags_all: list[str] = []
    tags_any: list[str] = []
    languages: list[str] = []
    types: list[str] = []
    path_prefix: str | None = None
    author: str | None = None
    since: str | None = None
    until: str | None = None
    fields: dict[FieldName, FieldValues] = {}


class FilterParams(DocumentFilters, frozen=True, kw_only=True):
    """Every search takes these filters and options. An empty filter matches everything.

    - `types`: match `type` in the frontmatter.
    - `author`: matches a part of `author` in the frontmatter, ignoring case.
    - `since`, `until`: ISO 8601 dates (`2026-11-21`, with or without a time), or an age such as `7d`, `12h`, `3w`,
      `1y`.
    - `fields`: fields of documents (as in a query), each with values from `facets`. A document must have one of the
      values of each field.
    - `full`: also return the whole text of each document.
    - `fresh`: first make the index equal the disk, for the collections that are searched.
    """

    limit: Limit = 10
    min_score: UnitScore = 0.0
    full: bool = False
    fresh: bool = False
    explain: bool = False


class SearchParams(FilterParams, frozen=True):
    """Contains the query and options for its results.

    - `passages`: the maximum number of passages of each document. Further passages must match nearly as well as the
      best one.
    - `sort`: the field to sort the results by, ascending; a minus before the name (`-modified`) sorts descending;
      `newest` and `oldest` sort by `date`.
      Keyword search sorts all matches; matches with all words of the query come first. `search.query` and
      `search.vector` sort the best `limit`.
    - `facets`: the fields whose values are counted; `*` means every field of the frontmatter. A filter on a field
      (`fields`, `collections`) does not affect the counts of that field.
    - `facet_values`: the maximum number of values of each field.
    - `columns`: return rows with these fields instead of hits. A column is `docid`, `uri`, `source`, `mime`, a query
      field that has a value (`title`, `tag`, `date`, …), or a field of the frontmatter.
    - `offset`: skip this many results.
    """

    query: Annotated[str, Meta(max_length=4096)]
    passages: PassageLimit = 1
    sort: FieldName | None = None
    facets: Annotated[list[FieldName], Meta(max_length=10)] = []
    facet_values: Annotated[int, Meta(ge=1, le=5000)] = 50
    columns: Annotated[list[FieldName], Meta(max_length=32)] = []
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class SearchLexicalParams(SearchParams, frozen=True, kw_only=True):
    """The query uses the syntax of keyword search.

    - `prefix_last_term`: the user is still typing the last word. If it has at least three letters, words that begin
      with it also match.
    - `exact`: do not correct words that occur in no document.
    """

    prefix_last_term: bool = False
    exact: bool = False


class SearchVectorParams(SearchParams, frozen=True, kw_only=True):
    """The query is plain text: quotation marks and minus signs are not operators. `fresh` also waits for the vectors of
    the collections that are searched. `exact`: see `search.lexical`.

    - `loose`: also return documents that are only loosely similar to the query, and mark them.
    """

    exact: bool = False
    loose: bool = True


class SearchQueryParams(SearchParams, frozen=True, kw_only=True):
    """The query uses the syntax of `search.lexical`, or consists of lines `lex: …` (keyword search), `vec: …` (vector
    search) and `hyde: …` (vector search for a passage that would answer).

    - `expand`: a model adds query variants.
    - `rerank`: a cross-encoder reranks the best `candidates`.
    - `floor`: a document that contains the query's own words keeps a minimum score in reranking.
    - `fusion`: `convex` (by score) or `rrf` (by rank).
    - `budget_s`: the time for all stages that run a model. A stage without time left is skipped, and `explain` says so.
    - `fresh`: also waits for vectors.
    - `exact`: see `search.lexical`.
    - `loose`: see `search.vector`. The reranker does not read documents that are left out.
    """

    expand: bool = True
    rerank: bool = True
    floor: bool = True
    fusion: FusionMethod = "convex"
    candidates: Annotated[int, Meta(ge=2, le=100)] = 20
    budget_s: Annotated[float, Meta(ge=0.0, le=120.0)] = 2.0
    exact: bool = False
    loose: bool = True


class SearchSimilarParams(FilterParams, frozen=True):
    """Selects the document to compare with, and sets what counts as related.

    - `ref`: the document; see `document.get`. It and its copies are not in the results.
    - `where`: conditions on fields, in query syntax (`tag:work year:2020..`).
    - `by`: `vectors` returns only the most similar documents. `all` adds documents that links connect with it, and
      documents that are linked together with it; near-copies of a hit come later.
    - `fresh`: also waits for the vectors of the document's collection and of the searched collections.
    """

    ref: Reference
    where: Annotated[str, Meta(max_length=4096)] = ""
    by: Literal["all", "vectors"] = "all"


class QuestionParams(FilterParams, frozen=True):
    question: Annotated[str, Meta(max_length=4096)]


class AskParams(QuestionParams, frozen=True, kw_only=True):
    """Contains the question and options for the answer.

    - `limit`: the number of documents to take passages from.
    - `max_tokens`: the maximum length of the answer.
    - `expand`, `rerank`: see `search.query`.
    - `generate`: true always calls the model for answers, and fails if there is none. False never calls it. Null calls
      it if it is large enough.
    - `exact`: see `search.lexical`.
    - `full`: has no effect.
    - `fresh`: also waits for the vectors of the collections that are searched.
    """

    limit: Annotated[int, Meta(ge=1, le=50)] = 6
    max_tokens: Annotated[int, Meta(ge=1, le=2048)] = 512
    expand: bool = True
    rerank: bool = True
    generate: bool | None = None
    exact: bool = False


class HitPassage(Result, frozen=True, kw_only=True):
    """A passage of a document. Hit describes the fields."""

    line: int
    end_line: int
    snippet: str
    snippet_line: int
    marks: list[tuple[int, int]] = []
    heading: str = ""


class HitMatches(Result, frozen=True, kw_only=True):
    """The places where a document has words or phrases of the query.

    - `count`: the number of matches, at most 1,000. `exact`: there are no more.
    - `lines`: the line of each match, in order, counted as in Hit.
    - `pages`: the number of pages with matches, in a source that has pages.
    """

    count: int
    exact: bool
    lines: list[int]
    pages: int | None = None


class Definition(Result, frozen=True, kw_only=True):
    """A part of source code that has a name.

    - `kind`: function, method, class, struct, interface, trait, enum, type, module, macro or property.
    - `path`: the names of the definitions that contain it.
    - `label`: all names, such as `Retry.run`.
    - `line`, `end_line`: lines of the file.
    """

    name: str
    kind: str
    path: list[str]
    label: str
    line: int
    end_line: int


class Reason(Result, frozen=True, kw_only=True):
    """Says why a hit is related to the requested document.

    - `links_to`: the requested document has `number` links to the hit.
    - `linked_from`: the hit has `number` links to the requested document.
    - `cited_together`: `number` documents link to both.
    - `similar`: `number` is the similarity in [0, 1].
    """

    kind: str
    number: float


class Hit(Result, frozen=True, kw_only=True):
    """A document in the results.

    - `score`: in [0, 1]. It does not depend on the limit. Scores of different queries cannot be compared.
    - `loose`: only loosely similar. The document has few of the query's words, and its meaning is hardly nearer than
      the meaning of unrelated texts. Only `search.query` and `search.vector` set it, after the embedding model was
      measured.
    - `source`: the absolute path of the file.
    - `line`, `end_line`: the lines that contain the matches, from 1. They count lines of the file if it is text,
      otherwise lines of its Markdown. In vector search, the matches are in the nearest passage. If it contains no word
      of the query, these are the first lines of the passage.
    - `snippet`: the text around the matches, without markup unless the file is plain text or code. `snippet_line` is
      its first line. Each line of the snippet is a line of the text, except that metadata at the head becomes one line.
      `document.get` returns the text with its markup.
    - `marks`: the matched words in `snippet`, as half-open character ranges.
    - `heading`: the headings above `line`, joined by ` > `; without the title, and not in texts over 1 MB.
    - `date`: the date of the document, by which `date:` finds it. `dated_by`: the name in its metadata that has this
      date; null if it is the time of the file, which is also `modified`.
    - `location`: the place of `line` in a source that has no lines.
    - `definition`: the innermost definition of source code that contains `line`.
    - `text`: the whole document, if `full` was set.
    - `also`: at most ten other files with the same bytes that pass the filters. The hit is the best-ranked of the
      copies.
    - `also_left_out`: the number of further copies.
    - `passages`: present if more than one was requested. The first is the best passage, which the fields above also
      describe. Passages do not overlap.
    - `matches`: present if more than one passage was requested.
    - `reasons`: present in the results of `search.similar`.
    """

    rank: int
    score: float
    loose: bool = False
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
    heading: str = ""
    language: str | None = None
    mime: str
    modified: str
    date: str = ""
    dated_by: str | None = None
    location: Location | None = None
    definition: Definition | None = None
    tags: list[str] = []
    context: str | None = None
    text: str | None = None
    explain: dict[str, float] | None = None
    also: list[Copy] = []
    also_left_out: int = 0
    passages: list[HitPassage] | UnsetType = UNSET
    matches: HitMatches | UnsetType = UNSET
    reasons: list[Reason] | UnsetType = UNSET


class Row(Result, frozen=True, kw_only=True):
    """`values`: the requested columns that the document has. They keep the types of its metadata: texts, numbers,
    lists. `date` is a day in local time."""

    docid: str
    uri: str
    values: dict[str, object]


class FacetCount(Result, frozen=True):
    """`count`: the number of documents with this value in the field. Copies of a file count once."""

    value: str
    count: int


class SearchResult(Result, frozen=True, kw_only=True):
    """The hits of a search.

    - `query`: the query; for similar, the document's address.
    - `mode`: keyword, vector, hybrid or similar. It is list for a query that consists only of fields; its results are
      sorted from new to old.
    - `rows`: present instead of hits if columns were requested.
    - `total`: the number of matching documents before `limit` and `min_score`. Copies of a file count once. For vector
      and similar, it is the number of hits. For query, it is the number of compared documents that are not left out: a
      higher `limit` returns all of them.
    - `loose`: how many documents are only loosely similar to the query: among `total`, or left out (`loose: false`).
    - `lexical_only_reason`: why `search.query` used only keyword search, if it did.
    - `notes`: requests that gnod did not send to model servers, or that failed, and why.
    - `hints`: parts of the query whose meaning may differ from the intended one.
    - `facets`: the most frequent values of each field. Keyword search and lists count all matching
      documents (at most 100,000), `search.query` counts the compared documents, and `search.vector` counts the hits.
    - `corrections`: words of the query that very few documents contain, and the words that were also searched.
    """

    query: str
    mode: str
    hits: list[Hit]
    rows: list[Row] | UnsetType = UNSET
    total: int
    loose: int = 0
    took_ms: float
    freshness: Freshness
    lexical_only_reason: str | None = None
    notes: list[str] = []
    hints: list[str] = []
    facets: dict[str, list[FacetCount]] = {}
    corrections: list[Correction] = []
    explain: dict[str, object] | None = None


class SavedSearch(Result, frozen=True, kw_only=True):
    """A saved query. `@name` at the beginning of another query stands for `query`."""

    name: str
    query: str


class SearchSaveParams(DocumentFilters, frozen=True, kw_only=True):
    """The filters become fields of the saved query.

    - `name`: lower-case letters, digits, `-` and `_`. It replaces a search with the same name.
    """

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
    """The quotes that answer a question, and an answer that a model wrote from them.

    - `quotes`: at most three exact sentences, table rows, list items or lines that best answer the question, the best
      first. They are copied from documents; no model writes them.
    - `confidence`: how probable it is that they answer the question, in [0, 1]. `explain` has its components.
    - `answered`: true if `confidence` is high enough, or if a source supports generated text.
    - `answer`: text generated from `sources`. It contains only sentences that a source supports, with citations such as
      `[1]` or `[1][3]`.
    - `reason`: why the question is not answered, or why `answer` is empty. `not_found`: the documents do not answer it,
      and the quotes are marked `perhaps`. `unsupported`: no source supports the generated text. `model_declined`: the
      model did not answer. `no_sources`: no passage is near enough to the question. `no_model`, `model_too_small`,
      `not_wanted`: no model was called.
    - `no_model_reason`: why no model was called, in words. Then `model` is null.
    - `citations`: the numbers of the cited sources.
    - `finish`: why the model stopped: stop, length (`max_tokens`), time, or repetition (the text only repeated itself,
      and its repeated end is cut off); null if no model was called.
    - `notes`, `hints`, `corrections`: see SearchResult.
    - `explain`: the stage `answer` has the text that the model wrote; the stage `citations` has the removed sentences.
    """

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
    tokens: int = 0
    took_ms: float
    freshness: Freshness
    notes: list[str] = []
    hints: list[str] = []
    corrections: list[Correction] = []
    explain: dict[str, object] | None = None
