"""`gnoctl links`, `backlinks`, `mentions`, `graph`, `unresolved`, `orphans`, `check-links` and `audit`; `mv`, which
rewrites the links."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Annotated, Literal

from gnoctl.arguments.options import argument, option
from gnoctl.arguments.references import absolute, folder
from gnoctl.arguments.standard_input import confirmed
from gnoctl.command import JsonOptions, command
from gnoctl.printing import text
from gnoctl.printing.hits import marked
from gnoctl.printing.output import EXIT_NOTHING, print_json
from gnoctl.printing.terminal import BOLD, DIM, GREEN, RED, Terminal
from gnoctl.printing.wording import count
from gnod.errors import UsageError
from gnod.protocol import links as wire
from gnod.protocol.base import copied
from gnod.protocol.documents import DocumentListResult
from gnod.protocol.search import Limit
from gnod.types import SCHEME

Offset = Annotated[int, option("--offset", "Skip this many", ge=0)]
_NAMELESS = "this document has no name to look for: its title is too short, or is a common word"


class LinksOptions(JsonOptions, frozen=True, kw_only=True):
    ref: Annotated[str, argument("DOC", "#docid, gno://collection/path, collection/path or a path on disk")]
    limit: Annotated[Limit, option("-n, --limit", "Print at most this many of each")] = 100
    offset: Offset = 0


@command("links", LinksOptions)
def links(options: LinksOptions) -> None:
    """Print the links in a document and the links to it, with their lines.

    Examples:
      gnoctl links notes/projects/boat.md
      gnoctl links ./README.md --json
    """
    _print(options, "both")


@command("backlinks", LinksOptions)
def backlinks(options: LinksOptions) -> None:
    """Print the links to a document, with the text around them.

    Examples:
      gnoctl backlinks notes/projects/boat.md
    """
    _print(options, "in")


def _print(options: LinksOptions, direction: Literal["in", "both"]) -> None:
    params = copied(wire.DocumentLinksParams, options, ref=absolute(options.ref), direction=direction)
    found = options.call("document.links", params, wire.DocumentLinksResult)
    options.show(found, _both(found, options, direction))


def _both(found: wire.DocumentLinksResult, options: LinksOptions, direction: str) -> Iterator[str]:
    terminal = options.terminal
    if direction == "both":
        yield terminal.paint(f"{count(found.total_links, 'link')} in {_address(found.uri)}", BOLD)
        for link in found.links:
            yield f"{link.line:>5}  {text.line(link.target)}  {terminal.paint(_leads(link), DIM)}"
    yield terminal.paint(f"{count(found.total_backlinks, 'link')} to {_address(found.uri)}", BOLD)
    for link in found.backlinks:
        yield f"{_place(link, terminal)}  {text.line(link.passage)}"
    last = options.offset + options.limit
    if last < max(found.total_links if direction == "both" else 0, found.total_backlinks):
        options.note(f"the next page: --offset {last}")


def _leads(link: wire.DocumentLink) -> str:
    if link.to is not None:
        missing = "" if link.has_place else f", which has no {link.fragment!r}"
        return text.line(f"→ {_address(link.to)}{missing}")
    if link.candidates:
        return text.line(f"ambiguous: {' or '.join(map(_address, link.candidates))}")
    return {"external": "external", "outside": "outside the collection"}.get(link.state, "unresolved")


def _place(link: wire.DocumentLink | wire.Mention, terminal: Terminal) -> str:
    return terminal.line(f"{_address(link.uri)}:{link.line}", BOLD)


class MentionsOptions(LinksOptions, frozen=True, kw_only=True):
    limit: Annotated[Limit, option("-n, --limit", "Print at most this many")] = 50


@command("mentions", MentionsOptions)
def mentions(options: MentionsOptions) -> None:
    """Print where other documents mention a document without a link to it.

    Its names are the title, the aliases, and the file name if it consists of words.

    Examples:
      gnoctl mentions notes/projects/boat.md
    """
    params = copied(wire.LinksMentionsParams, options, ref=absolute(options.ref))
    found = options.call("links.mentions", params, wire.LinksMentionsResult)
    options.show(found, (_mention(mention, options.terminal) for mention in found.mentions))
    if found.has_more:
        options.note(f"the next page: --offset {options.offset + options.limit}")
    elif not found.mentions:
        options.note(f"no other document has {' or '.join(found.names)} outside links" if found.names else _NAMELESS)


def _mention(mention: wire.Mention, terminal: Terminal) -> str:
    passage = text.line(mention.passage)
    return f"{_place(mention, terminal)}  {marked(passage, 0, len(passage), mention.marks, terminal)}"


class GraphOptions(JsonOptions, frozen=True, kw_only=True):
    ref: Annotated[str | None, argument("DOC", "The document in the middle [default: the whole scope]")] = None
    depth: Annotated[int, option("--depth", "Follow links this far, 1 to 5", ge=1, le=5)] = 2
    scope: Annotated[str | None, option("--scope", "Only documents in this scope", "SCOPE", complete="collections")] = (
        None
    )
    limit: Annotated[Limit, option("-n, --limit", "Show at most this many documents")] = 200
    format: Annotated[
        Literal["tree", "json", "dot", "mermaid"],
        option("--format", "tree, json, dot (Graphviz) or mermaid", "FORMAT", group="Output"),
    ] = "tree"


@command("graph", GraphOptions)
def graph(options: GraphOptions) -> None:
    """Print the documents around a document, or in a scope, and the links between them.

    Links are followed in both directions. → links to what is below, ← is linked from it, ↔ both.

    Examples:
      gnoctl graph notes/projects/boat.md
      gnoctl graph notes/projects/boat.md --depth 1 --format mermaid
      gnoctl graph --scope notes --format dot | dot -Tsvg > notes.svg
    """
    params = copied(wire.LinksGraphParams, options, ref=absolute(options.ref) if options.ref else None)
    found = options.call("links.graph", params, wire.LinksGraphResult)
    if options.json or options.format == "json":
        print_json(found)
        return
    for line in _graph_lines(found, options):
        print(line)
    if found.is_cut:
        of = f" of {found.total:,}" if found.total and found.total > len(found.nodes) else ""
        options.note(f"{len(found.nodes):,}{of} documents; --limit shows more")


def _graph_lines(found: wire.LinksGraphResult, options: GraphOptions) -> Iterator[str]:
    from gnoctl.printing import graphs

    if options.format == "dot":
        return graphs.dot(found)
    return graphs.mermaid(found) if options.format == "mermaid" else graphs.tree(found, options.terminal)


class CheckLinksOptions(JsonOptions, frozen=True, kw_only=True):
    scope: Annotated[
        str | None, argument("SCOPE", "A collection, collection/prefix or gno:// address", complete="collections")
    ] = None


class ScopeOptions(CheckLinksOptions, frozen=True, kw_only=True):
    limit: Annotated[int, option("-n, --limit", "List at most this many", ge=1, le=100_000)] = 1000
    offset: Offset = 0


@command("unresolved", ScopeOptions)
def unresolved(options: ScopeOptions) -> None:
    """List the links that lead to no document in the index.

    Proposes the new path of a file that another program has renamed, or the nearest name.

    Examples:
      gnoctl unresolved
      gnoctl unresolved notes/projects
    """
    found = options.call("links.unresolved", copied(wire.LinksScopeParams, options), wire.LinksUnresolvedResult)
    options.show(found, (_unresolved(link, options.terminal) for link in found.links))
    _note_rest(options, len(found.links), found.total, "links")


def _unresolved(link: wire.DocumentLink, terminal: Terminal) -> str:
    return f"{_place(link, terminal)}  {text.line(link.target + _hint(link.suggestion))}"


def _hint(suggestion: str | None) -> str:
    return f"; did you mean {suggestion}?" if suggestion else ""


@command("orphans", ScopeOptions)
def orphans(options: ScopeOptions) -> None:
    """List the documents that no other document links to.

    Examples:
      gnoctl orphans notes
    """
    found = options.call("links.orphans", copied(wire.LinksScopeParams, options), DocumentListResult)
    options.show(found, (text.line(f"{document.collection}/{document.path}") for document in found.documents))
    _note_rest(options, len(found.documents), found.total, "documents")


def _note_rest(options: ScopeOptions, shown: int, total: int, noun: str) -> None:
    last = options.offset + shown
    if last < total:
        options.note(f"{last:,} of {total:,} {noun}; the next page: --offset {last}")


@command("check-links", CheckLinksOptions)
def check_links(options: CheckLinksOptions) -> int:
    """List links to files or headings that do not exist; the exit status is 1 if there are any.

    Writes nothing. Links to files that are on the disk but not in the index, such as pictures, are not dead.

    Examples:
      gnoctl check-links docs
      gnoctl index docs && gnoctl check-links docs
    """
    found = options.call("links.check", wire.ScopeParams(scope=options.scope), wire.LinksCheckResult)
    options.show(found, (_dead(each) for each in found.dead))
    if found.total:
        options.note(count(found.total, "dead link"))
    return EXIT_NOTHING if found.total else 0


def _dead(link: wire.DeadLink) -> str:
    return text.line(f"{link.source}:{link.line}: {link.target}: {link.problem}{_hint(link.suggestion)}")


@command("audit", CheckLinksOptions)
def audit(options: CheckLinksOptions) -> int:
    """List dead links, documents that nothing links to, and documents with the same text.

    Writes nothing. The exit status is 1 if it lists anything.

    Examples:
      gnoctl audit notes
      gnoctl audit notes --json
    """
    scope = wire.ScopeParams(scope=options.scope)
    links = options.call("links.check", scope, wire.LinksCheckResult)
    orphans = options.call("links.orphans", wire.LinksScopeParams(scope=options.scope), DocumentListResult)
    copies = options.call("document.duplicates", scope, wire.DocumentDuplicatesResult)
    shown = _audit(links, orphans, copies, options.terminal)
    options.show({"links": links, "orphans": orphans, "duplicates": copies}, shown)
    return EXIT_NOTHING if links.total or orphans.total or copies.total else 0


def _audit(
    links: wire.LinksCheckResult, orphans: DocumentListResult, copies: wire.DocumentDuplicatesResult, terminal: Terminal
) -> Iterator[str]:
    addresses = [f"{document.collection}/{document.path}" for document in orphans.documents]
    groups = ["  =  ".join(map(_address, group)) for group in copies.groups]
    for total, noun, lines in (
        (links.total, "dead link", map(_dead, links.dead)),
        (orphans.total, "orphan", map(text.line, addresses)),
        (copies.total, "text in several documents", map(text.line, groups)),
    ):
        yield terminal.paint(count(total, noun) if " in " not in noun else f"{total:,} × {noun}", BOLD)
        yield from (f"  {line}" for line in lines)


def _address(uri: str) -> str:
    return uri.removeprefix(SCHEME)


_COLOURS = {"+": GREEN, "-": RED}


class MoveOptions(JsonOptions, frozen=True, kw_only=True):
    old: Annotated[str | None, argument("OLD", "A file or folder: collection/path or a path on disk")] = None
    new: Annotated[str | None, argument("NEW", "Its new path, or a folder to move it into")] = None
    dry_run: Annotated[bool, option("-n, --dry-run", "Show what would change, and change nothing")] = False
    yes: Annotated[bool, option("-y, --yes", "Do not ask")] = False
    undo: Annotated[bool, option("--undo", "Undo the last move")] = False


@command("mv", MoveOptions)
def mv(options: MoveOptions) -> None:
    """Rename or move a note or a folder, and rewrite the links to it and in it.

    Shows what changes in other files, and asks. `[[Note]]` stays a name as long as only one file has it; relative
    links stay relative. A link that cannot be rewritten stays as it is, and is listed. --undo takes back the last move.

    Examples:
      gnoctl mv notes/boat.md notes/projects/ship.md
      gnoctl mv ./projects ./archive/2025 --dry-run
      gnoctl mv --undo
    """
    if options.undo:
        _undo(options)
        return
    if options.old is None or options.new is None:
        raise UsageError("name the file and its new path: gnoctl mv OLD NEW")
    old = absolute(options.old)
    is_shown_first = options.dry_run or not options.yes
    params = wire.DocumentMoveParams(old=old, new=_destination(old, options.new), dry_run=is_shown_first)
    found = options.call("document.move", params, wire.DocumentMoveResult)
    if not options.json:
        for line in _changes(found, options.terminal):
            print(line)
    if not options.dry_run and not options.yes:
        if not confirmed(f"Move {found.source} to {found.destination}?"):
            return
        params = wire.DocumentMoveParams(old=params.old, new=params.new, digest=found.digest)
        found = options.call("document.move", params, wire.DocumentMoveResult)
    options.show(found, _summary(found))


def _destination(old: str, new: str) -> str:
    """Return a path on disk, which need not exist, if the file was named by one. After a slash, the file keeps its
    name."""
    new += PurePath(old).name if new.endswith("/") else ""
    return folder(new) if old.startswith("/") and not new.startswith(SCHEME) else absolute(new)


def _undo(options: MoveOptions) -> None:
    found = options.call("document.unmove", wire.DocumentUnmoveParams(), wire.DocumentUnmoveResult)
    restored = f"moved {found.source} back to {found.destination}; restored {count(found.files, 'file')}"
    options.show(found, text.line(restored))


def _changes(found: wire.DocumentMoveResult, terminal: Terminal) -> Iterator[str]:
    for line in found.diff.splitlines():
        yield terminal.line(line, _COLOURS.get(line[:1], ""))
    for link in found.left:
        place = f"{link.uri.removeprefix(SCHEME)}:{link.line}"
        yield text.line(f"not rewritten: {place}: {link.target}: {link.problem}")


def _summary(found: wire.DocumentMoveResult) -> str:
    verb = "moved" if found.is_done else "would move"
    rewritten = f"{count(found.links, 'link')} in {count(found.files, 'file')}"
    repair = f"; {count(len(found.left), 'link')} to repair by hand" if found.left else ""
    return text.line(f"{verb} {found.source} to {found.destination}; {rewritten} rewritten{repair}")
