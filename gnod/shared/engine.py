"""The search interface: what an engine must do to hold a shared collection.

Milvus (`milvus/`) implements it, and in benchmarks an index of this machine. An engine finds candidates and returns
documents; it must not depend on the query language, fusion or snippets. Another engine is one module with this
interface.

All methods block, and are called in threads. `Unreachable` means that the engine did not answer within `timeout_s`;
what was sent may have arrived, so every write may be repeated. `EngineFailed`: it refused, or sent something else.
`NotPublished`: the collection does not exist.
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
"""What the engine has of some documents: nothing, one whole version of each, or also parts of interrupted writes."""
FORMAT = 1
"""The version of the stored data, in Header.format."""
Key = str
"""Names a document within a collection: the SHA-256 of its path, 32 hexadecimal digits."""


def keys_below(share: float) -> Key:
    """Return the key below which this share of all keys lies. Keys are as random as a hash."""
    return f"{int(min(max(share, 0.0), 1.0) * 0xFFFFFFFF):08x}" if share < 1 else "g"


def key_of(path: str) -> Key:
    return hashlib.sha256(path.encode()).hexdigest()[:32]


class CollectionHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What a shared collection is. `format` of the stored data; `analysis`: the version of the analyser, without which
    keywords mean something else. `model` and `model_hash` of the vectors, `dimensions` of them; None: no vectors.
    `languages` of the documents. `tokens`: the sum of their lengths, in terms of all fields. `average`: the mean
    length with which the frequencies were saturated. `publisher`: a random name of the daemon that may write,
    `publisher_label` in words, for people. `behind`: changes that it knows and has not published; `published_at`:
    when it last said so, in seconds since 1970. `change` grows with each change."""

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
    """Filters that an engine applies itself. Empty tuples and None: no filter. `since` and `until` in seconds since
    1970, inclusive."""

    languages: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    path_prefix: str | None = None
    author: str | None = None
    since: float | None = None
    until: float | None = None


class PublishedPiece(msgspec.Struct, frozen=True, array_like=True):
    """A piece of chunk `seq` with its vector (float32, little-endian, of length 1). Offsets and lines are within the
    chunk, as in `content_vectors`; None: to its end."""

    seq: int
    start: int
    end: int | None
    line: int
    last_line: int | None
    embedding: bytes


class SharedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document as an engine holds it. `version` changes with anything in here but `weights`, its terms by `term_id`,
    with what BM25 gives each before the document frequency (gnod.shared.weights): never empty. `payload`: what a
    reader needs to store it (gnod.shared.payload). The other fields are for filters and lists; `doc_type` and
    `author` in lower case."""

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
    """A document, its version, and its score: an inner product of weights, or the cosine of its best piece."""

    key: Key
    version: str
    score: float


class SharedListing(NamedTuple):
    """A document in a list."""

    path: str
    title: str


class SharedEngine(Protocol):
    """One shared collection. `header` returns None if there is none. Reads see at once what a write stored."""

    def header(self) -> CollectionHeader | None: ...

    def frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Return in how many documents terms occur; those that occur nowhere are left out."""

    def by_words(self, weights: Mapping[int, float], within: Restriction, limit: int) -> list[ScoredDocument]:
        """Return the best documents by the inner product with the query's weights, by `term_id`; best first."""

    def nearest(self, query: Vector, within: Restriction, limit: int) -> list[ScoredDocument]:
        """Return the best documents, each by its best piece; best first."""

    def documents(self, keys: Collection[Key]) -> list[SharedDocument]:
        """Return those of the documents that exist, in any order."""

    def sample(self, share: float) -> list[Key]:
        """Return about this share of the documents, at random: a key is a hash, so those with the least keys."""

    def listed(self, path_prefix: str, limit: int) -> list[SharedListing]:
        """Return documents whose path has the prefix, in the order of their paths."""

    def close(self) -> None: ...


class WritableEngine(SharedEngine, Protocol):
    """The additional methods that a publisher needs."""

    def create(self, header: CollectionHeader) -> None:
        """Make the collection, if it does not exist, and store the header."""

    def set_header(self, header: CollectionHeader) -> None: ...

    def put(self, documents: Sequence[SharedDocument], *, former: Former = "any") -> None:
        """Store documents with their pieces, in place of what was there under their keys. A reader sees each document
        in its old version or in the new one. `former`: what is known to be there; the less, the faster."""

    def reweigh(self, documents: Sequence[SharedDocument]) -> None:
        """Store the weights of documents that did not change otherwise."""

    def remove(self, keys: Collection[Key]) -> None: ...

    def set_frequencies(self, frequencies: Mapping[int, int]) -> None:
        """Store in how many documents terms occur, by `term_id`; 0 removes a term."""

    def keys(self) -> Iterator[tuple[Key, str]]:
        """Return all documents with their versions, in any order."""

    def term_frequencies(self) -> Iterator[tuple[int, int]]:
        """Return all terms with their frequencies, in any order."""

    def keep(self, is_current: Callable[[Key, str], bool]) -> None:
        """Remove everything of other documents, or of other versions of these, which an earlier publisher left."""

    def settle(self) -> None:
        """Let the engine arrange what was stored, after many documents: it may search new ones more slowly."""

    def drop(self) -> None:
        """Remove everything that was published."""

    def count(self) -> dict[str, int]:
        """Return how many rows there are of each kind; all 0 after `drop`."""
