"""`document.*`."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from gnod.config.model import Config, contexts_for
from gnod.errors import GnoError
from gnod.pipeline import references
from gnod.protocol.framing import MAX_MESSAGE_BYTES
from gnod.protocol.params import DocumentGetParams, DocumentListParams, DocumentMultiGetParams
from gnod.protocol.results import DocumentListResult, DocumentMultiGetResult, DocumentText, SkippedReference
from gnod.server.dispatcher import Call, Handler
from gnod.server.handlers.shapes import entry, metadata
from gnod.server.index import Index
from gnod.store import documents
from gnod.store.database import Connection
from gnod.store.documents import Document
from gnod.types import canonical_line, format_uri, source_line

_MAX_PROPOSED = 10  # of many references that lead nowhere, so many are told what they may have meant


def handlers(served: Index) -> Mapping[str, Handler]:
    async def document_get(params: DocumentGetParams, _: Call) -> DocumentText:
        config = served.configuration.current

        def work(connection: Connection) -> DocumentText:
            document, line = references.resolve(connection, params.ref)
            start = params.start_line or line or 1
            return _text(connection, document, config, start, params.max_lines)

        return await served.read_long(work)

    async def document_multi_get(params: DocumentMultiGetParams, _: Call) -> DocumentMultiGetResult:
        config = served.configuration.current
        return await served.read_long(lambda connection: _multi_get(connection, params, config))

    async def document_list(params: DocumentListParams, _: Call) -> DocumentListResult:
        collection, prefix = references.scope(params.scope)
        if collection is not None:
            served.configuration.collection(collection)

        def work(connection: Connection) -> DocumentListResult:
            found = documents.under(connection, collection, prefix, params.limit, params.offset)
            total = documents.count_under(connection, collection, prefix)
            return DocumentListResult(documents=[entry(document) for document in found], total=total)

        return await served.read(work)

    return {
        "document.get": document_get,
        "document.multi_get": document_multi_get,
        "document.list": document_list,
    }


def _text(
    connection: Connection, document: Document, config: Config, start_line: int, max_lines: int | None
) -> DocumentText:
    """Return the lines asked for; a start behind the end gives no lines."""
    markdown = documents.markdown(connection, document.mirror_hash)
    line_map = document.line_map
    first = canonical_line(line_map, start_line)
    total = markdown.count("\n")
    end = total if max_lines is None else min(first - 1 + max_lines, total)
    # A long text is not taken apart where it is wanted whole: that would keep every other thread waiting.
    text = markdown if (first, end) == (1, total) else _lines(markdown, first - 1, end)
    return DocumentText(
        **msgspec.structs.asdict(entry(document)),
        text=text,
        start_line=source_line(line_map, first),
        end_line=source_line(line_map, max(end, first - 1)),
        total_lines=source_line(line_map, total),
        line_map=line_map,
        stale=_is_stale(document),
        tags=documents.tags_of(connection, document.id),
        metadata=metadata(document),
        converter=document.converter,
        context=contexts_for(config, document.collection, document.path),
    )


def _lines(text: str, start: int, end: int) -> str:
    """Return lines `start` to `end` (exclusive, from 0) of a text whose lines all end."""
    return "".join(f"{line}\n" for line in text.split("\n", max(end, 0))[start:end])


def _multi_get(connection: Connection, params: DocumentMultiGetParams, config: Config) -> DocumentMultiGetResult:
    found: dict[int, Document] = {}
    skipped: list[SkippedReference] = []
    for ref in params.refs:
        try:
            for document in _documents(connection, ref, propose=len(skipped) < _MAX_PROPOSED):
                found.setdefault(document.id, document)
        except GnoError as error:
            skipped.append(SkippedReference(ref=ref, reason=error.message))
    chosen = list(found.values())[: params.limit]
    skipped += [
        SkippedReference(ref=format_uri(d.collection, d.path), reason=f"over the limit of {params.limit} documents")
        for d in list(found.values())[params.limit :]
    ]
    texts: list[DocumentText] = []
    room = MAX_MESSAGE_BYTES
    for document in chosen:
        text = _cut(_text(connection, document, config, 1, None), params.max_bytes)
        size = len(text.text.encode())
        if size > room:
            skipped.append(SkippedReference(ref=text.uri, reason="the answer is full: ask for it by itself"))
            continue
        room -= size
        texts.append(text)
    return DocumentMultiGetResult(documents=texts, skipped=skipped)


def _documents(connection: Connection, ref: str, *, propose: bool) -> list[Document]:
    """Return what a reference or a glob means. A glob that matches nothing is treated as a reference: a name may
    hold brackets."""
    if references.is_glob(ref) and (addresses := references.matching(connection, ref)):
        return [d for address in addresses if (d := documents.by_path(connection, *address))]
    return [references.resolve(connection, ref, propose=propose).document]


def _cut(text: DocumentText, max_bytes: int) -> DocumentText:
    """Keep whole lines up to `max_bytes`; of a longer first line, its start."""
    encoded = text.text.encode()
    if len(encoded) <= max_bytes:
        return text
    head = encoded[:max_bytes].decode(errors="ignore")
    head = head[: head.rfind("\n") + 1] or head
    return msgspec.structs.replace(
        text, text=head, end_line=source_line(text.line_map, max(head.count("\n"), 1)), truncated=True
    )


def _is_stale(document: Document) -> bool:
    try:
        stat = os.stat(document.source)  # noqa: PTH116
    except OSError:
        return True
    return (stat.st_size, stat.st_mtime_ns, stat.st_ino) != (document.size, document.mtime_ns, document.inode)
