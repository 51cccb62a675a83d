"""What the methods of the memories take and answer. A module of its own, for commands that have nothing to do with
them must not pay for it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gnod.protocol.params import Params
from gnod.protocol.results import Result

Text = Annotated[str, Meta(max_length=65_536)]
MemoryId = Annotated[str, Meta(min_length=1, max_length=64)]
Ids = Annotated[list[MemoryId], Meta(min_length=1, max_length=100)]
Names = Annotated[list[str], Meta(max_length=100)]

MAX_RESULTS = 32
MAX_DEEP_RESULTS = 100
MAX_IMPORTED = 100


class MemoryStoreParams(Params, frozen=True):
    """`type`: a word, such as `fact`, `preference`, `summary`, `result`, `decision` or `task`; with `_done` at its end
    for what is finished or superseded. `topics`: names by which it is found as well as by its meaning. `namespace`
    comes into being when it is first stored to. The same text again is the same memory: topics are added to it, and
    `type` is the new one."""

    text: Text
    type: str = "fact"
    topics: list[str] = []
    namespace: str = "personal"


class MemorySearchParams(Params, frozen=True):
    """`namespaces`: all when empty. `budget_s`: for the cross-encoder; what it has no time for is ranked without it,
    and `notes` say so."""

    query: Annotated[str, Meta(min_length=1, max_length=4096)]
    namespaces: Names = []
    limit: Annotated[int, Meta(ge=1, le=MAX_RESULTS)] = MAX_RESULTS
    budget_s: Annotated[float, Meta(ge=0.0, le=120.0)] = 2.0


class MemoryDeepSearchParams(MemorySearchParams, frozen=True):
    """For what `memory.search` found only weakly: four times as many candidates, and always a reranking. `query` needs
    two keywords or more."""

    limit: Annotated[int, Meta(ge=1, le=MAX_DEEP_RESULTS)] = MAX_DEEP_RESULTS


class MemoryIdsParams(Params, frozen=True):
    """`ids`: as storing and searching answer them. One that does not exist fails the whole call."""

    ids: Ids


class MemoryUpdateParams(Params, frozen=True):
    """What is absent stays as it is; `topics` replaces them all."""

    id: MemoryId
    text: Text | None = None
    type: str | None = None
    topics: list[str] | None = None


class MemoryListParams(Params, frozen=True, kw_only=True):
    """The latest first. `namespaces` and `types`: any of them, all when empty; `topics`: those that have all of them.
    `whole`: whole texts, not their beginnings; page by page this is an export. A page may hold less than `limit`:
    `cursor` is the last answer's, until there is none."""

    namespaces: Names = []
    types: Names = []
    topics: Names = []
    whole: bool = False
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    cursor: Annotated[str, Meta(max_length=64)] | None = None


class MemoryPublishParams(MemoryIdsParams, frozen=True):
    """Copies them into `namespace`, which need not exist; where they are, they stay."""

    namespace: Annotated[str, Meta(min_length=1)]


class NewMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory to be imported, as `memory.list` answers it; fields that are not here are ignored. Times in ISO 8601;
    absent: now."""

    text: Text
    type: str = "fact"
    topics: list[str] = []
    namespace: str = "personal"
    created: str | None = None
    updated: str | None = None


class MemoryImportParams(Params, frozen=True, kw_only=True):
    """All of them or none. What is there already stays as it is, unless the record was updated later: to do it again
    changes nothing."""

    records: Annotated[list[NewMemory], Meta(min_length=1, max_length=MAX_IMPORTED)]


class MemoryUnlockParams(Params, frozen=True, kw_only=True):
    """`passphrase`: that of the memories, or a new one where nothing was stored yet; absent: the system's keyring has
    the key, or shall have it."""

    passphrase: Annotated[str, Meta(max_length=4096)] | None = None


class MemoryMoveKeyParams(Params, frozen=True, kw_only=True):
    """`passphrase`: the present one, where they have one. `new_passphrase`: absent: the system's keyring shall have the
    key. The key itself stays the same, so that older backups open as before."""

    passphrase: Annotated[str, Meta(max_length=4096)] | None = None
    new_passphrase: Annotated[str, Meta(max_length=4096)] | None = None


class MemoryStoreResult(Result, frozen=True, kw_only=True):
    """`existed`: the same text was there before."""

    id: str
    existed: bool


class MemoryFound(Result, frozen=True, kw_only=True):
    """One result. `text`: its beginning, or all of it when `complete`. `rerank`: the final score, in [0, 1], which
    orders; 0.30 and above is excellent, 0.20 to 0.30 good, below that weak. `vector`: the cosine of its meaning to the
    query's; null: it was found by topic only. `namespace`: absent for the personal one. `time`: of its last change."""

    id: str
    text: str
    vector: float | None
    rerank: float
    type: str
    time: str
    topics: list[str]
    complete: bool
    namespace: str | UnsetType = UNSET


class MemorySearchResult(Result, frozen=True, kw_only=True):
    """`counts`: how many candidates there were, how many of them were ranked and are here, in a sentence. `topics`: how
    often each stands in the results, the most frequent first. `notes`: what was left out, and why. No results: nothing
    of the kind is stored."""

    results: list[MemoryFound]
    counts: str
    topics: dict[str, int]
    notes: list[str] = []


class MemoryRecord(Result, frozen=True, kw_only=True):
    """`complete`: `text` is all of it."""

    id: str
    text: str
    type: str
    topics: list[str]
    namespace: str
    created: str
    updated: str
    complete: bool = True


class MemoryRecordsResult(Result, frozen=True, kw_only=True):
    """In the order of the ids asked for."""

    memories: list[MemoryRecord]


class MemoryListResult(Result, frozen=True, kw_only=True):
    """`total`: how many there are on all pages. `cursor`: for the next page; null: this is the last. `notes`: what is
    damaged on the disk, and so not here."""

    memories: list[MemoryRecord]
    total: int
    cursor: str | None = None
    notes: list[str] = []


class MemoryForgetResult(Result, frozen=True, kw_only=True):
    forgotten: int


class MemoryManyResult(Result, frozen=True, kw_only=True):
    """One for each record or id, in their order."""

    memories: list[MemoryStoreResult]


class MemoryStatusResult(Result, frozen=True, kw_only=True):
    """`unlocked`: the daemon has the key. `opens_by_itself`: where it has not, the first use gets it from the system's
    keyring. `key`: where it is kept, `keyring` or `passphrase`; null: nothing was ever stored. `keyring_problem`: why
    the system's keyring cannot be used; null: it can. The rest is known only while unlocked; `unembedded`: memories
    that are found by topic only, for they have no vector yet."""

    unlocked: bool
    opens_by_itself: bool
    key: str | None
    keyring_problem: str | None
    memories: int | None = None
    unembedded: int | None = None
    namespaces: list[str] = []
