"""Implement an engine: a shared collection in Milvus.

It consists of four Milvus collections in one database. Their names end with the name of the shared collection.

    gnod_documents_…   a row for each document: version, filters, weights of its terms, numbers of its rows elsewhere
    gnod_pieces_…      a row for each piece: vector, position in the document, filters
    gnod_texts_…       payloads, in rows of up to 65,535 bytes; and the header
    gnod_terms_…       a row for each term: its document frequency

Keys of pieces and texts contain the version of their document. A new version is stored beside the old one; then the row
of the document changes; then the old rows are removed. So a reader sees either the old or the new version, and
interrupted writes can be repeated.

Reads are strongly consistent: they see an edit as soon as it is stored.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import chain, islice
from typing import Any, TypeVar

import msgspec
import numpy as np

from gnod.errors import EngineFailed, NotPublished
from gnod.shared.engine import (
    CollectionHeader,
    Former,
    Key,
    Restriction,
    ScoredDocument,
    SharedDocument,
    SharedListing,
    Vector,
    keys_below,
)
from gnod.shared.milvus.client import MilvusConnection, NotLoaded, TokenRefused, client_class
from gnod.shared.milvus.rows import (
    FIELDS,
    NO_VECTOR,
    Row,
    RowSchema,
    any_of,
    begins_with,
    condition_of,
    document_of,
    document_row,
    part_key,
    piece_rows,
    quoted,
    text_row,
    text_rows,
)
from gnod.shared.weights import term_id

_KINDS = ("documents", "pieces", "texts", "terms")
_HEADER = "header"
_CONSISTENCY = "Strong"

# The maximum rows and bytes of a request. By default, a server accepts 64 MB.
_MOST_ROWS, _MOST_BYTES = 1_000, 8 << 20
# The maximum rows that Milvus returns, and the rows of a page.
_MOST_RESULTS, _PAGE = 16_384, 4_096
# Search this many pieces for each requested document.
_PIECES = 3
_LEAST_EF = 256

T = TypeVar("T")


class MilvusEngine:
    """Connects at the first call. Thread-safe."""

    def __init__(self, connection: MilvusConnection) -> None:
        self._client = connection
        self._names = {kind: f"gnod_{kind}_{_escaped(connection.address.collection)}" for kind in _KINDS}
        self._kinds: list[str] | None = None

    # Reading

    def header(self) -> CollectionHeader | None:
        try:
            rows = self._rows("texts", "key", [_HEADER], ["text"])
        except NotPublished:
            return None
        return self._decoded(rows[0]["text"]) if rows else None

    def frequencies(self, terms: Collection[str]) -> dict[str, int]:
        ids = {term: term_id(term) for term in terms}
        found = {row["id"]: row["n"] for row in self._rows("terms", "id", sorted(set(ids.values())), ["n"])}
        return {term: int(found[id_]) for term, id_ in ids.items() if id_ in found}

    def by_words(self, weights: Mapping[int, float], within: Restriction, limit: int) -> list[ScoredDocument]:
        wanted = {id_: weight for id_, weight in weights.items() if weight > 0}
        if not wanted or limit < 1:
            return []
        rows = self._search("documents", wanted, "terms", within, limit, ["version"], {})
        return [ScoredDocument(row["key"], row["version"], row["score"]) for row in rows]

    def nearest(self, query: Vector, within: Restriction, limit: int) -> list[ScoredDocument]:
        asked = 0
        best: dict[Key, ScoredDocument] = {}
        while limit > len(best) and asked < _MOST_RESULTS:
            asked = min(max(4 * asked, _PIECES * limit), _MOST_RESULTS)
            ef = max(_LEAST_EF, asked)
            try:
                rows = self._search("pieces", query, "vector", within, asked, ["document", "version"], {"ef": ef})
            except NotPublished:  # the collection has no vectors
                return []
            best = {}
            for row in rows:
                best.setdefault(row["document"], ScoredDocument(row["document"], row["version"], row["score"]))
            if len(rows) < asked:
                break
        return list(best.values())[:limit]

    def documents(self, keys: Collection[Key]) -> list[SharedDocument]:
        found = {document.key: document for document in self._whole(keys)}
        # If a row changed in between, the new version is complete now.
        missing = set(keys) - found.keys()
        return [*found.values(), *(self._whole(missing) if missing else ())]

    def sample(self, share: float) -> list[Key]:
        return [str(row["key"]) for row in self._pages("documents", f"key < {quoted(keys_below(share))}", ["key"])]

    def listed(self, path_prefix: str, limit: int) -> list[SharedListing]:
        conditions = begins_with("path", path_prefix) if path_prefix else []
        rows = self._pages("documents", " and ".join(conditions), ["path", "title"])
        found = (SharedListing(row["path"], row["title"]) for row in rows)
        return nsmallest(limit, found, key=lambda document: document.path)

    def close(self) -> None:
        """Close the connection. Running calls raise Unreachable."""
        self._client.close()

    # Writing

    def create(self, header: CollectionHeader) -> None:
        self._client.make_database()
        for kind in _KINDS:
            if kind != "pieces" or header.dimensions:
                self._make(kind, header.dimensions)
        self._kinds = None
        self.set_header(header)

    def set_header(self, header: CollectionHeader) -> None:
        text = msgspec.json.encode(header).decode()
        self._upsert("texts", [text_row(_HEADER, "", "", 0, text)])

    def put(self, documents: Sequence[SharedDocument], *, former: Former = "any") -> None:
        whole = self._parts_of_others(documents) if former == "whole" else {}
        self._upsert("texts", chain.from_iterable(map(text_rows, documents)))
        self._upsert("pieces", chain.from_iterable(map(piece_rows, documents)))
        self.reweigh(documents)
        for kind, keys in whole.items():
            for some in _batches(keys, _MOST_ROWS):
                self._delete(kind, any_of("key", some))
        if former == "any":
            self._remove_others(documents)

    def reweigh(self, documents: Sequence[SharedDocument]) -> None:
        self._upsert("documents", map(document_row, documents))

    def remove(self, keys: Collection[Key]) -> None:
        for some in _batches(sorted(keys), _MOST_ROWS):
            for kind in self._of_documents:
                self._delete(kind, any_of("key" if kind == "documents" else "document", some))

    def set_frequencies(self, frequencies: Mapping[int, int]) -> None:
        self._upsert("terms", ({"id": id_, "n": n, "vector": NO_VECTOR} for id_, n in frequencies.items() if n > 0))
        for some in _batches(sorted(id_ for id_, n in frequencies.items() if n <= 0), _MOST_ROWS):
            self._delete("terms", any_of("id", some))

    def keys(self) -> Iterator[tuple[Key, str]]:
        for row in self._pages("documents", "", ["key", "version"]):
            yield row["key"], row["version"]

    def term_frequencies(self) -> Iterator[tuple[int, int]]:
        for row in self._pages("terms", "", ["id", "n"]):
            yield int(row["id"]), int(row["n"])

    def keep(self, is_current: Callable[[Key, str], bool]) -> None:
        for kind in self._of_documents:
            owner = "key" if kind == "documents" else "document"
            rows = self._pages(kind, "", list({"key", owner, "version"}))
            others = (row["key"] for row in rows if row[owner] and not is_current(row[owner], row["version"]))
            for some in list(_batches(others, _MOST_ROWS)):
                self._delete(kind, any_of("key", some))

    def settle(self) -> None:
        # Milvus seals full segments itself, and limits how often this may be requested. In the first search after each
        # write, milvus-lite would index all unsealed data again: .3 ms for each document.
        for kind in (*self._of_documents, "terms"):
            with contextlib.suppress(EngineFailed):
                self._client.call("flush", self._names[kind])

    def drop(self) -> None:
        for kind in _KINDS:
            if self._exists(kind):
                self._client.call("drop_collection", self._names[kind])
        self._kinds = None

    def count(self) -> dict[str, int]:
        return {kind: self._count(kind) for kind in _KINDS}

    # Rows

    @property
    def _of_documents(self) -> list[str]:
        """Return the existing kinds of Milvus collections with rows of documents."""
        if self._kinds is None:
            self._kinds = ["documents", "texts", *(["pieces"] if self._exists("pieces") else [])]
        return self._kinds

    def _whole(self, keys: Collection[Key]) -> Iterator[SharedDocument]:
        """Yield the documents whose rows are complete."""
        rows = self._rows("documents", "key", sorted(keys), ["*"])
        texts = self._by_document("texts", rows, "texts", ["document", "version", "number", "text"])
        has_pieces = any(row["pieces"] for row in rows) and "pieces" in self._of_documents
        pieces = self._by_document("pieces", rows, "pieces", ["*"]) if has_pieces else {}
        for row in rows:
            owner = (row["key"], row["version"])
            own_texts, own_pieces = texts.get(owner, []), pieces.get(owner, [])
            # If there are no pieces, the collection is changing to another model.
            if len(own_texts) == row["texts"] and len(own_pieces) in (0, row["pieces"]):
                yield document_of(row, own_texts, own_pieces)

    def _by_document(
        self, kind: str, rows: Sequence[Row], counted: str, fields: Sequence[str]
    ) -> dict[tuple[str, str], list[Row]]:
        """Return the ordered rows of documents by key and version."""
        keys = [part_key(row["key"], row["version"], number) for row in rows for number in range(row[counted])]
        found: dict[tuple[str, str], list[Row]] = {}
        for row in sorted(self._rows(kind, "key", keys, fields), key=lambda row: int(row["number"])):
            found.setdefault((row["document"], row["version"]), []).append(row)
        return found

    def _rows(self, kind: str, name: str, keys: Sequence[str | int], fields: Sequence[str]) -> list[Row]:
        """Return the rows with these primary keys."""
        rows: list[Row] = []
        for some in _batches(keys, _MOST_ROWS):
            rows += self._read("query", kind, filter=any_of(name, some), output_fields=list(fields))
        return rows

    def _pages(self, kind: str, condition: str, fields: Collection[str]) -> Iterator[Row]:
        """Yield all rows that meet the condition, in the order of their primary keys."""
        iterator = self._read("query_iterator", kind, filter=condition, output_fields=sorted(fields), batch_size=_PAGE)
        try:
            while rows := self._client.translated(iterator.next):
                yield from rows
        finally:
            self._client.translated(iterator.close)

    def _search(
        self,
        kind: str,
        query: object,
        field: str,
        within: Restriction,
        limit: int,
        fields: list[str],
        parameters: dict[str, int],
    ) -> list[Row]:
        found = self._read(
            "search",
            kind,
            data=[query],
            anns_field=field,
            filter=condition_of(within),
            limit=min(limit, _MOST_RESULTS),
            output_fields=fields,
            search_params={"metric_type": "IP", "params": parameters},
        )
        return [{**hit["entity"], "key": hit["key"], "score": hit["distance"]} for hit in found[0]]

    def _count(self, kind: str) -> int:
        if not self._exists(kind):
            return 0
        return int(self._read("query", kind, filter="", output_fields=["count(*)"])[0]["count(*)"])

    def _upsert(self, kind: str, rows: Iterable[Row]) -> None:
        for some in _blocks(rows):
            self._client.call("upsert", self._names[kind], some)

    def _delete(self, kind: str, condition: str) -> None:
        self._read("delete", kind, filter=condition)

    def _parts_of_others(self, documents: Sequence[SharedDocument]) -> dict[str, list[str]]:
        """Return the keys of texts and pieces of other versions of these documents."""
        versions = {document.key: document.version for document in documents}
        rows = self._rows("documents", "key", sorted(versions), ["key", "version", "texts", "pieces"])
        others = [row for row in rows if row["version"] != versions[row["key"]]]
        return {
            kind: [part_key(row["key"], row["version"], number) for row in others for number in range(row[kind])]
            for kind in self._of_documents[1:]
        }

    def _remove_others(self, documents: Sequence[SharedDocument]) -> None:
        """Remove the rows of other versions. Milvus has to search for them, which is slow."""
        for some in _batches(documents, _MOST_ROWS):
            owners = any_of("document", [document.key for document in some])
            versions = any_of("version", sorted({document.version for document in some}))
            for kind in self._of_documents[1:]:
                self._delete(kind, f"{owners} and not ({versions})")

    # Milvus

    def _make(self, kind: str, dimensions: int | None) -> None:
        """Create a Milvus collection, or the parts of it that an interrupted call did not create."""
        client = client_class()
        name = self._names[kind]
        schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
        indexes = client.prepare_index_params()
        from pymilvus import DataType

        FIELDS[kind](RowSchema(DataType, schema, indexes, dimensions))
        if kind == "pieces" and self._exists(kind) and self._dimensions() != dimensions:
            self._client.call("drop_collection", name)
        if not self._exists(kind):
            self._client.call("create_collection", name, schema=schema, consistency_level=_CONSISTENCY)
        if not self._client.call("list_indexes", name):
            self._client.call("create_index", name, indexes)
        self._client.call("load_collection", name)

    def _exists(self, kind: str) -> bool:
        try:
            return bool(self._client.call("has_collection", self._names[kind]))
        except NotPublished:  # the database does not exist
            return False

    def _dimensions(self) -> int:
        fields = self._client.call("describe_collection", self._names["pieces"])["fields"]
        return next(int(field["params"]["dim"]) for field in fields if field["name"] == "vector")

    def _read(self, method: str, kind: str, **arguments: Any) -> Any:
        """Call a method that needs the collection in memory. Load it first if the server has restarted."""
        if method != "delete":
            arguments["consistency_level"] = _CONSISTENCY
        try:
            return self._client.call(method, self._names[kind], **arguments)
        except NotLoaded as error:
            try:
                self._client.call("load_collection", self._names[kind])
            except TokenRefused:
                raise EngineFailed(f"{error.message}; this token may not load it, the publisher's token may") from None
            return self._client.call(method, self._names[kind], **arguments)

    def _decoded(self, text: str) -> CollectionHeader:
        try:
            return msgspec.json.decode(text, type=CollectionHeader)
        except msgspec.MsgspecError as error:
            raise EngineFailed(f"{self._client.address} was written by another version of gnod: {error}") from error


def _blocks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield lists of rows. Each list fits in one request."""
    block: list[Row] = []
    size = 0
    for row in rows:
        block.append(row)
        size += sum(_bytes(value) for value in row.values())
        if len(block) >= _MOST_ROWS or size >= _MOST_BYTES:
            yield block
            block, size = [], 0
    if block:
        yield block


def _bytes(value: object) -> int:
    return 8 * len(value) if isinstance(value, (list, dict, str, np.ndarray)) else 8


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while some := list(islice(iterator, size)):
        yield some


def _escaped(name: str) -> str:
    """Return a name of letters, digits and `_`. Different names give different results.

    >>> _escaped("team-hand_book")
    'team_mhand__book'
    """
    return name.replace("_", "__").replace("-", "_m")
