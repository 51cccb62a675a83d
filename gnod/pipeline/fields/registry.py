"""The built-in fields, one entry each. Fields of the documents' own metadata are in `frontmatter`."""

from __future__ import annotations

from typing import NamedTuple

from gnod.pipeline.fields.conditions import (
    Build,
    after,
    before,
    date_of,
    fault,
    glob,
    is_pattern,
    number_of,
    part_of,
    text_of,
    words_in,
)
from gnod.pipeline.fields.syntax import Value
from gnod.store.database import Connection
from gnod.store.documents.filters import Condition


class Field(NamedTuple):
    """`condition`: of one value. `is_words`: the values are words of the query, too, so that they rank. `present`: the
    SQL condition that a document has the field; None: every document has it."""

    name: str
    help: str
    example: str
    condition: Build
    aliases: tuple[str, ...] = ()
    is_words: bool = False
    present: str | None = None


def _path(connection: Connection, value: Value) -> Condition:
    if value.text.startswith("/"):
        return Condition("lower(d.path) GLOB ?", (glob(value.text[1:].lower()) + "*",))
    if is_pattern(value):
        pattern = glob(value.text.lower())
        return Condition("(lower(d.path) GLOB ? OR lower(d.path) GLOB ?)", (pattern, f"*/{pattern}"))
    return _in_path(connection, value)


_in_path = words_in("filepath")
_tag_text = text_of("tag")
_lang_text = text_of("d.language")


def _tag(connection: Connection, value: Value) -> Condition:
    wanted = _tag_text(connection, value._replace(text=value.text.lstrip("#")))
    return Condition(f"EXISTS (SELECT 1 FROM tags WHERE document_id = d.id AND {wanted.where})", wanted.values)


def _language(connection: Connection, value: Value) -> Condition:
    return _lang_text(connection, value._replace(text=value.text.replace("_", "-").partition("-")[0]))


def _extension(_: Connection, value: Value) -> Condition:
    return Condition("lower(d.path) GLOB ?", ("*." + glob(value.text.lstrip(".").lower()),))


FIELDS = (
    Field("title", "words of the title", 'title:"release notes"', words_in("title"), is_words=True),
    Field(
        "path",
        "words of the path; with `*` the path or its end, with `/` its beginning",
        "path:*.md",
        _path,
    ),
    Field("tag", "a tag", "-tag:old", _tag, ("tags",), present="EXISTS (SELECT 1 FROM tags WHERE document_id = d.id)"),
    Field("type", "`type` in the frontmatter", "type:note", text_of("d.doc_type"), present="d.doc_type <> ''"),
    Field("author", "a part of the author", "author:ada", part_of("d.author"), present="d.author <> ''"),
    Field("lang", "the language", "lang:de,en", _language, ("language",), present="d.language <> ''"),
    Field("ext", "the extension of the file", "ext:pdf", _extension, ("extension",)),
    Field(
        "collection",
        "the collection",
        "collection:notes",
        text_of("(SELECT name FROM collections WHERE id = d.collection_id)"),
    ),
    Field("before", "dated before a day, a month, a year or an age", "before:2026-06", before("d.dated")),
    Field("after", "dated at it or later", "after:30d", after("d.dated"), ("since",)),
    Field("date", "dated in a day, a month, a year or a range", "date:2024..2025-06", date_of("d.dated")),
    Field("size", "the size of the file", "size:>10k", number_of("d.size")),
)

BY_NAME = {name: field for field in FIELDS for name in (field.name, *field.aliases)}


def has(name: str) -> Condition:
    """Return the condition that a document has a built-in field."""
    field = BY_NAME[name]
    if field.present is None:
        raise fault(f"every document has {field.name!r}: leave it out")
    return Condition(field.present)
