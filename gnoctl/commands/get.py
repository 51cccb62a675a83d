"""`gnoctl get`: one document's text."""

from __future__ import annotations

import sys
from typing import Annotated

from gnoctl import text
from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument, option
from gnoctl.references import absolute
from gnoctl.terminal import DIM, Terminal
from gnod.protocol.params import DocumentGetParams, LineNumber
from gnod.protocol.results import DocumentText
from gnod.types import canonical_line, source_line

HELP = """Print a document, or some lines of it.

What is printed is the Markdown that was indexed: a PDF or a Word file can be read like a note.

Examples:

  gnoctl get '#a1b2c3d4'

  gnoctl get notes/deploy.md:40 -l 20

  gnoctl get gno://papers/attention.pdf --from 100 -l 50 --line-numbers

  gnoctl get ./README.md
"""


class GetOptions(JsonOptions, frozen=True, kw_only=True):
    ref: Annotated[
        str,
        argument("REF", help="A #docid, gno://collection/path, collection/path, or a path on disk; :LINE too."),
    ]
    first: Annotated[LineNumber | None, option("--from", metavar="LINE", help="Begin with that line.")] = None
    lines: Annotated[LineNumber | None, option("-l", "--lines", help="Print so many lines.")] = None
    line_numbers: Annotated[bool, option("--line-numbers", help="Number the lines.")] = False


def get(options: GetOptions) -> None:
    params = DocumentGetParams(ref=absolute(options.ref), start_line=options.first, max_lines=options.lines)
    with options.connect() as daemon:
        document = daemon.call("document.get", params, DocumentText)
    if options.json:
        print_json(document)
        return
    print_document(document, options.terminal, line_numbers=options.line_numbers)
    if document.stale:
        note(f"{document.uri}: the file has changed since it was indexed", quiet=options.quiet)
    if document.truncated:
        note(
            f"{document.uri}: lines {document.start_line}-{document.end_line} of {document.total_lines}",
            quiet=options.quiet,
        )


def print_document(document: DocumentText, terminal: Terminal, *, line_numbers: bool = False) -> None:
    """Print the text: made safe for a terminal, and exactly as it is for a file or a pipe."""
    shown = document.text if terminal.width is None else text.block(document.text)
    if line_numbers:
        lines = shown.removesuffix("\n").split("\n")
        for number, line in enumerate(lines, canonical_line(document.line_map, document.start_line)):
            print(f"{terminal.paint(f'{source_line(document.line_map, number):>5}', DIM)}  {line}")
    else:
        sys.stdout.write(shown if shown.endswith("\n") or not shown else shown + "\n")


COMMAND = Command(GetOptions, get, HELP)
