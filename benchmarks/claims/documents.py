"""Reads the documents that the claims are about, and makes claims from their sentences with fixed changes."""

from __future__ import annotations

import hashlib
import random
import re
from pathlib import Path
from typing import NamedTuple

from benchmarks.throwaway import SHARED
from gnod.evaluate.dataset import read
from gnod.ingest.text.canonical import canonicalise
from gnod.search.passages import sentences

_CORPORA = SHARED / "corpora"
_FOLDERS = {
    "help": _CORPORA / "vaults/help/en",
    "watchman": _CORPORA / "dev-docs/watchman",
    "borg": _CORPORA / "dev-docs/borg/docs",
    "gno": _CORPORA / "dev-docs/gno",
    "sqlite-utils": _CORPORA / "dev-docs/sqlite-utils",
    "syncthing": _CORPORA / "dev-docs/syncthing",
    "uvicorn": _CORPORA / "dev-docs/uvicorn",
    "httpx": _CORPORA / "dev-docs/httpx",
    "mopidy": _CORPORA / "dev-docs/mopidy",
}
_MAX_BYTES = 60_000
_PER_KIND = 30
_SENTENCE_CHARS = range(60, 200)
_FIGURE = re.compile(r"(?<![\w.,:/-])\d{1,4}(?![\w.,:/-])")
_VERB = re.compile(r"\b(is|are|was|were|will|can|must|should|may|does|do) (?!not\b)")
_NEGATED = re.compile(r"\b(is|are|was|were|will|can|must|should|may|does|do) not\b|\b(can)not\b")


class Claim(NamedTuple):
    stance: str
    text: str


def texts_of(name: str) -> dict[str, str]:
    """Return the Markdown of a folder, or of a collection in BEIR layout, by path."""
    if folder := _FOLDERS.get(name):
        paths = [path for path in sorted(folder.rglob("*")) if path.suffix in (".md", ".rst")]
        small = (path for path in paths if path.stat().st_size < _MAX_BYTES)
        return {str(path.relative_to(folder)): path.read_text(errors="replace") for path in small}
    documents = read(SHARED / "collections" / name).documents
    return {f"{number:04d}.md": f"# {each.title}\n\n{each.text}\n" for number, each in enumerate(documents)}


def halves(texts: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the documents to index, and the fifth of them that is left out so that its sentences are absent."""
    out = {path for path in texts if int(hashlib.sha256(path.encode()).hexdigest(), 16) % 5 == 0}
    return {path: texts[path] for path in texts if path not in out}, {path: texts[path] for path in sorted(out)}


def perturbed(indexed: dict[str, str], left_out: dict[str, str], seed: int) -> list[Claim]:
    """Return claims: unchanged, shortened, with another number, negated, and from documents that are left out."""
    chance = random.Random(seed)
    known, absent = _sentences(indexed), _sentences(left_out)

    def some(pool: list[str], count: int) -> list[str]:
        return chance.sample(pool, min(count, len(pool)))

    figures = some([each for each in known if _FIGURE.search(each)], _PER_KIND // 2)
    verbs = some([each for each in known if _VERB.search(each) or _NEGATED.search(each)], _PER_KIND // 2)
    changed = [_FIGURE.sub(lambda found: str(int(found[0]) + chance.choice((1, 2, 7))), each, 1) for each in figures]
    return [
        *(Claim("contradicted", each) for each in (*changed, *map(_negated, verbs))),
        *(Claim("supported", _shortened(each)) for each in some(known, _PER_KIND)),
        *(Claim("not_found", each) for each in some(absent, _PER_KIND)),
    ]


def _sentences(texts: dict[str, str]) -> list[str]:
    return [each for text in texts.values() for each in _of_text(canonicalise(text)) if _is_prose(each)]


def _of_text(text: str) -> list[str]:
    units = (unit for unit in sentences.units(text, None) if unit.kind in ("sentence", "item"))
    return [" ".join(text[unit.start : unit.end].split()) for unit in units]


def _is_prose(sentence: str) -> bool:
    has_syntax = "http" in sentence or "|" in sentence
    return len(sentence) in _SENTENCE_CHARS and sentence[0].isupper() and sentence.endswith(".") and not has_syntax


def _negated(sentence: str) -> str:
    if _NEGATED.search(sentence):
        return _NEGATED.sub(lambda found: found[1] or found[2], sentence, 1)
    return _VERB.sub(r"\1 not ", sentence, 1)


def _shortened(sentence: str) -> str:
    """Return a sentence without its last part after a comma, if the first part is long enough."""
    first, *others = sentence.rstrip(".").split(", ")
    return ", ".join([first, *others[:-1]] if len(first.split()) > 5 else [first, *others]) + "."


def write(texts: dict[str, str], folder: Path) -> None:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
