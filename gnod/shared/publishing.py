"""Keep a shared collection equal to a collection of the index. Changes are noted, then sent, then confirmed.

All sent values are absolute and may be sent again. So after any interruption, the publisher continues with the changes
that its ledger has not confirmed. Blocks; only one thread at a time may use it. Must not depend on the configuration.

Only one daemon publishes a collection, and the header names it. Another daemon is refused unless it takes over. The
first daemon notices this before it sends anything else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from gnod.analysis.terms import VERSION
from gnod.errors import AlreadyPublished, EngineFailed
from gnod.shared.engine import FORMAT, CollectionHeader, Former, SharedDocument, WritableEngine, key_of
from gnod.shared.ledger import Ledger, QueuedDocument, SentDocument
from gnod.shared.models import Model
from gnod.shared.payload import shared_document
from gnod.shared.weights import WEIGHING
from gnod.store.connection import Connection, json_list
from gnod.store.keyword_index.columns import column_sizes
from gnod.store.keyword_index.postings.view import in_snapshot
from gnod.store.tables import changes, documents
from gnod.store.tables.changes import Position
from gnod.store.vectors import vector_rows

# The maximum number of documents in a batch, and of characters in their texts.
_BATCH, _CHARACTERS = 200, 8 << 20
_PAGE = 5_000
# The number of terms in a request, and how often frequencies and the header are sent while many documents are sent.
_TERMS, _EVERY_S = 5_000, 30.0
# Call the engine's `settle` after this many documents.
_MANY = 1_000
# Renew the header after this time, so that readers see that the publisher is running.
_HEARTBEAT_S = 55.0
# All weights are sent again when the mean length has drifted by this share.
_DRIFT = 0.05


class _PublishedBatch(NamedTuple):
    """`paths`: all checked documents. `sent`: documents to send, with their rows for the ledger. `reweighed`: documents
    of which only the weights are sent. `removed`: keys. `restamped`: (key, stamp) of unchanged documents."""

    paths: list[str]
    sent: list[tuple[SharedDocument, QueuedDocument]]
    reweighed: list[SharedDocument]
    removed: list[str]
    restamped: list[tuple[str, str]]


class Publisher:
    """`label`: the publisher's name for people. `told_at`: when the header was stored, in seconds since 1970."""

    def __init__(
        self, ledger: Ledger, engine: WritableEngine, collection: str, model: Model | None, label: str
    ) -> None:
        self._ledger = ledger
        self._engine = engine
        self._collection = collection
        self._model = model
        self._label = label
        self._told = -_HEARTBEAT_S
        self._unsettled = 0
        self.told_at: float | None = None

    # Called first

    def begin(self, connection: Connection, *, take_over: bool = False) -> None:
        """Create the shared collection, or continue with an existing one. Raises AlreadyPublished."""
        header, state = self._engine.header(), self._ledger.state
        if header is not None and header.format > FORMAT:
            raise EngineFailed("a newer gnod publishes this collection: upgrade gnod")
        if header is not None and header.publisher != state.publisher and not take_over:
            raise refused(header)
        if header is None or header.publisher != state.publisher or state.change == 0:
            self._start_over(connection, header)
        self._take_model()
        self._take_weighing()
        self._engine.create(self._header(connection))

    def _start_over(self, connection: Connection, header: CollectionHeader | None) -> None:
        """Read what the engine has into the ledger, for comparison with the collection."""
        self._ledger.reset()
        state = self._ledger.state
        state.average = in_snapshot(connection, self._mean_length)
        state.change = header.change + 1 if header else 1
        state.is_alone = header is None and not any(self._engine.count().values())
        self._ledger.save()
        if not state.is_alone:
            self._engine.create(self._header(connection))
            for page in _pages(self._engine.keys()):
                self._ledger.adopt(page)

    def _take_model(self) -> None:
        """Compare all documents again if the serving model has changed."""
        state, uri = self._ledger.state, self._model.uri if self._model else None
        if state.model != uri:
            state.model, state.is_complete = uri, False
            self._ledger.save()

    def _take_weighing(self) -> None:
        """Send all weights again if this version of gnod makes other weights. Document versions do not include this."""
        if self._ledger.state.weighing != WEIGHING:
            self._ledger.state.weighing = WEIGHING
            self._ledger.forget_weights()

    # Called repeatedly

    def follow(self, connection: Connection) -> bool:
        """Note the changes of the index since the last call. Returns whether there is something to send."""
        in_snapshot(connection, self._follow)
        is_due = time.monotonic() - self._told > _HEARTBEAT_S
        return is_due or self._ledger.count_waiting() > 0 or bool(self._ledger.unsent_frequencies(1))

    def step(self, connection: Connection) -> bool:
        """Send some of the noted changes. Returns whether there are more."""
        paths = self._ledger.waiting(_BATCH)
        if not paths:
            return self._finish(connection)
        batch = in_snapshot(connection, lambda c: self._read(c, paths))
        self._send(batch)
        if time.monotonic() - self._told > _EVERY_S:
            self._send_frequencies()
            self.tell(connection)
        return True

    def tell(self, connection: Connection) -> None:
        """Store the header, with a heartbeat and the number of changes behind. Raises AlreadyPublished."""
        self._check_lease()
        self._engine.set_header(self._header(connection))
        self._told, self.told_at = time.monotonic(), time.time()

    def compare_again(self) -> None:
        """Make the next `follow` compare all documents. Some changes, such as a new file time, cause no events."""
        self._ledger.state.is_complete = False
        self._ledger.save()

    @property
    def behind(self) -> int:
        return self._ledger.count_waiting()

    # Changes

    def _follow(self, connection: Connection) -> None:
        state = self._ledger.state
        if not state.is_complete:
            self._compare_all(connection)
            return
        paths, reset = self._changed_paths(connection)
        if reset:
            state.is_complete = False
            self._compare_all(connection)
        elif paths:
            self._ledger.wait_for(paths)

    def _changed_paths(self, connection: Connection) -> tuple[list[str], bool]:
        """Return the paths that changed since `state`, and whether they are unknown. Advances `state`."""
        state = self._ledger.state
        paths: list[str] = []
        more = True
        while more:
            page = changes.read(connection, Position(state.clock, state.floor), [self._collection], _PAGE)
            if page.is_reset:
                return [], True
            state.clock, state.floor, more = *page.position, page.more
            paths += [change.path for change in page.changes]
        model = vector_rows.model(connection, state.model) if state.model else None
        if model is not None:
            last, changed = vector_rows.changes_since(connection, model.id, state.vectors)
            if changed is None:
                return [], True
            state.vectors = last
            paths += self._paths_of(connection, changed)
        return paths, False

    def _paths_of(self, connection: Connection, vector_ids: Sequence[int]) -> list[str]:
        """Return the paths of the collection's documents with these vectors."""
        rows = connection.execute(
            "SELECT DISTINCT d.path FROM json_each(?1) wanted CROSS JOIN content_vectors v ON v.id = wanted.value"
            " CROSS JOIN chunks k ON k.embed_hash = v.embed_hash"
            " CROSS JOIN documents d ON d.mirror_hash = k.mirror_hash AND d.active"
            " WHERE d.collection_id = (SELECT id FROM collections WHERE name = ?2)",
            (json_list(vector_ids), self._collection),
        )
        return [str(path) for (path,) in rows]

    def _compare_all(self, connection: Connection) -> None:
        """Note every document that differs from what was sent, and every removed document."""
        state = self._ledger.state
        position = changes.present(connection)
        floor = changes.catch_up(connection, Position(0)).floor
        vectors = vector_rows.last_change(connection)
        after = ""
        while True:
            stamps = _stamps(connection, self._collection, state.model, after, _PAGE)
            until = max(stamps) if len(stamps) == _PAGE else None
            sent = self._ledger.stamps(after, until)
            self._ledger.wait_for(
                sorted(path for path in stamps.keys() | sent.keys() if stamps.get(path) != sent.get(path))
            )
            if until is None:
                break
            after = until
        state.clock, state.floor, state.vectors, state.is_complete = position.clock, floor, vectors, True
        self._ledger.save()

    # Sending

    def _read(self, connection: Connection, paths: Sequence[str]) -> _PublishedBatch:
        state = self._ledger.state
        known = self._ledger.documents([key_of(path) for path in paths])
        batch = _PublishedBatch([], [], [], [], [])
        characters = 0
        for path in paths:
            if characters > _CHARACTERS:
                break
            batch.paths.append(path)
            key = key_of(path)
            before = known.get(key)
            found = documents.by_path(connection, self._collection, path)
            if found is None:
                batch.removed.extend([key] if before else [])
                continue
            characters += documents.text_bytes(connection, found.mirror_hash)
            stamp = stamp_of(connection, found.id, state.model)
            shared, counts = shared_document(connection, found, state.model, state.average)
            if before and before.is_sent and before.is_ours and before.version == shared.version:
                batch.restamped.append((key, stamp))
                batch.reweighed.extend([shared] if before.average != state.average else [])
                continue
            entry = QueuedDocument(
                key, path, shared.version, stamp, counts.length, len(shared.pieces), found.language, counts.ids
            )
            batch.sent.append((shared, entry))
        return batch

    def _send(self, batch: _PublishedBatch) -> None:
        self._check_lease()
        ledger = self._ledger
        entries = [entry for _, entry in batch.sent]
        known = ledger.documents([entry.key for entry in entries])
        ledger.begin(entries, batch.removed)
        there: dict[Former, list[SharedDocument]] = {"nothing": [], "whole": [], "any": []}
        for document, _ in batch.sent:
            there[self._former(known.get(document.key))].append(document)
        failed: dict[str, str] = {}
        for former, documents_ in there.items():
            failed |= self._put(documents_, former)
        if batch.reweighed:
            self._engine.reweigh(batch.reweighed)
        if batch.removed:
            self._engine.remove(batch.removed)
        ledger.reweighed([document.key for document in batch.reweighed])
        ledger.restamp(batch.restamped)
        self._unsettled += len(batch.sent) + len(batch.reweighed)
        sent = [entry.key for entry in entries if entry.path not in failed]
        ledger.confirm(sent, batch.removed, batch.paths, failed)

    def _former(self, known: SentDocument | None) -> Former:
        """Return what the engine has under the key of a document."""
        if known is not None:
            return "whole" if known.is_sent and known.is_ours else "any"
        return "nothing" if self._ledger.state.is_alone else "any"

    def _put(self, some: Sequence[SharedDocument], former: Former) -> dict[str, str]:
        """Send documents. Returns the reasons of the engine's refusals by path. An engine refuses a batch as a
        whole."""
        if not some:
            return {}
        try:
            self._engine.put(some, former=former)
        except EngineFailed as refused:
            if len(some) == 1:
                return {some[0].path: refused.message}
            failed: dict[str, str] = {}
            for one in some:
                failed |= self._put([one], "any")
            if len(failed) == len(some):  # the documents are not the cause
                raise
            return failed
        return {}

    def _finish(self, connection: Connection) -> bool:
        """Send the data that depend on all documents. Returns whether documents must be sent again."""
        if gone := self._ledger.strangers(_PAGE):
            self._check_lease()
            self._engine.remove(gone)
            self._ledger.confirm([], gone, [], {})
            return True
        self._send_frequencies()
        state = self._ledger.state
        if not (state.is_alone or state.is_swept):
            self._engine.keep(self._ledger.is_current)
            self._ledger.adopt_frequencies(self._engine.term_frequencies())
            state.is_swept = True
            self._ledger.save()
            return True
        average = state.tokens / max(state.documents, 1)
        if abs(average - state.average) > _DRIFT * state.average:
            state.average = average
            self._ledger.wait_for_all()
            if self.behind:
                return True
        self.tell(connection)
        if self._unsettled >= _MANY:
            self._engine.settle()
            self._unsettled = 0
        return False

    def _send_frequencies(self) -> None:
        while frequencies := self._ledger.unsent_frequencies(_TERMS):
            self._ledger.attempt_frequencies(frequencies)
            self._engine.set_frequencies(frequencies)
            self._ledger.confirm_frequencies(frequencies)

    def _check_lease(self) -> None:
        header = self._engine.header()
        if header is None:
            raise EngineFailed("the shared collection was removed: it is published again")
        if header.publisher != self._ledger.state.publisher:
            raise refused(header)

    # The header

    def _header(self, connection: Connection) -> CollectionHeader:
        state = self._ledger.state
        model = vector_rows.model(connection, state.model) if state.model else None
        has_vectors = model is not None and model.dimensions is not None
        return CollectionHeader(
            format=FORMAT,
            analysis=VERSION,
            model=self._model.name if self._model and has_vectors else None,
            model_hash=self._model.hash if self._model and has_vectors else None,
            dimensions=model.dimensions if model else None,
            languages=tuple(self._ledger.languages()),
            documents=state.documents,
            pieces=state.pieces,
            tokens=state.tokens,
            average=state.average,
            publisher=state.publisher,
            publisher_label=self._label,
            behind=self._ledger.count_waiting(),
            published_at=time.time(),
            change=state.change,
        )

    def _mean_length(self, connection: Connection) -> float:
        """Return the mean length of the documents, in terms."""
        rows = connection.execute(
            "SELECT z.sz FROM documents d CROSS JOIN documents_fts_docsize z ON z.id = d.id"
            " WHERE d.active AND d.collection_id = (SELECT id FROM collections WHERE name = ?)",
            (self._collection,),
        )
        lengths = [sum(column_sizes(record)) for (record,) in rows]
        return sum(lengths) / max(len(lengths), 1)


