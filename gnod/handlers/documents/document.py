"""`document.*`."""

from __future__ import annotations

import asyncio
import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from gnod.config.faults import quoted
from gnod.config.model import Config, contexts_for
from gnod.configured.configuration import Configuration
from gnod.disks.looks import answers
from gnod.errors import GnoError, InvalidParams, InvalidReference, NotFound, RootUnavailable
from gnod.handlers.wire_types import entry, location_of, location_to_wire, metadata
from gnod.ingest.links.places import LinkPlaces
from gnod.protocol import documents as wire
from gnod.protocol.base import copied
from gnod.protocol.framing import MAX_MESSAGE_BYTES
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.search.fields import reading
from gnod.search.hits import analyzers_of, variants_in
from gnod.search.hybrid.across_indexes import SourceReader, Sources
from gnod.search.keyword import lexical
from gnod.search.keyword.marks import TermFinder
from gnod.search.passages.best_passage import matches_in
from gnod.search.query import references
from gnod.search.query.parsing import Clause, parse_query
from gnod.store.connection import Connection
from gnod.store.database import READERS, Database
from gnod.store.tables import definitions, documents, tags
from gnod.store.tables.documents import DocumentRow
from gnod.store.tables.records import FileStat, StoredDefinition
from gnod.types import canonical_line, format_uri, has_own_lines, source_line

_MAX_PROPOSED = 10  # unknown references that get a proposal
_MAX_MATCHES = 100_000
_MAX_NAMED = 5  # headings or definitions, if one is unknown
_MAX_DEFINITIONS = 20_000
_NAMES = re.compile(r"\w+")

_FULL = "over the size of one reply: request it in another call, or narrow the glob"

_LONG_READS = READERS // 2

T = TypeVar("T")


def handlers(configuration: Configuration, database: Database, sources: Sources) -> Mapping[str, Handler]:
    long_reads = asyncio.Semaphore(_LONG_READS)

    async def read_long(work: Callable[[Connection], T]) -> T:
        """Run a read of whole texts. It leaves some readers free for searches."""
        async with long_reads:
            return await database.read(work)

    async def read_one(ref: str, work: Callable[[Connection], T]) -> T:
        """Run a read of one document in the source that has it."""
        if shared := sources.find(ref):
            return await shared.get(ref, work)
        return await read_long(work)

    async def document_get(params: wire.DocumentGetParams, _: Call) -> wire.DocumentText:
        config = configuration.current

        def work(connection: Connection) -> wire.DocumentText:
            found = references.resolve(connection, params.ref)
            first, last = _lines_of(connection, found)
            start = params.start_line or first
            limits = (params.max_lines, last - start + 1 if last and last >= start else None)
            text = _text(connection, found.document, config, start, min(filter(None, limits), default=None))
            if start > max(text.total_lines, 1):
                message = f"{text.uri} has no line {start:,}: its last line is {text.total_lines:,}"
                raise (InvalidParams if params.start_line else InvalidReference)(message, {"lines": text.total_lines})
            return replace(text, locations=_locations(found.document)) if params.locations else text

        return await read_one(params.ref, work)

    async def document_multi_get(params: wire.DocumentMultiGetParams, _: Call) -> wire.DocumentMultiGetResult:
        work = partial(_multi_get, params=params, config=configuration.current)
        local = [ref for ref in params.refs if references.is_glob(ref) or not sources.find(ref)]
        found = wire.DocumentMultiGetResult(documents=[], skipped=[])
        if local:
            found = await read_long(partial(work, refs=local))
        for ref in [ref for ref in params.refs if ref not in local]:
            try:
                more = await read_one(ref, partial(work, refs=[ref]))
            except GnoError as error:
                more = wire.DocumentMultiGetResult(documents=[], skipped=[_failed(ref, error)])
            found = _together(found, more, params.limit)
        return found

    async def document_matches(params: wire.DocumentMatchesParams, _: Call) -> wire.DocumentMatchesResult:
        saved = configuration.current.saved_queries
        words = (await reading.read_in(database.read, params.query, saved)).text
        clauses = parse_query(words).terms if words.strip() else ()  # a query may have only fields

        def work(connection: Connection) -> wire.DocumentMatchesResult:
            return _matches(connection, references.resolve(connection, params.ref).document, clauses)

        return await read_one(params.ref, work)

    async def document_locate(params: wire.DocumentLocateParams, _: Call) -> wire.DocumentPlace:
        config = configuration.current
        if sources.find(params.ref):
            raise NotFound(
                f"{params.ref} is in a shared collection, so this machine has no file of it: "
                "`gnoctl get` prints its text"
            )
        place = await database.read(
            lambda connection: _place(connection, references.resolve(connection, params.ref), config)
        )
        if place.viewer:
            configuration.check_commands()
        return place

    async def document_list(params: wire.DocumentListParams, _: Call) -> wire.DocumentListResult:
        collection, prefix = references.scope(params.scope)
        if collection is not None and (shared := sources.of(collection)):
            return await _list_shared(shared, collection, prefix, params)
        if collection is not None:
            configuration.collection(collection)

        def work(connection: Connection) -> wire.DocumentListResult:
            found = documents.under(connection, collection, prefix, params.limit, params.offset)
            total = documents.count_under(connection, collection, prefix)
            entries = [_with_metadata(connection, row) if params.metadata else entry(row) for row in found]
            return wire.DocumentListResult(documents=entries, total=total)

        return await (read_long if params.metadata else database.read)(work)

    return named(document_get, document_multi_get, document_matches, document_locate, document_list)


