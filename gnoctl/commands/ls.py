"""`gnoctl ls`: what is indexed, in path order."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from gnoctl.failures import note
from gnoctl.formats import FormatOptions
from gnoctl.json_output import print_json
from gnoctl.options import Command, argument, option
from gnoctl.records import Record, print_records
from gnoctl.table import columns
from gnoctl.wording import size
from gnod.protocol.params import DocumentListParams
from gnod.protocol.results import DocumentEntry, DocumentListResult

HELP = """List what is indexed.

Examples:

  gnoctl ls

  gnoctl ls notes/2026 --files
"""


class LsOptions(FormatOptions, frozen=True, kw_only=True):
    scope: Annotated[
        str | None,
        argument("SCOPE", help="A collection, collection/prefix or gno:// address.", complete="collections"),
    ] = None
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=100_000)], option("-n", "--limit", help="How many (default 1000).")
    ] = 1000
    offset: Annotated[Annotated[int, Meta(ge=0)], option("--offset", help="Leave out so many first.")] = 0


def ls(options: LsOptions) -> None:
    output = options.output
    params = DocumentListParams(scope=options.scope, limit=options.limit, offset=options.offset)
    with options.connect() as daemon:
        result = daemon.call("document.list", params, DocumentListResult)
    if output == "json":
        print_json(result)
        return
    if output != "people":
        print_records(output, map(_record, result.documents))
    elif result.documents:
        rows = [_row(entry) for entry in result.documents]
        for line in columns(["docid", "modified", "size", "document"], rows, options.terminal):
            print(line)
    last = options.offset + len(result.documents)
    if not result.total:
        note("No documents" + (f" in {options.scope}" if options.scope else ""))
    elif last < result.total:
        note(f"{last:,} of {result.total:,}; the next: --offset {last}", quiet=options.quiet)


def _row(entry: DocumentEntry) -> list[str]:
    return [entry.docid, entry.modified[:10], size(entry.size), f"{entry.collection}/{entry.path}"]


def _record(entry: DocumentEntry) -> Record:
    return Record(
        docid=entry.docid,
        uri=entry.uri,
        title=entry.title,
        fields={
            "collection": entry.collection,
            "path": entry.path,
            "modified": entry.modified,
            "size": str(entry.size),
            "mime": entry.mime,
            "source": entry.source,
        },
    )


COMMAND = Command(LsOptions, ls, HELP)
