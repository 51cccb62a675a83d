"""Report whether the index is current, and make it current, so that searches find what was written before them."""

from __future__ import annotations

from typing import NamedTuple

from gnod.background.embedding_backlog import Backlog
from gnod.configured.configuration import Configuration
from gnod.configured.embedding_models import EmbeddingService
from gnod.freshness.scheduler import SyncScheduler
from gnod.store.connection import Connection
from gnod.store.tables import failures
from gnod.store.vectors.vectors import PendingCounts


class FreshnessReport(NamedTuple):
    """The state of the index compared with the disk. `pending`: files that are not checked yet; `failed`: files that
    could not be read; `unwatched`, `unavailable`: collections without events, and without a folder; `unembedded`:
    chunks without a vector.

    This class decides for all clients whether the index is current, and words the message. Unreadable files and folders
    without events do not count: the former cannot be indexed, and the latter are compared regularly.
    """

    pending: int
    failed: int
    unwatched: list[str]
    unavailable: list[str]
    unembedded: int

    @property
    def current(self) -> bool:
        return not self._missing

    @property
    def state(self) -> str:
        """Return "current", or say what the index still lacks."""
        return "; ".join(self._missing) or "current"

    @property
    def _missing(self) -> list[str]:
        parts = []
        if self.pending:
            are = "is" if self.pending == 1 else "are"
            parts.append(f"syncing: {_count(self.pending, 'file')} {are} not indexed yet")
        if self.unembedded:
            has, them = ("has", "it") if self.unembedded == 1 else ("have", "them")
            chunks = _count(self.unembedded, "chunk")
            parts.append(f"{chunks} {has} no vector yet (`gnoctl embed` waits for {them})")
        if self.unavailable:
            names = ", ".join(self.unavailable)
            parts.append(f"the folder of {names} is not available now: its documents stay in the index")
        return parts


class KnownFreshness(NamedTuple):
    """The state of the collections `names` as far as it is known without the index. Any process can use this data."""

    names: list[str]
    pending: int
    unwatched: list[str]
    unavailable: list[str]


class FreshnessService:
    def __init__(
        self, configuration: Configuration, scheduler: SyncScheduler, embedding: EmbeddingService, backlog: Backlog
    ) -> None:
        self._configuration = configuration
        self._scheduler = scheduler
        self._embedding = embedding
        self._backlog = backlog
        self._counts = PendingCounts()

    async def refresh(self, collections: list[str], *, embedded: bool = False) -> None:
        """Sync the collections (all when empty). The index then has everything that was written before this call, with
        vectors if `embedded` is set and embedding is not blocked. Attached collections are as new as their publisher
        made them."""
        own = [name for name in collections if not self._configuration.current.is_attached(name)]
        if collections and not own:
            return
        await self._scheduler.sync(own)
        if embedded:
            await self._backlog.catch_up()

    def known(self, collections: list[str]) -> KnownFreshness:
        """Return the state of these collections (all when empty) as far as it is known without a walk or the index."""
        requested = set(collections)
        names = [c.name for c in self._configuration.current.collections if not requested or c.name in requested]
        return KnownFreshness(
            names,
            self._scheduler.pending_files(),
            unwatched=[name for name in names if not self._scheduler.watch_state(name).is_watched],
            unavailable=[name for name in self._scheduler.unavailable() if name in names],
        )

    def report(self, connection: Connection, collections: list[str], *, embedded: bool = False) -> FreshnessReport:
        """Compare the index with the known state of the disk for these collections (all when empty), without a walk.
        `embedded`: count chunks without a vector too. Any thread may call this."""
        known = self.known(collections)
        unembedded = self._unembedded(connection, known.names, all_of_them=not collections) if embedded else 0
        return reported(connection, known, unembedded)

    def _unembedded(self, connection: Connection, names: list[str], *, all_of_them: bool) -> int:
        """Return how many chunks have no vector of the serving model. Count them only if the backlog has no number."""
        known = self._backlog.known_pending()
        if known == 0 or (known is not None and all_of_them):
            return known
        answering, wanted = self._embedding.answering(), self._embedding.wanted()
        by_model: dict[str, list[str]] = {}
        for name in names:
            if uri := answering.get(name) or wanted.get(name):
                by_model.setdefault(uri, []).append(name)
        return sum(self._counts.of(connection, uri, of) for uri, of in by_model.items())


def reported(connection: Connection, known: KnownFreshness, unembedded: int = 0) -> FreshnessReport:
    """Complete the known state with data of the index."""
    return FreshnessReport(
        pending=known.pending,
        failed=failures.count(connection, known.names),
        unwatched=known.unwatched,
        unavailable=known.unavailable,
        unembedded=unembedded,
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
