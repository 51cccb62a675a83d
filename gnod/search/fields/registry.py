"""The built-in fields. Fields of the documents' own metadata are in `frontmatter`."""

from __future__ import annotations

from typing import NamedTuple

from gnod.errors import GnoError
from gnod.search.fields import frontmatter
from gnod.search.fields.conditions import (
    Build,
    FieldValue,
    after,
    before,
    date_of,
    either,
    fault,
    folded,
    glob,
    is_pattern,
    is_text,
    number_of,
    part_of,
    text_of,
    words_in,
)
from gnod.search.keyword import symbols
from gnod.search.query import references
from gnod.store import link_names
from gnod.store.connection import Connection
from gnod.store.links import links
from gnod.store.tables import tags
from gnod.store.tables.filters import Condition


class Field(NamedTuple):
    """`condition`: makes the condition for one value. `is_words`: the values are also words of the query, so they
    affect the ranking. `present`: the SQL condition that a document has the field; None: every document has it.
    `order`: the SQL expression for sorting. `counted`: the SQL expression for facets, or of the path that their values
    are parts of; None: no facets. `stated`: facets count the metadata values under these names, each list element by
    itself."""

    name: str
    help: str
    example: str
    condition: Build
    aliases: tuple[str, ...] = ()
    is_words: bool = False
    present: str | None = None
    order: str | None = None
    counted: str | None = None
    stated: tuple[str, ...] = ()

    @property
    def is_own(self) -> bool:
        """Return whether facets list it with the fields of the documents' own metadata, because it has no column."""
        return bool(self.stated) and self.order is None


def _path(connection: Connection, value: FieldValue) -> Condition:
    path, wanted = folded("d.path", value.text)
    if wanted.startswith("/"):
        return Condition(f"{path} GLOB ?", (glob(wanted[1:]) + "*",))
    if is_pattern(value):
        return Condition(f"({path} GLOB ? OR {path} GLOB ?)", (glob(wanted), f"*/{glob(wanted)}"))
    return _in_path(connection, value)


_in_path = words_in("filepath")
_lang_text = text_of("d.language")


def _tag(_: Connection, value: FieldValue) -> Condition:
    text = tags.key(value.text)
    test, wanted = ("tag GLOB ?", glob(text)) if is_pattern(value) else ("tag = ?", text)
    return Condition(f"EXISTS (SELECT 1 FROM tags WHERE document_id = d.id AND {test})", (wanted,))


def _type(_: Connection, value: FieldValue) -> Condition:
    """Compare one type of a document. The column has several types with commas between them."""
    compared, wanted = folded("', ' || d.doc_type || ','", value.text)
    if is_pattern(value):
        return Condition(f"{compared} GLOB ?", (f"*, {glob(wanted)},*",))
    return Condition(f"instr({compared}, ?) > 0", (f", {wanted},",))


def _symbol(connection: Connection, value: FieldValue) -> Condition:
    wanted = symbols.symbol(value.text)
    if wanted is None:
        raise fault(f"{value.text!r} has no name to search for: write one, such as symbol:backoff")
    return either([symbols.defining(connection, wanted), _used(connection, value._replace(text=wanted.name))])


_used = words_in("body")


def _documents(connection: Connection, value: FieldValue) -> list[int]:
    """Return the documents with this reference or name."""
    try:
        return [references.resolve(connection, value.text, propose=False).document.id]
    except GnoError:
        if found := links.named(connection, link_names.key(value.text)):
            return found
    raise fault(f"there is no document {value.text!r}: write its address, such as notes/a.md, or its name")


def _links_to(connection: Connection, value: FieldValue) -> Condition:
    found = _documents(connection, value)
    return Condition("1").with_ids(set[int]().union(*(links.linking(connection, each) for each in found)))


def _linked_from(connection: Connection, value: FieldValue) -> Condition:
    found = _documents(connection, value)
    return Condition("1").with_ids(set[int]().union(*(links.linked(connection, each) for each in found)))


def _language(connection: Connection, value: FieldValue) -> Condition:
    return _lang_text(connection, value._replace(text=value.text.replace("_", "-").partition("-")[0]))


def _extension(_: Connection, value: FieldValue) -> Condition:
    return Condition("lower(d.path) GLOB ?", ("*." + glob(value.text.lstrip(".").lower()),))


def _folder(_: Connection, value: FieldValue) -> Condition:
    compared, wanted = folded(_ADDRESS, value.text.strip("/") + "/")
    if is_pattern(value):
        return Condition(f"{compared} GLOB ?", (glob(wanted) + "*",))
    return Condition(f"substr({compared}, 1, ?) = ?", (len(wanted), wanted))


def _collection(connection: Connection, value: FieldValue) -> Condition:
    names = [name for (name,) in connection.execute("SELECT name FROM collections ORDER BY name")]
    if not is_pattern(value) and value.text.lower() not in names:
        raise fault(f"there is no collection {value.text!r}: {', '.join(names) or 'none'} can be searched")
    return is_text(_COLLECTION, value)