def refused(header: CollectionHeader) -> AlreadyPublished:
    """Return the error for a collection that another daemon publishes."""
    ago = max(time.time() - header.published_at, 0)
    return AlreadyPublished(
        f"{header.publisher_label} publishes this collection, and was last seen {_in_words(ago)} ago: publish under "
        "another name, or take it over with `gnoctl collection publish NAME --to ADDRESS --take-over`",
        {"publisher": header.publisher_label, "seconds": round(ago)},
    )


def stamp_of(connection: Connection, document_id: int, uri: str | None) -> str:
    """Return a stamp that changes with any published data of a document. It is cheap to read."""
    stamp = connection.execute(f"SELECT {_STAMP} FROM documents d WHERE d.id = ?2", (uri, document_id)).get
    return str(stamp)


_STAMP = """d.indexed_at || ' ' || d.dated || ' ' || d.mtime_ns || ' ' || (
    SELECT count(*) || ' ' || coalesce(max(v.id), 0) FROM chunks k
    CROSS JOIN content_vectors v ON v.embed_hash = k.embed_hash
    WHERE k.mirror_hash = d.mirror_hash AND v.model_id = (SELECT id FROM embedding_models WHERE uri = ?1)
)"""


def _stamps(connection: Connection, collection: str, uri: str | None, after: str, limit: int) -> dict[str, str]:
    """Return the stamps of documents by path, in order, after the path `after`."""
    rows = connection.execute(
        f"SELECT d.path, {_STAMP} FROM documents d WHERE d.active AND d.path > ?3"
        " AND d.collection_id = (SELECT id FROM collections WHERE name = ?2) ORDER BY d.path LIMIT ?4",
        (uri, collection, after, limit),
    )
    return dict(rows)


def _pages(items: Iterator[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    while page := list(islice(items, _PAGE)):
        yield page


def _in_words(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
