"""What each method takes. The structs are the validation: unknown names and wrong types are refused.

Fields are given by name, but for what a call is about (`SearchLexicalParams("kayak", limit=5)`): the class that
declares it is not `kw_only`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

ProgressToken = int | str

Limit = Annotated[int, Meta(ge=1, le=1000)]
UnitScore = Annotated[float, Meta(ge=0.0, le=1.0)]
LineNumber = Annotated[int, Meta(ge=1)]
Reference = Annotated[str, Meta(min_length=1, max_length=8192)]


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base of all parameters. `progress_token` asks for `$/progress` notifications that carry it."""

    progress_token: ProgressToken | None = None


class NoParams(Params, frozen=True, kw_only=True):
    pass


class FilterParams(Params, frozen=True, kw_only=True):
    """What every search takes beside its query: filters, and what to answer. Empty filters let everything through.

    Dates are ISO 8601 (`2026-11-21`, with or without time) or an age like `7d`, `12h`, `3w`, `1y`.
    `fresh` makes the index equal the disk first, for the collections asked for. `types` matches the frontmatter's
    `type`; `author` is a case-insensitive part of its `author`.
    """

    limit: Limit = 10
    min_score: UnitScore = 0.0
    collections: list[str] = []
    tags_all: list[str] = []
    tags_any: list[str] = []
    languages: list[str] = []
    types: list[str] = []
    path_prefix: str | None = None
    author: str | None = None
    since: str | None = None
    until: str | None = None
    full: bool = False
    fresh: bool = False
    explain: bool = False


class SearchParams(FilterParams, frozen=True):
    query: Annotated[str, Meta(max_length=4096)]


class SearchLexicalParams(SearchParams, frozen=True, kw_only=True):
    """`unfinished`: the last word is still being typed: words that begin so are found too, from three letters on."""

    unfinished: bool = False


class SearchVectorParams(SearchParams, frozen=True, kw_only=True):
    """The query is a text like any other: quotation marks and minus signs have no meaning of their own. `fresh` also
    embeds what is pending in the collections asked for, before answering."""


class SearchQueryParams(SearchParams, frozen=True, kw_only=True):
    """The query is in the language of `search.lexical`, or structured: lines `lex: …` (by words), `vec: …` (by meaning)
    and `hyde: …` (a passage that would answer, by meaning). `expand`: let a model add other wordings. `rerank`: let a
    cross-encoder read the best `candidates`; `floor`: what has the query's own words keeps a score there. `fusion`:
    `convex` (scores) or `rrf` (ranks). `budget_s`: for the stages that need a model, together; what does not fit is
    left out, and `explain` says so. `fresh` also embeds what is pending, before answering."""

    expand: bool = True
    rerank: bool = True
    floor: bool = True
    fusion: Literal["convex", "rrf"] = "convex"
    candidates: Annotated[int, Meta(ge=2, le=100)] = 20
    budget_s: Annotated[float, Meta(ge=0.0, le=120.0)] = 2.0


class SearchSimilarParams(FilterParams, frozen=True):
    """`ref`: the document, as in `document.get`. It and its copies are not in the answer. `fresh` also embeds what is
    pending in the document's collection and those asked for."""

    ref: Reference


class QuestionParams(FilterParams, frozen=True):
    question: Annotated[str, Meta(max_length=4096)]


class AskParams(QuestionParams, frozen=True, kw_only=True):
    """`limit`: how many documents are looked into. `full` changes nothing. `max_tokens`: of the answer. `expand` and
    `rerank` as in `search.query`. `fresh` also embeds what is pending in the collections asked for, before the
    answer."""

    limit: Annotated[int, Meta(ge=1, le=50)] = 6
    max_tokens: Annotated[int, Meta(ge=1, le=2048)] = 512
    expand: bool = True
    rerank: bool = True


class DocumentGetParams(Params, frozen=True):
    """`ref`: `gno://collection/path`, `#docid` (6 hex digits or more), `collection/path`, or a path on disk;
    all but a docid may end in `:LINE`. Lines are the file's own where it is text, else those of its Markdown."""

    ref: Reference
    start_line: LineNumber | None = None
    max_lines: Annotated[int, Meta(ge=1)] | None = None


class DocumentMultiGetParams(Params, frozen=True):
    """`refs`: references as in `document.get`, and globs over `collection/path` (`notes/**/*.md`)."""

    refs: Annotated[list[Reference], Meta(min_length=1, max_length=1000)]
    max_bytes: Annotated[int, Meta(ge=1)] = 10240
    limit: Limit = 100