def _together(
    first: wire.DocumentMultiGetResult, more: wire.DocumentMultiGetResult, limit: int
) -> wire.DocumentMultiGetResult:
    known = {document.uri for document in first.documents}
    new = [document for document in more.documents if document.uri not in known]
    room = MAX_MESSAGE_BYTES - sum(len(document.text) for document in first.documents)
    kept = [each for each in new if len(each.text) <= room][: max(limit - len(first.documents), 0)]
    left_out = [
        wire.SkippedReference(ref=each.uri, kind="answer_full", reason=_FULL) for each in new if each not in kept
    ]
    return wire.DocumentMultiGetResult(
        documents=[*first.documents, *kept], skipped=[*first.skipped, *more.skipped, *left_out]
    )


async def _list_shared(
    shared: SourceReader, collection: str, prefix: str, params: wire.DocumentListParams
) -> wire.DocumentListResult:
    """List documents of another source, which does not report all fields."""
    prefix = f"{prefix.rstrip('/')}/" if prefix.rstrip("/") else ""
    end = params.offset + params.limit
    found = await shared.listed(prefix, end)
    entries = [
        wire.DocumentEntry(
            docid="",
            uri=format_uri(collection, document.path),
            collection=collection,
            path=document.path,
            source=document.source,
            title=document.title,
            mime="",
            size=0,
            modified="",
        )
        for document in found[params.offset :]
    ]
    total = shared.documents if not prefix and len(found) == end else len(found)
    return wire.DocumentListResult(documents=entries, total=total)


def _place(connection: Connection, found: references.Resolved, config: Config) -> wire.DocumentPlace:
    """Return the file that a reference leads to; for a member, its container. Raises RootUnavailable, or NotFound for a
    file that is gone."""
    document = found.document
    file = _file(connection, document)
    require_source(file)
    line, _ = _lines_of(connection, found)
    is_file = file is document
    return copied(
        wire.DocumentPlace,
        entry(document),
        source=file.source,
        mime=file.mime,
        line=line if is_file and has_own_lines(document.converter) else None,
        location=location_of(document, canonical_line(document.line_map, line)) if is_file else None,
        stale=_is_stale(file),
        viewer=config.viewer(file.path, file.mime),
        obsidian=_in_obsidian(Path(file.source)),
    )


