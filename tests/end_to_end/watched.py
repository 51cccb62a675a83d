"""A watched collection with a folder for each test, which the tests of watching share."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Collection
from pathlib import Path

from tests.machine import Machine, wait_until


def watch(machine: Machine) -> None:
    """Wait until every collection follows events."""
    wait_until(lambda: {c["watch"] for c in machine.call("index.status")["collections"]} == {"events"})
    machine.quiet()


class Folder:
    """A folder in a watched collection. Its methods wait for changes and never trigger a sync."""

    def __init__(self, machine: Machine, path: Path, collection: str, prefix: str = "") -> None:
        path.mkdir(exist_ok=True)
        self.machine = machine
        self.path = path
        self._collection = collection
        self._prefix = prefix

    def __truediv__(self, path: str) -> Path:
        return self.path / path

    def write(self, path: str, text: str) -> Path:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def find(self, word: str) -> list[str]:
        """Return the paths of the documents that contain this word. Copies of a file are one hit."""
        found = self.machine.call(
            "search.lexical",
            query=word,
            collections=[self._collection],
            limit=1000,
            **({"path_prefix": self._prefix} if self._prefix else {}),
        )
        if any(hit["also"] for hit in found["hits"]):
            return self.documents({hit["docid"] for hit in found["hits"]})
        return sorted(hit["path"].removeprefix(self._prefix) for hit in found["hits"])

    def documents(self, docids: Collection[str] | None = None) -> list[str]:
        """Return the paths of all documents, or of the documents with these docids, which copies share."""
        scope = f"{self._collection}/{self._prefix}".rstrip("/")
        listed = self.machine.call("document.list", scope=scope, limit=100_000)["documents"]
        kept = [entry for entry in listed if docids is None or entry["docid"] in docids]
        return sorted(entry["path"].removeprefix(self._prefix) for entry in kept)

    def failed(self) -> dict[str, str]:
        """Return the kinds of failures by path."""
        errors = self.machine.call("index.status", errors=True)["errors"]
        inside = [e for e in errors if e["collection"] == self._collection and e["path"].startswith(self._prefix)]
        return {error["path"].removeprefix(self._prefix): error["kind"] for error in inside}

    def expect(self, word: str, *paths: str, timeout_s: float = 60.0) -> None:
        """Wait until a search for this word finds exactly these documents."""
        deadline = time.monotonic() + timeout_s
        while (found := self.find(word)) != sorted(paths):
            assert time.monotonic() < deadline, f"{word!r} is in {found[:20]}, expected in {paths[:20]}"
            time.sleep(0.03)

    def expect_documents(self, *paths: str, timeout_s: float = 60.0) -> None:
        deadline = time.monotonic() + timeout_s
        while (found := self.documents()) != sorted(paths):
            missing, surplus = set(paths) - set(found), set(found) - set(paths)
            assert time.monotonic() < deadline, f"missing: {sorted(missing)[:20]}, surplus: {sorted(surplus)[:20]}"
            time.sleep(0.03)

    def clear(self) -> None:
        # shutil.rmtree fails on very deep trees.
        subprocess.run(["rm", "-rf", "--", str(self.path)], check=True)