def _from(connection: Connection, value: FieldValue) -> Condition:
    return either([_author(connection, value), _speaker(connection, value)])


def _role(connection: Connection, value: FieldValue) -> Condition:
    return frontmatter.condition(frontmatter.spellings(connection).get("role", ["role"]), value)


def _part_of_stated(name: str) -> Build:
    part = part_of("j.value")
    return lambda connection, value: frontmatter.any_element(name, part(connection, value))


_author = part_of("d.author")
_speaker = _part_of_stated("from")


def _stated(field: Field, expression: str, *names: str) -> Field:
    return _column(field, expression)._replace(counted=None, stated=names)


def _column(field: Field, expression: str) -> Field:
    """Return the field for a text column that may be empty."""
    return field._replace(present=f"{expression} <> ''", order=f"lower({expression})", counted=expression)


_COLLECTION = "(SELECT name FROM collections WHERE id = d.collection_id)"
_MODIFIED = "(d.mtime_ns / 1e9)"
_ADDRESS = f"{_COLLECTION} || '/' || d.path"

FIELDS = (
    Field("title", "words of the title", 'title:"release notes"', words_in("title"), is_words=True, order="d.title"),
    Field(
        "path",
        "words of the path; with `*` the whole path or its end, with `/` its beginning",
        "path:*.md",
        _path,
        order="d.path",
    ),
    Field(
        "symbol",
        "a function, class or method of source code, by name: definitions first, then uses",
        "symbol:backoff",
        _symbol,
        is_words=True,
        present="EXISTS (SELECT 1 FROM definitions WHERE document_id = d.id)",
    ),
    Field(
        "links-to",
        "documents with a link to this one, by its address or name",
        "links-to:boat",
        _links_to,
        present="EXISTS (SELECT 1 FROM links WHERE document_id = d.id AND key IS NOT NULL)",
    ),
    Field(
        "linked-from",
        "documents that this one links to",
        "linked-from:notes/boat.md",
        _linked_from,
        present="EXISTS (SELECT 1 FROM names n CROSS JOIN links l ON l.collection_id = n.collection_id"
        " AND l.key = n.name AND l.reach >= n.rank WHERE n.document_id = d.id)",
    ),
    Field(
        "tag",
        "a tag, or one below it (`work/mail`)",
        "-tag:old",
        _tag,
        ("tags",),
        present="EXISTS (SELECT 1 FROM tags WHERE document_id = d.id)",
    ),
    _stated(Field("type", "`type` in the frontmatter", "type:note", _type), "d.doc_type", "type"),
    _stated(Field("author", "part of the author's name", "author:ada", _author), "d.author", "author", "authors"),
    Field(
        "from",
        "part of the name of an author, mail sender or speaker; passages are from the speaker's messages",
        "from:mara",
        _from,
        present="(d.author <> '' OR d.metadata ->> '$.from' <> '')",
        stated=("from", "author", "authors"),
    ),
    Field(
        "role",
        "in conversations with agents: the words must be in a message of the `user` or the `assistant`",
        "role:user",
        _role,
        present="d.metadata ->> '$.role' <> ''",
        stated=("role",),
    ),
    Field(
        "in",
        "part of the name of a conversation's project, channel or chat",
        "in:harbour",
        _part_of_stated("in"),
        present="d.metadata ->> '$.in' <> ''",
        stated=("in",),
    ),
    _column(Field("lang", "the language", "lang:de,en", _language, ("language",)), "d.language"),
    Field(
        "ext",
        "the extension of the file",
        "ext:pdf",
        _extension,
        ("extension",),
        present="d.path GLOB '*.*'",
        counted=_ADDRESS,
    ),
    Field("folder", "in a folder or below it, with its collection", "folder:notes/2026", _folder, counted=_ADDRESS),
    _column(Field("collection", "the collection", "collection:notes", _collection), _COLLECTION),
    Field("before", "dated before a day, a month, a year or an age", "before:2026-06", before("d.dated")),
    Field("after", "dated on or after it", "after:30d", after("d.dated"), ("since",)),
    Field(
        "date",
        "dated in a day, a month, a year or a range",
        "date:2024..2025-06",
        date_of("d.dated"),
        order="d.dated",
        counted="strftime('%Y', d.dated, 'unixepoch', 'localtime')",
    ),
    Field(
        "modified",
        "like `date:`, but by the file's modification time",
        "modified:>7d",
        date_of(_MODIFIED),
        order="d.mtime_ns",
    ),
    Field("size", "the size of the file", "size:>10k", number_of("d.size"), order="d.size"),
)

BY_NAME = {name: field for field in FIELDS for name in (field.name, *field.aliases)}
# Other names of built-in fields, used if no document has a field of that name.
STAND_INS = {"year": "date"}


def has(name: str) -> Condition:
    """Return the condition that a document has a built-in field."""
    field = BY_NAME[name]
    if field.present is None:
        raise fault(f"every document has {field.name!r}: leave it out")
    return Condition(field.present)