def _in_obsidian(file: Path) -> str | None:
    """Return the address that opens a file in Obsidian: the nearest folder above it with Obsidian's settings is its
    vault."""
    vault = next((folder for folder in file.parents if (folder / ".obsidian").is_dir()), None)
    if vault is None:
        return None
    return f"obsidian://open?vault={quote(vault.name, safe='')}&file={quote(str(file.relative_to(vault)), safe='')}"


def _file(connection: Connection, document: DocumentRow) -> DocumentRow:
    """Return the document's file on disk; for a member, its container."""
    if document.container is None:
        return document
    return documents.by_path(connection, document.collection, document.container) or document


def require_source(document: DocumentRow) -> None:
    """Raise RootUnavailable or NotFound unless the file of the document exists."""
    if not answers(document.source):
        raise RootUnavailable(f"{document.root} does not answer: `gnoctl get` prints the indexed text")
    if os.path.exists(document.source):  # noqa: PTH110
        return
    details: dict[str, object] = {"path": document.source}
    if not os.path.isdir(document.root):  # noqa: PTH112
        raise RootUnavailable(
            f"{document.source} cannot be opened: the folder {document.root} is missing (an unmounted drive?); "
            "`gnoctl get` prints the indexed text",
            details,
        )
    raise NotFound(f"{document.source} no longer exists: `gnoctl index` updates the index", details)


def _lines_of(connection: Connection, found: references.Resolved) -> tuple[int, int | None]:
    """Return the first line of the file that a reference names, and for a page, a section or a definition, the last
    one. Raises InvalidReference if the heading or the definition does not exist."""
    if found.heading is None:
        return found.line or 1, found.last
    document, name = found.document, found.heading
    lines: tuple[int, int | None] | None
    if defined := definitions.of_document(connection, document.id, _MAX_DEFINITIONS):
        kind, lines, named = "definition", *_defined(defined, name)
    else:
        places = LinkPlaces(documents.markdown(connection, document.mirror_hash))
        kind, lines = "heading", places.lines_of(name)
        named = [near] if (near := places.suggestion(name)) else places.headings
    if lines:
        first, last = lines
        return source_line(document.line_map, first), last and source_line(document.line_map, last)
    named = named[:_MAX_NAMED]
    hint = f"did you mean {' or '.join(f'#{each}' for each in named)}?" if named else "it has lines, such as :12"
    raise InvalidReference(
        f"{document.collection}/{document.path} has no {kind} {quoted(name)}: {hint}", {"headings": named}
    )


def _defined(defined: Sequence[StoredDefinition], name: str) -> tuple[tuple[int, int | None] | None, list[str]]:
    """Return the lines of the first definition with this name (`run`, `Retry.run`), and the nearest names."""
    parts = _NAMES.findall(name.casefold())
    labels = [_NAMES.findall(f"{definition.path} {definition.name}".casefold()) for definition in defined]
    for definition, label in zip(defined, labels, strict=True):
        if parts and label[-len(parts) :] == parts:
            return (definition.line, definition.end_line), []
    names = {definition.name.casefold(): definition.name for definition in defined}
    close = difflib.get_close_matches(parts[-1] if parts else "", list(names), n=1)
    return None, [names[each] for each in close] or list(names.values())


def _text(
    connection: Connection, document: DocumentRow, config: Config, start_line: int, max_lines: int | None
) -> wire.DocumentText:
    """Return the requested lines; "" past the end."""
    markdown = documents.markdown(connection, document.mirror_hash)
    line_map = document.line_map
    first = canonical_line(line_map, start_line)
    total = markdown.count("\n")
    end = total if max_lines is None else min(first - 1 + max_lines, total)
    # A whole text is not split, because that would block all threads if it is long.
    text = markdown if (first, end) == (1, total) else _lines(markdown, first - 1, end)
    return wire.DocumentText(
        **msgspec.structs.asdict(_with_metadata(connection, document)),
        text=text,
        start_line=source_line(line_map, first),
        end_line=source_line(line_map, max(end, first - 1)),
        total_lines=source_line(line_map, total),
        line_map=line_map,
        truncated=end < total,
        stale=document.root.startswith("/") and _is_stale(_file(connection, document)),
        converter=document.converter,
        context=contexts_for(config.contexts, document.collection, document.path),
    )


