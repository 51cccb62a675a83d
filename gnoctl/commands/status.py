"""`gnoctl status` and `why`: the state of all files in the index, or of one. `gnoctl egress`: what was sent
elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from gnoctl.arguments.options import argument, option
from gnoctl.arguments.references import absolute
from gnoctl.command import JsonOptions, command
from gnoctl.printing import text
from gnoctl.printing.output import NOTHING_INDEXED
from gnoctl.printing.terminal import BOLD, DIM, GREEN, RED, YELLOW, Terminal, columns
from gnoctl.printing.wording import IN_PART, about, ago, by_kind, count, size, skipped_of, unreadable
from gnod.protocol import index as wire
from gnod.protocol.base import NoParams


class StatusOptions(JsonOptions, frozen=True, kw_only=True):
    errors: Annotated[bool, option("--errors", "List the files that could not be read")] = False
    verify: Annotated[bool, option("--verify", "Compare folders of any size with the index")] = False
    acknowledge: Annotated[bool, option("--acknowledge", "Stop mentioning the files that failed so far in answers")] = (
        False
    )


@command("status", StatusOptions)
def status(options: StatusOptions) -> None:
    """Compare the index with the disk.

    Walks the folders, so the counts are exact. Folders with very many files (together more than 20,000) are walked with
    --verify only; without it, their pending files are the changes that were noticed and not indexed yet. `gnoctl why
    PATH` explains a single file.

    A file is unchanged if its path, size, inode, time of modification and time of change are the same as when it was
    read. "current": every change that was noticed is indexed. Files that could not be read are counted, and do not make
    the index out of date.

    The columns: pending files differ from the index and will be indexed; skipped files are not documents (binary,
    empty, too large, without OCR); excluded files are left out by a rule, or are hidden. The lines below
    the table count the skipped and hidden ones by reason. `gnoctl ls --skipped` lists the skipped
    files, and the documents of which a part is not read. watch: how changes are noticed: by events (at once), polling
    (regular walks, where the system reports no events) or off. reconciled: the last complete comparison with
    the disk.
    """
    if options.acknowledge:
        known = options.call("index.acknowledge", wire.IndexAcknowledgeParams(), wire.IndexAcknowledgeResult)
        options.note(f"{count(known.files, 'failure')} acknowledged; a file that changes and fails is mentioned again")
    result = options.call(
        "index.status", wire.IndexStatusParams(errors=options.errors, verify=options.verify), wire.IndexStatusResult
    )
    options.show(result, _report(result, options.terminal))


def _report(result: wire.IndexStatusResult, terminal: Terminal) -> Iterator[str]:
    documents, chunks = count(result.documents, "document"), count(result.chunks, "chunk")
    yield f"{terminal.paint(f'Index {result.index}', BOLD)}: {documents}, {chunks}, {size(result.database_bytes)}"
    yield terminal.line(f"{result.database} · {result.config_file}", DIM)
    if (postings := result.postings) is not None:
        held = "all documents" if postings.documents >= result.documents else f"{postings.documents:,} documents so far"
        yield terminal.paint(f"postings for fast keyword search: {held}, {size(postings.bytes)}", DIM)
    if result.languages:
        most = sorted(result.languages.items(), key=lambda item: (-item[1], item[0]))
        yield text.line("languages: " + ", ".join(f"{code or 'unknown'} {number:,}" for code, number in most[:8]))
    if result.collections:
        yield ""
        yield from _collections(result.collections, terminal)
    yield from _attached(result, terminal)
    yield from _published(result, terminal)
    yield ""
    yield from _models(result, terminal)
    yield from _verdict(result, terminal)
    for error in result.errors or []:
        yield ""
        yield from _error(error, terminal)
    if result.errors_left_out:
        yield ""
        yield f"… and {count(result.errors_left_out, 'more file')}"


def _collections(collections: list[wire.CollectionStatus], terminal: Terminal) -> Iterator[str]:
    counts = ("on_disk", "indexed", "pending", "failed", "skipped", "excluded")
    headers = [name.replace("_", " ") for name in counts]
    rows = [
        [
            each.name,
            *("-" if (number := getattr(each, name)) is None else f"{number:,}" for name in counts),
            # Round down, because 100 % must mean all chunks.
            f"{100 * each.embedded // wanted} %" if (wanted := each.chunks - each.wordless) else "-",
            each.watch,
            ago(each.last_event),
            ago(each.last_reconcile),
            each.path,
        ]
        for each in collections
    ]
    yield from columns(
        ["collection", *headers, "embedded", "watch", "last event", "reconciled", "path"], rows, terminal
    )


def _attached(result: wire.IndexStatusResult, terminal: Terminal) -> Iterator[str]:
    for each in result.attached:
        if each.problem:
            yield terminal.line(f"attached {each.name}: not searched: {each.problem}", YELLOW)
            continue
        behind = f"{each.behind:,} changes behind" if each.behind else "nothing is missing"
        state = f"{count(each.documents or 0, 'document')}, published {each.published_ago_s or 0:,.0f} s ago, {behind}"
        yield text.line(f"attached {each.name}: {state} ({each.address})")
        yield from (terminal.line(f"  {limit}", YELLOW) for limit in each.limits)


def _published(result: wire.IndexStatusResult, terminal: Terminal) -> Iterator[str]:
    for each in result.published:
        where = f"published {each.collection}: {each.address}"
        behind = f"{count(each.behind, 'document')} behind" if each.behind else "nothing is missing"
        if each.state == "failing":
            yield terminal.line(f"{where}: {behind}: {each.reason}", YELLOW)
        else:
            when = f", {ago(each.told_at)}" if each.told_at else ""
            yield text.line(f"{where}: {count(each.documents, 'document')}, {behind}{when}")
        if each.failed:
            refused = f"{each.collection}: the engine refuses {count(each.failed, 'document')}"
            yield terminal.line(refused, RED)


def _by_meaning(result: wire.IndexStatusResult) -> str:
    """Return how many documents can be found by meaning so far. The beginnings of documents are embedded first."""
    in_full, in_brief = (sum(getattr(c, name) for c in result.collections) for name in ("in_full", "in_brief"))
    briefly = "all" if in_brief >= result.documents else f"{in_brief:,}"
    return f"by meaning: {in_full:,} of {count(result.documents, 'document')} in full, {briefly} by their beginning"


def _models(result: wire.IndexStatusResult, terminal: Terminal) -> Iterator[str]:
    embedding, inference = result.embedding, result.inference
    if embedding.state == "embedding":
        rate = f", {embedding.chunks_per_s:.1f} chunks/s" if embedding.chunks_per_s else ""
        yield f"embedding: {count(embedding.pending, 'chunk')} left{rate}"
        yield _by_meaning(result)
    elif embedding.reason:
        yield terminal.line(f"embedding is {embedding.state}: {embedding.reason}", YELLOW)
    for uri, due_s in result.downloads_due_s.items():
        when = f"again in {about(due_s)}" if due_s else "again now"
        yield terminal.line(f"the download of {uri} failed: downloading {when}", YELLOW)
    yield from _ocr(result, terminal)
    for collection in result.collections:
        if collection.next_model and collection.model:
            yield text.line(
                f"{collection.name}: {collection.model} serves searches until all vectors of {collection.next_model} "
                "exist"
            )
        if collection.unused_model:
            kept = f"{collection.name}: the vectors of {collection.unused_model} are kept, but not searched"
            yield terminal.line(f"{kept}: index.yml does not name that server for it", YELLOW)
        if collection.model and collection.wordless:
            wordless = f"not embedded: {count(collection.wordless, 'chunk')} of numbers or encoded data"
            yield text.line(f"{collection.name}: {wordless} (keyword search finds them)")
        if collection.unembeddable:
            failed = f"{collection.name}: {count(collection.unembeddable, 'chunk')} could not be embedded"
            yield terminal.line(failed, RED)
    yield from _endpoints(result, terminal)
    if inference.pid:
        loaded = f", {count(len(inference.models), 'model')} loaded" if inference.models else ""
        line = f"inference worker: {inference.state}, pid {inference.pid}, {size(inference.resident_bytes)}{loaded}"
        yield terminal.paint(line, DIM)
    else:
        yield terminal.paint(f"inference worker: {inference.state}", DIM)
    if inference.crashes:
        crashed = f"the inference worker crashed {count(inference.crashes, 'time')}, last: {inference.last_crash}"
        yield terminal.line(crashed, YELLOW)
    if inference.vectors_bytes:
        yield terminal.paint(f"vectors in memory: {size(inference.vectors_bytes)}", DIM)


def _ocr(result: wire.IndexStatusResult, terminal: Terminal) -> Iterator[str]:
    ocr = result.ocr
    if ocr and ocr.pending:
        left = f", about {about(ocr.left_s)}" if ocr.left_s is not None else ""
        held = f" ({ocr.reason})" if ocr.reason else ""
        yield text.line(f"ocr: {count(ocr.pending, 'page')} left{left}{held}")
    if ocr and ocr.failed:
        failed = f"ocr: {count(ocr.failed, 'page')} could not be read (`gnoctl why FILE` says why)"
        yield terminal.line(failed, YELLOW)


def _endpoints(result: wire.IndexStatusResult, terminal: Terminal) -> Iterator[str]:
    places = {"local": "on this machine", "lan": "in the local network", "any": "outside of the local network"}
    for endpoint in result.endpoints:
        server = (
            f"{endpoint.uri} ({places.get(endpoint.scope or '', 'unknown place')}), for {', '.join(endpoint.roles)}"
        )
        if endpoint.allowed:
            sent = f"last sent {ago(endpoint.last_sent)}" if endpoint.last_sent else "nothing was sent yet"
            yield text.line(f"{', '.join(endpoint.allowed)}: texts and queries go to {server}; {sent}")
        if endpoint.left_out:
            why = endpoint.problem or f"`egress` in index.yml keeps them from {server}"
            yield terminal.line(f"{', '.join(endpoint.left_out)}: nothing is sent: {why}", YELLOW)


def _verdict(result: wire.IndexStatusResult, terminal: Terminal) -> Iterator[str]:
    """Yield the problems, and whether the index equals the disk."""
    for problem in result.storage_problems:
        yield terminal.line(problem, RED)
    for note in result.storage_notes:
        yield terminal.line(note, YELLOW)
    if result.config_error:
        yield terminal.paint(f"config: {text.block(result.config_error)}", RED)
    for warning in result.config_warnings:
        yield terminal.paint(f"config: {text.line(warning)}", YELLOW)
    for each in result.collections:
        for reason in dict.fromkeys(filter(None, (each.reason, each.watch_reason))):
            yield terminal.line(f"{each.name}: {reason}", YELLOW)
        if each.failed:
            kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(each.failed_by_kind.items()))
            known = f", {each.acknowledged:,} of them acknowledged" if each.acknowledged else ""
            where = "`gnoctl status --errors` lists them"
            yield text.line(f"{each.name}: {unreadable(each.failed)}: {kinds}{known} ({where})")
        if skipped := skipped_of(each):
            yield text.line(f"{skipped} (`gnoctl ls --skipped` lists those that are not hidden)")
        if each.partial_by_kind:
            parts = by_kind(each.partial_by_kind, IN_PART)
            yield text.line(f"{each.name}: documents read in part: {parts} (`gnoctl ls --skipped` lists them)")
    if result.syncing:
        yield "indexing now"
    unverified = ", ".join(collection.name for collection in result.collections if not collection.verified)
    if result.collections:
        yield terminal.line(result.freshness.state, GREEN if result.freshness.current else YELLOW)
    else:
        yield NOTHING_INDEXED
    if unverified:
        yield text.line(f"{unverified}: not compared with the disk now; `gnoctl status --verify` does that")
    elif result.collections and result.freshness.current:
        yield "compared with the disk now: names, sizes, inodes, times of modification and of change"
    explained = {collection.name for collection in result.collections if collection.watch_reason}
    if names := ", ".join(name for name in result.freshness.unwatched if name not in explained):
        yield text.line(f"changes in {names} are not watched: run `gnoctl index` after a change")


def _error(error: wire.IngestError, terminal: Terminal) -> Iterator[str]:
    yield terminal.line(f"{error.collection}/{error.path}", BOLD)
    known = " (acknowledged)" if error.acknowledged else ""
    yield f"  {terminal.line(error.kind, RED)}: {text.line(error.message)}{known}"
    yield terminal.paint(f"  {count(error.count, 'time')}, last {ago(error.last_at)}", DIM)


class WhyOptions(JsonOptions, frozen=True, kw_only=True):
    path: Annotated[str, argument("PATH", "A path on disk, or any reference that get takes")]


@command("why", WhyOptions)
def why(options: WhyOptions) -> None:
    """Explain why a file is or is not in the index.

    Examples:
      gnoctl why ./drafts/plan.md
      gnoctl why notes/plan.md
    """
    result = options.call("index.why", wire.IndexWhyParams(path=absolute(options.path)), wire.IndexWhyResult)
    options.show(result, _why_report(result, options.terminal))


def _why_report(result: wire.IndexWhyResult, terminal: Terminal) -> Iterator[str]:
    yield terminal.line(result.path, BOLD)
    if not result.collections:
        yield "  " + text.line(result.reason)
    for collection in result.collections:
        colour = GREEN if collection.verdict == "indexed" else YELLOW
        yield f"  {text.line(collection.collection)}: {terminal.line(collection.verdict, colour)}"
        for name, value in _facts(collection).items():
            if value:
                yield f"    {name:<10} {text.line(value)}"


def _facts(each: wire.WhyCollection) -> dict[str, str | None]:
    error = ""
    if failure := each.error:
        times = f"{count(failure.count, 'time')}, last {ago(failure.last_at)}"
        error = f"{failure.kind}: {failure.message} ({times})"
    return {
        "because": each.reason,
        "document": f"{each.docid or ''} {each.uri}".strip() if each.uri else None,
        "title": each.title,
        "converter": each.converter,
        "language": each.language,
        "chunks": f"{each.chunks:,}" if each.chunks else None,
        "indexed": ago(each.indexed_at) if each.indexed_at else None,
        "error": error,
    }


@command("egress", JsonOptions)
def egress(options: JsonOptions) -> None:
    """Show what was sent where, and when.

    Counts the requests and bytes sent to model servers and to the servers of shared collections, by role and
    collection. No text is kept. A request over several collections counts for each of them, and once in the line `all`.
    `(memories)` are memories and searches in them; `(checks)` are gnod's own sentences, which `gnoctl doctor` sends;
    `(bench)` is what `gnoctl bench` sends. `gnoctl status` shows which servers are in use now, and who may use them.
    """
    result = options.call("index.egress", NoParams(), wire.IndexEgressResult)
    options.show(result, _sent(result, options.terminal))


def _sent(result: wire.IndexEgressResult, terminal: Terminal) -> Iterator[str]:
    if not result.entries:
        yield "Nothing was ever sent to a model server or to the server of a shared collection"
        return
    rows = [_sent_row(entry) for entry in result.entries if entry.collection or _is_shared(entry, result.entries)]
    headers = ["address", "for", "collection", "requests", "sent", "first", "last"]
    yield from columns(headers, rows, terminal, flexible=0)
    yield ""
    yield terminal.line(result.journal, DIM)


def _is_shared(total: wire.EgressEntry, entries: list[wire.EgressEntry]) -> bool:
    """Return whether a total covers several collections."""
    return sum((entry.address, entry.role) == (total.address, total.role) for entry in entries) > 2


def _sent_row(each: wire.EgressEntry) -> list[str]:
    shown = [each.address, each.role, each.collection or "all", f"{each.requests:,}", size(each.bytes)]
    return [*shown, ago(each.first_at), ago(each.last_at)]
