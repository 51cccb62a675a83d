"""The resources: `gno://collection/path` is a document, `gno://collection/` lists the documents of a collection."""

from __future__ import annotations

from typing import NamedTuple

from gnoctl.mcp.output_text import titled
from gnoctl.printing import text
from gnoctl.printing.wording import count
from gnod.client import AsyncClient
from gnod.protocol.base import NoParams
from gnod.protocol.collections import CollectionListResult
from gnod.protocol.documents import DocumentGetParams, DocumentListParams, DocumentListResult, DocumentText
from gnod.types import SCHEME, format_uri, parse_uri

# Reserved expansion (RFC 6570) keeps the slashes of a path. Addresses with escaped slashes are read as well.
TEMPLATE = "gno://{collection}/{+path}"

MAX_LISTED = 1000


class CollectionResource(NamedTuple):
    uri: str
    name: str
    description: str


async def listed(daemon: AsyncClient) -> list[CollectionResource]:
    """Return the collections. Documents are not listed, because there are too many; agents search for them."""
    result = await daemon.call("collection.list", NoParams(), CollectionListResult)
    return [
        CollectionResource(
            f"{SCHEME}{collection.name}/",
            collection.name,
            text.line(f"The list of {count(collection.documents, 'document')} in {collection.path}"),
        )
        for collection in result.collections
    ] + [
        CollectionResource(f"{SCHEME}{each.name}/", each.name, f"The list of a shared collection, {each.address}")
        for each in result.attached
    ]


async def read(daemon: AsyncClient, uri: str) -> tuple[str, str]:
    """Return a complete document, or the list of a collection's documents, and its MIME type. Raises the daemon's
    errors."""
    collection, path = parse_uri(uri)
    if path:
        # Format it again: the slashes of the address may have been escaped.
        params = DocumentGetParams(ref=format_uri(collection, path))
        document = await daemon.call("document.get", params, DocumentText)
        return document.text, "text/markdown"
    entries = await daemon.call(
        "document.list", DocumentListParams(scope=collection, limit=MAX_LISTED), DocumentListResult
    )
    lines = [titled(each.uri, each.title) for each in entries.documents]
    if entries.total > len(lines):
        lines.append(f"… and {entries.total - len(lines):,} more: use `search`")
    return "\n".join(lines) or "no documents", "text/plain"
