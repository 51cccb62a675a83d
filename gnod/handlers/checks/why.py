"""Explain whether a path is indexed, since when, and if not, why."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from gnod.config.model import CollectionConfig
from gnod.disks.looks import answers
from gnod.disks.spellings import Spellings
from gnod.errors import GnoError
from gnod.handlers.wire_types import ingest_error, iso
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.walk import folder_problem, why_not_listed
from gnod.ingest.member_names import SEPARATOR
from gnod.protocol.index import IndexWhyResult, WhyCollection
from gnod.search.query import references
from gnod.store.connection import Connection
from gnod.store.documents.collections import id_of
from gnod.store.tables import documents, failures, scans
from gnod.store.tables.documents import DocumentRow
from gnod.store.tables.failures import FailedFile
from gnod.store.tables.records import SKIP_KINDS, FileStat
from gnod.types import SCHEME, parse_uri

_MAX_UNREAD = 20


def why(
    connection: Connection, path: str, configured: Mapping[str, CollectionConfig], ignore_files: IgnoreFiles
) -> IndexWhyResult:
    """Explain a path for every collection that contains it. Raises InvalidReference."""
    places = [place for place in _places(connection, path, configured) if place[0] in configured]
    places = [(name, _spelled(configured[name].path, relative)) for name, relative in places]
    views = [_view(connection, configured[name], relative, ignore_files) for name, relative in places]
    full = _on_disk(configured, places, path)
    return IndexWhyResult(path=full, exists=_exists(full), collections=views, reason=_summary(views, full, configured))


def _spelled(root: str, path: str) -> str:
    return Spellings(root).of(path) if answers(root) else path


def _places(connection: Connection, path: str, configured: Mapping[str, CollectionConfig]) -> list[tuple[str, str]]:
    if path.startswith("/"):
        return references.places_of(connection, os.path.normpath(path))
    if path.startswith(SCHEME):
        return [parse_uri(path)]
    collection, slash, relative = path.partition("/")
    if slash and collection in configured:
        return [(collection, relative)]
    try:
        document = references.resolve(connection, path).document
    except GnoError:
        return []
    return [(document.collection, document.path)]


def _on_disk(configured: Mapping[str, CollectionConfig], places: list[tuple[str, str]], path: str) -> str:
    if path.startswith("/") or not places:
        return path
    name, relative = places[0]
    return f"{configured[name].path.rstrip('/')}/{relative}"


def _view(connection: Connection, collection: CollectionConfig, path: str, ignore_files: IgnoreFiles) -> WhyCollection:
    full = f"{collection.path.rstrip('/')}/{path}"
    document = documents.by_path(connection, collection.name, path, active=False)
    failed = _failure(failures.of_collection(connection, id_of(connection, collection.name)), path)
    if SEPARATOR in path and not _exists(full):
        verdict, reason = _of_member(connection, collection, path, document, ignore_files)
    else:
        verdict, reason = _verdict(collection, path, full, document, failed, ignore_files)
        reason += _unread([document, *documents.unread_members(connection, document)]) if document else ""
    active = document if document and document.active else None
    if active and (pages := scans.progress(connection, collection.name, path)):
        reason += _of_scans(pages)
    return WhyCollection(
        collection=collection.name,
        path=path,
        verdict=verdict,
        reason=reason,
        uri=active.uri if active else None,
        docid=active.docid if active else None,
        title=active.title if active else None,
        converter=active.converter if active else None,
        language=active.language if active else None,
        chunks=documents.count_chunks(connection, active.mirror_hash) if active else 0,
        indexed_at=iso(active.indexed_at) if active else None,
        error=ingest_error(failed) if failed else None,
    )


def _of_member(
    connection: Connection,
    collection: CollectionConfig,
    path: str,
    document: DocumentRow | None,
    ignore_files: IgnoreFiles,
) -> tuple[str, str]:
    """Return the verdict on a file inside another one. It is as current as the outer file."""
    outer, _, name = path.rpartition(SEPARATOR)
    view = _view(connection, collection, outer, ignore_files)
    if view.verdict != "indexed":
        return view.verdict, f"it is in {outer}: {view.reason}"
    if document and document.active:
        return "indexed", f"it is indexed, as a file in {outer} (since {iso(document.indexed_at)}){_unread([document])}"
    holder = documents.by_path(connection, collection.name, outer)
    failed = next((each for each in holder.unread if each.name == name), None) if holder else None
    if failed is None:
        return "missing", f"{outer} does not contain such a file, or gnod does not read it"
    word = "skipped" if failed.kind in SKIP_KINDS else "failed"
    return word, f"it is not indexed: {failed.message} ({failed.kind})"


def _unread(found: Sequence[DocumentRow]) -> str:
    """Return a sentence about the parts that are not indexed, of a file (the first document) and the files inside it;
    "" if all are indexed."""
    outer = found[0].path + SEPARATOR
    shown = [
        f"{f'{document.path}{SEPARATOR}{each.name}'.removeprefix(outer)}: {each.message.removesuffix('.')}"
        if each.name
        else each.message
        for document in found
        if document.active
        for each in document.unread
    ]
    if not shown:
        return ""
    more = f"; and {len(shown) - _MAX_UNREAD:,} more" if len(shown) > _MAX_UNREAD else ""
    return f". Parts that are not indexed: {'; '.join(shown[:_MAX_UNREAD])}{more}"


def _verdict(
    collection: CollectionConfig,
    path: str,
    full: str,
    document: DocumentRow | None,
    failed: FailedFile | None,
    ignore_files: IgnoreFiles,
) -> tuple[str, str]:
    """Return the verdict, which is a stable word, and the reason."""
    is_indexed = document is not None and document.active
    if problem := folder_problem(collection.path):
        return ("stale" if is_indexed else "missing"), f"{problem}; what was indexed stays searchable"
    if failed and failed.path != path:
        word = "stale" if is_indexed else "failed"
        folder = f"the folder {failed.path or '.'} cannot be read"
        return word, f"{folder} ({failed.message.lower()}), so nothing is known about it"
    if not os.path.lexists(full):
        return _of_missing(document)
    left_out = why_not_listed(collection, path, ignore_files)
    if left_out and not is_indexed:
        return "excluded", f"it is not indexed: {left_out}"
    stat = _stat(full)
    if failed and not is_indexed and failed.stat in (None, stat):
        word = "skipped" if failed.kind in SKIP_KINDS else "failed"
        return word, f"it is not indexed: {failed.message} ({failed.kind}, since {iso(failed.first_at)})"
    if document is None or not document.active:
        return "pending", "it is new and not indexed yet; `gnoctl index` indexes it now"
    if left_out:
        return "stale", f"it is still indexed, and the next sync removes it: {left_out}"
    if document.stat != stat:
        return "stale", f"it changed after it was indexed ({iso(document.indexed_at)}); `gnoctl index` reads it again"
    return "indexed", f"it is indexed, as the file is now (since {iso(document.indexed_at)})"


def _of_scans(pages: scans.ScanProgress) -> str:
    """Return a sentence about the OCR of pages without text."""
    parts = [f"{pages.done:,} of its pages or pictures without text were read by OCR"] if pages.done else []
    if pages.pending:
        what = "a page or picture" if pages.pending == 1 else f"{pages.pending:,} pages or pictures"
        parts.append(f"OCR of {what} is pending")
    if pages.problems:
        number, problem = next(iter(pages.problems.items()))
        more = f", and {len(pages.problems) - 1:,} more" if len(pages.problems) > 1 else ""
        parts.append(f"OCR could not read page {number}{more}: {problem}")
    return "".join(f"; {part}" for part in [*parts, *([pages.note] if pages.note else [])])


def _failure(failed: Mapping[str, FailedFile], path: str) -> FailedFile | None:
    """Return the failure of the path, or of a folder above it that could not be listed."""
    parts = path.split("/")
    above = ("/".join(parts[:depth]) for depth in range(len(parts), -1, -1))
    return next((failed[path] for path in above if path in failed), None)


def _of_missing(document: DocumentRow | None) -> tuple[str, str]:
    if document is None:
        return "missing", "the file does not exist, and was never indexed under this path"
    if document.active:
        return "stale", "the file is gone and still indexed; the next sync removes it"
    when = iso(document.removed_at) if document.removed_at else "an unknown time"
    return "deleted", f"the file is gone; it was removed from the index at {when}"


def _stat(path: str) -> FileStat | None:
    try:
        stat = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return FileStat.of(stat)


def _summary(views: list[WhyCollection], path: str, configured: Mapping[str, CollectionConfig]) -> str:
    if views:
        return "; ".join(f"{view.collection}: {view.reason}" for view in views)
    if not configured:
        return "no folder was added yet; `gnoctl collection add FOLDER` adds one"
    folders = ", ".join(f"{c.name} ({c.path})" for c in configured.values())
    return f"{path} is not in the folder of a collection: {folders}"


def _exists(path: str) -> bool:
    return answers(path) and os.path.lexists(path)