class DocumentListParams(Params, frozen=True):
    """`scope`: a collection, `collection/prefix`, or a `gno://` address; everything when absent."""

    scope: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100_000)] = 1000
    offset: Annotated[int, Meta(ge=0, le=2**53)] = 0


class CollectionAddParams(Params, frozen=True, kw_only=True):
    """`name` defaults to the folder's own, made valid."""

    path: str
    name: str | None = None
    pattern: str = "**/*"
    include: list[str] = []
    exclude: list[str] | None = None
    language: str | None = None
    update_command: str | None = None
    gitignore: bool = True


class CollectionRemoveParams(Params, frozen=True, kw_only=True):
    name: str


class CollectionRenameParams(Params, frozen=True, kw_only=True):
    name: str
    new_name: str


class ContextAddParams(Params, frozen=True, kw_only=True):
    """`scope`: `/` for everything, `collection:`, or `gno://collection/prefix`."""

    scope: str
    text: Annotated[str, Meta(min_length=1, max_length=10_000)]


class ContextRemoveParams(Params, frozen=True, kw_only=True):
    """Without `text`, every context of the scope goes."""

    scope: str
    text: str | None = None


class IndexSyncParams(Params, frozen=True):
    """`collections`: all when empty. `update`: run each collection's update command first."""

    collections: list[str] = []
    update: bool = False


class IndexBackupParams(Params, frozen=True, kw_only=True):
    """`path`: absolute, on the daemon's machine. `force`: replace a backup that is there. Progress counts bytes."""

    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    force: bool = False


class IndexRestoreParams(Params, frozen=True, kw_only=True):
    """`path`: absolute. `config`: put the backup's config file in the place of the one that is there; `memories`: its
    memories in the place of those that are there. What is not there comes from the backup all the same. The index is
    replaced after the answer: all connections are closed then, and new ones are answered from the restored index, whose
    `index.status` has the same `restored_at`. Progress counts bytes."""

    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    config: bool = False
    memories: bool = False


class IndexEmbedParams(Params, frozen=True, kw_only=True):
    """Progress counts chunks. A client that goes away does not end the work."""


class IndexStatusParams(Params, frozen=True, kw_only=True):
    """`errors`: list the files that failed."""

    errors: bool = False


class IndexSubscribeParams(Params, frozen=True, kw_only=True):
    """`since`: the last clock that was read, to be told what changed after it; 0: to be told everything that there is;
    absent: what changes from now on. `collections`: only these (all when empty)."""

    since: Annotated[int, Meta(ge=0)] | None = None
    collections: list[str] = []


class IndexUnsubscribeParams(Params, frozen=True, kw_only=True):
    subscription: int


class IndexWhyParams(Params, frozen=True):
    """`path`: absolute, or any reference that `document.get` takes."""

    path: Reference


# What a client may pass on to a download from its own environment. There are secrets among the values.
NETWORK_VARIABLES = (
    *("GNO_OFFLINE", "HF_HUB_OFFLINE", "HF_ENDPOINT", "HF_TOKEN"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE", "UV_INDEX_URL", "UV_DEFAULT_INDEX"),
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"),
)

ModelName = Annotated[str, Meta(min_length=1, max_length=1024)]


class ModelsUseParams(Params, frozen=True, kw_only=True):
    """`preset`: one of the names that `models.list` answers."""

    preset: Annotated[str, Meta(min_length=1, max_length=100)]


class ModelsPullParams(Params, frozen=True, kw_only=True):
    """`models`: roles (`embed`, `rerank`, `expand`, `answer`) or addresses (`hf:…`); all that the config asks for when
    empty. `force`: fetch also what is here. `network`: variables of the client's environment for the download (proxies,
    mirrors, tokens); only those of a fixed list."""

    models: Annotated[list[ModelName], Meta(max_length=100)] = []
    force: bool = False
    network: dict[str, Annotated[str, Meta(max_length=4096)]] = {}


class ModelsClearParams(Params, frozen=True, kw_only=True):
    """`models`: roles or addresses. `everything`: all of them, those that nothing uses and unfinished ones, too."""

    models: Annotated[list[ModelName], Meta(max_length=100)] = []
    everything: bool = False


class ModelsPathParams(Params, frozen=True, kw_only=True):
    """`model`: a role or an address; the folder of all models when absent."""

    model: ModelName | None = None


class CancelParams(msgspec.Struct, frozen=True, kw_only=True):
    id: int | str | float | None
