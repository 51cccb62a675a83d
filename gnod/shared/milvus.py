"""A shared collection in Milvus: a server, a cluster, or milvus-lite. Only this module knows pymilvus.

Four collections of Milvus, in one database. Names end with that of the shared collection.

    gnod_documents_…   a row for each document: version, filters, weights of its terms, numbers of its rows elsewhere
    gnod_pieces_…      a row for each piece: vector, place in the document, filters
    gnod_texts_…       payloads, in rows of up to 65,535 bytes; and the header
    gnod_terms_…       a row for each term: in how many documents it occurs

Keys of pieces and texts contain the version of their document. A new version is stored beside the old one; then the row
of the document changes; then the old rows are removed. So a reader sees one version or the other, and whatever was
interrupted can be repeated.

Reads are strongly consistent: an edit is seen as soon as it was stored.
"""

from __future__ import annotations

import base64
import logging
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from gnod.errors import DependencyMissing, EngineFailed, GnoError, NotPublished, Unreachable
from gnod.shared.address import Address, in_brackets
from gnod.shared.engine import Found, Header, Key, Listed, Piece, Restriction, SharedDocument, Vector
from gnod.shared.weights import term_id

DEFAULT_TIMEOUT_S = 10.0
_CONNECT_S = 5.0

_KINDS = ("documents", "pieces", "texts", "terms")
_HEADER = "header"
_CONSISTENCY = "Strong"

# Bytes of a VARCHAR, which Milvus limits to 65,535; longer values are cut, and compared by what is left.
_PATH, _TITLE, _WORD, _TEXT = 16_384, 4_096, 512, 65_535
_MOST_TAGS = 1_024
_KEY = 96
# Rows of a request, and bytes: a server accepts 64 MB by default.
_MOST_ROWS, _MOST_BYTES = 1_000, 8 << 20
# Rows that Milvus returns at most, and those of a page.
_MOST_RESULTS, _PAGE = 16_384, 4_096
# Pieces that are searched for each document that is wanted.
_PIECES = 3
# HNSW (Malkov & Yashunin 2018): almost exact.
_HNSW = {"M": 32, "efConstruction": 200}
_LEAST_EF = 256

# A placeholder: every collection of Milvus must have a vector.
_NO_VECTOR = [0.0, 0.0]
# In place of None, in a number.
_NONE = -1
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
# Of the server and of milvus-lite.
_NOT_THERE = ("100", "800", "COLLECTION_NOT_FOUND")
_NO_DATABASE = re.compile("database .*(not found|does not exist)")
_WORDS_OF_LOSS = (
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    "Retry timeout",
    "Retry run out",
    "Fail connecting",
    "closed channel",
)

Row = dict[str, Any]
T = TypeVar("T")


class Connect(NamedTuple):
    """How to reach the engine: `host` is the IP address to connect to, where it is not that of the address."""

    address: Address
    token: str = ""
    host: str | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S


