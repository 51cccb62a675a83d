"""Define the interface of an engine, which stores and searches a shared collection.

Milvus (`milvus/`) implements it, and in benchmarks an index on this machine. An engine finds candidates and returns
documents. It must not depend on the query language, fusion or snippets. To add an engine, write one module with this
interface.

All methods block, and are called in threads. `Unreachable` means that the engine did not answer within `timeout_s`. A
request may nevertheless have arrived, so every write may be repeated. `EngineFailed`: the engine refused the request,
or its answer is invalid. `NotPublished`: the collection does not exist.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
Former = Literal["nothing", "whole", "any"]
"""What the engine has under some keys: nothing, one whole version of each document, or parts of interrupted writes."""
FORMAT = 1
"""The version of the stored data, in CollectionHeader.format."""
Key = str
"""Identifies a document in a collection: the first 32 hexadecimal digits of the SHA-256 of its path."""


def keys_below(share: float) -> Key:
    """Return a key such that about this share of all keys is below it. Keys are hashes, so they are random."""
    return f"{int(min(max(share, 0.0), 1.0) * 0xFFFFFFFF):08x}" if share < 1 else "g"


def key_of(path: str) -> Key:
    return hashlib.sha256(path.encode()).hexdigest()[:32]


class CollectionHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a shared collection. `format`: the version of the stored data. `analysis`: the version of the
    analyser; another version makes other terms. `model`, `model_hash` and `dimensions` describe the vectors; None: no
    vectors. `languages`: of the documents. `tokens`: the sum of the documents' lengths, in terms of all fields.
    `average`: the mean length for the saturation of frequencies. `publisher`: a random name of the daemon that may
    write. `publisher_label`: its name for people. `behind`: changes that it has not published yet. `published_at`: when
    it last stored the header, in seconds since 1970. `change` grows with each change."""

    format: int
    analysis: int
    model: str | None
    model_hash: str | None
    dimensions: int | None
    languages: tuple[str, ...]
    documents: int
    pieces: int
    tokens: int
    average: float
    publisher: str
    publisher_label: str
    behind: int
    published_at: float
    change: int


class Restriction(NamedTuple):
    """Filters that an engine applies itself. Empty tuples and None mean no filter. `since` and `until` are in seconds
    since 1970, inclusive."""

    languages: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    path_prefix: str | None = None
    author: str | None = None
    since: float | None = None
    until: float | None = None


class PublishedPiece(msgspec.Struct, frozen=True, array_like=True):
    """A piece of chunk `seq` with its vector (float32, little-endian, of length 1). Offsets and lines are relative to
    the chunk, as in `content_vectors`. None means the end of the chunk."""

    seq: int
    start: int
    end: int | None
    line: int
    last_line: int | None
    embedding: bytes


class SharedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document in an engine. `weights`: BM25 weights without the document frequency, by `term_id`
    (gnod.shared.weights); never empty. `version` changes with any other field. `payload`: the data with which a reader
    stores the document (gnod.shared.payload). The other fields are for filters and lists. `doc_type` and `author` are
    in lower case."""

    key: Key
    version: str
    path: str
    title: str
    language: str | None
    doc_type: str | None
    author: str | None
    tags: tuple[str, ...]
    dated: float
    weights: dict[int, float]
    payload: bytes
    pieces: tuple[PublishedPiece, ...]


class ScoredDocument(NamedTuple):
    """A document with its version and score: an inner product of weights, or the cosine of its best piece."""

    key: Key
    version: str
    score: float


class SharedListing(NamedTuple):
    """A document in a list."""

    path: str
    title: str


class SharedEngine(Protocol):
    """One shared collection. `header` returns None if the collection does not exist. Reads see stored data at once."""

    def header(self) -> CollectionHeader | None: ...

    def frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Return the document frequencies of terms. Terms that do not occur are left out."""

    def by_words(self, weights: Mapping[int, float], within: Restriction, limit: int) -> list[ScoredDocument]:
        """Return the best documents by the inner product with the query's weights, best first. Weights are by
        `term_id`."""

    def nearest(self, query: Vector, within: Restriction, limit: int) -> list[ScoredDocument]:
        """Return the documents with the best pieces, best first."""

    def documents(self, keys: Collection[Key]) -> list[SharedDocument]:
        """Return the existing documents with these keys, in any order."""

    def sample(self, share: float) -> list[Key]:
        """Return about this share of the documents: those with the lowest keys, which are random because a key is a
        hash."""

    def listed(self, path_prefix: str, limit: int) -> list[SharedListing]:
        """Return documents whose path has the prefix, in the order of their paths."""

    def close(self) -> None: ...


class WritableEngine(SharedEngine, Protocol):
    """The additional methods that a publisher needs."""

    def create(self, header: CollectionHeader) -> None:
        """Create the collection if it does not exist, and store the header."""

    def set_header(self, header: CollectionHeader) -> None: ...

    def put(self, documents: Sequence[SharedDocument], *, former: Former = "any") -> None:
        """Store documents with their pieces, and replace the former data under their keys. A reader sees each document
        either in its old or in its new version. `former`: the possible former data; less data is faster."""

    def reweigh(self, documents: Sequence[SharedDocument]) -> None:
        """Store the weights of documents that are otherwise unchanged."""

    def remove(self, keys: Collection[Key]) -> None: ...

    def set_frequencies(self, frequencies: Mapping[int, int]) -> None:
        """Store document frequencies by `term_id`. 0 removes a term."""

    def keys(self) -> Iterator[tuple[Key, str]]:
        """Return all documents with their versions, in any order."""

    def term_frequencies(self) -> Iterator[tuple[int, int]]:
        """Return all terms with their frequencies, in any order."""

    def keep(self, is_current: Callable[[Key, str], bool]) -> None:
        """Remove the data of other documents and other versions, which an earlier publisher left."""

    def settle(self) -> None:
        """Let the engine arrange its data after many documents, because it may search new ones more slowly."""

    def drop(self) -> None:
        """Remove all published data."""

    def count(self) -> dict[str, int]:
        """Return the number of rows of each kind. All are 0 after `drop`."""
