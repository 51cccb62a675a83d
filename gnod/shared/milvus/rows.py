"""The collections and rows of Milvus for a shared collection: their fields, and documents as rows and back.

Keys of pieces and texts contain the version of their document.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnod.errors import EngineFailed
from gnod.shared.engine import Key, PublishedPiece, SharedDocument
from gnod.shared.milvus.expressions import PATH, TEXT, TITLE, WORD, cut

_MOST_TAGS = 1_024
_KEY = 96
# HNSW (Malkov & Yashunin 2018): almost exact.
_HNSW = {"M": 32, "efConstruction": 200}
# A placeholder, because every collection of Milvus must have a vector.
NO_VECTOR = [0.0, 0.0]
# Stands for None in a number.
_NONE = -1

Row = dict[str, Any]


class RowSchema(NamedTuple):
    """`types`: pymilvus's DataType."""

    types: Any
    fields: Any
    indexes: Any
    dimensions: int | None

    def text(self, name: str, most: int, **more: Any) -> None:
        self.fields.add_field(name, self.types.VARCHAR, max_length=most, **more)

    def number(self, name: str, *, is_primary: bool = False) -> None:
        self.fields.add_field(name, self.types.INT64, is_primary=is_primary)

    def vector(self, dimensions: int, index: str, parameters: Mapping[str, int]) -> None:
        self.fields.add_field("vector", self.types.FLOAT_VECTOR, dim=dimensions)
        self.indexes.add_index("vector", index_type=index, metric_type="IP", params=dict(parameters))

    def no_vector(self) -> None:
        self.vector(len(NO_VECTOR), "FLAT", {})

    def filters(self) -> None:
        self.text("path", PATH)
        for name in ("language", "doc_type", "author"):
            self.text(name, WORD)
        self.fields.add_field(
            "tags", self.types.ARRAY, element_type=self.types.VARCHAR, max_capacity=_MOST_TAGS, max_length=WORD
        )
        self.fields.add_field("dated", self.types.DOUBLE)

    def part(self) -> None:
        """Make the fields of the rows of a document."""
        self.text("key", _KEY, is_primary=True)
        self.text("document", _KEY)
        self.text("version", _KEY)
        self.number("number")
        self.indexes.add_index("document", index_type="INVERTED")


def _documents(schema: RowSchema) -> None:
    schema.text("key", _KEY, is_primary=True)
    schema.text("version", _KEY)
    schema.text("title", TITLE)
    schema.number("texts")
    schema.number("pieces")
    schema.filters()
    schema.fields.add_field("terms", schema.types.SPARSE_FLOAT_VECTOR)
    schema.indexes.add_index("terms", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")


def _pieces(schema: RowSchema) -> None:
    assert schema.dimensions
    schema.part()
    for name in ("seq", "first", "last", "line", "last_line"):
        schema.number(name)
    schema.filters()
    schema.vector(schema.dimensions, "HNSW", _HNSW)


def _texts(schema: RowSchema) -> None:
    schema.part()
    schema.text("text", TEXT)
    schema.no_vector()


def _terms(schema: RowSchema) -> None:
    schema.number("id", is_primary=True)
    schema.number("n")
    schema.no_vector()


FIELDS = {"documents": _documents, "pieces": _pieces, "texts": _texts, "terms": _terms}


def document_row(document: SharedDocument) -> Row:
    return {
        "key": document.key,
        "version": document.version,
        "title": cut(document.title, TITLE),
        "texts": _count_parts(document.payload),
        "pieces": len(document.pieces),
        "terms": document.weights,
        **_filters(document),
    }


def piece_rows(document: SharedDocument) -> Iterator[Row]:
    filters = _filters(document)
    for number, piece in enumerate(document.pieces):
        yield {
            "key": part_key(document.key, document.version, number),
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


def text_rows(document: SharedDocument) -> Iterator[Row]:
    for number, part in enumerate(_parts(document.payload)):
        key = part_key(document.key, document.version, number)
        yield text_row(key, document.key, document.version, number, part)


def text_row(key: str, document: str, version: str, number: int, text: str) -> Row:
    return {
        "key": key,
        "document": document,
        "version": version,
        "number": number,
        "text": text,
        "vector": NO_VECTOR,
    }


def _filters(document: SharedDocument) -> Row:
    return {
        "path": cut(document.path, PATH),
        "language": cut(document.language or "", WORD),
        "doc_type": cut(document.doc_type or "", WORD),
        "author": cut(document.author or "", WORD),
        "tags": [cut(tag, WORD) for tag in document.tags[:_MOST_TAGS]],
        "dated": document.dated,
    }


def document_of(row: Row, texts: Sequence[Row], pieces: Sequence[Row]) -> SharedDocument:
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


def _piece(row: Row) -> PublishedPiece:
    end, last_line = int(row["last"]), int(row["last_line"])
    return PublishedPiece(
        int(row["seq"]),
        int(row["first"]),
        None if end == _NONE else end,
        int(row["line"]),
        None if last_line == _NONE else last_line,
        np.asarray(row["vector"], "<f4").tobytes(),
    )


def _parts(payload: bytes) -> list[str]:
    text = base64.b85encode(payload).decode()
    return [text[i : i + TEXT] for i in range(0, len(text), TEXT)]


def _count_parts(payload: bytes) -> int:
    """Return how many parts there are: base85 makes five characters of four bytes."""
    whole, rest = divmod(len(payload), 4)
    return -(-(5 * whole + (rest + 1 if rest else 0)) // TEXT)


def part_key(document: Key, version: str, number: int) -> str:
    return f"{document}-{version}-{number}"
