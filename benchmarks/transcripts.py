"""Measure indexing synthetic transcripts of agents, and the time until a new message is found. Prints figures.

    .venv/bin/python -m benchmarks.transcripts [--mb 200] [--files 1]

The transcripts have the format of Claude Code. As in real sessions, 80 % of the bytes are output of tools; only its
beginnings are indexed.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import msgspec

from benchmarks.throwaway import REPOSITORY, Throwaway, throwaway

ADDED = 9
_BEGUN = datetime(2026, 3, 4, 10, tzinfo=UTC)


def said(text: str, role: str = "user", minute: int = 0, place: str = "/work/harbour") -> bytes:
    """Return the line of a message."""
    return _line(role, text if role == "user" else [{"type": "text", "text": text}], minute, place)


def answered(text: str, minute: int = 0, place: str = "/work/harbour") -> bytes:
    """Return the line of a tool's output."""
    return _line("user", [{"type": "tool_result", "tool_use_id": "t1", "content": text}], minute, place)


def _line(role: str, content: object, minute: int, place: str) -> bytes:
    entry = {
        "parentUuid": None,
        "sessionId": "s1",
        "uuid": f"u{minute}",
        "cwd": place,
        "type": role,
        "timestamp": (_BEGUN + timedelta(minutes=minute)).isoformat().replace("+00:00", ".000Z"),
        "message": {"role": role, "content": content},
    }
    return msgspec.json.encode(entry) + b"\n"


def _lines(chance: random.Random, size: int) -> Iterator[bytes]:
    """Yield questions, answers and tool outputs in turn."""
    words = (REPOSITORY / "docs" / "how-search-works.md").read_text().split()
    minute = written = 0
    while written < size:
        question, answer, output = (" ".join(chance.choices(words, k=number)) for number in (40, 150, 800))
        for line in (said(question, "user", minute), said(answer, "assistant", minute), answered(output, minute)):
            written += len(line)
            yield line
        minute += 1


def _found_s(daemon: Throwaway, path: Path, word: str, *, fresh: bool) -> float:
    """Add a message with the word; return the seconds until a search finds it."""
    with path.open("ab") as file:
        file.write(said(f"The {word} is here."))
    started = time.monotonic()
    while not daemon.call("search.lexical", query=word, fresh=fresh, exact=True)["hits"]:
        time.sleep(0.005)
    return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=200)
    parser.add_argument("--files", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(7)
    with throwaway() as daemon, tempfile.TemporaryDirectory(prefix="gnod-bench-", dir="/tmp") as name:
        for number in range(options.files):
            with (Path(name) / f"session{number}.jsonl").open("wb") as file:
                file.writelines(_lines(chance, options.mb * 1_000_000 // options.files))
        print(f"{options.mb} MB in {options.files} files: indexed in {daemon.add(Path(name), 'sessions'):.1f} s")
        print({kind: round(spent_s, 1) for kind, spent_s in daemon.processor_s().items()})
        daemon.wait_for_postings()
        path = Path(name) / "session0.jsonl"
        for fresh in (True, False):
            took = []
            for number in range(ADDED):
                took.append(_found_s(daemon, path, f"heron{int(fresh)}x{number}", fresh=fresh))
                time.sleep(1)
            how = "with fresh" if fresh else "by watching"
            print(f"an added message is found {how}: median {median(took):.2f} s, slowest {max(took):.2f} s")


if __name__ == "__main__":
    main()
