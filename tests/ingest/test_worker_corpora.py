"""Convert real and damaged files of sixty formats in a real pool. Skipped if the collections are missing."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from gnod.ingest.workers.jobs import Container, Failure, FileJob, Outcome
from gnod.ingest.workers.pool import WorkerPool
from gnod.store.tables.records import SKIP_KINDS, PreparedDocument

CORPORA = Path(__file__).parents[3] / "shared" / "corpora"
FAULTS = {
    "vanished", "unreadable", "not_a_file", "unstable", "encrypted", "corrupt", "too_long", "timeout", "memory",
    "crashed", "failed",
}  # fmt: skip

pytestmark = [
    pytest.mark.stress,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not CORPORA.is_dir(), reason=f"{CORPORA} is missing"),
]


def outcomes_of(paths: list[Path]) -> dict[Path, Outcome]:
    """Convert files in two workers with the limits and the sandbox of the daemon."""

    async def convert_all() -> list[Outcome]:
        pool = WorkerPool(size=2, timeout_s=60, memory_mb=2048, roots=lambda: [str(CORPORA)])
        try:
            return await asyncio.gather(*(pool.run(file_job(path)) for path in paths))
        finally:
            await pool.close()

    return dict(zip(paths, asyncio.run(convert_all()), strict=True))


def file_job(path: Path) -> FileJob:
    return FileJob(path=str(path), relative_path=path.name, max_bytes=100_000_000, max_characters=50_000_000)


def files_in(folder: Path) -> list[Path]:
    return sorted(
        Path(parent) / name
        for parent, _, names in os.walk(folder)
        for name in names
        if (Path(parent) / name).is_file() and Path(parent) != folder
    )


def check(outcomes: dict[Path, Outcome]) -> Counter[str]:
    kinds = Counter(
        outcome.kind if isinstance(outcome, Failure) else type(outcome).__name__ for outcome in outcomes.values()
    )
    print(dict(kinds))  # noqa: T201 - shown with -s
    assert set(kinds) <= FAULTS | SKIP_KINDS | {"PreparedDocument", "Container"}
    lost = {
        str(path): outcome.message
        for path, outcome in outcomes.items()
        if isinstance(outcome, Failure) and outcome.kind in ("failed", "crashed", "timeout", "memory")
    }
    assert lost == {}
    return kinds


def whole_text(outcome: PreparedDocument | Container) -> str:
    if isinstance(outcome, PreparedDocument):
        return outcome.markdown
    documents = [outcome.document, *(each for _, each in outcome.members if isinstance(each, PreparedDocument))]
    return "\n".join(each.markdown for each in documents)


def test_expected_text_of_markitdown() -> None:
    folder = CORPORA / "mixed-formats"
    cases = [json.loads(line) for line in (folder / "expected-text-markitdown.jsonl").read_text().splitlines()]
    outcomes = outcomes_of(sorted({folder / case["path"] for case in cases}))
    missing: list[tuple[str, str]] = []
    for case in cases:
        outcome = outcomes[folder / case["path"]]
        assert isinstance(outcome, PreparedDocument | Container), (case["path"], outcome)
        text_of_all = whole_text(outcome)
        # gnod keeps only descriptions of pictures by people, and formats the header of an Outlook message differently.
        is_outlook = case["path"].endswith(".msg")
        expected = [text.partition("](")[0] for text in case["must_include"] if not text.startswith("data:")]
        missing += [
            (case["path"], text)
            for text in expected
            if text.removeprefix("![").removesuffix("]") not in text_of_all
            and not (is_outlook and text.startswith(("#", "**")))
        ]
        missing += [
            (case["path"], text) for text in case["must_not_include"] if "](" not in text and text in text_of_all
        ]
    assert missing == []


def test_every_real_file_ends_as_text_or_as_a_known_failure() -> None:
    kinds = check(outcomes_of(files_in(CORPORA / "mixed-formats")))
    assert kinds["PreparedDocument"] > 480
    assert kinds["corrupt"] < 10


def test_every_hostile_file_ends_as_text_or_as_a_known_failure() -> None:
    kinds = check(outcomes_of(files_in(CORPORA / "hostile" / "real")))
    assert kinds["encrypted"] >= 11
