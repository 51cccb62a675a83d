"""Store pages without text: which ones must be recognised, and the recognised texts. The key is the content of the
file, so a moved file or a copy is not recognised again."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from gnod.store.connection import Connection, json_list
from gnod.store.tables.records import RecognisedPage, ScanReport

_PENDING, _DONE, _FAILED = 0, 1, 2
# A document is indexed again when it has this many more recognised pages, and at least twice as many as before.
_PART = 20
_USABLE = f"s.source_hash = d.source_hash AND s.reader = d.reader AND s.state = {_DONE} AND s.text <> ''"


class ScannedPage(NamedTuple):
    """A page to recognise, and one file that contains it."""

    source_hash: str
    reader: str
    number: int
    collection: str
    root: str
    path: str


class ScanProgress(NamedTuple):
    """The pages of one document by state. `problems`: of failed pages, by page number. `note`: what is left out."""

    pending: int
    done: int
    problems: dict[int, str]
    note: str | None


def note(connection: Connection, source_hash: str, report: ScanReport) -> None:
    """Record the pages to recognise."""
    connection.executemany(
        "INSERT OR IGNORE INTO scanned_pages (source_hash, reader, page) VALUES (?, ?, ?)",
        ((source_hash, report.reader, page) for page in report.pending),
    )


def pending(connection: Connection) -> int:
    return int(connection.execute(f"SELECT count(*) FROM scanned_pages WHERE state = {_PENDING}").get)


def failed(connection: Connection) -> int:
    return int(connection.execute(f"SELECT count(*) FROM scanned_pages WHERE state = {_FAILED}").get)


def next_page(connection: Connection, except_of: Collection[str] = ()) -> ScannedPage | None:
    """Return a pending page. All pages of one file come before those of the next. `except_of`: hashes of files to leave
    out."""
    row = connection.execute(
        "SELECT s.source_hash, s.reader, s.page, c.name, c.path, d.path FROM scanned_pages s"
        " CROSS JOIN documents d ON d.source_hash = s.source_hash AND d.reader = s.reader AND d.active"
        " CROSS JOIN collections c ON c.id = d.collection_id"
        f" WHERE s.state = {_PENDING} AND s.source_hash NOT IN (SELECT value FROM json_each(?))"
        " ORDER BY s.source_hash, s.reader, s.page LIMIT 1",
        (json_list(sorted(except_of)),),
    ).fetchone()
    return ScannedPage(*row) if row else None


def store(connection: Connection, page: ScannedPage, found: RecognisedPage) -> None:
    state = _DONE if found.problem is None else _FAILED
    connection.execute(
        "UPDATE scanned_pages SET state = ?, text = ?, confidence = ?, boxes = ?, problem = ?"
        " WHERE source_hash = ? AND reader = ? AND page = ?",
        (state, found.text, found.confidence, found.boxes, found.problem, *page[:3]),
    )


def fail(connection: Connection, page: ScannedPage, problem: str) -> None:
    store(connection, page, RecognisedPage(text="", confidence=0.0, boxes=b"", problem=problem))


def texts(connection: Connection, source_hash: str, reader: str) -> dict[int, str]:
    """Return the text of each page that is not pending."""
    rows = connection.execute(
        f"SELECT page, text FROM scanned_pages WHERE source_hash = ? AND reader = ? AND state <> {_PENDING}",
        (source_hash, reader),
    )
    return {page: text or "" for page, text in rows}


def recognised(connection: Connection, document_id: int, number: int) -> RecognisedPage | None:
    """Return the recognised text of a page of a document, or None if there is none."""
    row = connection.execute(
        "SELECT s.text, s.confidence, s.boxes FROM documents d JOIN scanned_pages s ON s.page = ?"
        f" AND {_USABLE} WHERE d.id = ?",
        (number, document_id),
    ).fetchone()
    return RecognisedPage(text=row[0], confidence=row[1], boxes=row[2] or b"") if row else None


def outdated(connection: Connection) -> list[tuple[str, str]]:
    """Return the collections and paths of files whose text lacks recognised pages. A file is included if all its pages
    are done, or if many more are done than its text has."""
    rows = connection.execute(
        "SELECT c.name, d.path FROM documents d INDEXED BY documents_with_scans"
        " JOIN collections c ON c.id = d.collection_id WHERE d.reader IS NOT NULL AND d.active"
        f" AND d.pages_used < (SELECT count(*) FROM scanned_pages s WHERE {_USABLE})"
        " AND (NOT EXISTS (SELECT 1 FROM scanned_pages s WHERE s.source_hash = d.source_hash"
        f"   AND s.reader = d.reader AND s.state = {_PENDING})"
        f"  OR (SELECT count(*) FROM scanned_pages s WHERE {_USABLE}) - d.pages_used >= max({_PART}, d.pages_used))"
    )
    return list(rows)


def progress(connection: Connection, collection: str, path: str) -> ScanProgress | None:
    """Return the progress of a document, or None if all its pages have text of their own."""
    row = connection.execute(
        "SELECT d.source_hash, d.reader, d.scan_note FROM documents d JOIN collections c ON c.id = d.collection_id"
        " WHERE c.name = ? AND d.path = ? AND d.active AND d.reader IS NOT NULL",
        (collection, path),
    ).fetchone()
    if row is None:
        return None
    source_hash, reader, about = row
    rows = connection.execute(
        "SELECT page, state, problem FROM scanned_pages WHERE source_hash = ? AND reader = ? ORDER BY page",
        (source_hash, reader),
    ).fetchall()
    states = [state for _, state, _ in rows]
    problems = {int(str(page)): str(problem) for page, state, problem in rows if state == _FAILED}
    return ScanProgress(states.count(_PENDING), states.count(_DONE), problems, about)


def purge(connection: Connection) -> None:
    """Delete the pages of files that are no longer indexed."""
    connection.execute(
        "DELETE FROM scanned_pages WHERE source_hash NOT IN"
        " (SELECT source_hash FROM documents WHERE reader IS NOT NULL AND active)"
    )
