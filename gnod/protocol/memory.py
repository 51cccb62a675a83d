"""Parameters and results of `memory.*`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gnod.protocol.base import Params, Result

Text = Annotated[str, Meta(max_length=65_536)]
MemoryId = Annotated[str, Meta(min_length=1, max_length=64)]
Ids = Annotated[list[MemoryId], Meta(min_length=1, max_length=100)]
Time = Annotated[str, Meta(max_length=64)]
Superseded = Annotated[list[MemoryId], Meta(max_length=32)]
Names = Annotated[list[str], Meta(max_length=100)]

MAX_RESULTS = 32
MAX_DEEP_RESULTS = 100
MAX_IMPORTED = 100


class MemoryStoreParams(Params, frozen=True):
    """`type`: one that docs/memory.md lists, or a word of your own; with `_done` at its end when it is finished or
    superseded. `topics`: names that find the memory in addition to its meaning. `namespace`: created by the first
    memory stored in it. `when`: when it happened, in ISO 8601, if not now. `supersedes`: ids of memories that are no
    longer true: their type gets `_done`, and both sides are linked. Storing the same text again changes the memory: the
    topics are added, `when` and `type` replace the old ones, so proposals can be accepted by storing it again with
    `supersedes`."""

    text: Text
    type: str = "fact"
    topics: list[str] = []
    namespace: str = "personal"
    when: Time | None = None
    supersedes: Superseded = []


class MemorySearchParams(Params, frozen=True):
    """`namespaces`: empty means all. `budget_s`: for the reranker; memories beyond it are ranked without it, and
    `notes` say so."""

    query: Annotated[str, Meta(min_length=1, max_length=4096)]
    namespaces: Names = []
    limit: Annotated[int, Meta(ge=1, le=MAX_RESULTS)] = MAX_RESULTS
    budget_s: Annotated[float, Meta(ge=0.0, le=120.0)] = 2.0


class MemoryDeepSearchParams(MemorySearchParams, frozen=True):
    """When `memory.search` finds only weak results: four times the candidates, always reranked. `query` needs two
    keywords or more."""

    limit: Annotated[int, Meta(ge=1, le=MAX_DEEP_RESULTS)] = MAX_DEEP_RESULTS


class MemoryIdsParams(Params, frozen=True):
    """`ids`: from the results of other methods. An id that does not exist fails the whole call."""

    ids: Ids


class MemoryUpdateParams(Params, frozen=True):
    """Absent fields stay unchanged; `topics` replaces all that were given. `remove_topics`: also suggested ones, which
    stay removed. `when`: "" removes it. `supersedes`: ids of memories that it makes obsolete, in addition. A superseded
    memory whose type no longer ends in `_done` is current again, without a link."""

    id: MemoryId
    text: Text | None = None
    type: str | None = None
    topics: list[str] | None = None
    remove_topics: list[str] = []
    when: Time | None = None
    supersedes: Superseded = []


class MemoryHistoryParams(Params, frozen=True):
    """`id`: any memory of the chain."""

    id: MemoryId


class MemoryListParams(Params, frozen=True, kw_only=True):
    """The latest first. `namespaces` and `types`: any of them, empty means all. `topics`: memories that have all of
    them. `whole`: whole texts instead of their beginnings, for an export. A page may have fewer than `limit`. `cursor`:
    from the last result; null there means the end."""

    namespaces: Names = []
    types: Names = []
    topics: Names = []
    whole: bool = False
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    cursor: Annotated[str, Meta(max_length=64)] | None = None


class MemoryPublishParams(MemoryIdsParams, frozen=True):
    """Copies them into `namespace`, which need not exist. The originals stay."""

    namespace: Annotated[str, Meta(min_length=1)]


class NewMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory to import, as `memory.list` returns it; other fields are ignored. Times in ISO 8601; absent: now.
    `suggested`: absent: taken from the text. Links to other memories are made with `memory.update`."""

    text: Text
    type: str = "fact"
    topics: list[str] = []
    namespace: str = "personal"
    created: str | None = None
    updated: str | None = None
    when: str | None = None
    suggested: list[str] | None = None


class MemoryImportParams(Params, frozen=True, kw_only=True):
    """All or none. A memory with the same text changes only if the record was updated later, so repeating an import
    changes nothing."""

    records: Annotated[list[NewMemory], Meta(min_length=1, max_length=MAX_IMPORTED)]


