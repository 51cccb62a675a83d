"""Runs on disk: TREC run files for other tools, and saved figures to compare a later run with."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import msgspec

import gnod
from gnod.errors import InvalidDataset, StorageFailed
from gnod.evaluate.evaluation import Summary
from gnod.evaluate.measures import MEASURES
from gnod.evaluate.modes import Ranking

# Columns of a TREC file end at white space, and the format has no quoting.
_UNSAFE = re.compile(r"[%\s]")
_SCORE_STEP = 1e-6


class Saved(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The figures of one `bench`. `mean`: mode → measure → mean over the collections. `commit` ends in `-dirty` if the
    working tree had changes."""

    gnod: str
    commit: str | None
    created: str
    runs: list[Summary]
    mean: dict[str, dict[str, float]]


def summarise(runs: Sequence[Summary]) -> Saved:
    """Return the figures with the version of the code and the time."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Saved(gnod=gnod.__version__, commit=_commit(), created=now, runs=list(runs), mean=_means(runs))


def save(saved: Saved, path: Path) -> None:
    """Raises StorageFailed."""
    _write(path, msgspec.json.format(msgspec.json.encode(saved), indent=2).decode() + "\n")


def load(path: Path) -> Saved:
    """Return what `save` wrote. Raises InvalidDataset."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Saved)
    except OSError as error:
        raise InvalidDataset(f"cannot read {path}: {error.strerror}", {"file": str(path)}) from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidDataset(f"{path} is not a run that --save wrote: {error}", {"file": str(path)}) from None


class TrecRun(NamedTuple):
    """`text`: the whole file. `encoded`: the number of ids that are percent-encoded."""

    text: str
    encoded: int


def write_trec(rankings: Mapping[str, Ranking], path: Path, tag: str) -> int:
    """Write a run file. Return the number of ids that are percent-encoded. Raises StorageFailed."""
    run = format_trec(rankings, tag)
    _write(path, run.text)
    return run.encoded


def format_trec(rankings: Mapping[str, Ranking], tag: str) -> TrecRun:
    """Return `qid Q0 docid rank score tag` lines. A score that equals the one above is lowered by a millionth, because
    trec_eval ignores ranks and breaks ties in its own way."""
    lines = []
    changed: set[str] = set()
    for query_id, ranking in rankings.items():
        last = float("inf")
        for rank, (document_id, score) in enumerate(ranking, start=1):
            last = min(score, last - _SCORE_STEP)
            ids = [_UNSAFE.sub(lambda match: quote(match[0]), each) for each in (query_id, document_id)]
            changed.update(each for each, before in zip(ids, (query_id, document_id), strict=True) if each != before)
            lines.append(f"{ids[0]} Q0 {ids[1]} {rank} {last:.6f} {tag}\n")
    return TrecRun("".join(lines), len(changed))


def _means(runs: Sequence[Summary]) -> dict[str, dict[str, float]]:
    by_mode: dict[str, list[Summary]] = {}
    for run in runs:
        by_mode.setdefault(run.mode, []).append(run)
    return {
        mode: {name: sum(run.measures[name] for run in of_mode) / len(of_mode) for name in MEASURES}
        for mode, of_mode in by_mode.items()
    }


def _commit() -> str | None:
    """Return the commit of the source tree that contains this code, if there is one."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageFailed(f"cannot write {path}: {error.strerror}", {"path": str(path)}) from error
