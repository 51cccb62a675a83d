"""The documents as resources: `gno://collection/path` is a document, `gno://collection/` the list of a collection."""

from __future__ import annotations

from typing import NamedTuple

from gnoctl import text
from gnoctl.mcp.daemon import Daemon
from gnoctl.wording import count
from gnod.protocol import params as p
from gnod.protocol import results as r
from gnod.types import SCHEME, format_uri, parse_uri

# Reserved expansion (RFC 6570): the slashes of a path stay slashes. `{path}`, which escapes them, is read as well.
TEMPLATE = "gno://{collection}/{+path}"

MAX_LISTED = 1000


class CollectionResource(NamedTuple):
    uri: str
    name: str
    description: str


class ResourceText(NamedTuple):
    text: str
    mime: str


async def listed(daemon: Daemon) -> list[CollectionResource]:
    """Return the collections. Their documents are too many to list: that is what searches are for."""
    found = await daemon.call("collection.list", p.NoParams(), r.CollectionListResult)
    return [
        CollectionResource(
            f"{SCHEME}{each.name}/", each.name, f"The list of {count(each.documents, 'document')} in {each.path}"
        )
        for each in found.collections
    ]


async def read(daemon: Daemon, uri: str) -> ResourceText:
    """Return a document, whole, or a collection's list of documents. Raises what the daemon answers."""
    collection, path = parse_uri(uri)
    if path:
        # Anew: the address may have come with its slashes escaped.
        params = p.DocumentGetParams(ref=format_uri(collection, path))
        document = await daemon.call("document.get", params, r.DocumentText)
        return ResourceText(document.text, "text/markdown")
    entries = await daemon.call(
        "document.list", p.DocumentListParams(scope=collection, limit=MAX_LISTED), r.DocumentListResult
    )
    lines = [f"{each.uri}  {text.line(each.title)}" for each in entries.documents]
    if entries.total > len(lines):
        lines.append(f"… and {entries.total - len(lines):,} more: search for them")
    return ResourceText("\n".join(lines) or "no documents", "text/plain")
