"""Resolve references to documents: `gno://` address, `#docid`, `collection/path`, or a path on disk. After it may come
lines (`:12`, `:12-20`), a page (`:p12`), another place as hits name it (`:sheet Costs, row 4`), a fragment (`#page=12`,
`#sheet=Costs&row=4`), a heading (`#Next steps`) or a definition (`#Retry.run`)."""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple, get_args
from unicodedata import normalize
from urllib.parse import unquote

from gnod.config.faults import did_you_mean
from gnod.errors import AmbiguousReference, DocumentNotFound, InvalidReference, PathOutsideRoot
from gnod.globs import Glob
from gnod.locations import Kind
from gnod.store.connection import Connection
from gnod.store.documents.collections import all_collections
from gnod.store.tables import documents
from gnod.store.tables.documents import DocumentRow
from gnod.types import SCHEME, parse_uri

_DOCID = re.compile(r"#?([0-9a-fA-F]{6,64})\Z")
_LINES = re.compile(r":(\d{1,9})(?:-(\d{1,9}))?\Z")
_PAGE = re.compile(r":(?P<kind>p)(?P<value>\d{1,9})(?P<row>)\Z")
_FRAGMENT = re.compile(r"#(?P<kind>[a-z]+)=(?P<value>[^#&]*)(?:&row=(?P<row>\d{1,9}))?\Z")
# The labels that hits in a terminal have.
_LABEL = re.compile(rf":(?P<kind>{'|'.join(get_args(Kind))}) (?P<value>.+?)(?:, row (?P<row>\d{{1,9}}))?\Z")
_GLOB_CHARACTERS = re.compile(r"[*?\[{]")
_MAX_PROPOSALS = 3
_MAX_GLOB = 1000


class Resolved(NamedTuple):
    """`line`, `last`: the lines of `:LINE` or `:LINE-LINE` in the reference, or of its page (sheet, …). `heading`: the
    text after `#`, not yet searched for."""

    document: DocumentRow
    line: int | None = None
    last: int | None = None
    heading: str | None = None


def resolve(connection: Connection, reference: str, *, propose: bool = True) -> Resolved:
    """Return the document. Raises DocumentNotFound with proposals (slow), AmbiguousReference with the candidates,
    PathOutsideRoot for a path on disk outside all collections, InvalidReference."""
    if document := _find(connection, reference):
        return Resolved(document)
    if match := _LINES.search(reference):
        document = _find(connection, reference[: match.start()])
        if document:
            return _between(document, reference, int(match[1]), int(match[2]) if match[2] else None)
    for pattern in (_PAGE, _FRAGMENT, _LABEL):
        match = pattern.search(reference)
        if match and (document := _find(connection, reference[: match.start()])):
            value = match["value"] if pattern is _LABEL else unquote(match["value"])
            return _at(document, match, value)
    address, _, heading = reference.partition("#")
    if address and heading and (document := _find(connection, address)):
        return Resolved(document, heading=unquote(heading) if address.startswith(SCHEME) else heading)
    if reference.startswith("#") and not _DOCID.match(reference):
        raise InvalidReference(
            f"{reference!r} is not a docid: write '#' and 6 or more hexadecimal digits", {"reference": reference}
        )
    raise _not_found(connection, reference, _proposals(connection, reference) if propose else [])


def matching(connection: Connection, pattern: str) -> list[tuple[str, str]]:
    """Return (collection, path) of the documents that match a glob over `collection/path`, in order. Raises
    InvalidReference for a very long glob."""
    if len(pattern) > _MAX_GLOB:
        raise InvalidReference(f"a glob may have at most {_MAX_GLOB} characters", {"limit": _MAX_GLOB})
    glob = Glob(normalize("NFC", pattern.removeprefix(SCHEME)))
    return [
        (collection, path)
        for _, collection, path in documents.addresses(connection)
        if glob.matches(normalize("NFC", f"{collection}/{path}"))
    ]


def is_glob(reference: str) -> bool:
    return bool(_GLOB_CHARACTERS.search(reference))


def places_of(connection: Connection, path: str) -> list[tuple[str, str]]:
    """Return (collection, relative path) for every collection whose folder contains the absolute `path`, in any Unicode
    normalisation form."""
    places = []
    for collection in all_collections(connection):
        root = collection.path.rstrip("/") + "/"
        parts = path.split("/", root.count("/"))
        if normalize("NFC", path).startswith(normalize("NFC", root)):
            places.append((collection.name, parts[-1].rstrip("/")))
    return places


