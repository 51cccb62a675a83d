"""A vault on the disk with its index, for tests that move files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from gnod.config.model import CollectionConfig
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.formats.dispatch import convert
from gnod.ingest.moving import journal
from gnod.ingest.moving.plan import MovePlan, moved, plan
from gnod.ingest.prepare import prepare
from gnod.store.database import Database
from gnod.store.documents import collections, writing
from gnod.store.documents.collections import Folder
from gnod.store.links import links
from gnod.store.tables.records import FileStat

Targets = Counter[tuple[str, tuple[str, ...], str]]
"""The number of links by source file, target files and place in the target."""


class Vault:
    def __init__(self, folder: Path, files: Mapping[str, str | bytes]) -> None:
        self.root, self._folder = folder / "vault", folder
        self.root.mkdir()
        for path, content in files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        self.collection = CollectionConfig(name="notes", path=str(self.root))
        self.journal = folder / "move.json"
        self.index()

    def index(self) -> None:
        """Build the index from scratch."""
        self.database_file = self._folder / f"{len(list(self._folder.iterdir()))}.sqlite"
        database = Database(self.database_file)
        try:
            database.submit_write(lambda c: collections.mirror(c, [Folder("notes", str(self.root), None)], [])).result()
            for path, data in self.files().items():
                if path.endswith((".md", ".org", ".rst", ".adoc", ".html")):
                    converted = convert(data, path, max_characters=10**6)
                    document = prepare(
                        converted,
                        relative_path=path,
                        source_hash=sha256(data).hexdigest(),
                        stat=FileStat(len(data), 1, 1),
                    )
                    database.submit_write(
                        lambda c, path=path, document=document: writing.put(c, 1, path, document, now=0.0)  # type: ignore[misc]
                    ).result()
        finally:
            database.close()

    def files(self) -> dict[str, bytes]:
        paths = (file for file in sorted(self.root.rglob("*")) if file.is_file())
        return {file.relative_to(self.root).as_posix(): file.read_bytes() for file in paths}

    def text(self, path: str) -> str:
        return (self.root / path).read_text()

    def plan(self, old: str, new: str) -> MovePlan:
        database = Database(self.database_file)
        try:
            return database.submit_read(lambda c: plan(c, self.collection, old, new, IgnoreFiles())).result()
        finally:
            database.close()

    def move(self, old: str, new: str) -> MovePlan:
        found = self.plan(old, new)
        journal.carry_out(self.journal, "notes", found)
        self.index()
        return found

    def targets(self) -> Targets:
        database = Database(self.database_file)
        try:
            connection = database.open_reader()
            paths = {int(id_): str(path) for id_, path in connection.execute("SELECT id, path FROM documents")}
            found = [each for id_ in paths for each in links.outgoing(connection, id_)]
            return Counter(
                (
                    paths[each.document_id],
                    tuple(sorted(document.path for document in links.meant(connection, each))),
                    each.link.fragment,
                )
                for each in found
                if each.link.key
            )
        finally:
            database.close()


def renamed(targets: Targets, old: str, new: str) -> Targets:
    """Return the expected targets after a move."""
    return Counter(
        {
            (moved(source, old, new), tuple(sorted(moved(path, old, new) for path in paths)), fragment): count
            for (source, paths, fragment), count in targets.items()
        }
    )