class MilvusEngine:
    """Connects with the first call. May be called in several threads."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._names = {kind: f"gnod_{kind}_{_escaped(connect.address.collection)}" for kind in _KINDS}
        self._lock = threading.Lock()
        self._opened: Any = None
        self._is_closed = False
        self._kinds: list[str] | None = None

    # Reading

    def header(self) -> Header | None:
        try:
            rows = self._rows("texts", "key", [_HEADER], ["text"])
        except NotPublished:
            return None
        return self._decoded(rows[0]["text"]) if rows else None

    def frequencies(self, terms: Collection[str]) -> dict[str, int]:
        ids = {term: term_id(term) for term in terms}
        found = {row["id"]: row["n"] for row in self._rows("terms", "id", sorted(set(ids.values())), ["n"])}
        return {term: int(found[id_]) for term, id_ in ids.items() if id_ in found}

    def by_words(self, weights: Mapping[int, float], within: Restriction, limit: int) -> list[Found]:
        wanted = {id_: weight for id_, weight in weights.items() if weight > 0}
        if not wanted or limit < 1:
            return []
        rows = self._search("documents", wanted, "terms", within, limit, ["version"], {})
        return [Found(row["key"], row["version"], row["score"]) for row in rows]

    def nearest(self, query: Vector, within: Restriction, limit: int) -> list[Found]:
        asked = 0
        best: dict[Key, Found] = {}
        while limit > len(best) and asked < _MOST_RESULTS:
            asked = min(max(4 * asked, _PIECES * limit), _MOST_RESULTS)
            ef = max(_LEAST_EF, asked)
            try:
                rows = self._search("pieces", query, "vector", within, asked, ["document", "version"], {"ef": ef})
            except NotPublished:  # without vectors
                return []
            best = {}
            for row in rows:
                best.setdefault(row["document"], Found(row["document"], row["version"], row["score"]))
            if len(rows) < asked:
                break
        return list(best.values())[:limit]

    def documents(self, keys: Collection[Key]) -> list[SharedDocument]:
        found = {document.key: document for document in self._whole(keys)}
        # Of those whose row changed in between, the other version is there now.
        missing = set(keys) - found.keys()
        return [*found.values(), *(self._whole(missing) if missing else ())]

    def listed(self, path_prefix: str, limit: int, after: str = "") -> list[Listed]:
        conditions = [f"path > {_quoted(after)}"] if after else []
        if path_prefix:
            conditions += _begins_with("path", path_prefix)
        rows = self._pages("documents", " and ".join(conditions), ["key", "version", "path", "title"])
        found = (Listed(row["key"], row["version"], row["path"], row["title"]) for row in rows)
        return nsmallest(limit, found, key=lambda each: each.path)

    def close(self) -> None:
        """Calls that are under way end with Unreachable."""
        with self._lock:
            self._is_closed = True
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    # Writing

    def create(self, header: Header) -> None:
        self._make_database()
        for kind in _KINDS:
            if kind != "pieces" or header.dimensions:
                self._make(kind, header.dimensions)
        self._kinds = None
        self.set_header(header)

    def set_header(self, header: Header) -> None:
        text = msgspec.json.encode(header).decode()
        self._upsert("texts", [_text_row(_HEADER, "", "", 0, text)])

    def put(self, documents: Sequence[SharedDocument], *, replacing: bool = True) -> None:
        self._upsert("texts", chain.from_iterable(map(_text_rows, documents)))
        self._upsert("pieces", chain.from_iterable(map(_piece_rows, documents)))
        self.reweigh(documents)
        if replacing:
            self._remove_others(documents)

    def reweigh(self, documents: Sequence[SharedDocument]) -> None:
        self._upsert("documents", map(_document_row, documents))

    def remove(self, keys: Collection[Key]) -> None:
        for some in _batches(sorted(keys), _MOST_ROWS):
            for kind in self._of_documents:
                self._delete(kind, _any_of("key" if kind == "documents" else "document", some))

    def set_frequencies(self, frequencies: Mapping[int, int]) -> None:
        self._upsert("terms", ({"id": id_, "n": n, "vector": _NO_VECTOR} for id_, n in frequencies.items() if n > 0))
        for some in _batches(sorted(id_ for id_, n in frequencies.items() if n <= 0), _MOST_ROWS):
            self._delete("terms", _any_of("id", some))

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
                self._delete(kind, _any_of("key", some))

    def drop(self) -> None:
        for kind in _KINDS:
            if self._exists(kind):
                self._call("drop_collection", self._names[kind])
        self._kinds = None

    def count(self) -> dict[str, int]:
        return {kind: self._count(kind) for kind in _KINDS}

    # Rows

    @property
    def _of_documents(self) -> list[str]:
        """The collections with rows of documents that there are."""
        if self._kinds is None:
            self._kinds = ["documents", "texts", *(["pieces"] if self._exists("pieces") else [])]
        return self._kinds

    def _whole(self, keys: Collection[Key]) -> Iterator[SharedDocument]:
        """Yield the documents all of whose rows are there."""
        rows = self._rows("documents", "key", sorted(keys), ["*"])
        texts = self._by_document("texts", rows, "texts", ["document", "version", "number", "text"])
        has_pieces = any(row["pieces"] for row in rows) and "pieces" in self._of_documents
        pieces = self._by_document("pieces", rows, "pieces", ["*"]) if has_pieces else {}
        for row in rows:
            owner = (row["key"], row["version"])
            own_texts, own_pieces = texts.get(owner, []), pieces.get(owner, [])
            # Without any, the collection is changing to another model.
            if len(own_texts) == row["texts"] and len(own_pieces) in (0, row["pieces"]):
                yield _document(row, own_texts, own_pieces)

    def _by_document(
        self, kind: str, rows: Sequence[Row], counted: str, fields: Sequence[str]
    ) -> dict[tuple[str, str], list[Row]]:
        """Return the rows of documents, by key and version, in order."""
        keys = [_part_key(row["key"], row["version"], number) for row in rows for number in range(row[counted])]
        found: dict[tuple[str, str], list[Row]] = {}
        for row in sorted(self._rows(kind, "key", keys, fields), key=lambda row: int(row["number"])):
            found.setdefault((row["document"], row["version"]), []).append(row)
        return found

    def _rows(self, kind: str, name: str, keys: Sequence[str | int], fields: Sequence[str]) -> list[Row]:
        """Return the rows with these primary keys."""
        rows: list[Row] = []
        for some in _batches(keys, _MOST_ROWS):
            rows += self._read("query", kind, filter=_any_of(name, some), output_fields=list(fields))
        return rows

    def _pages(self, kind: str, condition: str, fields: Collection[str]) -> Iterator[Row]:
        """Yield all rows that pass, in the order of their primary keys."""
        iterator = self._read("query_iterator", kind, filter=condition, output_fields=sorted(fields), batch_size=_PAGE)
        try:
            while rows := self._translated(iterator.next):
                yield from rows
        finally:
            self._translated(iterator.close)

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
            self._call("upsert", self._names[kind], some)

    def _delete(self, kind: str, condition: str) -> None:
        self._read("delete", kind, filter=condition)

    def _remove_others(self, documents: Sequence[SharedDocument]) -> None:
        """Remove what is left of other versions."""
        for some in _batches(documents, _MOST_ROWS):
            owners = _any_of("document", [document.key for document in some])
            versions = _any_of("version", sorted({document.version for document in some}))
            for kind in self._of_documents[1:]:
                self._delete(kind, f"{owners} and not ({versions})")

    # Milvus

    def _make_database(self) -> None:
        """Make the database, if there is none and the token permits it."""
        name = self._connect.address.database
        client = self._client_of("")
        try:
            if name not in self._translated(lambda: client.list_databases(timeout=self._connect.timeout_s)):
                self._translated(lambda: client.create_database(name, timeout=self._connect.timeout_s))
        finally:
            client.close()

    def _make(self, kind: str, dimensions: int | None) -> None:
        """Make a collection of Milvus, or what an interrupted call left out of it."""
        client = _imported()
        name = self._names[kind]
        schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
        indexes = client.prepare_index_params()
        _FIELDS[kind](_Schema(schema, indexes, dimensions))
        if kind == "pieces" and self._exists(kind) and self._dimensions() != dimensions:
            self._call("drop_collection", name)
        if not self._exists(kind):
            self._call("create_collection", name, schema=schema, consistency_level=_CONSISTENCY)
        if not self._call("list_indexes", name):
            self._call("create_index", name, indexes)
        self._call("load_collection", name)

    def _exists(self, kind: str) -> bool:
        try:
            return bool(self._call("has_collection", self._names[kind]))
        except NotPublished:  # there is no such database
            return False

    def _dimensions(self) -> int:
        fields = self._call("describe_collection", self._names["pieces"])["fields"]
        return next(int(field["params"]["dim"]) for field in fields if field["name"] == "vector")

    def _read(self, method: str, kind: str, **arguments: Any) -> Any:
        """Call a method that needs the collection in memory. A server that was started again may not have it there."""
        if method != "delete":
            arguments["consistency_level"] = _CONSISTENCY
        try:
            return self._call(method, self._names[kind], **arguments)
        except _NotLoaded:
            self._call("load_collection", self._names[kind])
            return self._call(method, self._names[kind], **arguments)

    def _call(self, method: str, *arguments: Any, **named: Any) -> Any:
        timeout_s = self._connect.timeout_s
        return self._translated(lambda: getattr(self._client, method)(*arguments, timeout=timeout_s, **named))

    @property
    def _client(self) -> Any:
        with self._lock:
            if self._is_closed:
                raise self._unreachable()
            if self._opened is None:
                self._opened = self._client_of(self._connect.address.database)
            return self._opened

    def _client_of(self, database: str) -> Any:
        client = _imported()
        address, token, host, timeout_s = self._connect
        scheme = "https" if address.is_encrypted else "http"
        # The name must fit the certificate, although the connection goes to the address that was checked.
        named = {"server_name": address.host} if address.is_encrypted and host else {}
        return self._translated(
            lambda: client(
                uri=f"{scheme}://{in_brackets(host or address.host)}:{address.port}",
                token=token,
                db_name=database,
                timeout=min(timeout_s, _CONNECT_S),
                dedicated=True,
                # A proxy of the environment would take the texts elsewhere.
                grpc_options={"grpc.enable_http_proxy": 0},
                **named,
            )
        )

    def _translated(self, call: Callable[[], T]) -> T:
        """Call pymilvus. Raises Unreachable, NotPublished and EngineFailed."""
        import grpc
        from pymilvus.exceptions import MilvusException

        try:
            return call()
        except grpc.FutureTimeoutError as error:
            raise self._unreachable() from error
        except (grpc.RpcError, MilvusException) as error:
            # Of what pymilvus raises while it connects, only the cause says what happened.
            known = error if isinstance(error, grpc.RpcError) else error.__cause__
            if isinstance(known, grpc.RpcError):
                raise self._error(known.code().name, str(known.details())) from error
            raise self._error(getattr(error.code, "name", str(error.code)), str(error.message)) from error
        except ValueError as error:  # gRPC: the channel was closed by another thread
            raise self._unreachable() from error

    def _error(self, code: str, message: str) -> GnoError:
        address = self._connect.address
        if any(word in code or word in message for word in _WORDS_OF_LOSS):
            return self._unreachable()
        if code == "101" or "not loaded" in message:
            return _NotLoaded(f"{address} has not loaded the collection: {message}")
        if code in _NOT_THERE or _NO_DATABASE.search(message):
            return NotPublished(f"no collection is published at {address}")
        if code in ("UNAUTHENTICATED", "PERMISSION_DENIED", "1401", "1402", "65535") and "auth" in message.lower():
            return TokenRefused(f"{address} refuses the token: {message}")
        return EngineFailed(f"{address} failed: {message}")

    def _unreachable(self) -> Unreachable:
        address = self._connect.address
        return Unreachable(f"{address} did not answer in time", {"address": str(address)})

    def _decoded(self, text: str) -> Header:
        try:
            return msgspec.json.decode(text, type=Header)
        except msgspec.MsgspecError as error:
            raise EngineFailed(f"{self._connect.address} is of another version of gnod: {error}") from error


class TokenRefused(EngineFailed):
    """There is no token, or not the right one."""


class _NotLoaded(EngineFailed):
    pass


def condition_of(within: Restriction) -> str:
    """Return the expression of Milvus for a restriction. It may let more documents pass, never fewer."""
    conditions = [f"array_contains(tags, {_quoted(_cut(tag, _WORD))})" for tag in within.tags_all]
    if within.tags_any:
        conditions.append(f"array_contains_any(tags, {_list(_cut(tag, _WORD) for tag in within.tags_any)})")
    if within.languages:
        conditions.append(_any_of("language", [_cut(each, _WORD) for each in within.languages]))
    if within.types:
        conditions.append(_any_of("doc_type", [_cut(each, _WORD) for each in within.types]))
    if within.path_prefix:
        conditions += _begins_with("path", within.path_prefix)
    if within.author:
        # `_` is any character: whether `\%` is a percent sign depends on the server.
        pattern = "".join("_" if c in '%_\\"' or ord(c) < 32 else c for c in _cut(within.author, _WORD))
        conditions.append(f"author like {_quoted(f'%{pattern}%')}")
    if within.since is not None:
        conditions.append(f"dated >= {within.since!r}")
    if within.until is not None:
        conditions.append(f"dated <= {within.until!r}")
    return " and ".join(conditions)


class _Schema(NamedTuple):
    fields: Any
    indexes: Any
    dimensions: int | None

    def text(self, name: str, most: int, **more: Any) -> None:
        from pymilvus import DataType

        self.fields.add_field(name, DataType.VARCHAR, max_length=most, **more)

    def number(self, name: str, *, is_primary: bool = False) -> None:
        from pymilvus import DataType

        self.fields.add_field(name, DataType.INT64, is_primary=is_primary)

    def vector(self, dimensions: int, index: str, parameters: Mapping[str, int]) -> None:
        from pymilvus import DataType

        self.fields.add_field("vector", DataType.FLOAT_VECTOR, dim=dimensions)
        self.indexes.add_index("vector", index_type=index, metric_type="IP", params=dict(parameters))

    def no_vector(self) -> None:
        self.vector(len(_NO_VECTOR), "FLAT", {})

    def filters(self) -> None:
        from pymilvus import DataType

        self.text("path", _PATH)
        for name in ("language", "doc_type", "author"):
            self.text(name, _WORD)
        self.fields.add_field(
            "tags", DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=_MOST_TAGS, max_length=_WORD
        )
        self.fields.add_field("dated", DataType.DOUBLE)

    def part(self) -> None:
        """Make the fields of rows that belong to a document."""
        self.text("key", _KEY, is_primary=True)
        self.text("document", _KEY)
        self.text("version", _KEY)
        self.number("number")
        self.indexes.add_index("document", index_type="INVERTED")


def _documents(schema: _Schema) -> None:
    from pymilvus import DataType

    schema.text("key", _KEY, is_primary=True)
    schema.text("version", _KEY)
    schema.text("title", _TITLE)
    schema.number("texts")
    schema.number("pieces")
    schema.filters()
    schema.fields.add_field("terms", DataType.SPARSE_FLOAT_VECTOR)
    schema.indexes.add_index("terms", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")


def _pieces(schema: _Schema) -> None:
    assert schema.dimensions
    schema.part()
    for name in ("seq", "first", "last", "line", "last_line"):
        schema.number(name)
    schema.filters()
    schema.vector(schema.dimensions, "HNSW", _HNSW)


def _texts(schema: _Schema) -> None:
    schema.part()
    schema.text("text", _TEXT)
    schema.no_vector()


def _terms(schema: _Schema) -> None:
    schema.number("id", is_primary=True)
    schema.number("n")
    schema.no_vector()


_FIELDS = {"documents": _documents, "pieces": _pieces, "texts": _texts, "terms": _terms}


def _document_row(document: SharedDocument) -> Row:
    return {
        "key": document.key,
        "version": document.version,
        "title": _cut(document.title, _TITLE),
        "texts": len(_parts(document.payload)),
        "pieces": len(document.pieces),
        "terms": document.weights,
        **_filters(document),
    }


def _piece_rows(document: SharedDocument) -> Iterator[Row]:
    filters = _filters(document)
    for number, piece in enumerate(document.pieces):
        yield {
            "key": _part_key(document.key, document.version, number),
            "document": document.key,
            "version": document.version,
            "number": number,
            "seq": piece.seq,
            "first": piece.start,
            "last": _NONE if piece.end is None else piece.end,
            "line": piece.line,
            "last_line": _NONE if piece.last_line is None else piece.last_line,
            "vector": np.frombuffer(piece.embedding, np.float32),
            **filters,
        }


def _text_rows(document: SharedDocument) -> Iterator[Row]:
    for number, part in enumerate(_parts(document.payload)):
        key = _part_key(document.key, document.version, number)
        yield _text_row(key, document.key, document.version, number, part)


def _text_row(key: str, document: str, version: str, number: int, text: str) -> Row:
    return {
        "key": key,
        "document": document,
        "version": version,
        "number": number,
        "text": text,
        "vector": _NO_VECTOR,
    }


def _filters(document: SharedDocument) -> Row:
    return {
        "path": _cut(document.path, _PATH),
        "language": _cut(document.language or "", _WORD),
        "doc_type": _cut(document.doc_type or "", _WORD),
        "author": _cut(document.author or "", _WORD),
        "tags": [_cut(tag, _WORD) for tag in document.tags[:_MOST_TAGS]],
        "dated": document.dated,
    }


def _document(row: Row, texts: Sequence[Row], pieces: Sequence[Row]) -> SharedDocument:
    try:
        payload = base64.b85decode("".join(text["text"] for text in texts))
    except ValueError as error:
        raise EngineFailed(f"a document of a shared collection is damaged: {error}") from error
    return SharedDocument(
        key=row["key"],
        version=row["version"],
        path=row["path"],
        title=row["title"],
        language=row["language"] or None,
        doc_type=row["doc_type"] or None,
        author=row["author"] or None,
        tags=tuple(row["tags"]),
        dated=float(row["dated"]),
        weights={int(id_): float(weight) for id_, weight in row["terms"].items()},
        payload=payload,
        pieces=tuple(map(_piece, pieces)),
    )


def _piece(row: Row) -> Piece:
    end, last_line = int(row["last"]), int(row["last_line"])
    return Piece(
        int(row["seq"]),
        int(row["first"]),
        None if end == _NONE else end,
        int(row["line"]),
        None if last_line == _NONE else last_line,
        np.asarray(row["vector"], "<f4").tobytes(),
    )


def _parts(payload: bytes) -> list[str]:
    text = base64.b85encode(payload).decode()
    return [text[i : i + _TEXT] for i in range(0, len(text), _TEXT)]


def _part_key(document: Key, version: str, number: int) -> str:
    return f"{document}-{version}-{number}"


def _blocks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield rows in lists that fit into a request."""
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