class MemoryUnlockParams(Params, frozen=True, kw_only=True):
    """`passphrase`: of the memories, or a new one before anything is stored. Absent: the key is, or will be, in the
    system's keyring."""

    passphrase: Annotated[str, Meta(max_length=4096)] | None = None


class MemoryMoveKeyParams(Params, frozen=True, kw_only=True):
    """`passphrase`: the present one, if any. `new_passphrase`: absent: put the key into the system's keyring. The key
    stays the same, so older backups open as before."""

    passphrase: Annotated[str, Meta(max_length=4096)] | None = None
    new_passphrase: Annotated[str, Meta(max_length=4096)] | None = None


class MemoryProposal(Result, frozen=True, kw_only=True):
    """An older memory that the stored one may supersede. `text`: its beginning. `reason`: a sentence. `time`: when it
    happened, or was stored."""

    id: str
    text: str
    reason: str
    time: str


class MemoryStoreResult(Result, frozen=True, kw_only=True):
    """`existed`: the same text was stored before. `proposals`: nothing happens to them unless `supersedes` names
    them; empty in `memory.import` and `memory.publish`."""

    id: str
    existed: bool
    proposals: list[MemoryProposal] = []


class MemoryFound(Result, frozen=True, kw_only=True):
    """One result. `text`: the beginning, or all of it if `complete`. `rerank`: the final score, in [0, 1], which orders
    the results: excellent from 0.30, good from 0.20, weak below. `vector`: the cosine to the query; null: it has no
    vector. `namespace`: absent for the personal one. `time`: of the last change. `when`: when it happened, if that was
    stated. `suggested`: topics taken from the text. `superseded_by`: the id of the memory that replaces it, which
    comes before it if both are found. `folded`: ids of other matching memories of the same event, and of
    near-duplicates, the best first; absent: there are none."""

    id: str
    text: str
    vector: float | None
    rerank: float
    type: str
    time: str
    topics: list[str]
    complete: bool
    namespace: str | UnsetType = UNSET
    when: str | UnsetType = UNSET
    suggested: list[str] | UnsetType = UNSET
    superseded_by: str | UnsetType = UNSET
    folded: list[str] | UnsetType = UNSET


class MemorySearchResult(Result, frozen=True, kw_only=True):
    """`counts`: a sentence with the numbers of candidates, ranked memories and results. `topics`: frequency in the
    results, the most frequent first. `notes`: what was left out, and why. No results: nothing similar is stored."""

    results: list[MemoryFound]
    counts: str
    topics: dict[str, int]
    notes: list[str] = []


class MemoryRecord(Result, frozen=True, kw_only=True):
    """`complete`: `text` is the whole text. `when`: when it happened, if that was stated. `suggested`: topics taken
    from the text. `superseded_by` and `supersedes`: ids."""

    id: str
    text: str
    type: str
    topics: list[str]
    namespace: str
    created: str
    updated: str
    complete: bool = True
    when: str | None = None
    suggested: list[str] = []
    superseded_by: str | None = None
    supersedes: list[str] = []


class MemoryRecordsResult(Result, frozen=True, kw_only=True):
    """In the order of the requested ids."""

    memories: list[MemoryRecord]


class MemoryHistoryResult(Result, frozen=True, kw_only=True):
    """The current memory first, then what it superseded."""

    memories: list[MemoryRecord]


class MemoryListResult(Result, frozen=True, kw_only=True):
    """`total`: on all pages. `cursor`: for the next page; null: this is the last. `notes`: about damaged memories,
    which are missing."""

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
    """`unlocked`: the daemon has the key. `opens_by_itself`: if not, the first use gets it from the system's keyring.
    `key`: kept in the `keyring` or by a `passphrase`; null: nothing was ever stored. `keyring_problem`: why the keyring
    cannot be used; null: it can. The rest is known only while unlocked. `unembedded`: memories without a vector, which
    are found by keyword and topic only. `unindexed`: memories that are not in the keyword index yet.
    `index_locked`: the system keeps the keyword index out of swap; if not, its limit on locked memory is too small."""

    unlocked: bool
    opens_by_itself: bool
    key: str | None
    keyring_problem: str | None
    memories: int | None = None
    unembedded: int | None = None
    unindexed: int | None = None
    index_locked: bool | None = None
    namespaces: list[str] = []
