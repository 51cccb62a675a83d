"""Define the Milvus collections of a shared collection: their fields, the conversion of documents to rows and back, and
expressions that choose rows, in which every text is quoted. Pure.

Keys of pieces and texts contain the version of their document.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnod.errors import EngineFailed
from gnod.shared.engine import Key, PublishedPiece, Restriction, SharedDocument

# The lengths of VARCHAR fields in bytes, which Milvus limits to 65,535. Longer values are truncated before comparison.
PATH, TITLE, WORD, TEXT = 16_384, 4_096, 512, 65_535
# A date without a zone is local, and the publisher may be in any zone.
_ZONES_S = 26 * 3600
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_MOST_TAGS = 1_024
_KEY = 96
# HNSW (Malkov & Yashunin 2018): almost exact.
_HNSW = {"M": 32, "efConstruction": 200}
# A placeholder, because every collection of Milvus must have a vector.
NO_VECTOR = [0.0, 0.0]
# The value of None in a number field.
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
        """Add the common fields of texts and pieces."""
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
    """Return the number of parts. Base85 makes five characters from four bytes."""
    whole, rest = divmod(len(payload), 4)
    return -(-(5 * whole + (rest + 1 if rest else 0)) // TEXT)


def part_key(document: Key, version: str, number: int) -> str:
    return f"{document}-{version}-{number}"


def condition_of(within: Restriction) -> str:
    """Return the Milvus expression for a restriction. It may let more documents pass, but never fewer."""
    conditions = [f"array_contains(tags, {quoted(cut(tag, WORD))})" for tag in within.tags_all]
    if within.tags_any:
        conditions.append(f"array_contains_any(tags, {_list(cut(tag, WORD) for tag in within.tags_any)})")
    if within.languages:
        conditions.append(any_of("language", [cut(language, WORD) for language in within.languages]))
    if within.types:
        conditions.append(f"({' or '.join(_has_part('doc_type', type_) for type_ in within.types)})")
    if within.path_prefix:
        conditions += begins_with("path", within.path_prefix)
    if within.author:
        conditions.append(_has_part("author", within.author))
    if within.since is not None:
        conditions.append(f"dated >= {within.since - _ZONES_S!r}")
    if within.until is not None:
        conditions.append(f"dated <= {within.until + _ZONES_S!r}")
    return " and ".join(conditions)


def _has_part(name: str, part: str) -> str:
    # Use `_`, which matches any character, because servers differ in whether `\%` is a percent sign.
    pattern = "".join("_" if c in '%_\\"' or ord(c) < 32 else c for c in cut(part, WORD))
    return f"{name} like {quoted(f'%{pattern}%')}"


def cut(text: str, most: int) -> str:
    """Truncate a text to at most this many bytes."""
    data = text.encode(errors="replace")
    return text if len(data) <= most else data[:most].decode(errors="ignore")


def quoted(text: str) -> str:
    r"""Return a text as a string literal for an expression.

    >>> print(quoted('a "b" \\'))
    "a \"b\" \\"
    """
    return f'"{text.encode(errors="replace").decode().translate(_ESCAPES)}"'


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(quoted, texts))}]"


def any_of(name: str, values: Sequence[str | int]) -> str:
    listed = ", ".join(quoted(value) if isinstance(value, str) else str(value) for value in values)
    return f"{name} in [{listed}]"


def begins_with(name: str, prefix: str) -> list[str]:
    """Return the conditions for a prefix as a range, because servers differ in the special characters of `like`."""
    first = cut(prefix, PATH)
    stem = first.rstrip("\U0010ffff")
    if not stem:
        return [f"{name} >= {quoted(first)}"]
    following = ord(stem[-1]) + 1
    after = "\ue000" if 0xD800 <= following <= 0xDFFF else chr(following)
    return [f"{name} >= {quoted(first)}", f"{name} < {quoted(stem[:-1] + after)}"]
