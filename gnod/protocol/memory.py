"""Wire types of `memory.…`."""

from __future__ import annotations

from typing import Annotated, Literal

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
    """If the same text is stored again, the memory changes: the topics are added, and `when` and `type` replace the old
    values. To accept a proposal, store the text again with `supersedes`.

    - `type`: a type from docs/memory.md, or a word of your own. It ends in `_done` if the matter is finished or
      superseded.
    - `topics`: names that find the memory, in addition to its meaning.
    - `namespace`: created with the first memory in it.
    - `when`: the time of the event, in ISO 8601. The default is now.
    - `valid_from`, `valid_until`: the period in which it is true. Each is a year, a month, a day, or an ISO 8601 time
      (UTC if it has no offset). If both are missing, the daemon takes them from the text if the text states them
      plainly.
    - `supersedes`: ids of memories that are no longer true. Their type gets `_done`, and both sides are linked.
    """

    text: Text
    type: str = "fact"
    topics: list[str] = []
    namespace: str = "personal"
    when: Time | None = None
    supersedes: Superseded = []
    valid_from: Time | None = None
    valid_until: Time | None = None


class MemorySearchParams(Params, frozen=True):
    """Memories that are not true now, or at a time that the query names, rank lower.

    - `namespaces`: the namespaces to search; empty for all.
    - `as_of`: search only memories that were true at some moment of this year (`2026`), month (`2026-02`), day or ISO
      8601 time. Memories that were stored later without a beginning of their validity rank lower.
    - `budget_s`: the time for the reranker. Memories that it does not reach in time are ranked without it, and `notes`
      reports them.
    """

    query: Annotated[str, Meta(min_length=1, max_length=4096)]
    namespaces: Names = []
    as_of: Time | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_RESULTS)] = MAX_RESULTS
    budget_s: Annotated[float, Meta(ge=0.0, le=120.0)] = 2.0


class MemoryDeepSearchParams(MemorySearchParams, frozen=True):
    """Use this method when `memory.search` finds only weak results. It takes four times as many candidates, and always
    reranks them. `query` needs at least two keywords.
    """

    limit: Annotated[int, Meta(ge=1, le=MAX_DEEP_RESULTS)] = MAX_DEEP_RESULTS


class MemoryIdsParams(Params, frozen=True):
    """`ids`: ids from the results of other methods. If one of them does not exist, the whole call fails."""

    ids: Ids


class MemoryUpdateParams(Params, frozen=True):
    """Absent fields stay unchanged. A superseded memory whose type no longer ends in `_done` becomes current again, and
    its link is removed.

    - `topics`: replaces all topics that were given.
    - `remove_topics`: topics to remove. Suggested topics stay removed.
    - `when`, `valid_from`, `valid_until`: see `memory.store`; "" removes the time.
    - `supersedes`: ids of more memories that this one makes obsolete.
    """

    id: MemoryId
    text: Text | None = None
    type: str | None = None
    topics: list[str] | None = None
    remove_topics: list[str] = []
    when: Time | None = None
    supersedes: Superseded = []
    valid_from: Time | None = None
    valid_until: Time | None = None


class MemoryHistoryParams(Params, frozen=True):
    """`id`: any memory of the chain."""

    id: MemoryId


class MemoryListParams(Params, frozen=True, kw_only=True):
    """The newest memories come first. A page may have fewer than `limit`.

    - `namespaces`, `types`: list memories that have one of them; empty for all.
    - `topics`: list memories that have all of them.
    - `since`: list memories that were stored, changed or superseded since this time, or within this age, such as `7d`.
    - `whole`: return whole texts instead of their beginnings, for an export.
    - `cursor`: the cursor from the previous result. A null cursor in a result marks the last page.
    """

    namespaces: Names = []
    types: Names = []
    topics: Names = []
    since: Time | None = None
    whole: bool = False
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    cursor: Annotated[str, Meta(max_length=64)] | None = None


class MemoryPublishParams(MemoryIdsParams, frozen=True):
    """Copies memories into `namespace`, which is created if it does not exist. The originals stay."""

    namespace: Annotated[str, Meta(min_length=1)]


class NewMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory to import, in the form that `memory.list` returns. Other fields are ignored. Use `memory.update` to link
    it to others.

    - `created`, `updated`, `when`: in ISO 8601. The default is now.
    - `suggested`: suggested topics. If it is null, the daemon takes them, `valid_from` and `valid_until` from the text.
    """

    text: Text
    type: str = "fact"
    topics: list[str] = []
    namespace: str = "personal"
    created: str | None = None
    updated: str | None = None
    when: str | None = None
    suggested: list[str] | None = None
    valid_from: str | None = None
    valid_until: str | None = None


class MemoryImportParams(Params, frozen=True, kw_only=True):
    """The daemon imports all records or none. A memory with the same text changes only if the record was updated later,
    so a repeated import changes nothing.
    """

    records: Annotated[list[NewMemory], Meta(min_length=1, max_length=MAX_IMPORTED)]


class MemoryUnlockParams(Params, frozen=True, kw_only=True):
    """`passphrase`: the passphrase of the memories, or a new one if nothing is stored yet. Null means that the key is,
    or will be, in the system's keyring. `key_file`: store a new key in a file that only its owner can read instead.
    """

    passphrase: Annotated[str, Meta(max_length=4096)] | None = None
    key_file: bool = False


class MemoryMoveKeyParams(Params, frozen=True, kw_only=True):
    """The key stays the same, so older backups open as before.

    - `passphrase`: the current passphrase, if there is one.
    - `new_passphrase`: the new passphrase; null puts the key into the system's keyring.
    - `key_file`: put the key into a file that only its owner can read. Any other place deletes that file.
    """

    passphrase: Annotated[str, Meta(max_length=4096)] | None = None
    new_passphrase: Annotated[str, Meta(max_length=4096)] | None = None
    key_file: bool = False


class MemoryProposal(Result, frozen=True, kw_only=True):
    """An older memory that the stored one may supersede.

    - `text`: the beginning of its text.
    - `reason`: a sentence that says why.
    - `time`: when it happened, or when it was stored.
    """

    id: str
    text: str
    reason: str
    time: str


class MemoryStoreResult(Result, frozen=True, kw_only=True):
    """`existed`: the same text was stored before. `proposals`: memories to supersede. They do not change unless
    `supersedes` names them. The list is empty in `memory.import` and `memory.publish`.
    """

    id: str
    existed: bool
    proposals: list[MemoryProposal] = []


class MemoryFound(Result, frozen=True, kw_only=True):
    """One result of a search.

    - `text`: the beginning of the text; the whole text if `complete`.
    - `vector`: the cosine similarity to the query; null if the memory has no vector.
    - `rerank`: the final score in [0, 1], which orders the results. At least 0.30 is excellent, at least 0.20 is good,
      less is weak.
    - `time`: the time of the last change.
    - `namespace`: absent for the personal one.
    - `when`: when it happened, if that was stated.
    - `suggested`: topics taken from the text.
    - `valid_from`, `valid_until`: the period in which it is true, if it was stated or taken from the text.
    - `superseded_by`, `superseded_at`: the id of the memory that replaces it, and since when. If both are found, the
      newer one comes first, unless the query is about the time before it.
    - `validity`: absent if it is true at the requested time; otherwise `ended`, `not_yet`, or `unknown` (it was stored
      later without a beginning of its validity).
    - `folded`: ids of near-duplicates and of other matching memories of the same event, the best first; absent if there
      are none.
    """

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
    superseded_at: str | UnsetType = UNSET
    valid_from: str | UnsetType = UNSET
    valid_until: str | UnsetType = UNSET
    validity: Literal["ended", "not_yet", "unknown"] | UnsetType = UNSET
    folded: list[str] | UnsetType = UNSET


class MemorySearchResult(Result, frozen=True, kw_only=True):
    """If there are no results, nothing similar is stored.

    - `counts`: a sentence with the numbers of candidates, ranked memories and results.
    - `topics`: how often each topic occurs in the results, the most frequent first.
    - `notes`: what the search left out, and why.
    """

    results: list[MemoryFound]
    counts: str
    topics: dict[str, int]
    notes: list[str] = []


class MemoryRecord(Result, frozen=True, kw_only=True):
    """A memory.

    - `complete`: `text` is the whole text.
    - `when`: when it happened, if that was stated.
    - `suggested`: topics taken from the text.
    - `valid_from`, `valid_until`: the period in which it is true, if it was stated or taken from the text.
    - `superseded_by`, `supersedes`: ids. `superseded_at`: the time from which the newer memory is true.
    """

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
    superseded_at: str | None = None
    valid_from: str | None = None
    valid_until: str | None = None


class MemoryRecordsResult(Result, frozen=True, kw_only=True):
    """`memories`: in the order of the requested ids."""

    memories: list[MemoryRecord]


class MemoryHistoryResult(Result, frozen=True, kw_only=True):
    """`memories`: the current memory first, then the memories that it superseded."""

    memories: list[MemoryRecord]


class MemoryListResult(Result, frozen=True, kw_only=True):
    """One page of memories.

    - `total`: the number of memories on all pages.
    - `cursor`: the cursor of the next page; null on the last page.
    - `notes`: the damaged memories, which are left out.
    """

    memories: list[MemoryRecord]
    total: int
    cursor: str | None = None
    notes: list[str] = []


class MemoryForgetResult(Result, frozen=True, kw_only=True):
    forgotten: int


class MemoryManyResult(Result, frozen=True, kw_only=True):
    """`memories`: one for each record or id, in the same order."""

    memories: list[MemoryStoreResult]


class MemoryStatusResult(Result, frozen=True, kw_only=True):
    """The fields from `memories` on are known only while the memories are unlocked.

    - `unlocked`: the daemon has the key.
    - `opens_by_itself`: the first use gets the key from the system's keyring, or from the key file.
    - `key`: the place of the key: `keyring`, `file`, or `passphrase` if a passphrase protects it; null if nothing was
      ever stored.
    - `keyring_problem`: why the keyring cannot be used; null if it can.
    - `unembedded`: the number of memories without a vector. Only keywords and topics find them.
    - `unindexed`: the number of memories that are not in the keyword index yet.
    - `index_locked`: the system keeps the keyword index out of swap. If it is false, the limit on locked memory is too
      small.
    """

    unlocked: bool
    opens_by_itself: bool
    key: str | None
    keyring_problem: str | None
    memories: int | None = None
    unembedded: int | None = None
    unindexed: int | None = None
    index_locked: bool | None = None
    namespaces: list[str] = []
