"""`gnoctl get`, `multi-get`, `ls`: the documents in the index. `open`: their files in the user's own program.
`capture`: a new one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from gnoctl.arguments.options import argument, option
from gnoctl.arguments.references import absolute, split
from gnoctl.arguments.shared_options import FormatOptions, print_documents
from gnoctl.arguments.standard_input import given_text
from gnoctl.command import JsonOptions, Options, command
from gnoctl.printing import text
from gnoctl.printing.output import EXIT_NOTHING, note
from gnoctl.printing.terminal import BOLD, DIM, Terminal, columns
from gnoctl.printing.wording import size, skipped_by_reason, skipped_of
from gnod.errors import UsageError
from gnod.protocol import documents as wire
from gnod.protocol.base import copied
from gnod.protocol.index import IndexSkippedParams, IndexSkippedResult, IndexStatusParams, IndexStatusResult
from gnod.protocol.search import Limit
from gnod.types import canonical_line, source_line

LineNumbers = Annotated[bool, option("--line-numbers", "Print line numbers")]


class GetOptions(JsonOptions, frozen=True, kw_only=True):
    ref: Annotated[
        str,
        argument(
            "REF", "#docid, gno://collection/path, collection/path or a path on disk; also :LINE, :pPAGE or #HEADING"
        ),
    ]
    first: Annotated[wire.LineNumber | None, option("--from", "Begin at this line", "LINE")] = None
    lines: Annotated[wire.LineNumber | None, option("-l, --lines", "Print at most this many lines")] = None
    line_numbers: LineNumbers = False
    boxes: Annotated[
        str | None, option("--boxes", "Print where these words are on the page or picture instead", "QUERY")
    ] = None


@command("get", GetOptions)
def get(options: GetOptions) -> None:
    """Print a document, or some of its lines.

    Prints the Markdown that was indexed, so a PDF or Word file reads like a note.

    Examples:
      gnoctl get '#a1b2c3d4'
      gnoctl get notes/deploy.md:40 -l 20
      gnoctl get 'notes/deploy.md#Roll back'
      gnoctl get gno://papers/attention.pdf#page=3 --line-numbers
      gnoctl get papers/attention.pdf:p3 --boxes 'multi-head attention' --json
      gnoctl get ./README.md
    """
    if options.boxes is not None:
        asked = wire.DocumentBoxesParams(ref=absolute(options.ref), query=options.boxes)
        found = options.call("document.boxes", asked, wire.DocumentBoxesResult)
        options.show(found, _boxes(found, options))
        return
    params = wire.DocumentGetParams(ref=absolute(options.ref), start_line=options.first, max_lines=options.lines)
    document = options.call("document.get", params, wire.DocumentText)
    options.show(document, _document(document, options))


def _document(document: wire.DocumentText, options: GetOptions) -> Iterator[str]:
    yield from _text(document, options.terminal, line_numbers=options.line_numbers)
    if document.stale:
        options.note(f"{document.uri}: the file has changed since it was indexed")


def _boxes(found: wire.DocumentBoxesResult, options: GetOptions) -> Iterator[str]:
    yield f"page {found.page}, {found.width:g} × {found.height:g} points"
    rows = [[f"{edge:.1f}" for edge in (box.x0, box.y0, box.x1, box.y1)] + [box.text] for box in found.boxes]
    if rows:
        yield from columns(["left", "top", "right", "bottom", "text"], rows, options.terminal)
    if found.stale:
        options.note(f"{found.uri}: the file has changed since it was indexed")


def _text(document: wire.DocumentText, terminal: Terminal, *, line_numbers: bool) -> Iterator[str]:
    """Yield the text: made safe for a terminal, unchanged for a file or a pipe."""
    shown = document.text if terminal.width is None else text.block(document.text)
    shown = shown.removesuffix("\n")
    if line_numbers:
        first = canonical_line(document.line_map, document.start_line)
        for number, line in enumerate(shown.split("\n"), first):
            yield f"{terminal.paint(f'{source_line(document.line_map, number):>5}', DIM)}  {line}"
    elif document.text:
        yield shown


class MultiGetOptions(FormatOptions, frozen=True, kw_only=True):
    refs: Annotated[list[str], argument("REF", "References as for get, globs, or lists separated by commas")]
    max_bytes: Annotated[int, option("--max-bytes", "Skip documents with a longer text", "BYTES", ge=1)] = 10240
    limit: Annotated[Limit, option("-n, --limit", "Print at most this many documents")] = 100
    line_numbers: LineNumbers = False


@command("multi-get", MultiGetOptions)
def multi_get(options: MultiGetOptions) -> int:
    """Print several documents.

    A glob matches collection/path. Put it in quotes, or the shell expands it. A text may contain a line that looks like
    the header of another document: programs read --json.

    Examples:
      gnoctl multi-get 'notes/2026/**/*.md' --max-bytes 4000
      gnoctl multi-get '#a1b2c3d4,#e5f6a7b8' --json
    """
    output = options.format
    params = copied(wire.DocumentMultiGetParams, options, refs=split(options.refs) or options.refs)
    result = options.call("document.multi_get", params, wire.DocumentMultiGetResult)
    print_documents(output, result, result.documents, _documents(result.documents, options))
    if output != "json":
        for line in skipped_by_reason(result.skipped):
            options.note(line)
    return 0 if result.documents or not result.skipped else EXIT_NOTHING


def _documents(documents: list[wire.DocumentText], options: MultiGetOptions) -> Iterator[str]:
    """Yield each document below a header, like head(1)."""
    terminal = options.terminal
    for at, document in enumerate(documents):
        if at:
            yield ""
        yield terminal.line(f"==> {document.uri} ({document.docid}) <==", BOLD)
        yield from _text(document, terminal, line_numbers=options.line_numbers)


class LsOptions(FormatOptions, frozen=True, kw_only=True):
    scope: Annotated[
        str | None, argument("SCOPE", "A collection, collection/prefix or gno:// address", complete="collections")
    ] = None
    collection: Annotated[
        str | None,
        option("-c, --collection", "Only this collection; SCOPE is a prefix in it", "NAME", complete="collections"),
    ] = None
    limit: Annotated[int, option("-n, --limit", "List at most this many documents", ge=1, le=100_000)] = 1000
    offset: Annotated[int, option("--offset", "Skip this many documents", ge=0)] = 0
    skipped: Annotated[
        bool, option("--skipped", "List what is not read, and why: files that are not documents, and parts of others")
    ] = False


@command("ls", LsOptions)
def ls(options: LsOptions) -> None:
    """List the documents in the index, by path.

    Examples:
      gnoctl ls
      gnoctl ls notes/2026 --files
      gnoctl ls -c notes 2026 --files
      gnoctl ls notes --skipped
    """
    if options.collection:
        scope = "/".join(filter(None, (options.collection, options.scope)))
        options = msgspec.structs.replace(options, scope=scope, collection=None)
    if options.skipped:
        _ls_skipped(options)
        return
    output = options.format
    result = options.call("document.list", copied(wire.DocumentListParams, options), wire.DocumentListResult)
    print_documents(output, result, result.documents, _table(result, options.terminal))
    if output == "json":
        return
    last = options.offset + len(result.documents)
    if not result.total:
        note("No documents" + (f" in {options.scope}" if options.scope else ""))
    elif not result.documents:
        note(f"No documents after the first {options.offset:,}: there are {result.total:,}")
    elif last < result.total:
        options.note(f"{last:,} of {result.total:,} documents; the next page: --offset {last}")


def _ls_skipped(options: LsOptions) -> None:
    if options.format not in ("people", "json"):
        raise UsageError("`ls --skipped` supports only the format --json")
    params = IndexSkippedParams(collection=options.scope, limit=options.limit, offset=options.offset)
    result = options.call("index.skipped", params, IndexSkippedResult)
    rows = [
        [
            f"{each.kind} (a part)" if each.stage == "part" else each.kind,
            text.line(f"{each.collection}/{each.path}"),
            text.line(each.message),
        ]
        for each in result.files
    ]
    options.show(result, columns(["why", "file", "message"], rows, options.terminal) if rows else ["No skipped files"])
    status = options.call("index.status", IndexStatusParams(), IndexStatusResult)
    for each in status.collections:
        if options.scope in (None, each.name) and (line := skipped_of(each)):
            options.note(line)
    last = options.offset + len(result.files)
    if last < result.total:
        options.note(f"{last:,} of {result.total:,} entries; the next page: --offset {last}")


def _table(result: wire.DocumentListResult, terminal: Terminal) -> Iterator[str]:
    rows = [
        [document.docid, document.modified[:10], size(document.size), f"{document.collection}/{document.path}"]
        for document in result.documents
    ]
    if rows:
        yield from columns(["docid", "modified", "size", "document"], rows, terminal)


class CaptureOptions(JsonOptions, frozen=True, kw_only=True):
    text: Annotated[list[str], argument("TEXT", "The note; - or nothing: standard input")] = []
    collection: Annotated[str | None, option("-c, --collection", "Write to this collection", "NAME")] = None


@command("capture", CaptureOptions)
def capture(options: CaptureOptions) -> None:
    """Write a note to the inbox folder; searches find it at once.

    The file is named after today and the first line, and never replaces another one. `capture` in index.yml sets the
    collection, the folder, the name and what the note begins with.

    Examples:
      gnoctl capture 'Ask Mara about the heat pump #house'
      gnoctl capture -c notes < draft.md
    """
    text = given_text(options.text, missing="no text was given: gnoctl capture 'Call the plumber'")
    params = wire.DocumentCaptureParams(text=text, collection=options.collection)
    written = options.call("document.capture", params, wire.DocumentCaptureResult)
    options.show(written, written.source)
    if not written.is_indexed:
        note("searches will find it in a moment: other files are being read")


_CONVERSATION = "application/x-conversation"


class OpenOptions(Options, frozen=True, kw_only=True):
    ref: Annotated[
        str,
        argument(
            "HIT",
            "A hit as a search prints it (collection/path:LINE or collection/path:pPAGE), or a reference as for get",
        ),
    ]
    program: Annotated[
        str | None, option("--with", "Use this program, such as 'zathura -P {page} {path}'", "COMMAND")
    ] = None
    print_only: Annotated[bool, option("--print", "Print the command instead of running it")] = False


@command("open", OpenOptions)
def open_hit(options: OpenOptions) -> None:
    """Open the file of a hit at its line or page.

    Text opens in $VISUAL or $EDITOR at the line. PDF files open at the page in your viewer, if it supports pages. The
    text of a conversation opens in $PAGER at the message. Other files open in your desktop's program for them.
    `viewers` in index.yml chooses other programs.

    Examples:
      gnoctl open notes/deploy.md:40
      gnoctl open papers/attention.pdf:p12
      gnoctl open gno://papers/attention.pdf#page=12 --with zathura
      gnoctl open '#a1b2c3d4' --print
    """
    from gnoctl.opening import starting as programs
    from gnoctl.opening import viewers

    place = options.call("document.locate", wire.DocumentLocateParams(ref=absolute(options.ref)), wire.DocumentPlace)
    if place.mime == _CONVERSATION and not (options.program or place.viewer or options.print_only):
        _read(options)
        return
    target = programs.target_of(place)
    opening = viewers.choose(target, programs.this_system(), wanted=options.program, configured=place.viewer)
    if options.print_only:
        print(viewers.shown(opening.words))
        return
    if place.stale:
        options.note(f"{place.uri}: the file has changed since it was indexed")
    if not opening.has_window:
        programs.become(opening)
    programs.show(opening, place)
    if target.page > 1 and not opening.gets_page:
        options.note(f"{opening.words[0]} shows the first page: the hit is on page {target.page}")


def _read(options: OpenOptions) -> None:
    """Show the text of a conversation, whose file is not for people to read, at the place of the reference."""
    named = options.call("document.get", wire.DocumentGetParams(ref=absolute(options.ref)), wire.DocumentText)
    whole = options.call("document.get", wire.DocumentGetParams(ref=named.uri), wire.DocumentText)
    from gnoctl.opening import starting as programs

    programs.page(text.block(whole.text), named.start_line)