def _cut(text: str, most: int) -> str:
    """Return as much of a text as fits into so many bytes."""
    data = text.encode(errors="replace")
    return text if len(data) <= most else data[:most].decode(errors="ignore")


def _quoted(text: str) -> str:
    r"""Return a string literal of an expression.

    >>> _quoted('a "b" \')
    '"a \"b\" \\"'
    """
    return f'"{text.encode(errors="replace").decode().translate(_ESCAPES)}"'


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_quoted, texts))}]"


def _any_of(name: str, values: Sequence[str | int]) -> str:
    listed = ", ".join(_quoted(value) if isinstance(value, str) else str(value) for value in values)
    return f"{name} in [{listed}]"


def _begins_with(name: str, prefix: str) -> list[str]:
    """Return the conditions of a range: how a `like` takes special characters depends on the server."""
    first = _cut(prefix, _PATH)
    stem = first.rstrip("\U0010ffff")
    if not stem:
        return [f"{name} >= {_quoted(first)}"]
    following = ord(stem[-1]) + 1
    after = "\ue000" if 0xD800 <= following <= 0xDFFF else chr(following)
    return [f"{name} >= {_quoted(first)}", f"{name} < {_quoted(stem[:-1] + after)}"]


def _escaped(name: str) -> str:
    """Return a name of letters, digits and `_`; different for different names.

    >>> _escaped("team-hand_book")
    'team_mhand__book'
    """
    return name.replace("_", "__").replace("-", "_m")


def _imported() -> Any:
    """Return the class MilvusClient. Its import takes half a second."""
    try:
        from pymilvus import MilvusClient
    except ImportError as error:
        raise DependencyMissing(
            "shared collections need another package: run `pip install 'gnod[shared]'`, then `gnoctl daemon restart`"
        ) from error
    # It logs errors that are raised, with what was sent.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    return MilvusClient
