"""`gnoctl multi-get`: several documents at once."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from gnoctl import text
from gnoctl.commands.get import print_document
from gnoctl.failures import note
from gnoctl.formats import FormatOptions
from gnoctl.json_output import print_json
from gnoctl.options import Command, argument, option
from gnoctl.records import Record, print_records
from gnoctl.references import split
from gnoctl.terminal import BOLD
from gnod.errors import EXIT_VALIDATION
from gnod.protocol.params import DocumentMultiGetParams, Limit
from gnod.protocol.results import DocumentMultiGetResult, DocumentText

HELP = """Print several documents.

Globs are matched against collection/path; put them into quotes, or the shell expands them.

Examples:

  gnoctl multi-get 'notes/2026/**/*.md' --max-bytes 4000

  gnoctl multi-get '#a1b2c3d4,#e5f6a7b8' --json
"""


class MultiGetOptions(FormatOptions, frozen=True, kw_only=True):
    refs: Annotated[list[str], argument("REF", help="References as for get, globs, or lists with commas.")]
    max_bytes: Annotated[
        Annotated[int, Meta(ge=1)], option("--max-bytes", help="Skip what is larger (default 10240).")
    ] = 10240
    limit: Annotated[Limit, option("-n", "--limit", help="How many documents (default 100).")] = 100
    line_numbers: Annotated[bool, option("--line-numbers", help="Number the lines.")] = False


def multi_get(options: MultiGetOptions) -> int:
    output = options.output
    params = DocumentMultiGetParams(
        refs=split(options.refs) or options.refs, max_bytes=options.max_bytes, limit=options.limit
    )
    with options.connect() as daemon:
        result = daemon.call("document.multi_get", params, DocumentMultiGetResult)
    if output == "json":
        print_json(result)
    elif output == "people":
        _print(result.documents, options)
    else:
        print_records(output, map(_record, result.documents))
    if output != "json":
        for skipped in result.skipped:
            note(f"{skipped.ref}: {skipped.reason}", quiet=options.quiet)
    return 0 if result.documents or not result.skipped else EXIT_VALIDATION


def _print(documents: list[DocumentText], options: MultiGetOptions) -> None:
    """Print each below a header, like head(1)."""
    terminal = options.terminal
    for at, document in enumerate(documents):
        if at:
            print()
        print(terminal.paint(text.line(f"==> {document.uri} ({document.docid}) <=="), BOLD))
        print_document(document, terminal, line_numbers=options.line_numbers)


def _record(document: DocumentText) -> Record:
    return Record(
        docid=document.docid,
        uri=document.uri,
        title=document.title,
        fields={"collection": document.collection, "path": document.path, "modified": document.modified},
        body=document.text,
    )


COMMAND = Command(MultiGetOptions, multi_get, HELP)