def scope(reference: str | None) -> tuple[str | None, str]:
    """Return (collection, prefix) of a scope for listing; (None, "") is all documents. Raises InvalidReference."""
    if not reference or reference == "/":
        return None, ""
    if reference.startswith(SCHEME):
        return parse_uri(reference)
    collection, _, prefix = reference.partition("/")
    return collection.removesuffix(":"), prefix


def _between(document: DocumentRow, reference: str, line: int, last: int | None) -> Resolved:
    if line < 1:
        raise InvalidReference(f"{reference}: lines are counted from 1", {"reference": reference})
    if last is not None and last < line:
        raise InvalidReference(f"{reference}: the last line is before the first: swap them", {"reference": reference})
    return Resolved(document, line, last)


def _at(document: DocumentRow, match: re.Match[str], value: str) -> Resolved:
    """Return the document with the lines of a page or another location. Raises InvalidReference if it does not have the
    location."""
    locations = document.locations
    kind = "page" if match["kind"] == "p" else match["kind"]
    found = locations.lines(value, int(match["row"] or 0)) if locations and locations.kind == kind else None
    if not found:
        has = f"it has {locations.described}" if locations else "it has lines, such as :12"
        names = [start.value for start in locations.starts if isinstance(start.value, str)] if locations else []
        raise InvalidReference(
            f"{document.collection}/{document.path} has no {kind} {value}: {has}{did_you_mean(value, names)}",
            {"reference": match.string},
        )
    return Resolved(document, *found)


def _find(connection: Connection, reference: str) -> DocumentRow | None:
    if reference.startswith(SCHEME):
        return documents.by_path(connection, *parse_uri(reference))
    if reference.startswith("/"):
        places = places_of(connection, reference)
        if not places:
            raise PathOutsideRoot(
                f"{reference} is not in the folder of a collection: `gnoctl collection list` shows the folders",
                {"path": reference},
            )
        return next((d for place in places if (d := documents.by_path(connection, *place))), None)
    collection, slash, path = reference.partition("/")
    if slash and (document := documents.by_path(connection, collection, path)):
        return document
    return _by_docid(connection, reference) if _DOCID.match(reference) else None


def _by_docid(connection: Connection, reference: str) -> DocumentRow | None:
    candidates = documents.by_docid(connection, reference.removeprefix("#").lower())
    if len({d.source_hash for d in candidates}) > 1:
        uris = [d.uri for d in candidates]
        raise AmbiguousReference(
            f"{reference} matches {len(candidates)} documents: {', '.join(uris[:5])}; give more digits",
            {"candidates": uris},
        )
    # Copies of a file have the same docid and text.
    return candidates[0] if candidates else None


def _not_found(connection: Connection, reference: str, proposals: list[str]) -> DocumentNotFound:
    hint = "; `gnoctl ls` lists what is indexed"
    if proposals:
        hint = f"; did you mean {' or '.join(proposals)}?"
    elif reference.startswith(SCHEME):
        name = parse_uri(reference)[0]
        known = [collection.name for collection in all_collections(connection)]
        if name not in known:
            hint = f", nor a collection {name!r}{did_you_mean(name, known) or '; `gnoctl collection list` shows them'}"
    return DocumentNotFound(
        f"no document '{reference}' in the index{hint}", {"reference": reference, "proposals": proposals}
    )


def _proposals(connection: Connection, reference: str) -> list[str]:
    path = _LINES.sub("", reference).removeprefix(SCHEME)
    if reference.startswith(SCHEME):
        path = unquote(path)
    if path.startswith("#"):
        return []
    name = path.rpartition("/")[2].lower()
    addresses = [f"{collection}/{path}" for _, collection, path in documents.addresses(connection)]
    names = [address.rpartition("/")[2].lower() for address in addresses]
    close = [address for address, each in zip(addresses, names, strict=True) if each == name]
    close = close or difflib.get_close_matches(path, addresses[:20_000], n=_MAX_PROPOSALS, cutoff=0.75)
    close = close or [address for address, each in zip(addresses, names, strict=True) if each.startswith(f"{name}.")]
    return close[:_MAX_PROPOSALS]
