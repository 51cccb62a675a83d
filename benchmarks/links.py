"""Measure links: a note with 6,000 backlinks, a renamed file with 5,000 incoming links, names that 12 and 5,000 notes
mention, and graphs. Prints figures.

.venv/bin/python -m benchmarks.links [DOCUMENTS]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import apsw

from benchmarks.throwaway import Throwaway, percentile, throwaway

ROUNDS = 100
BACKLINKS, MOVED = 6000, 5000
MENTIONED = {"review.md": ("Quarterly harbour review", 12), "blue.md": ("Blue green deployment", 5000)}
RENAMES = 5


def main(count: int) -> None:
    with throwaway() as daemon, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, count)
        print(f"indexing {count:,} notes: {daemon.add(folder, 'notes'):.0f} s")
        _backlinks(daemon)
        _mentions(daemon)
        _graphs(daemon)
        _renames(daemon, folder)
        _others(daemon)


def _backlinks(daemon: Throwaway) -> None:
    took = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        found = daemon.call("document.links", ref="notes/hub.md", direction="in", limit=50)
        took.append(1000 * (time.perf_counter() - started))
        assert found["total_backlinks"] == BACKLINKS, found["total_backlinks"]
        assert all("[[hub]]" in link["passage"] for link in found["backlinks"])
    print(f"first 50 of {BACKLINKS:,} backlinks: p50 {median(took):.1f} ms, p95 {percentile(took, 0.95):.1f}")


def _mentions(daemon: Throwaway) -> None:
    for ref, (title, times) in MENTIONED.items():
        found = _timed(daemon, f"first 50 mentions of {times:,}", "links.mentions", ref=f"notes/{ref}", limit=50)
        assert {each["name"] for each in found["mentions"]} == {title}
        assert len(found["mentions"]) == min(times, 50)
    found = _timed(daemon, "mentions, all of them in links", "links.mentions", ref="notes/hub.md")
    assert (found["mentions"], found["is_cut"]) == ([], True)


def _graphs(daemon: Throwaway) -> None:
    _timed(daemon, "graph of a note, depth 2", "links.graph", ref="notes/000/note-00001.md")
    _timed(daemon, "graph of the hub, depth 2", "links.graph", ref="notes/hub.md")
    _timed(daemon, "graph of the collection", "links.graph", rounds=5)


def _timed(daemon: Throwaway, what: str, method: str, *, rounds: int = ROUNDS, **params: object) -> Any:
    took = []
    for _ in range(rounds):
        started = time.perf_counter()
        found = daemon.call(method, **params)
        took.append(1000 * (time.perf_counter() - started))
    print(f"{what}: p50 {median(took):.1f} ms, p95 {percentile(took, 0.95):.1f}", flush=True)
    return found


def _renames(daemon: Throwaway, folder: Path) -> None:
    """Rename a file and rename it back; each time, wait until the links to it are right."""
    took = []
    for _ in range(RENAMES):
        began = time.time()
        took.append(_until(lambda: _leads(daemon) is None, folder / "moved.md", folder / "elsewhere.md"))
        took.append(_until(lambda: _leads(daemon) == MOVED, folder / "elsewhere.md", folder / "moved.md"))
        assert _read_since(daemon, began) <= 2, "a linking file was read again"
    print(f"a file of {MOVED:,} links is renamed, all right after: p50 {median(took):.2f} s, max {max(took):.2f}")


def _until(is_right: Callable[[], bool], path: Path, to: Path) -> float:
    path.rename(to)
    started = time.perf_counter()
    while not is_right():
        if time.perf_counter() - started > 60:
            raise TimeoutError(f"the links to {path.name} are still wrong")
        time.sleep(0.01)
    return time.perf_counter() - started


def _leads(daemon: Throwaway) -> int | None:
    """Return the number of links to the file; None if the links of a linking note are still wrong."""
    (link,) = (
        each for each in daemon.call("document.links", ref="notes/first.md")["links"] if "moved" in each["target"]
    )
    if link["state"] != "resolved":
        return None
    try:
        return int(daemon.call("document.links", ref="notes/moved.md", direction="in", limit=1)["total_backlinks"])
    except RuntimeError:  # the daemon noticed the new name between the two calls
        return None


def _read_since(daemon: Throwaway, began: float) -> int:
    connection = apsw.Connection(str(daemon.folder / "data" / "index-default.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return int(connection.execute("SELECT count(*) FROM documents WHERE active AND indexed_at >= ?", (began,)).get)
    finally:
        connection.close()


def _others(daemon: Throwaway) -> None:
    for method, params in (("links.orphans", {"limit": 50}), ("links.unresolved", {"limit": 50}), ("links.check", {})):
        started = time.perf_counter()
        total = daemon.call(method, **params)["total"]
        print(f"{method}: {time.perf_counter() - started:.2f} s, {total:,} in all")


def _write(folder: Path, count: int) -> None:
    chosen = random.Random(1)
    links = [
        f"See [[note-{chosen.randrange(count):05d}]] and [x](../{_other(chosen, number, count)})."
        for number in range(count)
    ]
    for number in chosen.sample(range(count), BACKLINKS):
        links[number] += "\n\nAll of this leads to [[hub]] in the end."
    for number in chosen.sample(range(count), MOVED - 1):
        links[number] += "\n\nIt was [moved](../moved.md) once."
    for title, times in MENTIONED.values():
        for number in chosen.sample(range(count), times):
            links[number] += f"\n\nMore is in the {title.lower()} of this year."
    for number, text in enumerate(links):
        path = folder / f"{number // 500:03d}" / f"note-{number:05d}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# Note {number}\n\nWords about {chosen.random()}.\n\n{text}\n")
    (folder / "first.md").write_text("The [first](moved.md).\n")
    for name, (title, _) in MENTIONED.items():
        (folder / name).write_text(f"# {title}\n")
    (folder / "hub.md").write_text("# Hub\n")
    (folder / "moved.md").write_text("# Moved\n")


def _other(chosen: random.Random, number: int, count: int) -> str:
    """Return the path of another note; for every hundredth link, a path that does not exist."""
    other = chosen.randrange(count)
    return f"{other // 500:03d}/note-{other:05d}.md" if number % 100 else f"gone-{number}.md"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