def _with_metadata(connection: Connection, document: DocumentRow) -> wire.DocumentEntry:
    return replace(entry(document), tags=tags.of(connection, document.id), metadata=metadata(document))


def _matches(connection: Connection, document: DocumentRow, clauses: Sequence[Clause]) -> wire.DocumentMatchesResult:
    analyzers = analyzers_of({document.id: document}, lexical.analyzers_of_index(connection))[document.id]
    terms = variants_in(connection, lexical.expression_of(connection, clauses), [document.id])[document.id]
    finder = TermFinder(documents.markdown(connection, document.mirror_hash), analyzers)
    found = matches_in(finder, terms, _MAX_MATCHES)
    return wire.DocumentMatchesResult(
        uri=document.uri,
        lines=[source_line(document.line_map, line) for line in found.lines],
        exact=found.is_exact,
        words=list(found.words),
    )


def _locations(document: DocumentRow) -> list[wire.LocatedLine]:
    """Return where pages, sheets and so on begin. Rows are left out, because they are consecutive."""
    located = document.locations
    if located is None or located.kind == "row":
        return []
    firsts = {start.value: start.line for start in reversed(located.starts)}
    return [
        wire.LocatedLine(line=line, location=where)
        for line in sorted(firsts.values())
        if (where := location_to_wire(located.at(line)))
    ]


def _lines(text: str, start: int, end: int) -> str:
    """Return lines `start` to `end` (exclusive, from 0) of a text in which every line has a line end."""
    return "".join(f"{line}\n" for line in text.split("\n", max(end, 0))[start:end])


def _multi_get(
    connection: Connection, params: wire.DocumentMultiGetParams, config: Config, refs: Sequence[str]
) -> wire.DocumentMultiGetResult:
    found: dict[int, DocumentRow] = {}
    skipped: list[wire.SkippedReference] = []
    for ref in refs:
        try:
            for document in _documents(connection, ref, propose=len(skipped) < _MAX_PROPOSED):
                found.setdefault(document.id, document)
        except GnoError as error:
            skipped.append(_failed(ref, error))
    texts: list[wire.DocumentText] = []
    room = MAX_MESSAGE_BYTES
    for document in found.values():
        if len(texts) == params.limit:
            skipped.append(
                _left_out(document, "over_limit", f"over the limit of {params.limit}: raise limit, or narrow the glob")
            )
            continue
        size = documents.text_bytes(connection, document.mirror_hash)
        if size > params.max_bytes:
            reason = f"larger than {params.max_bytes:,} bytes: raise max_bytes, or use `gnoctl get`"
            skipped.append(_left_out(document, "too_large", reason))
        elif size > room:
            skipped.append(_left_out(document, "answer_full", _FULL))
        else:
            room -= size
            texts.append(_text(connection, document, config, 1, None))
    return wire.DocumentMultiGetResult(documents=texts, skipped=skipped)


def _left_out(document: DocumentRow, kind: str, reason: str) -> wire.SkippedReference:
    return wire.SkippedReference(ref=document.uri, kind=kind, reason=reason)


def _failed(ref: str, error: GnoError) -> wire.SkippedReference:
    return wire.SkippedReference(ref=ref, kind=error.kind, reason=error.message)


def _documents(connection: Connection, ref: str, *, propose: bool) -> list[DocumentRow]:
    """Return the documents of a reference or a glob. A glob without matches is tried as a reference, because a name may
    contain brackets."""
    if references.is_glob(ref) and (addresses := references.matching(connection, ref)):
        return [d for address in addresses if (d := documents.by_path(connection, *address))]
    return [references.resolve(connection, ref, propose=propose).document]


def _is_stale(file: DocumentRow) -> bool:
    """Return whether a file differs from its indexed state; False while its drive does not answer."""
    if not answers(file.source):
        return False
    try:
        found = os.stat(file.source)  # noqa: PTH116
    except OSError:
        return True
    return file.stat != FileStat.of(found)
